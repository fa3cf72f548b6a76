"""The graph of a proof: the rounds in order, with the transcript between them.

An unsharded proof is one graph. A shard has two, because its lookup challenges depend on the commitments of all shards:
`committing` runs up to its digest. `finishing` is the whole graph again. In it, cached results replace their tasks and
unneeded tasks are pruned. Anything not cached is recomputed and must give the same digest, so the cache may be empty.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from dask.delayed import Delayed

from graphprover.device import Array, Device
from graphprover.graphs.builder import Graph, Node
from graphprover.graphs.rounds import commit, fri, lookup, opening, query, quotient, separation, trace, transcript
from graphprover.graphs.rounds.commit import Commitment
from graphprover.graphs.rounds.separation import Separation
from graphprover.graphs.rounds.transcript import BATCHING, BEGIN, CONSTRAINT, DIGEST, LOOKUP, QUERIES, TRANSCRIPT, ZETA
from graphprover.graphs.task_keys import Key
from graphprover.protocol.challenger import Challenger
from graphprover.protocol.joint import Joint, digest_of
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, Layout
from graphprover.statement.trace_task import TraceTask

Traces = Mapping[int, Array | TraceTask]  # (columns, rows), by table


class Keep(IntEnum):
    """The values of a shard that a device caches until all have committed; each level includes the earlier ones."""

    NOTHING = 0  # everything is recomputed and must give the same digest
    TREES = 1  # few bytes that save much hashing
    TRACES = 2
    ALL = 3  # extensions, most of the bytes


@dataclass(frozen=True)
class Begun:
    """The tasks of rounds 0 and 1."""

    main_columns: dict[int, Node]  # by table
    preprocessed_columns: dict[int, Node]  # by table
    commitments: dict[str, Commitment]  # by round: main, and preprocessed if there are such columns
    state: Node  # Challenger before σ and τ are drawn
    separation: Separation | None  # of a shard

    def cached_nodes(self, layout: Layout, keep: Keep) -> list[Node]:
        """Return the tasks whose values are cached at a level of `Keep`, if later rounds need them."""
        cached = []
        if keep >= Keep.TREES:
            cached += self.separation.nodes if self.separation else [self.state]
            cached += [commitment.tree for commitment in self.commitments.values()]
        if keep >= Keep.TRACES:
            # If extensions are cached, lookups still read traces; so do all rounds, for batches without extensions.
            main, preprocessed = self.main_columns, self.preprocessed_columns
            if keep == Keep.ALL:
                held = [batch for batch in self.commitments[MAIN].extensions.values() if isinstance(batch, dict)]
                main = {table: main[table] for table in {*layout.lookup_tables}.union(*held)}
                preprocessed = {table: preprocessed[table] for table in preprocessed if table in layout.lookup_tables}
            cached += [*main.values(), *preprocessed.values()]
        if keep >= Keep.ALL:
            for commitment in self.commitments.values():
                cached += [node for node in commitment.extensions.values() if not isinstance(node, dict)]
        return cached


@dataclass(frozen=True)
class Committed:
    """The result of `committing`; `finishing` consumes it."""

    digest: bytes  # of everything that its transcript absorbed
    cached: dict[Key, Any]  # values by task key


def build(
    graph: Graph,
    layout: Layout,
    label: str,
    main: Traces,
    preprocessed: Mapping[int, Array],
    public_values: Sequence[Sequence[int]],
) -> Delayed:
    """Return the task whose value is `query.Proven`, the proof of these traces, given by table."""
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
    """Return the task whose value is the `Committed` of a shard."""
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
    """Return the task of a shard's `query.Proven`, once all have committed; ``nonce``: of the joint draw."""
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
    """Return the cached values of a shard with its digest."""
    return Committed(digest_of(state), dict(zip(keys, values, strict=True)))


def begin(
    graph: Graph,
    layout: Layout,
    label: str,
    main: Traces,
    preprocessed: Mapping[int, Array],
    public_values: Sequence[Sequence[int]],
) -> Begun:
    """Add rounds 0 and 1; raises ValueError unless the graph and the layout both are of a shard, or neither is."""
    if (graph.shard is not None) != layout.shard:
        raise ValueError("a shard needs a layout of a shard, and another proof needs one without shards")
    # Round 0: load or generate the traces.
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
    if not layout.shard:
        return Begun(main_columns, preprocessed_columns, commitments, state, None)
    separated = separation.build(graph, layout, commitments[MAIN], state)
    return Begun(main_columns, preprocessed_columns, commitments, separated.state, separated)


def finish(
    graph: Graph, layout: Layout, begun: Begun, public_values: Sequence[Sequence[int]], challenges: Node
) -> Node:
    """Add the other rounds from the `Drawn` challenges of the lookups; return the task of `query.Proven`."""

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
    separated = begun.separation
    opened = opening.build_openings(graph, layout, commitments, drawn[ZETA], separated.values if separated else {})
    drawn[BATCHING] = step(BATCHING, transcript.batching_challenge, drawn[ZETA], list(opened.values()), layout=layout)

    # Round 5: one codeword for each height.
    separating = separated.point if separated else None
    codewords = opening.build_codewords(graph, layout, commitments, opened, drawn[ZETA], separating, drawn[BATCHING])

    # Round 6: FRI.
    folded = fri.build(graph, layout, codewords, drawn[BATCHING])
    drawn[QUERIES] = step(QUERIES, transcript.queries, folded.drawn, folded.final_polynomial, layout=layout)

    # Round 7: queries, and the proof.
    return query.build(graph, layout, commitments, opened, folded, drawn)
