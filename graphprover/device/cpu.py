"""The CPU: compiled kernels on ranges of columns or rows, split over a budget of threads."""

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial, wraps
from typing import Any

import numpy as np

from graphprover.air.description import AirDescription
from graphprover.device.host_memory import HostMemory
from graphprover.device.host_processor import available_threads
from graphprover.device.interface import CPU_BATCH, Reading, Repeat, Tree
from graphprover.device.threads import Threads
from graphprover.field import GENERATOR, Ext
from graphprover.kernels.cpu import (
    deep,
    fri,
    gather,
    grind,
    inverse,
    logup,
    merkle,
    ntt,
    opening,
    pages,
    parallel,
    quotient,
)
from graphprover.kernels.cpu.hashes import KERNELS
from graphprover.kernels.operands import Height, Operands, Unextended
from graphprover.protocol.digests import DIGEST_WORDS


def _operation(method: Callable[..., Any]) -> Callable[..., Any]:
    """Count the time of a method as device time."""

    @wraps(method)
    def run(self: "CpuDevice", *arguments: Any) -> Any:
        inside = self._inside
        if inside.operation:
            return method(self, *arguments)
        inside.operation, started = True, time.perf_counter()
        try:
            return method(self, *arguments)
        finally:
            inside.operation = False
            inside.seconds += time.perf_counter() - started

    return run


class _Inside(threading.local):
    """The state of a thread."""

    operation = False  # whether it is inside an operation
    seconds = 0.0  # spent inside operations


class CpuDevice:
    """An implementation of `graphprover.device.Device` with NumPy arrays.

    Pickled as its number of threads; each process has one device for each number.
    """

    kind = "cpu"
    log_batch_rows = CPU_BATCH
    arrays = np
    model = None
    memory = HostMemory()

    def __init__(self, threads: int | None = None) -> None:
        """Create a device with ``threads`` threads; by default one for each available core."""
        self.threads = threads or available_threads()
        self._threads = Threads(self.threads)
        self._inside = _Inside()

    def __repr__(self) -> str:
        return f"CpuDevice({self.threads})"

    def __reduce__(self) -> tuple[Callable[[int], "CpuDevice"], tuple[int]]:
        return _device, (self.threads,)

    def task(self) -> AbstractContextManager[None]:
        return self._threads.task()

    def reading(self) -> Reading:
        return Reading(waited=self._inside.seconds)

    def stamp(self) -> float:
        return time.perf_counter()

    def spans(self, tasks: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        return list(tasks)

    def profiled(self, name: str) -> AbstractContextManager[None]:
        return nullcontext()

    def expect(self, tables: Iterable[AirDescription], *, guess: bool = False) -> None:
        """Do nothing: no CPU kernel depends on a table."""

    def load(self, columns: np.ndarray) -> np.ndarray:
        return columns

    def constant(self, array: np.ndarray) -> np.ndarray:
        return array

    def constant_all(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        return list(arrays)

    def load_all(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        return list(arrays)

    def room(self, columns: int, rows: int) -> np.ndarray:
        return pages.empty((columns, rows))

    def fetch(self, words: np.ndarray) -> np.ndarray:
        return words

    def mark(self) -> None:
        """Return None: arrays are computed once they exist."""

    def to_host(self, arrays: Sequence[np.ndarray], mark: None) -> list[np.ndarray]:
        return list(arrays)

    def place(self, columns: np.ndarray) -> np.ndarray:
        return columns

    def repeating(self, shape: Hashable, peak: int) -> AbstractContextManager[Repeat]:
        return nullcontext(Repeat())

    @_operation
    def split_rows(self, function: Callable[[int, int], None], rows: int) -> None:
        parallel.split_rows(self._threads, function, rows)

    # Round 0: traces.

    @_operation
    def inverse(self, words: np.ndarray) -> np.ndarray:
        return inverse.inverse_or_zero(words)

    # Rounds 1 to 3: extensions and trees.

    @_operation
    def extend(self, matrices: Sequence[np.ndarray], log_blowup: int) -> list[np.ndarray]:
        whole = [0] * len(matrices)
        return ntt.coset_ldes(self._threads, matrices, whole, log_blowup, GENERATOR, bit_reversed_source=False)

    @_operation
    def extend_chunks(
        self, quotients: Sequence[np.ndarray], log_chunks: Sequence[int], log_blowup: int
    ) -> list[np.ndarray]:
        return ntt.coset_ldes(self._threads, quotients, log_chunks, log_blowup, 1, bit_reversed_source=True)

    @_operation
    def merkle_tree(self, matrices: Sequence[np.ndarray | Unextended], cap_height: int, hash: str) -> Tree:
        return Tree(merkle.tree(self._threads, matrices, cap_height, hash))

    @_operation
    def row_digests(self, matrices: Sequence[np.ndarray], hash: str) -> np.ndarray:
        """Return the digests, uint64 (n, 4), of the rows of matrices (columns, n) side by side."""
        digests = pages.empty((matrices[0].shape[1], DIGEST_WORDS))
        parallel.split_rows(self._threads, partial(KERNELS[hash].hash_rows, matrices, digests), len(digests))
        return digests

    @_operation
    def parents(self, layer: np.ndarray, joining: np.ndarray | None, hash: str) -> np.ndarray:
        """Return the layer above one of a tree, (n, 4), of which each node is hashed once more with its digest of
        ``joining``.
        """
        above = pages.empty((len(layer) // 2, DIGEST_WORDS))
        merkle.build(self._threads, (layer, above), {} if joining is None else {len(above): joining}, hash)
        return above

    @_operation
    def fold_tree(self, codeword: np.ndarray, log_arity: int, cap_height: int, hash: str) -> Tree:
        return Tree(merkle.fold_tree(self._threads, codeword, log_arity, cap_height, hash))

    @_operation
    def cap(self, tree: Tree) -> tuple[bytes, ...]:
        return tuple(digest.tobytes() for digest in tree.layers[-1])

    @_operation
    def gather(
        self,
        blocks: Sequence[Sequence[tuple[np.ndarray | Unextended, np.ndarray]]],
        digests: Sequence[tuple[Tree, np.ndarray]],
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        return gather.gather(self._threads, blocks, [(tree.layers, numbers) for tree, numbers in digests])

    # Rounds 2 and 3: lookups and quotients.

    @_operation
    def lookup_columns(self, tables: Sequence[Operands], tau: Ext) -> list[tuple[np.ndarray, Ext]]:
        return logup.lookup_columns(self._threads, tables, tau)

    @_operation
    def quotient(self, tables: Sequence[Operands], tau: Ext, alpha: Ext, log_blowup: int) -> list[np.ndarray]:
        return quotient.quotient(self._threads, tables, tau, alpha, log_blowup)

    # Rounds 4 and 5: openings.

    @_operation
    def interpolation_weights(self, domains: Sequence[tuple[int, Ext]]) -> list[np.ndarray]:
        return opening.interpolation_weights(domains)

    @_operation
    def natural_weights(self, domains: Sequence[tuple[int, Ext]]) -> list[np.ndarray]:
        return opening.natural_weights(domains)

    @_operation
    def evaluate(
        self, matrices: Sequence[np.ndarray], weights: Sequence[Sequence[np.ndarray]]
    ) -> list[list[np.ndarray]]:
        return opening.evaluate(self._threads, matrices, weights)

    @_operation
    def inverse_denominators(self, domains: Sequence[tuple[int, Ext]]) -> list[np.ndarray]:
        return deep.inverse_denominators(self._threads, domains)

    @_operation
    def reduced_openings(self, heights: Sequence[Height], gamma: Ext) -> list[np.ndarray]:
        return deep.reduced_openings(self._threads, heights, gamma)

    @_operation
    def reduced_traces(self, heights: Sequence[Height], gamma: Ext) -> list[np.ndarray]:
        return deep.reduced_traces(self._threads, heights, gamma)

    @_operation
    def sum_vectors(self, vectors: Sequence[np.ndarray]) -> np.ndarray:
        return deep.sum_vectors(vectors)

    # Round 6: FRI.

    @_operation
    def fold(self, codeword: np.ndarray, log_arity: int, beta: Ext, joining: np.ndarray | None) -> np.ndarray:
        return fri.fold(self._threads, codeword, log_arity, beta, joining)

    @_operation
    def final_polynomial(self, codeword: np.ndarray, log_length: int) -> tuple[Ext, ...]:
        return fri.final_polynomial(codeword, log_length)

    @_operation
    def grind(self, seed: bytes, bits: int, hash: str) -> int:
        return grind.grind(self._threads, seed, bits, hash)


@lru_cache
def _device(threads: int) -> CpuDevice:
    return CpuDevice(threads)
