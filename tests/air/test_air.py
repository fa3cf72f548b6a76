"""Columns by name, and the records of ``define``."""

import numpy as np
import pytest

from graphprover.air import Air, AirDescription, Bus, TableBuilder, provided, sent
from graphprover.air.columns import Columns
from graphprover.air.expression import FIRST, LAST, MAIN, MUL, PREPROCESSED, PUBLIC, SUB, TRANSITION
from graphprover.field import P

BUS = Bus("bus")


def describe(define, columns=("a", "b"), preprocessed=(), public_values=("x",)) -> AirDescription:  # type: ignore[no-untyped-def]
    table = type("Sample", (Air,), {"columns": columns, "preprocessed": preprocessed, "public_values": public_values})
    table.define = lambda self, t: define(t)
    return table().describe()


def test_families() -> None:
    columns = Columns(["clk", "limb[3]", "state[2][2]"])
    assert columns.width == 8
    assert columns.names[:4] == ("clk", "limb[0]", "limb[1]", "limb[2]")
    assert columns.names[4:] == ("state[0][0]", "state[0][1]", "state[1][0]", "state[1][1]")
    assert columns.families["state"].symbols(lambda i: i) == ((4, 5), (6, 7))
    matrix = np.arange(16, dtype=np.uint64).reshape(8, 2)
    view = columns.view(matrix)
    assert view.clk.tolist() == [0, 1]
    assert view.state[1, 0].tolist() == [12, 13]
    view.limb[2] = 99
    assert matrix[3].tolist() == [99, 99]
    with pytest.raises(ValueError, match="8 columns"):
        columns.view(matrix[:7])


@pytest.mark.parametrize("spec", ["", "4x", "a[0]", "a[", "a-b", "_a", "a[2]b"])
def test_malformed_names(spec: str) -> None:
    with pytest.raises(ValueError, match="no column"):
        Columns([spec])


def test_selectors_multiply_the_constraint() -> None:
    def define(t: TableBuilder) -> None:
        t.every_row(t.a - t.b)
        t.first_row(t.a - t.public.x)
        t.last_row(t.a - t.b, label="the end")
        t.transition(t.next.a - t.fixed)

    d = describe(define, preprocessed=("fixed",))
    nodes = d.nodes
    every, first, last, transition = (nodes[node] for node in d.constraints)
    assert every[0] == SUB
    assert [nodes[every[1]], nodes[every[2]]] == [(MAIN, 0, 0), (MAIN, 1, 0)]
    assert [first[0], nodes[first[1]]] == [MUL, (FIRST, 0, 0)]
    assert nodes[nodes[first[2]][2]] == (PUBLIC, 0, 0)
    assert nodes[last[1]] == (LAST, 0, 0) and nodes[last[2]] == every
    assert nodes[transition[1]] == (TRANSITION, 0, 0)
    assert [nodes[i] for i in nodes[transition[2]][1:]] == [(MAIN, 0, 1), (PREPROCESSED, 0, 0)]
    assert [d.degrees[node] for node in d.constraints] == [1, 2, 2, 1]
    assert d.constraint_labels[2] == "the end"
    assert "t.first_row(t.a - t.public.x)" in d.constraint_labels[1] and "test_air.py:" in d.constraint_labels[1]
    assert d.main_next and not d.preprocessed_next


def test_define_runs_once_and_names_are_kept() -> None:
    runs = []

    class Counted(Air):
        columns = ("a[2]",)
        public_values = ("out",)

        def define(self, t: TableBuilder) -> None:
            runs.append(1)
            t.boolean(t.a[1])

    air = Counted()
    assert air.describe() is air.describe()
    assert runs == [1]
    d = air.describe()
    assert (d.name, d.main_names, d.public_names) == ("counted", ("a[0]", "a[1]"), ("out",))


def test_unused_expressions_leave_no_node() -> None:
    d = describe(lambda t: (t.a * t.b * t.next.a, t.every_row(t.b)))
    assert d.nodes == ((MAIN, 1, 0),)
    assert not d.main_next


def test_interactions() -> None:
    def define(t: TableBuilder) -> None:
        t.send(BUS, [t.a, 5])
        t.receive(BUS, [t.a, t.b], t.a + t.b, weight=2)
        t.lookup(BUS, [t.a, t.b], 3)
        t.provide(BUS, [t.next.a, t.b], t.b)
        t.local_lookup(sent([t.a]), provided([t.b], 1))

    d = describe(define)
    assert [i.bus for i in d.globals] == ["bus"] * 4
    assert [i.tuples[0].weight for i in d.globals] == [1, 2, 3, 0]
    assert [t.weight for t in d.locals[0].tuples] == [1, 0]
    assert d.nodes[d.locals[0].tuples[1].multiplicity] == (0, P - 1, 0)
    assert "t.lookup(BUS" in d.globals[2].label
    assert d.total_weight == 7
    assert d.main_next


def test_counts_may_be_numpy_integers() -> None:
    d = describe(lambda t: (t.receive(BUS, [t.a], np.uint64(2)), t.provide(BUS, [t.a], np.uint8(3))))
    messages = [i.tuples[0] for i in d.globals]
    assert [(d.nodes[t.multiplicity][1], t.weight) for t in messages] == [(P - 2, 2), (P - 3, 0)]
    weighted = describe(lambda t: t.send(BUS, [t.a], t.b, weight=np.uint8(4)))
    assert type(weighted.globals[0].tuples[0].weight) is int


@pytest.mark.parametrize(
    ("define", "error", "message"),
    [
        (lambda t: t.c, AttributeError, "'c' is not among the columns of table 'sample': a, b"),
        (lambda t: t.next.c, AttributeError, "'c' is not among the columns"),
        (lambda t: t.public.y, AttributeError, "'y' is not among the public values of table 'sample': x"),
        (lambda t: t.send(BUS, []), ValueError, "at least one element"),
        (lambda t: t.send(BUS, [t.a], t.a), ValueError, "needs weight="),
        (lambda t: t.send(BUS, [t.a], 3, weight=2), ValueError, "below the count, 3"),
        (lambda t: t.send(BUS, [t.a], -3, weight=2), ValueError, "below the count, 3"),
        (lambda t: t.send(BUS, [t.a], 2**32), ValueError, "a weight lies in"),
        (lambda t: t.send(BUS, [t.a], t.a, weight=-1), ValueError, "a weight lies in"),
        (lambda t: t.send(BUS, [t.a], t.b, weight=0), ValueError, "for provided entries alone"),
        (lambda t: t.receive(BUS, [t.a], 2, weight=0), ValueError, "for provided entries alone"),
        (lambda t: t.receive(BUS, [t.a], 1.5), TypeError, "float"),
        (lambda t: t.provide(BUS, [t.a], "2"), TypeError, "str"),
        (lambda t: t.send("bus", [t.a]), TypeError, "expected a Bus"),
        (lambda t: (t.send(BUS, [t.a]), t.send(BUS, [0, t.a])), ValueError, r"\[x\] and \[0, x\]"),
        (lambda t: t.local_lookup(sent([t.a]), provided([t.a, t.b], 1)), ValueError, r"widths \[1, 2\]"),
        (lambda t: t.local_lookup(), ValueError, "one width"),
        (lambda t: t.every_row(t.a == t.b), TypeError, "not compared"),
        (lambda t: t.every_row(True), TypeError, "not True"),
        (lambda t: np.array([1, 2]) * t.a, TypeError, r"not array\(\[1, 2\]\): operate on its elements one by one"),
        (lambda t: t.a - np.array([1, 2]), TypeError, r"not array\(\[1, 2\]\): operate on its elements one by one"),
        (lambda t: t.every_row([t.a]), TypeError, "operate on its elements one by one"),
        (lambda t: t.a * 1.5, TypeError, r"not 1\.5$"),
    ],
)
def test_mistakes_in_define(define, error: type, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=message):
        describe(define)


def test_mistakes_in_columns() -> None:
    nothing = lambda t: None  # noqa: E731
    with pytest.raises(ValueError, match="no main column"):
        describe(nothing, columns=())
    for wrong in ("abc", ("value"), None, 5):
        with pytest.raises(ValueError, match=r"table '\w+': columns: .* is no sequence of names: write a tuple, as in"):
            describe(nothing, columns=wrong)
        with pytest.raises(ValueError, match=r"table '\w+': public_values: .* is no sequence of names"):
            describe(nothing, public_values=wrong)
    with pytest.raises(ValueError, match=r"table '\w+': columns: 5 is no column"):
        describe(nothing, columns=("a", 5))
    with pytest.raises(ValueError, match=r"table '\w+': columns: two columns are called 'a'"):
        describe(nothing, columns=("a", "a[2]"))
    with pytest.raises(ValueError, match="both a main and a preprocessed"):
        describe(nothing, preprocessed=("a",))
    with pytest.raises(ValueError, match="cannot call a column 'next'"):
        describe(nothing, columns=("next",))
    with pytest.raises(NotImplementedError, match="has no define"):
        type("Empty", (Air,), {"columns": ("a",)})().describe()
    with pytest.raises(ValueError, match="a bus needs a name"):
        Bus("")
