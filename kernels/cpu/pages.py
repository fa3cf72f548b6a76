"""Memory for the large arrays of this process, which stays for later arrays.

The system clears each page when a process first touches it, which can take as long as the work on the page. So the
pages of a freed array stay, and move to the addresses of later arrays of any sizes: Linux moves pages without a copy
(``mremap``). An array takes fresh pages only if no free ones are left, so the process never has more memory than its
arrays had together at some time, up to the last huge page of each.

The system may take free pages at any time, if its memory is short (``MADV_FREE``), so they count as free memory. `trim`
gives them back at once.
"""

import ctypes
import math
import mmap
import os
import sys
import threading
from collections import deque
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

HUGE = 2 << 20  # bytes of a huge page; smaller arrays are NumPy's
MOST = 1024  # free pieces at most: the system is called for each that is moved

_DOMAIN = 389047  # of NumPy's arrays in tracemalloc

# Values of Linux for which Python has no names.
_PROT_NONE, _MAP_FIXED, _MREMAP_MAYMOVE, _MREMAP_FIXED = 0, 0x10, 1, 2


class _Piece(NamedTuple):
    """Huge pages at addresses that follow each other, mapped by one call."""

    address: int
    size: int  # bytes


_free: list[_Piece] = []
_freed: deque[tuple[_Piece, ...]] = deque()  # of freed arrays, not in `_free` yet: a finalizer must not wait for a lock
_lock = threading.Lock()  # protects `_free`


class _Owner:
    """The owner of an array's memory, to which all views of the array refer."""

    def __init__(self, size: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._pieces: tuple[_Piece, ...] = ()
        self._pieces = _pages(-(-size // HUGE) * HUGE)
        address = self._pieces[0].address
        _traced("Track", address, size)
        self.__array_interface__ = {"data": (address, False), "shape": shape, "typestr": dtype.str, "version": 3}

    def __del__(self) -> None:
        if self._pieces:
            _traced("Untrack", self._pieces[0].address)
            for piece in self._pieces:
                _function("madvise", 3)(*piece, mmap.MADV_FREE)  # a hint, which old systems do not know
            _freed.append(self._pieces)


def empty(shape: int | tuple[int, ...], dtype: DTypeLike = np.uint64) -> np.ndarray:
    """Return an array with any contents; the caller writes all of it.

    Raises MemoryError if the system has no memory or addresses left.
    """
    shape, dtype = (shape,) if isinstance(shape, int) else shape, np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    return np.asarray(_Owner(size, shape, dtype)) if size >= HUGE and _can_keep() else np.empty(shape, dtype)


def kept() -> int:
    """Return the bytes of all free pages; the system may have taken some."""
    with _lock:
        _collect()
        return sum(piece.size for piece in _free)


def trim() -> None:
    """Give all free pages back to the system."""
    with _lock:
        _collect()
        pieces = _free.copy()
        _free.clear()
    for piece in pieces:
        _unmap(piece)


def _can_keep() -> bool:
    """Return whether the system can move pages, and has addresses without a limit (``ulimit -v``) for free ones."""
    if sys.platform != "linux":
        return False
    import resource  # POSIX only

    return resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


def _pages(size: int) -> tuple[_Piece, ...]:
    """Return pieces of ``size`` bytes together, each at the end of the one before."""
    with _lock:
        _collect()
        pieces = _take(size)
    if len(pieces) == 1 and pieces[0].size == size:
        return (pieces[0],)
    try:
        return _joined(size, pieces)
    except MemoryError:  # free pages take some of what the system allows
        trim()
        return _joined(size, [])


def _collect() -> None:
    """Add the pages of freed arrays to the free ones; if those are more than `MOST` pieces, keep the largest.

    Needs the lock.
    """
    while _freed:
        _free.extend(_freed.popleft())
    if len(_free) > MOST:
        _free.sort(key=lambda piece: -piece.size)
        for piece in _free[MOST:]:
            _unmap(piece)
        del _free[MOST:]


def _take(size: int) -> list[_Piece]:
    """Take free pieces of at most ``size`` bytes together: the smallest that suffices, or else the largest ones.

    Needs the lock.
    """
    taken = list[_Piece]()
    while size and _free:
        enough = [piece for piece in _free if piece.size >= size]
        address, length = piece = min(enough, key=_size) if enough else max(_free, key=_size)
        _free.remove(piece)
        if length > size:
            _free.append(_Piece(address + size, length - size))
        taken.append(_Piece(address, min(length, size)))
        size -= taken[-1].size
    return taken


def _size(piece: _Piece) -> int:
    return piece.size


def _joined(size: int, pieces: list[_Piece]) -> tuple[_Piece, ...]:
    """Move pieces to new addresses, each at the end of the one before, with fresh pages after the last.

    Raises MemoryError if the system has no memory or addresses left; it has all pieces back then.
    """
    waiting, joined, first = deque(pieces), list[_Piece](), 0
    try:
        first = end = _addresses(size)
        while waiting:
            _move(waiting[0], end)
            joined.append(_Piece(end, waiting.popleft().size))
            end += joined[-1].size
        if end < first + size:
            joined.append(_Piece(end, first + size - end))
            _map_fresh(joined[-1])
    except MemoryError:
        for piece in waiting:
            _unmap(piece)
        if first:
            _unmap(_Piece(first, size))
        raise
    return tuple(joined)


def _addresses(size: int) -> int:
    """Return the first of ``size`` addresses that are reserved for pages, a multiple of `HUGE`."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    begin = _checked(_function("mmap", 6)(0, size + HUGE, _PROT_NONE, flags, -1, 0))
    first = -(-begin // HUGE) * HUGE
    for spare in (_Piece(begin, first - begin), _Piece(first + size, begin + HUGE - first)):
        if spare.size:
            _unmap(spare)
    return first


def _map_fresh(piece: _Piece) -> None:
    """Map fresh pages at reserved addresses; huge ones, if the system has them."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED
    _checked(_function("mmap", 6)(*piece, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0))
    _function("madvise", 3)(*piece, mmap.MADV_HUGEPAGE)


def _move(piece: _Piece, address: int) -> None:
    """Move pages to reserved addresses."""
    _checked(_function("mremap", 5)(*piece, piece.size, _MREMAP_MAYMOVE | _MREMAP_FIXED, address))


def _unmap(piece: _Piece) -> None:
    _function("munmap", 2)(*piece)


@cache
def _function(name: str, arguments: int) -> Any:
    """Return a function of the C library, whose arguments and result are numbers."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    function.argtypes, function.restype = [ctypes.c_size_t] * arguments, ctypes.c_ssize_t
    return function


def _traced(name: str, *memory: int) -> None:
    """Let tracemalloc count an array, as it counts NumPy's."""
    getattr(ctypes.pythonapi, f"PyTraceMalloc_{name}")(_DOMAIN, *map(ctypes.c_size_t, memory))


def _checked(result: int) -> int:
    if result == -1:
        raise MemoryError(f"no memory for an array: {os.strerror(ctypes.get_errno())}")
    return result


def _start_anew() -> None:
    """Give a forked process's copies of free pages back; a thread of its parent may hold the lock for ever."""
    global _lock
    _lock = threading.Lock()
    trim()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
