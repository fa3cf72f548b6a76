"""Round 2: the LogUp columns of every table with lookups, from its trace, extended and committed together."""

from collections.abc import Mapping, Sequence

from graphprover.air.description import AirDescription
from graphprover.device import Array, Device
from graphprover.graphs.builder import Graph, Node
from graphprover.graphs.rounds.commit import Commitment, Extension, Extensions, commit
from graphprover.graphs.rounds.transcript import Drawn
from graphprover.kernels.operands import Operands
from graphprover.protocol.layout import PERMUTATION, Layout

LOOKUP = "lookup"


def lookup_columns(
    device: Device,
    main: dict[int, Array],
    preprocessed: dict[int, Array],
    drawn: Drawn,
    *,
    airs: Mapping[int, AirDescription],
    public_values: Sequence[Sequence[int]],
    log_blowup: int,
) -> Extensions:
    """Compute fingerprints, inverses, fractions and running sum on each trace; return their extension and terminal."""
    prefixes, tau = drawn.challenge.prefixes, drawn.challenge.tau
    made = device.lookup_columns(
        [
            Operands(air, main[table], preprocessed.get(table), public_values[table], prefixes[table])
            for table, air in airs.items()
        ],
        tau,
    )
    extended = device.extend([columns for columns, _ in made], log_blowup)
    return {
        table: Extension(columns, terminal) for table, columns, (_, terminal) in zip(airs, extended, made, strict=True)
    }


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
    extensions = {}
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
            )
    return commit(graph, layout, PERMUTATION, extensions)
