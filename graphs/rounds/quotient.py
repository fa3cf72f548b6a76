"""Round 3: every table's constraints over its vanishing polynomial, in chunks, extended and committed together."""

from collections.abc import Iterator, Mapping, Sequence

from graphprover.air.description import AirDescription
from graphprover.device import Array, Device
from graphprover.graphs.batches import Hold
from graphprover.graphs.builder import Graph, Node
from graphprover.graphs.rounds.commit import (
    Columns,
    Commitment,
    Extension,
    Extensions,
    Nodes,
    commit,
    extensions_of,
)
from graphprover.graphs.rounds.transcript import Drawn
from graphprover.kernels.operands import Operands
from graphprover.protocol.layout import QUOTIENT, Layout

QUOTIENT_CHUNKS = "quotient"


def quotient_chunks(
    device: Device,
    main: Columns,
    preprocessed: Extensions | None,
    lookups: Extensions | None,
    lookup_challenges: Drawn,
    constraint_challenge: Drawn,
    *,
    airs: Mapping[int, AirDescription],
    public_values: Sequence[Sequence[int]],
    log_blowup: int,
    hold: Hold,
) -> Extensions:
    """Compute the quotients from the first blocks of the resident extensions, and extend their chunks.

    Tables without resident extensions take turns, because each needs its columns extended.
    """
    extensions = extensions_of(main, log_blowup)

    def operands(table: int) -> Operands:
        preprocessed_extension, lookup_extension = (preprocessed or {}).get(table), (lookups or {}).get(table)
        return Operands(
            airs[table],
            extensions[table].read(),
            None if preprocessed_extension is None else preprocessed_extension.columns,
            public_values[table],
            lookup_challenges.challenge.prefixes[table],
            None if lookup_extension is None else lookup_extension.read(),
            None if lookup_extension is None else lookup_extension.terminal,
            hold == Hold.EXTENSIONS,
        )

    def chunks(tables: Sequence[int]) -> Iterator[Array]:
        tau, alpha = lookup_challenges.challenge.tau, constraint_challenge.challenge
        quotients = device.quotient([operands(table) for table in tables], tau, alpha, log_blowup)
        yield from device.extend_chunks(quotients, [airs[table].log_quotient_chunks for table in tables], log_blowup)

    turns = [list(airs)] if hold == Hold.EXTENSIONS else [[table] for table in airs]
    return {
        table: Extension(of_table) for tables in turns for table, of_table in zip(tables, chunks(tables), strict=True)
    }


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
    extensions: dict[str, Nodes] = {
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
            hold=batch.hold,
        )
        for batch in graph.batches
    }
    return commit(graph, layout, QUOTIENT, extensions)
