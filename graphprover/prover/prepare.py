"""A statement that is ready to be proved: its traces checked, and the shape of its proof chosen."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np

from graphprover.air.description import AirDescription, check_multiplicity_bound
from graphprover.device import Array
from graphprover.graphs.rounds.query import Proven
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.errors import VerificationError, shard_error
from graphprover.protocol.layout import Layout, make_layout
from graphprover.protocol.level import Level
from graphprover.protocol.parameters import FAST, SMALL, Parameters
from graphprover.protocol.proof import encode
from graphprover.statement.cells import committed_cells
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement, Table, as_columns
from graphprover.statement.trace_task import TraceTask

# Committed cells up to which the smallest proof takes a thread of a CPU some 60 ms more than the fastest, about as much
# as its proof of work, and a GPU nothing that is seen.
LITTLE = 1 << 19


@dataclass(frozen=True)
class Prepared:
    """A statement that is ready to be proved, as values and arrays, which travel to workers."""

    label: str
    layout: Layout  # the shape of the proof
    traces: tuple[Array | TraceTask, ...]  # of each table, checked: uint64 (columns, rows), or how a device makes it
    preprocessed: Mapping[int, np.ndarray]  # the preprocessed columns, by table
    public_values: tuple[tuple[int, ...], ...]  # of each table
    layer: int = 0  # number of the layer of a compressed proof, from 1; 0 of any other proof

    @property
    def name(self) -> str:
        """The name of the proof in observations and logs."""
        if self.layer:
            return f"layer {self.layer}"
        first, *others = (air.name for air in self.layout.tables)
        return self.label or f"{first}{f' and {len(others)} more' if others else ''}"

    @property
    def shapes(self) -> list[tuple[Layout, tuple[Array | TraceTask, ...]]]:
        """The layout and the traces of each shard."""
        return [(self.layout, self.traces)]

    @property
    def shards(self) -> "tuple[Prepared]":
        """The shards: this one, as `PreparedShards.shards` of a sharded statement."""
        return (self,)

    @property
    def header(self) -> Proof:
        """The proof without its payload, which is known before the proof is made."""
        return Proof(self.label, self.layout.parameters, self.layout.log_heights, self.public_values, b"")

    def on_host(self) -> "Prepared":
        """Return the same with all traces in the host's memory, so that it can travel."""
        return replace(self, traces=tuple(trace.get() if _is_on_gpu(trace) else trace for trace in self.traces))


@dataclass(frozen=True)
class PreparedShards:
    """A sharded statement that is ready to be proved."""

    shards: tuple[Prepared, ...]  # the tables of each, its head first

    @property
    def name(self) -> str:
        """The name of the proof in observations and logs."""
        return self.shards[0].name

    @property
    def shapes(self) -> list[tuple[Layout, tuple[Array | TraceTask, ...]]]:
        """The layout and the traces of each shard."""
        return [(shard.layout, shard.traces) for shard in self.shards]

    def on_host(self) -> "PreparedShards":
        """Return the same with all traces in the host's memory, so that it can travel."""
        return PreparedShards(tuple(shard.on_host() for shard in self.shards))


def wrapped(proven: Proven, header: Proof) -> Proof:
    """Return the value of a proof's graph as the proof that a user holds."""
    return replace(header, payload=encode(proven.proof))


def prepare(statement: Statement, parameters: Parameters | None = None, **level: Any) -> Prepared:
    """Check the traces of a statement of one shard and choose the shape of its proof, as `ready`.

    Args:
        statement: The statement, with traces.
        parameters: The parameters of the proof, instead of a level.
        level: The fields of the `Level`.
    """
    (prepared,) = _prepared(statement, Level(**level), parameters)
    return prepared


def ready(
    statement: Statement | ShardedStatement, level: Level, parameters: Parameters | None = None
) -> Prepared | PreparedShards:
    """Check the traces of a statement and choose the shape of its proof.

    Args:
        statement: The statement, with traces.
        level: The requested level of the proof.
        parameters: The parameters of the proof; None derives them from ``level``.

    Raises:
        ValueError: for a malformed trace, or a level that cannot be reached.
    """
    shards = _prepared(statement, level, parameters)
    return PreparedShards(shards) if statement.heads else shards[0]


def _prepared(
    statement: Statement | ShardedStatement, level: Level, parameters: Parameters | None
) -> tuple[Prepared, ...]:
    statements = statement.statements
    # 1. Traces: check every one against its table.
    traces = [checked_traces(own) for own in statements]
    # 2. Layout: heights and parameters give the shape of the proof.
    log_heights = [[trace.shape[1].bit_length() - 1 for trace in of_shard] for of_shard in traces]
    if parameters is None:
        sized = ((own.descriptions, heights) for own, heights in zip(statements, log_heights, strict=True))
        parameters = level.parameters(sized, rate_for(sum(committed_cells(statement).values())))
    prepared = []
    for own, main, heights in zip(statements, traces, log_heights, strict=True):
        layout = make_layout(own.descriptions, heights, parameters, shard=statement.heads > 0)
        tables = enumerate(own.tables)
        preprocessed = {i: table.preprocessed for i, table in tables if table.preprocessed is not None}
        public_values = tuple(tuple(int(value) for value in table.public_values or ()) for table in own.tables)
        prepared.append(Prepared(own.label, layout, main, preprocessed, public_values))
    check_multiplicity_bound(
        [air for shard in prepared for air in shard.layout.tables],
        [1 << log_height for shard in prepared for log_height in shard.layout.log_heights],
    )
    return tuple(prepared)


def check_headers(proof: Proof | ShardedProof, prepared: Prepared | PreparedShards) -> None:
    """Raise VerificationError unless the header of each shard of a proof is the prepared one."""
    found, expected = proof.proofs, [shard.header for shard in prepared.shards]
    if len(found) != len(expected):
        raise VerificationError("asked.shards", f"the proof is in {len(found)} shards; {len(expected)} were asked for")
    for index, (own, header) in enumerate(zip(found, expected, strict=True)):
        for field in ("label", "parameters", "log_heights", "public_values"):
            if getattr(own, field) != getattr(header, field):
                what = f"the proof has other {field.replace('_', ' ')} than were asked for"
                error = VerificationError("asked.header", what)
                raise shard_error(index, error) if proof.joint else error


def rate_for(cells: int) -> int:
    """Return the default rate of a proof of this number of committed cells, as its denominator."""
    return SMALL if cells <= LITTLE else FAST


def at_level(prepared: Prepared | PreparedShards, level: Level) -> Prepared | PreparedShards:
    """Return the same tables at another level, which names a rate.

    Raises:
        ValueError: if no parameters reach the level at its rate.
    """
    assert level.rate
    layouts = [shard.layout for shard in prepared.shards]
    parameters = level.parameters([(own.tables, own.log_heights) for own in layouts], level.rate)
    shards = [
        replace(shard, layout=make_layout(own.tables, own.log_heights, parameters, shard=own.shard))
        for shard, own in zip(prepared.shards, layouts, strict=True)
    ]
    return PreparedShards(tuple(shards)) if isinstance(prepared, PreparedShards) else shards[0]


def checked_traces(statement: Statement) -> tuple[Array | TraceTask, ...]:
    """Return the traces, uint64 (columns, rows), or their trace tasks; raises ValueError for a malformed one."""
    traces: list[Array | TraceTask] = []
    for table, air in zip(statement.tables, statement.descriptions, strict=True):
        if table.main is None:
            raise ValueError(f"table {air.name}: no trace to prove")
        columns = _columns(table, air)
        values = table.public_values or ()
        if len(values) != air.num_public_values:
            raise ValueError(f"table {air.name}: {len(values)} public values instead of {air.num_public_values}")
        if table.preprocessed is not None and table.preprocessed.shape[1] != columns.shape[1]:
            raise ValueError(
                f"table {air.name}: {columns.shape[1]} rows, but {table.preprocessed.shape[1]} preprocessed rows"
            )
        traces.append(columns)
    return tuple(traces)


def _columns(table: Table, air: AirDescription) -> Array | TraceTask:
    """Return a table's trace.

    An array on a GPU stays there. Its words, and those that a trace task makes, are assumed to be below p.
    """
    what, main = f"trace of table {air.name}", table.main
    assert main is not None
    if isinstance(main, TraceTask):
        columns, rows = main.shape
        if columns != air.main_width or rows & (rows - 1) or not rows:
            raise ValueError(f"{what}: its trace task gives {main.shape}; expected ({air.main_width}, a power of two)")
        return main
    if not _is_on_gpu(main):
        return as_columns(main, air.main_width, what)
    if main.dtype != np.uint64 or main.ndim != 2 or main.shape[0] != air.main_width or not main.flags.c_contiguous:
        raise ValueError(f"{what}: {main.dtype} {main.shape}; expected contiguous uint64 ({air.main_width}, rows)")
    if main.shape[1] & (main.shape[1] - 1) or not main.shape[1]:
        raise ValueError(f"{what}: {main.shape[1]} rows; the number of rows must be a power of two")
    return main


def _is_on_gpu(array: Any) -> TypeGuard[Any]:
    return hasattr(array, "__cuda_array_interface__")
