"""``graphprover plan``: show the cost of a proof before making it."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from graphprover.cli import json_output, text_output
from graphprover.cli.args import DEVICE_HELP, FILES, Command, add_device, add_json, add_options, group_of, level_given
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
from graphprover.jobs.options import PLAN
from graphprover.jobs.programs import Program
from graphprover.protocol.level import Level
from graphprover.protocol.parameters import FAST, SMALL
from graphprover.runtime.errors import OK, UsageError
from graphprover.runtime.files import check_writable, write
from graphprover.statement.cells import committed_cells

if TYPE_CHECKING:
    from graphprover.device.choose import DeviceProfile
    from graphprover.graphs.batches import Holds
    from graphprover.protocol.layout import Layout
    from graphprover.prover.smallest import PlannedDevice


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
    add_device(parser, f"Device to plan for: {DEVICE_HELP}. The GPU need not exist on this host.")
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
    from graphprover.graphs.planner.holding import plan_whole
    from graphprover.graphs.planner.plan import make_plan
    from graphprover.graphs.planner.roofline import assumed
    from graphprover.reports.plan_html import plan_html
    from graphprover.reports.plan_svg import plan_svg
    from graphprover.reports.plan_text import held_text, peak_text, plan_rows

    with _usage("--device"):
        profile = profile_of(options.device)
    with _usage("--small"):
        resolve_small(options, options.device)
    program, run = program_and_run(options)
    cost = program.cost_about(run) if program.has_runs else None
    if cost:
        cost.check(options.max_cost)
    _, statement = program_and_statement(options)
    prepared = prepared_for(program, statement, options)
    by_table, cycles = committed_cells(statement), program.cycles(statement)
    cells = None if cycles is None else by_table
    ran = json_output.run_of(program, run)
    tail = [] if cycles is None else text_output.cells_report(by_table, cycles)
    head = text_output.run_report(ran)
    tail += [] if cost is None else cost_report(cost)
    costs, shown = _costs(program, prepared, sum(by_table.values()), profile, options)
    costs |= ran
    costs["cost"] = None if cost is None else cost_facts(cost)
    if len(prepared.shards) > 1:
        return _plan_in_shards(
            program.name, prepared, {"committed_cells": cells} | costs, head, shown + tail, profile, options
        )
    planned = _planned(profile, options.device)
    whole = plan_whole(prepared.layout, prepared.traces, planned.on, planned.budget(prepared))
    plan = make_plan(prepared.layout, profile.log_batch_rows, prepared.traces, planned.on.loads, whole.holds)
    found = {
        "program": program.name,
        **json_output.plan(plan, profile),
        "held": _held(prepared.layout, whole.holds),
        "committed_cells": cells,
        **costs,
    }
    times = assumed(profile.kind, profile.threads)

    def describe() -> list[text_output.Block]:
        peak = peak_text(plan, profile.threads)
        return [
            *head,
            text_output.Section(plan_rows(plan)),
            f"on {profile}",
            peak,
            *([held_text(whole.holds)] if whole.holds else []),
            *shown,
            *tail,
        ]

    for path, draw in ((options.svg, plan_svg), (options.html, plan_html)):
        if path:
            write(path, draw(plan, program.name, times, profile.threads).encode())
    text_output.say(found, describe, options)
    return OK


def _costs(
    program: Program, prepared: Any, cells: int, profile: "DeviceProfile", options: argparse.Namespace
) -> tuple[json_output.Facts, list[text_output.Block]]:
    """Return the expected cost of a proof at each rate that reaches the level, and its text."""
    from graphprover.graphs.planner.costs import hashing
    from graphprover.graphs.planner.pace import expected_seconds, pace_text
    from graphprover.prover.prepare import LITTLE, rate_for
    from graphprover.prover.smallest import candidates
    from graphprover.reports.plan_text import memory_text, rates_rows, work_text

    level = level_given(options)
    planned, pace = _planned(profile, options.device), _pace(profile, level.hash)
    expected = None if pace is None else partial(expected_seconds, pace)
    policy = program.layout_policy(options.rate)

    def prepare(at: Level) -> Any:
        # The guest runs once per layout policy.
        return prepared if program.layout_policy(at.rate) == policy else prepared_at(program, at, options)

    found = candidates(prepare, level, program.layout_policy, planned)
    rates = [json_output.rate(at, planned.fits(at), expected) for at in found]
    floor = planned.roofline.modelled(hashing(level.hash, 1 << level.pow_bits)).seconds
    mean = floor if expected is None else expected(floor)
    default = (
        f"default rate: 1/{rate_for(cells)} ({cells:,} committed cells; 1/{SMALL} up to {LITTLE:,}, else 1/{FAST})"
    )
    facts: json_output.Facts = {
        "rates": rates,
        "memory_bytes": planned.memory,
        "pace": pace,
        "proof_of_work": {"hash": level.hash, "bits": level.pow_bits, "mean_seconds": mean},
        "default_rate": rate_for(cells),
    }
    shown: list[text_output.Block] = [
        text_output.Section(rates_rows(rates)),
        *([] if planned.memory is None else [memory_text(planned.memory)]),
        *([] if pace is None else [pace_text(pace)]),
        work_text(level.pow_bits, mean),
        default,
    ]
    return facts, shown


def _planned(profile: "DeviceProfile", name: str) -> "PlannedDevice":
    """Return the device to plan for; the memory of a GPU that is not in this machine is unknown."""
    from graphprover.admission.admission import largest
    from graphprover.device.choose import device_for
    from graphprover.graphs.planner.plan import On
    from graphprover.graphs.planner.roofline import assumed
    from graphprover.prover.smallest import PlannedDevice

    memory = None
    with suppress(ValueError):
        memory = largest(device_for(name))
    on = On(profile.log_batch_rows, profile.threads, profile.kind != CPU)
    return PlannedDevice(on, assumed(profile.kind, profile.threads).roofline, memory)


def _pace(profile: "DeviceProfile", hash: str) -> float | None:
    """Return measured / modelled time of this host's CPU, or None for a GPU, whose model omits the host."""
    if profile.kind != CPU:
        return None
    from graphprover.prover.smallest import pace_of

    return pace_of(profile.threads, hash)


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


def _plan_in_shards(
    name: str,
    prepared: Any,
    facts: json_output.Facts,
    head: list[text_output.Block],
    tail: list[text_output.Block],
    profile: "DeviceProfile",
    options: argparse.Namespace,
) -> int:
    from graphprover.graphs.planner.plan import On, make_plan
    from graphprover.graphs.planner.roofline import assumed
    from graphprover.graphs.planner.shard_memory import plan_keeping, plan_shards
    from graphprover.graphs.proof_graph import Keep
    from graphprover.reports.plan_html import plan_html
    from graphprover.reports.plan_svg import plan_svg
    from graphprover.reports.plan_text import shards_choice_text, shards_peak_text, shards_rows

    on = On(profile.log_batch_rows, profile.threads, profile.kind != CPU)
    plans = {keep: plan_keeping(prepared.shapes, on, keep) for keep in Keep}
    budget = _planned(profile, options.device).budget(prepared)
    chosen = None if budget is None else plan_shards(prepared.shapes, on, budget)
    held = [_held(shard.layout, shard.holds) for shard in chosen.shards] if chosen else []
    found = {"program": name, **json_output.plan_in_shards(plans, profile), "held": held, **facts}

    times = assumed(profile.kind, profile.threads)
    seconds = [times.roofline.modelled(shard.cost).seconds for shard in plans[Keep.ALL].shards]
    largest = max(range(len(seconds)), key=seconds.__getitem__)

    def describe() -> list[text_output.Block]:
        drawn = [f"drawn: shard {largest}, the largest"] if options.svg or options.html else []
        rows = text_output.Section(shards_rows(plans))
        within = [] if chosen is None else [shards_choice_text(chosen)]
        return [*head, rows, f"on {profile}", shards_peak_text(plans), *within, *drawn, *tail]

    for path, draw in ((options.svg, plan_svg), (options.html, plan_html)):
        if path:
            layout, traces = prepared.shapes[largest]
            plan = make_plan(layout, on.log_batch_rows, traces, on.loads)
            title = f"{name}, shard {largest} of {len(seconds)}, the largest"
            write(path, draw(plan, title, times, profile.threads).encode())
    text_output.say(found, describe, options)
    return OK
