"""The choice of a compressed proof's rates, for a statement and a device."""

import logging
from collections.abc import Sequence

from graphprover.admission.admission import largest
from graphprover.device import Device
from graphprover.device.choose import CPU, CUDA
from graphprover.device.interface import CUDA_BATCH, CUDA_THREADS
from graphprover.graphs.planner.layers import Target
from graphprover.graphs.planner.plan import On
from graphprover.graphs.planner.roofline import assumed
from graphprover.graphs.planner.trees import Shapes, Tree, best_trees, tree_about, tree_with
from graphprover.protocol.goal import Goal
from graphprover.protocol.layout import Layout
from graphprover.protocol.level import LayerLevel, Level
from graphprover.protocol.parameters import BLAKE3
from graphprover.prover.smallest import pace_of
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement

_log = logging.getLogger(__name__)  # warnings go to stderr by default

Layers = tuple[LayerLevel, ...] | Goal  # of a compressed proof: given as for `layer_tree.joined`, or chosen

# Workers that share a proof choose its base by themselves, and need the same one: for the GPU of docs/performance.md.
SHARED = Target(CUDA, On(CUDA_BATCH, CUDA_THREADS, True), assumed(CUDA, CUDA_THREADS).roofline, 126 * 10**9)


def target_of(device: Device) -> Target:
    """Return a device as a search for trees has it."""
    pace = pace_of(device.threads, BLAKE3) if device.kind == CPU else 1.0
    rates = assumed(device.kind, device.threads).roofline
    return Target(device.kind, On.of(device), rates, largest(device), pace)


def shapes_of(statement: Statement | ShardedStatement) -> Shapes:
    """Return the shapes of all shards of a statement with traces, or with their shapes."""
    found = []
    for own in statement.statements:
        traces = [table.main for table in own.tables]
        heights = tuple(trace.shape[1].bit_length() - 1 for trace in traces if trace is not None)
        found.append((tuple(own.descriptions), heights))
    return tuple(found)


def base_level(statement: Statement | ShardedStatement, level: Level, layers: Layers, device: Device) -> Level:
    """Return the level of the base of a compressed proof, with a rate.

    Args:
        statement: The statement with the traces of all its shards, or with their shapes.
        level: The requested level; its rate, if it has one, stays.
        layers: The layers.
        device: The device of the proof. Workers that share a proof are assumed to have one and the same.

    Raises:
        ValueError: No tree reaches the level in the memory of the device.
    """
    target = SHARED if statement.heads else target_of(device)
    if not isinstance(layers, Goal):
        return level if level.rate is not None else tree_with(shapes_of(statement), level, layers, target).base
    tree = best_trees(shapes_of(statement), level, layers, target)[0]
    _say(tree, layers, target)
    return tree.base


def chosen_layers(layouts: Sequence[Layout], level: Level, layers: Layers, target: Target) -> tuple[LayerLevel, ...]:
    """Return the levels of the layers about shards with these layouts; arguments and errors as for `base_level`."""
    return tree_about(tuple(layouts), level, layers, target).layers if isinstance(layers, Goal) else layers


def _say(tree: Tree, goal: Goal, target: Target) -> None:
    """Log the choice: as a warning if a time was asked for, as `--small` does, or if no tree meets it."""
    text = f"{tree.text}: {tree.bytes / 1024:,.0f} KiB expected in {tree.seconds:.3g} s"
    if goal.seconds is None:
        _log.info("graphprover: compress: %s", text)
    elif tree.seconds <= goal.seconds:
        _log.warning("graphprover: compress: %s (limit %g s)", text, goal.seconds)
    else:
        _log.warning("graphprover: compress: no tree is expected to fit %g s: %s", goal.seconds, text)
