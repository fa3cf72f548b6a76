"""Round 7: the queried rows and Merkle paths of every commitment, and the assembled proof."""

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.device import Array, Device, Tree
from graphprover.field import Ext
from graphprover.graphs.batches import merged
from graphprover.graphs.builder import Graph, Node
from graphprover.graphs.rounds.commit import Columns, Commitment, Extensions, extensions_of
from graphprover.graphs.rounds.fri import FriRound
from graphprover.graphs.rounds.transcript import BATCHING, LOOKUP, QUERIES, ZETA, Drawn
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, Layout
from graphprover.protocol.merkle import siblings_of
from graphprover.protocol.proof import BatchProof, Cap, FoldQueries, RoundQueries, TableOpenings, array_to_words

QUERY, PROOF = "query", "query_proof"


@dataclass(frozen=True)
class Opened:
    """The caps, rows and paths that the prover reads from its trees and matrices."""

    caps: dict[str, Cap]  # by round
    fold_caps: tuple[Cap, ...]
    rounds: tuple[RoundQueries, ...]
    folds: tuple[FoldQueries, ...]

    def __sizeof__(self) -> int:
        """Return the bytes, for Dask; everything is small."""
        return len(pickle.dumps(self))


@dataclass(frozen=True)
class Proven:
    """The result of the graph."""

    proof: BatchProof  # everything that the prover sends
    preprocessed_cap: Cap | None  # known to the prover; every verifier computes it

    def __sizeof__(self) -> int:
        """Return the bytes, for Dask; everything is small."""
        return len(pickle.dumps(self))


def multiproof(indices: np.ndarray, log_leaves: int) -> np.ndarray:
    """Return the numbers (int64) of the siblings in `graphprover.protocol.merkle.TreeLayer.sent`, from the leaves up.

    Nodes are numbered as in a heap: the n nodes of a layer are n ... 2 n - 1, and node i has the children 2 i and 2 i +
    1. So the siblings in a lower tree opened at the same queries are a suffix of the result.
    """
    nodes = np.unique(indices) + (1 << log_leaves)
    sent = [nodes[:0]]
    for _ in range(log_leaves):
        first, alone = siblings_of(nodes)
        sent.append(nodes[alone] ^ 1)
        nodes = nodes[first] >> 1
    return np.concatenate(sent)


def others_of_groups(indices: np.ndarray, log_arity: int) -> np.ndarray:
    """Return the indices of the other elements in the groups of 2^log_arity elements of some elements, in order."""
    groups = (indices >> log_arity << log_arity)[:, None] + np.arange(1 << log_arity)
    return groups[groups != indices[:, None]]


def queries(
    device: Device,
    columns: Sequence[Sequence[Columns]],
    trees: Sequence[Tree],
    codewords: Sequence[Array],
    fold_trees: Sequence[Tree],
    drawn: Drawn,
    *,
    layout: Layout,
) -> Opened:
    """Read the queried rows, the siblings in the folds' groups, all multiproofs and all caps at once.

    ``columns`` and ``trees`` are in the order of ``layout.rounds``; the columns of a round are by batch.
    """
    indices = np.array(drawn.challenge, dtype=np.int64)
    at = {log_rows: indices >> (layout.log_max_rows - log_rows) for log_rows in range(layout.log_max_rows + 1)}
    log_blowup = layout.parameters.log_blowup
    blocks = [
        [
            (extension.columns, at[layout.log_heights[table] + log_blowup])
            for table, extension in merged([extensions_of(batch, log_blowup) for batch in batches]).items()
        ]
        for batches in columns
    ]
    folds = list(zip(layout.fold_log_arities, layout.folded_log_heights, strict=True))
    for codeword, (log_arity, log_rows) in zip(codewords, folds, strict=True):
        blocks.append([(codeword, others_of_groups(at[log_rows + log_arity], log_arity))])

    log_leaves = [*(round_.log_rows for round_ in layout.rounds), *layout.folded_log_heights]
    caps = [1 << layout.cap_log_size(log_rows) for log_rows in log_leaves]
    siblings = multiproof(indices, layout.log_max_rows)
    nodes = [
        np.concatenate([siblings[(siblings >= 2 * cap) & (siblings < 2 << log_rows)], np.arange(cap, 2 * cap)])
        for log_rows, cap in zip(log_leaves, caps, strict=True)
    ]
    rows, digests = device.gather(blocks, list(zip([*trees, *fold_trees], nodes, strict=True)))
    opened = [(array_to_words(read[:-cap]), _split(read[-cap:])) for read, cap in zip(digests, caps, strict=True)]
    rounds = len(layout.rounds)
    return Opened(
        caps={round_.name: cap for round_, (_, cap) in zip(layout.rounds, opened, strict=False)},
        fold_caps=tuple(cap for _, cap in opened[rounds:]),
        rounds=tuple(
            RoundQueries(round_.widths, np.ascontiguousarray(words, dtype="<u8").data.cast("B"), path)
            for round_, words, (path, _) in zip(layout.rounds, rows, opened, strict=False)
        ),
        folds=tuple(
            FoldQueries((1 << log_arity) - 1, array_to_words(words), path)
            for (log_arity, _), words, (path, _) in zip(folds, rows[rounds:], opened[rounds:], strict=True)
        ),
    )


def _split(rows: np.ndarray) -> tuple[bytes, ...]:
    """Return the bytes of each row."""
    words, size = array_to_words(rows), rows.shape[1] * rows.itemsize
    return tuple([words[first : first + size] for first in range(0, len(words), size)])


def assemble(
    device: Device,
    opened: Opened,
    lookups: Sequence[Extensions],
    openings: Sequence[Mapping[int, TableOpenings]],
    final_polynomial: tuple[Ext, ...],
    drawn: dict[str, Drawn],
    fold_drawn: Sequence[Drawn],
    *,
    layout: Layout,
) -> Proven:
    """Assemble the proof."""
    terminals = {table: columns.terminal for table, columns in merged(lookups).items()}
    proof = BatchProof(
        main_cap=opened.caps[MAIN],
        permutation_cap=opened.caps.get(PERMUTATION),
        quotient_cap=opened.caps[QUOTIENT],
        openings=tuple(merged(openings).values()),
        batch_nonce=drawn[BATCHING].nonce,
        fold_caps=opened.fold_caps,
        fold_nonces=tuple(fold.nonce for fold in fold_drawn),
        round_queries=opened.rounds,
        fold_queries=opened.folds,
        final_polynomial=final_polynomial,
        query_nonce=drawn[QUERIES].nonce,
        terminals=tuple(terminals.get(table) for table in range(len(layout.tables))),
        log_heights=layout.log_heights,
        lookup_nonce=drawn[LOOKUP].nonce if layout.lookup_tables else None,
        zeta_nonce=drawn[ZETA].nonce,
    )
    return Proven(proof, opened.caps.get(PREPROCESSED))


def build(
    graph: Graph,
    layout: Layout,
    commitments: dict[str, Commitment],
    openings: dict[str, Node],
    fri: FriRound,
    drawn: dict[str, Node],
) -> Node:
    """Return the task of the whole proof."""
    rounds = [commitments[round_.name] for round_ in layout.rounds]
    opened = graph.task(
        QUERY,
        "all",
        queries,
        [list(commitment.extensions.values()) for commitment in rounds],
        [commitment.tree for commitment in rounds],
        [fold.codeword for fold in fri.folds],
        [fold.tree for fold in fri.folds],
        drawn[QUERIES],
        layout=layout,
    )
    lookup = commitments.get(PERMUTATION)
    return graph.task(
        PROOF,
        "assemble",
        assemble,
        opened,
        [] if lookup is None else list(lookup.extensions.values()),
        list(openings.values()),
        fri.final_polynomial,
        drawn,
        [fold.drawn for fold in fri.folds],
        layout=layout,
    )
