"""``graphprover plan``: show the cost of a proof before making it."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from graphprover.cli import json_output, text_output
from graphprover.cli.args import FILES, Command, add_json, add_option, add_options, group_of, level_given
from graphprover.cli.cost import cost_facts, cost_report
from graphprover.cli.paths import path_argument
from graphprover.cli.program_args import (
    add_program,
    prepared_at,
    prepared_for,
    program_and_run,
    program_and_statement,
    resolve_small,
)
from graphprover.device.choose import CPU
from graphprover.jobs.machine_options import DEVICES, MACHINE
from graphprover.jobs.options import PLAN
from graphprover.protocol.parameters import FAST, SMALL
from graphprover.runtime.errors import OK, UsageError
from graphprover.runtime.files import check_writable, write

if TYPE_CHECKING:
    from graphprover.graphs.batches import Holds
    from graphprover.graphs.planner.plan import Plan
    from graphprover.protocol.layout import Layout
    from graphprover.prover.tree_choice import Layers
    from graphprover.proving.plan import PlanInShards, ProofPlan
    from graphprover.statement.cost import Cost


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "For each task: operations, bytes and dependencies; for each rate: expected proof size, time and memory. Plans "
        "of CPUs and GPUs differ, because a GPU combines larger tables in one task. A guest is executed first, because "
        "its run determines the table heights.",
        ["examples/keccak --input README.md", "guest.elf --device cuda", "examples/keccak --html plan.html"],
    )
    add_program(parser)
    add_options(parser, PLAN, {"shards": "1"})
    help = f"Device to plan for: {DEVICES}. The GPU need not exist on this host."
    add_option(group_of(parser, MACHINE), "device", help, "auto")
    files = group_of(parser, FILES)
    files.add_argument(
        "--svg",
        type=path_argument,
        metavar="FILE",
        help="Draw the plan to an SVG file: a row for each table, a box for each task, as wide as its modelled time.",
    )
    files.add_argument(
        "--html",
        type=path_argument,
        metavar="FILE",
        help="Write an HTML page with the drawing and a table of all tasks.",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover plan`` and return the exit code."""
    for path in filter(None, (options.svg, options.html)):
        check_writable(path)
    from graphprover.device.choose import profile_of
    from graphprover.graphs.planner.plan import Plan
    from graphprover.proving.plan import plan_of
    from graphprover.reports.plan_text import rates_rows, trees_rows

    with _usage("--device"):
        profile_of(options.device)
    with _usage("--small"):
        resolve_small(options, options.device)
    layers = _layers(options)
    program, run = program_and_run(options)
    cost = program.cost_about(run) if program.has_runs else None
    if cost:
        cost.check(options.max_cost)
    if layers:  # a layer hashes every opened word of its base, which is laid out in few tables
        options.rate = options.rate or SMALL
    _, statement = program_and_statement(options)
    prepared = prepared_for(program, statement, options)
    planned = plan_of(
        program.name,
        prepared,
        prepare=partial(prepared_at, program, options=options),
        level=level_given(options),
        policy=program.layout_policy,
        device=options.device,
        cycles=program.cycles(statement),
        cost=cost,
        layers=layers,
    )
    ran = json_output.run_of(program, run)
    graph = planned.graph
    facts, lines = _whole(planned, graph) if isinstance(graph, Plan) else _in_shards(planned, graph)
    drawn = _draw(planned, prepared, options)

    def describe() -> list[text_output.Block]:
        trees = [text_output.Section(rows) for rows in trees_rows(planned.trees)]
        shown = [*trees, text_output.Section(rates_rows(planned.rates)), *_rates_lines(planned)]
        tail = [] if planned.cycles is None else text_output.cells_report(planned.committed_cells, planned.cycles)
        if cost:
            tail += cost_report(cost)
        return [*text_output.run_report(ran), *shown, *tail, *lines, *drawn]

    text_output.say({"program": program.name, **facts, **_costs(planned), **ran, **_cost(cost)}, describe, options)
    return OK


def _costs(planned: "ProofPlan") -> json_output.Facts:
    """Return the expected cost of a proof at each rate that reaches the level."""
    work = {"hash": planned.hash, "bits": planned.pow_bits, "mean_seconds": planned.work_seconds}
    return {
        "committed_cells": None if planned.cycles is None else planned.committed_cells,
        "rates": [asdict(found) for found in planned.rates],
        "memory_bytes": planned.memory,
        "pace": planned.pace,
        "proof_of_work": work,
        "default_rate": planned.default_rate,
        **({"trees": [json_output.tree(found) for found in planned.trees]} if planned.trees else {}),
    }


def _layers(options: argparse.Namespace) -> "Layers":
    """Return the layers of a compressed proof, none of another one."""
    from graphprover.proving.prover import layers_of

    if not options.compress:
        return ()
    with _usage("--compress"):
        return layers_of(level_given(options), options.compress, options.pow_bits)


def _cost(cost: "Cost | None") -> json_output.Facts:
    return {"cost": None if cost is None else cost_facts(cost)}


def _rates_lines(planned: "ProofPlan") -> list[text_output.Block]:
    """Return the lines below the table of rates."""
    from graphprover.graphs.planner.pace import pace_text
    from graphprover.prover.prepare import LITTLE
    from graphprover.reports.plan_text import memory_text, work_text

    cells = sum(planned.committed_cells.values())
    return [
        *([] if planned.memory is None else [memory_text(planned.memory)]),
        *([] if planned.pace is None else [pace_text(planned.pace)]),
        work_text(planned.pow_bits, planned.work_seconds),
        f"default rate: 1/{planned.default_rate} "
        f"({cells:,} committed cells; 1/{SMALL} up to {LITTLE:,}, else 1/{FAST})",
    ]


@contextmanager
def _usage(option: str) -> Iterator[None]:
    """Turn a ValueError into a UsageError about an option."""
    try:
        yield
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error


def _held(layout: "Layout", holds: "Holds") -> dict[str, str]:
    """Return what the device holds of each table that does not hold its extensions, by the table's name."""
    from graphprover.graphs.batches import named

    return {named(layout, table): hold.name.lower() for table, hold in holds.items()}


def _whole(planned: "ProofPlan", plan: "Plan") -> tuple[json_output.Facts, list[text_output.Block]]:
    """Return the tasks of a proof in one graph, and their text."""
    from graphprover.reports.plan_text import held_text, peak_text, plan_rows

    holds = planned.holds
    facts = {**json_output.plan(plan, planned.device), "held": _held(plan.layout, holds)}
    lines = [f"on {planned.device}", peak_text(plan, planned.device.threads), *([held_text(holds)] if holds else [])]
    return facts, [text_output.Section(plan_rows(plan)), *lines]


def _in_shards(planned: "ProofPlan", plan: "PlanInShards") -> tuple[json_output.Facts, list[text_output.Block]]:
    """Return the shards of a proof, and their text."""
    from graphprover.reports.plan_text import shards_choice_text, shards_peak_text, shards_rows

    plans, chosen = plan.kept, plan.chosen
    held = [_held(shard.layout, shard.holds) for shard in chosen.shards] if chosen else []
    facts = {**json_output.plan_in_shards(plans, planned.device), "held": held}
    lines = [f"on {planned.device}", shards_peak_text(plans), *([shards_choice_text(chosen)] if chosen else [])]
    return facts, [text_output.Section(shards_rows(plans)), *lines]


def _draw(planned: "ProofPlan", prepared: Any, options: argparse.Namespace) -> list[text_output.Block]:
    """Draw the plan, or the largest shard's plan, to the files that the options name; return lines about the files."""
    if not (options.svg or options.html):
        return []
    from graphprover.graphs.planner.plan import Plan, make_plan
    from graphprover.graphs.planner.roofline import assumed
    from graphprover.graphs.proof_graph import Keep
    from graphprover.reports.plan_html import plan_html
    from graphprover.reports.plan_svg import plan_svg

    profile = planned.device
    times = assumed(profile.kind, profile.threads)
    plan, title = planned.graph, planned.name
    said: list[text_output.Block] = []
    if not isinstance(plan, Plan):
        seconds = [times.roofline.modelled(shard.cost).seconds for shard in plan.kept[Keep.ALL].shards]
        largest = max(range(len(seconds)), key=seconds.__getitem__)
        layout, traces = prepared.shapes[largest]
        plan = make_plan(layout, profile.log_batch_rows, traces, profile.kind != CPU)
        title = f"{title}, shard {largest} of {len(seconds)}, the largest"
        said = [f"drawn: shard {largest}, the largest"]
    for path, draw in ((options.svg, plan_svg), (options.html, plan_html)):
        if path:
            write(path, draw(plan, title, times, profile.threads).encode())
    return said
