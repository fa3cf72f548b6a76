"""Trees of layers: the choice of their rates, and the layers that are then made."""

import struct
from dataclasses import replace
from typing import Any

import pytest

from graphprover import CompressedProof, Prover
from graphprover.device.choose import CPU
from graphprover.graphs.planner.layers import LayerShape, Target, bytes_of_layer, cost_of_layer, layout_of
from graphprover.graphs.planner.plan import On
from graphprover.graphs.planner.roofline import assumed
from graphprover.graphs.planner.trees import (
    BITS,
    FAST_BYTES,
    FAST_BYTES_OF_CPU,
    LEAST_LOG,
    Shapes,
    Tree,
    best_trees,
    most_compressions,
    tree_about,
    tree_with,
)
from graphprover.protocol.goal import Goal, goal_of
from graphprover.protocol.level import LayerLevel, Level
from graphprover.prover.layer_tree import layout_of_layer
from graphprover.prover.tree_choice import SHARED
from graphprover.recursion.expected import work_about
from tests.conftest import ROOT

GUEST = ROOT / "examples/guests/fib_iterative.elf"
LEVEL = Level(hash="blake3", pow_bits=24)
ON_CPU = Target(CPU, On(8, 2, False), assumed(CPU, 2).roofline, 24 << 30, 2.0)
# log2 of the rows of a run of a million cycles of the guest.
ROWS = {"numbers": 16, "move": 19, "addi_narrow": 18, "add": 18, "nonzero": 18, "common": 10, "program": 9}


@pytest.fixture(scope="module")
def shapes() -> Shapes:
    """Return the shape of a run of a million cycles, with the tables of a short one."""
    layout = Prover(GUEST, rate=8, device="cpu").prepare(struct.pack("<Q", 100_000)).shards[0].layout
    return ((layout.tables, tuple(ROWS.get(air.name, 6) for air in layout.tables)),)


def said(tree: Tree) -> tuple[int | None, ...]:
    """Return the rates of base and layers."""
    return tree.base.rate, *(layer.rate for layer in tree.layers)


def test_the_fastest_tree_of_a_usual_size(shapes: Shapes) -> None:
    best, *others = best_trees(shapes, LEVEL, Goal(), SHARED)
    assert said(best) == (8, 32) and best.bytes <= FAST_BYTES
    assert [level.layer.log_heights for level in best.levels] == [(18,)] and best.layers[0].merged
    assert all(other.seconds >= best.seconds and other.bytes <= FAST_BYTES for other in others)
    assert len({tree.text for tree in (best, *others)}) == 5
    on_cpu = best_trees(shapes, LEVEL, Goal(), ON_CPU)[0]
    assert said(on_cpu) == (8, 8) and FAST_BYTES < on_cpu.bytes <= FAST_BYTES_OF_CPU


def test_the_smallest_tree_and_the_smallest_within_a_time(shapes: Shapes) -> None:
    fastest = best_trees(shapes, LEVEL, Goal(), SHARED)[0]
    smallest = best_trees(shapes, LEVEL, goal_of("small"), SHARED)[0]
    within = [best_trees(shapes, LEVEL, goal_of(f"{seconds}s"), SHARED)[0] for seconds in (0.3, 0.45, 10)]
    assert smallest.layers[-1].rate == 256 and smallest.bytes < 200 << 10
    assert within[-1].bytes == smallest.bytes < within[1].bytes < within[0].bytes < fastest.bytes
    assert all(tree.seconds <= seconds for tree, seconds in zip(within, (0.3, 0.45, 10), strict=True))
    late = best_trees(shapes, LEVEL, goal_of("0.001s"), SHARED)[0]  # no tree is as fast
    assert late.seconds == min(tree.seconds for tree in best_trees(shapes, LEVEL, Goal(0.001), SHARED))


def test_memory_and_asked_options_bound_the_choice(shapes: Shapes) -> None:
    small = replace(SHARED, memory=51 << 30)
    smallest, there = (best_trees(shapes, LEVEL, goal_of("small"), target)[0] for target in (SHARED, small))
    assert smallest.memory > 51 << 30 >= there.memory and there.bytes > smallest.bytes
    narrow = replace(SHARED, memory=3 << 30)  # all columns of the base do not fit: some are recomputed
    assert best_trees(shapes, LEVEL, Goal(), narrow)[0].memory <= 3 << 30
    tight = replace(ON_CPU, memory=5 << 30)  # all columns of a layer at 1/8 do not fit
    assert best_trees(shapes, LEVEL, Goal(), tight)[0].bytes <= FAST_BYTES_OF_CPU
    with pytest.raises(ValueError, match="no tree of layers reaches the level in the memory"):
        best_trees(shapes, LEVEL, Goal(), replace(SHARED, memory=1 << 20))
    asked = best_trees(shapes, replace(LEVEL, rate=4), Goal(pow_bits=22), SHARED)
    assert {tree.base.rate for tree in asked} == {4}
    assert {level.pow_bits for tree in asked for level in (tree.base, *tree.layers)} == {22}


def test_given_layers_have_the_best_base(shapes: Shapes) -> None:
    layers = [LayerLevel(rate=rate, hash="blake3", pow_bits=24) for rate in (8, 64)]
    level = replace(LEVEL, pow_bits=26)
    found = tree_with(shapes, level, layers, SHARED)
    assert said(found) == (8, 8, 64) and found.base.pow_bits == 26
    every = [tree_with(shapes, replace(level, rate=rate), layers, SHARED) for rate in (2, 4, 8, 16, 32)]
    assert found.seconds == min(tree.seconds for tree in every)


def test_shards_are_joined_by_the_size_of_layers_that_is_fastest(shapes: Shapes) -> None:
    """With idle workers smaller layers pay than on one device."""
    layouts, level = [layout_of(LayerShape((18, 18), LayerLevel(rate=8, pow_bits=24)))] * 16, LayerLevel(pow_bits=24)
    works = [work_about(layout) for layout in layouts]
    alone = most_compressions(works, [True] * 16, level, SHARED)
    many = most_compressions(works, [True] * 16, level, replace(SHARED, workers=16))
    assert many < alone
    assert most_compressions(works, [True] * 16, level, replace(SHARED, memory=1)) == 1 << LEAST_LOG


def test_the_cost_of_a_layer_grows_with_rows_and_rate() -> None:
    def seconds(rows: int, rate: int, bits: int = 24) -> float:
        return cost_of_layer(LayerShape((rows, rows), LayerLevel(rate=rate, pow_bits=bits)), SHARED).seconds

    assert seconds(18, 8) < seconds(18, 16) < seconds(18, 64) and seconds(18, 8) < seconds(20, 8)
    assert [seconds(18, 8, bits) for bits in BITS] == sorted(seconds(18, 8, bits) for bits in BITS)
    sizes = [bytes_of_layer(LayerShape((18, 18), LayerLevel(rate=rate, pow_bits=24))) for rate in (8, 32, 128)]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(
    ("word", "goal"), [("fast", Goal()), ("small", Goal(60.0)), ("2.5s", Goal(2.5)), ("3s", Goal(3.0))]
)
def test_words_name_goals(word: str, goal: Goal) -> None:
    assert goal_of(word) == goal and str(goal) == word
    assert goal_of(word, 26) == replace(goal, pow_bits=26)


@pytest.mark.parametrize("word", ["", "s", "3", "-1s", "0s", "nans", "infs", "quick"])
def test_other_words_are_refused(word: str) -> None:
    with pytest.raises(ValueError, match="expected fast, small, a time as"):
        goal_of(word)


@pytest.mark.parametrize("compress", ["fast", pytest.param("8s", marks=pytest.mark.slow)])
def test_a_proof_has_the_planned_tree(compress: str) -> None:
    """Few queries meet often: heights are compared with the layout of the base."""
    options: dict[str, Any] = {"security": 30, "pow_bits": 3, "device": "cpu"}
    prover = Prover(GUEST, compress=compress, **options)
    proof = prover.prove(struct.pack("<Q", 5))
    assert isinstance(proof, CompressedProof)
    base = Prover(GUEST, rate=1 << proof.header.parameters.log_blowup, **options).prepare(struct.pack("<Q", 5))
    target = replace(ON_CPU, memory=None)
    planned = tree_about((base.shards[0].layout,), prover.level, goal_of(compress, 3), target)
    made = [1 << layer.parameters.log_blowup for layer in proof.layers]
    assert made == [level.rate for level in planned.layers]
    assert layout_of_layer(proof.layer).log_heights[:2] == planned.levels[-1].layer.log_heights
    assert proof.size == pytest.approx(planned.bytes, rel=0.1)
