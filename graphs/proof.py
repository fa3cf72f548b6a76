"""A whole proof as one graph: the rounds in order, and the transcript between them."""

from collections.abc import Sequence

from dask.delayed import Delayed

from graphprover.device import Array
from graphprover.graphs import commit, fri, lookup, opening, query, quotient, trace, transcript
from graphprover.graphs.tasks import Graph, Node
from graphprover.graphs.transcript import BATCHING, BEGIN, CONSTRAINT, LOOKUP, QUERIES, TRANSCRIPT, ZETA
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, Layout


def build(
    graph: Graph,
    layout: Layout,
    label: str,
    main: dict[int, Array],
    preprocessed: dict[int, Array],
    public_values: Sequence[Sequence[int]],
) -> Delayed:
    """The task whose value is `query.Proven`: the proof of these traces (columns, rows), given by table."""

    def step(name: str, function, *inputs, **fixed) -> Node:  # type: ignore[no-untyped-def]
        return graph.task(TRANSCRIPT, name, function, *inputs, **fixed)

    # Round 0: load or make the traces.
    main_columns = trace.build(graph, layout, MAIN, main)
    preprocessed_columns = trace.build(graph, layout, PREPROCESSED, preprocessed)

    # Round 1: commit to them.
    commitments = {MAIN: commit.build(graph, layout, MAIN, main_columns)}
    if preprocessed:
        commitments[PREPROCESSED] = commit.build(graph, layout, PREPROCESSED, preprocessed_columns)
    preprocessed_commitment = commitments.get(PREPROCESSED)
    begun = step(
        BEGIN,
        transcript.begin,
        commitments[MAIN].tree,
        None if preprocessed_commitment is None else preprocessed_commitment.tree,
        layout=layout,
        label=label,
        public_values=public_values,
    )
    drawn = {LOOKUP: step(LOOKUP, transcript.lookup_challenges, begun, layout=layout)}

    # Round 2: lookups.
    lookups = lookup.build(graph, layout, main_columns, preprocessed_columns, public_values, drawn[LOOKUP])
    if lookups is not None:
        commitments[PERMUTATION] = lookups
    drawn[CONSTRAINT] = step(
        CONSTRAINT,
        transcript.constraint_challenge,
        drawn[LOOKUP],
        None if lookups is None else lookups.tree,
        [] if lookups is None else list(lookups.extensions.values()),
    )

    # Round 3: quotients.
    commitments[QUOTIENT] = quotient.build(
        graph,
        layout,
        commitments[MAIN],
        preprocessed_commitment,
        lookups,
        drawn[LOOKUP],
        drawn[CONSTRAINT],
        public_values,
    )
    drawn[ZETA] = step(ZETA, transcript.zeta, drawn[CONSTRAINT], commitments[QUOTIENT].tree, layout=layout)

    # Round 4: openings.
    opened = opening.build_openings(graph, layout, commitments, drawn[ZETA])
    drawn[BATCHING] = step(BATCHING, transcript.batching_challenge, drawn[ZETA], list(opened.values()), layout=layout)

    # Round 5: one codeword for each height.
    codewords = opening.build_codewords(graph, layout, commitments, opened, drawn[ZETA], drawn[BATCHING])

    # Round 6: FRI.
    folded = fri.build(graph, layout, codewords, drawn[BATCHING])
    drawn[QUERIES] = step(QUERIES, transcript.queries, folded.drawn, folded.final_polynomial, layout=layout)

    # Round 7: queries, and the proof.
    return graph.delayed(query.build(graph, layout, commitments, opened, folded, drawn))
