"""Round 1, and the commitment that ends every other: extend each table's columns, then one tree over all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.device import Array, Device, Tree
from graphprover.field import Ext
from graphprover.graphs.tasks import Graph, Node
from graphprover.protocol.layout import Layout, Round


@dataclass(frozen=True)
class Extension:
    """One table's committed columns on 7·K; what a round leaves on the device for the rounds after it."""

    columns: Array  # (columns, N) in bit-reversed order, all of the table's matrices in the round stacked
    terminal: Ext | None = None  # of lookup columns: the sum of all fractions


@dataclass(frozen=True)
class Commitment:
    """One commitment of the proof, as tasks."""

    round: Round  # its matrices
    extensions: dict[int, Node]  # Extension of each table in it
    tree: Node  # Tree


def extend(device: Device, columns: Array, *, log_blowup: int) -> Extension:
    """Trace columns (w, n), in natural order, to their extension (w, n·2^log_blowup)."""
    return Extension(device.extend(columns, log_blowup))


def merkle_tree(device: Device, extensions: Sequence[Extension], *, cap_height: int) -> Tree:
    """The tree over all rows of these matrices, in commitment order."""
    return device.merkle_tree([each.columns for each in extensions], cap_height)


def build(graph: Graph, layout: Layout, name: str, columns: dict[int, Node]) -> Commitment:
    """Extend and commit to trace columns, given by table, as the round called ``name``."""
    log_blowup = layout.parameters.log_blowup
    extensions = {
        table: graph.task(f"extend_{name}", graph.table(layout, table), extend, each, log_blowup=log_blowup)
        for table, each in columns.items()
    }
    return commit(graph, layout, name, extensions)


def commit(graph: Graph, layout: Layout, name: str, extensions: dict[int, Node]) -> Commitment:
    """Commit to what is already extended."""
    each = layout.round(name)
    assert each is not None
    in_order = [extensions[table] for table in sorted(extensions)]
    tree = graph.task("tree", name, merkle_tree, in_order, cap_height=layout.parameters.cap_height)
    return Commitment(each, extensions, tree)
