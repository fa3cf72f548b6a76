"""The statement about a proof's openings: these caps bind these rows, whose weighted sums are these.

That is the part of a verifier that hashes. Its other steps need only the challenges, the sums and the groups of folds,
which the statement has.
"""

import numpy as np

from graphprover.air import Air
from graphprover.field import Ext
from graphprover.protocol.blake3 import IV
from graphprover.recursion.kernels.compressions import Compressions
from graphprover.recursion.openings import Openings
from graphprover.recursion.tables import places, row, xor
from graphprover.recursion.tables.compress import NODE_PARAMETERS, Compress, Use
from graphprover.recursion.tables.node import Node
from graphprover.recursion.tables.row import Row
from graphprover.recursion.tables.stated import Caps, Cells, Chunks, rows_for
from graphprover.recursion.tables.xor import Xor
from graphprover.recursion.traces.node import Nodes, asked
from graphprover.recursion.traces.openings import Inputs, loading, trace_tasks
from graphprover.recursion.witness.hashed_rows import Hashed, hashed
from graphprover.recursion.witness.memory import memory_of
from graphprover.statement.statement import Statement, Table

COMPRESS, XOR, ROW, NODE = Compress(), Xor(), Row(), Node()


def statement_of(openings: Openings, gamma: Ext) -> Statement:
    """Return the statement about a proof's openings, with the tasks that make its traces.

    Args:
        openings: The openings.
        gamma: The batching challenge, whose powers are the weights of words.
    """
    memory = memory_of(openings.rows, gamma)
    found = hashed(memory.groups)
    of_rows = np.concatenate([of.places for of in openings.rows])
    lookups = np.concatenate([openings.nodes.places, of_rows])
    caps = [np.count_nonzero((lookups == place).all(axis=1)) for place in openings.caps.places]
    opened = openings.nodes
    nodes = Nodes(opened.places, opened.digests, opened.children, asked(opened.places, of_rows))
    calls = calls_of(found, nodes)
    stated_caps = Caps(openings.caps.places.T, openings.caps.digests.T)
    stated_cells = Cells(np.arange(memory.cells.shape[1], dtype=np.uint64), memory.cells)
    stated_chunks = Chunks(memory.chunks)
    tables: dict[str, tuple[Air, int]] = {
        "compress": (COMPRESS, rows_for(places.ROWS * len(calls))),
        "xor": (XOR, xor.ROWS),
        "row": (ROW, rows_for(row.BLOCK_ROWS * len(found.halves))),
        "node": (NODE, rows_for(len(nodes.places))),
        "caps": (stated_caps, stated_caps.rows),
        "cells": (stated_cells, stated_cells.rows),
        "chunks": (stated_chunks, stated_chunks.rows),
    }
    inputs = Inputs(calls, found.segments, nodes, memory.cells, np.array(caps, dtype=np.uint64))
    tasks = trace_tasks(loading(inputs), tables)
    return Statement([Table(air, [], tasks[name]) for name, (air, _) in tables.items()])


def calls_of(found: Hashed, nodes: Nodes) -> Compressions:
    """Return the calls that hash all blocks, and then the children of all nodes."""
    count = len(nodes.places)
    return Compressions(
        np.concatenate([found.values, np.tile(np.array(IV, dtype=np.uint32), (count, 1))]),
        np.concatenate([found.halves, nodes.children]),
        np.concatenate([found.parameters, np.tile(np.array(NODE_PARAMETERS, dtype=np.uint32), (count, 1))]),
        np.concatenate([found.uses, np.full(count, int(Use.NODE), dtype=np.uint32)]),
    )
