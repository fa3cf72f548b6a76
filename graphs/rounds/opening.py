"""Rounds 4 and 5: every polynomial at zeta and at the next row's point, then one batched quotient for each height."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from graphprover.device import Array, Device
from graphprover.field import EXTENSION_DEGREE, Ext, ext_scale, root_of_unity
from graphprover.graphs.builder import Graph, Node
from graphprover.graphs.rounds.commit import Commitment, Extensions
from graphprover.graphs.rounds.transcript import Drawn
from graphprover.kernels.operands import Height
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, Layout
from graphprover.protocol.proof import EXT_BYTES, TableOpenings, array_to_words

WEIGHTS, OPENING = "opening_weights", "opening"
DENOMINATORS, DEEP, CODEWORD = "deep_denominators", "deep", "deep_codeword"

ByHeight = Mapping[int, Sequence[Array]]  # for each opening point, by log2 of the trace's rows


@dataclass(frozen=True)
class OpenedMatrix:
    """One table's columns under one commitment."""

    name: str  # of the round
    table: int
    log_height: int  # of the trace
    points: int  # 1: at zeta; 2: also at the next row's point
    offset: int  # power of the batching challenge for its first column


@lru_cache(16)
def opened_matrices(layout: Layout) -> Mapping[int, Sequence[OpenedMatrix]]:
    """Return the matrices of each table, in the order of the rounds; adjacent quotient chunks count as one."""
    opened: dict[int, list[OpenedMatrix]] = {table: [] for table in range(len(layout.tables))}
    for round_ in layout.rounds:
        for matrix in round_.matrices:
            if matrix.chunk == 0:
                table, log_height = matrix.table, layout.log_heights[matrix.table]
                opened[table].append(OpenedMatrix(round_.name, table, log_height, matrix.points, matrix.offset))
    return opened


def opening_points(zeta: Ext, log_height: int) -> tuple[Ext, Ext]:
    """Return zeta and the point of the next row."""
    return zeta, ext_scale(zeta, root_of_unity(log_height))


def interpolation_weights(device: Device, zeta: Drawn, *, log_heights: Sequence[int]) -> ByHeight:
    """Return for each height and opening point the weights that evaluate a column on 7·H there."""
    domains = [(height, point) for height in log_heights for point in opening_points(zeta.challenge, height)]
    return _in_pairs(log_heights, device.interpolation_weights(domains))


def _in_pairs(log_heights: Sequence[int], arrays: Sequence[Array]) -> ByHeight:
    return {height: arrays[2 * i : 2 * i + 2] for i, height in enumerate(log_heights)}


def openings(
    device: Device,
    extensions: Mapping[str, Extensions],
    weights: ByHeight,
    *,
    matrices: Sequence[OpenedMatrix],
) -> dict[int, TableOpenings]:
    """Return the values of all polynomials of a batch at their points, by table.

    The inputs are extensions by round and weights by height.
    """
    values = device.evaluate(
        [extensions[matrix.name][matrix.table].columns for matrix in matrices],
        [weights[matrix.log_height][: matrix.points] for matrix in matrices],
    )
    at: dict[int, dict[tuple[str, int], bytes]] = {matrix.table: {} for matrix in matrices}
    for matrix, at_points in zip(matrices, values, strict=True):
        for point, words in enumerate(at_points):
            at[matrix.table][matrix.name, point] = array_to_words(words)
    return {table: _table_openings(of_table) for table, of_table in at.items()}


def _table_openings(values: Mapping[tuple[str, int], bytes]) -> TableOpenings:
    """Return a table's openings from the values of its columns by round and point."""
    chunks, size = values[QUOTIENT, 0], EXTENSION_DEGREE * EXT_BYTES
    return TableOpenings(
        main=values[MAIN, 0],
        main_next=values.get((MAIN, 1)),
        preprocessed=values.get((PREPROCESSED, 0)),
        preprocessed_next=values.get((PREPROCESSED, 1)),
        quotient=tuple(chunks[first : first + size] for first in range(0, len(chunks), size)),
        permutation=values.get((PERMUTATION, 0), b""),
        permutation_next=values.get((PERMUTATION, 1), b""),
    )


def inverse_denominators(device: Device, zeta: Drawn, *, log_heights: Sequence[int], log_blowup: int) -> ByHeight:
    """Return for each height and opening point z the values 1/(z - x) over all x of 7·K."""
    domains = [
        (height + log_blowup, point) for height in log_heights for point in opening_points(zeta.challenge, height)
    ]
    return _in_pairs(log_heights, device.inverse_denominators(domains))


def reduced_openings(
    device: Device,
    extensions: Mapping[str, Extensions],
    opened: Mapping[int, TableOpenings],
    batching: Drawn,
    inverses: ByHeight,
    *,
    matrices: Sequence[OpenedMatrix],
) -> dict[int, Array]:
    """Return a batch's share of the codeword of each height among its tables."""
    by_height: dict[int, list[OpenedMatrix]] = {}
    for matrix in matrices:
        by_height.setdefault(matrix.log_height, []).append(matrix)
    heights = [
        Height(
            [extensions[matrix.name][matrix.table].columns for matrix in of_height],
            [_opened_values(opened[matrix.table], matrix.name) for matrix in of_height],
            [matrix.offset for matrix in of_height],
            inverses[log_height],
        )
        for log_height, of_height in by_height.items()
    ]
    return dict(zip(by_height, device.reduced_openings(heights, batching.challenge), strict=True))


def _opened_values(opened: TableOpenings, name: str) -> list[np.ndarray]:
    """Return a table's opened values under one commitment, for each point, as words (columns, 3)."""
    values = {
        MAIN: (opened.main, opened.main_next),
        PREPROCESSED: (opened.preprocessed, opened.preprocessed_next),
        PERMUTATION: (opened.permutation, opened.permutation_next),
    }
    points = (b"".join(opened.quotient),) if name == QUOTIENT else values[name]
    words = (np.frombuffer(point, dtype="<u8") for point in points if point is not None)
    return [point.astype(np.uint64, copy=False).reshape(-1, EXTENSION_DEGREE) for point in words]


def sum_codewords(device: Device, shares: Sequence[Mapping[int, Array]], *, log_height: int) -> Array:
    """Return the codeword of one height from the batches' shares."""
    return device.sum_codewords([share[log_height] for share in shares])


def build_openings(graph: Graph, layout: Layout, commitments: dict[str, Commitment], zeta: Node) -> dict[str, Node]:
    """Add round 4; return the task of each batch's `TableOpenings`, by its name."""
    weights = graph.task(
        WEIGHTS, "all heights", interpolation_weights, zeta, log_heights=sorted(set(layout.log_heights))
    )
    return {
        batch: graph.task(OPENING, batch, openings, _extensions(commitments, batch), weights, matrices=matrices)
        for batch, matrices in _matrices_of_batches(graph, layout).items()
    }


def build_codewords(
    graph: Graph,
    layout: Layout,
    commitments: dict[str, Commitment],
    opened: dict[str, Node],
    zeta: Node,
    batching: Node,
) -> dict[int, Node]:
    """Add round 5; return the task of each height's codeword, by log2 of its length."""
    log_blowup = layout.parameters.log_blowup
    log_heights = sorted(set(layout.log_heights))
    inverses = graph.task(
        DENOMINATORS, "all heights", inverse_denominators, zeta, log_heights=log_heights, log_blowup=log_blowup
    )
    shares: dict[int, list[Node]] = {log_height: [] for log_height in log_heights}
    for batch, matrices in _matrices_of_batches(graph, layout).items():
        extensions = _extensions(commitments, batch)
        share = graph.task(
            DEEP, batch, reduced_openings, extensions, opened[batch], batching, inverses, matrices=matrices
        )
        for log_height in {matrix.log_height for matrix in matrices}:
            shares[log_height].append(share)
    return {
        log_height + log_blowup: graph.task(
            CODEWORD, f"2^{log_height}", sum_codewords, shares[log_height], log_height=log_height
        )
        for log_height in log_heights
    }


def _matrices_of_batches(graph: Graph, layout: Layout) -> dict[str, list[OpenedMatrix]]:
    """Return the matrices of each batch's tables, by its name."""
    matrices = opened_matrices(layout)
    return {batch.name: [matrix for table in batch.tables for matrix in matrices[table]] for batch in graph.batches}


def _extensions(commitments: dict[str, Commitment], batch: str) -> dict[str, Node]:
    """Return a batch's extensions under each commitment, by round."""
    return {name: made.extensions[batch] for name, made in commitments.items() if batch in made.extensions}
