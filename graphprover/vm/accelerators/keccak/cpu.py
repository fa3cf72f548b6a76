"""Keccak-f and the traces of its tables from the states before calls."""

from functools import partial

import numpy as np

from graphprover.device import Device
from graphprover.field import P
from graphprover.kernels.cpu import keccak, simd
from graphprover.kernels.cpu.parallel import counted_apart
from graphprover.protocol.keccak import ROUND_CONSTANTS
from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.keccak import classes as keccak_classes
from graphprover.vm.accelerators.keccak import limbs as keccak_limbs
from graphprover.vm.accelerators.keccak import planes as keccak_planes
from graphprover.vm.accelerators.keccak import rounds as keccak_rounds
from graphprover.vm.accelerators.keccak.digits import CLASSES, FACTOR_SHIFT, FACTORS, SPREAD, Lookup
from graphprover.vm.accelerators.keccak.permutation import ROTATIONS, SOURCES, WORDS
from graphprover.vm.accelerators.keccak.rounds import IOTA_CLASSES, ROWS, STEPS, TURNED, TURNS

_ROWS = 512  # rows whose words stay in a cache while their chunks are written
_CALL, _STEP, _TURN, _IOTA, _PARITY, _PARITY_TURNED, _THETA, _TURNED = (
    keccak_rounds.FIRST_COLUMNS[name]
    for name in ("call", "step", "turn", "iota", "parity", "parity_turned", "theta", "turned")
)
_ON, _AFTER, _PLANE_CALL, _PLANE, _SUM, _LOW, _HIGH = (
    keccak_planes.FIRST_COLUMNS[name] for name in ("on", "after", "call", "plane", "sum", "low", "high")
)
_PLANE_ROWS = keccak_planes.ROWS
_CLASS_ROWS, _CLASS_STEPS, _STEP_BASE = keccak_classes.ROWS, keccak_classes.STEPS, keccak_classes.BASE
_C_ON, _C_STEP, _C_TURN, _C_REACHED, _C_CALL = (
    keccak_classes.FIRST_COLUMNS[name] for name in ("on", "step", "turn", "reached", "call")
)
_C_CONSTANT, _C_IOTA, _C_PARITY, _C_PARITY_TURNED, _C_SHIFTED, _C_THETA, _C_TURNED, _C_MOVED = (
    keccak_classes.FIRST_COLUMNS[name]
    for name in ("constant", "iota", "parity", "parity_turned", "shifted", "theta", "turned", "moved")
)
_LIMB_ROWS, _LIMB_BLOCK = keccak_limbs.ROWS, keccak_limbs.PLANE_ROWS
_L_ON, _L_ENDS, _L_AFTER, _L_CALL, _L_PLANE, _L_CLASS, _L_SUM, _L_LOW, _L_HIGH = (
    keccak_limbs.FIRST_COLUMNS[name]
    for name in ("on", "ends", "after", "call", "plane", "of_class", "sum", "low", "high")
)
_SOURCES = np.array(SOURCES, dtype=np.int64)
_ROTATIONS = np.array([ROTATIONS[word] for word in SOURCES], dtype=np.uint64)
_CONSTANTS = np.array([0, 0, *map(int, ROUND_CONSTANTS)], dtype=np.uint64)  # by row, of the round before
_LAST_CONSTANT = np.uint64(ROUND_CONSTANTS[-1])
_IOTA_CLASSES = np.array(IOTA_CLASSES, dtype=np.uint64)
_ALL_CLASSES = np.arange(CLASSES, dtype=np.uint64)
_TURNS = np.array([[TURNS[word, c] for c in range(CLASSES)] for word in range(WORDS)], dtype=np.int64)
_COPIES = np.array([[TURNED.get((word, c), 0) for c in range(CLASSES)] for word in range(WORDS)], dtype=np.int64)
_SPREAD, _SHIFT = np.uint64(SPREAD), np.uint64(FACTOR_SHIFT)
_FACTORS = np.array(FACTORS, dtype=np.uint64)
_FACTOR = _FACTORS[0]
_HALVES, _FIRST, _FIRST_TURNED = int(Lookup.HALVES), int(Lookup.FIRST), int(Lookup.FIRST_TURNED_1)
_LAST_CLASS = np.uint64(CLASSES - 1)
_ZERO, _ONE, _TWO, _THREE = (np.uint64(i) for i in range(4))
_32, _63, _64 = np.uint64(32), np.uint64(63), np.uint64(64)
_LOW_BITS = np.uint64(1 | 1 << 16)
_32_BITS = np.uint64(2**32 - 1)
_MINUS_ONE = np.uint64(P - 1)


@njit(nogil=True, cache=True)
def execute(_, words):
    """Apply the call of the permutation."""
    keccak.permute_one(words)
    return True


@njit(nogil=True, cache=True)
def _rotated(x, bits):
    return x << bits | x >> (_64 - bits & _63)


@njit(nogil=True, cache=True)
def _move(theta, moved):
    """Apply rho and pi."""
    for word in range(WORDS):
        moved[word] = _rotated(theta[_SOURCES[word]], _ROTATIONS[word])


@njit(nogil=True, cache=True)
def _next_theta(state, theta, parity):
    """Compute the parities C of a state and the state after theta."""
    for x in range(5):
        parity[x] = state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20]
    for word in range(WORDS):
        x = word % 5
        theta[word] = state[word] ^ parity[(x + 4) % 5] ^ _rotated(parity[(x + 1) % 5], _ONE)


@njit(nogil=True, cache=True)
def _begin(states, call, theta, parity):
    """Compute row 0 of a block: the words from which rho, pi and chi lead to the state, and no parities."""
    b = np.empty(5, dtype=np.uint64)
    for y in range(0, WORDS, 5):
        for x in range(5):
            a, one, two = states[x + y, call], states[(x + 1) % 5 + y, call], states[(x + 2) % 5 + y, call]
            three, four = states[(x + 3) % 5 + y, call], states[(x + 4) % 5 + y, call]
            b[x] = a ^ ~one & (two ^ ~three & (four ^ ~a & (one ^ ~two & three)))
        for x in range(5):
            theta[_SOURCES[x + y]] = _rotated(b[x], _64 - _ROTATIONS[x + y] & _63)
    parity[:] = _ZERO


@njit(nogil=True, cache=True)
def _advance(row, theta, parity, state, moved):
    """Compute the next row of a block from ``row``."""
    _move(theta, moved)
    for y in range(0, WORDS, 5):
        for x in range(5):
            state[x + y] = moved[x + y] ^ ~moved[(x + 1) % 5 + y] & moved[(x + 2) % 5 + y]
    state[0] ^= _CONSTANTS[row + 1]
    _next_theta(state, theta, parity)


@njit(nogil=True, cache=True)
def _spread(word, c):
    """Return the bits of a class as digits of 16 bits."""
    return word >> c & _SPREAD


@njit(nogil=True, cache=True)
def _write_chunks(words, c, factor, target, start, size):
    for i in range(size):
        target[start + i] = _spread(words[i], c) * factor >> _SHIFT


@njit(nogil=True, cache=True)
def _fill_rounds(states, clocks, first_call, last_call, main, first, last):
    state, moved = np.empty(WORDS, dtype=np.uint64), np.empty(WORDS, dtype=np.uint64)
    theta, parity = np.zeros(WORDS, dtype=np.uint64), np.zeros(5, dtype=np.uint64)
    thetas, parities = np.empty((WORDS, _ROWS), dtype=np.uint64), np.empty((5, _ROWS), dtype=np.uint64)
    iota = np.empty(_ROWS, dtype=np.uint64)
    used = (last_call - first_call) * ROWS
    for start in range(first, last, _ROWS):
        size = min(_ROWS, last - start)
        for i in range(size):
            at = start + i
            on, call, row = at < used, first_call + at // ROWS, at % ROWS
            main[_CALL, at] = clocks[call] if on else _ZERO
            for j in range(STEPS):
                main[_STEP + j, at] = on and j == row % STEPS
                main[_TURN + j, at] = on and j == row // STEPS
            if not on:
                thetas[:, i] = _ZERO
                parities[:, i] = _ZERO
                iota[i] = _ZERO
                continue
            if row == 0:
                _begin(states, call, theta, parity)
            elif i == 0 and start == first:
                _begin(states, call, theta, parity)
                for before in range(row):
                    _advance(before, theta, parity, state, moved)
            else:
                _advance(row - 1, theta, parity, state, moved)
            thetas[:, i] = theta
            parities[:, i] = parity
            iota[i] = parity[4] ^ _CONSTANTS[row]
        for k in range(len(_IOTA_CLASSES)):
            _write_chunks(iota, _IOTA_CLASSES[k], _FACTOR, main[_IOTA + k], start, size)
        for x in range(5):
            for c in range(CLASSES):
                _write_chunks(parities[x], np.uint64(c), _FACTOR, main[_PARITY + CLASSES * x + c], start, size)
            _write_chunks(parities[x], _LAST_CLASS, _FACTORS[1], main[_PARITY_TURNED + x], start, size)
        for word in range(WORDS):
            for c in range(CLASSES):
                _write_chunks(thetas[word], np.uint64(c), _FACTOR, main[_THETA + CLASSES * word + c], start, size)
                by = _TURNS[word, c]
                if by:
                    copy = main[_TURNED + _COPIES[word, c]]
                    _write_chunks(thetas[word], np.uint64(c), _FACTORS[by], copy, start, size)


@njit(nogil=True, cache=True)
def _chi(moved, word, c):
    """Return the digits that have chi of a word as bits 1, from the words after rho and pi."""
    first = word - word % 5
    one, two = moved[first + (word + 1) % 5], moved[first + (word + 2) % 5]
    return _TWO * _spread(moved[word], c) + _spread(one, c) + _THREE * _spread(two, c)


@njit(nogil=True, cache=True)
def _before(theta, parity, word, c):
    """Return the digits that have a word before theta as bits 1."""
    x = word % 5
    shifted = _rotated(parity[(x + 1) % 5], _ONE)
    return _TWO * (_spread(theta[word], c) + _spread(parity[(x + 4) % 5], c) + _spread(shifted, c))


@njit(nogil=True, cache=True)
def _after(moved, word, c):
    """Return the digits that have a word after the last round as bits 1."""
    return _chi(moved, word, c) + (_TWO * _spread(_LAST_CONSTANT, c) if word == 0 else _ZERO)


@njit(nogil=True, cache=True)
def _fill_planes(states, clocks, first_call, last_call, main, first, last):
    state, moved = np.empty(WORDS, dtype=np.uint64), np.empty(WORDS, dtype=np.uint64)
    theta, parity = np.empty(WORDS, dtype=np.uint64), np.empty(5, dtype=np.uint64)
    used = (last_call - first_call) * _PLANE_ROWS
    for column in range(len(main)):
        main[column, max(first, min(last, used)) : last] = _ZERO
    for at in range(first, min(last, used)):
        call, row = first_call + at // _PLANE_ROWS, at % _PLANE_ROWS
        after, plane = row // 5, row % 5
        if at == first or plane == 0:
            _begin(states, call, theta, parity)
            _advance(0, theta, parity, state, moved)
            if after:
                for before in range(1, ROWS - 1):
                    _advance(before, theta, parity, state, moved)
                _move(theta, moved)
        main[_ON, at], main[_AFTER, at], main[_PLANE_CALL, at], main[_PLANE, at] = 1, after, clocks[call], plane
        for x in range(5):
            for j in range(CLASSES):
                word, c, column = 5 * plane + x, np.uint64(j), CLASSES * x + j
                digits = _after(moved, word, c) if after else _before(theta, parity, word, c)
                bits = digits >> _ONE & _SPREAD
                main[_SUM + column, at] = digits * _FACTOR >> _SHIFT
                main[_LOW + column, at] = bits & _LOW_BITS
                main[_HIGH + column, at] = bits >> _32


@njit(nogil=True, cache=True)
def _write_class(theta, parity, moved, constant, j, main, at):
    """Write the chunks of a class of a step."""
    c = np.uint64(j)
    main[_C_CONSTANT, at] = _spread(constant, c) * _FACTOR >> _SHIFT
    main[_C_IOTA, at] = _spread(parity[4] ^ constant, c) * _FACTOR >> _SHIFT
    for x in range(5):
        factor = _FACTORS[1] if j == CLASSES - 1 else _FACTOR
        main[_C_PARITY + x, at] = _spread(parity[x], c) * _FACTOR >> _SHIFT
        main[_C_PARITY_TURNED + x, at] = _spread(parity[x], c) * factor >> _SHIFT
        main[_C_SHIFTED + x, at] = _spread(_rotated(parity[x], _ONE), c) * _FACTOR >> _SHIFT
    for word in range(WORDS):
        digits = _spread(theta[word], c)
        main[_C_THETA + word, at] = digits * _FACTOR >> _SHIFT
        main[_C_MOVED + word, at] = _spread(moved[word], c) * _FACTOR >> _SHIFT
        if word:
            main[_C_TURNED + word - 1, at] = digits * _FACTORS[_TURNS[word, j]] >> _SHIFT


@njit(nogil=True, cache=True)
def _fill_classes(states, clocks, first_call, last_call, main, first, last):
    state, moved = np.empty(WORDS, dtype=np.uint64), np.empty(WORDS, dtype=np.uint64)
    theta, parity = np.empty(WORDS, dtype=np.uint64), np.empty(5, dtype=np.uint64)
    used = (last_call - first_call) * _CLASS_ROWS
    for column in range(len(main)):
        main[column, max(first, min(last, used)) : last] = _ZERO
    for block in range(first // _CLASS_ROWS * _CLASS_ROWS, min(last, used), _CLASS_ROWS):
        call = first_call + block // _CLASS_ROWS
        _begin(states, call, theta, parity)
        for step in range(_CLASS_STEPS):
            _advance(step, theta, parity, state, moved)
            start = block + step * CLASSES
            for at in range(max(first, start), min(last, start + CLASSES)):
                main[_C_ON, at], main[_C_CALL, at] = _ONE, clocks[call]
                for i in range(1, _STEP_BASE):
                    main[_C_STEP + i - 1, at] = step % _STEP_BASE == i
                    main[_C_TURN + i - 1, at] = step // _STEP_BASE == i
                for i in range(1, CLASSES):
                    main[_C_REACHED + i - 1, at] = at - start >= i
                _write_class(theta, parity, moved, _CONSTANTS[step + 1], at - start, main, at)


@njit(nogil=True, cache=True)
def _fill_limbs(states, clocks, first_call, last_call, main, first, last):
    state, moved = np.empty(WORDS, dtype=np.uint64), np.empty(WORDS, dtype=np.uint64)
    theta, parity = np.empty(WORDS, dtype=np.uint64), np.empty(5, dtype=np.uint64)
    used = (last_call - first_call) * _LIMB_ROWS
    for column in range(len(main)):
        main[column, max(first, min(last, used)) : last] = _ZERO
    for start in range(first // _LIMB_BLOCK * _LIMB_BLOCK, min(last, used), _LIMB_BLOCK):
        call, block = first_call + start // _LIMB_ROWS, start % _LIMB_ROWS // _LIMB_BLOCK
        after, plane = block // 5, block % 5
        if plane == 0 or start <= first:
            _begin(states, call, theta, parity)
            for step in range((_CLASS_STEPS - 1) * after + 1):
                _advance(step, theta, parity, state, moved)
        for at in range(max(first, start), min(last, start + _LIMB_BLOCK)):
            left = start + CLASSES - 1 - at
            main[_L_ON, at], main[_L_ENDS, at], main[_L_AFTER, at] = left >= 0, left < 0, after
            main[_L_CALL, at], main[_L_PLANE, at] = clocks[call], plane
            main[_L_CLASS, at] = np.uint64(left) if left >= 0 else _MINUS_ONE
        for x in range(5):
            low = high = _ZERO
            for i in range(_LIMB_BLOCK):
                digits = _ZERO
                if i < CLASSES:
                    digits = _before(theta, parity, 5 * plane + x, np.uint64(CLASSES - 1 - i))
                at = start + i
                if first <= at < last:
                    main[_L_SUM + x, at] = digits * _FACTOR >> _SHIFT
                    main[_L_LOW + x, at], main[_L_HIGH + x, at] = low, high
                bits = digits >> _ONE & _SPREAD
                low, high = _TWO * low + (bits & _32_BITS), _TWO * high + (bits >> _32)


@njit(nogil=True, cache=True)
def _count(counts, tag, digits):
    counts[tag, np.int64(digits * _FACTOR >> _SHIFT)] += _ONE


@njit(nogil=True, cache=True)
def _count_row(counts, theta, parity, moved, constant, iota_classes, left, shifted):
    """Count the lookups of theta, chi and iota of a row of a block: ``moved`` is of the row before."""
    for x in range(5):
        left[x], shifted[x] = parity[(x + 4) % 5], _rotated(parity[(x + 1) % 5], _ONE)
    for j in range(CLASSES):
        c = np.uint64(j)
        for x in range(5):
            flip = _spread(left[x], c) + _spread(shifted[x], c)
            total = flip
            for y in range(0, WORDS, 5):
                total += _spread(theta[x + y], c)
            _count(counts, _FIRST if j < CLASSES - 1 else _FIRST_TURNED, total)
            for y in range(0, WORDS, 5):
                before = flip
                if x + y == 0:
                    before = _spread(left[0] ^ constant, c) + _spread(shifted[0], c)
                _count(counts, _TURNS[x + y, j], _chi(moved, x + y, c) + _TWO * before)
    for c in iota_classes:
        _count(counts, 0, _TWO * (_spread(parity[4], c) + _spread(constant, c)))


@njit(nogil=True, cache=True)
def _count_digits(states, narrow, counts, first, last):
    state, moved = np.empty(WORDS, dtype=np.uint64), np.empty(WORDS, dtype=np.uint64)
    theta, parity = np.empty(WORDS, dtype=np.uint64), np.empty(5, dtype=np.uint64)
    left, shifted = np.empty(5, dtype=np.uint64), np.empty(5, dtype=np.uint64)
    iota_classes = _ALL_CLASSES if narrow else _IOTA_CLASSES
    for call in range(first, last):
        _begin(states, call, theta, parity)
        for row in range(1, ROWS + narrow):
            _advance(row - 1, theta, parity, state, moved)
            _count_row(counts, theta, parity, moved, _CONSTANTS[row], iota_classes, left, shifted)
            if row == 1 or row == ROWS:
                for word in range(WORDS):
                    for c in _ALL_CLASSES:
                        _count(counts, _HALVES, _before(theta, parity, word, c))
        if not narrow:
            _move(theta, moved)
            for word in range(WORDS):
                for c in _ALL_CLASSES:
                    _count(counts, _HALVES, _after(moved, word, c))


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


_FILL = {
    "keccak_rounds": _fill_rounds,
    "keccak_planes": _fill_planes,
    "keccak_classes": _fill_classes,
    "keccak_limbs": _fill_limbs,
}


def permuted(device: Device, states: np.ndarray) -> np.ndarray:
    """Permute states; see ``kernels.permuted``."""
    target = np.empty_like(states)
    device.split_rows(partial(_permute, states, target), states.shape[1])
    return target


def fill_permutations(
    device: Device, table: str, states: np.ndarray, clocks: np.ndarray, first: int, last: int, main: np.ndarray
) -> None:
    """Write a trace; see ``kernels.fill_permutations``."""
    device.split_rows(partial(_FILL[table], states, clocks, first, last, main), main.shape[1])


def count_keccak_digits(device: Device, states: np.ndarray, counts: np.ndarray, narrow: bool) -> None:
    """Count lookups; see ``kernels.count_keccak_digits``."""
    counted_apart(device.split_rows, states.shape[1], counts, partial(_count_digits, states, narrow))
