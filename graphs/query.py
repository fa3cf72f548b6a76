"""Round 7: the queried rows and Merkle paths of every commitment, and the proof put together."""

from collections.abc import Mapping, Sequence

import numpy as np

from graphprover.device import Array, Device, Tree
from graphprover.field import Ext
from graphprover.graphs.batches import joined
from graphprover.graphs.commit import Commitment, Extensions
from graphprover.graphs.fri import FriRound
from graphprover.graphs.tasks import Graph, Node
from graphprover.graphs.transcript import Drawn
from graphprover.protocol.layout import MAIN, PERMUTATION, QUOTIENT, Layout, Round
from graphprover.protocol.merkle import proof_nodes
from graphprover.protocol.proof import BatchProof, FoldQueries, RoundQueries, TableOpenings, words_to_exts


def open_tree(device: Device, tree: Tree, indices: Sequence[int]) -> tuple[bytes, ...]:
    """The multiproof of these leaves."""
    return device.digests(tree, proof_nodes(indices, len(tree.layers) - 1))


def round_queries(
    device: Device, extensions: Sequence[Extensions], tree: Tree, drawn: Drawn, *, layout: Layout, commitment: Round
) -> RoundQueries:
    """The queried rows of one commitment, matrix by matrix, and their multiproof."""
    leaves = [index >> (layout.log_max_rows - commitment.log_rows) for index in drawn.challenge]
    by_table: dict[int, np.ndarray] = {}
    for table, extension in joined(extensions).items():
        log_rows = layout.log_heights[table] + layout.parameters.log_blowup
        rows = device.rows(extension.columns, [index >> (layout.log_max_rows - log_rows) for index in drawn.challenge])
        by_table[table] = rows.astype("<u8")
    rows_of_matrices = []
    for matrix in commitment.matrices:
        first = matrix.chunk * matrix.width
        words = by_table[matrix.table][:, first : first + matrix.width].tobytes()
        size = 8 * matrix.width
        rows_of_matrices.append([words[i : i + size] for i in range(0, len(words), size)])
    return RoundQueries(tuple(zip(*rows_of_matrices, strict=True)), open_tree(device, tree, leaves))


def fold_queries(
    device: Device, codeword: Array, tree: Tree, drawn: Drawn, *, layout: Layout, fold: int
) -> FoldQueries:
    """The siblings of every queried element of one codeword, and the multiproof of their groups."""
    log_arity, log_rows = layout.fold_log_arities[fold], layout.folded_log_heights[fold]
    elements = [index >> (layout.log_max_rows - log_rows - log_arity) for index in drawn.challenge]
    leaves = [element >> log_arity for element in elements]
    groups = device.group_rows(codeword, log_arity, leaves).astype("<u8")
    siblings: list[tuple[Ext, ...]] = []
    for element, group in zip(elements, groups, strict=True):
        own = element & ((1 << log_arity) - 1)
        values = words_to_exts(group.tobytes())
        siblings.append(values[:own] + values[own + 1 :])
    return FoldQueries(tuple(siblings), open_tree(device, tree, leaves))


def assemble(
    device: Device,
    trees: dict[str, Tree],
    fold_trees: Sequence[Tree],
    lookups: Sequence[Extensions],
    openings: Sequence[Mapping[int, TableOpenings]],
    final_polynomial: tuple[Ext, ...],
    drawn: dict[str, Drawn],
    fold_drawn: Sequence[Drawn],
    input_queries: Sequence[RoundQueries],
    folded_queries: Sequence[FoldQueries],
    *,
    layout: Layout,
) -> BatchProof:
    """Everything the prover sends."""
    terminals = {table: columns.terminal for table, columns in joined(lookups).items()}
    return BatchProof(
        main_cap=device.cap(trees[MAIN]),
        permutation_cap=device.cap(trees[PERMUTATION]) if PERMUTATION in trees else None,
        quotient_cap=device.cap(trees[QUOTIENT]),
        openings=tuple(joined(openings).values()),
        batch_nonce=drawn["batching"].nonce,
        fold_caps=tuple(device.cap(tree) for tree in fold_trees),
        fold_nonces=tuple(each.nonce for each in fold_drawn),
        round_queries=tuple(input_queries),
        fold_queries=tuple(folded_queries),
        final_polynomial=final_polynomial,
        query_nonce=drawn["queries"].nonce,
        terminals=tuple(terminals.get(table) for table in range(len(layout.tables))),
        log_heights=layout.log_heights,
        lookup_nonce=drawn["lookup"].nonce if layout.lookup_tables else None,
        zeta_nonce=drawn["zeta"].nonce,
    )


def build(
    graph: Graph,
    layout: Layout,
    commitments: dict[str, Commitment],
    openings: dict[str, Node],
    fri: FriRound,
    drawn: dict[str, Node],
) -> Node:
    """The whole proof, as a task."""
    queries = drawn["queries"]
    input_queries = [
        graph.task(
            "query",
            each.name,
            round_queries,
            list(commitments[each.name].extensions.values()),
            commitments[each.name].tree,
            queries,
            layout=layout,
            commitment=each,
        )
        for each in layout.rounds
    ]
    folded_queries = [
        graph.task(
            "query", f"fold{number}", fold_queries, fold.codeword, fold.tree, queries, layout=layout, fold=number
        )
        for number, fold in enumerate(fri.folds)
    ]
    lookup = commitments.get(PERMUTATION)
    return graph.task(
        "proof",
        "assemble",
        assemble,
        {name: commitment.tree for name, commitment in commitments.items()},
        [fold.tree for fold in fri.folds],
        [] if lookup is None else list(lookup.extensions.values()),
        list(openings.values()),
        fri.final_polynomial,
        drawn,
        [fold.drawn for fold in fri.folds],
        input_queries,
        folded_queries,
        layout=layout,
    )
