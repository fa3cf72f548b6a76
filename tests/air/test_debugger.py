"""The debugger finds all defects at their places, and reports nothing else."""

from collections.abc import Sequence

import numpy as np
import pytest

from graphprover.air import Air, Bus, TableBuilder, debugger, provided, sent
from graphprover.air.debugger import BusSource, CountOverWeight, FailingConstraint, Malformed, Unmatched
from graphprover.field import P
from graphprover.statement.check import check
from graphprover.statement.statement import Statement, Table

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


def squares() -> tuple[np.ndarray, np.ndarray]:
    """Return the traces of users and squares."""
    return trace([3, 3, 5, 0], [9, 9, 25, 0], [1, 1, 1, 0]), trace([0, 0, 0, 2, 0, 1, 0, 0])


def squared(users: np.ndarray, counts: np.ndarray) -> list[Table]:
    return [Table(Users(), [], users), Table(Squares(), [], counts)]


def found(*tables: Table) -> list:
    return check(Statement(tables))


def test_a_good_trace_has_no_findings() -> None:
    assert found(Table(Counter(), [7, 14], trace(range(7, 15)))) == []
    assert found(Table(Counter(), [3, 3], trace([3]))) == []
    assert found(*squared(*squares())) == []


def test_the_first_failing_row_with_its_cells() -> None:
    values = list(range(20_000, 20_000 + (1 << 14)))  # more than one block of rows
    values[9000] = 5
    findings = found(Table(Counter(), [20_000, values[-1]], trace(values)))
    first, *others = findings
    assert isinstance(first, FailingConstraint)
    assert (first.table, first.row, first.rows) == ("counter", 8999, 2)
    assert dict(first.cells) == {"next n": 5, "n": 28_999}
    assert "t.transition(t.next.n - t.n - 1)" in first.label
    assert [finding.label for finding in others] == ["cyclic"]
    text = str(first)
    assert "row 8999 and on 1 more" in text and "n = 28999" in text and "test_debugger.py" in text


def test_selectors_and_wrapping() -> None:
    labels = lambda values, public: [f.label for f in found(Table(Counter(), public, trace(values)))]  # noqa: E731
    assert len(labels([0, 1, 2, 3], [1, 3])) == 2  # the first row, and the cyclic one on the last
    (only,) = labels([0, 1, 2, 3], [0, 4])
    assert "last_row" in only


@pytest.mark.parametrize(
    ("main", "public", "reason"),
    [
        (trace([1, 2, 3]), [1, 3], "3 rows; the number of rows must be a power of two"),
        (trace([1, 2], [1, 2]), [1, 2], r"shape \(2, 2\); expected \(1 columns, rows\)"),
        (trace([1, 2]).astype(np.float64), [1, 2], "dtype float64"),
        (trace([1, P]), [1, 2], "column 0, row 1 is not below p"),
        (trace([1, 2]), [1, P + 2], f"public value 1 is {P + 2}, not in"),
        (np.zeros((1, 0), dtype=np.uint64), [1, 2], "0 rows"),
    ],
)
def test_malformed_traces(main: np.ndarray, public: list[int], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        found(Table(Counter(), public, main))


def test_public_values_are_counted() -> None:
    (finding,) = found(Table(Counter(), [1], trace([1, 2])))
    assert isinstance(finding, Malformed) and str(finding) == "counter: expected 2 public values, not 1"


def test_preprocessed_rows_are_the_tables_rows() -> None:
    users, counts = squares()
    (finding,) = found(*squared(users, counts[:, :4]))
    assert isinstance(finding, Malformed) and "has 4 rows, the preprocessed one 8" in str(finding)


def test_unmatched_messages_name_tables_and_rows() -> None:
    users, counts = squares()
    users[1, 1] = 10
    (finding,) = found(*squared(users, counts))
    assert finding.total == 2
    short, stray = finding.messages  # in the order of the first row that emits each
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

    (finding,) = found(Table(Loud(), [], trace(range(64))))
    assert finding.total == 64
    assert [m.fields[0] for m in finding.messages] == list(range(len(finding.messages)))
    assert "and 59 more" in str(finding)


def test_a_balance_is_taken_mod_p() -> None:
    class Wrapping(Air):
        columns = ("count",)

        def define(self, t: TableBuilder) -> None:
            t.provide(SQUARES, [1], t.count)

    assert found(Table(Wrapping(), [], trace([P - 1, 1]))) == []  # provided p times: LogUp does not detect it either
    (finding,) = found(Table(Wrapping(), [], trace([P - 1, 2])))
    assert finding.messages[0] == Unmatched(
        (1,),
        1,
        2,
        tuple(
            BusSource("wrapping", finding.messages[0].sources[0].label, row, count) for row, count in [(0, 1), (1, -2)]
        ),
    )


def test_counts_over_their_weight() -> None:
    users, counts = squares()
    users[2, 0] = 2
    counts[0, 3] += 1
    over, failing = sorted(found(*squared(users, counts)), key=lambda f: type(f).__name__)
    assert isinstance(over, CountOverWeight) and isinstance(failing, FailingConstraint)
    assert (over.table, over.row, over.count, over.weight) == ("users", 0, 2, 1)
    assert "count 2 exceeds weight 1 on row 0" in str(over)
    users[2, 0] = P - 2
    counts[0, 3] = P - 1
    assert [f.count for f in found(*squared(users, counts)) if isinstance(f, CountOverWeight)] == [-2]


def test_a_local_lookup_balances_on_its_own() -> None:
    class Local(Air):
        columns = ("a", "b", "count")

        def define(self, t: TableBuilder) -> None:
            t.local_lookup(sent([t.a]), provided([t.b], t.count))
            t.local_lookup(sent([t.b]), provided([t.a], 1))

    assert found(Table(Local(), [], trace([1, 1], [1, 1], [2, 0]))) == []
    first, second = found(Table(Local(), [], trace([1, 2], [1, 1], [2, 0])))
    assert first.bus != second.bus and "local lookup of table local" in first.bus


def test_local_lookups_of_one_line_are_apart() -> None:
    class Loop(Air):
        columns = ("a[2]",)

        def define(self, t: TableBuilder) -> None:
            for sign in (1, -1):
                t.local_lookup(sent([t.a[0]], sign), sent([t.a[1]], -sign))

    assert len(found(Table(Loop(), [], trace([1], [2])))) == 2


def test_tables_of_one_name_are_told_apart() -> None:
    findings = found(
        Table(Counter(), [3, 4], trace([3])),
        Table(Users(), [], trace([0], [0], [0])),
        Table(Counter(), [2, 3], trace([3])),
    )
    assert {finding.table for finding in findings} == {"counter#0", "counter#2"}


def test_a_statement_that_cannot_be_proved() -> None:
    class Narrow(Air):
        columns = ("a",)

        def define(self, t: TableBuilder) -> None:
            t.send(SQUARES, [t.a])

    (finding,) = found(Table(Narrow(), [], trace([0])), *squared(*squares()))
    assert isinstance(finding, Malformed) and "bus 'squares'" in str(finding)


def hash_sum(messages: dict[tuple[int, ...], int]) -> list[debugger._Bus]:
    """Return the doubtful buses of messages with these counts, each on a row of its own."""
    balance, bus = debugger._Balance(), debugger._Bus("bus")
    counts = np.array([count % P for count in messages.values()], dtype=np.uint64)
    balance.add(bus, counts, list(np.array([*messages], dtype=np.uint64).T))
    return balance.doubtful()


@pytest.mark.parametrize("far", [1, 2, 3, 255, 1 << 31, 1 << 32, (1 << 32) + 1, 1 << 62, 1 << 63, P - 1])
def test_messages_that_hardly_differ_do_not_cancel(far: int) -> None:
    """Also swapped fields, and four messages whose fields match each by itself."""
    assert hash_sum({(far, 0): 1, (0, 0): -1}) and hash_sum({(0, far): 1, (0, 0): -1})
    assert hash_sum({(far, 0): 1, (0, far): -1}) and hash_sum({(far, far): 1, (0, 0): -1})
    assert hash_sum({(far, 7): 1, (far, 8): -1, (0, 7): -1, (0, 8): 1})
    assert hash_sum({(far,): 2, (0,): -1}) and hash_sum({(far,): 1 << 31, (0,): -(1 << 31)})


def test_large_counts_are_summed_mod_p() -> None:
    """Three counts with the sum 2^64, which is no multiple of p."""
    assert hash_sum({(1, row): 0 for row in range(5)}) == []
    balance, bus = debugger._Balance(), debugger._Bus("bus")
    counts = np.array([(1 << 63) - (1 << 32)] * 2 + [1 << 33], dtype=np.uint64)
    balance.add(bus, counts, [np.ones(3, dtype=np.uint64)])
    assert balance._sums[bus] == 0 and balance.doubtful() == [bus]


@pytest.mark.parametrize("seed", range(20))
def test_the_findings_are_the_ones_of_all_messages_sorted(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(seed)
    users = np.array([random.integers(0, 8, 64), np.zeros(64), random.integers(0, 2, 64)], dtype=np.uint64)
    users[1] = users[0] * users[0]
    counts = np.bincount(users[0], users[2].astype(np.float64), 8).astype(np.uint64)[None]
    if seed % 2:
        users[random.integers(0, 2), np.flatnonzero(users[2])[0]] += np.uint64(1)
    if seed % 4 > 1:
        counts[0, random.integers(0, 8)] -= np.uint64(1)  # perhaps below 0, which wraps mod 2^64
        counts %= np.uint64(P)
    fast = found(*squared(users, counts))
    assert bool(fast) == bool(seed % 4)
    monkeypatch.setattr(debugger._Balance, "doubtful", lambda self: list(self._sums))
    assert repr(found(*squared(users, counts))) == repr(fast)


def test_a_good_bus_is_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debugger, "_collect", lambda *_: pytest.fail("collected"))
    assert found(*squared(*squares())) == []
