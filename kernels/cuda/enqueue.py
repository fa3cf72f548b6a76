"""Recorded launches enqueued by one compiled loop: the driver's own time is left of each, without Python's.

No CPU twin: a CPU has no launches.
"""

import ctypes
from functools import cache
from typing import Any

from llvmlite import ir
from numba import types

from graphprover.runtime.numba_cache import intrinsic, njit

KERNEL, GRID_X, GRID_Y, GRID_Z, THREADS, SHARED, EXTRA = range(7)  # words of one launch
WORDS = 7


@cache
def driver_s_launch() -> int:
    """Return the address of the driver's cuLaunchKernel."""
    address = ctypes.cast(ctypes.CDLL("libcuda.so.1").cuLaunchKernel, ctypes.c_void_p).value
    assert address
    return address


@intrinsic
def _call(
    _context: Any,
    _function: Any,
    _kernel: Any,
    _x: Any,
    _y: Any,
    _z: Any,
    _threads: Any,
    _shared: Any,
    _stream: Any,
    _extra: Any,
) -> Any:
    """Call a function like cuLaunchKernel at an address; return its error code."""

    def codegen(_context: Any, builder: Any, _signature: Any, operands: Any) -> Any:
        number, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(number, [pointer, *[number] * 7, pointer, pointer, pointer])
        address, kernel, *sizes, stream, extra = operands
        x, y, z, threads, shared = (builder.trunc(size, number) for size in sizes)
        one = ir.Constant(number, 1)
        arguments = [
            builder.inttoptr(kernel, pointer), x, y, z, threads, one, one, shared,
            builder.inttoptr(stream, pointer), ir.Constant(pointer, None), builder.inttoptr(extra, pointer),
        ]  # fmt: skip
        return builder.call(builder.inttoptr(address, kind.as_pointer()), arguments)

    return types.int32(*[types.uint64] * 9), codegen


@njit(nogil=True, cache=True)
def enqueue(function, stream, launches):
    """Call a function like cuLaunchKernel for each row of words, until one fails; return that error code, or 0."""
    for i in range(len(launches)):
        row = launches[i]
        error = _call(
            function, row[KERNEL], row[GRID_X], row[GRID_Y], row[GRID_Z], row[THREADS], row[SHARED], stream, row[EXTRA]
        )
        if error:
            return error
    return 0
