"""``graphprover execute``: run a guest without a proof, and report its instructions, output and cost."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from graphprover.cli.args import FILES, GUEST_HELP, Command, add_json, add_options, group_of, options_given, refuse
from graphprover.cli.cost import cost_facts, cost_report
from graphprover.cli.json_output import Facts, file
from graphprover.cli.paths import path_argument
from graphprover.cli.program_args import INPUT_HELP
from graphprover.cli.text_output import cells_report, run_lines, say
from graphprover.jobs.kinds import ELF, kind_of
from graphprover.jobs.opening import SMALLER
from graphprover.jobs.options import EXECUTE, of_job
from graphprover.jobs.programs import is_packaged
from graphprover.runtime.compiling import compile_seconds
from graphprover.runtime.display.section import Block, Section
from graphprover.runtime.errors import FAILED, OK, UsageError
from graphprover.runtime.extras import install
from graphprover.runtime.files import MAX_PROGRAM_BYTES, FileError, check_writable, read_input, write
from graphprover.telemetry.model import rate
from graphprover.vm.program.elf import ElfError, load_elf
from graphprover.vm.statement.claim import bytes_json, shown
from graphprover.vm.statement.statement import Machine

if TYPE_CHECKING:
    from graphprover.vm.executor.execute import Execution
    from graphprover.vm.profile.measure import Profile

SHOWN = 10  # functions in a printed profile
PROFILE_FORMATS = (".html", ".txt", ".json")


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "The report has its output, exit code, cycles and memory.",
        [
            "examples/guests/sha256.elf --input README.md",
            "guest.elf --input data --profile profile.html",
            "guest.elf --input data --output result --max-cycles 1000000",
        ],
    )
    parser.add_argument("guest", type=path_argument, metavar="GUEST.ELF", help=f"{GUEST_HELP}.")
    files = group_of(parser, FILES)
    files.add_argument("--input", type=path_argument, metavar="FILE", help=INPUT_HELP)
    files.add_argument(
        "--output",
        type=path_argument,
        metavar="FILE",
        help="Write the guest's output to FILE, also the part before a fault.",
    )
    parser.add_argument("--instructions", action="store_true", help="Also print the instructions of the run by kind.")
    parser.add_argument("--cells", action="store_true", help="Also print the cells that a proof would commit to.")
    parser.add_argument(
        "--cost", action="store_true", help="Also print the cost number of a proof of the run, by class."
    )
    parser.add_argument(
        "--profile",
        type=_profile_file,
        metavar="FILE",
        help="Write the cycles and committed cells by function. The suffix selects the format: a page with a flame "
        "graph (.html), a speedscope file (.json), or collapsed stacks for flamegraph.pl and speedscope (.txt).",
    )
    parser.add_argument(
        "--profile-by",
        choices=("cells", "cycles", "cost"),
        default="cells",
        help="Unit of the widths in the profile. Default: cells.",
    )
    add_options(
        parser, EXECUTE, {"max_memory": "1024, or half of this host's memory with --cells, which needs a record"}
    )
    add_json(parser)


def _profile_file(text: str) -> Path:
    path = path_argument(text)
    if path.suffix not in PROFILE_FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} has none of the suffixes {', '.join(PROFILE_FORMATS)}")
    return path


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover execute``; return FAILED for a guest's exit code other than 0, or raise GuestFault."""
    from graphprover.vm.executor.debug import to_stderr
    from graphprover.vm.executor.execute import execute, prepare  # loads compiled code, only for this command
    from graphprover.vm.executor.faults import GuestFault

    for path in filter(None, (options.output, options.profile)):
        check_writable(path)
    if is_packaged(str(options.guest)):
        raise UsageError(f"{options.guest}: tables, not a guest, so they have no run: `graphprover check` takes them")
    elf = read_input(options.guest, MAX_PROGRAM_BYTES, SMALLER)
    try:
        machine = Machine(load_elf(elf))
    except ElfError as error:
        kind = kind_of(elf)
        raise FileError(f"{options.guest}: {error if kind in (None, ELF) else f'{kind}, not an ELF file'}") from error
    data = read_input(options.input) if options.input else b""
    limits, seed = of_job(options_given(options))["limits"], options.random_seed
    prepare()
    profiled = None
    started, compiled = time.perf_counter(), compile_seconds()
    try:
        if options.profile or options.cost or options.max_cost is not None:
            from graphprover.vm.profile.measure import profile

            profiled = profile(machine, data, **limits, random_seed=seed, debug=to_stderr)
            execution = profiled.execution
        else:
            execution = execute(machine.image, data, **limits, random_seed=seed, debug=to_stderr)
    except GuestFault as fault:
        if options.output:
            write(options.output, fault.output)
        raise
    except ValueError as error:
        refuse(error, options.guest)
    seconds, compiled = time.perf_counter() - started, compile_seconds() - compiled
    if options.output:
        write(options.output, execution.output)
    found = execution_facts(execution, seconds, compiled)
    if profiled:
        found["cost"] = cost_facts(profiled.cost)
        profiled.cost.check(options.max_cost)
    if profiled and options.profile:
        found["profile"] = write_profile(profiled, options)
    if options.cells:
        from graphprover.statement.cells import committed_cells
        from graphprover.vm.traces.run_statement import statement_of_run

        recorded = execute(machine.image, data, **limits, random_seed=seed, record=True)
        found["committed_cells"] = committed_cells(statement_of_run(machine, recorded))

    def report() -> list[Block]:
        cells = cells_report(found["committed_cells"], execution.cycles) if options.cells else []
        functions = profile_report(found["profile"]) if options.profile else []
        costs = cost_report(profiled.cost) if profiled else []
        kinds = instructions_report(found) if options.instructions else []
        return [*execution_report(found, execution.output), *kinds, *functions, *cells, *costs]

    say({"program": str(options.guest), **found}, report, options)
    return OK if execution.exit_code == 0 else FAILED


def write_profile(profiled: "Profile", options: argparse.Namespace) -> Facts:
    """Write the profile and return its file, its total cells and its functions as a JSON object."""
    from graphprover.vm.profile.formats import FORMATS
    from graphprover.vm.profile.lines import Lines, lines_of
    from graphprover.vm.profile.tree import by_function, tree

    try:
        lines = lines_of(profiled.execution.image)
    except ModuleNotFoundError:
        print(
            f"graphprover: no source lines in the profile: pyelftools is missing: {install('prover')}",
            file=sys.stderr,
        )
        lines = Lines.none(profiled.execution.image)
    root = tree(profiled, lines)
    data = FORMATS[options.profile.suffix](root, options.guest.name, options.profile_by).encode()
    write(options.profile, data)
    return {
        **file(options.profile, data),
        "cycles": root.cycles,
        "cells": root.cells,
        "cost": root.cost,
        "functions": [vars(share) | {"own_cost": share.own_cost, "cost": share.cost} for share in by_function(root)],
    }


def profile_report(found: Facts) -> list[Block]:
    """Return the table of the functions with the most committed cells."""
    total, cost = found["cells"], found["cost"]
    cycles = found["cycles"]
    heads = ("function", "own cycles", "share", "own cells", "share", "with callees", "share", "own cost", "share")
    rows = [
        (
            row["name"],
            row["own_cycles"],
            f"{row['own_cycles'] / cycles:.1%}",
            row["own_cells"],
            f"{row['own_cells'] / total:.1%}",
            row["cells"],
            f"{row['cells'] / total:.1%}",
            row["own_cost"],
            f"{row['own_cost'] / cost:.1%}",
        )
        for row in found["functions"][:SHOWN]
    ]
    sums = f"{cycles:,} cycles and {total:,} committed cells"
    return [Section([heads, *rows], f"{sums} by function; {found['file']} has all functions")]


def execution_facts(execution: "Execution", seconds: float, compiled: float) -> Facts:
    """Return the results and the cost of a run as a JSON object."""
    return {
        "instructions": {op.name.lower(): count for op, count in execution.mix().items()},
        "cycles": execution.cycles,
        "cycles_per_second": rate(execution.cycles, {"prepare": seconds}, compiled),
        "cycles_in_blocks": execution.in_blocks,
        "misaligned_accesses": execution.misaligned,
        "random_seed": execution.random_seed,
        "memory_bytes": execution.memory_bytes,
        "seconds": seconds,
        "output": bytes_json(execution.output),
        "exit_code": execution.exit_code,
    }


def execution_report(found: Facts, output: bytes) -> list[Block]:
    """Return the results and the cost of a run as a text report."""
    return [
        {
            "output": shown(output),
            "exit code": str(found["exit_code"]),
            **run_lines(found),
            "memory": f"{found['memory_bytes'] / 1024:,.0f} KiB",
            **({} if found["random_seed"] is None else {"random seed": str(found["random_seed"])}),
        }
    ]


def instructions_report(found: Facts) -> list[Block]:
    """Return the table of the instructions of a run by kind."""
    rows = [(name, count, f"{count / found['cycles']:.1%}") for name, count in found["instructions"].items()]
    return [Section(rows, "instructions", headed=False)]
