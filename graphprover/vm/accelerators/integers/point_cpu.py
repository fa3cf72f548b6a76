"""The trace of sums and doubles of points, from the points."""

import numpy as np

from graphprover.device import Device
from graphprover.kernels.cpu import field
from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.cpu import SLOT_MEMORY, arrays_of, by_call, cycle_of, further, time_before, write_rows
from graphprover.vm.accelerators.integers.arithmetic import PRIMES, ZERO, add, less, load, slope, store
from graphprover.vm.accelerators.integers.cpu import limb_sums, limbs, put_below, put_integers, put_multiple
from graphprover.vm.accelerators.integers.point import (
    ALL_CURVES,
    HALVES,
    IDENTITIES,
    LAYOUT,
    LIMBS,
    POINT,
    POINT_WORDS,
    POINTS,
    PRIME_INVERSES,
    PRIME_LIMBS,
    PointTable,
)
from graphprover.vm.accelerators.integers.size import NUMBER_WORDS
from graphprover.vm.accelerators.kernels import CallArrays
from graphprover.vm.accelerators.table import columns_of

_U, _I = np.uint64, np.int64
_0, _1 = map(np.uint64, (0, 1))
COLUMNS = columns_of(PointTable())
_ON, _ROW, _CLK, _DOUBLE, _ACCESSED, _CURVE, _POINTER, _REGISTER_T, _A7_PC, _SIGN = (
    COLUMNS[name]
    for name in (
        "on", "row", "clk", "double", "accessed", "curve", "pointer", "register_t", "a7_pc", "sign",
    )
)  # fmt: skip
_X, _Y, _Q, _LOW, _HIGH, _Z, _W, _FLAG, _PART, _WORD_T = (
    COLUMNS[name] for name in ("x", "y", "q", "low", "high", "z", "w", "flag", "part", "word_t")
)
_ROWS = POINTS.rows
_PRIMES = np.array(PRIME_LIMBS, dtype=np.uint64)
_INVERSES = np.array(PRIME_INVERSES, dtype=np.uint64)
_A_OF = np.array([curve.a for curve in ALL_CURVES], dtype=np.int64)


@njit(nogil=True, cache=True)
def execute(number, words):
    """Apply a call: replace the first point by its sum with the second one, or by its double."""
    kind = _I(number - _U(POINT))
    return _point(words, kind // 2, kind % 2 == 1)


@njit(nogil=True, cache=True)
def _point(words, curve, double):
    p = load(PRIMES[curve], 0)
    first, second = (load(words, 0), load(words, NUMBER_WORDS)), (ZERO, ZERO)
    if not double:
        second = load(words, POINT_WORDS), load(words, POINT_WORDS + NUMBER_WORDS)
    if not (less(first[0], p) and less(first[1], p) and less(second[0], p) and less(second[1], p)):
        return False
    exists, line = slope(curve, double, first, second)
    if exists:
        x, y = add(curve, double, first, second, line)
        store(x, words, 0)
        store(y, words, NUMBER_WORDS)
    return exists


@njit(nogil=True, cache=True)
def _points(calls, at, curve, double, statement, cells):
    """Write the points, the identities and the checks."""
    of_sum, of_double, places = statement
    at = _I(at)
    one, other = (load(calls.old, at), load(calls.old, at + NUMBER_WORDS)), (ZERO, ZERO)
    if not double:
        other = load(calls.old, at + POINT_WORDS), load(calls.old, at + POINT_WORDS + NUMBER_WORDS)
    _, steep = slope(curve, double, one, other)
    x, y = add(curve, double, one, other, steep)
    numbers = np.zeros((9, LIMBS), dtype=np.uint64)  # in the order of `LAYOUT`
    x0, x1, y1, x2, y2 = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    line, x3, y3, a = numbers[5], numbers[6], numbers[7], numbers[8]
    limbs(one[0], 0, x1)
    limbs(one[1], 0, y1)
    limbs(one[0] if double else other[0], 0, x2)
    limbs(other[1], 0, y2)
    limbs(one[1] if double else other[0], 0, x0)
    limbs(steep, 0, line)
    limbs(x, 0, x3)
    limbs(y, 0, y3)
    a[0] = _U(_A_OF[curve])
    put_integers(places, numbers, cells)
    prime, sums = _PRIMES[curve], np.empty(HALVES, dtype=np.int64)
    for r, x_of_row in ((0, x0), (1, x1), (2, x3)):
        limb_sums(of_double[r] if double else of_sum[r], numbers, sums)
        put_multiple(sums, prime, _INVERSES[curve], cells[r], _Q, _SIGN, _LOW, _HIGH)
        put_below(x_of_row, prime, cells[r, _FLAG : _FLAG + LIMBS], cells[r, _PART : _PART + 2])
    put_below(y3, prime, cells[2, _Z : _Z + LIMBS], cells[2, _PART + 2 : _PART + 4])
    if not double:
        put_below(y2, prime, cells[0, _Y : _Y + LIMBS], cells[0, _PART + 2 : _PART + 4])
        put_below(y1, prime, cells[0, _Y + LIMBS : _Y + HALVES], cells[1, _PART + 2 : _PART + 4])
    for i in range(LIMBS):
        apart = y1[i] if double else field.sub(x2[i], x1[i])
        if apart != _0:
            cells[0, _W + i] = field.inverse(apart)
            break


@njit(nogil=True, cache=True)
def _call(calls, cycle, statement, cells):
    """Write the rows of one call, (3, columns)."""
    cells[:] = _0
    kind = _I(cycle.number - _U(POINT))
    curve, double = kind // 2, kind % 2 == 1
    _points(calls, cycle.at, curve, double, statement, cells)
    for r in range(3):
        cells[r, _ON] = cells[r, _ROW + r] = cells[r, _CURVE + curve] = _1
        cells[r, _CLK], cells[r, _DOUBLE] = cycle.clk, _U(double)
    cells[0, _ACCESSED], cells[1, _ACCESSED] = _U(not double), _1
    cells[1, _POINTER], cells[1, _REGISTER_T] = cycle.a0, cycle.t_a0
    cells[1, _A7_PC], cells[2, _A7_PC] = cycle.t_a7, cycle.pc
    if not double:
        cells[0, _POINTER], cells[0, _REGISTER_T] = further(calls, cycle, 0)
    for i in range(POINT_WORDS):
        cells[1, _WORD_T + i] = time_before(calls, cycle, i, SLOT_MEMORY)
        if not double:
            cells[0, _WORD_T + i] = time_before(calls, cycle, POINT_WORDS + i, SLOT_MEMORY)


@njit(nogil=True, cache=True)
def _fill(calls, statement, first, last, main):
    cells = np.empty((_ROWS, len(main)), dtype=np.uint64)
    for i in range(first, last):
        _call(calls, cycle_of(calls, i), statement, cells)
        write_rows(cells, i, main)


def fill(device: Device, _table: PointTable, calls: CallArrays, main: np.ndarray) -> None:
    """Write the rows of sums and doubles of points."""
    of_sum, of_double = (
        tuple(LAYOUT.terms(identity, flags, LIMBS) for identity in IDENTITIES) for flags in ((), ("twice",))
    )
    arrays, statement = arrays_of(calls), (of_sum, of_double, LAYOUT.places(COLUMNS))
    by_call(device, calls, lambda first, last: _fill(arrays, statement, first, last, main))
