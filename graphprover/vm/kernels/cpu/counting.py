"""Counts how often the rows of a trace look up each number, and cycles each entry."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from graphprover.device import Device
from graphprover.kernels.cpu import simd
from graphprover.kernels.cpu.field import add, mul
from graphprover.kernels.cpu.parallel import counted_apart
from graphprover.runtime.numba_cache import njit
from graphprover.vm.kernels.keys import COLUMN, CONSTANT, FIRST, FLAG, NUMBERS, TERMS_END, WEIGHT, Keys

_BLOCK = 1024  # rows whose keys fit the innermost cache


@njit(nogil=True, cache=True)
def _count_keys(main, columns, stride, keys, terms, counts, first, last):
    """Count the lookups of the rows first..last; ``main`` is an address, ``stride`` the words between columns."""
    numbers = np.empty(_BLOCK, dtype=np.uint64)
    for start in range(first, last, _BLOCK):
        size = min(_BLOCK, last - start)
        whole = size - size % simd.WIDTH
        begin = np.int64(0)
        for k in range(len(keys)):
            end, constant, flag = np.int64(keys[k, TERMS_END]), keys[k, CONSTANT], np.int64(keys[k, FLAG])
            for i in range(0, whole, simd.WIDTH):
                total = simd.splat(constant)
                for t in range(begin, end):
                    cell = simd.load(main, np.int64(terms[t, COLUMN]) * stride + start + i)
                    total = simd.add(total, simd.mul(cell, terms[t, WEIGHT]))
                simd.store(numbers, i, simd.canonical(total))
            for i in range(whole, size):
                number = constant
                for t in range(begin, end):
                    cell = simd.load_word(main, np.int64(terms[t, COLUMN]) * stride + start + i)
                    number = add(number, mul(cell, terms[t, WEIGHT]))
                numbers[i] = number
            begin = end
            place, limit = np.int64(keys[k, FIRST]), keys[k, NUMBERS]
            for i in range(size):
                if numbers[i] < limit and (flag == columns or simd.load_word(main, flag * stride + start + i)):
                    counts[place + np.int64(numbers[i])] += 1


def count_keys(device: Device, traces: Sequence[tuple[np.ndarray, Keys]], counts: np.ndarray) -> None:
    """Count lookups; see ``graphprover.vm.kernels.count_keys``."""
    for main, keys in traces:
        looked_up, (columns, rows) = counts[: keys.size], main.shape
        trace = main.ctypes.data, columns, main.strides[0] // main.itemsize
        counted_apart(device.split_rows, rows, looked_up, partial(_count_keys, *trace, keys.keys, keys.terms))


@njit(nogil=True, cache=True)
def _count_entries(entries, counts):
    for entry in entries:
        counts[np.uint64(entry)] += np.uint64(1)


def count_entries(device: Device, entries: np.ndarray, counts: np.ndarray) -> None:
    """Count entries; see ``graphprover.vm.kernels.count_entries``."""
    _count_entries(entries, counts)
