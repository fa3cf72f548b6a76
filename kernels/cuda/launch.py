"""CUDA C++ to kernels that can be launched.

A kernel's parameters are arrays of 64-bit words, passed as pointers, and 64-bit integers (``unsigned long long``), so
that no size is ever cut. The machine code of its source is loaded ahead by the threads of `expect` or on first use. It
comes with the package (`shipped`), or else CuPy compiles it for the device at hand and keeps it on disk, under a name
that depends on all of the source, the headers included, on the device's architecture and on the compiler's version;
it writes whole files, so that processes may share the folder. Even to find its own file CuPy needs the compiler.

    from graphprover.kernels.cuda.launch import kernels_of, launch

    launch(kernels_of("inverse.cu"), "inverse", blocks, THREADS, source, target, count, first_zero)
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import accumulate, pairwise
from math import prod
from typing import Any, NamedTuple

import cupy
import numpy as np

from graphprover.kernels.cuda import faults, shipped
from graphprover.kernels.cuda.enqueue import driver_s_launch, enqueue
from graphprover.kernels.cuda.launches import END, POINTER, SIZE, Launches, Recording
from graphprover.kernels.cuda.sources import HASHES, STANDARD, source
from graphprover.runtime.compiling import add_wait
from graphprover.runtime.files import alone

_MAX_BLOCKS = (2**31 - 1, 65535, 65535)
_MAX_THREADS = 1024
_MAX_PARAMETERS = 32764 // 8  # words
_LAUNCH_FAILED = 719  # CUDA_ERROR_LAUNCH_FAILED, after a kernel that read an invalid address
_REFUSED = (200, 209)  # CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU: machine code for another device
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_STATIC_SHARED = 32 << 10  # bytes a block may have by default: 48 KiB without static ones

launches: Counter[str] = Counter()  # by `launch`, of each kernel in this process, for tests of which path ran
loads: Counter[str] = Counter()  # texts in this process: "shipped", "cached" by CuPy, or "compiled"
_WORD = 0xFFFFFFFFFFFFFFFF
PINNED = 1 << 18  # bytes from which on a copy to the host has pinned memory
_ALIGNED = 32  # words between two arrays in one piece of memory begin at multiples of 256 bytes
_lock = threading.Lock()


class CompileError(RuntimeError):
    """The compiler does not take a source text; names the table or the file."""


class _Log:
    """The compiler's messages, which CuPy writes if it compiles."""

    written = False

    def write(self, text: str) -> None:
        self.written = True


class Kernels:
    """The kernels of one source text on one device."""

    def __init__(self, text: str, device: int) -> None:
        self.name = ""  # for people
        self.loaded = False
        self.error: CompileError | None = None
        self._text, self._device = text, device
        self._lock = threading.Lock()
        self._module: Any = None  # CuPy's, once they are loaded
        self._functions: dict[str, Any] = {}  # CuPy's
        self._addresses: dict[str, int] = {}  # of the driver's functions
        self._granted: dict[str, int] = {}  # bytes of shared memory
        self._compiled = False  # by this process, neither shipped nor from CuPy's files

    def load(self) -> None:
        """Load what was shipped, or compile them or take them from CuPy's files, unless they are loaded.

        Waits for a thread or a process that compiles them. Raises CompileError.
        """
        with self._lock:
            if self.error:
                raise self.error
            if self.loaded:
                return
            with cupy.cuda.Device(self._device):
                self._module = self._shipped() or self._built()
            self.loaded = True

    def _shipped(self) -> Any:
        """Return the module that was shipped; None without one that this device takes."""
        found = shipped.machine_code(self._text, self.name, _capability(self._device))
        if found is None:
            return None
        module = cupy.cuda.function.Module()
        try:
            module.load(found)
        except cupy.cuda.driver.CUDADriverError as error:
            if error.status not in _REFUSED:
                raise
            shipped.warn_once(f"the GPU's driver refuses shipped kernels ({error})")
            return None
        with _lock:
            loads["shipped"] += 1
        return module

    def _built(self) -> Any:
        """Return the module that CuPy compiles, or has in a file."""
        log = _Log()
        try:
            with alone(self._text):
                # `RawModule.compile` would return nothing, and a later lookup would load the module again.
                module = cupy.RawModule(code=self._text, options=(f"-std={STANDARD}",), backend="nvrtc")._module(log)
        except cupy.cuda.compiler.CompileException as error:
            self.error = CompileError(f"{self.name or 'a kernel'} does not compile: {error}")
            raise self.error from error
        self._compiled = log.written
        with _lock:
            loads["compiled" if log.written else "cached"] += 1
        return module

    def kernel(self, name: str, shared: int) -> int:
        """Return the driver's function called ``name``, allowed ``shared`` bytes of dynamic shared memory a block."""
        if name in self._addresses and shared <= self._granted[name]:
            return self._addresses[name]
        if not self.loaded:
            _parameters.missed += 1
            started = time.perf_counter()
            self.load()
            if self._compiled:
                add_wait(started, time.perf_counter())
        with _lock:
            if name not in self._functions:
                self._functions[name] = self._module.get_function(name)
                self._granted[name] = _STATIC_SHARED
            if shared > self._granted[name]:
                cupy.cuda.driver.funcSetAttribute(self._functions[name].ptr, _MAX_DYNAMIC_SHARED, shared)
                self._granted[name] = shared
            self._addresses[name] = self._functions[name].ptr
        return self._addresses[name]


@cache
def _kernels(text: str, device: int) -> Kernels:
    return Kernels(text, device)


@cache
def _capability(device: int) -> str:
    """Return a device's compute capability, "90" for 9.0."""
    return str(cupy.cuda.Device(device).compute_capability)


@cache
def _file(file: str) -> str:
    return source(file)


def kernels_of(file: str) -> Kernels:
    """Return the kernels of a ``.cu`` file of this folder on the current device."""
    return compiled(_file(file), file)


@cache
def _hashing(file: str, hash: str) -> str:
    return source(file, HASHES[hash])


def hashing_kernels(file: str, hash: str) -> Kernels:
    """Return the kernels of a ``.cu`` file that includes ``hash.cuh``, for the hash of that name."""
    return compiled(_hashing(file, hash), f"{file}, {hash}")


def compiled(text: str, name: str = "") -> Kernels:
    """Return the kernels of a source text, which may come from `source`, on the current device; ``name`` is for
    people.
    """
    kernels = _kernels(text, cupy.cuda.runtime.getDevice())
    kernels.name = kernels.name or name
    return kernels


@cache
def multiprocessors(device: int) -> int:
    """How many a device has."""
    return int(cupy.cuda.runtime.getDeviceProperties(device)["multiProcessorCount"])


def blocks_for(items: int, threads: int) -> int:
    """How many blocks of ``threads`` cover ``items``."""
    return -(-items // threads)


class _Parameters(threading.local):
    """The parameters of one launch, one after the other as the driver takes them: a buffer for each thread."""

    def __init__(self) -> None:
        self.words = np.empty(_MAX_PARAMETERS, dtype=np.uint64)
        self._cells = self.words.data  # the same, which takes single words in half the time
        self._size = np.empty(1, dtype=np.uint64)
        addresses = [POINTER, self.words.ctypes.data, SIZE, self._size.ctypes.data, END]
        self._extra = np.array(addresses, dtype=np.uint64)
        self.address = self._extra.ctypes.data
        self.count = 0  # words of the last launch
        self.launched = 0  # kernels, by this thread
        self.downloaded = 0  # bytes, by this thread
        self.waited = 0.0  # seconds, by this thread
        self.missed = 0  # kernels that were not loaded when this thread launched them
        self.interpreted = 0  # programs of tables, by this thread, as their kernels were not there yet
        self.waits = 0  # of this thread for results
        self.recording: Recording | None = None  # of this thread's operation

    def fill(self, kernel: str, arguments: tuple[object, ...]) -> None:
        """Raise ValueError for an invalid argument."""
        count, cells = 0, self._cells
        for value in arguments:
            if type(value) is int:  # as most are
                cells[count] = value & _WORD
            elif isinstance(value, cupy.ndarray):
                if value.dtype.itemsize != 8 or not value.flags.c_contiguous:
                    raise ValueError(
                        f"kernel {kernel}: a {value.dtype} array of shape {value.shape} is not contiguous words"
                    )
                cells[count] = value.data.ptr
            elif isinstance(value, (int, np.integer)):
                cells[count] = int(value) & _WORD
            elif isinstance(value, np.ndarray) and value.dtype == np.uint64:
                self.words[count : count + value.size] = value.reshape(-1)
                count += value.size - 1
            else:
                raise ValueError(f"kernel {kernel}: {type(value).__name__} is no argument")
            count += 1
        self._size[0] = 8 * count
        self.count = count


_parameters = _Parameters()


def launch(
    kernels: Kernels, name: str, blocks: int | tuple[int, ...], threads: int, *arguments: object, shared: int = 0
) -> None:
    """Enqueue a kernel on the current stream; nothing, if there are no blocks.

    ``arguments`` are arrays of 8-byte elements on the device, C-contiguous; integers in [-2^63, 2^64); and NumPy arrays
    of uint64, for parameters that are structs of words. ``shared`` is in bytes of dynamic shared memory a block. Raises
    ValueError for anything else and for sizes that a grid cannot have.
    """
    # Without loops: hundreds of launches of a proof come here, and a GPU may have nothing else to do meanwhile.
    x, y, z = (blocks, 1, 1) if isinstance(blocks, int) else (*blocks, 1, 1)[:3]
    most_x, most_y, most_z = _MAX_BLOCKS
    if not (0 <= x <= most_x and 0 <= y <= most_y and 0 <= z <= most_z and 0 < threads <= _MAX_THREADS):
        raise ValueError(f"kernel {name}: no grid of {blocks} blocks of {threads} threads")
    if not (x and y and z):
        return
    if faults.launch.due():
        raise cupy.cuda.driver.CUDADriverError(_LAUNCH_FAILED)
    kernel = kernels.kernel(name, shared)
    _parameters.fill(name, arguments)
    stream = cupy.cuda.get_current_stream().ptr
    # CuPy's own call makes an object of every argument and takes twice as long.
    cupy.cuda.driver.launchKernel(kernel, x, y, z, threads, 1, 1, shared, stream, 0, _parameters.address)
    _parameters.launched += 1
    if _parameters.recording is not None:
        words = _parameters.words[: _parameters.count]
        _parameters.recording.note(kernel, (x, y, z), threads, shared, words, arguments)
    with _lock:
        launches[name] += 1


class Done(NamedTuple):
    """Counters of a thread."""

    launched: int  # kernels
    downloaded: int  # bytes, by `to_host`
    waited: float  # seconds, in `to_host`
    missed: int  # kernels that it had to compile, or load, or wait for
    interpreted: int  # programs of tables, because their kernels were not there yet
    waits: int  # calls of `to_host`


def done() -> Done:
    """By this thread."""
    own = _parameters
    return Done(own.launched, own.downloaded, own.waited, own.missed, own.interpreted, own.waits)


def count_interpreted() -> None:
    """One more that this thread has interpreted."""
    _parameters.interpreted += 1


def to_host(array: cupy.ndarray) -> np.ndarray:
    """Return an array's words on the host; waits for them."""
    started = time.perf_counter()
    words = array.get(out=_pinned(array)) if array.nbytes >= PINNED and array.flags.c_contiguous else array.get()
    _parameters.waited += time.perf_counter() - started
    _parameters.downloaded += array.nbytes
    _parameters.waits += 1
    return words


def _pinned(array: cupy.ndarray) -> np.ndarray:
    """Return an array of this shape in pinned memory, which CuPy reuses: new pages would take longer than the copy."""
    memory = cupy.cuda.alloc_pinned_memory(array.nbytes)
    return np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)


@contextmanager
def recording(
    allocate: Callable[[int], Any], lasting: Callable[[int], Any], words: Sequence[np.ndarray]
) -> Iterator[Recording]:
    """Record the launches of this thread in the block.

    Args:
        allocate: Allocates the arrays of the block.
        lasting: Allocates the copies of host arrays that the block makes. Their memory is separate from all other
            arrays, because a repetition copies before it launches anything.
        words: The words that differ from one repetition to the next.
    """
    made = _parameters.recording = Recording(words, lasting)
    try:
        with cupy.cuda.using_allocator(allocate):
            yield made
    finally:
        _parameters.recording = None


def enqueue_all(launches: Launches, words: Sequence[np.ndarray] = ()) -> None:
    """Enqueue recorded launches on the current stream, with these words."""
    stream, runtime = cupy.cuda.get_current_stream().ptr, cupy.cuda.runtime
    for address, number in launches.uploads:
        host = words[number]
        runtime.memcpyAsync(address, host.ctypes.data, host.nbytes, runtime.memcpyHostToDevice, stream)
    launches.put(words)
    if faults.launch.armed:
        _enqueue_each(launches, stream)
    elif error := enqueue(driver_s_launch(), stream, launches.rows):
        raise cupy.cuda.driver.CUDADriverError(error)
    _parameters.launched += len(launches)


def _enqueue_each(launches: Launches, stream: int) -> None:
    """Enqueue launches one by one, each of which may fail by a fault."""
    for i in range(len(launches)):
        error = _LAUNCH_FAILED if faults.launch.due() else enqueue(driver_s_launch(), stream, launches.rows[i : i + 1])
        if error:
            raise cupy.cuda.driver.CUDADriverError(error)


def empty_arrays(shapes: Iterable[tuple[int, ...]]) -> list[cupy.ndarray]:
    """Arrays of uint64 of these shapes in one piece of memory, which is freed when all of them are."""
    shapes = list(shapes)
    starts = [0, *accumulate(-(-prod(shape) // _ALIGNED) * _ALIGNED for shape in shapes)]
    memory = cupy.empty(starts[-1], dtype=cupy.uint64)
    return [
        cupy.ndarray(shape, dtype=cupy.uint64, memptr=memory.data + 8 * start)
        for shape, start in zip(shapes, starts, strict=False)
    ]


def copied(*arrays: np.ndarray) -> list[cupy.ndarray]:
    """Return copies of vectors of uint64 on the device, by one copy of all of them unless an operation is recorded."""
    if _parameters.recording is not None:
        return [_copied_to_last(array, _parameters.recording) for array in arrays]
    there = cupy.asarray(arrays[0] if len(arrays) == 1 else np.concatenate(arrays))
    starts = [0, *accumulate(map(len, arrays))]
    return [there[start:end] for start, end in pairwise(starts)]


def _copied_to_last(array: np.ndarray, recording: Recording) -> cupy.ndarray:
    with cupy.cuda.using_allocator(recording.lasting):
        there = cupy.asarray(array)
    recording.keep(there)
    recording.upload(array, there.data.ptr)
    return there


def keep(*arrays: cupy.ndarray) -> None:
    """Keep arrays that a launch reads and that a cache may drop, as long as a recording of the launch exists."""
    if _parameters.recording is not None:
        _parameters.recording.keep(*arrays)


def pointer_or_null(matrix: cupy.ndarray | None) -> cupy.ndarray | int:
    """Return a kernel's argument for a matrix that may not be there."""
    return 0 if matrix is None else matrix
