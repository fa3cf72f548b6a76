"""Rounds 4 and 5: every polynomial at zeta and at the next row's point; then one batched quotient for each height."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.device import Array, Device
from graphprover.field import Ext, ext_scale, root_of_unity
from graphprover.graphs.commit import Commitment, Extension
from graphprover.graphs.tasks import Graph, Node
from graphprover.graphs.transcript import Drawn
from graphprover.protocol.layout import EXTENSION_DEGREE, MAIN, PERMUTATION, PREPROCESSED, QUOTIENT, Layout
from graphprover.protocol.proof import TableOpenings


@dataclass(frozen=True)
class Part:
    """One table's columns under one commitment, as they are opened."""

    name: str  # of the round
    points: int  # 1: at zeta; 2: also at the next row's point
    offset: int  # power of the batching challenge that its first column carries


def parts_of(layout: Layout, table: int) -> list[Part]:
    """The parts of one table, in the order of the rounds; quotient chunks are adjacent and count as one."""
    firsts = ((each.name, next((m for m in each.matrices if m.table == table), None)) for each in layout.rounds)
    return [Part(name, matrix.points, matrix.offset) for name, matrix in firsts if matrix is not None]


def opening_points(zeta: Ext, log_height: int) -> tuple[Ext, Ext]:
    """zeta, and the point of the next row."""
    return zeta, ext_scale(zeta, root_of_unity(log_height))


def interpolation_weights(device: Device, zeta: Drawn, *, log_height: int) -> list[Array]:
    """For each opening point the weights that make a value there of a column on 7·H."""
    return [device.interpolation_weights(log_height, z) for z in opening_points(zeta.challenge, log_height)]


def openings(
    device: Device, parts_columns: Sequence[Extension], weights: Sequence[Array], *, parts: Sequence[Part]
) -> TableOpenings:
    """All of one table's polynomials at its points."""
    values: dict[tuple[str, int], tuple[Ext, ...]] = {}
    for part, extension in zip(parts, parts_columns, strict=True):
        for point, each in enumerate(device.evaluate(extension.columns, weights[: part.points])):
            values[part.name, point] = each
    chunks = values[QUOTIENT, 0]
    return TableOpenings(
        main=values[MAIN, 0],
        main_next=values.get((MAIN, 1)),
        preprocessed=values.get((PREPROCESSED, 0)),
        preprocessed_next=values.get((PREPROCESSED, 1)),
        quotient=tuple(chunks[i : i + EXTENSION_DEGREE] for i in range(0, len(chunks), EXTENSION_DEGREE)),
        permutation=values.get((PERMUTATION, 0), ()),
        permutation_next=values.get((PERMUTATION, 1), ()),
    )


def inverse_denominators(device: Device, zeta: Drawn, *, log_height: int, log_blowup: int) -> list[Array]:
    """For each opening point z, 1/(z - x) over all x of 7·K."""
    points = opening_points(zeta.challenge, log_height)
    return [device.inverse_denominators(log_height + log_blowup, z) for z in points]


def reduced_opening(
    device: Device,
    parts_columns: Sequence[Extension],
    opened: TableOpenings,
    batching: Drawn,
    inverses: Sequence[Array],
    *,
    parts: Sequence[Part],
) -> Array:
    """One table's share of its height's codeword."""
    values: dict[str, list[tuple[Ext, ...] | None]] = {
        MAIN: [opened.main, opened.main_next],
        QUOTIENT: [tuple(value for chunk in opened.quotient for value in chunk)],
        PREPROCESSED: [opened.preprocessed, opened.preprocessed_next],
        PERMUTATION: [opened.permutation, opened.permutation_next],
    }
    return device.reduced_opening(
        [extension.columns for extension in parts_columns],
        [[value for value in values[part.name] if value is not None] for part in parts],
        [part.offset for part in parts],
        batching.challenge,
        inverses,
    )


def sum_codewords(device: Device, codewords: Sequence[Array]) -> Array:
    """The codeword of one height from its tables' shares."""
    return device.sum(codewords)


def columns_of(layout: Layout, table: int, commitments: dict[str, Commitment]) -> list[Node]:
    """The extensions of one table, in the order of `parts_of`."""
    return [commitments[part.name].extensions[table] for part in parts_of(layout, table)]


def build_openings(graph: Graph, layout: Layout, commitments: dict[str, Commitment], zeta: Node) -> list[Node]:
    """Round 4: `TableOpenings` of each table."""
    weights = {
        log_height: graph.task("weights", f"2^{log_height}", interpolation_weights, zeta, log_height=log_height)
        for log_height in sorted(set(layout.log_heights))
    }
    return [
        graph.task(
            "opening",
            graph.table(layout, table),
            openings,
            columns_of(layout, table, commitments),
            weights[log_height],
            parts=parts_of(layout, table),
        )
        for table, log_height in enumerate(layout.log_heights)
    ]


def build_codewords(
    graph: Graph,
    layout: Layout,
    commitments: dict[str, Commitment],
    opened: Sequence[Node],
    zeta: Node,
    batching: Node,
) -> dict[int, Node]:
    """Round 5: the codeword of each height, by log2 of its length."""
    log_blowup = layout.parameters.log_blowup
    codewords: dict[int, Node] = {}
    for log_height in sorted(set(layout.log_heights)):
        inverses = graph.task(
            "denominators", f"2^{log_height}", inverse_denominators, zeta, log_height=log_height, log_blowup=log_blowup
        )
        shares = [
            graph.task(
                "deep",
                graph.table(layout, table),
                reduced_opening,
                columns_of(layout, table, commitments),
                opened[table],
                batching,
                inverses,
                parts=parts_of(layout, table),
            )
            for table, each in enumerate(layout.log_heights)
            if each == log_height
        ]
        codewords[log_height + log_blowup] = graph.task("codeword", f"2^{log_height}", sum_codewords, shares)
    return codewords
