"""Shapes of proofs: fold schedules, the batching ladder, and refused parameters."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.air import Air, Bus
from graphprover.field import P
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, Point, make_layout
from graphprover.protocol.parameters import Parameters
from tests.interop.tables import PLAIN
from tests.protocol import vectors


class Column(Air):
    columns = ("a",)

    def define(self, t: Any) -> None:
        t.every_row(t.a)


COLUMN = Column().describe()
BUS = Bus("bus")


class Heavy(Air):
    """A table with the maximum weight, and so the maximum messages in a row."""

    columns = ("a", "b")

    def define(self, t: Any) -> None:
        t.send(BUS, (t.a,), t.b, weight=2**32 - 1)
        t.receive(BUS, (t.a,), t.b, weight=2**32 - 1)


def schedule(log_rows: list[int], log_final: int, max_log_arity: int) -> list[int]:
    """Return arities for codewords of these heights; the final polynomial is a constant, or blown up to 2^log_final."""
    parameters = replace(PLAIN, log_blowup=1, log_final_poly_len=log_final - 1, max_log_arity=max_log_arity)
    layout = make_layout([COLUMN] * len(log_rows), [log - 1 for log in log_rows], parameters)
    return list(layout.fold_log_arities)


def test_schedules_of_plonky3() -> None:
    """Compare with the examples of p3-fri's config.rs."""
    assert schedule([10], 2, 3) == [3, 3, 2]
    assert schedule([10], 2, 1) == [1] * 8
    assert schedule([10, 6], 2, 3) == [3, 1, 3, 1]
    assert schedule([6, 10, 6], 2, 3) == [3, 1, 3, 1]


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=6),
    st.integers(1, 4),
    st.integers(0, 4),
    st.integers(1, 6),
)
def test_folds_reach_every_height_and_end_at_the_final_polynomial(
    log_heights: list[int], log_blowup: int, log_final_poly_len: int, max_log_arity: int
) -> None:
    if min(log_heights) <= log_final_poly_len:
        log_final_poly_len = 0
    parameters = replace(
        PLAIN, log_blowup=log_blowup, log_final_poly_len=log_final_poly_len, max_log_arity=max_log_arity
    )
    layout = make_layout([COLUMN] * len(log_heights), log_heights, parameters)
    final = log_blowup + log_final_poly_len
    reached = [layout.log_max_rows, *layout.folded_log_heights]
    assert all(1 <= arity <= max_log_arity for arity in layout.fold_log_arities)
    assert reached[-1] == final
    assert set(layout.fri_log_heights) <= set(reached)
    assert [a - b for a, b in pairwise(reached)] == list(layout.fold_log_arities)
    # Every fold has the maximum arity.
    for arity, after in zip(layout.fold_log_arities, layout.folded_log_heights, strict=True):
        assert arity == max_log_arity or after in (*layout.fri_log_heights, final)


def test_rounds_and_ladder_of_a_mixed_statement() -> None:
    layout = vectors.load("mixed").layout
    assert [round_.name for round_ in layout.rounds] == [MAIN, QUOTIENT, PREPROCESSED, PERMUTATION]
    ladders: dict[int, int] = {}
    for round_ in layout.rounds:
        tables = [matrix.table for matrix in round_.matrices]
        assert tables == sorted(tables)
        for matrix in round_.matrices:
            # Each height is numbered separately, in the order in which openings are absorbed.
            assert matrix.offset == ladders.get(matrix.log_rows, 0)
            assert matrix.log_rows == layout.log_heights[matrix.table] + layout.parameters.log_blowup
            ladders[matrix.log_rows] = matrix.offset + matrix.width * len(matrix.points)
    quotient = layout.round(QUOTIENT)
    assert quotient is not None
    for table, log_chunks in enumerate(layout.log_chunks):
        chunks = [matrix.chunk for matrix in quotient.matrices if matrix.table == table]
        assert chunks == list(range(1 << log_chunks))
    permutation = layout.round(PERMUTATION)
    assert permutation is not None
    for matrix in permutation.matrices:
        assert matrix.width == layout.tables[matrix.table].permutation_width
        assert matrix.points == (Point.ZETA, Point.NEXT)


def test_main_columns_of_a_shard_are_opened_at_its_separating_point_last() -> None:
    alone = vectors.load("mixed").layout
    layout = make_layout(alone.tables, alone.log_heights, alone.parameters, shard=True)
    used: dict[int, int] = {}
    for before, round_ in zip(alone.rounds, layout.rounds, strict=True):
        for own, matrix in zip(before.matrices, round_.matrices, strict=True):
            more = (Point.SEPARATING,) if round_.name == MAIN else ()
            assert matrix.points == (*own.points, *more)
            assert matrix.offset == used.get(matrix.log_rows, 0)
            used[matrix.log_rows] = matrix.offset + matrix.width * len(matrix.points)
    assert {matrix.points for matrix in layout.rounds[0].matrices} == {
        (Point.ZETA, Point.SEPARATING),
        (Point.ZETA, Point.NEXT, Point.SEPARATING),
    }


def test_a_statement_without_lookups_or_preprocessed_columns_has_two_rounds() -> None:
    layout = vectors.load("height1").layout
    assert [round_.name for round_ in layout.rounds] == [MAIN, QUOTIENT]
    assert layout.round(PERMUTATION) is None and layout.round(PREPROCESSED) is None


def refused(reason: str, tables: list[Any], log_heights: list[int], **changed: int) -> None:
    with pytest.raises(ValueError, match=reason):
        make_layout(tables, log_heights, replace(PLAIN, **changed))


def test_a_matrix_above_the_cap_is_refused() -> None:
    """Plonky3 0.8.0 does not hash rows that join above the cap, so such a table would not be committed to."""
    make_layout([COLUMN, COLUMN], [2, 6], replace(PLAIN, cap_height=3))
    refused("above a cap", [COLUMN, COLUMN], [2, 6], cap_height=4)
    refused("above a cap", [COLUMN], [0], cap_height=2)


def test_a_final_polynomial_as_long_as_a_table_is_refused() -> None:
    make_layout([COLUMN, COLUMN], [3, 6], replace(PLAIN, log_final_poly_len=2))
    refused("final polynomial", [COLUMN, COLUMN], [3, 6], log_final_poly_len=3)
    make_layout([COLUMN], [0], PLAIN)


def test_heights_are_those_of_the_field() -> None:
    make_layout([COLUMN], [31], PLAIN)
    make_layout([COLUMN], [28], replace(PLAIN, log_blowup=4))
    refused("at most 2\\^31", [COLUMN], [32])
    refused("at most 2\\^28", [COLUMN], [29], log_blowup=4)
    refused("rows", [COLUMN], [-1])


def test_a_count_that_could_wrap_around_is_refused() -> None:
    """No message and p messages have the same sum."""
    heavy = Heavy().describe()
    assert heavy.total_weight == 2 * (2**32 - 1)
    assert heavy.total_weight << 31 == P - 1
    make_layout([heavy], [31], PLAIN)
    refused("at least the number of field elements", [heavy, heavy], [31, 0])
    refused("at least the number of field elements", [heavy, heavy], [31, 31])


class Wide(Air):
    """Messages of two elements, compared with one in `Heavy`."""

    columns = ("a",)

    def define(self, t: Any) -> None:
        t.send(BUS, (0, t.a))


def test_a_bus_with_messages_of_two_widths_is_refused() -> None:
    """[a] and [0, a] have equal fingerprints, so one table could provide messages of the other."""
    refused("tuples of 1 elements .* and of 2", [Heavy().describe(), Wide().describe()], [3, 3])


def test_a_statement_has_tables() -> None:
    refused("at least one table", [], [])


@given(st.integers(0, 16), st.integers(0, 30))
def test_a_cap_is_not_larger_than_its_layer(cap_height: int, log_rows: int) -> None:
    parameters = Parameters("keccak", 1, 1, 0, 1, cap_height, 0, 0, 0, 0, 0)
    layout = make_layout([COLUMN], [20], parameters)
    assert layout.cap_log_size(log_rows) == min(cap_height, log_rows)
