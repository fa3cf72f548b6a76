"""The interface of devices: the operations that rounds use, for every kind of machine.

Matrices are uint64 of shape (columns, rows), one contiguous array for each column, canonical words. Extension vectors
are (3, rows), and an extension matrix has three rows of coordinates for each column. Low-degree extensions are over 7·K
in bit-reversed order, so that their first n rows are the coset 7·H. Results on the host are NumPy arrays and integers.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from graphprover.air.description import AirDescription
from graphprover.field import Ext
from graphprover.kernels.operands import Array, Height, Operands, Unextended

T = TypeVar("T")

# log2 of the most rows of tables that share tasks: on a CPU the size whose work costs as much as a task, on a GPU
# the size that leaves most of it idle.
CPU_BATCH, CUDA_BATCH = 8, 18

CUDA_THREADS = 1  # one thread keeps a GPU busy: more would wait for the GIL


class DeviceLost(RuntimeError):
    """A device failed and lost its contents; this process cannot use it again."""


@dataclass(frozen=True)
class Tree:
    """A Merkle tree below its cap."""

    layers: tuple[Array, ...]  # digests (n, 4) from the leaves to the cap

    def __sizeof__(self) -> int:
        """Return the bytes, for Dask."""
        return sum(int(layer.nbytes) for layer in self.layers)


class Memory(Protocol):
    """The memory of a device's arrays."""

    identity: str  # equal in all processes that use this memory
    keeps: bool  # whether freed memory stays in the process's pool until it is trimmed

    @property
    def total(self) -> int:
        """Return the bytes for all processes together."""

    def held(self) -> int:
        """Return the bytes in use by this process; of the host's memory, for any purpose."""

    @property
    def peak(self) -> int:
        """Return the highest observed `held` since `reset`."""

    def reset(self) -> None:
        """Start a new measurement of `peak`."""

    def reserved(self) -> int:
        """Return the bytes that this process withholds from others, used or not; 0 without a pool."""

    def trim(self, keep: int = 0) -> None:
        """Release unused memory, except ``keep`` bytes in total."""


class Reading(NamedTuple):
    """Counters of a device for the current thread."""

    launches: int = 0  # kernels
    uploaded: int = 0  # trace bytes over the bus
    downloaded: int = 0  # result bytes over the bus
    waited: float = 0.0  # seconds in which Python only waited: for a GPU's results or a CPU's kernels


class Repeat:
    """The tasks of a proof's graph that an earlier proof of its shape lets a device repeat: here none.

    Tasks are given by their position in the graph.
    """

    def replays(self, number: int) -> bool:
        """Return whether the device can repeat this task next, without running it."""
        return False

    def replay(self, number: int) -> Any:
        """Repeat a task and return its value."""
        raise NotImplementedError

    def noted(self, number: int, call: Callable[[], T]) -> T:
        """Return the value of a task that has to run, by ``call``."""
        return call()


class Device(Protocol):
    """A device with arrays and kernels. Operations on several tables return results in the tables' order."""

    kind: str  # "cpu" or "cuda": selects the machine's kernels (vm/kernels)
    threads: int  # tasks in parallel
    log_batch_rows: int  # CPU_BATCH or CUDA_BATCH

    @property
    def arrays(self) -> Any:
        """Return the module of its arrays: NumPy, or CuPy with the same functions."""

    @property
    def model(self) -> str | None:
        """Return a GPU's model name; None for a CPU."""

    @property
    def memory(self) -> Memory:
        """Return the memory of its arrays."""

    def task(self) -> AbstractContextManager[None]:
        """Hold the resources of one task.

        The block raises MemoryError if the device has no memory left, and DeviceLost if it has failed.
        """

    def reading(self) -> Reading:
        """Return this thread's counters, inside a task, without waiting."""

    def stamp(self) -> Any:
        """Return a marker of the current position, inside a task, for `spans`; without waiting."""

    def spans(self, tasks: Sequence[tuple[float, Any]]) -> list[tuple[float, float]]:
        """Return the start and end of tasks on the device, by time.perf_counter; waits for the device.

        A task is its start on the host and the stamp after it, in the order of the stamps. Each stamp is usable once,
        because the device recycles it.
        """

    def profiled(self, name: str) -> AbstractContextManager[None]:
        """Mark the block's work as an NVTX range for NVIDIA's profilers; nothing on a CPU."""

    def expect(self, tables: Iterable[AirDescription], *, guess: bool = False) -> None:
        """Compile the kernels of these tables in the background; nothing on a CPU.

        A guess is dropped as soon as the real tables are known.
        """

    def load(self, columns: np.ndarray) -> Array:
        """Copy a host array to the device."""

    def fetch(self, words: Array) -> np.ndarray:
        """Copy an array to the host; waits for it."""

    def constant(self, array: np.ndarray) -> Array:
        """Return the copy on the device of a constant host array.

        A GPU caches the copy while the array exists and its memory suffices.
        """

    def constant_all(self, arrays: Sequence[np.ndarray]) -> list[Array]:
        """Return the copies on the device of constant host arrays; see `constant`."""

    def load_all(self, arrays: Sequence[np.ndarray]) -> list[Array]:
        """Copy host arrays to the device, small ones together."""

    def room(self, columns: int, rows: int) -> Array:
        """Return an array for a table's columns, with any contents."""

    def place(self, columns: Array) -> Array:
        """Return the columns of a trace, or a copy at an address that is the same in each proof of `repeating`."""

    def repeating(self, shape: Hashable, peak: int) -> AbstractContextManager[Repeat]:
        """Run a proof of this thread in the block, which may repeat an earlier one of its shape.

        Args:
            shape: A value that determines the arguments of all operations, except challenges, opened values, public
                values and addresses. Operations run in the same order in all proofs of a shape.
            peak: The bytes that the proof needs at most.
        """

    def split_rows(self, function: Callable[[int, int], None], rows: int) -> None:
        """Call ``function(first, last)`` over all rows, in ranges that suit the device and, on a CPU, its caches.

        Calls must write to disjoint places.
        """

    def inverse(self, words: Array) -> Array:
        """Return 1/x for each word x (n,) below p, and 0 for 0."""

    def extend(self, matrices: Sequence[Array], log_blowup: int) -> list[Array]:
        """Return the extensions (w, n·2^log_blowup) of columns (w, n) on H in natural order."""

    def extend_chunks(self, quotients: Sequence[Array], log_chunks: Sequence[int], log_blowup: int) -> list[Array]:
        """Return the extensions (3c, n·2^log_blowup) of the c chunks of each quotient (3, n·c).

        The quotients are on 7·K in bit-reversed order.
        """

    def merkle_tree(self, matrices: Sequence[Array | Unextended], cap_height: int, hash: str) -> Tree:
        """Return the tree over the rows of the extensions of different heights, in commitment order.

        Columns without extension are extended in pieces, of which only the hashes stay. ``hash`` is the name of the
        hash in a statement's parameters, here and in other operations.
        """

    def cap(self, tree: Tree) -> tuple[bytes, ...]:
        """Return the commitment."""

    def gather(
        self,
        blocks: Sequence[Sequence[tuple[Array | Unextended, np.ndarray]]],
        digests: Sequence[tuple[Tree, np.ndarray]],
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return rows of matrices and nodes of trees, in one copy to the host.

        Args:
            blocks: For each block, matrices (w, n) with equally many row indices each. Columns without extension are
                extended in pieces.
            digests: For each tree, the numbers of nodes, as in a heap: n + i for node i of the layer of n nodes, so
                that node i has the children 2 i and 2 i + 1.

        Returns:
            For each block the rows side by side, (indices, all columns), and for each tree the nodes (nodes, 4).

        Raises:
            IndexError: An index is out of range.
        """

    def lookup_columns(self, tables: Sequence[Operands], tau: Ext) -> list[tuple[Array, Ext]]:
        """Return the accumulator and fraction columns (3(k + 1), n) of each trace, and their terminal.

        Operands that already have a terminal are the inputs of an earlier call, so a GPU does not wait for it again.
        Raises ZeroDivisionError for a zero denominator; a CPU accepts one with multiplicity 0.
        """

    def quotient(self, tables: Sequence[Operands], tau: Ext, alpha: Ext, log_blowup: int) -> list[Array]:
        """Return all constraints over the vanishing polynomial: (3, n·c) on 7·K, bit-reversed.

        They are computed from extensions; from columns on H, which are extended to one run of n points after the other,
        for operands that are not ``extended``.
        """

    def interpolation_weights(self, domains: Sequence[tuple[int, Ext]]) -> list[Array]:
        """Return for each (log2 of n, point) the weights (3, n) that evaluate a column there.

        The column is on 7·H in bit-reversed order.
        """

    def natural_weights(self, domains: Sequence[tuple[int, Ext]]) -> list[Array]:
        """Return the same weights for a column on H in natural order."""

    def evaluate(self, matrices: Sequence[Array], weights: Sequence[Sequence[Array]]) -> list[list[np.ndarray]]:
        """Return for each matrix and each point's weights the values of all columns there, from the first n rows.

        The values are words on the host, (columns, 3) for each point.
        """

    def inverse_denominators(self, domains: Sequence[tuple[int, Ext]]) -> list[Array]:
        """Return for each (log2 of N, point) 1/(point - x) for all x of 7·K, (3, N) in bit-reversed order."""

    def reduced_openings(self, heights: Sequence[Height], gamma: Ext) -> list[Array]:
        """Return the DEEP quotient (3, n) of each height on 7·H in bit-reversed order, from the first n rows.

        It is the sum over matrices, points z and columns p of gamma^k (p(z) - p(x)) / (z - x), and n the length of the
        height's inverses. Its degree is below n.
        """

    def reduced_traces(self, heights: Sequence[Height], gamma: Ext) -> list[Array]:
        """Return the quotients of `reduced_openings` from columns on H in natural order."""

    def sum_vectors(self, vectors: Sequence[Array]) -> Array:
        """Return the sum of extension vectors of one length."""

    def fold_tree(self, codeword: Array, log_arity: int, cap_height: int, hash: str) -> Tree:
        """Return the tree whose leaves hash the groups of 2^log_arity neighbours of a codeword, element by element."""

    def fold(self, codeword: Array, log_arity: int, beta: Ext, joining: Array | None) -> Array:
        """Return the codeword folded by 2^log_arity at beta, plus beta^(2^log_arity) times a joining codeword."""

    def final_polynomial(self, codeword: Array, log_length: int) -> tuple[Ext, ...]:
        """Return the 2^log_length coefficients of a codeword on K in bit-reversed order."""

    def grind(self, seed: bytes, bits: int, hash: str) -> int:
        """Return the smallest nonce for which H(seed ‖ nonce) ends in ``bits`` zero bits; 0 for no bits."""
