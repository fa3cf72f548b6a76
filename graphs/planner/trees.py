"""The tree of a compressed proof: the search for the rates and proofs of work of its base and of its layers.

A layer is about the proof before, or about several shards or layers. The lower the rate of a proof, the longer it
takes, and the fewer queries a layer about it has. So the rates of all proofs are chosen together.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, product
from math import inf
from typing import TypeVar

from graphprover.air.description import AirDescription
from graphprover.device.choose import CPU
from graphprover.graphs.planner.layers import (
    LayerShape,
    ProofCost,
    Target,
    bytes_of_layer,
    cost_of_layer,
    cost_of_proof,
    inputs_seconds,
    layout_of,
    shape_with,
    work_about_layer,
)
from graphprover.proof.compressed import MOST_CHILDREN
from graphprover.protocol.goal import Goal
from graphprover.protocol.layout import Layout, make_layout
from graphprover.protocol.level import COMPRESSED_POW_BITS, MOST_POW_BITS, LayerLevel, Level
from graphprover.protocol.parameters import LAYER_RATES, SMALL
from graphprover.recursion.expected import LayerWork, work_about
from graphprover.recursion.tables.places import ROWS as ROWS_OF_CALL
from graphprover.statement.cells import cells_of

# The size of the fastest proofs. Of a proof on a CPU a smaller one takes several times as long.
FAST_BYTES, FAST_BYTES_OF_CPU = 300 << 10, 512 << 10
SIZE_MARGIN = 0.015  # of an expected size: two and a half standard deviations
HEADER_BYTES = 330  # of a compressed proof: of each proof whose payload it has not
BASE_RATES = (2, 4, 8, 16, 32)
BITS = (COMPRESSED_POW_BITS, 26, 28, MOST_POW_BITS)  # of the proofs of work before the queries
LEAST_MERGED = 16  # N of the highest rate 1/N of a merged layer: at higher ones its smaller proof does not pay
MOST_CHAIN = 3  # layers one about another from the first one about all shards on
MOST_LOG, LEAST_LOG = 18, 14  # of the compressions of a layer about several proofs
KEPT = 5  # trees that a search returns
_NO_TREE = "no tree of layers reaches the level in the memory of the device: give rates, or more shards"

T = TypeVar("T")
Shapes = tuple[tuple[tuple[AirDescription, ...], tuple[int, ...]], ...]  # of each shard: tables, log2 of their rows


@dataclass(frozen=True)
class TreeLevel:
    """The layers of one level of a tree."""

    layer: LayerShape  # the largest one
    layers: int
    compressions: float  # of the largest one
    inputs: float  # seconds until the inputs of all layers are made
    seconds: float  # until all their proofs are made
    memory: int  # peak bytes of one proof
    cells: int  # of all layers

    @property
    def filled(self) -> float:
        """The part of the rows of `blake3`, or of a merged layer, that compressions fill."""
        return self.compressions * ROWS_OF_CALL / (1 << self.layer.log_heights[0])


@dataclass(frozen=True)
class Tree:
    """A compressed proof as it is planned."""

    base: Level  # with a rate
    shards: int
    base_cost: ProofCost  # of all shards
    base_cells: int
    most: int  # compressions of a layer about several proofs
    levels: tuple[TreeLevel, ...]  # from the base up
    joins: int  # number of the levels up to the first layer about all shards, which have one rate
    bytes: int  # of the compressed proof

    @property
    def seconds(self) -> float:
        """The expected seconds of all proofs, after the run."""
        return self.base_cost.seconds + sum(level.inputs + level.seconds for level in self.levels)

    @property
    def memory(self) -> int:
        """The peak bytes of all proofs."""
        return max(self.base_cost.memory, *(level.memory for level in self.levels))

    @property
    def layers(self) -> tuple[LayerLevel, ...]:
        """The level of all layers up to the first one about all shards, and of each one above."""
        return tuple(level.layer.level for level in self.levels[self.joins - 1 :])

    @property
    def text(self) -> str:
        """The choice as a text: base 1/4, layers 1/8, 1/64."""
        layers = ", ".join(map(text_of_layer, self.layers))
        return f"base 1/{self.base.rate}, layer{'s' * (len(self.layers) > 1)} {layers}"


def text_of_layer(level: LayerLevel) -> str:
    """Return a layer as a text: its rate, and whether it is merged."""
    return f"1/{level.rate}{' merged' * level.merged}"


Chain = tuple[TreeLevel, ...]  # layers one about another


@lru_cache(maxsize=256)
def best_trees(shapes: Shapes, level: Level, goal: Goal, target: Target) -> tuple[Tree, ...]:
    """Return the trees that meet a goal best, the best one first.

    Args:
        shapes: The shapes of all shards.
        level: The level of all proofs; its rate, if it has one, is the base's.
        goal: The goal.
        target: The devices.

    Raises:
        ValueError: No tree reaches the level in this memory.
    """

    def search(target: Target) -> tuple[Tree, ...]:
        return _best(shapes, level, goal, target)

    return _where_it_fits(target, search, lambda found: _is_too_large(found[0], goal, target))


def _best(shapes: Shapes, level: Level, goal: Goal, target: Target) -> tuple[Tree, ...]:
    choices, found = _choices(goal), list[Tree]()
    for base, layouts, cost in _bases(shapes, level, choices, target):
        found += _trees(base, layouts, cost, target, choices)
    return _ranked(found, goal, target)


def _where_it_fits(
    target: Target, search: Callable[[Target], T], is_too_large: Callable[[T], bool] = lambda found: False
) -> T:
    """Return the result of a search in which all proofs fit the memory without recomputed columns.

    If there is none, or it is too large, columns may be recomputed.
    """
    try:
        found = search(target)
    except ValueError:
        return search(replace(target, recomputes=True))
    return search(replace(target, recomputes=True)) if is_too_large(found) else found


def _is_too_large(tree: Tree, goal: Goal, target: Target) -> bool:
    """Return whether a tree was to be the fastest of a usual size, and is larger."""
    return goal.seconds is None and tree.bytes > _usual_bytes(target)


def _usual_bytes(target: Target) -> int:
    """Return the largest expected size of the fastest proof of a usual size."""
    return round((FAST_BYTES_OF_CPU if target.kind == CPU else FAST_BYTES) / (1 + SIZE_MARGIN))


def tree_with(shapes: Shapes, level: Level, layers: Sequence[LayerLevel], target: Target) -> Tree:
    """Return the fastest tree with given layers; arguments and errors as for `best_trees`.

    Args:
        shapes: As there.
        level: As there; its proof of work is the base's.
        layers: The level of all layers up to the first one about all shards, and of each one above.
        target: As there.
    """
    return _where_it_fits(target, lambda target: _fastest(shapes, level, layers, target))


def _fastest(shapes: Shapes, level: Level, layers: Sequence[LayerLevel], target: Target) -> Tree:
    found: list[Tree] = []
    for base, layouts, cost in _bases(shapes, level, (level.pow_bits,), target):
        works = [work_about(layout) for layout in layouts]
        for most in _caps(works):
            levels = _stacked(works, layers, most, target)
            if levels:
                shards, joins = len(layouts), len(levels) - len(layers) + 1
                size = _bytes(levels) + HEADER_BYTES * shards
                found.append(Tree(base, shards, cost, sum(map(cells_of, layouts)), most, tuple(levels), joins, size))
    if not found:
        raise ValueError(_NO_TREE)
    return min(found, key=lambda tree: tree.seconds)


@lru_cache(maxsize=256)
def tree_about(layouts: tuple[Layout, ...], level: Level, goal: Goal, target: Target) -> Tree:
    """Return the best tree about shards that have these layouts; arguments and errors as for `best_trees`."""
    own = layouts[0].parameters
    base = replace(level, rate=1 << own.log_blowup, pow_bits=own.query_pow_bits)

    def search(target: Target) -> Tree:
        trees = _trees(base, layouts, _base_cost(layouts, target), target, _choices(goal))
        return _ranked(trees, goal, target)[0]

    return _where_it_fits(target, search, lambda found: _is_too_large(found, goal, target))


def most_compressions(works: Sequence[LayerWork], are_layers: Sequence[bool], level: LayerLevel, target: Target) -> int:
    """Return the compressions of a layer about several proofs with which the layers up to one take the least time.

    Args:
        works: The work about each proof.
        are_layers: Whether each proof is a layer.
        level: The level of the layers.
        target: The devices; if no layer fits their memory, the number is the least one.
    """
    times = dict[int, float]()
    for most in _caps(works):
        levels = _joined(works, are_layers, level, most, target)
        if levels is not None:
            times[most] = _seconds(levels)
    return min(times, key=lambda most: (times[most], most), default=1 << LEAST_LOG)


def _choices(goal: Goal) -> tuple[int, ...]:
    return BITS if goal.pow_bits is None else (goal.pow_bits,)


@lru_cache(maxsize=64)
def _layer_levels(like: Level, choices: tuple[int, ...]) -> tuple[LayerLevel, ...]:
    """Return the levels of a layer that may be chosen, with the security of another proof."""
    found = product(LAYER_RATES, choices, (False, True))
    return tuple(
        like.of_layer(rate=rate, pow_bits=bits, merged=merged)
        for rate, bits, merged in found
        if not merged or rate >= LEAST_MERGED
    )


def _caps(works: Sequence[LayerWork]) -> Sequence[int]:
    """Return the numbers of compressions of a layer that may be chosen; one alone if no layer is about several."""
    return [1 << log for log in range(LEAST_LOG, MOST_LOG + 1)] if len(works) > 1 else [1 << MOST_LOG]


def _bases(
    shapes: Shapes, level: Level, choices: Sequence[int], target: Target
) -> Iterator[tuple[Level, list[Layout], ProofCost]]:
    """Yield the levels of the base that may be chosen, with the layouts and the cost of all shards."""
    for rate in BASE_RATES if level.rate is None else (level.rate,):
        recomputes = False
        for bits in choices:
            base = replace(level, rate=rate, pow_bits=bits)
            with suppress(ValueError):  # no parameters reach the level at this rate
                layouts = _layouts(shapes, base)
                cost = _base_cost(layouts, target)
                recomputes |= cost.recomputes
                if target.fits(cost.memory):
                    yield base, layouts, cost
        if recomputes:  # as all lower rates do
            return


def _layouts(shapes: Shapes, level: Level) -> list[Layout]:
    """Return the layout of each shard at a level with a rate; raises ValueError if no parameters reach it."""
    parameters = level.parameters(shapes, SMALL)
    return [make_layout(*shape, parameters, shard=len(shapes) > 1) for shape in shapes]


def _base_cost(layouts: Sequence[Layout], target: Target) -> ProofCost:
    costs = [cost_of_proof(layout, target) for layout in layouts]
    seconds = _together([cost.seconds for cost in costs], target)
    return ProofCost(seconds, max(cost.memory for cost in costs), any(cost.recomputes for cost in costs))


def _together(seconds: Sequence[float], target: Target) -> float:
    """Return the seconds of equal proofs by all workers."""
    return max(seconds) * -(-len(seconds) // target.workers)


def _trees(
    base: Level, layouts: Sequence[Layout], cost: ProofCost, target: Target, choices: tuple[int, ...]
) -> list[Tree]:
    """Return the trees about shards that fit the memory, except each that another one betters in time and bytes."""
    works = [work_about(layout) for layout in layouts]
    found = list[tuple[float, int, int, int, Chain]]()
    for level, most in product(_layer_levels(base, choices), _caps(works)):
        joins = _joined(works, [False] * len(works), level, most, target)
        if not joins:
            continue
        for chain in _chains(joins[-1].layer, MOST_CHAIN - 1, choices, target):
            levels = (*joins, *chain)
            found.append((_seconds(levels), _bytes(levels), most, len(joins), levels))
    cells, shards = sum(map(cells_of, layouts)), len(layouts)
    return [
        Tree(base, shards, cost, cells, most, levels, joins, size + HEADER_BYTES * shards)
        for _, size, most, joins, levels in _bettered_by_none(found, lambda own: own[:2])
    ]


def _bettered_by_none(found: Iterable[T], cost: Callable[[T], tuple[float, int]]) -> list[T]:
    """Return those whose ``cost``, seconds and bytes, is not matched in both by another one, the fastest first."""
    kept, least = list[T](), inf
    for own in sorted(found, key=cost):
        if cost(own)[1] < least:
            kept.append(own)
            least = cost(own)[1]
    return kept


def _bytes(levels: Sequence[TreeLevel]) -> int:
    """Return the bytes of a compressed proof with these levels, without the headers of the shards."""
    return bytes_of_layer(levels[-1].layer) + HEADER_BYTES * sum(own.layers for own in levels)


def _stacked(
    works: Sequence[LayerWork], layers: Sequence[LayerLevel], most: int, target: Target
) -> list[TreeLevel] | None:
    """Return the levels of a tree with given layers; None if a layer does not fit the memory."""
    found = _joined(works, [False] * len(works), layers[0], most, target)
    for level in layers[1:]:
        own = _level([work_about_layer(found[-1].layer)], level, target) if found else None
        if not found or own is None:
            return None
        found.append(own[0])
    return found


def _joined(
    works: Sequence[LayerWork], are_layers: Sequence[bool], level: LayerLevel, most: int, target: Target
) -> list[TreeLevel] | None:
    """Return the levels of a tree up to one layer about all proofs; None if a layer does not fit the memory."""
    found = list[TreeLevel]()
    while len(works) > 1 or not are_layers[0]:
        ends = grouped([work.compressions for work in works], are_layers, most)
        groups = [sum(works[begin:end], LayerWork()) for begin, end in pairwise([0, *ends])]
        own = _level(groups, level, target)
        if own is None:
            return None
        found.append(own[0])
        works, are_layers = [work_about_layer(layer) for layer in own[1]], [True] * len(groups)
    return found


def _level(groups: Sequence[LayerWork], level: LayerLevel, target: Target) -> tuple[TreeLevel, list[LayerShape]] | None:
    """Return a level of a tree with its layers; None if there is none, or one does not fit the memory."""
    try:
        layers = [shape_with(work, level) for work in groups]
        costs = [cost_of_layer(layer, target) for layer in layers]
    except ValueError:  # no merged layer has these rows, or no parameters reach the level
        return None
    memory = max(cost.memory for cost in costs)
    if not target.fits(memory):
        return None
    most = max(range(len(groups)), key=lambda i: groups[i].compressions)
    found = TreeLevel(
        layers[most],
        len(layers),
        groups[most].compressions,
        _together([inputs_seconds(work) for work in groups], target),
        _together([cost.seconds for cost in costs], target),
        memory,
        sum(cells_of(layout_of(layer)) for layer in layers),
    )
    return found, layers


@lru_cache(maxsize=4096)
def _chains(layer: LayerShape, most: int, choices: tuple[int, ...], target: Target) -> tuple[Chain, ...]:
    """Return the layers, one about another, that may follow a layer: none, or up to ``most`` at no higher rate.

    A chain that takes longer than another one and has no fewer bytes is left out.
    """
    found: list[Chain] = [()]
    levels = [level for level in _layer_levels(layer.level, choices) if most and level.rate >= layer.level.rate]
    work = work_about_layer(layer) if levels else LayerWork()
    for level in levels:
        own = _level([work], level, target)
        if own:
            found += [(own[0], *chain) for chain in _chains(own[0].layer, most - 1, choices, target)]

    def cost(chain: Chain) -> tuple[float, int]:
        return _seconds(chain), bytes_of_layer(chain[-1].layer if chain else layer)

    return tuple(_bettered_by_none(found, cost))


def _seconds(levels: Sequence[TreeLevel]) -> float:
    return sum(level.inputs + level.seconds for level in levels)


def grouped(compressions: Sequence[float], layers: Sequence[bool], most: int) -> list[int]:
    """Return the ends of groups of consecutive proofs, each of at most ``most`` compressions if it can be.

    A group has one proof at least, and two if both are layers, so that the number of proofs falls in each turn.

    Args:
        compressions: The compressions that each proof takes.
        layers: Whether each proof is a layer.
        most: The compressions of a group.
    """
    ends, begin, total = list[int](), 0, 0.0
    for number, (own, is_layer) in enumerate(zip(compressions, layers, strict=True)):
        alone = number - begin == 1 and is_layer and layers[begin]
        if number > begin and (number - begin == MOST_CHILDREN or (total + own > most and not alone)):
            ends.append(number)
            begin, total = number, 0.0
        total += own
    return [*ends, len(compressions)]


def _ranked(trees: Iterable[Tree], goal: Goal, target: Target) -> tuple[Tree, ...]:
    """Return the best trees in the order of a goal, each with other rates.

    If no tree meets the goal, the trees that miss it least come first.
    """
    if goal.seconds is None:
        most = _usual_bytes(target)
        found = sorted(trees, key=lambda tree: (max(tree.bytes, most), tree.seconds))
    else:
        within = goal.seconds
        found = sorted(trees, key=lambda tree: (max(tree.seconds, within), tree.bytes, tree.seconds))
    if not found:
        raise ValueError(_NO_TREE)
    kept = dict[str, Tree]()
    for tree in found:
        kept.setdefault(tree.text, tree)
    return tuple(kept.values())[:KEPT]
