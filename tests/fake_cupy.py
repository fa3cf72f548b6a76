"""As much of CuPy as this package uses, without a GPU: arrays have addresses and no contents, and launches are listed.

The host reads words of an array that follow from a seed. `installed` puts this module in CuPy's place.
"""

import ctypes
import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import local
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.field import P

uint64 = np.uint64
_STREAM = 7
_ROUND = 512  # bytes
_NO_BINARY = 209  # CUDA_ERROR_NO_BINARY_FOR_GPU
_PARTS = (  # that import CuPy
    "graphprover.kernels.cuda",
    "graphprover.vm.kernels.cuda",
    "graphprover.vm.accelerators.cuda",
    "graphprover.vm.accelerators.keccak.cuda",
    "graphprover.device.cuda",
)


class _State:
    """What happens on the device."""

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []  # launches and copies in order
        self.top = 1 << 40  # the first address that was never allocated
        self.left: int | None = None  # bytes that may still be allocated
        self.seed = 0
        self.read = 0  # arrays since the seed was set
        self.grinding: dict[int, str] = {}  # hash by kernel
        self.compiled: list[str] = []  # texts

    def begin(self, seed: int) -> None:
        """Forget all launches and copies; the words that are read follow from this seed."""
        self.done, self.seed, self.read = [], seed, 0


state = _State()


class UnownedMemory:
    """Memory of any owner."""

    def __init__(self, ptr: int, size: int, owner: object, device_id: int = 0) -> None:
        self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id


class MemoryPointer:
    """An address in memory."""

    def __init__(self, mem: Any, offset: int) -> None:
        self.mem, self.ptr, self.device_id = mem, mem.ptr + offset, mem.device_id
        self._offset = offset

    def __add__(self, offset: int) -> "MemoryPointer":
        return MemoryPointer(self.mem, self._offset + offset)

    def copy_from_host_async(self, address: int, size: int, stream: object) -> None:
        state.done.append(("upload", self.ptr, ctypes.string_at(address, size)))

    def copy_from_device_async(self, source: "MemoryPointer", size: int) -> None:
        state.done.append(("copy", self.ptr, source.ptr, size))


class _Block:
    """Memory of a pool, which returns to it."""

    def __init__(self, pool: "MemoryPool", block: Any) -> None:
        self._pool, self._block = pool, block
        self.ptr, self.size, self.device_id = block.ptr, block.size, 0

    def __del__(self) -> None:
        self._pool.free.setdefault(self.size, []).append(self._block)


class MemoryPool:
    """A pool that uses freed blocks of the same size again, the last one first."""

    def __init__(self, allocator: Callable[[int], MemoryPointer] | None = None) -> None:
        self.free: dict[int, list[Any]] = {}
        self._allocator = allocator or _new
        self._total = 0

    def malloc(self, size: int) -> MemoryPointer:
        size = -(-size // _ROUND) * _ROUND
        if not self.free.get(size):
            self.free.setdefault(size, []).append(self._allocator(size).mem)
            self._total += size
        return MemoryPointer(_Block(self, self.free[size].pop()), 0)

    def free_all_blocks(self) -> None:
        self._total -= self.free_bytes()
        self.free.clear()

    def free_bytes(self) -> int:
        return sum(size * len(blocks) for size, blocks in self.free.items())

    def used_bytes(self) -> int:
        return self._total - self.free_bytes()

    def total_bytes(self) -> int:
        return self._total


def _new(size: int) -> MemoryPointer:
    if state.left is not None and size > state.left:
        raise MemoryError
    if state.left is not None:
        state.left -= size
    state.top += size
    return MemoryPointer(UnownedMemory(state.top - size, size, None), 0)


class _Memory:
    """Memory as NumPy takes it; its words are never read."""

    def __init__(self, pointer: MemoryPointer, shape: Any, dtype: Any, strides: Any) -> None:
        self.pointer = pointer
        self.__array_interface__ = {
            "data": (pointer.ptr, False), "shape": shape, "typestr": np.dtype(dtype).str, "strides": strides,
            "version": 3,
        }  # fmt: skip


class ndarray:
    """An array."""

    def __init__(self, shape: Any, dtype: Any = np.float64, memptr: Any = None, strides: Any = None) -> None:
        self.data = memptr
        self._host = np.asarray(_Memory(memptr, shape, dtype, strides))
        self.shape, self.dtype, self.strides = self._host.shape, self._host.dtype, self._host.strides
        self.ndim, self.size, self.nbytes = self._host.ndim, self._host.size, self._host.nbytes
        self.flags = SimpleNamespace(c_contiguous=self._host.flags.c_contiguous)

    def __len__(self) -> int:
        return len(self._host)

    def __getitem__(self, index: Any) -> "ndarray":
        part = self._host[index]
        pointer = self.data + (part.ctypes.data - self.data.ptr if part.size else 0)
        return ndarray(part.shape, part.dtype, pointer, part.strides)

    def __iter__(self) -> Iterator["ndarray"]:
        return iter([self[i] for i in range(len(self))])

    def get(self) -> np.ndarray:
        """Return words that a proof can go on with: no index of a zero, a nonce of the last launch."""
        state.read += 1
        words = np.random.default_rng([state.seed, state.read]).integers(0, P, self.shape, dtype=np.uint64)
        if self.ndim == 2 and self.shape[1] == 4:
            words[:, 3] = 2**64 - 1
        elif self.shape == (2,):
            words[0] = _nonce()
        return words


def _nonce() -> int:
    """Return the nonce that the last launch looks for."""
    kind, kernel, *_, parameters = state.done[-1]
    assert kind == "launch"
    mask = int(parameters[4]).to_bytes(8, "little")
    bits = int.from_bytes(mask, "big").bit_length()
    return CpuDevice(1).grind(np.array(parameters[:4], np.uint64).tobytes(), bits, state.grinding[kernel])


class _Allocator(local):
    allocate: Callable[[int], MemoryPointer] = staticmethod(_new)


_allocator = _Allocator()


@contextmanager
def using_allocator(allocate: Callable[[int], MemoryPointer]) -> Iterator[None]:
    before, _allocator.allocate = _allocator.allocate, allocate
    try:
        yield
    finally:
        _allocator.allocate = before


def empty(shape: Any, dtype: Any = np.float64) -> ndarray:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return ndarray(shape, dtype, _allocator.allocate(size))


def empty_like(array: ndarray) -> ndarray:
    return empty(array.shape, array.dtype)


def asarray(host: np.ndarray) -> ndarray:
    there = empty(host.shape, host.dtype)
    state.done.append(("upload", there.data.ptr, host.tobytes()))
    return there


def ascontiguousarray(array: ndarray) -> ndarray:
    return empty(array.shape, array.dtype)


class CUDADriverError(RuntimeError):
    def __init__(self, status: int) -> None:
        super().__init__(f"CUDA error {status}")
        self.status = status


class CUDARuntimeError(CUDADriverError):
    pass


def _parameters(extra: int) -> tuple[int, ...]:
    _, buffer, _, size, _ = (ctypes.c_uint64 * 5).from_address(extra)
    return tuple((ctypes.c_uint64 * (ctypes.c_uint64.from_address(size).value // 8)).from_address(buffer))


def _launch(kernel: int, x: int, y: int, z: int, a: int, b: int, c: int, shared: int, *rest: Any) -> int:
    stream, _, extra = rest
    assert stream == _STREAM and (b, c) == (1, 1)
    state.done.append(("launch", kernel, (x, y, z), a, shared, _parameters(extra)))
    return 0


_UNSIGNED = ctypes.c_uint
_POINTER = ctypes.c_void_p
LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, *[_UNSIGNED] * 7, _POINTER, _POINTER, _POINTER)(_launch)


class Module:
    """A module of kernels: its code is a text, or what `load` got."""

    def __init__(self, code: str = "") -> None:
        self._code = code

    def load(self, cubin: bytes) -> None:
        self._code = cubin.decode()
        if self._code.startswith("for another GPU"):
            raise CUDADriverError(_NO_BINARY)

    def get_function(self, name: str) -> Any:
        number = int.from_bytes(hashlib.sha256(f"{name}\n{self._code}".encode()).digest()[:6], "big")
        if name == "grind":
            state.grinding[number] = "blake3" if "#define BLAKE3" in self._code else "keccak"
        return SimpleNamespace(ptr=number)


class RawModule:
    def __init__(self, code: str, options: Any, backend: str) -> None:
        self._code = code

    def _module(self, log_stream: Any) -> Module:
        state.compiled.append(self._code)
        log_stream.write("")
        return Module(self._code)


class _Context:
    compute_capability = "00"  # for which nothing is shipped

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.ptr = _STREAM

    def __enter__(self) -> "_Context":
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def record(self, stream: object = None) -> None:
        pass

    def use(self) -> None:
        pass


def _upload(target: int, source: int, size: int, kind: int, stream: int) -> None:
    assert kind == runtime.memcpyHostToDevice and stream == _STREAM
    state.done.append(("upload", target, ctypes.string_at(source, size)))


runtime = SimpleNamespace(
    getDevice=lambda: 0,
    getDeviceProperties=lambda device: {
        "totalGlobalMem": 1 << 36, "uuid": b"0" * 16, "multiProcessorCount": 132, "name": b"fake",
    },
    deviceGetPCIBusId=lambda device: "0",
    deviceSynchronize=lambda: None,
    memcpyAsync=_upload,
    memcpyHostToDevice=1,
    CUDARuntimeError=CUDARuntimeError,
)  # fmt: skip
cuda = SimpleNamespace(
    runtime=runtime,
    driver=SimpleNamespace(
        launchKernel=_launch, CUDADriverError=CUDADriverError, funcSetAttribute=lambda function, attribute, value: None
    ),
    function=SimpleNamespace(Module=Module),
    compiler=SimpleNamespace(CompileException=ValueError),
    Device=_Context,
    Stream=_Context,
    Event=_Context,
    MemoryPool=MemoryPool,
    MemoryPointer=MemoryPointer,
    UnownedMemory=UnownedMemory,
    using_allocator=using_allocator,
    get_current_stream=_Context,
    alloc=lambda size: _allocator.allocate(size),
    alloc_pinned_memory=lambda size: bytearray(size),
)


@contextmanager
def new_device(folder: str) -> Iterator[Any]:
    """Yield the device of a new process; ``folder`` has its cached kernels."""
    with pytest.MonkeyPatch.context() as patch, installed():
        patch.setenv("CUPY_CACHE_DIR", folder)
        from graphprover.device.cuda import CudaDevice

        yield CudaDevice()


@contextmanager
def installed() -> Iterator[_State]:
    """Put this module in CuPy's place, for newly imported modules of the package."""
    names = ["cupy", "cupy.cuda", "rmm", *(name for name in sys.modules if name.startswith(_PARTS))]
    before = {name: sys.modules.pop(name, None) for name in names}
    sys.modules.update({"cupy": sys.modules[__name__], "cupy.cuda": cuda, "rmm": None})  # type: ignore[dict-item]
    state.__init__()  # type: ignore[misc]
    try:
        yield state
    finally:
        for name in [name for name in sys.modules if name.startswith(_PARTS)]:
            del sys.modules[name]
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
