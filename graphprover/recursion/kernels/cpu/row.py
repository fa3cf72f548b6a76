"""The trace of opened rows, and the numbers and memory cells that it looks up."""

from functools import partial

import numpy as np

from graphprover.device import Device
from graphprover.kernels.cpu.field import add, mul
from graphprover.kernels.cpu.parallel import counted_apart
from graphprover.recursion.kernels.segments import Kind, Segments
from graphprover.recursion.tables.row import BLOCK_ROWS, FIRST_COLUMNS, STRIDE, WORDS
from graphprover.runtime.numba_cache import njit

_U = np.uint64
_BLOCK = BLOCK_ROWS * WORDS  # words
_WEIGHTED, _READ, _SPLIT, _PARENT, _WHOLE = map(int, Kind)
(
    _IS_WEIGHTED, _IS_READ, _IS_SPLIT, _IS_PARENT, _UPPER, _BEGIN, _INNER, _IS_WHOLE, _NUMBER, _TREE, _COUNTER, _BASE,
    _ADDRESS, _ABSENT, _SHORT, _HALF, _WEIGHT, _SUM, _DIGEST, _ASKED,
) = (
    FIRST_COLUMNS[name]
    for name in (
        "weighted", "read", "split", "parent", "upper", "begin", "inner", "whole", "number", "tree", "counter", "base",
        "address", "absent", "short", "half", "weight", "sum", "digest", "asked",
    )
)  # fmt: skip


@njit(nogil=True, cache=True)
def _weigh(words, cells, base, first, last, sums):
    """Add the words first..last of a segment times their weights to the sums, (6,)."""
    for i in range(first, last):
        address = base + STRIDE * i
        for point in range(2):
            for k in range(3):
                weighted = mul(cells[k, address + point], words[i])
                sums[3 * point + k] = add(sums[3 * point + k], weighted)


@njit(nogil=True, cache=True)
def _fill(words, owners, firsts, places, numbers, digests, cells, main, first, last):
    """Write the rows first..last."""
    flat = words.ravel()
    sums = np.zeros(6, dtype=np.uint64)
    for row in range(first, last):
        main[:, row] = _U(0)
        block = row // BLOCK_ROWS
        if block >= len(owners):
            continue
        segment = owners[block]
        begins = np.int64(firsts[segment])
        kind, counter, base, absent, asked = numbers[segment]
        if kind & _PARENT:
            upper = row % BLOCK_ROWS
            main[_WEIGHT, row] = _U(absent if upper else base)
            main[_WEIGHT + 1, row] = _U(counter) + _U(base if upper else 0)
            main[_WEIGHT + 2, row] = _U(counter)
            counter, base, absent = np.uint32(0), np.uint32(0), np.uint32(0)
        at = row - BLOCK_ROWS * begins  # of the segment's rows
        own = flat[_BLOCK * begins :]
        is_last = block + 1 == len(owners) or owners[block + 1] != segment
        ends = is_last and row % BLOCK_ROWS == BLOCK_ROWS - 1
        main[_IS_WEIGHTED, row] = _U(kind & _WEIGHTED != 0)
        main[_IS_READ, row] = _U(kind & _READ != 0)
        main[_IS_SPLIT, row] = _U(kind & _SPLIT != 0)
        main[_IS_PARENT, row] = _U(kind & _PARENT != 0)
        main[_UPPER, row], main[_BEGIN, row] = _U(row % BLOCK_ROWS), _U(at == 0)
        main[_IS_WHOLE, row] = _U(ends and kind & _WHOLE != 0)
        main[_INNER, row] = _U(ends and kind & _WHOLE == 0)
        main[_NUMBER, row] = _U(block)
        for k in range(3):
            main[_TREE + k, row] = places[segment, k]
        main[_COUNTER, row], main[_BASE, row] = _U(counter), _U(base)
        main[_ADDRESS, row] = _U(base) + _U(STRIDE * WORDS * at)
        main[_ABSENT, row] = _U(absent if is_last else 0)
        main[_SHORT, row] = _U(is_last and absent >= WORDS)
        for i in range(WORDS):
            word = own[WORDS * at + i]
            for k in range(4):
                main[_HALF + 4 * i + k, row] = word >> _U(16 * k) & _U(0xFFFF)
            if kind & _WEIGHTED:
                address = np.int64(base) + STRIDE * (WORDS * at + i)
                for point in range(2):
                    for k in range(3):
                        main[_WEIGHT + 3 * (WORDS * point + i) + k, row] = cells[k, address + point]
            elif kind & _READ:
                main[_WEIGHT + 3 * i, row] = word
            elif kind & _SPLIT:
                main[_WEIGHT + 3 * (WORDS + i), row] = word & _U(0xFFFFFFFF)
                main[_WEIGHT + 3 * (WORDS + i) + 1, row] = word >> _U(32)
        if kind & _WEIGHTED:
            if at == 0 or row == first:
                sums[:] = _U(0)
                _weigh(own, cells, np.int64(base), 0, WORDS * at, sums)
            _weigh(own, cells, np.int64(base), WORDS * at, WORDS * (at + 1), sums)
            for k in range(6):
                main[_SUM + k, row] = sums[k]
        if ends:
            for k in range(8):
                main[_DIGEST + k, row] = _U(digests[segment, k])
            main[_ASKED, row] = _U(asked)


@njit(nogil=True, cache=True)
def _count_halves(words, counts, first, last):
    for block in range(first, last):
        for word in words[block]:
            for k in range(4):
                counts[word >> _U(16 * k) & _U(0xFFFF)] += _U(1)


@njit(nogil=True, cache=True)
def _count_cells(owners, firsts, numbers, counts, first, last):
    for block in range(first, last):
        segment = owners[block]
        kind, base = numbers[segment, 0], np.int64(numbers[segment, 2])
        start = base + STRIDE * _BLOCK * (block - np.int64(firsts[segment]))
        for i in range(_BLOCK):
            if kind & (_WEIGHTED | _READ):
                counts[start + STRIDE * i] += _U(1)
            if kind & (_WEIGHTED | _SPLIT):
                counts[start + STRIDE * i + 1] += _U(1)


@njit(nogil=True, cache=True)
def _count_numbers(numbers, counts, first, last):
    for i in range(first, last):
        counts[numbers[i]] += _U(1)


def fill_row(device: Device, segments: Segments, cells: np.ndarray, main: np.ndarray) -> None:
    """Write a trace; see ``graphprover.recursion.kernels.fill_row``."""
    of = segments
    fill = partial(_fill, of.words, of.owners, of.firsts, of.places, of.numbers, of.digests, cells, main)
    device.split_rows(fill, main.shape[1])


def count_halves(device: Device, segments: Segments, counts: np.ndarray) -> None:
    """Count numbers of 16 bits; see ``graphprover.recursion.kernels.count_halves``."""
    counted_apart(device.split_rows, len(segments.words), counts, partial(_count_halves, segments.words))


def count_cells(device: Device, segments: Segments, counts: np.ndarray) -> None:
    """Count lookups in memory; see ``graphprover.recursion.kernels.count_cells``."""
    count = partial(_count_cells, segments.owners, segments.firsts, segments.numbers)
    counted_apart(device.split_rows, len(segments.owners), counts, count)


def count_numbers(device: Device, numbers: np.ndarray, counts: np.ndarray) -> None:
    """Count numbers; see ``graphprover.recursion.kernels.count_numbers``."""
    counted_apart(device.split_rows, len(numbers), counts, partial(_count_numbers, numbers))
