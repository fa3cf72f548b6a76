"""A proof as a graph: the rounds in order, and the transcript between them.

A whole proof is one graph. A shard of one is two, for its lookup challenges come from what all shards commit to: first
`committing` up to its digest, then `finishing`, the whole graph again, in which tasks whose values were kept take them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from dask.delayed import Delayed

from graphprover.device import Array, Device
from graphprover.graphs.builder import Graph, Node
from graphprover.graphs.rounds import commit, fri, lookup, opening, query, quotient, trace, transcript
from graphprover.graphs.rounds.commit import Commitment
from graphprover.graphs.rounds.transcript import BATCHING, BEGIN, CONSTRAINT, DIGEST, LOOKUP, QUERIES, TRANSCRIPT, ZETA
from graphprover.graphs.task_keys import Key
from graphprover.protocol.challenger import Challenger
from graphprover.protocol.joint import Joint, digest_of
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, Layout
from graphprover.statement.trace_task import TraceTask

Traces = Mapping[int, Array | TraceTask]  # (columns, rows), by table


class Keep(IntEnum):
    """What a device keeps of a shard until all have committed; each keeps what those before it do."""

    NOTHING = 0  # the shard is begun again, and must have the same digest
    TREES = 1  # few bytes, and much hashing that is not done again
    TRACES = 2
    ALL = 3  # the extensions, which are most of the bytes


@dataclass(frozen=True)
class Begun:
    """Rounds 0 and 1 as tasks."""

    main_columns: dict[int, Node]  # by table
    preprocessed_columns: dict[int, Node]  # by table
    commitments: dict[str, Commitment]  # by round: main and, where there are such columns, preprocessed
    state: Node  # Challenger: the transcript where σ and τ are to be drawn

    def cached_nodes(self, layout: Layout, keep: Keep) -> list[Node]:
        """The tasks whose values `Keep` says, where the other rounds need them."""
        cached = []
        if keep >= Keep.TREES:
            cached += [self.state, *(commitment.tree for commitment in self.commitments.values())]
        if keep >= Keep.TRACES:
            for columns in (self.main_columns, self.preprocessed_columns):
                cached += [node for table, node in columns.items() if keep < Keep.ALL or table in layout.lookup_tables]
        if keep >= Keep.ALL:
            cached += [node for commitment in self.commitments.values() for node in commitment.extensions.values()]
        return cached


@dataclass(frozen=True)
class Committed:
    """What a shard leaves until all have committed; it is used up by `finishing`."""

    digest: bytes  # of all that its transcript has absorbed
    cached: dict[Key, Any]  # values by the keys of their tasks


def build(
    graph: Graph,
    layout: Layout,
    label: str,
    main: Traces,
    preprocessed: Mapping[int, Array],
    public_values: Sequence[Sequence[int]],
) -> Delayed:
    """The task whose value is `query.Proven`: the proof of these traces, given by table."""
    begun = begin(graph, layout, label, main, preprocessed, public_values)
    challenges = graph.task(TRANSCRIPT, LOOKUP, transcript.lookup_challenges, begun.state, layout=layout)
    return graph.delayed(finish(graph, layout, begun, public_values, challenges))


def committing(
    graph: Graph,
    layout: Layout,
    label: str,
    main: Traces,
    preprocessed: Mapping[int, Array],
    public_values: Sequence[Sequence[int]],
    *,
    keep: Keep,
) -> Delayed:
    """The task whose value is what a shard has `Committed` to."""
    begun = begin(graph, layout, label, main, preprocessed, public_values)
    cached = begun.cached_nodes(layout, keep)
    keys = [node.key for node in cached]
    return graph.delayed(graph.task(TRANSCRIPT, DIGEST, committed, begun.state, cached, keys=keys))


def finishing(
    graph: Graph,
    layout: Layout,
    label: str,
    main: Traces,
    preprocessed: Mapping[int, Array],
    public_values: Sequence[Sequence[int]],
    *,
    joint: Joint,
    nonce: int,
) -> Delayed:
    """The task whose value is `query.Proven` of a shard, once all have committed; ``nonce``: of the joint draw."""
    begun = begin(graph, layout, label, main, preprocessed, public_values)
    challenges = graph.task(
        TRANSCRIPT,
        LOOKUP,
        transcript.joint_lookup_challenges,
        begun.state,
        layout=layout,
        shard=graph.shard,
        joint=joint,
        nonce=nonce,
    )
    return graph.delayed(finish(graph, layout, begun, public_values, challenges))


def committed(device: Device, state: Challenger, values: Sequence[Any], *, keys: Sequence[Key]) -> Committed:
    """What is kept of a shard, with its digest."""
    return Committed(digest_of(state), dict(zip(keys, values, strict=True)))


def begin(
    graph: Graph,
    layout: Layout,
    label: str,
    main: Traces,
    preprocessed: Mapping[int, Array],
    public_values: Sequence[Sequence[int]],
) -> Begun:
    """Rounds 0 and 1."""
    # Round 0: load or make the traces.
    main_columns = trace.build(graph, layout, MAIN, main)
    preprocessed_columns = trace.build(graph, layout, PREPROCESSED, preprocessed)

    # Round 1: commit to them.
    commitments = {MAIN: commit.build(graph, layout, MAIN, main_columns)}
    if preprocessed:
        commitments[PREPROCESSED] = commit.build(graph, layout, PREPROCESSED, preprocessed_columns)
    state = graph.task(
        TRANSCRIPT,
        BEGIN,
        transcript.begin,
        commitments[MAIN].tree,
        commitments[PREPROCESSED].tree if preprocessed else None,
        layout=layout,
        label=label,
        public_values=public_values,
        shard=graph.shard,
    )
    return Begun(main_columns, preprocessed_columns, commitments, state)


def finish(
    graph: Graph, layout: Layout, begun: Begun, public_values: Sequence[Sequence[int]], challenges: Node
) -> Node:
    """The other rounds, from the `Drawn` challenges of the lookups: `query.Proven`."""

    def step(name: str, function, *inputs, **fixed) -> Node:  # type: ignore[no-untyped-def]
        return graph.task(TRANSCRIPT, name, function, *inputs, **fixed)

    commitments, drawn = dict(begun.commitments), {LOOKUP: challenges}

    # Round 2: lookups.
    lookups = lookup.build(graph, layout, begun.main_columns, begun.preprocessed_columns, public_values, drawn[LOOKUP])
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
        commitments.get(PREPROCESSED),
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
    return query.build(graph, layout, commitments, opened, folded, drawn)
