"""What a round asks of a device: one set of operations, whatever they run on.

Matrices are uint64 of shape (columns, rows), one contiguous array a column, canonical words; extension vectors are
(3, rows), and an extension matrix has three rows of coordinates for each column. Low-degree extensions are over 7·K in
bit-reversed order, so that their first n rows are the coset 7·H. What comes to the host is NumPy's arrays and
integers.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from graphprover.air.description import AirDescription
from graphprover.field import Ext
from graphprover.kernels.operands import Array, Height, Operands

# log2 of the rows up to which a table goes through the rounds together with others: on the CPU where a task costs as
# much as the work in it, on a GPU where a table leaves most of it idle.
CPU_BATCH, CUDA_BATCH = 8, 18

CUDA_THREADS = 1  # one thread keeps a GPU busy: more would wait for each other's Python


class DeviceLost(RuntimeError):
    """A device failed and holds nothing any more; this process cannot use it again."""


@dataclass(frozen=True)
class Tree:
    """A Merkle tree below its cap."""

    layers: tuple[Array, ...]  # digests (n, 4) from the leaves to the cap

    def __sizeof__(self) -> int:
        """In bytes, as Dask counts them."""
        return sum(int(layer.nbytes) for layer in self.layers)


class Memory(Protocol):
    """Where the arrays of a device are."""

    identity: str  # the same in every process that has its arrays there
    keeps: bool  # what was freed stays with this process, until it is trimmed

    @property
    def total(self) -> int:
        """Bytes that there are, for all processes."""

    def held(self) -> int:
        """Bytes in use by this process: of the host's memory, for whatever."""

    @property
    def peak(self) -> int:
        """Bytes in use at most since `reset`, as far as was seen."""

    def reset(self) -> None:
        """Begin a new measurement of `peak`."""

    def reserved(self) -> int:
        """Bytes that this process keeps from others, in use or not; 0 where it keeps none."""

    def trim(self, keep: int = 0) -> None:
        """Give others what is not in use, but ``keep`` bytes in all."""


class Reading(NamedTuple):
    """What a device has done for the thread that reads."""

    launches: int = 0  # of kernels
    uploaded: int = 0  # bytes of traces that crossed the bus
    downloaded: int = 0  # bytes of results that crossed the bus
    waited: float = 0.0  # seconds in which Python did nothing but wait: for a GPU's results, for a CPU's kernels


class Device(Protocol):
    """Where arrays live and kernels run. What is asked for several tables at once comes back in their order."""

    kind: str  # "cpu" or "cuda": which twin of the machine's kernels is for it (vm/kernels)
    threads: int  # how many tasks it can run at once
    log_batch_rows: int  # CPU_BATCH or CUDA_BATCH

    @property
    def arrays(self) -> Any:
        """The module of its arrays: NumPy, or CuPy, which has the same functions."""

    @property
    def model(self) -> str | None:
        """What a GPU is called, for people; None for a CPU."""

    @property
    def memory(self) -> Memory:
        """Where they are."""

    def task(self) -> AbstractContextManager[None]:
        """Hold the resources of one task.

        What runs within raises MemoryError where the device has no memory left, DeviceLost where it has failed.
        """

    def reading(self) -> Reading:
        """What this thread has had the device do, inside of a task; waits for nothing."""

    def stamp(self) -> Any:
        """Where the device stands, inside of a task, for `spans`; waits for nothing."""

    def spans(self, tasks: Sequence[tuple[float, Any]]) -> list[tuple[float, float]]:
        """When the device came to each of these tasks and was done with it, by time.perf_counter; waits for the device.

        A task is when the host began it and the stamp after it, one behind the other as they were stamped. A stamp is
        for one question: the device uses it again.
        """

    def profiled(self, name: str) -> AbstractContextManager[None]:
        """A range of NVTX around what this thread enqueues within, for NVIDIA's profilers; on a CPU, nothing."""

    def expect(self, tables: Iterable[AirDescription], *, guess: bool = False) -> None:
        """Have what proofs about these tables run compiled meanwhile; a guess is dropped once it is known what they
        need. A CPU has nothing that belongs to a table."""

    def load(self, columns: np.ndarray) -> Array:
        """A host array on the device."""

    def fetch(self, words: Array) -> np.ndarray:
        """An array of the device on the host; waits for it."""

    def split_rows(self, function: Callable[[int, int], None], rows: int) -> None:
        """Call ``function(first, last)`` over all rows, in pieces that suit the device and, on a CPU, its caches.

        Pieces must write to disjoint places.
        """

    def inverse(self, words: Array) -> Array:
        """1/x for each word x (n,) below p, and 0 for 0."""

    def extend(self, matrices: Sequence[Array], log_blowup: int) -> list[Array]:
        """The extensions (w, n·2^log_blowup) of columns (w, n) given on H in natural order."""

    def extend_chunks(self, quotients: Sequence[Array], log_chunks: Sequence[int], log_blowup: int) -> list[Array]:
        """The extensions (3c, n·2^log_blowup) of the c chunks of each quotient (3, n·c), given on 7·K in bit-reversed
        order."""

    def merkle_tree(self, matrices: Sequence[Array], cap_height: int) -> Tree:
        """The tree over the rows of matrices of different heights, in commitment order."""

    def cap(self, tree: Tree) -> tuple[bytes, ...]:
        """The commitment."""

    def gather(
        self, blocks: Sequence[Sequence[tuple[Array, np.ndarray]]], digests: Sequence[tuple[Tree, np.ndarray]]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Rows of matrices and nodes of trees, all in one copy to the host.

        A block is matrices (w, n) with as many indices each: their rows there, side by side, (indices, all columns).
        Nodes are numbered as in a heap: the n of a layer from n on, and 2 i and 2 i + 1 are below i; (nodes, 4) for
        each tree. Raises IndexError for what is not there.
        """

    def lookup_columns(self, tables: Sequence[Operands], tau: Ext) -> list[tuple[Array, Ext]]:
        """The accumulator and fraction columns (3(k + 1), n) of each trace, and their terminal.

        Raises ZeroDivisionError for a denominator of zero; a CPU lets it pass where the multiplicity is 0.
        """

    def quotient(self, tables: Sequence[Operands], tau: Ext, alpha: Ext, log_blowup: int) -> list[Array]:
        """All constraints over the vanishing polynomial, (3, n·c) on 7·K in bit-reversed order, from extensions."""

    def interpolation_weights(self, domains: Sequence[tuple[int, Ext]]) -> list[Array]:
        """For each (log2 of n, point) the weights (3, n) that make values on 7·H, in bit-reversed order, that there."""

    def evaluate(self, matrices: Sequence[Array], weights: Sequence[Sequence[Array]]) -> list[list[np.ndarray]]:
        """For each matrix and each point's weights the value of every column there, from the first n rows.

        Words on the host, (columns, 3) for each point.
        """

    def inverse_denominators(self, domains: Sequence[tuple[int, Ext]]) -> list[Array]:
        """For each (log2 of N, point) 1/(point - x) for all x of 7·K, (3, N) in bit-reversed order."""

    def reduced_openings(self, heights: Sequence[Height], gamma: Ext) -> list[Array]:
        """For each height the sum over matrices, points z and columns p of gamma^k (p(z) - p(x)) / (z - x), (3, N)."""

    def sum_codewords(self, vectors: Sequence[Array]) -> Array:
        """The sum of extension vectors of one length."""

    def fold_tree(self, codeword: Array, log_arity: int, cap_height: int) -> Tree:
        """The tree whose leaves hash the groups of 2^log_arity neighbours of a codeword, element by element."""

    def fold(self, codeword: Array, log_arity: int, beta: Ext, joining: Array | None) -> Array:
        """The codeword folded by 2^log_arity at beta, plus beta^(2^log_arity) times a codeword that joins."""

    def final_polynomial(self, codeword: Array, log_length: int) -> tuple[Ext, ...]:
        """The 2^log_length coefficients of a codeword on K in bit-reversed order."""

    def grind(self, seed: bytes, bits: int) -> int:
        """The smallest nonce for which Keccak-256(seed ‖ nonce) ends in ``bits`` zero bits; 0 for no bits."""
