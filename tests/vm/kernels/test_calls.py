"""The traces of host calls of several rows, against their rows by Python's integers."""

import random
import struct
from dataclasses import replace
from functools import cache
from typing import Any, cast

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.vm.accelerators.host_call import MOST_FURTHER
from graphprover.vm.accelerators.integers.point import ALL_CURVES, POINT
from graphprover.vm.accelerators.keccak.absorb import KECCAK_ABSORB
from graphprover.vm.accelerators.kernels import CallArrays, fill_calls
from graphprover.vm.accelerators.registry import ACCELERATORS, BY_CHIP, calls_of
from graphprover.vm.accelerators.sha256.table import SHA256
from graphprover.vm.accelerators.table import CallTable
from graphprover.vm.kernels.tape import ROW_WORDS, WIDE
from graphprover.vm.statement.table_numbers import ROWS_OF_CHIP
from graphprover.vm.tables.clock import FAR, SLOTS
from tests.vm.calls import (
    BOUND,
    EDGES,
    FIELDS,
    MODULAR_CALLS,
    WIDE_EDGES,
    Point,
    bytes_of_number,
    random_coordinate,
    random_number,
)
from tests.vm.kernels.naive_calls import Around, Row, absorb_rows, fp2_rows, matrix, modular_rows, point_rows
from tests.vm.kernels.naive_sha256 import sha256_rows

TABLES = {one.chip: cast(CallTable, one.table(lanes=1)) for one in ACCELERATORS if one.rows > 1}
NAMES = tuple(TABLES)
ENTRIES = 50
CASES = (0, 1, 2, 5, 300)  # calls
IDLE = 3  # in idle rows before


def operands(rng: random.Random, number: int, turn: int) -> list[int]:
    """Return the numbers of a call with a result: a, b, m, c, or the points' coordinates; edge cases first.

    A call that absorbs has none; a compression of SHA-256 has the halves of the block, and the state.
    """
    if number == KECCAK_ABSORB:
        return []
    if number == SHA256:
        return [rng.choice((0, BOUND - 1)) if turn < 8 else rng.getrandbits(256) for _ in range(3)]
    if number in FIELDS:
        if turn < 128:
            largest = (FIELDS[number].p if turn < 64 else 1 << 64 * FIELDS[number].words) - 1
            return [largest if turn & 1 << i else 0 for i in range(6)]
        return [random_coordinate(rng, FIELDS[number]) for _ in range(6)]
    while number in MODULAR_CALLS:
        bits = 8 * MODULAR_CALLS[number][0]
        a, b, m, c = (random_number(rng, bits) for _ in range(4))
        edges = EDGES if bits == 256 else WIDE_EDGES
        if turn < 3 * len(edges):
            m = edges[turn // 3]
            a, b, c = (rng.choice([x for x in (0, 1, m - 1, m, (1 << bits) - 1) if x >= 0]) for _ in range(3))
        if (a * b + c) // (m or 1 << bits) < 1 << bits:
            return [a, b, m, c]
        turn += 1
    p = ALL_CURVES[(number - POINT) // 2].p
    edges = (0, 1, 2, p - 1, p - 2, 1 << 16, 1 << 32, p >> 1, p - (1 << 32), p - (1 << 224))
    while True:
        x1, y1, x2, y2 = (rng.choice(edges) if rng.random() < 0.3 else rng.randrange(p) for _ in range(4))
        if rng.random() < 0.3:  # that differ in one limb
            x2 = x1 ^ rng.getrandbits(31) << 32 * rng.randrange(7)
        if y1 if number % 2 else x1 != x2 < p:
            return [x1, y1, x2, y2][: 4 - 2 * (number % 2)]


def expected_rows(number: int, numbers: list[int], around: Around) -> list[Row]:
    """Return the rows of a call."""
    if number == KECCAK_ABSORB:
        return absorb_rows(around)
    if number in MODULAR_CALLS:
        a, b, m, c = numbers
        return modular_rows(a, b, m, c, around, number=number)
    if number in FIELDS:
        a0, a1, b0, b1, c0, c1 = numbers
        return fp2_rows(FIELDS[number], (a0, a1), (b0, b1), (c0, c1), around)
    if number == SHA256:
        words = b"".join(x.to_bytes(32, "little") for x in numbers)
        return sha256_rows(list(struct.unpack("<8I", words[64:])), words[:64], around)
    first, second = (numbers[0], numbers[1]), numbers[2:]
    points: tuple[Point, Point | None] = first, (second[0], second[1]) if second else None
    return point_rows((number - POINT) // 2, *points, around)


@cache
def case(name: str, count: int) -> tuple[CallArrays, np.ndarray]:
    """Return calls of a chip, among other cycles and accesses, and their rows."""
    rng = random.Random(count)
    first_clock = (1 << 31) - 7
    cycles = 2 * count + 3
    rows, order = np.zeros((cycles, ROW_WORDS), dtype=np.uint64), rng.sample(range(cycles), count)
    for column in range(ROW_WORDS):
        rows[:, column] = [rng.getrandbits(64) for _ in range(cycles)]
    pc = np.array([rng.randrange(0, 1 << 32, 4) for _ in range(ENTRIES)], dtype=np.uint64)
    old, time, new, found = [0] * 5, [0] * 5, [0] * 5, []
    for turn, cycle in enumerate(order):
        kind = rng.choice(calls_of(name))
        numbers, clk = operands(rng, kind.number, turn), first_clock + cycle

        def before(now: int = SLOTS * clk) -> int:
            return now - rng.choice((1, 2, FAR - 3, FAR, FAR + 1, FAR + 2, FAR + 3, FAR + 4, now, rng.randrange(now)))

        packed = b"".join(x.to_bytes(bytes_of_number(kind.number), "little") for x in numbers)
        words = np.frombuffer(packed, dtype="<u8").tolist()
        words += [
            rng.getrandbits(64) if rng.random() < 0.9 else rng.choice((0, 2**64 - 1))
            for _ in range(len(kind.accesses) - len(words))
        ]
        around = Around(
            clk, int(pc[(entry := rng.randrange(ENTRIES))]),
            [8 * rng.randrange(1 << 29) for _ in range(5)], [before() for _ in range(5)], before(),
            [before() for _ in kind.accesses], words,
        )  # fmt: skip
        row = {"a": kind.number, "b": around.pointers[0], "t_a": around.a7_time, "t_b": around.register_times[0]}
        for wide, value in row.items():
            rows[cycle, WIDE.index(wide)] = value
        rows[cycle, ROW_WORDS - 1] = len(old) << 32 | entry
        after = [rng.getrandbits(64) for _ in words]
        after[: kind.further] = around.pointers[1 : 1 + kind.further]
        after[MOST_FURTHER : MOST_FURTHER + kind.further] = around.register_times[1 : 1 + kind.further]
        old, time, new = old + words, time + list(around.word_times), new + after
        found += expected_rows(kind.number, numbers, around)
    arrays = (np.array(column, dtype=np.uint64) for column in (old, time, new))
    calls = CallArrays(np.array(order, dtype=np.uint32), rows, *arrays, pc, first_clock)
    return calls, matrix(TABLES[name], found)


def height_of(name: str, count: int) -> int:
    """Return the height of a table with idle rows after the calls."""
    return 1 << (ROWS_OF_CHIP[name] * count + 2).bit_length()


def filled(device: Any, name: str, calls: CallArrays, count: int) -> Any:
    """Return the trace of calls in a table, on the device."""
    there = {key: value if isinstance(value, int) else device.load(value) for key, value in vars(calls).items()}
    width = TABLES[name].describe().main_width
    empty = np.full((width, height_of(name, count)), IDLE, dtype=np.uint64)
    empty[:, : ROWS_OF_CHIP[name] * count] = 0
    main = device.load(empty)
    fill_calls(device, BY_CHIP[name], CallArrays(**there), main)
    return main


def expected(name: str, count: int) -> np.ndarray:
    """Return the trace of a case."""
    _, rows = case(name, count)
    main = np.full((TABLES[name].describe().main_width, height_of(name, count)), IDLE, dtype=np.uint64)
    main[:, : rows.shape[1]] = rows
    return main


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("count", CASES)
@pytest.mark.parametrize("name", NAMES)
def test_rows_of_calls(name: str, count: int, threads: int) -> None:
    calls, _ = case(name, count)
    np.testing.assert_array_equal(filled(CpuDevice(threads), name, calls, count), expected(name, count))


@pytest.mark.parametrize("name", NAMES)
def test_calls_that_do_not_fit_are_refused(name: str) -> None:
    calls, _ = case(name, 5)
    device, width = CpuDevice(1), TABLES[name].describe().main_width

    def refused(problem: str, main: np.ndarray, **changes: np.ndarray) -> None:
        with pytest.raises(ValueError, match=problem):
            fill_calls(device, BY_CHIP[name], replace(calls, **changes), main)

    rows = 5 * ROWS_OF_CHIP[name]
    main = np.zeros((width, rows), dtype=np.uint64)
    refused("do not fit", main[:, 1:].copy())
    for wrong in (main[1:], main[:, ::2], main.astype(np.int64)):
        refused(f"a trace of {width} columns", wrong)
    for key in ("order", "rows", "old", "time", "new", "pc"):
        array = getattr(calls, key)
        refused(f"{key} is", main, **{key: array.astype(np.int64)})
        refused(f"{key} is", main, **{key: np.repeat(array, 2, axis=-1)[..., ::2]})
