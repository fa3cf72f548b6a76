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

from graphprover.air.description import AirDescription
from graphprover.air.program import Program, constants, lookup_program, quotient_program
from graphprover.device.interface import Tree
from graphprover.field import GENERATOR, ZERO, Ext, P, inv
from graphprover.kernels.cuda import deep, fri, grind, inverse, keccak, logup, merkle, module, ntt, opening, program
from graphprover.kernels.cuda.memory import Pool, Staging


@dataclass
class Usage:
    """What one operation has cost since a measurement began."""

    calls: int = 0
    launches: int = 0  # of our kernels


def _operation(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method on the device's own memory and stream, counted."""

    @wraps(method)
    def run(self: "CudaDevice", *arguments: Any, **named: Any) -> Any:
        with self.task():
            before = module.launched()
            result = method(self, *arguments, **named)
            with self._lock:
                usage = self.usage.setdefault(method.__name__, Usage())
                usage.calls += 1
                usage.launches += module.launched() - before
        return result

    return run


class CudaDevice:
    """Implements `graphprover.device.Device` on CuPy arrays.

    In a cluster a device travels as its number; each process keeps one device, with one stream and one pool of memory,
    for each number. Raises cupy.cuda.runtime.CUDARuntimeError where there is no such device.
    """

    threads = 1  # one thread keeps a device busy: more would wait for each other's Python

    def __init__(self, number: int = 0) -> None:
        self.number = number
        with cupy.cuda.Device(number):
            self.stream = cupy.cuda.Stream(non_blocking=True)
            self.memory = Pool(number)
            self.staging = Staging()
        self.usage: dict[str, Usage] = {}  # by operation
        self._lock = threading.Lock()
        self._inside = threading.local()

    def __reduce__(self) -> tuple[Callable[[int], "CudaDevice"], tuple[int]]:
        return device, (self.number,)

    @contextmanager
    def task(self) -> Iterator[None]:
        """Make CuPy use this device, its stream and its memory; inside another task, nothing."""
        if getattr(self._inside, "task", False):
            yield
            return
        self._inside.task = True
        try:
            with cupy.cuda.Device(self.number), self.stream, cupy.cuda.using_allocator(self.memory.allocate):
                yield
        finally:
            self._inside.task = False

    def synchronize(self) -> None:
        """Wait for all that is enqueued."""
        self.stream.synchronize()

    @_operation
    def load(self, columns: np.ndarray | cupy.ndarray) -> cupy.ndarray:
        """Columns that are on the device already stay where they are."""
        if isinstance(columns, cupy.ndarray):
            return columns
        return self.staging.upload(np.ascontiguousarray(columns, dtype=np.uint64), self.stream)

    # Rounds 1 to 3: extensions and trees.

    @_operation
    def extend(self, columns: cupy.ndarray, log_blowup: int) -> cupy.ndarray:
        return ntt.coset_lde(columns, 0, log_blowup, GENERATOR, bit_reversed_source=False)

    @_operation
    def extend_chunks(self, quotient: cupy.ndarray, log_chunks: int, log_blowup: int) -> cupy.ndarray:
        return ntt.coset_lde(quotient, log_chunks, log_blowup, 1, bit_reversed_source=True)

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
        return tuple(digest.tobytes() for digest in tree.layers[-1].get())

    @_operation
    def digests(self, tree: Tree, nodes: Sequence[Sequence[int]]) -> tuple[bytes, ...]:
        return tuple(digest.tobytes() for digest in merkle.gather_digests(tree.layers, nodes))

    @_operation
    def rows(self, matrix: cupy.ndarray, indices: Sequence[int]) -> np.ndarray:
        return merkle.gather_rows(matrix, indices)

    @_operation
    def group_rows(self, codeword: cupy.ndarray, log_arity: int, indices: Sequence[int]) -> np.ndarray:
        elements = (np.asarray(indices, dtype=np.int64)[:, None] << log_arity) + np.arange(1 << log_arity)
        return merkle.gather_rows(codeword, elements.reshape(-1)).reshape(len(indices), -1)

    # Rounds 2 and 3: lookups and quotients.

    @_operation
    def lookup_columns(
        self,
        air: AirDescription,
        main: cupy.ndarray,
        preprocessed: cupy.ndarray | None,
        public_values: Sequence[int],
        prefixes: Sequence[Ext],
        beta: Ext,
    ) -> tuple[cupy.ndarray, Ext]:
        code = _lookup_program(air)
        words = constants(code, public_values, prefixes, beta)
        groups = tuple(len(lookup.tuples) for lookup in air.lookups)
        first_zero = inverse.no_zero()
        columns, total = logup.lookup_columns(code, words, groups, main, preprocessed, first_zero)
        inverse.raise_for_zero(first_zero, f"table {air.name}: a denominator of row")
        return columns, _ext(total.get())

    @_operation
    def quotient(
        self,
        air: AirDescription,
        main: cupy.ndarray,
        preprocessed: cupy.ndarray | None,
        permutation: cupy.ndarray | None,
        public_values: Sequence[int],
        prefixes: Sequence[Ext],
        beta: Ext,
        alpha: Ext,
        terminal: Ext | None,
        log_blowup: int,
    ) -> cupy.ndarray:
        log_rows = main.shape[1].bit_length() - 1 - log_blowup
        log_chunks = air.log_quotient_chunks
        code = _quotient_program(air)
        words = constants(code, public_values, prefixes, beta, alpha, terminal or ZERO)
        inputs = [main, preprocessed, permutation]
        if log_chunks > log_blowup:  # a quotient domain larger than the extension
            inputs = [
                each
                if each is None
                else ntt.coset_lde(each[:, : 1 << log_rows], 0, log_chunks, 1, bit_reversed_source=True)
                for each in inputs
            ]
        return program.quotient(code, words, *inputs, log_rows, log_chunks)

    # Rounds 4 and 5: openings.

    @_operation
    def interpolation_weights(self, log_height: int, point: Ext) -> cupy.ndarray:
        _check_outside(log_height, point)
        return opening.weights(log_height, point, inverse.no_zero())

    @_operation
    def evaluate(self, matrix: cupy.ndarray, weights: Sequence[cupy.ndarray]) -> list[tuple[Ext, ...]]:
        return [tuple(map(_ext, point.T)) for point in opening.evaluate(matrix, weights).get()]

    @_operation
    def inverse_denominators(self, log_rows: int, point: Ext) -> cupy.ndarray:
        _check_outside(log_rows, point)
        return deep.inverse_denominators(log_rows, point, inverse.no_zero())

    @_operation
    def reduced_opening(
        self,
        matrices: Sequence[cupy.ndarray],
        values: Sequence[Sequence[Sequence[Ext]]],
        offsets: Sequence[int],
        alpha: Ext,
        inverses: Sequence[cupy.ndarray],
    ) -> cupy.ndarray:
        return deep.reduced_opening(matrices, values, offsets, alpha, inverses)

    @_operation
    def sum(self, vectors: Sequence[cupy.ndarray]) -> cupy.ndarray:
        return deep.sum_vectors(vectors) if len(vectors) > 1 else vectors[0]

    # Round 6: FRI.

    @_operation
    def fold(self, codeword: cupy.ndarray, log_arity: int, beta: Ext, joining: cupy.ndarray | None) -> cupy.ndarray:
        return fri.fold(codeword, log_arity, beta, joining)

    @_operation
    def final_polynomial(self, codeword: cupy.ndarray, log_length: int) -> tuple[Ext, ...]:
        return fri.final_polynomial(codeword, log_length)

    @_operation
    def grind(self, seed: bytes, bits: int) -> int:
        return grind.grind(np.frombuffer(seed, dtype="<u8").astype(np.uint64), bits) if bits else 0


def _ext(words: np.ndarray) -> Ext:
    a, b, c = words.tolist()
    return a, b, c


def _check_outside(log_size: int, point: Ext) -> None:
    """Raises ZeroDivisionError for a point of 7 K, K of order 2^log_size, which only chance can draw."""
    if point[1:] == (0, 0) and pow(point[0] * inv(GENERATOR), 1 << log_size, P) == 1:
        raise ZeroDivisionError(f"{point[0]} is a point of the domain of 2^{log_size}")


# What depends on a table's description alone is kept for the process's life.


@lru_cache(maxsize=256)
def _lookup_program(air: AirDescription) -> Program:
    return lookup_program(air)


@lru_cache(maxsize=256)
def _quotient_program(air: AirDescription) -> Program:
    return quotient_program(air)


@lru_cache
def device(number: int) -> CudaDevice:
    """The process's device of this number."""
    return CudaDevice(number)
