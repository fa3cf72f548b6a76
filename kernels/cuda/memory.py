"""Memory of one device: a pool that says what it holds, and pinned buffers through which the host's arrays go up."""

import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from graphprover.kernels.cuda import faults

STAGING = 4 << 20  # bytes of a staging buffer: long enough for the full speed of the bus
_BUFFERS = 16  # half of them are filled while the others are read
SMALL = 1 << 20  # bytes from which on a block comes from RMM itself, which keeps large ones without gaps
_NEVER = 2**64 - 1  # a release threshold: nothing is given back to the GPU but by `Pool.trim`


class Pool:
    """Allocates for one device: from RMM if it is installed, else from CuPy's pool.

    It starts empty, grows, and keeps what it has of the GPU until it is trimmed, so that several processes share one.
    Both kinds are ordered by streams: what is freed is given again on the stream it was allocated on, without waiting.
    """

    keeps = True  # memory that no proof uses is not free for other processes

    def __init__(self, device: int) -> None:
        """Raises RuntimeError where RMM finds no CUDA pools."""
        self.limit: int | None = None  # bytes that may be in use at once
        self.total = int(runtime.getDeviceProperties(device)["totalGlobalMem"])  # bytes that the GPU has
        self.identity = identity(device)  # the GPU's, whatever its number is in this process
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
        """Bytes in use."""
        with cupy.cuda.Device(self._device), self._lock:
            held = self._source.held()
            self._peak = max(self._peak, held)
            return held

    @property
    def peak(self) -> int:
        """Bytes in use at most since `reset`; between two looks, small blocks are not counted."""
        self.held()
        return self._peak

    def reserved(self) -> int:
        """Bytes that the pool keeps of the GPU, in use or not."""
        with cupy.cuda.Device(self._device):
            return self._source.reserved()

    def trim(self, keep: int = 0) -> None:
        """Give memory that is not in use back to the GPU, but keep ``keep`` bytes in all.

        Waits for all streams first: before, what was freed on one may still be read there. A pool that the process was
        started with may know no such thing, and keeps what it has.
        """
        with cupy.cuda.Device(self._device):
            runtime.deviceSynchronize()
            self._source.trim(keep)

    def reset(self) -> None:
        """Begin a new measurement of `peak`."""
        with cupy.cuda.Device(self._device), self._lock:
            self._peak = self._source.held()

    def allocate(self, size: int) -> Any:
        """What CuPy asks for memory; raises MemoryError, with the bytes asked for and held, when there is none."""
        try:
            if faults.allocation.due():
                raise MemoryError
            if size < SMALL:
                return self._source.allocate(size)
            with self._lock:
                held = self._source.held()
                if self.limit is not None and held + size > self.limit:
                    raise _OverLimit
                memory = self._source.allocate(size)
                self._peak = max(self._peak, held + size)
                return memory
        except (MemoryError, RuntimeError) as error:
            # RMM calls any failure one of these; of a GPU that has failed, CuPy raises here what it is.
            cupy.cuda.get_current_stream().synchronize()
            if not isinstance(error, MemoryError):
                raise
            most = f" of at most {self.limit:,}" if isinstance(error, _OverLimit) else ""
            held = self._source.held()
            raise MemoryError(f"no {size:,} bytes on the device, with {held:,} bytes held{most}") from error


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
    """RMM's resource of a device: a CUDA pool of our own, or what the process was started with.

    Small blocks come from a pool of CuPy's in front of it, in a ninth of the time.
    """

    name = "rmm"

    def __init__(self, device: int) -> None:
        import rmm
        from rmm.allocators.cupy import rmm_cupy_allocator

        resource = rmm.mr.get_per_device_resource(device)
        if isinstance(resource, rmm.mr.CudaMemoryResource):  # nobody has chosen one
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
    """A CUDA pool of a device, empty, that lives as long as the process."""
    from cuda.bindings.runtime import cudaMemPool_t  # which RMM brings

    kind = runtime.cudaMemAllocationTypePinned, runtime.cudaMemHandleTypeNone, runtime.cudaMemLocationTypeDevice
    pool = runtime.memPoolCreate(runtime.MemPoolProps(*kind, device))
    runtime.memPoolSetAttribute(pool, runtime.cudaMemPoolAttrReleaseThreshold, _NEVER)
    return cudaMemPool_t(pool)


def identity(device: int) -> str:
    """Where the GPU sits, and its UUID, which tells apart those that one GPU is divided into.

    CuPy cuts a UUID at its first zero, so that it alone would not do.
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
