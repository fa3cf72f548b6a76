"""An NVIDIA GPU: kernels enqueued on one stream by any number of threads.

Operations return arrays before they are computed; a later operation on the same stream reads them afterwards. The host
waits only for its own inputs: caps, digests, queried rows, terminals, opened values, the final polynomial and nonces.
"""

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from itertools import accumulate
from math import inf
from operator import itemgetter
from typing import Any, TypeVar

import cupy
import numpy as np

from graphprover.air.description import AirDescription
from graphprover.device.host_memory import keep_freed
from graphprover.device.interface import CUDA_BATCH, CUDA_THREADS, DeviceLost, Reading, Repeat, Tree
from graphprover.device.rmm_errors import names_cuda_error
from graphprover.field import GENERATOR, Ext
from graphprover.kernels.cuda import (
    deep,
    fri,
    gather,
    grind,
    inverse,
    launch,
    logup,
    merkle,
    ntt,
    opening,
    quotient,
    tape,
    warm,
)
from graphprover.kernels.cuda.constants import Constants
from graphprover.kernels.cuda.memory import Pool, Staging
from graphprover.kernels.cuda.tape import Tape
from graphprover.kernels.cuda.tapes import Tapes
from graphprover.kernels.operands import Height, Operands, Unextended
from graphprover.runtime.settings import POOL, bytes_of

T = TypeVar("T")

_NO_MEMORY = 2  # error code of runtime and driver: the only error that leaves a device usable
_LOOKS = 5  # readings of both clocks; the closest pair counts


@dataclass
class Usage:
    """The cost of one operation since the start of a measurement."""

    calls: int = 0
    launches: int = 0  # kernels
    uploaded: int = 0  # trace bytes over the bus
    downloaded: int = 0  # result bytes over the bus
    missed: int = 0  # kernels that it had to compile, load or wait for
    interpreted: int = 0  # programs of tables by the interpreter, before their kernels were compiled


def _operation(method: Callable[..., Any]) -> Callable[..., Any]:
    """Run a method with the device's memory and stream, and count it."""

    @wraps(method)
    def run(self: "CudaDevice", *arguments: Any, **named: Any) -> Any:
        with self.task():  # like `operation`, without one more context: a proof has hundreds of them
            before = launch.done()
            result = method(self, *arguments, **named)
            self._count_since(before, method.__name__)
            return result

    return run


class _Nested:
    """A task inside another one: it converts the errors of the device."""

    def __init__(self, device: "CudaDevice") -> None:
        self._device = device

    def __enter__(self) -> None:
        self._device.require()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if error is not None:
            self._device.convert(error)


class _Repeat(Repeat):
    """The tasks that a tape repeats; their launches are counted as an operation's."""

    def __init__(self, device: "CudaDevice", tape: Tape) -> None:
        self._device, self._tape = device, tape

    def replays(self, number: int) -> bool:
        return self._tape.replays(number)

    def replay(self, number: int) -> Any:
        with self._device.operation("replay"):
            return self._tape.replay(number)

    def noted(self, number: int, call: Callable[[], T]) -> T:
        return self._tape.noted(number, call)


class CudaDevice:
    """An implementation of `graphprover.device.Device` with CuPy arrays.

    Pickled as its number; each process has one device, with one stream and one memory pool, for each number. Raises
    cupy.cuda.runtime.CUDARuntimeError without such a device.
    """

    kind = "cuda"
    arrays = cupy
    threads = CUDA_THREADS
    log_batch_rows = CUDA_BATCH

    def __init__(self, number: int = 0) -> None:
        self.number = number
        keep_freed()
        with cupy.cuda.Device(number):
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self._copying = cupy.cuda.Stream(non_blocking=True)
            self.memory = Pool(number)
            self.memory.limit = bytes_of(POOL, self.memory.total)
            self.staging = Staging(number)
        self.tapes = Tapes(self.memory)
        self.constants = Constants(self.memory)
        self.usage: dict[str, Usage] = {}  # by operation
        self.lost = ""  # the reason that the device is unusable
        self._lock = threading.Lock()
        self._inside = threading.local()
        self._nested = _Nested(self)
        self._stamps: list[cupy.cuda.Event] = []  # their times were read

    @cached_property
    def model(self) -> str:
        return str(cupy.cuda.runtime.getDeviceProperties(self.number)["name"].decode())

    def __repr__(self) -> str:
        return f"CudaDevice({self.number})"

    def __reduce__(self) -> tuple[Callable[[int], "CudaDevice"], tuple[int]]:
        return device, (self.number,)

    def task(self) -> AbstractContextManager[None]:
        """Make CuPy use this device, its stream and its memory; inside another task, only convert errors.

        Kernels run after they are enqueued, so an error may surface in a later task.
        """
        return self._nested if getattr(self._inside, "task", False) else self._task()

    @contextmanager
    def _task(self) -> Iterator[None]:
        self._inside.task = True
        try:
            with (
                cupy.cuda.Device(self.number),
                self.stream,
                cupy.cuda.using_allocator(self.memory.allocate),
                self._nested,
            ):
                yield
        finally:
            self._inside.task = False

    def require(self) -> None:
        """Raise DeviceLost if the device has failed."""
        if self.lost:
            raise DeviceLost(self.lost)

    def convert(self, error: BaseException) -> None:
        """Raise MemoryError or DeviceLost for an error of the GPU; return for others."""
        if isinstance(error, (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError)):
            if error.status == _NO_MEMORY:
                raise MemoryError(f"{error}, with {self.memory.held():,} bytes held") from error
        elif isinstance(error, DeviceLost) or not (isinstance(error, RuntimeError) and names_cuda_error(error)):
            return
        self.lost = f"GPU {self.number} failed and is lost to this process, which must end: {error}"
        raise DeviceLost(self.lost) from error

    @contextmanager
    def operation(self, name: str) -> Iterator[None]:
        """Run a task and count its launches and downloads as an operation's."""
        with self.task():
            before = launch.done()
            yield
            self._count_since(before, name)

    def _count_since(self, before: launch.Done, operation: str) -> None:
        """Count a call of an operation, by this thread's counters since its start."""
        done = launch.done()
        with self._lock:
            usage = self._usage_of(operation)
            usage.calls += 1
            usage.launches += done.launched - before.launched
            usage.downloaded += done.downloaded - before.downloaded
            usage.missed += done.missed - before.missed
            usage.interpreted += done.interpreted - before.interpreted

    def count(self, operation: str, **amounts: int) -> None:
        """Add to the usage of an operation."""
        with self._lock:
            usage = self._usage_of(operation)
            for name, amount in amounts.items():
                setattr(usage, name, getattr(usage, name) + amount)

    def _usage_of(self, operation: str) -> Usage:
        if operation not in self.usage:
            self.usage[operation] = Usage()
        return self.usage[operation]

    def synchronize(self) -> None:
        """Wait for all enqueued work."""
        self.stream.synchronize()

    def mark(self) -> cupy.cuda.Event:
        """Return an event after all enqueued work."""
        with self.task():
            event = cupy.cuda.Event(disable_timing=True)
            event.record(self.stream)
            return event

    def to_host(self, arrays: Sequence[cupy.ndarray], mark: cupy.cuda.Event) -> list[np.ndarray]:
        """Copy by another stream, which waits for the mark only and not for a proof's later work."""
        with self.task(), self._copying:
            self._copying.wait_event(mark)
            return [array.get() for array in arrays]

    def reading(self) -> Reading:
        uploaded, done = getattr(self._inside, "uploaded", 0), launch.done()
        return Reading(done.launched, uploaded, done.downloaded, done.waited)

    def stamp(self) -> cupy.cuda.Event:
        try:
            event = self._stamps.pop()
        except IndexError:
            event = cupy.cuda.Event()
        event.record(self.stream)
        return event

    def spans(self, tasks: Sequence[tuple[float, cupy.cuda.Event]]) -> list[tuple[float, float]]:
        """Return the tasks' times, relative to an event at a known host time.

        A task starts on the stream when the previous one ends or, on an idle stream, when the host starts it.
        """
        with self.task():
            self.synchronize()
            last, at = min((self._now() for _ in range(_LOOKS)), key=itemgetter(1))[0]
            ends = [at - cupy.cuda.get_elapsed_time(stamp, last) / 1000 for _, stamp in tasks]
        self._stamps += [stamp for _, stamp in tasks]
        before = accumulate(ends, max, initial=-inf)
        return [(min(max(begun, free), end), end) for (begun, _), free, end in zip(tasks, before, ends, strict=False)]

    def _now(self) -> tuple[tuple[cupy.cuda.Event, float], float]:
        """Return an event of the idle stream, its host time, and the error of that time in seconds."""
        event, before = cupy.cuda.Event(), time.perf_counter()
        event.record(self.stream)
        event.synchronize()
        unsure = time.perf_counter() - before
        return (event, before + unsure / 2), unsure

    def profiled(self, name: str) -> AbstractContextManager[None]:
        from cupyx.profiler import time_range  # only needed here

        return time_range(name)

    def expect(self, tables: Iterable[AirDescription], *, guess: bool = False) -> None:
        warm.expect(tables, self.number, guess=guess)

    @_operation
    def load(self, columns: np.ndarray | cupy.ndarray) -> cupy.ndarray:
        """Copy columns to the device, unless they are there already."""
        if isinstance(columns, cupy.ndarray):
            return columns
        self._count_upload("load", columns.nbytes)
        return self.staging.upload(np.ascontiguousarray(columns), self.stream)

    def constant(self, array: np.ndarray) -> cupy.ndarray:
        return self.constant_all([array])[0]

    @_operation
    def constant_all(self, arrays: Sequence[np.ndarray]) -> list[cupy.ndarray]:
        return self.constants.get(arrays, self.load_all)

    @_operation
    def load_all(self, arrays: Sequence[np.ndarray]) -> list[cupy.ndarray]:
        self._count_upload("load_all", sum(array.nbytes for array in arrays))
        return self.staging.upload_all([*map(np.ascontiguousarray, arrays)], self.stream)

    def _count_upload(self, operation: str, size: int) -> None:
        self.count(operation, uploaded=size)
        self._inside.uploaded = getattr(self._inside, "uploaded", 0) + size

    def fetch(self, words: cupy.ndarray) -> np.ndarray:
        return launch.to_host(words)

    # Round 0: traces.

    def room(self, columns: int, rows: int) -> cupy.ndarray:
        return tape.room((columns, rows))

    def place(self, columns: cupy.ndarray) -> cupy.ndarray:
        return tape.place(columns)

    @contextmanager
    def repeating(self, shape: Hashable, peak: int) -> Iterator[Repeat]:
        with self.tapes.proof(shape, peak) as found:
            yield Repeat() if found is None else _Repeat(self, found)

    def split_rows(self, function: Callable[[int, int], None], rows: int) -> None:
        function(0, rows)

    @_operation
    def inverse(self, words: cupy.ndarray) -> cupy.ndarray:
        return inverse.inverse_or_zero(words)

    # Rounds 1 to 3: extensions and trees.

    @_operation
    def extend(self, matrices: Sequence[cupy.ndarray], log_blowup: int) -> list[cupy.ndarray]:
        whole = [0] * len(matrices)
        return ntt.coset_ldes(matrices, whole, log_blowup, GENERATOR, bit_reversed_source=False)

    @_operation
    def extend_chunks(
        self, quotients: Sequence[cupy.ndarray], log_chunks: Sequence[int], log_blowup: int
    ) -> list[cupy.ndarray]:
        return ntt.coset_ldes(quotients, log_chunks, log_blowup, 1, bit_reversed_source=True)

    @_operation
    def merkle_tree(self, matrices: Sequence[cupy.ndarray | Unextended], cap_height: int, hash: str) -> Tree:
        return Tree(merkle.tree(matrices, cap_height, hash))

    @_operation
    def fold_tree(self, codeword: cupy.ndarray, log_arity: int, cap_height: int, hash: str) -> Tree:
        return Tree(merkle.fold_tree(codeword, log_arity, cap_height, hash))

    @_operation
    def cap(self, tree: Tree) -> tuple[bytes, ...]:
        return tuple(digest.tobytes() for digest in launch.to_host(tree.layers[-1]))

    @_operation
    def gather(
        self,
        blocks: Sequence[Sequence[tuple[cupy.ndarray | Unextended, np.ndarray]]],
        digests: Sequence[tuple[Tree, np.ndarray]],
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        return gather.gather(blocks, [(tree.layers, numbers) for tree, numbers in digests])

    # Rounds 2 and 3: lookups and quotients.

    @_operation
    def lookup_columns(self, tables: Sequence[Operands], tau: Ext) -> list[tuple[cupy.ndarray, Ext]]:
        return logup.lookup_columns(tables, tau)

    @_operation
    def quotient(self, tables: Sequence[Operands], tau: Ext, alpha: Ext, log_blowup: int) -> list[cupy.ndarray]:
        return quotient.quotient(tables, tau, alpha, log_blowup)

    # Rounds 4 and 5: openings.

    @_operation
    def interpolation_weights(self, domains: Sequence[tuple[int, Ext]]) -> list[cupy.ndarray]:
        return opening.interpolation_weights(domains)

    @_operation
    def natural_weights(self, domains: Sequence[tuple[int, Ext]]) -> list[cupy.ndarray]:
        return opening.natural_weights(domains)

    @_operation
    def evaluate(
        self, matrices: Sequence[cupy.ndarray], weights: Sequence[Sequence[cupy.ndarray]]
    ) -> list[list[np.ndarray]]:
        return opening.evaluate(matrices, weights)

    @_operation
    def inverse_denominators(self, domains: Sequence[tuple[int, Ext]]) -> list[cupy.ndarray]:
        return deep.inverse_denominators(domains)

    @_operation
    def reduced_openings(self, heights: Sequence[Height], gamma: Ext) -> list[cupy.ndarray]:
        return deep.reduced_openings(heights, gamma)

    @_operation
    def reduced_traces(self, heights: Sequence[Height], gamma: Ext) -> list[cupy.ndarray]:
        return deep.reduced_traces(heights, gamma)

    @_operation
    def sum_vectors(self, vectors: Sequence[cupy.ndarray]) -> cupy.ndarray:
        return deep.sum_vectors(vectors)

    # Round 6: FRI.

    @_operation
    def fold(self, codeword: cupy.ndarray, log_arity: int, beta: Ext, joining: cupy.ndarray | None) -> cupy.ndarray:
        return fri.fold(codeword, log_arity, beta, joining)

    @_operation
    def final_polynomial(self, codeword: cupy.ndarray, log_length: int) -> tuple[Ext, ...]:
        return fri.final_polynomial(codeword, log_length)

    @_operation
    def grind(self, seed: bytes, bits: int, hash: str) -> int:
        return grind.grind(seed, bits, hash)


@lru_cache
def device(number: int) -> CudaDevice:
    """Return the process's device of a number."""
    return CudaDevice(number)
