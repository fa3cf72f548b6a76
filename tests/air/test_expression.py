"""Expressions have the meaning of Python's operators, and are simplified exactly as in Plonky3."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.air.description import node_degrees
from graphprover.air.expression import ADD, CONST, MAIN, MUL, NEG, SUB, Dag, Expr, children
from graphprover.field import P

CELLS = [3, P - 1, 1 << 40]
words = st.one_of(st.integers(0, P - 1), st.sampled_from([0, 1, P - 1]))


def value(expr: Expr, cells: list[int] = CELLS) -> int:
    def at(i: int) -> int:
        op, a, b = expr.dag.nodes[i]
        if op in (CONST, MAIN):
            return a if op == CONST else cells[a]
        if op == NEG:
            return -at(a) % P
        return {ADD: lambda x, y: x + y, SUB: lambda x, y: x - y, MUL: lambda x, y: x * y}[op](at(a), at(b)) % P

    return at(expr.index)


def operations(draw_depth: int = 6) -> st.SearchStrategy:
    """Generate a tree of operations over cells and constants, as nested tuples."""
    leaf = st.one_of(st.tuples(st.just("cell"), st.integers(0, 2)), st.tuples(st.just("const"), words))
    return st.recursive(
        leaf,
        lambda sub: st.one_of(st.tuples(st.sampled_from("+-*"), sub, sub), st.tuples(st.just("neg"), sub)),
        max_leaves=2**draw_depth,
    )


def build(dag: Dag, tree: tuple) -> tuple[Expr, int]:
    """Return the expression of a tree, and its value by Python integers."""
    match tree:
        case ("cell", i):
            return dag.node(MAIN, i), CELLS[i]
        case ("const", c):
            return dag.constant(c), c
        case ("neg", sub):
            expr, number = build(dag, sub)
            return -expr, -number % P
        case (op, left, right):
            (x, a), (y, b) = build(dag, left), build(dag, right)
            pairs = {"+": (x + y, a + b), "-": (x - y, a - b), "*": (x * y, a * b)}
            return pairs[op][0], pairs[op][1] % P
    raise AssertionError(tree)


@given(operations())
def test_value_and_structure(tree: tuple) -> None:
    dag = Dag("t")
    expr, expected = build(dag, tree)
    assert value(expr) == expected
    assert len(set(dag.nodes)) == len(dag.nodes)
    assert build(dag, tree)[0].index == expr.index  # hash-consed: an equal expression is the same node
    for i, node in enumerate(dag.nodes):
        operands = children(node)
        constants = [dag.nodes[child][1] for child in operands if dag.nodes[child][0] == CONST]
        assert all(child < i for child in operands)
        assert len(constants) < max(1, len(operands))  # constants alone would have been folded
        assert 0 not in constants


def test_simplification_decides_the_degree() -> None:
    dag = Dag("t")
    x = dag.node(MAIN, 0)
    same = [x + 0, 0 + x, x - 0, x * 1, 1 * x, +x, x**1]
    assert {expr.index for expr in same} == {x.index}
    assert [(x * 0).value, (0 * x).value, (x**0).value, (dag.constant(5) - 7).value] == [0, 0, 1, P - 2]
    assert dag.nodes[(0 - x).index] == (NEG, x.index, 0)
    assert dag.nodes[(x - x).index] == (SUB, x.index, x.index)  # not simplified, as in Plonky3
    cube = x**3 - x * 0
    assert node_degrees(dag.nodes)[cube.index] == 3


def test_integers_are_taken_mod_p() -> None:
    dag = Dag("t")
    x = dag.node(MAIN, 0)
    assert (x + -1).index == (x + (P - 1)).index
    assert (np.int64(-1) + x).index == (P - 1 + x).index
    assert (np.uint64(3) * x).index == (dag.constant(P + 3) * x).index


def test_mistakes_are_told() -> None:
    x = Dag("left").node(MAIN, 0)
    y = Dag("right").node(MAIN, 0)
    with pytest.raises(ValueError, match="'right' is used in table 'left'"):
        x + y
    with pytest.raises(TypeError, match="no truth value"):
        bool(x)
    with pytest.raises(TypeError, match="constrain a - b"):
        x == 1  # noqa: B015
    with pytest.raises(TypeError, match="not compared"):
        x != 1  # noqa: B015
    with pytest.raises(TypeError, match=r"not 1\.5"):
        x + 1.5  # type: ignore[operator]
    with pytest.raises(TypeError, match="not True"):
        x * True
    with pytest.raises(ValueError, match="exponent"):
        x**-1
