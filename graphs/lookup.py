"""Round 2: the LogUp columns of every table with lookups, from its trace; extended, and committed together."""

from collections.abc import Sequence

from graphprover.air.description import AirDescription
from graphprover.device import Array, Device
from graphprover.graphs.commit import Commitment, Extension, commit
from graphprover.graphs.tasks import Graph, Node
from graphprover.graphs.transcript import Drawn
from graphprover.protocol.layout import PERMUTATION, Layout


def lookup_columns(
    device: Device,
    main: Array,
    preprocessed: Array | None,
    drawn: Drawn,
    *,
    table: int,
    air: AirDescription,
    public_values: Sequence[int],
    log_blowup: int,
) -> Extension:
    """Fingerprints, inverses, fractions and running sum on the trace; then their extension, and their terminal."""
    prefixes, beta = drawn.challenge.prefixes[table], drawn.challenge.beta
    columns, terminal = device.lookup_columns(air, main, preprocessed, public_values, prefixes, beta)
    return Extension(device.extend(columns, log_blowup), terminal)


def build(
    graph: Graph,
    layout: Layout,
    main: dict[int, Node],
    preprocessed: dict[int, Node],
    public_values: Sequence[Sequence[int]],
    challenges: Node,
) -> Commitment | None:
    """The commitment to all lookup columns, or None when no table has lookups."""
    if not layout.lookup_tables:
        return None
    extensions = {
        table: graph.task(
            "lookup",
            graph.table(layout, table),
            lookup_columns,
            main[table],
            preprocessed.get(table),
            challenges,
            table=table,
            air=layout.tables[table],
            public_values=public_values[table],
            log_blowup=layout.parameters.log_blowup,
        )
        for table in layout.lookup_tables
    }
    return commit(graph, layout, PERMUTATION, extensions)
