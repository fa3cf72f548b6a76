"""An NVIDIA GPU: kernels enqueued on one stream, from as many threads as like.

Operations return arrays that are not computed yet; whoever reads one on the same device does so on the same stream and
therefore after it. Only what the host needs is waited for: caps, digests, queried rows, terminals, opened values, the
final polynomial and nonces.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any

import cupy
import numpy as np

from graphprover.device.interface import CUDA_BATCH, CUDA_THREADS, Device, DeviceLost, Tree
from graphprover.field import GENERATOR, Ext
from graphprover.kernels.cuda import (
    counting,
    deep,
    fri,
    gather,
    grind,
    inverse,
    keccak,
    logup,
    merkle,
    module,
    ntt,
    opening,
    program,
)
from graphprover.kernels.cuda import lanes as lanes_
from graphprover.kernels.cuda.memory import Pool, Staging
from graphprover.kernels.lanes import Cell, Lanes
from graphprover.kernels.operands import Height, Operands

_EXT = 24  # bytes of an element of the extension
_NO_MEMORY = 2  # of the runtime's and of the driver's error codes: the only one that leaves a device as it was


@dataclass
class Usage:
    """What one operation has cost since a measurement began."""

    calls: int = 0
    launches: int = 0  # of kernels
    uploaded: int = 0  # bytes of traces that crossed the bus
    downloaded: int = 0  # bytes of results that crossed the bus


def _operation(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method on the device's own memory and stream, counted."""

    @wraps(method)
    def run(self: "CudaDevice", *arguments: Any, **named: Any) -> Any:
        with self.task():
            before = module.launched()
            result = method(self, *arguments, **named)
            self.count(method.__name__, calls=1, launches=module.launched() - before)
        return result

    return run


class CudaDevice:
    """Implements `graphprover.device.Device` on CuPy arrays.

    In a cluster a device travels as its number; each process keeps one device, with one stream and one pool of memory,
    for each number. Raises cupy.cuda.runtime.CUDARuntimeError where there is no such device.
    """

    arrays = cupy
    threads = CUDA_THREADS
    log_batch_rows = CUDA_BATCH

    def __init__(self, number: int = 0) -> None:
        self.number = number
        with cupy.cuda.Device(number):
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self.memory = Pool(number)
            self.staging = Staging(number)
        self.maker: Device = self  # or CpuDevice(), where its threads are faster than launches and a record's upload
        self.usage: dict[str, Usage] = {}  # by operation
        self.lost = ""  # why the device cannot be used again
        self._lock = threading.Lock()
        self._inside = threading.local()

    def __repr__(self) -> str:
        return f"CudaDevice({self.number})"

    def __reduce__(self) -> tuple[Callable[[int], "CudaDevice"], tuple[int]]:
        return device, (self.number,)

    @contextmanager
    def task(self) -> Iterator[None]:
        """Make CuPy use this device, its stream and its memory; inside another task, nothing.

        Kernels run later than they are enqueued, so that an error of one may appear in a task after its own.
        """
        if getattr(self._inside, "task", False):
            yield
            return
        if self.lost:
            raise DeviceLost(self.lost)
        self._inside.task = True
        try:
            with cupy.cuda.Device(self.number), self.stream, cupy.cuda.using_allocator(self.memory.allocate):
                yield
        except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
            if error.status == _NO_MEMORY:
                raise MemoryError(f"{error}, with {self.memory.held():,} bytes held") from error
            self.lost = f"GPU {self.number} failed and is lost to this process, which must end: {error}"
            raise DeviceLost(self.lost) from error
        finally:
            self._inside.task = False

    def count(self, operation: str, **amounts: int) -> None:
        """Add to the usage of an operation."""
        with self._lock:
            usage = self.usage.setdefault(operation, Usage())
            for name, amount in amounts.items():
                setattr(usage, name, getattr(usage, name) + amount)

    def _host(self, operation: str, array: cupy.ndarray) -> np.ndarray:
        """An operation's result on the host; waits for it."""
        self.count(operation, downloaded=array.nbytes)
        return array.get()

    def synchronize(self) -> None:
        """Wait for all that is enqueued."""
        self.stream.synchronize()

    @_operation
    def load(self, columns: np.ndarray | cupy.ndarray) -> cupy.ndarray:
        """Columns that are on the device already stay where they are."""
        if isinstance(columns, cupy.ndarray):
            return columns
        self.count("load", uploaded=columns.nbytes)
        return self.staging.upload(np.ascontiguousarray(columns), self.stream)

    # Round 0: traces.

    def split_rows(self, function: Callable[[int, int], None], rows: int) -> None:
        function(0, rows)

    @_operation
    def fill_lanes(self, cells: Sequence[Cell], lanes: Lanes) -> None:
        lanes_.fill_lanes(cells, lanes)

    @_operation
    def inverse(self, words: cupy.ndarray) -> cupy.ndarray:
        return inverse.inverse_or_zero(words)

    @_operation
    def count_keys(self, main: cupy.ndarray, keys: np.ndarray, terms: np.ndarray, counts: cupy.ndarray) -> None:
        counting.count_keys(main, keys, terms, counts)

    # Rounds 1 to 3: extensions and trees.

    @_operation
    def extend(self, matrices: Sequence[cupy.ndarray], log_blowup: int) -> list[cupy.ndarray]:
        return ntt.coset_ldes(matrices, [0] * len(matrices), log_blowup, GENERATOR, bit_reversed_source=False)

    @_operation
    def extend_chunks(
        self, quotients: Sequence[cupy.ndarray], log_chunks: Sequence[int], log_blowup: int
    ) -> list[cupy.ndarray]:
        return ntt.coset_ldes(quotients, log_chunks, log_blowup, 1, bit_reversed_source=True)

    @_operation
    def merkle_tree(self, matrices: Sequence[cupy.ndarray], cap_height: int) -> Tree:
        groups: dict[int, list[cupy.ndarray]] = {}
        for each in matrices:
            groups.setdefault(each.shape[1], []).append(each)
        layers = merkle.allocate(max(groups), cap_height)
        joining = {}
        for size, group in groups.items():
            digests = layers[0] if size == len(layers[0]) else cupy.empty((size, 4), dtype=np.uint64)
            keccak.hash_rows(group, digests)
            joining[size] = digests
        merkle.build(layers, joining)
        return Tree(layers)

    @_operation
    def fold_tree(self, codeword: cupy.ndarray, log_arity: int, cap_height: int) -> Tree:
        layers = merkle.allocate(codeword.shape[1] >> log_arity, cap_height)
        keccak.hash_groups(codeword, 1 << log_arity, layers[0])
        merkle.build(layers, {})
        return Tree(layers)

    @_operation
    def cap(self, tree: Tree) -> tuple[bytes, ...]:
        return _each_digest(self._host("cap", tree.layers[-1]))

    @_operation
    def gather(
        self, blocks: Sequence[Sequence[tuple[cupy.ndarray, np.ndarray]]], digests: Sequence[tuple[Tree, np.ndarray]]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        buffer, shapes = gather.gather(blocks, [(tree.layers, numbers) for tree, numbers in digests])
        ends = np.cumsum([rows * columns for rows, columns in shapes])
        words = np.split(self._host("gather", buffer), ends)
        arrays = [each.reshape(shape) for each, shape in zip(words, shapes, strict=False)]
        return arrays[: len(blocks)], arrays[len(blocks) :]

    # Rounds 2 and 3: lookups and quotients.

    @_operation
    def lookup_columns(self, tables: Sequence[Operands], beta: Ext) -> list[tuple[cupy.ndarray, Ext]]:
        self.count("lookup_columns", downloaded=_EXT * len(tables))
        return logup.lookup_columns(tables, beta)

    @_operation
    def quotient(self, tables: Sequence[Operands], beta: Ext, alpha: Ext, log_blowup: int) -> list[cupy.ndarray]:
        return program.quotient(tables, beta, alpha, log_blowup)

    # Rounds 4 and 5: openings.

    @_operation
    def interpolation_weights(self, domains: Sequence[tuple[int, Ext]]) -> list[cupy.ndarray]:
        return opening.interpolation_weights(domains)

    @_operation
    def evaluate(
        self, matrices: Sequence[cupy.ndarray], weights: Sequence[Sequence[cupy.ndarray]]
    ) -> list[list[np.ndarray]]:
        values = sum(len(points) * len(matrix) for matrix, points in zip(matrices, weights, strict=True))
        self.count("evaluate", downloaded=_EXT * values)
        return opening.evaluate(matrices, weights)

    @_operation
    def inverse_denominators(self, domains: Sequence[tuple[int, Ext]]) -> list[cupy.ndarray]:
        return deep.inverse_denominators(domains)

    @_operation
    def reduced_openings(self, heights: Sequence[Height], alpha: Ext) -> list[cupy.ndarray]:
        return deep.reduced_openings(heights, alpha)

    @_operation
    def sum(self, vectors: Sequence[cupy.ndarray]) -> cupy.ndarray:
        return deep.sum(vectors) if len(vectors) > 1 else vectors[0]

    # Round 6: FRI.

    @_operation
    def fold(self, codeword: cupy.ndarray, log_arity: int, beta: Ext, joining: cupy.ndarray | None) -> cupy.ndarray:
        return fri.fold(codeword, log_arity, beta, joining)

    @_operation
    def final_polynomial(self, codeword: cupy.ndarray, log_length: int) -> tuple[Ext, ...]:
        self.count("final_polynomial", downloaded=_EXT << log_length)
        return fri.final_polynomial(codeword, log_length)

    @_operation
    def grind(self, seed: bytes, bits: int) -> int:
        return grind.grind(np.frombuffer(seed, dtype="<u8").astype(np.uint64), bits) if bits else 0


def _each_digest(digests: np.ndarray) -> tuple[bytes, ...]:
    joined = digests.tobytes()
    return tuple(joined[first : first + 32] for first in range(0, len(joined), 32))


@lru_cache
def device(number: int) -> CudaDevice:
    """The process's device of this number."""
    return CudaDevice(number)
