"""The CPU: compiled kernels on ranges of columns or rows, split over a budget of threads."""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache

import numpy as np

from graphprover.air.description import AirDescription
from graphprover.air.program import Program, constants, lookup_program, quotient_program
from graphprover.device.interface import CPU_BATCH, Tree
from graphprover.device.threads import Threads
from graphprover.field import GENERATOR, ZERO, Ext, P, root_of_unity
from graphprover.kernels.cpu import (
    counting,
    deep,
    domain,
    fri,
    grind,
    inverse,
    keccak,
    logup,
    merkle,
    ntt,
    opening,
    program,
)
from graphprover.kernels.cpu import lanes as lanes_
from graphprover.kernels.lanes import Cell, Lanes
from graphprover.kernels.operands import Height, Operands

LEAST_ROWS, MOST_ROWS = 1 << 10, 1 << 13  # of a piece: enough to hide the call, few enough for a cache
PIECES = 8  # for each thread at least, so that a thread that is held up holds up little
COLUMNS = 16  # columns of a piece where each piece first prepares as much as that for itself
GRIND = 1 << 14  # nonces of a piece
COUNTED = 1 << 20  # keys of a piece, which has counts of its own
MIN_COUNTED = 64  # rows


def available_threads() -> int:
    """The cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class CpuDevice:
    """Implements `graphprover.device.Device` on NumPy arrays.

    In a cluster a device travels as its number of threads; each process keeps one device for each number.
    """

    log_batch_rows = CPU_BATCH
    arrays = np

    def __init__(self, threads: int | None = None) -> None:
        """``threads``: how many to use, all available cores by default."""
        self.threads = threads or available_threads()
        self._threads = Threads(self.threads)

    def __repr__(self) -> str:
        return f"CpuDevice({self.threads})"

    def __reduce__(self) -> tuple[Callable[[int], "CpuDevice"], tuple[int]]:
        return _device, (self.threads,)

    @property
    def maker(self) -> "CpuDevice":
        return self

    def task(self) -> AbstractContextManager[None]:
        return self._threads.task()

    def load(self, columns: np.ndarray) -> np.ndarray:
        return columns

    def split_rows(self, function: Callable[[int, int], None], rows: int) -> None:
        piece = 1 << max(rows // (PIECES * self.threads), 1).bit_length() - 1
        self._threads.split(function, rows, min(max(piece, LEAST_ROWS), MOST_ROWS))

    # Round 0: traces.

    def fill_lanes(self, cells: Sequence[Cell], lanes: Lanes) -> None:
        self.split_rows(lanes_.fill_lanes(cells, lanes), len(lanes.cycles))

    def inverse(self, words: np.ndarray) -> np.ndarray:
        return inverse.inverse_or_zero(words)

    def count_keys(self, main: np.ndarray, keys: np.ndarray, terms: np.ndarray, counts: np.ndarray) -> None:
        height = main.shape[1]
        piece = max(COUNTED // max(len(keys), 1) // MIN_COUNTED, 1) * MIN_COUNTED
        if height <= piece:
            counting.count_keys(main, keys, terms, counts, 0, height)
            return
        lock = threading.Lock()

        def rows(first: int, last: int) -> None:
            own = np.zeros_like(counts)
            counting.count_keys(main, keys, terms, own, first, last)
            with lock:
                np.add(counts, own, out=counts)

        self._threads.split(rows, height, piece)

    # Rounds 1 to 3: extensions and trees.

    def extend(self, matrices: Sequence[np.ndarray], log_blowup: int) -> list[np.ndarray]:
        return [self._extend(columns, log_blowup, 1, GENERATOR, bit_reversed=False) for columns in matrices]

    def extend_chunks(
        self, quotients: Sequence[np.ndarray], log_chunks: Sequence[int], log_blowup: int
    ) -> list[np.ndarray]:
        return [self._extend_chunks(*each, log_blowup) for each in zip(quotients, log_chunks, strict=True)]

    def _extend_chunks(self, quotient: np.ndarray, log_chunks: int, log_blowup: int) -> np.ndarray:
        size = quotient.shape[1]
        height = size >> log_chunks
        generator = root_of_unity(size.bit_length() - 1)
        target = np.empty((3 << log_chunks, height << log_blowup), dtype=np.uint64)
        # In bit-reversed order chunk rev(t) is the t-th run of rows.
        for run in range(1 << log_chunks):
            chunk = int(format(run, f"0{log_chunks}b")[::-1], 2) if log_chunks else 0
            values = np.ascontiguousarray(quotient[:, run * height : (run + 1) * height])
            shift = GENERATOR * pow(generator, chunk, P) % P
            self._extend(values, log_blowup, shift, GENERATOR, True, target[3 * chunk : 3 * chunk + 3])
        return target

    def _extend(
        self,
        source: np.ndarray,
        log_blowup: int,
        source_shift: int,
        target_shift: int,
        bit_reversed: bool,
        target: np.ndarray | None = None,
    ) -> np.ndarray:
        if target is None:
            target = np.empty((source.shape[0], source.shape[1] << log_blowup), dtype=np.uint64)
        to = target

        def columns(first: int, last: int) -> None:
            ntt.coset_lde(source, to, log_blowup, source_shift, target_shift, bit_reversed, first, last)

        self._threads.split(columns, source.shape[0], max(1, MOST_ROWS // source.shape[1]))
        return target

    def merkle_tree(self, matrices: Sequence[np.ndarray], cap_height: int) -> Tree:
        def leaves(size: int) -> np.ndarray | None:
            group = [each for each in matrices if each.shape[1] == size]
            if not group:
                return None
            digests = np.empty((size, 4), dtype=np.uint64)
            self.split_rows(lambda first, last: keccak.hash_rows(group, digests, first, last), size)
            return digests

        size = max(each.shape[1] for each in matrices)
        bottom = leaves(size)
        assert bottom is not None
        return self._tree(bottom, cap_height, leaves)

    def fold_tree(self, codeword: np.ndarray, log_arity: int, cap_height: int) -> Tree:
        size = codeword.shape[1] >> log_arity
        digests = np.empty((size, 4), dtype=np.uint64)
        hashed = lambda first, last: keccak.hash_groups(codeword, 1 << log_arity, digests, first, last)  # noqa: E731
        self.split_rows(hashed, size)
        return self._tree(digests, cap_height, lambda size: None)

    def _tree(self, bottom: np.ndarray, cap_height: int, joining: Callable[[int], np.ndarray | None]) -> Tree:
        """The layers above the leaves; ``joining`` gives the row digests that join a layer of a size."""
        layers = [bottom]
        while len(layers[-1]) > min(1 << cap_height, len(bottom)):
            below, size = layers[-1], len(layers[-1]) // 2
            layer = np.empty((size, 4), dtype=np.uint64)
            joined = joining(size)
            if joined is None:
                self.split_rows(_compressing(below, layer), size)
            else:
                self.split_rows(_injecting(below, joined, layer), size)
            layers.append(layer)
        return Tree(tuple(layers))

    def cap(self, tree: Tree) -> tuple[bytes, ...]:
        return tuple(digest.tobytes() for digest in tree.layers[-1])

    def gather(
        self, blocks: Sequence[Sequence[tuple[np.ndarray, np.ndarray]]], digests: Sequence[tuple[Tree, np.ndarray]]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        rows = [np.concatenate([matrix.T[indices] for matrix, indices in block], axis=1) for block in blocks]
        return rows, [_nodes(tree, numbers) for tree, numbers in digests]

    # Rounds 2 and 3: lookups and quotients.

    def lookup_columns(self, tables: Sequence[Operands], beta: Ext) -> list[tuple[np.ndarray, Ext]]:
        return [self._lookup_columns(table, beta) for table in tables]

    def _lookup_columns(self, table: Operands, beta: Ext) -> tuple[np.ndarray, Ext]:
        rows = table.main.shape[1]
        code = _lookup_program(table.air)
        words = constants(code, table.public_values, table.prefixes, beta)
        groups = [len(lookup.tuples) for lookup in table.air.lookups]
        matrices = (table.main, table.preprocessed, None, domain.indicators(rows))
        columns = np.empty((3 * (len(groups) + 1), rows), dtype=np.uint64)

        def fractions(first: int, last: int) -> None:
            denominators = np.empty((3 * sum(groups), last - first), dtype=np.uint64)
            multiplicities = np.empty((sum(groups), last - first), dtype=np.uint64)
            targets = (denominators, multiplicities)
            program.evaluate(code, words, matrices, targets, rows.bit_length() - 1, False, first, last, first)
            logup.fractions(denominators, multiplicities, groups, columns, first, last, first)

        self.split_rows(fractions, rows)
        return columns, logup.accumulate(columns)

    def quotient(self, tables: Sequence[Operands], beta: Ext, alpha: Ext, log_blowup: int) -> list[np.ndarray]:
        return [self._quotient(table, beta, alpha, log_blowup) for table in tables]

    def _quotient(self, table: Operands, beta: Ext, alpha: Ext, log_blowup: int) -> np.ndarray:
        log_rows = table.main.shape[1].bit_length() - 1 - log_blowup
        log_chunks = table.air.log_quotient_chunks
        code = _quotient_program(table.air)
        words = constants(code, table.public_values, table.prefixes, beta, alpha, table.terminal or ZERO)
        inputs = [table.main, table.preprocessed, table.permutation]
        if log_chunks > log_blowup:
            inputs = [each if each is None else self._extend_again(each, log_rows, log_chunks) for each in inputs]
        matrices = (*inputs, _selectors(log_rows, log_chunks))
        quotient = np.empty((3, 1 << (log_rows + log_chunks)), dtype=np.uint64)

        def rows(first: int, last: int) -> None:
            program.evaluate(code, words, matrices, (quotient,), log_rows, True, first, last)

        self.split_rows(rows, quotient.shape[1])
        return quotient

    def _extend_again(self, extension: np.ndarray, log_rows: int, log_chunks: int) -> np.ndarray:
        """A quotient domain larger than the extension: its first n rows, extended to it."""
        values = np.ascontiguousarray(extension[:, : 1 << log_rows])
        return self._extend(values, log_chunks, GENERATOR, GENERATOR, bit_reversed=True)

    # Rounds 4 and 5: openings.

    def interpolation_weights(self, domains: Sequence[tuple[int, Ext]]) -> list[np.ndarray]:
        return [opening.weights(*each) for each in domains]

    def evaluate(
        self, matrices: Sequence[np.ndarray], weights: Sequence[Sequence[np.ndarray]]
    ) -> list[list[np.ndarray]]:
        return [self._evaluate(*each) for each in zip(matrices, weights, strict=True)]

    def _evaluate(self, matrix: np.ndarray, weights: Sequence[np.ndarray]) -> list[np.ndarray]:
        target = np.empty((len(weights), 3, matrix.shape[0]), dtype=np.uint64)

        def columns(first: int, last: int) -> None:
            opening.evaluate(matrix, weights, target, first, last)

        self._threads.split(columns, matrix.shape[0], COLUMNS)
        return [point.T for point in target]

    def inverse_denominators(self, domains: Sequence[tuple[int, Ext]]) -> list[np.ndarray]:
        return [self._inverse_denominators(*each) for each in domains]

    def _inverse_denominators(self, log_rows: int, point: Ext) -> np.ndarray:
        target = np.empty((3, 1 << log_rows), dtype=np.uint64)
        xs = _points(log_rows)
        self.split_rows(lambda first, last: deep.inverse_denominators(xs, point, target, first, last), 1 << log_rows)
        return target

    def reduced_openings(self, heights: Sequence[Height], alpha: Ext) -> list[np.ndarray]:
        return [self._reduced_opening(height, alpha) for height in heights]

    def _reduced_opening(self, height: Height, alpha: Ext) -> np.ndarray:
        target = np.zeros((3, height.matrices[0].shape[1]), dtype=np.uint64)

        def rows(first: int, last: int) -> None:
            for matrix, opened, offset in zip(height.matrices, height.values, height.offsets, strict=True):
                deep.add_reduced_opening(matrix, opened, offset, alpha, height.inverses, target, first, last)

        self.split_rows(rows, target.shape[1])
        return target

    def sum(self, vectors: Sequence[np.ndarray]) -> np.ndarray:
        total = vectors[0]
        for each in vectors[1:]:
            total = deep.add(total, each)
        return total

    # Round 6: FRI.

    def fold(self, codeword: np.ndarray, log_arity: int, beta: Ext, joining: np.ndarray | None) -> np.ndarray:
        target = np.empty((3, codeword.shape[1] >> log_arity), dtype=np.uint64)
        factors = _fold_factors(codeword.shape[1].bit_length() - 1)
        self.split_rows(
            lambda first, last: fri.fold(codeword, log_arity, beta, factors, joining, target, first, last),
            target.shape[1],
        )
        return target

    def final_polynomial(self, codeword: np.ndarray, log_length: int) -> tuple[Ext, ...]:
        return fri.final_polynomial(codeword, log_length)

    def grind(self, seed: bytes, bits: int) -> int:
        if bits == 0:
            return 0
        words = np.frombuffer(seed, dtype="<u8").astype(np.uint64)
        start = 0
        while True:
            # The smallest nonce of a round of pieces is the smallest of all: earlier rounds had none.
            found: list[int] = []
            stop = start + GRIND * self.threads

            def nonces(first: int, last: int, start: int = start, found: list[int] = found) -> None:
                nonce = grind.grind(words, bits, start + first, start + last)
                if nonce >= 0:
                    found.append(nonce)

            self._threads.split(nonces, stop - start, GRIND)
            if found:
                return min(found)
            start = stop


@lru_cache
def _device(threads: int) -> CpuDevice:
    return CpuDevice(threads)


# What depends on sizes or on a table's description alone is kept for the process's life.


@lru_cache(maxsize=256)
def _lookup_program(air: AirDescription) -> Program:
    return lookup_program(air)


@lru_cache(maxsize=256)
def _quotient_program(air: AirDescription) -> Program:
    return quotient_program(air)


@lru_cache(maxsize=8)
def _selectors(log_rows: int, log_chunks: int) -> np.ndarray:
    return domain.selectors(log_rows, log_chunks)


@lru_cache(maxsize=8)
def _points(log_rows: int) -> np.ndarray:
    return domain.points(log_rows)


@lru_cache(maxsize=8)
def _fold_factors(log_rows: int) -> np.ndarray:
    return domain.fold_factors(log_rows)


def _compressing(below: np.ndarray, layer: np.ndarray) -> Callable[[int, int], None]:
    return lambda first, last: merkle.compress(below, layer, first, last)


def _injecting(below: np.ndarray, joined: np.ndarray, layer: np.ndarray) -> Callable[[int, int], None]:
    return lambda first, last: merkle.inject(below, joined, layer, first, last)


def _nodes(tree: Tree, numbers: np.ndarray) -> np.ndarray:
    """The nodes of these numbers, (numbers, 4)."""
    leaves, cap = len(tree.layers[0]), len(tree.layers[-1])
    if len(numbers) and not cap <= numbers.min() <= numbers.max() < 2 * leaves:
        raise IndexError(f"a node outside a tree of {leaves} leaves")
    target = np.empty((len(numbers), 4), dtype=np.uint64)
    bits = np.frexp(numbers)[1]
    for layer in tree.layers:
        here = np.flatnonzero(bits == len(layer).bit_length())
        target[here] = layer[numbers[here] - len(layer)]
    return target
