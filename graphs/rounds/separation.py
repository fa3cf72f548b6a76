"""Round 1 of a shard, after its commitment: the main columns at the separating point.

The values are absorbed before the joint challenges, and opened together with all other openings of the shard.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphprover.device import Array, Device
from graphprover.graphs.batches import Batch, Hold
from graphprover.graphs.builder import Graph, Node
from graphprover.graphs.rounds import transcript
from graphprover.graphs.rounds.commit import Columns, Commitment, extensions_of
from graphprover.graphs.rounds.opening import natural_heights, on_trace
from graphprover.graphs.rounds.transcript import SEPARATED, TRANSCRIPT, Drawn
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import array_to_words

WEIGHTS, VALUES = "opening_separation_weights", "opening_separation"


@dataclass(frozen=True)
class Separation:
    """The tasks of a shard's separating point and of the values there."""

    point: Node  # Drawn
    values: dict[str, Node]  # of each batch, by its name: encoded values by table
    state: Node  # Challenger with the values

    @property
    def nodes(self) -> list[Node]:
        """All tasks that later rounds need."""
        return [self.point, *self.values.values(), self.state]


@dataclass(frozen=True)
class Weights:
    """The weights (3, rows) that evaluate columns at the separating point, by log2 of the trace's rows."""

    extended: Mapping[int, Array]  # on 7·H in bit-reversed order
    natural: Mapping[int, Array]  # on H in natural order

    def __sizeof__(self) -> int:
        """Return the bytes, for Dask."""
        return sum(int(weights.nbytes) for weights in [*self.extended.values(), *self.natural.values()])


def separating_weights(device: Device, point: Drawn, *, extended: Sequence[int], natural: Sequence[int]) -> Weights:
    """Return the weights of some heights: of columns whose extension is held, and of columns on the trace."""
    z = point.challenge
    on_cosets = device.interpolation_weights([(height, z) for height in extended])
    on_traces = device.natural_weights([(height, z) for height in natural])
    return Weights(dict(zip(extended, on_cosets, strict=True)), dict(zip(natural, on_traces, strict=True)))


def separated_values(
    device: Device, columns: Columns, weights: Weights, *, log_heights: Mapping[int, int], log_blowup: int
) -> dict[int, bytes]:
    """Return the encoded values of a batch's main columns at the separating point, by table."""
    extensions = extensions_of(columns, log_blowup)
    evaluated = device.evaluate(
        [extension.read() for extension in extensions.values()],
        [
            [(weights.natural if on_trace(extension) else weights.extended)[log_heights[table]]]
            for table, extension in extensions.items()
        ],
    )
    return {table: array_to_words(at_point) for table, (at_point,) in zip(extensions, evaluated, strict=True)}


def build(graph: Graph, layout: Layout, main: Commitment, state: Node) -> Separation:
    """Add the draw of the separating point and the values there, after the transcript ``state`` of the commitment."""
    point = graph.task(TRANSCRIPT, transcript.SEPARATION, transcript.separating_point, state)
    of_point = graph.task(
        WEIGHTS,
        "all heights",
        separating_weights,
        point,
        extended=extended_heights(layout, graph.batches),
        natural=natural_heights(layout, graph.batches),
    )
    opened = {
        batch.name: graph.task(
            VALUES,
            batch.name,
            separated_values,
            main.extensions[batch.name],
            of_point,
            log_heights={table: layout.log_heights[table] for table in batch.tables},
            log_blowup=layout.parameters.log_blowup,
        )
        for batch in graph.batches
    }
    after = graph.task(TRANSCRIPT, SEPARATED, transcript.separated, point, list(opened.values()))
    return Separation(point, opened, after)


def extended_heights(layout: Layout, batched: Sequence[Batch]) -> list[int]:
    """Return the heights with main columns whose extension is held, in order."""
    held = {table for batch in batched if batch.hold == Hold.EXTENSIONS for table in batch.tables}
    return sorted({layout.log_heights[table] for table in held})
