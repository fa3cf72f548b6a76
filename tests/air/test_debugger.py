"""The debugger finds what is wrong, where it is, and nothing else."""

from collections.abc import Sequence

import numpy as np
import pytest

from graphprover.air import Air, Bus, TableBuilder, check, provided, sent
from graphprover.air.debugger import CountOverWeight, FailingConstraint, Malformed, Source, Unmatched
from graphprover.field import P

SQUARES = Bus("squares")


class Counter(Air):
    columns = ("n",)
    public_values = ("first", "last")

    def define(self, t: TableBuilder) -> None:
        t.first_row(t.n - t.public.first)
        t.transition(t.next.n - t.n - 1)
        t.last_row(t.n - t.public.last)
        t.every_row(t.n * (t.next.n - t.n - 1) * (t.next.n - t.public.first), label="cyclic")


class Users(Air):
    columns = ("x", "square", "on")

    def define(self, t: TableBuilder) -> None:
        t.boolean(t.on)
        t.lookup(SQUARES, [t.x, t.square], t.on, weight=1)


class Squares(Air):
    columns = ("count",)
    preprocessed = ("x", "square")

    def preprocessed_trace(self) -> np.ndarray:
        x = np.arange(8, dtype=np.uint64)
        return np.stack([x, x * x])

    def define(self, t: TableBuilder) -> None:
        t.provide(SQUARES, [t.x, t.square], t.count)


def trace(*columns: Sequence[int]) -> np.ndarray:
    return np.array(columns, dtype=np.uint64)


def squares_statement() -> list[tuple[Air, np.ndarray, list[int]]]:
    users = trace([3, 3, 5, 0], [9, 9, 25, 0], [1, 1, 1, 0])
    counts = trace([0, 0, 0, 2, 0, 1, 0, 0])
    return [(Users(), users, []), (Squares(), counts, [])]


def test_a_good_trace_has_no_findings() -> None:
    assert check([(Counter(), trace(range(7, 15)), [7, 14])]) == []
    assert check([(Counter(), trace([3]), [3, 3])]) == []
    assert check(squares_statement()) == []


def test_the_first_failing_row_with_its_cells() -> None:
    values = list(range(20_000, 20_000 + (1 << 14)))  # more than one block of rows
    values[9000] = 5
    findings = check([(Counter(), trace(values), [20_000, values[-1]])])
    first, *others = findings
    assert isinstance(first, FailingConstraint)
    assert (first.table, first.row, first.rows) == ("counter", 8999, 2)
    assert dict(first.cells) == {"next n": 5, "n": 28_999}
    assert "t.transition(t.next.n - t.n - 1)" in first.label
    assert [finding.label for finding in others] == ["cyclic"]
    text = str(first)
    assert "row 8999 and on 1 more" in text and "n = 28999" in text and "test_debugger.py" in text


def test_selectors_and_wrapping() -> None:
    labels = lambda values, public: [f.label for f in check([(Counter(), trace(values), public)])]  # noqa: E731
    assert len(labels([0, 1, 2, 3], [1, 3])) == 2  # the first row, and the cyclic one on the last
    (only,) = labels([0, 1, 2, 3], [0, 4])
    assert "last_row" in only


@pytest.mark.parametrize(
    ("main", "public", "reason"),
    [
        (trace([1, 2, 3]), [1, 3], "3 rows, which is no power of two"),
        (trace([1, 2], [1, 2]), [1, 2], r"shape \(1, rows\), not uint64 of shape \(2, 2\)"),
        (trace([1, 2]).astype(np.int64), [1, 2], "not int64"),
        (trace([1, P]), [1, 2], f"n = {P} on row 1 is no canonical"),
        (trace([1, 2]), [1], "expected 2 public values, not 1"),
        (trace([1, 2]), [1, P + 2], "public value last"),
        (np.zeros((1, 0), dtype=np.uint64), [1, 2], "0 rows"),
    ],
)
def test_malformed_input(main: np.ndarray, public: list[int], reason: str) -> None:
    (finding,) = check([(Counter(), main, public)])
    assert isinstance(finding, Malformed)
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(str(finding))


def test_preprocessed_rows_are_the_tables_rows() -> None:
    users, (squares, counts, _) = squares_statement()
    (finding,) = check([users, (squares, counts[:, :4], [])])
    assert isinstance(finding, Malformed) and "rows differ" in str(finding)


def test_unmatched_messages_name_tables_and_rows() -> None:
    (users, main, _), squares = squares_statement()
    main[1, 1] = 10
    (finding,) = check([(users, main, []), squares])
    assert finding.total == 2
    short, stray = finding.messages  # by the first row that put them there
    assert (short.fields, short.sent, short.received) == ((3, 9), 1, 2)
    assert [(source.table, source.row, source.count) for source in short.sources] == [
        ("users", 0, 1),
        ("squares", 3, -2),
    ]
    assert (stray.fields, stray.sent, stray.received) == ((3, 10), 1, 0)
    assert [(source.table, source.row) for source in stray.sources] == [("users", 1)]
    text = str(finding)
    assert "[3, 10]: sent 1, received 0" in text
    assert "received 2 times by table squares row 3: " in text and "t.provide(SQUARES" in text


def test_only_the_first_messages_are_shown() -> None:
    class Loud(Air):
        columns = ("n",)

        def define(self, t: TableBuilder) -> None:
            t.send(SQUARES, [t.n, 0])

    (finding,) = check([(Loud(), trace(range(64)), [])])
    assert finding.total == 64
    assert [m.fields[0] for m in finding.messages] == list(range(len(finding.messages)))
    assert "and 59 more" in str(finding)


def test_a_balance_is_taken_mod_p() -> None:
    class Wrapping(Air):
        columns = ("count",)

        def define(self, t: TableBuilder) -> None:
            t.provide(SQUARES, [1], t.count)

    assert check([(Wrapping(), trace([P - 1, 1]), [])]) == []  # provided as often as p: LogUp cannot see it either
    (finding,) = check([(Wrapping(), trace([P - 1, 2]), [])])
    assert finding.messages[0] == Unmatched(
        (1,),
        1,
        2,
        tuple(Source("wrapping", finding.messages[0].sources[0].label, row, count) for row, count in [(0, 1), (1, -2)]),
    )


def test_counts_over_their_weight() -> None:
    (users, main, _), (squares, counts, _) = squares_statement()
    main[2, 0] = 2
    counts[0, 3] += 1
    over, failing = sorted(check([(users, main, []), (squares, counts, [])]), key=lambda f: type(f).__name__)
    assert isinstance(over, CountOverWeight) and isinstance(failing, FailingConstraint)
    assert (over.table, over.row, over.count, over.weight) == ("users", 0, 2, 1)
    assert "count 2 exceeds weight 1 on row 0" in str(over)
    main[2, 0] = P - 2
    counts[0, 3] = P - 1
    assert [f.count for f in check([(users, main, []), (squares, counts, [])]) if isinstance(f, CountOverWeight)] == [
        -2
    ]


def test_a_local_lookup_balances_on_its_own() -> None:
    class Local(Air):
        columns = ("a", "b", "count")

        def define(self, t: TableBuilder) -> None:
            t.local_lookup(sent([t.a]), provided([t.b], t.count))
            t.local_lookup(sent([t.b]), provided([t.a], 1))

    assert check([(Local(), trace([1, 1], [1, 1], [2, 0]), [])]) == []
    first, second = check([(Local(), trace([1, 2], [1, 1], [2, 0]), [])])
    assert first.bus != second.bus and "local lookup of table local" in first.bus


def test_local_lookups_of_one_line_are_apart() -> None:
    class Loop(Air):
        columns = ("a[2]",)

        def define(self, t: TableBuilder) -> None:
            for sign in (1, -1):
                t.local_lookup(sent([t.a[0]], sign), sent([t.a[1]], -sign))

    assert len(check([(Loop(), trace([1], [2]), [])])) == 2


def test_tables_of_one_name_are_told_apart() -> None:
    findings = check(
        [(Counter(), trace([3]), [3, 4]), (Users(), trace([0], [0], [0]), []), (Counter(), trace([3]), [2, 3])]
    )
    assert {finding.table for finding in findings} == {"counter#0", "counter#2"}


def test_a_statement_that_cannot_be_proved() -> None:
    class Narrow(Air):
        columns = ("a",)

        def define(self, t: TableBuilder) -> None:
            t.send(SQUARES, [t.a])

    (finding,) = check([(Narrow(), trace([0]), []), *squares_statement()])
    assert isinstance(finding, Malformed) and "bus 'squares'" in str(finding)
