"""The statement about a proof's openings: these caps bind these rows, whose weighted sums are these.

That is the part of a verifier that hashes. Its other steps need only the challenges, the sums and the groups of folds,
which the statement has.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.air import Air
from graphprover.field import Ext
from graphprover.protocol.blake3 import IV
from graphprover.recursion.kernels.compressions import Compressions
from graphprover.recursion.kernels.segments import Segments
from graphprover.recursion.openings import Openings
from graphprover.recursion.tables import row, xor
from graphprover.recursion.tables.compress import NODE_PARAMETERS, Compress, Use
from graphprover.recursion.tables.node import Node
from graphprover.recursion.tables.places import ROWS as ROWS_OF_CALL
from graphprover.recursion.tables.row import Row
from graphprover.recursion.tables.stated import Caps, Cells, Chunks, rows_for
from graphprover.recursion.tables.xor import Xor
from graphprover.recursion.traces.node import Nodes, asked
from graphprover.recursion.traces.openings import Inputs, loading, trace_tasks
from graphprover.recursion.witness.hashed_rows import Hashed, Rows, hashed
from graphprover.recursion.witness.memory import Memory, memory_of
from graphprover.statement.statement import Statement, Table

COMPRESS, XOR, ROW, NODE = Compress(), Xor(), Row(), Node()


def statement_of(openings: Openings, gamma: Ext) -> Statement:
    """Return the statement about a proof's openings, with the tasks that make its traces.

    Args:
        openings: The openings.
        gamma: The batching challenge, whose powers are the weights of words.
    """
    return statement_with(openings, memory_of(openings.rows, gamma))


def statement_with(openings: Openings, memory: Memory) -> Statement:
    """Return the statement about a proof's openings with its rows in memory."""
    made = hashes_of(openings, memory.groups)
    stated_caps = Caps(openings.caps.places.T, openings.caps.digests.T)
    stated_cells = Cells(np.arange(memory.cells.shape[1], dtype=np.uint64), memory.cells)
    stated_chunks = Chunks(memory.chunks)
    tables: dict[str, tuple[Air, int]] = {
        **made.tables,
        "caps": (stated_caps, stated_caps.rows),
        "cells": (stated_cells, stated_cells.rows),
        "chunks": (stated_chunks, stated_chunks.rows),
    }
    caps = made.lookups_of(openings.caps.places).astype(np.uint64)
    inputs = Inputs(made.calls, made.segments, made.nodes, memory.cells, caps)
    tasks = trace_tasks(loading(inputs), tables)
    return Statement([Table(air, [], tasks[name]) for name, (air, _) in tables.items()])


@dataclass(frozen=True, eq=False)
class Hashes:
    """All hashes of a proof's openings: arrays of the host."""

    calls: Compressions  # of the segments' blocks, then of the nodes
    segments: Segments
    nodes: Nodes
    places: np.ndarray  # that nodes and rows look up, uint64 (lookups, 3)

    @property
    def tables(self) -> dict[str, tuple[Air, int]]:
        """Return the tables that prove them with their rows, by name."""
        return {
            "compress": (COMPRESS, rows_for(ROWS_OF_CALL * len(self.calls))),
            "xor": (XOR, xor.ROWS),
            "row": (ROW, rows_for(row.BLOCK_ROWS * len(self.segments.words))),
            "node": (NODE, rows_for(len(self.nodes.places))),
        }

    def lookups_of(self, places: np.ndarray) -> np.ndarray:
        """Return how often each place, uint64 (n, 3), is looked up: int64 (n,)."""
        return np.array([np.count_nonzero((self.places == place).all(axis=1)) for place in places], dtype=np.int64)


def hashes_of(openings: Openings, groups: Sequence[Rows]) -> Hashes:
    """Return the hashes of opened rows and of the nodes over them."""
    found, opened = hashed(groups), openings.nodes
    of_rows = np.concatenate([group.opened.places for group in groups])
    nodes = Nodes(opened.places, opened.digests, opened.children, asked(opened.places, of_rows))
    return Hashes(_calls(found, nodes), found.segments, nodes, np.concatenate([opened.places, of_rows]))


def _calls(found: Hashed, nodes: Nodes) -> Compressions:
    """Return the calls that hash all blocks, and then the children of all nodes."""
    count = len(nodes.places)
    return Compressions(
        np.concatenate([found.values, np.tile(np.array(IV, dtype=np.uint32), (count, 1))]),
        np.concatenate([found.halves, nodes.children]),
        np.concatenate([found.parameters, np.tile(np.array(NODE_PARAMETERS, dtype=np.uint32), (count, 1))]),
        np.concatenate([found.uses, np.full(count, int(Use.NODE), dtype=np.uint32)]),
    )
