"""Round 1, and the end of every committing round: extend each table's columns, then one tree over all of them.

The extension of a batch that does not hold it is made piece by piece for the tree, and again for each later use.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphprover.device import Array, Device, Tree
from graphprover.field import Ext
from graphprover.graphs.batches import Hold, merged
from graphprover.graphs.builder import Graph, Node
from graphprover.kernels.operands import Unextended
from graphprover.protocol.layout import MAIN, CommittedRound, Layout

TREE = "tree"


def task_round(name: str) -> str:
    """Return the name of the round that extends the columns of the commitment ``name``."""
    return f"extend_{name}"


@dataclass(frozen=True)
class Extension:
    """One table's committed columns for later rounds, all matrices of the table in the round stacked."""

    columns: Array | Unextended  # (columns, N) on 7·K in bit-reversed order, or what is extended to them
    terminal: Ext | None = None  # of lookup columns: the sum of all fractions

    def read(self) -> Array:
        """Return the extension, or the columns on the trace if that is not held."""
        return self.columns.columns() if isinstance(self.columns, Unextended) else self.columns

    def __sizeof__(self) -> int:
        """Return the bytes, for Dask."""
        return 0 if isinstance(self.columns, Unextended) else int(self.columns.nbytes)


Extensions = dict[int, Extension]  # by table: the result of a batch's task
Columns = Mapping[int, Extension] | Mapping[int, Array]  # of a batch as an input: `Extensions`, or the trace's columns
Nodes = Node | dict[int, Node]  # a task with `Extensions`, or the tasks of the trace's columns


def extensions_of(columns: Columns, log_blowup: int) -> Extensions:
    """Return the extensions of a batch from either form of its columns."""
    return {
        table: of_table if isinstance(of_table, Extension) else Extension(Unextended.of(of_table, log_blowup))
        for table, of_table in columns.items()
    }


@dataclass(frozen=True)
class Commitment:
    """One commitment of the proof, as tasks."""

    round: CommittedRound  # its matrices
    extensions: dict[str, Nodes]  # of each batch with tables in it, by the batch's name
    tree: Node  # Tree


def extend(device: Device, columns: dict[int, Array], *, log_blowup: int) -> Extensions:
    """Extend trace columns (w, n) of each table, in natural order, to (w, n·2^log_blowup)."""
    extended = device.extend(list(columns.values()), log_blowup)
    return {table: Extension(matrix) for table, matrix in zip(columns, extended, strict=True)}


def merkle_tree(device: Device, columns: Sequence[Columns], *, cap_height: int, hash: str, log_blowup: int) -> Tree:
    """Return the tree over all rows of all matrices, in commitment order."""
    extensions = merged([extensions_of(of_batch, log_blowup) for of_batch in columns])
    return device.merkle_tree([extension.columns for extension in extensions.values()], cap_height, hash)


def build(graph: Graph, layout: Layout, name: str, columns: dict[int, Node]) -> Commitment:
    """Extend and commit to trace columns, given by table, as the commitment ``name``.

    Preprocessed columns are few, and their extensions are always held.
    """
    log_blowup = layout.parameters.log_blowup
    extensions: dict[str, Nodes] = {}
    for batch in graph.batches:
        of_batch = {table: columns[table] for table in batch.tables if table in columns}
        if of_batch and name == MAIN and batch.hold != Hold.EXTENSIONS:
            extensions[batch.name] = of_batch
        elif of_batch:
            extensions[batch.name] = graph.task(task_round(name), batch.name, extend, of_batch, log_blowup=log_blowup)
    return commit(graph, layout, name, extensions)


def commit(graph: Graph, layout: Layout, name: str, extensions: dict[str, Nodes]) -> Commitment:
    """Commit to extended columns."""
    round_ = layout.round(name)
    assert round_ is not None
    parameters = layout.parameters
    of_tree = {"cap_height": parameters.cap_height, "hash": parameters.hash, "log_blowup": parameters.log_blowup}
    tree = graph.task(TREE, name, merkle_tree, list(extensions.values()), **of_tree)
    return Commitment(round_, extensions, tree)
