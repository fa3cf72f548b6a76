"""The trace of the modular operation, from its operands."""

import numpy as np

from graphprover.device import Device
from graphprover.runtime.numba_cache import njit
from graphprover.vm.executor.integers import load, modular
from graphprover.vm.kernels.calls import LIMBS, MODULAR, MODULAR_ROWS, MODULAR_WIDTH, Calls
from graphprover.vm.kernels.cpu.calls import (
    HALF_MASK,
    LAST,
    LIMB_MASK,
    T_A,
    T_B,
    A,
    B,
    arrays_of,
    by_call,
    further,
    halve,
    limbs,
    product,
    recent,
    write_rows,
)
from graphprover.vm.program.host_calls import NUMBER_WORDS
from graphprover.vm.program.io import MODULAR_QUOTIENT
from graphprover.vm.tables import clock
from graphprover.vm.tables.modular import CARRIES, CARRY_CELLS, HALVES, OFFSET

_U, _I = np.uint64, np.int64
_SLOTS, _A, _B, _M, _D = map(np.uint64, (clock.SLOTS, clock.SLOT_A, clock.SLOT_B, clock.SLOT_MEMORY, clock.SLOT_D))
_1, _8, _16, _32 = map(np.uint64, (1, 8, 16, 32))
_ON, _FIRST, _CLK, _THIRD, _FULL, _POINTER, _REGISTER_T, _A7_PC, _U_CELLS, _V_CELLS, _S_CELLS = (
    MODULAR[name] for name in ("on", "first", "clk", "third", "full", "pointer", "register_t", "a7_pc", "u", "v", "s")
)
_WORD_T, _OLD_V, _OLD_S, _LOW, _HIGH = (MODULAR[name] for name in ("word_t", "old_v", "old_s", "low", "high"))
_UNUSED = CARRIES - CARRY_CELLS  # carries of the second row


@njit(nogil=True, cache=True)
def _carry(cells, i, value):
    """Write a carry."""
    value += OFFSET
    row, at = (0, i) if i < CARRY_CELLS else (1, i - CARRY_CELLS)
    cells[row, _LOW + at] = _U(value) & HALF_MASK
    cells[row, _HIGH + at] = _U(value) >> _16


@njit(nogil=True, cache=True)
def _put_unused(cells, i, value):
    """Write the i-th cell of the second row that holds no carry."""
    lows = CARRY_CELLS - _UNUSED
    cells[1, _LOW + _UNUSED + i if i < lows else _HIGH + _UNUSED + i - lows] = value


@njit(nogil=True, cache=True)
def _numbers(calls, at, with_quotient, cells):
    """Write the numbers, the identity and the check of r < m."""
    numbers = np.empty((6, LIMBS), dtype=np.uint64)  # a, b, m, c, r, q
    for i in range(4):
        limbs(calls.old, _I(at) + NUMBER_WORDS * i, numbers[i])
    full = True
    for limb in numbers[2]:
        full &= limb == _U(0)
    a_at = _I(at)
    b_at, m_at, c_at = a_at + NUMBER_WORDS, a_at + 2 * NUMBER_WORDS, a_at + 3 * NUMBER_WORDS
    old = calls.old
    _, quotient, remainder = modular(load(old, a_at), load(old, b_at), load(old, c_at), load(old, m_at))
    limbs(remainder, 0, numbers[4])
    limbs(quotient, 0, numbers[5])
    halves = np.empty((6, HALVES), dtype=np.int64)
    for i in range(6):
        halve(numbers[i], halves[i])
    a, b, m, c, r, q = halves[0], halves[1], halves[2], halves[3], halves[4], halves[5]
    for i in range(HALVES):
        cells[0, _U_CELLS + i], cells[1, _U_CELLS + i] = a[i], m[i]
        cells[0, _V_CELLS + i], cells[1, _V_CELLS + i] = b[i], r[i]
        cells[0, _S_CELLS + i], cells[1, _S_CELLS + i] = c[i], q[i]
    cells[0, _FULL] = full
    carry = _I(0)
    for i in range(CARRIES):
        total = product(a, b, i) - product(m, q, i) + carry
        if i < LIMBS:
            total += _I(numbers[3, i]) - _I(numbers[4, i])
        elif full:
            total -= _I(numbers[5, i - LIMBS])
        carry = total >> 32
        _carry(cells, i, carry)
    if not full:
        top = LIMBS - 1
        while top > 0 and numbers[4, top] == numbers[2, top]:
            top -= 1
        missing = numbers[2, top] - numbers[4, top] - _1
        _put_unused(cells, 0, missing & HALF_MASK)
        _put_unused(cells, 1, missing >> _16)
        _put_unused(cells, 2 + top, _1)
    before = np.empty(LIMBS, dtype=np.uint64)
    for i in range(LIMBS):
        cells[0, _OLD_V + i], cells[0, _OLD_S + i] = numbers[1, i], numbers[3, i]
    limbs(old, _I(at) + 4 * NUMBER_WORDS, before)
    cells[1, _OLD_V : _OLD_V + LIMBS] = before
    if with_quotient:
        limbs(old, _I(at) + 5 * NUMBER_WORDS, before)
        cells[1, _OLD_S : _OLD_S + LIMBS] = before


@njit(nogil=True, cache=True)
def _call(calls, cycle, first_clock, cells):
    """Write the rows of one call, (2, MODULAR_WIDTH)."""
    cells[:] = _U(0)
    row = calls.rows[cycle]
    clk = _U(cycle) + first_clock
    at, entry, now = row[LAST] >> _32, row[LAST] & LIMB_MASK, _SLOTS * clk
    with_quotient = row[A] == _U(MODULAR_QUOTIENT)
    _numbers(calls, at, with_quotient, cells)
    for r in range(2):
        cells[r, _ON], cells[r, _CLK] = _1, clk
    cells[0, _FIRST] = cells[0, _THIRD] = _1
    cells[1, _THIRD] = _U(with_quotient)
    # Further registers a1 to a4 have the addresses of a, b, m and c.
    places = (0, 0), (0, 1), (1, 0), (0, 2)
    for i in range(4):
        value, before = further(calls, at, i)
        r, column = places[i]
        cells[r, _POINTER + column] = value
        cells[r, _REGISTER_T + column] = recent(before, now + _A)
    cells[1, _POINTER + 1], cells[1, _POINTER + 2] = row[B], row[B] + _8 * _U(NUMBER_WORDS)
    cells[1, _REGISTER_T + 1] = recent(row[T_B], now + _B)
    cells[0, _A7_PC], cells[1, _A7_PC] = recent(row[T_A], now + _A), calls.pc[entry]
    operands = (0, 0, _A), (0, 1, _B), (1, 0, _M), (0, 2, _M), (1, 1, _D), (1, 2, _D)
    for k in range(6 if with_quotient else 5):
        r, column, slot = operands[k]
        for i in range(NUMBER_WORDS):
            before = calls.time[at + _U(NUMBER_WORDS * k + i)]
            cells[r, _WORD_T + NUMBER_WORDS * column + i] = recent(before, now + slot)


@njit(nogil=True, cache=True)
def _fill(calls, first_clock, first, last, main):
    cells = np.empty((MODULAR_ROWS, MODULAR_WIDTH), dtype=np.uint64)
    for i in range(first, last):
        _call(calls, _I(calls.order[i]), first_clock, cells)
        write_rows(cells, i, main)


def fill_modular(device: Device, calls: Calls, main: np.ndarray) -> None:
    """Write the rows of calls; see ``graphprover.vm.kernels.fill_modular``."""
    arrays, first_clock = arrays_of(calls), np.uint64(calls.first_clock)
    by_call(device, calls, lambda first, last: _fill(arrays, first_clock, first, last, main))
