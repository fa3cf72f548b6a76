"""Round 3: every table's constraints over its vanishing polynomial, in chunks; extended, and committed together."""

from collections.abc import Sequence

from graphprover.air.description import AirDescription
from graphprover.device import Device
from graphprover.graphs.commit import Commitment, Extension, commit
from graphprover.graphs.tasks import Graph, Node
from graphprover.graphs.transcript import Drawn
from graphprover.protocol.layout import QUOTIENT, Layout


def quotient_chunks(
    device: Device,
    main: Extension,
    preprocessed: Extension | None,
    lookup: Extension | None,
    lookup_challenges: Drawn,
    constraint_challenge: Drawn,
    *,
    table: int,
    air: AirDescription,
    public_values: Sequence[int],
    log_blowup: int,
) -> Extension:
    """The quotient on the first blocks of the resident extensions, split into chunks, and those extended."""
    quotient = device.quotient(
        air,
        main.columns,
        None if preprocessed is None else preprocessed.columns,
        None if lookup is None else lookup.columns,
        public_values,
        lookup_challenges.challenge.prefixes[table],
        lookup_challenges.challenge.beta,
        constraint_challenge.challenge,
        None if lookup is None else lookup.terminal,
        log_blowup,
    )
    return Extension(device.extend_chunks(quotient, air.log_quotient_chunks, log_blowup))


def build(
    graph: Graph,
    layout: Layout,
    main: Commitment,
    preprocessed: Commitment | None,
    lookup: Commitment | None,
    lookup_challenges: Node,
    constraint_challenge: Node,
    public_values: Sequence[Sequence[int]],
) -> Commitment:
    """The commitment to the quotient chunks of all tables."""
    extensions = {
        table: graph.task(
            "quotient",
            graph.table(layout, table),
            quotient_chunks,
            main.extensions[table],
            None if preprocessed is None else preprocessed.extensions.get(table),
            None if lookup is None else lookup.extensions.get(table),
            lookup_challenges,
            constraint_challenge,
            table=table,
            air=air,
            public_values=public_values[table],
            log_blowup=layout.parameters.log_blowup,
        )
        for table, air in enumerate(layout.tables)
    }
    return commit(graph, layout, QUOTIENT, extensions)
