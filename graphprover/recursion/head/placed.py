"""Gates at their places in memory, as the words that a program reads, and their evaluation.

A chunk is 128 words, for 127 gates of one kind. With G the address of the first chunk, word j of chunk c is at
G + 256 c + 2 j + 1, and the result of its gate at G + 256 c + 2 j. A word is the address of the first operand plus
2^32 times the address of the second. Word 0 of a chunk is 0 and no gate. All products come first, then all sums, then
all differences; gates of the literal 0 with itself fill the last chunk of each kind.
"""

from dataclasses import dataclass, replace

import numpy as np

from graphprover.air.expression import ADD, MUL, SUB
from graphprover.field import EXTENSION_DEGREE, Ext, ext_add, ext_inv, ext_mul, ext_sub
from graphprover.protocol import arrays
from graphprover.protocol.blake3 import CHUNK_WORDS
from graphprover.recursion.head.gates import AT, INVERSE, Gates
from graphprover.recursion.tables.segments import STRIDE

KINDS = (MUL, ADD, SUB)  # in the order of their chunks
ADDRESS_BITS = 31  # so that two addresses are a base element


@dataclass(frozen=True, eq=False)
class Placed:
    """N values of gates at their addresses: cells of others first, literals next, then all others by creation."""

    words: np.ndarray  # all chunks, uint64 (words,)
    chunks: tuple[int, int, int]  # number of chunks of products, sums and differences
    literals: np.ndarray  # uint64 (literals,)
    inverses: np.ndarray  # places of the cells that a prover fills, int64 (inverses,)
    addresses: np.ndarray  # of each value, int64 (N,)
    checks: np.ndarray  # addresses of all cells that must be zero, int64 (checks,)
    cells: int  # number of values that are cells of others
    kinds: np.ndarray  # of each value that is neither a cell of others nor a literal, int64 (M,)
    first: np.ndarray  # place of its first operand, int64 (M,)
    second: np.ndarray  # place of its second operand, int64 (M,)
    places: np.ndarray  # of the values in the order of `Gates`, int64 (N,)

    def moved(self, by: int, words: np.ndarray, start: int, by_more: int) -> "Placed":
        """Return the gates with all addresses greater by a number.

        Args:
            by: The number.
            words: The words of their chunks there.
            start: The cells of others from this address on have addresses that are still greater,
            by_more: by this number.

        Raises:
            ValueError: As by `placed`.
        """
        addresses = self.addresses + by
        addresses[: self.cells][self.addresses[: self.cells] >= start] += by_more
        _check_addresses(addresses)
        return replace(self, words=words, addresses=addresses, checks=self.checks + by)

    def address_of(self, value: int) -> int:
        """Return the address of a value of `Gates`."""
        return int(self.addresses[self.places[value]])


def placed(gates: Gates, base: int, literals: int, cells: int) -> Placed:
    """Return gates at their places; cells that a prover fills follow them.

    Args:
        gates: The gates.
        base: The address of the first chunk, G.
        literals: The address of the first literal; the others follow at every second address.
        cells: The number that is added to the addresses of other cells.

    Raises:
        ValueError: An address has more than 31 bits.
    """
    kinds, first, second = (np.array(of, dtype=np.int64) for of in (gates.kinds, gates.first, gates.second))
    addresses, word_of = np.where(kinds == AT, cells + first, literals + STRIDE * first), np.zeros_like(kinds)
    chunks: list[int] = []
    for kind in KINDS:
        own = np.flatnonzero(kinds == kind)
        chunk, word = np.divmod(np.arange(len(own)), CHUNK_WORDS - 1)
        word_of[own] = CHUNK_WORDS * (sum(chunks) + chunk) + word + 1
        addresses[own] = base + STRIDE * word_of[own]
        chunks.append(-(-len(own) // (CHUNK_WORDS - 1)))
    inverse = np.flatnonzero(kinds == INVERSE)
    addresses[inverse] = base + STRIDE * CHUNK_WORDS * sum(chunks) + np.arange(len(inverse))
    _check_addresses(addresses)
    is_gate = np.isin(kinds, KINDS)
    words = np.full((sum(chunks), CHUNK_WORDS), _pair(*[addresses[gates.zero]] * 2), dtype=np.uint64)
    words[:, 0] = 0
    words.reshape(-1)[word_of[is_gate]] = _pair(addresses[first[is_gate]], addresses[second[is_gate]])

    order = np.argsort(np.minimum(kinds, INVERSE), kind="stable")  # gates and inverses are in the order of creation
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    others = int(np.count_nonzero(kinds == AT))
    computed = order[others + len(gates.literals) :]
    return Placed(
        words=words.reshape(-1),
        chunks=(chunks[0], chunks[1], chunks[2]),
        literals=np.array(gates.literals, dtype=np.uint64),
        inverses=places[inverse],
        addresses=addresses[order],
        checks=addresses[np.array(gates.checks, dtype=np.int64)],
        cells=others,
        kinds=kinds[computed],
        first=places[first[computed]],
        second=places[second[computed]],
        places=places,
    )


def _check_addresses(addresses: np.ndarray) -> None:
    if addresses.max() >> ADDRESS_BITS:
        raise ValueError(f"gates need addresses below 2^{ADDRESS_BITS}: place the arrays at lower addresses")


def _pair(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return first.astype(np.uint64) | second.astype(np.uint64) << np.uint64(32)


def evaluate(of: Placed, cells: np.ndarray) -> np.ndarray:
    """Return all values of gates.

    Args:
        of: The gates.
        cells: Values of the cells of others, at the first ``of.cells`` addresses: uint64 (3, cells).

    Returns:
        The value at each address, uint64 (3, N).

    Raises:
        ZeroDivisionError: A value that must have an inverse is zero.
    """
    values = np.zeros((EXTENSION_DEGREE, len(of.addresses)), dtype=np.uint64)
    values[:, : of.cells] = cells
    begin = of.cells + len(of.literals)
    values[0, of.cells : begin] = of.literals
    if not (products := arrays.kernels()):
        values[:, begin:] = arrays.exts(_computed(of, values[:, :begin]))
        return values
    done = begin
    for end in [*of.inverses.tolist(), values.shape[1]]:
        own = slice(done - begin, end - begin)
        products.evaluate(of.kinds[own], of.first[own], of.second[own], values, done)
        if end < values.shape[1]:
            a, b, c = values[:, of.first[end - begin]].tolist()
            values[:, end] = ext_inv((a, b, c))
        done = end + 1
    return values


def _computed(of: Placed, known: np.ndarray) -> list[Ext]:
    """Return the values of gates and inverses from the values (3, n) before them, in Python."""
    values: list[Ext] = [(a, b, c) for a, b, c in known.T.tolist()]
    operations = {MUL: ext_mul, ADD: ext_add, SUB: ext_sub, INVERSE: lambda a, _: ext_inv(a)}
    for kind, first, second in zip(of.kinds.tolist(), of.first.tolist(), of.second.tolist(), strict=True):
        values.append(operations[kind](values[first], values[second]))
    return values[known.shape[1] :]
