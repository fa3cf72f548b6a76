"""Openings of trees by the package blake3, and the statements about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import blake3
import numpy as np

from graphprover.field import P
from graphprover.protocol.blake3 import CHUNK_WORDS
from graphprover.recursion.openings import OpenedCaps, OpenedNodes, OpenedRows, Openings
from graphprover.recursion.statement import statement_with
from graphprover.recursion.tables.row import STRIDE
from graphprover.recursion.witness.memory import Memory, memory_of
from graphprover.statement.statement import Statement, with_traces
from tests.recursion.naive import MASK, words_of
from tests.recursion.trees import place_in, tree_of

GAMMA = (5, 7, P - 3)


@dataclass(frozen=True)
class Tree:
    """A tree whose leaves are the hashes of rows, all of them opened."""

    rows: int
    words: int  # of a row
    weighted: bool


# Rows of one block, of a part of one, of several chunks; the last chunk full, or short.
TREES = (
    Tree(4, 1, True),
    Tree(4, 7, True),
    Tree(1, 8, True),
    Tree(4, 24, False),
    Tree(2, 300, True),
    Tree(1, 200, False),
)


@cache
def openings(trees: Sequence[Tree] = TREES) -> Openings:
    """Return all rows and nodes of trees with any words."""
    rng = np.random.default_rng(3)
    caps, rows, nodes = [], [], []
    for number, tree in enumerate(trees):
        words = rng.integers(0, P, (tree.rows, tree.words), dtype=np.uint64)
        words[0, 0], words[-1, -1] = 0, P - 1
        layers = tree_of([blake3.blake3(row.tobytes()).digest() for row in words])
        caps.append((place_in(number, layers, 0, 0), layers[0][0]))
        for layer, (digests, below) in enumerate(pairwise(layers)):
            for i, digest in digests.items():
                nodes.append((place_in(number, layers, layer, i), digest, below[2 * i] + below[2 * i + 1]))
        powers = np.arange(2 * tree.words).reshape(2, tree.words)
        powers[1, ::3] = -1  # not opened at the next row's point
        indices = np.arange(tree.rows, dtype=np.uint64)
        structure, lowest, _ = place_in(number, layers, len(layers) - 1, 0)
        rows.append(OpenedRows(structure, lowest, indices, words, powers if tree.weighted else None))
    return Openings(
        OpenedCaps(_places(caps), _words(caps, 1, 8)),
        tuple(rows),
        OpenedNodes(_places(nodes), _words(nodes, 1, 8), _words(nodes, 2, 16)),
    )


def _places(found: Sequence[Sequence[object]]) -> np.ndarray:
    return np.array([entry[0] for entry in found], dtype=np.uint64).reshape(-1, 3)


def _words(found: Sequence[Sequence[object]], at: int, width: int) -> np.ndarray:
    return np.array([words_of(entry[at]) for entry in found], dtype=np.uint32).reshape(-1, width)  # type: ignore[arg-type]


@cache
def statement() -> Statement:
    """Return the statement about the openings of `TREES`, with its traces as arrays; the last chunk is split."""
    return with_traces(statement_with(openings(), with_last_chunk_split(memory_of(openings().rows, GAMMA))))


def with_last_chunk_split(memory: Memory) -> Memory:
    """Return the memory with other contents for the last chunk, which is read."""
    group, cells, chunks = memory.groups[-1], memory.cells.copy(), memory.chunks.copy()
    words = group.opened.words[-1, CHUNK_WORDS * int(chunks[4, -1]) :]
    first, end = (int(address) for address in chunks[5:7, -1])
    cells[:, first:end] = 0
    cells[0, first + 1 : end : STRIDE], cells[1, first + 1 : end : STRIDE] = (
        words & np.uint64(MASK),
        words >> np.uint64(32),
    )
    chunks[3, -1] = 2
    return Memory((*memory.groups[:-1], replace(group, split_from=int(chunks[4, -1]))), cells, chunks)


def edited(table: str, main: np.ndarray) -> Statement:
    """Return the statement with another trace of a table."""
    made = statement()
    return Statement([replace(own, main=main) if own.air.name == table else own for own in made.tables])


def main_of(table: str) -> np.ndarray:
    """Return a copy of the trace of a table."""
    (found,) = (own.main for own in statement().tables if own.air.name == table)
    assert isinstance(found, np.ndarray)
    return found.copy()
