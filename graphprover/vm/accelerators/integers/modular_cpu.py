"""The trace of the modular operation, from its operands."""

from collections import namedtuple

import numpy as np

from graphprover.device import Device
from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.cpu import (
    SLOT_A,
    SLOT_B,
    SLOT_D,
    SLOT_MEMORY,
    arrays_of,
    by_call,
    cycle_of,
    further,
    time_before,
    write_rows,
)
from graphprover.vm.accelerators.integers.arithmetic import ZERO, ZERO_WIDE, load_as, modular, store, words_of
from graphprover.vm.accelerators.integers.cpu import HALF_MASK, limb_sums, limbs, put_carry, put_integers
from graphprover.vm.accelerators.integers.modular import (
    IDENTITY,
    LAYOUT,
    MODULAR,
    MODULAR_384_QUOTIENT,
    MODULAR_QUOTIENT,
    Modular,
)
from graphprover.vm.accelerators.kernels import CallArrays
from graphprover.vm.accelerators.table import columns_of

_U, _I = np.uint64, np.int64
_1, _8, _16 = map(np.uint64, (1, 8, 16))
ModularColumns = namedtuple("ModularColumns", columns_of(Modular()))  # type: ignore[misc]


@njit(nogil=True, cache=True)
def execute(number, words):
    """Apply a call: compute r, and q behind it, of the operands a, b, m, c."""
    if number == _U(MODULAR) or number == _U(MODULAR_QUOTIENT):
        return _modular(words, ZERO, number == _U(MODULAR_QUOTIENT))
    return _modular(words, ZERO_WIDE, number == _U(MODULAR_384_QUOTIENT))


@njit(nogil=True, cache=True)
def _modular(words, zero, with_quotient):
    """Compute r, and q behind it, of the operands a, b, m, c, with as many words each as ``zero``."""
    size = len(zero)
    a, b = load_as(zero, words, 0), load_as(zero, words, size)
    m, c = load_as(zero, words, 2 * size), load_as(zero, words, 3 * size)
    fits, q, r = modular(a, b, c, m)
    if not fits:
        return False
    store(r, words, 4 * size)
    if with_quotient:
        store(q, words, 5 * size)
    return True


@njit(nogil=True, cache=True)
def _put_unused(cells, columns, used, i, value):
    """Write the i-th cell of the second row that holds no carry, of which ``used`` pairs do."""
    lows = columns.high - columns.low - used
    cells[1, columns.low + used + i if i < lows else columns.high + used + i - lows] = value


@njit(nogil=True, cache=True)
def _numbers(calls, at, zero, columns, statement, with_quotient, cells):
    """Write the numbers, of as many words as ``zero``, the identity and the check of r < m."""
    of_full, of_any, places = statement
    words, at, old = len(zero), _I(at), calls.old
    count = 2 * words  # of limbs
    numbers = np.empty((6, count), dtype=np.uint64)  # in the order of `LAYOUT`
    for i in range(4):
        limbs(old, at + words * i, numbers[i])
    m, r = numbers[2], numbers[4]
    full = True
    for limb in m:
        full &= limb == _U(0)
    a, b = load_as(zero, old, at), load_as(zero, old, at + words)
    modulus, c = load_as(zero, old, at + 2 * words), load_as(zero, old, at + 3 * words)
    _, quotient, remainder = modular(a, b, c, modulus)
    limbs(remainder, 0, r)
    limbs(quotient, 0, numbers[5])
    put_integers(places, numbers, cells)
    cells[0, columns.full] = full
    sums = np.empty(2 * count, dtype=np.int64)
    limb_sums(of_full if full else of_any, numbers, sums)
    carry, in_row = _I(0), columns.high - columns.low
    for i in range(2 * count - 1):
        carry = (sums[i] + carry) >> 32
        row, place = (0, i) if i < in_row else (1, i - in_row)
        put_carry(cells[row], columns.low + place, columns.high + place, carry)
    if not full:
        used = 2 * count - 1 - in_row
        top = count - 1
        while top > 0 and r[top] == m[top]:
            top -= 1
        missing = m[top] - r[top] - _1
        _put_unused(cells, columns, used, 0, missing & HALF_MASK)
        _put_unused(cells, columns, used, 1, missing >> _16)
        _put_unused(cells, columns, used, 2 + top, _1)
    limbs(old, at + 4 * words, cells[1, columns.old_v : columns.old_v + count])
    if with_quotient:
        limbs(old, at + 5 * words, cells[1, columns.old_s : columns.old_s + count])


@njit(nogil=True, cache=True)
def _call(calls, cycle, zero, columns, statement, quotient, cells):
    """Write the rows of one call, (2, columns)."""
    cells[:] = _U(0)
    words, with_quotient = len(zero), cycle.number == quotient
    _numbers(calls, cycle.at, zero, columns, statement, with_quotient, cells)
    for r in range(2):
        cells[r, columns.on], cells[r, columns.clk] = _1, cycle.clk
    cells[0, columns.first] = cells[0, columns.third] = _1
    cells[1, columns.third] = _U(with_quotient)
    # Further registers a1 to a4 have the addresses of a, b, m and c.
    places = (0, 0), (0, 1), (1, 0), (0, 2)
    for i in range(4):
        r, column = places[i]
        cells[r, columns.pointer + column], cells[r, columns.register_t + column] = further(calls, cycle, i)
    cells[1, columns.pointer + 1], cells[1, columns.pointer + 2] = cycle.a0, cycle.a0 + _8 * _U(words)
    cells[1, columns.register_t + 1] = cycle.t_a0
    cells[0, columns.a7_pc], cells[1, columns.a7_pc] = cycle.t_a7, cycle.pc
    operands = (0, 0, SLOT_A), (0, 1, SLOT_B), (1, 0, SLOT_MEMORY), (0, 2, SLOT_MEMORY), (1, 1, SLOT_D), (1, 2, SLOT_D)
    for k in range(6 if with_quotient else 5):
        r, column, slot = operands[k]
        for i in range(words):
            cells[r, columns.word_t + words * column + i] = time_before(calls, cycle, words * k + i, slot)


@njit(nogil=True, cache=True)
def _fill(calls, zero, columns, statement, quotient, first, last, main):
    cells = np.empty((2, len(main)), dtype=np.uint64)
    for i in range(first, last):
        _call(calls, cycle_of(calls, i), zero, columns, statement, quotient, cells)
        write_rows(cells, i, main)


def fill(device: Device, table: Modular, calls: CallArrays, main: np.ndarray) -> None:
    """Write the rows of calls of the modular operation."""
    zero, columns = words_of(0, table.size.words), ModularColumns(**columns_of(table))
    quotient = np.uint64(table.host_calls[1].number)
    of_full, of_any = (LAYOUT.terms(IDENTITY, flags, table.size.limbs) for flags in (("full",), ()))
    statement = of_full, of_any, LAYOUT.places(columns_of(table))
    arguments = arrays_of(calls), zero, columns, statement, quotient
    by_call(device, calls, lambda first, last: _fill(*arguments, first, last, main))
