"""Replays a cycle range (``tape.cu``)."""

from typing import TYPE_CHECKING

import cupy
import numpy as np

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch, multiprocessors
from graphprover.vm.executor.record import NO_REGISTER
from graphprover.vm.kernels.cuda.sources import text
from graphprover.vm.kernels.tape import Cycles, Tape

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_WARP = 32
_BLOCKS = 16  # fewest blocks of a multiprocessor before they get more threads
_SHARED = 2 * 8 * (NO_REGISTER + 1)  # bytes a thread: values of registers, and times of their last accesses
# Bytes a thread that writes: more than it needs, so that a multiprocessor has at most 256 of them, whose output lines
# fit the L2 cache.
_WRITING = (224 << 10) // 256


def census(
    device: "CudaDevice", tape: Tape, steps: cupy.ndarray, redirects: cupy.ndarray, counts: cupy.ndarray,
    late: cupy.ndarray, refused: cupy.ndarray,
) -> None:  # fmt: skip
    """Count cycles; see ``graphprover.vm.kernels.census``."""
    with device.operation("census"):
        _launch("census", _SHARED, tape, _words(tape), steps, redirects, counts.data.ptr, late, refused)


def replay(
    device: "CudaDevice", tape: Tape, steps: cupy.ndarray, redirects: cupy.ndarray, places: cupy.ndarray,
    cycles: Cycles,
) -> None:  # fmt: skip
    """Write cycles; see ``graphprover.vm.kernels.replay``."""
    written = np.array([column.data.ptr for column in vars(cycles).values()], dtype=np.uint64)
    with device.operation("replay"):
        _launch("replay", _WRITING, tape, _words(tape), steps, redirects, places.data.ptr, written)


def _words(tape: Tape) -> np.ndarray:
    """Return the tape as a kernel's parameter."""
    columns = tape.index, tape.at, tape.values, tape.times
    pointers = [column.data.ptr for column in (tape.old, tape.time, *columns)]
    numbers = tape.start, tape.first, tape.last, len(tape.index)
    return np.array([tape.code.data.ptr, tape.code_base, *pointers, *numbers], dtype=np.uint64)


def _launch(name: str, shared: int, tape: Tape, *arguments: object) -> None:
    """Start a thread for each interval, with this many bytes of shared memory.

    While there are few, threads get a warp each: they run different code.
    """
    intervals = len(tape.index)
    many = intervals // (_BLOCKS * multiprocessors(cupy.cuda.runtime.getDevice()))
    threads = min(1 << many.bit_length(), _WARP)
    launch(
        compiled(text("tape.cu"), "tape.cu"), name, blocks_for(intervals, threads), threads, *arguments,
        shared=shared * threads,
    )  # fmt: skip
