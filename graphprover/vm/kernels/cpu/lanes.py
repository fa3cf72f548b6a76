"""Computes the cells of lanes: an instruction is decoded once for a block of them, which LLVM vectorizes."""

from collections.abc import Sequence

import numpy as np

from graphprover.device import Device
from graphprover.field import P
from graphprover.kernels.cpu import simd
from graphprover.kernels.cpu.inverse import invert
from graphprover.runtime.numba_cache import njit
from graphprover.vm.kernels.lanes import IMMEDIATE, LOG_SOURCES, Code, Lanes, Op
from graphprover.vm.tables import clock

_BLOCK = 256  # lanes: registers of 2 KiB, so that a dozen fit the innermost cache
_PLANE = 8 * _BLOCK  # bytes

_STORE, _CONSTANT, _LANE, _LANE_NARROW, _CLOCK, _AT, _AT_NARROW = map(int, list(Op)[: Op.ADD])
_ADD, _SUB, _MUL, _DIV, _AND, _OR, _XOR = map(int, list(Op)[Op.ADD : Op.LEFT])
_LEFT, _RIGHT, _EQUAL, _LESS, _FIELD_SUB, _RECENT, _INVERSE, _SELECT = map(int, list(Op)[Op.LEFT :])

_U = np.uint64  # kernels compute in uint64, which Numba keeps only among numbers of that type
_0, _1, _8, _16, _24, _32, _BYTE = map(_U, (0, 1, 8, 16, 24, 32, 255))
_LOG, _SOURCE = _U(LOG_SOURCES), _U((1 << LOG_SOURCES) - 1)
_FAR, _EPSILON, _ONES = _U(clock.FAR), _U(2**64 - P), _U(2**64 - 1)


@njit(nogil=True, cache=True)
def _load(op, source, offset, first, x, target, first_clock, lanes):
    if op == _CONSTANT:
        for i in range(lanes):
            simd.store_word(target, i, offset)
    elif op == _LANE:
        for i in range(lanes):
            simd.store_word(target, i, simd.load_word(source, first + i))
    elif op == _LANE_NARROW:
        for i in range(lanes):
            simd.store_word(target, i, simd.load_half(source, first + i))
    elif op == _CLOCK:
        for i in range(lanes):
            simd.store_word(target, i, simd.load_half(source, first + i) + first_clock)
    elif op == _AT:
        for i in range(lanes):
            simd.store_word(target, i, simd.load_word(source, simd.load_word(x, i) + offset))
    else:
        for i in range(lanes):
            simd.store_word(target, i, simd.load_half(source, simd.load_word(x, i) + offset))


@njit(nogil=True, cache=True)
def _compute(op, x, y, target, lanes):
    if op == _ADD:
        for i in range(lanes):
            simd.store_word(target, i, simd.load_word(x, i) + simd.load_word(y, i))
    elif op == _SUB:
        for i in range(lanes):
            simd.store_word(target, i, simd.load_word(x, i) - simd.load_word(y, i))
    elif op == _MUL:
        for i in range(lanes):
            simd.store_word(target, i, simd.load_word(x, i) * simd.load_word(y, i))
    elif op == _DIV:
        for i in range(lanes):
            simd.store_word(target, i, simd.load_word(x, i) // simd.load_word(y, i))
    elif op == _AND:
        for i in range(lanes):
            simd.store_word(target, i, simd.load_word(x, i) & simd.load_word(y, i))
    elif op == _OR:
        for i in range(lanes):
            simd.store_word(target, i, simd.load_word(x, i) | simd.load_word(y, i))
    elif op == _XOR:
        for i in range(lanes):
            simd.store_word(target, i, simd.load_word(x, i) ^ simd.load_word(y, i))
    elif op == _LEFT:
        for i in range(lanes):
            simd.store_word(target, i, simd.load_word(x, i) << simd.load_word(y, i))
    elif op == _RIGHT:
        for i in range(lanes):
            simd.store_word(target, i, simd.load_word(x, i) >> simd.load_word(y, i))
    else:
        _compare(op, x, y, target, lanes)


@njit(nogil=True, cache=True)
def _compare(op, x, y, target, lanes):
    if op == _EQUAL:
        for i in range(lanes):
            simd.store_word(target, i, _1 if simd.load_word(x, i) == simd.load_word(y, i) else _0)
    elif op == _LESS:
        for i in range(lanes):
            simd.store_word(target, i, _1 if simd.load_word(x, i) < simd.load_word(y, i) else _0)
    elif op == _FIELD_SUB:
        for i in range(lanes):
            left, right = simd.load_word(x, i), simd.load_word(y, i)
            simd.store_word(target, i, left - right - (_EPSILON if left < right else _0))
    else:
        for i in range(lanes):
            before, now = simd.load_word(x, i), simd.load_word(y, i)
            simd.store_word(target, i, now - _1 if now - before > _FAR else before)


@njit(nogil=True, cache=True)
def _invert(x, target, words, prefix, lanes):
    for i in range(lanes):
        word = simd.load_word(x, i)
        words[i] = word if word else _1
    invert(words, prefix, lanes)
    for i in range(lanes):
        simd.store_word(target, i, words[i] if simd.load_word(x, i) else _0)


@njit(nogil=True, cache=True)
def _select(x, y, other, target, lanes):
    for i in range(lanes):
        simd.store_word(target, i, simd.load_word(y, i) if simd.load_word(x, i) else simd.load_word(other, i))


@njit(nogil=True, cache=True)
def _store(x, target, shift, mask, lanes, idle):
    for i in range(lanes):
        simd.store_word(target, i, simd.load_word(x, i) >> shift & mask)
    for i in range(lanes, lanes + idle):
        simd.store_word(target, i, _0)


@njit(nogil=True, cache=True)
def _fill(code, registers, sources, own, count, first_clock, main, stride, height, first, last):
    """Fill a trace.

    ``main`` and the sources are addresses; ``own``: the first lane's word in sources of lanes; ``stride``: words from a
    column to the next; ``registers`` (n + 1, _BLOCK): the code's and one more.
    """
    words, prefix = np.empty(_BLOCK, dtype=np.uint64), np.empty(_BLOCK, dtype=np.uint64)
    base = registers.ctypes.data
    constant = base + (len(registers) - 1) * _PLANE
    start = first
    while start < last:
        among = start // height
        row = start - among * height
        size = min(_BLOCK, last - start, height - row)
        lanes = max(min(count - start, size), 0)
        for k in range(len(code)):
            word, immediate = code[k, 0], code[k, 1]
            op = np.int64(word & _BYTE)
            d, a, b = word >> _8 & _BYTE, np.int64(word >> _16 & _BYTE), np.int64(word >> _24)
            x, target = base + a * _PLANE, base + np.int64(d) * _PLANE
            if op == _STORE:
                column = np.int64(immediate & _U(0xFFFFFFFF)) + among * np.int64(immediate >> _32)
                place = main + 8 * (column * stride + row)
                _store(x, place, d, _ONES >> _U(b), lanes, size - lanes)
            elif lanes == 0:
                pass
            elif op == _CONSTANT:
                _load(op, 0, immediate, 0, x, target, first_clock, lanes)
            elif op <= _AT_NARROW:
                source = np.int64(sources[np.int64(immediate & _SOURCE)])
                _load(op, source, immediate >> _LOG, own + start, x, target, first_clock, lanes)
            elif op == _INVERSE:
                _invert(x, target, words, prefix, lanes)
            elif op == _SELECT:
                _select(x, base + b * _PLANE, base + np.int64(immediate) * _PLANE, target, lanes)
            elif b == IMMEDIATE:
                _load(_CONSTANT, 0, immediate, 0, x, constant, first_clock, lanes)
                _compute(op, x, constant, target, lanes)
            else:
                _compute(op, x, base + b * _PLANE, target, lanes)
        start += size


def fill_lanes(device: Device, traces: Sequence[tuple[Code, Lanes, np.ndarray]]) -> None:
    """Write lanes; see ``graphprover.vm.kernels.fill_lanes``."""
    for code, lanes, main in traces:
        _fill_trace(device, code, lanes, main)


def _fill_trace(device: Device, code: Code, lanes: Lanes, main: np.ndarray) -> None:
    height, stride = main.shape[1], main.strides[0] // main.itemsize
    sources = lanes.sources.addresses(lambda array: array.ctypes.data)
    first_clock = np.uint64(lanes.first_clock)

    def fill(first: int, last: int) -> None:
        registers = np.empty((code.registers + 1, _BLOCK), dtype=np.uint64)
        target = main.ctypes.data, stride, height
        _fill(code.words, registers, sources, lanes.first, lanes.count, first_clock, *target, first, last)

    device.split_rows(fill, height * code.lanes)
