"""Round 2: the LogUp columns of every table with lookups, from its trace, extended and committed together.

A batch that does not hold extensions holds the columns on the trace, or the inputs to recompute them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from graphprover.air.description import AirDescription
from graphprover.device import Array, Device
from graphprover.field import Ext
from graphprover.graphs.batches import Hold
from graphprover.graphs.builder import Graph, Node
from graphprover.graphs.rounds.commit import Commitment, Extension, Extensions, Nodes, commit
from graphprover.graphs.rounds.transcript import Drawn
from graphprover.kernels.operands import Operands, Unextended
from graphprover.protocol.layout import PERMUTATION, Layout
from graphprover.protocol.proof import WORD_BYTES

LOOKUP = "lookup"
TURN_BYTES = 1 << 30  # of columns on the trace that exist together until they are extended, unless one table has more


def lookup_columns(
    device: Device,
    main: dict[int, Array],
    preprocessed: dict[int, Array],
    drawn: Drawn,
    *,
    airs: Mapping[int, AirDescription],
    public_values: Sequence[Sequence[int]],
    log_blowup: int,
    hold: Hold,
) -> Extensions:
    """Compute fingerprints, inverses, fractions and running sum on each trace; return their extension and terminal."""
    prefixes, tau = drawn.challenge.prefixes, drawn.challenge.tau
    operands = {
        table: Operands(air, main[table], preprocessed.get(table), public_values[table], prefixes[table])
        for table, air in airs.items()
    }
    if hold == Hold.MAIN:
        return {table: _recomputed(device, of_table, tau, log_blowup) for table, of_table in operands.items()}
    if hold == Hold.TRACES:
        made = device.lookup_columns(list(operands.values()), tau)
        return {
            table: Extension(Unextended.of(columns, log_blowup), terminal)
            for table, (columns, terminal) in zip(airs, made, strict=True)
        }
    extended = [
        extension
        for turn in turns((table, of_table.main.shape[1], of_table.air) for table, of_table in operands.items())
        for extension in _extended(device, [operands[table] for table in turn], tau, log_blowup)
    ]
    return dict(zip(airs, extended, strict=True))


def turns(tables: Iterable[tuple[int, int, AirDescription]]) -> Iterator[list[int]]:
    """Yield consecutive tables with at most `TURN_BYTES` of lookup columns, or one table with more.

    Args:
        tables: Tables with their number of rows and their AIR.
    """
    turn, bytes_ = list[int](), 0
    for table, rows, air in tables:
        of_table = air.permutation_width * rows * WORD_BYTES
        if turn and bytes_ + of_table > TURN_BYTES:
            yield turn
            turn, bytes_ = [], 0
        turn.append(table)
        bytes_ += of_table
    if turn:
        yield turn


def _extended(device: Device, operands: Sequence[Operands], tau: Ext, log_blowup: int) -> list[Extension]:
    """Return the extensions of some tables' lookup columns with their terminals."""
    made = device.lookup_columns(operands, tau)
    extended = device.extend([columns for columns, _ in made], log_blowup)
    return [Extension(columns, terminal) for columns, (_, terminal) in zip(extended, made, strict=True)]


def _recomputed(device: Device, operands: Operands, tau: Ext, log_blowup: int) -> Extension:
    """Return the terminal of a table, whose columns each use recomputes."""
    columns, terminal = device.lookup_columns([operands], tau)[0]
    width, rows = columns.shape
    recompute = partial(_columns_again, device, replace(operands, terminal=terminal), tau)
    return Extension(Unextended(width, rows << log_blowup, log_blowup, recompute, in_memory=False), terminal)


def _columns_again(device: Device, operands: Operands, tau: Ext) -> Array:
    return device.lookup_columns([operands], tau)[0][0]


def build(
    graph: Graph,
    layout: Layout,
    main: dict[int, Node],
    preprocessed: dict[int, Node],
    public_values: Sequence[Sequence[int]],
    challenges: Node,
) -> Commitment | None:
    """Return the commitment to all lookup columns, or None if no table has lookups."""
    if not layout.lookup_tables:
        return None
    extensions: dict[str, Nodes] = {}
    for batch in graph.batches:
        tables = [table for table in batch.tables if table in layout.lookup_tables]
        if tables:
            extensions[batch.name] = graph.task(
                LOOKUP,
                batch.name,
                lookup_columns,
                {table: main[table] for table in tables},
                {table: preprocessed[table] for table in tables if table in preprocessed},
                challenges,
                airs={table: layout.tables[table] for table in tables},
                public_values=public_values,
                log_blowup=layout.parameters.log_blowup,
                hold=batch.hold,
            )
    return commit(graph, layout, PERMUTATION, extensions)
