"""Copies of constant host arrays, such as a program's columns, for all proofs that read them.

A copy is freed with its array, or when the device's memory is needed.

No CPU twin: a CPU reads the arrays themselves.
"""

import threading
from collections.abc import Callable
from functools import partial
from weakref import ref

import cupy
import numpy as np

from graphprover.kernels.cuda.memory import Pool

SHARE = 32  # all copies together have at most this part of the memory that the pool may use


class Constants:
    """The copies on one device."""

    def __init__(self, memory: Pool) -> None:
        self._memory = memory
        self._copies: dict[int, tuple[ref[np.ndarray], cupy.ndarray]] = {}  # by the array's id
        self._lock = threading.Lock()
        memory.caches.append(self.drop)

    def get(self, array: np.ndarray, copy: Callable[[np.ndarray], cupy.ndarray]) -> cupy.ndarray:
        """Return the copy of an array, made by ``copy`` unless there is one; a large one is not cached."""
        found = self._copies.get(id(array))
        if found is not None and found[0]() is array:
            return found[1]
        with cupy.cuda.using_allocator(self._memory.allocate):  # and not the memory of one proof
            made = copy(array)
        with self._lock:
            if self.held() + made.nbytes <= self._memory.most // SHARE:
                self._copies[id(array)] = ref(array, partial(self._forget, id(array))), made
        return made

    def held(self) -> int:
        """Return the bytes of all copies."""
        return sum(int(made.nbytes) for _, made in list(self._copies.values()))

    def drop(self) -> bool:
        """Free all copies that no proof reads; return whether there were any."""
        with self._lock:
            there = bool(self._copies)
            self._copies.clear()
        return there

    def _forget(self, number: int, gone: "ref[np.ndarray]") -> None:
        """Drop the copy of an array that is gone; another array may have its number by now."""
        found = self._copies.get(number)
        if found is not None and found[0] is gone:
            self._copies.pop(number, None)
