"""Copies of constant host arrays, such as a program's columns, for all proofs that read them.

A copy is freed with its array, or when the device's memory is needed.

No CPU twin: a CPU reads the arrays themselves.
"""

import threading
from collections.abc import Callable, Sequence
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

    def get(
        self, arrays: Sequence[np.ndarray], copy: Callable[[Sequence[np.ndarray]], list[cupy.ndarray]]
    ) -> list[cupy.ndarray]:
        """Return the copies of arrays, of which ``copy`` makes the ones that are missing; large ones are not cached."""
        found = [self._cached(array) for array in arrays]
        missing = [array for array, there in zip(arrays, found, strict=True) if there is None]
        if not missing:
            return found  # type: ignore[return-value]
        with cupy.cuda.using_allocator(self._memory.allocate):  # and not the memory of one proof
            made = copy(missing)
        for array, there in zip(missing, made, strict=True):
            self._cache(array, there)
        left = iter(made)
        return [next(left) if there is None else there for there in found]

    def _cached(self, array: np.ndarray) -> cupy.ndarray | None:
        found = self._copies.get(id(array))
        return found[1] if found is not None and found[0]() is array else None

    def _cache(self, array: np.ndarray, made: cupy.ndarray) -> None:
        with self._lock:
            if self.held() + made.nbytes <= self._memory.most // SHARE:
                self._copies[id(array)] = ref(array, partial(self._forget, id(array))), made

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
