"""Round 1, and the end of every committing round: extend each table's columns, then one tree over all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.device import Array, Device, Tree
from graphprover.field import Ext
from graphprover.graphs.batches import merged
from graphprover.graphs.builder import Graph, Node
from graphprover.protocol.layout import Layout, Round

TREE = "tree"


def task_round(name: str) -> str:
    """Return the name of the round that extends the columns of the commitment ``name``."""
    return f"extend_{name}"


@dataclass(frozen=True)
class Extension:
    """One table's committed columns on 7·K, which stay on the device for later rounds."""

    columns: Array  # (columns, N) in bit-reversed order, all matrices of the table in the round stacked
    terminal: Ext | None = None  # of lookup columns: the sum of all fractions

    def __sizeof__(self) -> int:
        """Return the bytes, for Dask."""
        return int(self.columns.nbytes)


Extensions = dict[int, Extension]  # by table: the result of a batch's task


@dataclass(frozen=True)
class Commitment:
    """One commitment of the proof, as tasks."""

    round: Round  # its matrices
    extensions: dict[str, Node]  # Extensions of each batch with tables in it, by the batch's name
    tree: Node  # Tree


def extend(device: Device, columns: dict[int, Array], *, log_blowup: int) -> Extensions:
    """Extend trace columns (w, n) of each table, in natural order, to (w, n·2^log_blowup)."""
    extended = device.extend(list(columns.values()), log_blowup)
    return {table: Extension(matrix) for table, matrix in zip(columns, extended, strict=True)}


def merkle_tree(device: Device, extensions: Sequence[Extensions], *, cap_height: int, hash: str) -> Tree:
    """Return the tree over all rows of all matrices, in commitment order."""
    return device.merkle_tree([extension.columns for extension in merged(extensions).values()], cap_height, hash)


def build(graph: Graph, layout: Layout, name: str, columns: dict[int, Node]) -> Commitment:
    """Extend and commit to trace columns, given by table, as the commitment ``name``."""
    log_blowup = layout.parameters.log_blowup
    extensions = {}
    for batch in graph.batches:
        of_batch = {table: columns[table] for table in batch.tables if table in columns}
        if of_batch:
            extensions[batch.name] = graph.task(task_round(name), batch.name, extend, of_batch, log_blowup=log_blowup)
    return commit(graph, layout, name, extensions)


def commit(graph: Graph, layout: Layout, name: str, extensions: dict[str, Node]) -> Commitment:
    """Commit to extended columns."""
    round_ = layout.round(name)
    assert round_ is not None
    of_tree = {"cap_height": layout.parameters.cap_height, "hash": layout.parameters.hash}
    tree = graph.task(TREE, name, merkle_tree, list(extensions.values()), **of_tree)
    return Commitment(round_, extensions, tree)
