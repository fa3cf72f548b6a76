"""Memory of one device: a pool that says what it holds, and pinned buffers through which the host's arrays go up."""

import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import cupy
import numpy as np

from graphprover.kernels.cuda import faults

STAGING = 4 << 20  # bytes of a staging buffer: long enough for the full speed of the bus
_BUFFERS = 16  # half of them are filled while the others are read


class Pool:
    """Allocates for one device: from RMM's pool if rmm is installed, else from CuPy's.

    Both are ordered by streams: what is freed is given again on the stream it was allocated on, without waiting.
    """

    def __init__(self, device: int) -> None:
        self.peak = 0  # bytes held at most since `reset`
        self._lock = threading.Lock()
        try:
            import rmm
            from rmm.allocators.cupy import rmm_cupy_allocator
        except ImportError:
            self.name = "cupy"
            pool = cupy.cuda.MemoryPool()
            self._malloc: Any = pool.malloc
            self._held: Any = pool.used_bytes
        else:
            self.name = "rmm"
            # A pool that a cluster's worker was started with is kept.
            resource = rmm.mr.get_per_device_resource(device)
            if isinstance(resource, rmm.mr.CudaMemoryResource):
                resource = rmm.mr.PoolMemoryResource(resource)
            if not isinstance(resource, rmm.mr.StatisticsResourceAdaptor):
                resource = rmm.mr.StatisticsResourceAdaptor(resource)
            rmm.mr.set_per_device_resource(device, resource)
            self._malloc = rmm_cupy_allocator
            self._held = lambda: resource.allocation_counts.current_bytes

    def held(self) -> int:
        """Bytes in use."""
        return int(self._held())

    def reset(self) -> None:
        """Begin a new measurement of `peak`."""
        with self._lock:
            self.peak = self.held()

    def allocate(self, size: int) -> Any:
        """What CuPy asks for memory; raises MemoryError, with the bytes asked for and held, when there is none."""
        try:
            if faults.allocation.due():
                raise MemoryError
            memory = self._malloc(size)
        except MemoryError as error:
            raise MemoryError(f"no {size:,} bytes on the device, with {self.held():,} bytes held") from error
        with self._lock:
            self.peak = max(self.peak, self.held())
        return memory


class Staging:
    """Pinned buffers, reused for every upload, which several threads fill: one alone is slower than the bus."""

    def __init__(self, device: int) -> None:
        self._free: SimpleQueue[tuple[np.ndarray, cupy.cuda.Event]] = SimpleQueue()
        for _ in range(_BUFFERS):
            pinned = np.frombuffer(cupy.cuda.alloc_pinned_memory(STAGING), np.uint8, STAGING)
            self._free.put((pinned, cupy.cuda.Event(disable_timing=True)))
        self._threads = ThreadPoolExecutor(_BUFFERS // 2, "upload", initializer=cupy.cuda.Device(device).use)

    def upload(self, source: np.ndarray, stream: cupy.cuda.Stream) -> cupy.ndarray:
        """A copy of a C-contiguous array on the device, enqueued on ``stream``; ``source`` may change afterwards."""
        target = cupy.empty(source.shape, dtype=source.dtype)
        words = source.reshape(-1).view(np.uint8)

        def copy(first: int) -> None:
            part = words[first : first + STAGING]
            pinned, copied = self._free.get()
            try:
                copied.synchronize()  # of the last upload through this buffer
                pinned[: len(part)] = part
                (target.data + first).copy_from_host_async(pinned.ctypes.data, len(part), stream)
                copied.record(stream)
            finally:
                self._free.put((pinned, copied))

        firsts = range(0, source.nbytes, STAGING)
        if len(firsts) == 1:
            copy(0)
        else:
            list(self._threads.map(copy, firsts))
        return target
