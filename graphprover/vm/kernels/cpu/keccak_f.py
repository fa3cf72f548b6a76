"""Keccak-f and its traces from the states before calls."""

from functools import partial

import numpy as np

from graphprover.device import Device
from graphprover.kernels.cpu import keccak, simd
from graphprover.protocol.keccak import ROUND_CONSTANTS
from graphprover.runtime.numba_cache import njit
from graphprover.vm.kernels.cpu.counting import counted_apart
from graphprover.vm.tables.keccak_f import DIGITS, FIRST_COLUMNS, IOTA_BITS, ROTATIONS, ROUNDS, SOURCES, WORDS

_ROWS = 512  # rows whose words stay in a cache while their bits are written
_CALL, _ACTIVE, _ROUND, _INPUT, _FLIP, _THETA, _CHI, _OUTPUT = (
    FIRST_COLUMNS[name] for name in ("call", "active", "round", "input", "flip", "theta", "chi", "output")
)
_SOURCES = np.array(SOURCES, dtype=np.int64)
_ROTATIONS = np.array([ROTATIONS[word] for word in SOURCES], dtype=np.uint64)
_IOTA_BITS = np.array(IOTA_BITS, dtype=np.uint64)
_LIMB_BITS, _LIMB_MASK = np.uint64(32), np.uint64((1 << 32) - 1)
_ZERO, _ONE, _63, _64 = np.uint64(0), np.uint64(1), np.uint64(63), np.uint64(64)
_MASK = np.uint64((1 << DIGITS) - 1)
_SPREAD = np.array([sum((n >> i & 1) << 3 * i for i in range(DIGITS)) for n in range(1 << DIGITS)], dtype=np.int64)


@njit(nogil=True, cache=True)
def _rotated(x, bits):
    return x << bits | x >> (_64 - bits & _63)


@njit(nogil=True, cache=True)
def _flips(state, flip):
    """Return the words that theta xors into all words of a column."""
    for x in range(5):
        left, right = (x + 4) % 5, (x + 1) % 5
        before, after = state[left], state[right]
        for y in range(5, WORDS, 5):
            before ^= state[left + y]
            after ^= state[right + y]
        flip[x] = before ^ _rotated(after, _ONE)


@njit(nogil=True, cache=True)
def _apply_round(state, flip, number):
    """Apply a round after theta."""
    moved = np.empty(WORDS, dtype=np.uint64)
    for word in range(WORDS):
        source = _SOURCES[word]
        moved[word] = _rotated(state[source] ^ flip[source % 5], _ROTATIONS[word])
    for y in range(0, WORDS, 5):
        for x in range(5):
            state[x + y] = moved[x + y] ^ ~moved[(x + 1) % 5 + y] & moved[(x + 2) % 5 + y]
    state[0] ^= ROUND_CONSTANTS[number]


@njit(nogil=True, cache=True)
def _begin(states, call, last, number, state, flip):
    """Return the state before a round of a call, and its theta; without a call, of zeros."""
    for word in range(WORDS):
        state[word] = states[word, call] if call < last else _ZERO
    _flips(state, flip)
    for before in range(number):
        _apply_round(state, flip, before)
        _flips(state, flip)


@njit(nogil=True, cache=True)
def _write_bits(word, main, column, start, size):
    for z in range(64):
        target = main[column + z, start : start + size]
        for i in range(size):
            target[i] = word[i] >> np.uint64(z) & _ONE


@njit(nogil=True, cache=True)
def _write_limbs(words, main, column, start, size):
    for word in range(WORDS):
        low, high = main[column + 2 * word], main[column + 2 * word + 1]
        for i in range(size):
            low[start + i] = words[word, i] & _LIMB_MASK
            high[start + i] = words[word, i] >> _LIMB_BITS


@njit(nogil=True, cache=True)
def _fill(states, clocks, first_call, last_call, main, first, last):
    state, flip = np.empty(WORDS, dtype=np.uint64), np.empty(5, dtype=np.uint64)
    before, after = np.empty((WORDS, _ROWS), dtype=np.uint64), np.empty((WORDS, _ROWS), dtype=np.uint64)
    flips, chi = np.empty((5, _ROWS), dtype=np.uint64), np.empty(_ROWS, dtype=np.uint64)
    for start in range(first, last, _ROWS):
        size = min(_ROWS, last - start)
        for i in range(size):
            call, number = first_call + (start + i) // ROUNDS, (start + i) % ROUNDS
            if i == 0 or number == 0:
                _begin(states, call, last_call, number, state, flip)
            active = call < last_call
            main[_CALL, start + i] = clocks[call] if active else _ZERO
            main[_ACTIVE, start + i] = active
            for j in range(ROUNDS):
                main[_ROUND + j, start + i] = j == number
            before[:, i] = state
            flips[:, i] = flip
            _apply_round(state, flip, number)
            after[:, i] = state
            chi[i] = state[0] ^ ROUND_CONSTANTS[number]
            _flips(state, flip)
        _write_limbs(before, main, _INPUT, start, size)
        _write_limbs(after, main, _OUTPUT, start, size)
        for x in range(5):
            _write_bits(flips[x], main, _FLIP + 64 * x, start, size)
        for word in range(WORDS):
            for i in range(size):
                before[word, i] ^= flips[word % 5, i]
            _write_bits(before[word], main, _THETA + 64 * word, start, size)
        for j in range(len(_IOTA_BITS)):
            for i in range(size):
                main[_CHI + j, start + i] = chi[i] >> _IOTA_BITS[j] & _ONE


@njit(nogil=True, cache=True)
def _add(a, b):
    """Return sums of bits of 64 places at once: a bit of each in a word, lowest first."""
    carry = _ZERO
    for i in range(len(a)):
        either = a[i] ^ b[i]
        carry, b[i] = a[i] & b[i] | carry & either, either ^ carry


@njit(nogil=True, cache=True)
def _count_evens(states, first_call, last_call, counts, first, last):
    state, flip = np.empty(WORDS, dtype=np.uint64), np.empty(5, dtype=np.uint64)
    columns, turned = np.empty((5, 4), dtype=np.uint64), np.empty((5, 4), dtype=np.uint64)
    bit = np.zeros(4, dtype=np.uint64)
    for row in range(first, last):
        call, number = first_call + row // ROUNDS, row % ROUNDS
        if row == first or number == 0:
            _begin(states, call, last_call, number, state, flip)
        columns[:] = _ZERO
        for word in range(WORDS):
            bit[0] = state[word] ^ flip[word % 5]
            _add(bit, columns[word % 5])
        for x in range(5):
            bit[0] = flip[x]
            _add(bit, columns[x])
        for x in range(5):
            for i in range(4):
                turned[x, i] = _rotated(columns[x, i], _ONE)
        for x in range(5):
            total = turned[(x + 1) % 5].copy()
            _add(columns[(x + 4) % 5], total)
            bit[0] = flip[x]
            _add(bit, total)
            # All are even, and their halves are digits of three bits.
            for z in range(0, 64, DIGITS):
                at = np.int64(0)
                for i in range(3):
                    at |= _SPREAD[total[1 + i] >> np.uint64(z) & _MASK] << i
                counts[at] += _ONE
        _apply_round(state, flip, number)
        _flips(state, flip)


@njit(nogil=True, cache=True)
def _permute(states, target, first, last):
    some = np.empty(keccak.STATE, dtype=np.uint64)
    for start in range(first, last, simd.WIDTH):
        size = min(simd.WIDTH, last - start)
        for word in range(WORDS):
            for i in range(simd.WIDTH):
                some[simd.WIDTH * word + i] = states[word, start + i] if i < size else _ZERO
        keccak.permute(some)
        for word in range(WORDS):
            for i in range(size):
                target[word, start + i] = some[simd.WIDTH * word + i]


def permuted(device: Device, states: np.ndarray) -> np.ndarray:
    """Permute states; see ``graphprover.vm.kernels.permuted``."""
    target = np.empty_like(states)
    device.split_rows(partial(_permute, states, target), states.shape[1])
    return target


def fill_keccak_f(
    device: Device, states: np.ndarray, clocks: np.ndarray, first: int, last: int, main: np.ndarray
) -> None:
    """Write the trace; see ``graphprover.vm.kernels.fill_keccak_f``."""
    device.split_rows(partial(_fill, states, clocks, first, last, main), main.shape[1])


def count_evens(device: Device, states: np.ndarray, first: int, last: int, rows: int, counts: np.ndarray) -> None:
    """Count lookups; see ``graphprover.vm.kernels.count_evens``."""
    counted_apart(device, rows, counts, partial(_count_evens, states, first, last))
