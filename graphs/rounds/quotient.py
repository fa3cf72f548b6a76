"""Round 3: every table's constraints over its vanishing polynomial, in chunks, extended and committed together."""

from collections.abc import Mapping, Sequence

from graphprover.air.description import AirDescription
from graphprover.device import Device
from graphprover.graphs.builder import Graph, Node
from graphprover.graphs.rounds.commit import Commitment, Extension, Extensions, commit
from graphprover.graphs.rounds.transcript import Drawn
from graphprover.kernels.operands import Operands
from graphprover.protocol.layout import QUOTIENT, Layout

QUOTIENT_CHUNKS = "quotient"


def quotient_chunks(
    device: Device,
    main: Extensions,
    preprocessed: Extensions | None,
    lookups: Extensions | None,
    lookup_challenges: Drawn,
    constraint_challenge: Drawn,
    *,
    airs: Mapping[int, AirDescription],
    public_values: Sequence[Sequence[int]],
    log_blowup: int,
) -> Extensions:
    """Compute the quotients from the first blocks of the resident extensions, and extend their chunks."""
    operands = []
    for table, air in airs.items():
        preprocessed_extension, lookup_extension = (preprocessed or {}).get(table), (lookups or {}).get(table)
        operands.append(
            Operands(
                air,
                main[table].columns,
                None if preprocessed_extension is None else preprocessed_extension.columns,
                public_values[table],
                lookup_challenges.challenge.prefixes[table],
                None if lookup_extension is None else lookup_extension.columns,
                None if lookup_extension is None else lookup_extension.terminal,
            )
        )
    tau, alpha = lookup_challenges.challenge.tau, constraint_challenge.challenge
    quotients = device.quotient(operands, tau, alpha, log_blowup)
    extended = device.extend_chunks(quotients, [air.log_quotient_chunks for air in airs.values()], log_blowup)
    return {table: Extension(chunks) for table, chunks in zip(airs, extended, strict=True)}


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
    """Return the commitment to the quotient chunks of all tables."""
    extensions = {
        batch.name: graph.task(
            QUOTIENT_CHUNKS,
            batch.name,
            quotient_chunks,
            main.extensions[batch.name],
            None if preprocessed is None else preprocessed.extensions.get(batch.name),
            None if lookup is None else lookup.extensions.get(batch.name),
            lookup_challenges,
            constraint_challenge,
            airs={table: layout.tables[table] for table in batch.tables},
            public_values=public_values,
            log_blowup=layout.parameters.log_blowup,
        )
        for batch in graph.batches
    }
    return commit(graph, layout, QUOTIENT, extensions)
