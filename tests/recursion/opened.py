"""Openings of trees by the package blake3, and the statements about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import blake3
import numpy as np

from graphprover.field import Ext, P
from graphprover.protocol.blake3 import CHUNK_WORDS
from graphprover.recursion.kernels.steps import RunSteps
from graphprover.recursion.openings import OpenedCaps, OpenedNodes, OpenedRows
from graphprover.recursion.tables.buses import MessageTag, message
from graphprover.recursion.tables.segments import STRIDE
from graphprover.recursion.traces.machine import TraceInputs
from graphprover.recursion.witness.hashes import Hashes, hashes_of
from graphprover.statement.statement import Statement
from tests.recursion import machines
from tests.recursion.machines import halting, place
from tests.recursion.naive import MASK, words_of
from tests.recursion.placing import Memory, memory_of
from tests.recursion.trees import place_in, tree_of

GAMMA = (5, 7, P - 3)


@dataclass(frozen=True)
class Tree:
    """A tree whose leaves are the hashes of rows, all of them opened."""

    rows: int
    words: int  # of a row
    weighted: bool


# Rows of one block, of a part of one, of several chunks; the last chunk full, or short. Of four chunks the right half
# begins after chunk 0, too.
TREES = (
    Tree(4, 1, True),
    Tree(4, 7, True),
    Tree(1, 8, True),
    Tree(4, 24, False),
    Tree(2, 400, True),
    Tree(1, 200, False),
)


@dataclass(frozen=True, eq=False)
class CheckedOpenings:
    """Caps, and all rows and nodes under them."""

    caps: OpenedCaps
    rows: tuple[OpenedRows, ...]
    nodes: OpenedNodes


@cache
def openings(trees: Sequence[Tree] = TREES) -> CheckedOpenings:
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
    return CheckedOpenings(
        OpenedCaps(_places(caps), _words(caps, 1, 8)),
        tuple(rows),
        OpenedNodes(_places(nodes), _words(nodes, 1, 8), _words(nodes, 2, 16)),
    )


def _places(found: Sequence[Sequence[object]]) -> np.ndarray:
    return np.array([entry[0] for entry in found], dtype=np.uint64).reshape(-1, 3)


def _words(found: Sequence[Sequence[object]], at: int, width: int) -> np.ndarray:
    return np.array([words_of(entry[at]) for entry in found], dtype=np.uint32).reshape(-1, width)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Stated:
    """A verifier's knowledge of openings: all rows are under its caps, and its chunks are theirs."""

    openings: CheckedOpenings
    memory: Memory

    @property
    def hashes(self) -> Hashes:
        return hashes_of(self.openings.nodes, self.memory.groups)

    @property
    def steps(self) -> RunSteps:
        """Return the step of a run that knows nothing of memory."""
        return halting(self.memory.cells)

    @property
    def known(self) -> dict[int, Ext]:
        """Return the contents of memory."""
        return dict(enumerate(map(tuple, self.memory.cells.T.tolist())))

    @property
    def facts(self) -> list[tuple[int, Sequence[int]]]:
        """Return the messages about caps and chunks."""
        caps, counts = self.openings.caps, self.hashes.lookups_of(self.openings.caps.places).tolist()
        of_caps = zip(counts, caps.places.tolist(), caps.digests.tolist(), strict=True)
        facts = [(-count, place(where, digest)) for count, where, digest in of_caps]
        return facts + [(1, message(MessageTag.ROW, *chunk)) for chunk in self.memory.chunks.T.tolist()]

    @property
    def inputs(self) -> TraceInputs:
        found = self.hashes
        return TraceInputs(found.segments, found.nodes, self.steps)


def stated(trees: Sequence[Tree] = TREES) -> Stated:
    """Return all openings of trees, and their memory."""
    return Stated(openings(trees), memory_of(openings(trees).rows, GAMMA))


@cache
def split() -> Stated:
    """Return the openings of `TREES`, of which the last chunk is split."""
    return Stated(openings(), with_last_chunk_split(stated().memory))


@cache
def statement() -> Statement:
    """Return the statement about the openings of `TREES`, of which the last chunk is split."""
    return machines.statement(split().inputs, split().facts, split().known)


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
    return Memory(
        (*memory.groups[:-1], replace(group, opened=replace(group.opened, split_from=int(chunks[4, -1])))),
        cells,
        chunks,
    )
