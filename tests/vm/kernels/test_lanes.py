"""Code of lanes against its definition."""

from dataclasses import replace

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.field import P
from graphprover.vm.kernels import fill_lanes
from graphprover.vm.kernels.lanes import IMMEDIATE, LOG_SOURCES, MOST_SOURCES, Code, Lanes, Op, Sources, encode
from graphprover.vm.tables.clock import FAR
from tests.naive_device import NaiveDevice

ENTRIES = 50
WORDS, CLOCKS, PLACES, TABLE, TABLE_CLOCKS, SMALL, TIMES, NOW = range(8)  # sources
LATE = 7  # a register: an access of which some are late


def case(count: int, start: int = 0, lanes: int = 2, first: int = 0) -> tuple[Code, Lanes]:
    """Return every operation on random words, each result stored whole and in parts, with ``lanes`` lanes a row.

    The first lane has the words ``first``; other words follow the last lane's if ``first`` is not 0.
    """
    rng, executing = np.random.default_rng(count), count
    count += 2 * first
    now = rng.integers(FAR + 8, 2**40, count, dtype=np.uint64)
    given = {
        WORDS: rng.integers(0, 2**64, count, dtype=np.uint64),
        CLOCKS: rng.integers(0, 2**32, count, dtype=np.uint32),
        PLACES: rng.integers(0, ENTRIES - 3, count, dtype=np.uint32),
        TABLE: rng.integers(0, P, ENTRIES, dtype=np.uint64) * (rng.random(ENTRIES) < 0.9).astype(np.uint64),
        TABLE_CLOCKS: rng.integers(0, 2**32, ENTRIES, dtype=np.uint32),
        SMALL: rng.integers(1, 60, count, dtype=np.uint64),
        NOW: now,
        TIMES: now - rng.integers(FAR - 4, FAR + 4, count, dtype=np.uint64),
    }
    code: list[tuple[Op, int, int, int, int]] = [
        (Op.LANE, 0, 0, 0, WORDS),
        (Op.LANE_NARROW, 1, 0, 0, PLACES),
        (Op.CLOCK, 2, 0, 0, CLOCKS),
        (Op.AT, 3, 1, 0, TABLE),
        (Op.AT, 4, 1, 0, TABLE | 3 << LOG_SOURCES),
        (Op.AT_NARROW, 5, 1, 0, TABLE_CLOCKS | 1 << LOG_SOURCES),
        (Op.LANE, 6, 0, 0, SMALL),
        (Op.LANE, LATE, 0, 0, TIMES),
        (Op.CONSTANT, 8, 0, 0, 2**64 - 3),
        (Op.LANE, 9, 0, 0, NOW),
        (Op.RECENT, 10, LATE, 9, 0),
        (Op.RECENT, 11, LATE, IMMEDIATE, 2**39),
        (Op.LESS, 12, 0, 8, 0),
        (Op.EQUAL, 13, 1, IMMEDIATE, 7),
        (Op.SELECT, 14, 13, 0, 3),
        (Op.SELECT, 15, 12, 4, 2),
        (Op.INVERSE, 16, 3, 0, 0),
        (Op.FIELD_SUB, 17, 3, 4, 0),
        (Op.INVERSE, 18, 17, 0, 0),
        (Op.EQUAL, 19, 3, 4, 0),
    ]
    target = 20
    for op in (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.AND, Op.OR, Op.XOR, Op.LEFT, Op.RIGHT, Op.FIELD_SUB, Op.LESS):
        left = 3 if op == Op.FIELD_SUB else 0
        code += [(op, target, left, 6, 0), (op, target + 1, left, IMMEDIATE, 17)]
        target += 2
    assert {instruction[0] for instruction in code} | {Op.STORE} == set(Op)
    parts = [(register, 0, 0) for register in range(target)] + [(0, 0, 32), (0, 32, 0), (3, 16, 48), (3, 63, 0)]
    for i, (register, shift, dropped) in enumerate(parts):
        code.append((Op.STORE, shift, register, dropped, i | len(parts) << 32))
    return encode(code, target, lanes), Lanes(first, executing, start + 1, Sources(given))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("count", "height"), [(0, 8), (1, 8), (13, 8), (700, 512), (1024, 512), (600, 1024)])
@pytest.mark.parametrize("start", [0, 1_000_000])
def test_cells(start: int, count: int, height: int, threads: int) -> None:
    code, lanes = case(count, start)
    expected, made = np.ones((2, code.width, height), dtype=np.uint64)
    fill_lanes(NaiveDevice(), [(code, lanes, expected)])
    fill_lanes(CpuDevice(threads), [(code, lanes, made)])
    np.testing.assert_array_equal(made, expected)
    if count > 500:
        late = expected[10][: min(count, height)] != expected[LATE][: min(count, height)]
        assert late.any() and not late.all()


def windows(table: np.ndarray) -> list[tuple[Code, Lanes, np.ndarray]]:
    """Return traces that are rows of one table, whose lanes read parts of the same sources, and one of other sources.

    The table has the columns of `case` with two lanes and at least 60 rows.
    """
    code, lanes = case(30, 5, first=7)
    few, _ = case(30, 5, lanes=1)
    traces = [(code, lanes, table[:, 1:17]), (few, replace(lanes, first=0, count=21), table[: few.width, 17:38])]
    traces.append((few, replace(lanes, first=44, count=0), table[: few.width, 40:41]))
    return [*traces, (*case(9, 2), table[:, 41:50])]


def test_rows_of_a_table() -> None:
    """Leave all other cells as they are."""
    expected, made = np.ones((2, case(30)[0].width, 60), dtype=np.uint64)
    fill_lanes(NaiveDevice(), windows(expected))
    fill_lanes(CpuDevice(2), windows(made))
    np.testing.assert_array_equal(made, expected)
    assert (made[:, [0, *range(38, 40), *range(50, 60)]] == 1).all() and (made[:, 41:50] != 1).any()


def test_a_table_that_is_no_room() -> None:
    code, lanes = case(13)
    for main in (np.empty((code.width - 1, 8), np.uint64), np.empty((code.width, 4), np.uint64)):
        with pytest.raises(ValueError, match="do not fit"):
            fill_lanes(CpuDevice(1), [(code, lanes, main)])
    for main in (np.empty((code.width, 8), np.int64), np.empty((code.width, 16), np.uint64)[:, ::2]):
        with pytest.raises(ValueError, match="not contiguous words"):
            fill_lanes(CpuDevice(1), [(code, lanes, main)])


def test_other_sources() -> None:
    code, lanes = case(13)
    main = np.empty((code.width, 8), np.uint64)
    for changed in (
        {WORDS: np.zeros(12, np.uint64)},
        {WORDS: np.zeros(26, np.uint64)[::2]},
        {WORDS: np.zeros(13, np.uint32)},
        {CLOCKS: np.zeros(13, np.uint64)},
        {TABLE: np.zeros((1, 50), np.uint64)},
        {TABLE: None},
        {MOST_SOURCES: np.zeros(13, np.uint64)},
    ):
        with pytest.raises(ValueError, match="source"):
            given = {**lanes.sources.arrays, **changed}
            given = {number: source for number, source in given.items() if source is not None}
            fill_lanes(CpuDevice(1), [(code, replace(lanes, sources=Sources(given)), main)])
    for first in (-1, 1):
        with pytest.raises(ValueError, match="words for 13 lanes from"):
            fill_lanes(CpuDevice(1), [(code, replace(lanes, first=first), main)])


def test_too_many_registers() -> None:
    with pytest.raises(ValueError, match="255 registers"):
        encode([], 255, 1)
