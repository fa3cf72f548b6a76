"""``graphprover plan``: what a proof will cost, before anything runs."""

import argparse
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from graphprover.cli import json_output, text_output
from graphprover.cli.args import OK, Command, UsageError, add_json, add_level, add_shards
from graphprover.cli.paths import path_argument
from graphprover.cli.program_args import add_program, prepared_for, program_and_statement
from graphprover.jobs.programs import Program
from graphprover.protocol.parameters import RATES
from graphprover.runtime.files import check_writable, write
from graphprover.statement.cells import committed_cells

if TYPE_CHECKING:
    from graphprover.device.choose import Profile
    from graphprover.graphs.planner.roofline import Ceilings


def add(command: Command) -> None:
    """Adds it to the command line."""
    parser = command(
        "plan",
        run,
        "Show what a proof will cost, before anything runs.",
        "For each round and table: operations, bytes, and what it waits for. On a GPU small tables share tasks up to "
        "more rows than on a CPU, so the plans differ. A guest is run for it: how tall its tables are depends on that.",
        ["examples/keccak --input README.md", "guest.elf --device cuda", "examples/keccak --html plan.html"],
    )
    add_program(parser)
    add_level(parser)
    add_shards(parser, "1")
    parser.add_argument(
        "--device",
        default="auto",
        metavar="NAME",
        help="whose tasks to plan: auto (default: what `prove` takes on this machine), cpu, cuda or cuda:NUMBER; the "
        "GPU need not be there",
    )
    parser.add_argument(
        "--svg",
        type=path_argument,
        metavar="FILE",
        help="also draw it: a row for each table, boxes as wide as tasks take long",
    )
    parser.add_argument("--html", type=path_argument, metavar="FILE", help="also a page with the picture and all tasks")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """``graphprover plan``"""
    for path in filter(None, (options.svg, options.html)):
        check_writable(path)
    from graphprover.device.choose import profile_of
    from graphprover.graphs.planner.pace import pace_text
    from graphprover.graphs.planner.plan import make_plan
    from graphprover.graphs.planner.roofline import assumed
    from graphprover.prover.prepare import LITTLE, rate_for
    from graphprover.reports.plan_html import plan_html
    from graphprover.reports.plan_svg import plan_svg
    from graphprover.reports.plan_text import peak_text, plan_rows, rates_rows

    try:
        profile = profile_of(options.device)
    except ValueError as error:
        raise UsageError(f"--device: {error}") from error
    program, statement = program_and_statement(options)
    prepared = prepared_for(program, statement, options)
    by_table, cycles = committed_cells(statement), program.cycles(statement)
    cells = None if cycles is None else by_table
    tail = [] if cycles is None else text_output.cells_report(by_table, cycles)
    if len(prepared.shards) > 1:
        return _plan_in_shards(program.name, prepared, cells, tail, profile, options)
    plan = make_plan(prepared.layout, profile.log_batch_rows, prepared.traces)
    found = {"program": program.name, **json_output.plan(plan, profile), "committed_cells": cells}

    times = assumed(profile.kind, profile.threads)
    pace = _pace(profile)
    rates = _rates(program, prepared, profile, times.ceilings, pace, options)
    all_cells = sum(by_table.values())
    found |= {"pace": pace, "rates": rates, "default_rate": rate_for(all_cells)}
    default = f"by default 1/{found['default_rate']}: {all_cells:,} committed cells ({LITTLE:,} or fewer are few)"

    def describe() -> list[text_output.Block]:
        peak = peak_text(plan, profile.threads)
        return [
            text_output.Section(plan_rows(plan)),
            f"on {profile}",
            peak,
            text_output.Section(rates_rows(rates)),
            *([] if pace is None else [pace_text(pace)]),
            default,
            *tail,
        ]

    for path, draw in ((options.svg, plan_svg), (options.html, plan_html)):
        if path:
            write(path, draw(plan, program.name, times, profile.threads).encode())
    text_output.say(found, describe, options)
    return OK


def _pace(profile: "Profile") -> float | None:
    """How far from its floor this machine's processor works; None for a GPU, of whose host the floors know nothing."""
    from graphprover.device.choose import CPU

    if profile.kind != CPU:
        return None
    from graphprover.device.cpu import CpuDevice
    from graphprover.graphs.planner.pace import measured_pace

    return measured_pace(CpuDevice(profile.threads))


def _rates(
    program: Program,
    prepared: Any,
    profile: "Profile",
    ceilings: "Ceilings",
    pace: float | None,
    options: argparse.Namespace,
) -> list[json_output.Facts]:
    """What a proof costs at each rate that reaches the level: of these tables, or of those that a run has there."""
    from graphprover.graphs.planner.pace import expected_seconds
    from graphprover.graphs.planner.plan import make_plan
    from graphprover.prover.prepare import at_rate

    expected = None if pace is None else partial(expected_seconds, pace)
    found, known = (
        [],
        {program.layout_policy(options.rate): prepared},
    )  # a run is made once for all rates of a layout policy
    for rate in RATES:
        with suppress(ValueError):
            policy = program.layout_policy(rate)
            if policy not in known:
                there = argparse.Namespace(**vars(options) | {"rate": rate})
                known[policy] = prepared_for(program, program_and_statement(there)[1], there)
            asked = known[policy]
            layout = at_rate(asked, options.security, rate, options.proximity).layout
            plan = make_plan(layout, profile.log_batch_rows, asked.traces)
            found.append(json_output.rate(rate, layout, plan, profile, ceilings, expected))
    return found


def _plan_in_shards(
    name: str,
    prepared: Any,
    cells: dict[str, int] | None,
    tail: list[text_output.Block],
    profile: "Profile",
    options: argparse.Namespace,
) -> int:
    from graphprover.device.choose import CPU
    from graphprover.graphs.planner.roofline import assumed
    from graphprover.graphs.planner.shard_memory import On, plan_keeping
    from graphprover.graphs.proof_graph import Keep
    from graphprover.reports.plan_text import shards_peak_text, shards_rows
    from graphprover.reports.shards_html import shards_html
    from graphprover.reports.shards_svg import shards_svg
    from graphprover.reports.shards_times import ShardsTimes

    on = On(profile.log_batch_rows, profile.threads, profile.kind != CPU)
    plans = {keep: plan_keeping(prepared.shapes, on, keep) for keep in Keep}
    found = {"program": name, **json_output.plan_in_shards(plans, profile), "committed_cells": cells}

    def describe() -> list[text_output.Block]:
        return [text_output.Section(shards_rows(plans)), f"on {profile}", shards_peak_text(plans), *tail]

    for path, draw in ((options.svg, shards_svg), (options.html, shards_html)):
        if path:
            rates = assumed(profile.kind, profile.threads)
            times = ShardsTimes(prepared.shapes, on, rates.ceilings)
            write(path, draw(times, name, rates).encode())
    text_output.say(found, describe, options)
    return OK
