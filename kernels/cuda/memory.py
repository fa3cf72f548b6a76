"""The memory of one device: a pool that reports its use, and pinned buffers for uploads from the host."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from queue import SimpleQueue
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from graphprover.kernels.cuda import faults

STAGING = 4 << 20  # bytes of a staging buffer: long enough for the full speed of the bus
_BUFFERS = 16  # half of them are filled while the others are read
SMALL = 1 << 20  # bytes from which on a block comes from RMM itself, which keeps large ones without gaps
_FEW = 8  # arrays of a staging buffer that are small enough to share it
_ALIGNED = 256  # bytes between the starts of arrays in one piece of memory
_NEVER = 2**64 - 1  # a release threshold: nothing is given back to the GPU but by `Pool.trim`


class Pool:
    """An allocator for one device: RMM's if it is installed, else CuPy's pool.

    It starts empty, grows, and holds its memory until it is trimmed, so several processes can share one GPU. Both kinds
    are ordered by streams: freed memory is reused on its own stream without waiting.
    """

    keeps = True  # unused memory is not free for other processes

    def __init__(self, device: int) -> None:
        """Create the pool; raises RuntimeError if RMM finds no CUDA pools."""
        self.limit: int | None = None  # bytes that may be in use at once
        self.caches: list[Callable[[], bool]] = []  # each frees memory that it can do without, if it has any
        self.total = int(runtime.getDeviceProperties(device)["totalGlobalMem"])  # bytes of the GPU's memory
        self.identity = identity(device)  # independent of the GPU's number in this process
        self._device = device
        self._peak = 0
        self._lock = threading.Lock()
        try:
            import rmm  # noqa: F401
        except ImportError:
            self._source: _Cupy | _Rmm = _Cupy()
        else:
            self._source = _Rmm(device)
        self.name = self._source.name  # "rmm" or "cupy"

    def held(self) -> int:
        """Return the bytes in use."""
        with cupy.cuda.Device(self._device), self._lock:
            held = self._source.held()
            self._peak = max(self._peak, held)
            return held

    @property
    def most(self) -> int:
        """Return the bytes that may be in use at once."""
        return self.total if self.limit is None else self.limit

    @property
    def peak(self) -> int:
        """Return the highest bytes in use since `reset`; small blocks between two readings do not count."""
        self.held()
        return self._peak

    def reserved(self) -> int:
        """Return the bytes that the pool holds of the GPU, in use or not."""
        with cupy.cuda.Device(self._device):
            return self._source.reserved()

    def trim(self, keep: int = 0) -> None:
        """Return unused memory to the GPU, except ``keep`` bytes in total.

        Waits for all streams first, because freed memory may still be read on one. A pool set by the process may lack
        this operation; it then keeps its memory.
        """
        with cupy.cuda.Device(self._device):
            runtime.deviceSynchronize()
            if self._source.reserved() > keep:
                for free in self.caches:
                    free()
            self._source.trim(keep)

    def reset(self) -> None:
        """Start a new measurement of `peak`."""
        with cupy.cuda.Device(self._device), self._lock:
            self._peak = self._source.held()

    def allocate(self, size: int) -> Any:
        """Allocate memory for CuPy; raises MemoryError with the bytes requested and held."""
        try:
            if faults.allocation.due():
                raise MemoryError
            return self._allocated(size)
        except (MemoryError, RuntimeError) as error:
            # RMM reports any failure like this; for a failed GPU CuPy raises the real error here.
            cupy.cuda.get_current_stream().synchronize()
            if not isinstance(error, MemoryError):
                raise
            if any(free() for free in self.caches):
                return self.allocate(size)
            most = f" of at most {self.limit:,}" if isinstance(error, _OverLimit) else ""
            held = self._source.held()
            raise MemoryError(f"no {size:,} bytes on the device, with {held:,} bytes held{most}") from error

    def _allocated(self, size: int) -> Any:
        if size < SMALL:
            return self._source.allocate(size)
        with self._lock:
            held = self._source.held()
            if self.limit is not None and held + size > self.limit:
                raise _OverLimit
            memory = self._source.allocate(size)
            self._peak = max(self._peak, held + size)
            return memory


class _OverLimit(MemoryError):
    """More than the pool may have in use."""


class _Cupy:
    """A pool of CuPy's, on the current device."""

    name = "cupy"

    def __init__(self) -> None:
        self._pool = cupy.cuda.MemoryPool()
        self.allocate = self._pool.malloc
        self.held = self._pool.used_bytes
        self.reserved = self._pool.total_bytes

    def trim(self, keep: int) -> None:
        if self.reserved() > keep:
            self._pool.free_all_blocks()  # it can give back nothing less


class _Rmm:
    """RMM's resource of a device: our own CUDA pool, or the resource set by the process.

    Small blocks come from a CuPy pool in front of it, nine times faster.
    """

    name = "rmm"

    def __init__(self, device: int) -> None:
        import rmm
        from rmm.allocators.cupy import rmm_cupy_allocator

        resource = rmm.mr.get_per_device_resource(device)
        if isinstance(resource, rmm.mr.CudaMemoryResource):  # the default, not set by the process
            resource = rmm.mr.CudaAsyncViewMemoryResource(_cuda_pool(device))
        if not isinstance(resource, rmm.mr.StatisticsResourceAdaptor):
            resource = rmm.mr.StatisticsResourceAdaptor(resource)
        rmm.mr.set_per_device_resource(device, resource)
        self._large = rmm_cupy_allocator
        self._small = cupy.cuda.MemoryPool(rmm_cupy_allocator)
        self._counted = resource
        while not hasattr(resource, "pool_size") and hasattr(resource, "get_upstream"):
            resource = resource.get_upstream()
        self._pool = resource

    def allocate(self, size: int) -> Any:
        return self._small.malloc(size) if size < SMALL else self._large(size)

    def held(self) -> int:
        return int(self._counted.allocation_counts.current_bytes - self._small.free_bytes())

    def reserved(self) -> int:
        if hasattr(self._pool, "pool_handle"):
            return runtime.memPoolGetAttribute(self._pool.pool_handle(), runtime.cudaMemPoolAttrReservedMemCurrent)
        return int(self._pool.pool_size()) if hasattr(self._pool, "pool_size") else self.held()

    def trim(self, keep: int) -> None:
        if self.reserved() > keep:
            self._small.free_all_blocks()
            runtime.deviceSynchronize()
        if hasattr(self._pool, "pool_handle"):
            runtime.memPoolTrimTo(self._pool.pool_handle(), keep)


def _cuda_pool(device: int) -> Any:
    """Return a CUDA pool of a device, empty, that lives as long as the process."""
    from cuda.bindings.runtime import cudaMemPool_t  # which RMM brings

    kind = runtime.cudaMemAllocationTypePinned, runtime.cudaMemHandleTypeNone, runtime.cudaMemLocationTypeDevice
    pool = runtime.memPoolCreate(runtime.MemPoolProps(*kind, device))
    runtime.memPoolSetAttribute(pool, runtime.cudaMemPoolAttrReleaseThreshold, _NEVER)
    return cudaMemPool_t(pool)


def identity(device: int) -> str:
    """Return the GPU's bus address and UUID; the UUID distinguishes the instances of a divided GPU.

    CuPy cuts a UUID at its first zero byte, so it alone would not be unique.
    """
    unique = runtime.getDeviceProperties(device)["uuid"][:16].hex()
    return f"{runtime.deviceGetPCIBusId(device)}-{unique}"


class Staging:
    """Pinned buffers, reused for every upload, which several threads fill: one alone is slower than the bus."""

    def __init__(self, device: int) -> None:
        self._free: SimpleQueue[tuple[np.ndarray, cupy.cuda.Event]] = SimpleQueue()
        for _ in range(_BUFFERS):
            pinned = np.frombuffer(cupy.cuda.alloc_pinned_memory(STAGING), np.uint8, STAGING)
            self._free.put((pinned, cupy.cuda.Event(disable_timing=True)))
        self._threads = ThreadPoolExecutor(_BUFFERS // 2, "upload", initializer=cupy.cuda.Device(device).use)

    def upload(self, source: np.ndarray, stream: cupy.cuda.Stream) -> cupy.ndarray:
        """Return a copy of a C-contiguous array on the device, enqueued on ``stream``; ``source`` may change
        afterwards.
        """
        target = cupy.empty(source.shape, dtype=source.dtype)
        words = source.reshape(-1).view(np.uint8)

        def copy(first: int) -> None:
            part = words[first : first + STAGING]
            self._send([(0, part)], len(part), target.data + first, stream)

        firsts = range(0, source.nbytes, STAGING)
        if len(firsts) == 1:
            copy(0)
        else:
            list(self._threads.map(copy, firsts))
        return target

    def upload_all(self, sources: Sequence[np.ndarray], stream: cupy.cuda.Stream) -> list[cupy.ndarray]:
        """Return copies of C-contiguous arrays; small ones share a transfer if they fit one buffer. See `upload`."""
        small = [source for source in sources if source.nbytes <= STAGING // _FEW]
        if len(small) < len(sources):
            together = iter(self.upload_all(small, stream))
            return [
                next(together) if source.nbytes <= STAGING // _FEW else self.upload(source, stream)
                for source in sources
            ]
        starts = [0, *accumulate(-(-source.nbytes // _ALIGNED) * _ALIGNED for source in sources)]
        if len(sources) < 2 or starts[-1] > STAGING:
            return [self.upload(source, stream) for source in sources]
        memory = cupy.cuda.alloc(starts[-1])
        parts = [(start, source.reshape(-1).view(np.uint8)) for start, source in zip(starts, sources, strict=False)]
        self._send(parts, starts[-1], memory, stream)
        return [
            cupy.ndarray(source.shape, dtype=source.dtype, memptr=memory + start)
            for source, start in zip(sources, starts, strict=False)
        ]

    def _send(self, parts: Sequence[tuple[int, np.ndarray]], size: int, target: Any, stream: cupy.cuda.Stream) -> None:
        """Enqueue a copy of ``size`` bytes to the device: parts, each from its place in a staging buffer on."""
        pinned, copied = self._free.get()
        try:
            copied.synchronize()  # of the last upload through this buffer
            for start, part in parts:
                pinned[start : start + len(part)] = part
            target.copy_from_host_async(pinned.ctypes.data, size, stream)
            copied.record(stream)
        finally:
            self._free.put((pinned, copied))
