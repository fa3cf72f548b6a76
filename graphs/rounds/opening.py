"""Rounds 4 and 5: every polynomial at its points, then one batched quotient for each height.

The main columns of a shard are opened at its separating point in round 1 already (``rounds.separation``); round 5 adds
these openings to the quotient.

A DEEP quotient (p(zeta) - p(X)) / (zeta - X) has a lower degree than p, so it is computed on 7·H from the first block
of each extension. The sum over all columns of a height is then extended to the codeword.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from graphprover.device import Array, Device
from graphprover.field import EXTENSION_DEGREE, Ext, ext_scale, root_of_unity
from graphprover.graphs.batches import Batch
from graphprover.graphs.builder import Graph, Node
from graphprover.graphs.rounds.commit import Columns, Commitment, Extension, Extensions, Nodes, extensions_of
from graphprover.graphs.rounds.transcript import Drawn
from graphprover.kernels.operands import Height, Unextended
from graphprover.protocol.layout import MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, Layout, Point
from graphprover.protocol.proof import EXT_BYTES, TableOpenings, array_to_words

WEIGHTS, OPENING = "opening_weights", "opening"
DENOMINATORS, DEEP, CODEWORD = "deep_denominators", "deep", "deep_codeword"

ByHeight = Mapping[int, Sequence[Array]]  # for each opening point, by log2 of the trace's rows


@dataclass(frozen=True)
class Weights:
    """The weights that evaluate columns."""

    extended: ByHeight  # on 7·H in bit-reversed order
    natural: ByHeight  # on H in natural order, for heights with columns whose extension is not held

    def __sizeof__(self) -> int:
        """Return the bytes, for Dask."""
        pairs = [*self.extended.values(), *self.natural.values()]
        return sum(int(weights.nbytes) for pair in pairs for weights in pair)


@dataclass(frozen=True)
class OpenedMatrix:
    """One table's columns under one commitment."""

    name: str  # of the round
    table: int
    log_height: int  # of the trace
    width: int  # columns; of adjacent quotient chunks, of the first
    points: int  # in round 4: 1: at zeta; 2: also at the next row's point
    separated: bool  # whether it is also opened at the separating point
    offset: int  # power of the batching challenge for its first column


@lru_cache(16)
def opened_matrices(layout: Layout) -> Mapping[int, Sequence[OpenedMatrix]]:
    """Return the matrices of each table, in the order of the rounds; adjacent quotient chunks count as one."""
    opened: dict[int, list[OpenedMatrix]] = {table: [] for table in range(len(layout.tables))}
    for round_ in layout.rounds:
        for matrix in round_.matrices:
            if matrix.chunk == 0:
                table, log_height = matrix.table, layout.log_heights[matrix.table]
                separated = Point.SEPARATING in matrix.points
                points = len(matrix.points) - separated
                opened[table].append(
                    OpenedMatrix(round_.name, table, log_height, matrix.width, points, separated, matrix.offset)
                )
    return opened


def opening_points(zeta: Ext, log_height: int) -> tuple[Ext, Ext]:
    """Return zeta and the point of the next row."""
    return zeta, ext_scale(zeta, root_of_unity(log_height))


def interpolation_weights(
    device: Device, zeta: Drawn, *, log_heights: Sequence[int], natural: Sequence[int]
) -> Weights:
    """Return for each height and opening point the weights that evaluate a column there.

    ``natural`` has the heights with columns that are read on the trace.
    """

    def domains(heights: Sequence[int]) -> list[tuple[int, Ext]]:
        return [(height, point) for height in heights for point in opening_points(zeta.challenge, height)]

    return Weights(
        _in_pairs(log_heights, device.interpolation_weights(domains(log_heights))),
        _in_pairs(natural, device.natural_weights(domains(natural))),
    )


def _in_pairs(log_heights: Sequence[int], arrays: Sequence[Array]) -> ByHeight:
    return {height: arrays[2 * i : 2 * i + 2] for i, height in enumerate(log_heights)}


def openings(
    device: Device,
    columns: Mapping[str, Columns],
    weights: Weights,
    separated: Mapping[int, bytes] | None,
    *,
    matrices: Sequence[OpenedMatrix],
    log_blowup: int,
) -> dict[int, TableOpenings]:
    """Return the values of all polynomials of a batch at their points, by table.

    The inputs are columns by round, weights by height, and the values at the separating point of a shard by table.
    """
    extensions = {name: extensions_of(of_round, log_blowup) for name, of_round in columns.items()}
    values: dict[OpenedMatrix, list[np.ndarray]] = {}
    for turn in turns_of(matrices, extensions):
        found = [extensions[matrix.name][matrix.table] for matrix in turn]
        by_height = [weights.natural if on_trace(of_matrix) else weights.extended for of_matrix in found]
        evaluated = device.evaluate(
            [of_matrix.read() for of_matrix in found],
            [of[matrix.log_height][: matrix.points] for matrix, of in zip(turn, by_height, strict=True)],
        )
        values.update(zip(turn, evaluated, strict=True))
    at: dict[int, dict[tuple[str, int], bytes]] = {matrix.table: {} for matrix in matrices}
    for matrix, at_points in values.items():
        for point, words in enumerate(at_points):
            at[matrix.table][matrix.name, point] = array_to_words(words)
    return {table: _table_openings(of_table, (separated or {}).get(table)) for table, of_table in at.items()}


def on_trace(extension: Extension) -> bool:
    return isinstance(extension.columns, Unextended)


def turns_of(
    matrices: Sequence[OpenedMatrix], extensions: Mapping[str, Extensions]
) -> Iterator[Sequence[OpenedMatrix]]:
    """Yield matrices that are in memory together: all that are held, then one by one those computed again."""

    def held(matrix: OpenedMatrix) -> bool:
        columns = extensions[matrix.name][matrix.table].columns
        return not isinstance(columns, Unextended) or columns.in_memory

    yield [matrix for matrix in matrices if held(matrix)]
    for matrix in matrices:
        if not held(matrix):
            yield [matrix]


def _table_openings(values: Mapping[tuple[str, int], bytes], separated: bytes | None) -> TableOpenings:
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
        main_separated=separated,
    )


def inverse_denominators(
    device: Device, zeta: Drawn, separating: Drawn | None, *, log_heights: Sequence[int]
) -> ByHeight:
    """Return for each height and opening point z the values 1/(z - x) over all x of 7·H.

    The points are zeta, the point of the next row and, in a shard, the separating point.
    """
    points = {
        height: [*opening_points(zeta.challenge, height), *([separating.challenge] if separating else [])]
        for height in log_heights
    }
    inverses = iter(device.inverse_denominators([(height, z) for height in log_heights for z in points[height]]))
    return {height: [next(inverses) for _ in points[height]] for height in log_heights}


def reduced_openings(
    device: Device,
    columns: Mapping[str, Columns],
    opened: Mapping[int, TableOpenings],
    batching: Drawn,
    inverses: ByHeight,
    *,
    matrices: Sequence[OpenedMatrix],
    log_blowup: int,
) -> dict[int, Array]:
    """Return a batch's share of the DEEP quotient of each height among its tables, on 7·H."""
    extensions = {name: extensions_of(of_round, log_blowup) for name, of_round in columns.items()}
    shares: dict[int, Array] = {}
    for turn in turns_of(matrices, extensions):
        for of_trace in (False, True):
            of_kind = [m for m in turn if on_trace(extensions[m.name][m.table]) == of_trace]
            heights = _heights(of_kind, extensions, opened, inverses)
            reduce = device.reduced_traces if of_trace else device.reduced_openings
            made = reduce([height for _, height in heights], batching.challenge)
            for (log_height, _), share in zip(heights, made, strict=True):
                before = shares.get(log_height)
                shares[log_height] = share if before is None else device.sum_vectors([before, share])
    return shares


def _heights(
    matrices: Sequence[OpenedMatrix],
    extensions: Mapping[str, Extensions],
    opened: Mapping[int, TableOpenings],
    inverses: ByHeight,
) -> list[tuple[int, Height]]:
    """Return the operands of DEEP quotients with log2 of the trace's rows.

    The openings at zeta and the next row's point share the reading of a matrix. The openings at the separating point
    are apart, because their powers of the batching challenge come after the others of their matrix.
    """

    def read(some: Sequence[OpenedMatrix]) -> list[Array]:
        return [extensions[matrix.name][matrix.table].read() for matrix in some]

    by_height: dict[int, list[OpenedMatrix]] = {}
    for matrix in matrices:
        by_height.setdefault(matrix.log_height, []).append(matrix)
    heights = []
    for log_height, of_height in by_height.items():
        values = [_opened_values(opened[matrix.table], matrix.name) for matrix in of_height]
        offsets = [matrix.offset for matrix in of_height]
        heights.append((log_height, Height(read(of_height), values, offsets, inverses[log_height][:2])))
        if separated := [matrix for matrix in of_height if matrix.separated]:
            values = [[_words(opened[matrix.table].main_separated)] for matrix in separated]
            offsets = [matrix.offset + matrix.points * matrix.width for matrix in separated]
            heights.append((log_height, Height(read(separated), values, offsets, inverses[log_height][2:])))
    return heights


def _opened_values(opened: TableOpenings, name: str) -> list[np.ndarray]:
    """Return a table's opened values under one commitment, for each point, as words (columns, 3)."""
    values = {
        MAIN: (opened.main, opened.main_next),
        PREPROCESSED: (opened.preprocessed, opened.preprocessed_next),
        PERMUTATION: (opened.permutation, opened.permutation_next),
    }
    points = (b"".join(opened.quotient),) if name == QUOTIENT else values[name]
    return [_words(point) for point in points if point is not None]


def _words(values: bytes | None) -> np.ndarray:
    """Return encoded values as words (columns, 3)."""
    assert values is not None
    return np.frombuffer(values, dtype="<u8").astype(np.uint64, copy=False).reshape(-1, EXTENSION_DEGREE)


def codeword(device: Device, shares: Sequence[Mapping[int, Array]], *, log_height: int, log_blowup: int) -> Array:
    """Return the codeword of one height, on 7·K: the extension of the sum of the batches' shares."""
    quotient = device.sum_vectors([share[log_height] for share in shares])
    return device.extend_chunks([quotient], [0], log_blowup)[0]


def build_openings(
    graph: Graph,
    layout: Layout,
    commitments: dict[str, Commitment],
    zeta: Node,
    separated: Mapping[str, Node],
) -> dict[str, Node]:
    """Add round 4; return the task of each batch's `TableOpenings`, by its name.

    ``separated``: of a shard, the values at its separating point by batch.
    """
    weights = graph.task(
        WEIGHTS,
        "all heights",
        interpolation_weights,
        zeta,
        log_heights=sorted(set(layout.log_heights)),
        natural=natural_heights(layout, graph.batches),
    )
    log_blowup = layout.parameters.log_blowup
    return {
        batch: graph.task(
            OPENING,
            batch,
            openings,
            _columns(commitments, batch),
            weights,
            separated.get(batch),
            matrices=matrices,
            log_blowup=log_blowup,
        )
        for batch, matrices in _matrices_of_batches(graph, layout).items()
    }


def build_codewords(
    graph: Graph,
    layout: Layout,
    commitments: dict[str, Commitment],
    opened: dict[str, Node],
    zeta: Node,
    separating: Node | None,
    batching: Node,
) -> dict[int, Node]:
    """Add round 5; return the task of each height's codeword, by log2 of its length.

    ``separating``: of a shard, the task of its separating point.
    """
    log_blowup = layout.parameters.log_blowup
    log_heights = sorted(set(layout.log_heights))
    inverses = graph.task(DENOMINATORS, "all heights", inverse_denominators, zeta, separating, log_heights=log_heights)
    shares: dict[int, list[Node]] = {log_height: [] for log_height in log_heights}
    for batch, matrices in _matrices_of_batches(graph, layout).items():
        share = graph.task(
            DEEP,
            batch,
            reduced_openings,
            _columns(commitments, batch),
            opened[batch],
            batching,
            inverses,
            matrices=matrices,
            log_blowup=log_blowup,
        )
        for log_height in {matrix.log_height for matrix in matrices}:
            shares[log_height].append(share)
    return {
        log_height + log_blowup: graph.task(
            CODEWORD, f"2^{log_height}", codeword, shares[log_height], log_height=log_height, log_blowup=log_blowup
        )
        for log_height in log_heights
    }


def _matrices_of_batches(graph: Graph, layout: Layout) -> dict[str, list[OpenedMatrix]]:
    """Return the matrices of each batch's tables, by its name."""
    matrices = opened_matrices(layout)
    return {batch.name: [matrix for table in batch.tables for matrix in matrices[table]] for batch in graph.batches}


def natural_heights(layout: Layout, batched: Sequence[Batch]) -> list[int]:
    """Return the heights with columns that are opened on the trace, in order."""
    return sorted({layout.log_heights[table] for batch in batched if batch.hold for table in batch.tables})


def _columns(commitments: dict[str, Commitment], batch: str) -> dict[str, Nodes]:
    """Return a batch's columns under each commitment, by round."""
    return {name: made.extensions[batch] for name, made in commitments.items() if batch in made.extensions}
