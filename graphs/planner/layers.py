"""The cost of a layer before it is made: its tables, its time and its memory on a device."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from graphprover.device.choose import CPU
from graphprover.graphs.planner.costs import Cost, hashing
from graphprover.graphs.planner.holding import plan_whole
from graphprover.graphs.planner.pace import expected_seconds
from graphprover.graphs.planner.plan import On
from graphprover.graphs.planner.roofline import MULTIPLICATIONS, Roofline
from graphprover.proof.sizes import expected_sizes
from graphprover.protocol.layout import Layout, make_layout
from graphprover.protocol.level import LAYER_RATE, LayerLevel
from graphprover.recursion.expected import LayerWork, run_work, work_about
from graphprover.recursion.layer_tables import layer_tables, merged_table
from graphprover.recursion.tables.fixed import ROWS as FIXED_ROWS
from graphprover.verifier.layer_key import has_commitment

# On a GPU, fitted to proofs of guests and of layers (docs/compressed.md): the time of a task over its lower bound, that
# of a layer's task which multiplies most of the time (quotients, lookups), and the host's time for each task.
GPU_PACE, GPU_PACE_OF_QUOTIENTS, GPU_TASK_SECONDS = 1.0, 2.2, 0.32e-3
# The host's time for the inputs of a layer: of the layer, and of each compression.
INPUTS_SECONDS, INPUT_SECONDS = 16e-3, 0.85e-6


@dataclass(frozen=True)
class Target:
    """The devices for which a tree of layers is planned: one kind, each with the same memory."""

    kind: str  # of a device: cpu or cuda
    on: On
    roofline: Roofline
    memory: int | None  # bytes for a proof; None if unknown
    pace: float = 1  # of a CPU: measured over modelled time of its kernels
    workers: int = 1
    recomputes: bool = False  # whether a layer that does not fit with all columns may recompute them

    def fits(self, memory: int) -> bool:
        """Return whether a proof with this peak memory fits."""
        return self.memory is None or memory <= self.memory

    def seconds(self, costs: Iterable[Cost], layer: bool) -> float:
        """Return the expected seconds of the tasks of a proof, one after another; ``layer``: whether it is a layer."""
        bounds = [self.roofline.modelled(cost) for cost in costs]
        if self.kind == CPU:
            return expected_seconds(self.pace, sum(bound.seconds for bound in bounds))
        paces = {MULTIPLICATIONS: GPU_PACE_OF_QUOTIENTS} if layer else {}
        return sum(paces.get(own.bound, GPU_PACE) * own.seconds + GPU_TASK_SECONDS for own in bounds)


@dataclass(frozen=True)
class ProofCost:
    """The expected cost of one proof."""

    seconds: float
    memory: int  # peak bytes, beyond traces that exist before the proof
    recomputes: bool  # whether columns are computed again, to fit the memory


@dataclass(frozen=True)
class LayerShape:
    """The shape of a layer."""

    log_heights: tuple[int, ...]  # log2 of the rows of `blake3` and of `machine`, or of the merged table
    level: LayerLevel


def shape_with(work: LayerWork, level: LayerLevel) -> LayerShape:
    """Return the shape of a layer with the work about all its children.

    Raises:
        ValueError: There is no merged layer of this height at the rate of the level.
    """
    own = run_work() + work
    if not level.merged:
        return LayerShape(own.log_heights, level)
    log_rows = own.merged_log_rows
    if not has_commitment(log_rows, level.rate):
        raise ValueError(f"no merged layer has 2^{log_rows} rows at 1/{level.rate}")
    return LayerShape((log_rows,), level)


@lru_cache(maxsize=1024)
def layout_of(layer: LayerShape) -> Layout:
    """Return the layout of a layer; raises ValueError if no parameters reach the level."""
    airs, heights = [*layer_tables(None).values()], layer.log_heights
    if layer.level.merged:
        airs = [merged_table(None, heights[0])]
    else:
        heights = (*heights, FIXED_ROWS.bit_length() - 1)
    tables = [air.describe() for air in airs]
    return make_layout(tables, heights, layer.level.parameters([(tables, heights)], LAYER_RATE))


@lru_cache(maxsize=1024)
def work_about_layer(layer: LayerShape) -> LayerWork:
    """Return the part of a layer's work that is about another layer."""
    return work_about(layout_of(layer))


@lru_cache(maxsize=1024)
def bytes_of_layer(layer: LayerShape) -> int:
    """Return the expected bytes of a layer's proof."""
    return sum(expected_sizes(layout_of(layer)).values())


@lru_cache(maxsize=1024)
def cost_of_layer(layer: LayerShape, target: Target) -> ProofCost:
    """Return the cost of a layer, without its inputs."""
    return cost_of_proof(layout_of(layer), target, layer=True)


def cost_of_proof(layout: Layout, target: Target, layer: bool = False) -> ProofCost:
    """Return the cost of a proof with its proofs of work; ``layer``: whether it is a layer.

    A base may recompute columns to fit the memory: then a lower rate is no better. Layers with them cost more than
    another tree.

    The plan of the layout is cached: it is the same for any number of queries and any bits of work.
    """
    own = layout.parameters
    without = replace(layout, parameters=replace(own, num_queries=1, query_pow_bits=0))
    budget = None if layer and not target.recomputes else target.memory
    whole, work = plan_whole(without, (), target.on, budget), hashing(own.hash, 1 << own.query_pow_bits)
    return ProofCost(target.seconds([*whole.costs, work], layer), whole.peak.bytes, bool(whole.holds))


def inputs_seconds(work: LayerWork) -> float:
    """Return the seconds of a layer's inputs: the verification of its proofs by the program, on the host."""
    return INPUTS_SECONDS + INPUT_SECONDS * work.compressions
