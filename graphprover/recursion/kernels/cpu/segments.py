"""The rows of segments in a trace, and the numbers and memory cells that they look up."""

from functools import partial

import numpy as np

from graphprover.device import Device
from graphprover.kernels.cpu.field import add, mul
from graphprover.kernels.cpu.parallel import counted_apart
from graphprover.recursion.kernels.segments import RowSegments, SegmentKind
from graphprover.recursion.tables.segments import COLUMNS, QUARTERS, STRIDE, WORDS
from graphprover.runtime.numba_cache import njit

_U = np.uint64
_BLOCK = QUARTERS * WORDS  # words
_WEIGHTED, _READ, _SPLIT, _PARENT, _WHOLE = map(int, SegmentKind)
_QUARTER, _INNER, _IS_WHOLE = COLUMNS.quarter[0], COLUMNS.inner, COLUMNS.whole
_KINDS = COLUMNS.weighted  # four flags, in the order of `SegmentKind`
_BEGIN, _LAST, _ROOT, _ABSENT = COLUMNS.begin, COLUMNS.last, COLUMNS.root, COLUMNS.absent[0]
_WEIGHT, _AT, _SUM, _HALF = COLUMNS.weight[0][0][0], COLUMNS.at[0], COLUMNS.sum[0][0], COLUMNS.half[0]
_NUMBER, _COUNTER, _BASE, _ASKED = COLUMNS.number, COLUMNS.counter, COLUMNS.base, COLUMNS.asked
_PLACE, _SPAN, _DIGEST = COLUMNS.place[0], COLUMNS.span[0], COLUMNS.digest[0]


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
def _common(main, row, kind, block, counter, base, address, absent, place, span, sums):
    """Write the cells that both quarters and ends have."""
    for k in range(4):
        main[_KINDS + k, row] = _U(kind >> k & 1)
    for k in range(3):
        main[_ABSENT + k, row] = _U(absent >> k & 1)
    main[_NUMBER, row], main[_COUNTER, row], main[_BASE, row] = _U(block), _U(counter), _U(base)
    main[_AT, row] = _U(address)
    for k in range(6):
        main[_SUM + k, row] = sums[k]
    for k in range(3):
        main[_PLACE + k, row], main[_SPAN + k, row] = place[k], span[k]


@njit(nogil=True, cache=True)
def _fill(words, owners, firsts, places, numbers, digests, cells, main, start, first, last):
    """Write the rows of the blocks first..last, and the ends after them; the rows of all segments begin at start."""
    flat = words.ravel()
    sums, span, none = np.zeros(6, dtype=np.uint64), np.zeros(3, dtype=np.uint64), np.zeros(3, dtype=np.uint64)
    for block in range(first, last):
        segment = np.int64(owners[block])
        begins = np.int64(firsts[segment])
        kind, counter, base, absent, asked = numbers[segment]
        parent = kind & _PARENT != 0
        span[0], span[1], span[2] = _U(counter), _U(1), _U(0)
        if parent:
            span[1], span[2] = _U(base), _U(absent)
            counter, base, absent = np.uint32(0), np.uint32(0), np.uint32(0)
        own, done = flat[_BLOCK * begins :], _BLOCK * (block - begins)  # words before the block
        is_last = block + 1 == len(owners) or owners[block + 1] != segment
        is_root = is_last and kind & _WHOLE != 0
        if not is_last:
            absent = np.uint32(0)
        if done == 0 or block == first:
            sums[:] = _U(0)
            if kind & _WEIGHTED:
                _weigh(own, cells, np.int64(base), 0, done, sums)
        row = start + QUARTERS * block + segment
        for quarter in range(QUARTERS):
            at, address = done + WORDS * quarter, np.int64(base) + STRIDE * (done + WORDS * quarter)
            if kind & _WEIGHTED:
                _weigh(own, cells, np.int64(base), at, at + WORDS, sums)
            if parent:
                _common(main, row, kind, block, counter, base, address, absent, places[segment], span, sums)
            else:
                _common(main, row, kind, block, counter, base, address, absent, none, none, sums)
            main[_QUARTER + quarter, row] = _U(1)
            main[_BEGIN, row] = _U(quarter == 0 and done == 0)
            main[_LAST, row], main[_ROOT, row] = _U(is_last), _U(is_root)
            for i in range(WORDS):
                word = own[at + i]
                for k in range(4):
                    main[_HALF + 4 * i + k, row] = word >> _U(16 * k) & _U(0xFFFF)
                for point in range(2):
                    main[_AT + 2 * i + point, row] = _U(address + STRIDE * i + point)
                weight = _WEIGHT + 6 * i
                if kind & _WEIGHTED:
                    for point in range(2):
                        for k in range(3):
                            main[weight + 3 * point + k, row] = cells[k, address + STRIDE * i + point]
                elif kind & _READ:
                    main[weight, row] = word
                elif kind & _SPLIT:
                    main[weight + 3, row] = word & _U(0xFFFFFFFF)
                    main[weight + 4, row] = word >> _U(32)
            row += 1
        if is_last:
            address = np.int64(base) + STRIDE * (done + _BLOCK)
            _common(main, row, kind, block, counter, base, address, absent, places[segment], span, sums)
            main[_IS_WHOLE if is_root else _INNER, row] = _U(1)
            for k in range(8):
                main[_DIGEST + k, row] = _U(digests[segment, k])
            main[_ASKED, row] = _U(0 if parent else asked)


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


def fill_segments(
    device: Device, segments: RowSegments, digests: np.ndarray, cells: np.ndarray, main: np.ndarray, first: int
) -> None:
    """Write the rows of segments; see ``graphprover.recursion.kernels.fill_segments``."""
    of = segments
    fill = partial(_fill, of.words, of.owners, of.firsts, of.places, of.numbers, digests, cells, main, first)
    device.split_rows(fill, len(of.words))


def count_halves(device: Device, segments: RowSegments, counts: np.ndarray) -> None:
    """Count numbers of 16 bits; see ``graphprover.recursion.kernels.count_halves``."""
    counted_apart(device.split_rows, len(segments.words), counts, partial(_count_halves, segments.words))


def count_cells(device: Device, segments: RowSegments, counts: np.ndarray) -> None:
    """Count lookups in memory; see ``graphprover.recursion.kernels.count_cells``."""
    count = partial(_count_cells, segments.owners, segments.firsts, segments.numbers)
    counted_apart(device.split_rows, len(segments.owners), counts, count)


def count_numbers(device: Device, numbers: np.ndarray, counts: np.ndarray) -> None:
    """Count numbers; see ``graphprover.recursion.kernels.count_numbers``."""
    counted_apart(device.split_rows, len(numbers), counts, partial(_count_numbers, numbers))
