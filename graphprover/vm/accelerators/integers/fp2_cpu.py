"""The trace of a b + c in Fp2, from the operands."""

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
from graphprover.vm.accelerators.integers.arithmetic import load_as, multiply_add_fp2, store, words_of
from graphprover.vm.accelerators.integers.cpu import limb_sums, limbs, put_below, put_integers, put_multiple
from graphprover.vm.accelerators.integers.fp2 import BLS12_381, BN254, FP2_BN254, IDENTITIES, LAYOUT, Fp2
from graphprover.vm.accelerators.kernels import CallArrays
from graphprover.vm.accelerators.table import columns_of

_U, _I = np.uint64, np.int64
_1, _8 = map(np.uint64, (1, 8))
Fp2Columns = namedtuple("Fp2Columns", columns_of(Fp2()))  # type: ignore[misc]
_BN254, _BLS12_381 = (words_of(field.p, field.words) for field in (BN254, BLS12_381))


@njit(nogil=True, cache=True)
def execute(number, words):
    """Apply a call: compute a b + c of the operands a, b, c."""
    if number == _U(FP2_BN254):
        _fp2(words, _BN254)
    else:
        _fp2(words, _BLS12_381)
    return True


@njit(nogil=True, cache=True)
def _element(p, words, first):
    """Return an element of Fp2: its real part and its factor of u, of as many words as p."""
    return load_as(p, words, first), load_as(p, words, first + len(p))


@njit(nogil=True, cache=True)
def _fp2(words, p):
    """Compute a b + c in Fp2 of the operands a, b, c."""
    size = 2 * len(p)
    a, b, c = _element(p, words, 0), _element(p, words, size), _element(p, words, 2 * size)
    real, other = multiply_add_fp2(a, b, c, p)
    store(real, words, 3 * size)
    store(other, words, 3 * size + len(p))


@njit(nogil=True, cache=True)
def _elements(calls, at, p, prime, inverse, columns, statement, cells):
    """Write the numbers, the identities and the checks of r < p; ``prime``: the limbs of p."""
    terms, places = statement
    words, at, old = len(p), _I(at), calls.old
    count = 2 * words  # of limbs
    numbers = np.empty((8, count), dtype=np.uint64)  # in the order of `LAYOUT`
    for i in range(6):
        limbs(old, at + words * i, numbers[i])
    a, b, c = _element(p, old, at), _element(p, old, at + count), _element(p, old, at + 2 * count)
    real, other = multiply_add_fp2(a, b, c, p)
    limbs(real, 0, numbers[6])
    limbs(other, 0, numbers[7])
    put_integers(places, numbers, cells)
    sums = np.empty(2 * count, dtype=np.int64)
    for r in range(2):
        row = cells[r]
        limb_sums(terms[r], numbers, sums)
        put_multiple(sums, prime, inverse, row, columns.q, columns.sign, columns.low, columns.high)
        put_below(numbers[6 + r], prime, row[columns.flag : columns.flag + count], row[columns.part : columns.part + 2])
        limbs(old, at + words * (6 + r), row[columns.old : columns.old + count])


@njit(nogil=True, cache=True)
def _call(calls, cycle, p, prime, inverse, columns, statement, cells):
    """Write the rows of one call, (2, columns)."""
    cells[:] = _U(0)
    words = len(p)
    _elements(calls, cycle.at, p, prime, inverse, columns, statement, cells)
    cells[0, columns.first] = _1
    # Further registers a1 to a3 have the addresses of a, b and c.
    c_at, c_time = further(calls, cycle, 2)
    for r in range(2):
        behind = _8 * _U(r * words)
        cells[r, columns.on], cells[r, columns.clk] = _1, cycle.clk
        cells[r, columns.pointer], cells[r, columns.register_t] = further(calls, cycle, r)
        cells[r, columns.pointer + 1], cells[r, columns.pointer + 2] = c_at + behind, cycle.a0 + behind
        slot = SLOT_B if r else SLOT_A
        places = 2 * r, 2 * r + 1, 4 + r, 6 + r
        slots = slot, slot, SLOT_MEMORY, SLOT_D
        for k in range(4):
            for i in range(words):
                time = time_before(calls, cycle, words * places[k] + i, slots[k])
                cells[r, columns.word_t + words * k + i] = time
    cells[0, columns.register_t + 1], cells[1, columns.register_t + 1] = c_time, cycle.t_a0
    cells[0, columns.a7_pc], cells[1, columns.a7_pc] = cycle.t_a7, cycle.pc


@njit(nogil=True, cache=True)
def _fill(calls, p, prime, inverse, columns, statement, first, last, main):
    cells = np.empty((2, len(main)), dtype=np.uint64)
    for i in range(first, last):
        _call(calls, cycle_of(calls, i), p, prime, inverse, columns, statement, cells)
        write_rows(cells, i, main)


def fill(device: Device, table: Fp2, calls: CallArrays, main: np.ndarray) -> None:
    """Write the rows of calls of a b + c."""
    field = table.field
    p, prime = words_of(field.p, field.words), np.array(table.size.limbs_of(field.p), dtype=np.uint64)
    inverse, columns = np.uint64(pow(field.p, -1, 1 << 32)), Fp2Columns(**columns_of(table))
    terms = tuple(LAYOUT.terms(identity, (), table.size.limbs) for identity in IDENTITIES)
    statement = terms, LAYOUT.places(columns_of(table))
    arguments = arrays_of(calls), p, prime, inverse, columns, statement
    by_call(device, calls, lambda first, last: _fill(*arguments, first, last, main))
