"""Arrays of the host whose pages the system provides and clears when they are first touched.

Clearing can take longer than the work on the array, so the first pages of a freed array of `empty` stay for the next
one. Arrays of proofs have memory of their own (kernels/cpu/pages.py).
"""

import mmap
import sys
import threading
import weakref
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from graphprover.device.host_memory import host_memory

SHARE = 64  # a freed array keeps at most this part of the host's memory
MOST = 6  # freed arrays that keep memory, at most: the arrays of one record

_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS if sys.platform == "linux" else 0

_free: list[mmap.mmap] = []
_lock = threading.Lock()


class _Lease:
    """The owner of an array's memory, to which all views of the array refer."""

    def __init__(self, region: mmap.mmap, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        address = np.frombuffer(region, dtype=np.uint8).ctypes.data
        self.__array_interface__ = {"data": (address, False), "shape": shape, "typestr": dtype.str, "version": 3}
        weakref.finalize(self, _keep, region).atexit = False


def empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return an array with any contents; the system allocates its pages when they are touched."""
    if sys.platform != "linux":  # other systems cannot resize mapped memory
        return np.empty(shape, dtype)
    shape, dtype = (shape,) if isinstance(shape, int) else shape, np.dtype(dtype)
    size = max(1, int(np.prod(shape)) * dtype.itemsize)
    with _lock:
        region = max(_free, key=len, default=None)
        if region is not None:
            _free.remove(region)
    if region is None:
        region = mmap.mmap(-1, size, flags=_PRIVATE)
        region.madvise(mmap.MADV_HUGEPAGE)
    else:
        region.resize(size)
    return np.asarray(_Lease(region, shape, dtype))


def zeros(size: int, dtype: DTypeLike) -> np.ndarray:
    """Return a vector of zeros, of which most pages are never touched.

    NumPy clears an array of some MiB at once if an array of that size was freed before.
    """
    if sys.platform != "linux":
        return np.zeros(size, dtype)
    size_in_bytes = max(1, size * np.dtype(dtype).itemsize)
    return np.frombuffer(mmap.mmap(-1, size_in_bytes, flags=_PRIVATE), dtype, size)


def kept() -> int:
    """Return the bytes of addresses that freed arrays keep for the next ones."""
    with _lock:
        return sum(map(len, _free))


def _keep(region: mmap.mmap) -> None:
    """Keep the first pages of a freed array; its other memory and addresses return to the system."""
    region.resize(min(len(region), host_memory() // SHARE))
    with _lock:
        _free.append(region)
        del _free[:-MOST]
