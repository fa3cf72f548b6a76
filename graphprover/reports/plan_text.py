"""A plan as text: rows of tables, and figures with units."""

from collections.abc import Iterable, Mapping, Sequence

from graphprover.graphs.batches import Hold, Holds
from graphprover.graphs.planner.plan import Plan, Task
from graphprover.graphs.planner.shard_memory import ShardsPlan
from graphprover.graphs.planner.trees import Tree, text_of_layer
from graphprover.graphs.proof_graph import Keep
from graphprover.graphs.rounds.transcript import TRANSCRIPT
from graphprover.proving.plan import RateCost


def plan_rows(plan: Plan) -> list[tuple[str, ...]]:
    """Return the column names, a row for each task (operations, bytes, rounds it waits for), and the totals."""
    rows: list[tuple[str, ...]] = [
        ("round", "name", "multiply", "butterfly", "hash calls", "result", "scratch", "depends on")
    ]
    for task in plan.tasks.values():
        rows.append(_row(task, ", ".join(_rounds(plan, task))))
    total = plan.total
    counts = map(count_text, (total.multiplications, total.butterflies, total.hash_calls))
    return [*rows, ("all", f"{len(plan.tasks)} tasks", *counts, bytes_text(total.kept), "", "")]


def peak_text(plan: Plan, threads: int) -> str:
    """Return the peak memory of the proof, with ``threads`` tasks in parallel."""
    return f"peak memory beyond the traces: {bytes_text(plan.peak_bytes(threads))}"


def held_text(holds: Holds) -> str:
    """Return of how many tables the device holds less than the extensions, so that the proof fits the memory."""
    lookups = sum(hold == Hold.MAIN for hold in holds.values())
    tables = f"{len(holds)} table{'s' * (len(holds) > 1)}"
    return f"recomputed for each use, to fit the memory: extensions of {tables}, lookup columns of {lookups or 'none'}"


def rates_rows(rates: Sequence[RateCost]) -> list[tuple[str, ...]]:
    """Return the column names and a row for each rate: the expected size, time and memory of a proof."""
    rows: list[tuple[str, ...]] = [("rate", "queries", "proof", "least time", "expected", "peak memory")]
    for found in rates:
        size, peak = bytes_text(found.bytes), bytes_text(found.peak_bytes)
        least, here = time_text(found.seconds), time_text(found.expected_seconds or 0.0)
        mark = " (does not fit)" if found.fits is False else ""
        rows.append((f"1/{found.rate}", str(found.queries), size, least, here, peak + mark))
    return rows


def trees_rows(trees: Sequence[Tree]) -> list[list[tuple[str, ...]]]:
    """Return the rows of two tables: of the best trees of layers, and of the levels of the first one.

    A tree takes its seconds one after another, so they are its critical path.
    """
    if not trees:
        return []
    rows: list[tuple[str, ...]] = [("base", "layers", "work", "proof", "time", "peak memory")]
    for tree in trees:
        bits = [tree.base.pow_bits, *(level.pow_bits for level in tree.layers)]
        rates = f"1/{tree.base.rate}", ", ".join(map(text_of_layer, tree.layers))
        work = ", ".join(f"2^{own}" for own in bits)
        rows.append((*rates, work, bytes_text(tree.bytes), time_text(tree.seconds), bytes_text(tree.memory)))
    (best, *_) = trees
    levels: list[tuple[str, ...]] = [
        ("critical path", "compressions", "full", "rows", "cells", "inputs", "proof", "peak memory")
    ]
    base = best.base_cost
    cells, memory = count_text(best.base_cells), bytes_text(base.memory)
    shards = f"base, {best.shards} shards" if best.shards > 1 else "base"
    levels.append((shards, "", "", "", cells, "", time_text(base.seconds), memory))
    for number, level in enumerate(best.levels, 1):
        name = f"layer {number}" if level.layers == 1 else f"layer {number}, {level.layers} times"
        compressions, times = count_text(round(level.compressions)), map(time_text, (level.inputs, level.seconds))
        heights = ", ".join(f"2^{log_rows}" for log_rows in level.layer.log_heights)
        full = f"{level.filled:.0%}"
        levels.append((name, compressions, full, heights, count_text(level.cells), *times, bytes_text(level.memory)))
    return [rows, levels]


def memory_text(memory: int) -> str:
    """Return the memory that proofs may hold on the device."""
    return f"memory for proofs: {bytes_text(memory)}"


def work_text(bits: int, mean: float) -> str:
    """Return the time of the proof of work before the queries, and its spread.

    The number of hashes has a geometric distribution: more than three times the mean has the probability e^-3 = 5 %.
    """
    return f"proof of work: 2^{bits} hashes, {time_text(mean)} on average; one in twenty takes three times the mean"


def shards_rows(plans: Mapping[Keep, ShardsPlan]) -> list[tuple[str, ...]]:
    """Return the column names and a row for each shard: size, cost, own peak, and bytes cached at each level of
    `Keep`.
    """
    rows: list[tuple[str, ...]] = [
        ("shard", "tables", "rows", "multiply", "butterfly", "hash calls", "peak", "trees", "+ traces", "+ extensions")
    ]
    for index, shard in enumerate(plans[Keep.ALL].shards):
        cost, layout = shard.cost, shard.layout
        counts = map(count_text, (cost.multiplications, cost.butterflies, cost.hash_calls))
        kept = [bytes_text(plans[keep].shards[index].kept) for keep in Keep if keep]
        size = str(len(layout.tables)), f"up to 2^{max(layout.log_heights)}"
        rows.append((str(index), *size, *counts, bytes_text(shard.peak.bytes), *kept))
    return rows


def shards_peak_text(plans: Mapping[Keep, ShardsPlan]) -> str:
    """Return the least and the greatest peak memory of the sharded proof, by the cached values."""
    least, most = (bytes_text(plans[keep].peak.bytes) for keep in (Keep.NOTHING, Keep.ALL))
    return f"peak memory beyond the traces: {least} without cached shards, {most} with all cached"


def shards_choice_text(plan: ShardsPlan) -> str:
    """Return the peak memory of a sharded proof on a device with its memory, and the columns that do not fit there."""
    peak, less = bytes_text(plan.peak.bytes), [shard.holds for shard in plan.shards if shard.holds]
    if not less:
        return f"on this device: {peak}, all extensions held within a shard"
    return f"on this device: {peak}; the largest of {len(less)} shards: {held_text(max(less, key=len))}"


def _rounds(plan: Plan, task: Task) -> Iterable[str]:
    """Return the rounds that a task depends on, each once."""
    return dict.fromkeys(
        f"{needed.round} {needed.name}" if needed.round == TRANSCRIPT else needed.round
        for needed in (plan.tasks[key] for key in task.needs)
    )


def _row(task: Task, after: str) -> tuple[str, ...]:
    cost = task.cost
    counts = map(count_text, (cost.multiplications, cost.butterflies, cost.hash_calls))
    return (task.round, task.name, *counts, bytes_text(cost.kept), bytes_text(cost.scratch), after)


def count_text(value: int) -> str:
    """Return a number of operations with a unit."""
    return _scaled(value, 1000, ("", " k", " M", " G", " T")) if value else "-"


def bytes_text(value: int) -> str:
    """Return bytes with a unit."""
    return _scaled(value, 1024, (" B", " KiB", " MiB", " GiB", " TiB")) if value else "-"


def time_text(seconds: float) -> str:
    """Return seconds with a unit and three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:#.3g}".rstrip(".") + f" {unit}"
    return "< 1 µs" if seconds else "-"


def _scaled(value: float, base: int, units: tuple[str, ...]) -> str:
    power = 0
    while value >= base and power < len(units) - 1:
        value /= base
        power += 1
    return f"{value:.0f}{units[power]}" if value >= 100 or power == 0 else f"{value:.1f}{units[power]}"
