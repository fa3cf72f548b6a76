"""Round 2: the LogUp columns of every table with lookups, from its trace; extended, and committed together."""

from collections.abc import Sequence

import numpy as np
from dask.delayed import Delayed

from graphprover.air.description import AirDescription
from graphprover.device import Device
from graphprover.graphs.commit import Commitment, Extension, commit
from graphprover.graphs.tasks import Graph
from graphprover.graphs.transcript import Drawn
from graphprover.protocol.layout import PERMUTATION, Layout


def lookup_columns(
    device: Device,
    drawn: Drawn,
    *,
    table: int,
    air: AirDescription,
    main: np.ndarray,
    preprocessed: np.ndarray | None,
    public_values: Sequence[int],
    log_blowup: int,
) -> Extension:
    """Fingerprints, inverses, fractions and running sum on the trace; then their extension, and their terminal."""
    prefixes, beta = drawn.challenge.prefixes[table], drawn.challenge.beta
    fixed = None if preprocessed is None else device.load(preprocessed)
    columns, terminal = device.lookup_columns(air, device.load(main), fixed, public_values, prefixes, beta)
    return Extension(device.extend(columns, log_blowup), terminal)


def build(
    graph: Graph,
    layout: Layout,
    main: dict[int, np.ndarray],
    preprocessed: dict[int, np.ndarray],
    public_values: Sequence[Sequence[int]],
    challenges: Delayed,
) -> Commitment | None:
    """The commitment to all lookup columns, or None when no table has lookups."""
    if not layout.lookup_tables:
        return None
    extensions = {
        table: graph.task(
            "lookup",
            graph.table(layout, table),
            lookup_columns,
            challenges,
            table=table,
            air=layout.tables[table],
            main=main[table],
            preprocessed=preprocessed.get(table),
            public_values=public_values[table],
            log_blowup=layout.parameters.log_blowup,
        )
        for table in layout.lookup_tables
    }
    return commit(graph, layout, PERMUTATION, extensions)
