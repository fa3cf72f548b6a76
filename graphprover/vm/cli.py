"""``graphprover execute``: run a program without a proof, and say what it did and what it cost."""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from graphprover.facts import Facts
from graphprover.files import FileError, read_input, write
from graphprover.options import FAILED, OK
from graphprover.report import Block, Section, cells_report, say
from graphprover.vm.claim import bytes_json, shown
from graphprover.vm.elf import ElfError, load_elf
from graphprover.vm.guest import Limits

if TYPE_CHECKING:
    from graphprover.vm.execute import Execution

EXAMPLES = [
    "examples/guests/sha256.elf --input README.md",
    "guest.elf --input data --output result --max-cycles 1000000",
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What ``execute`` takes."""
    parser.add_argument("guest", type=Path, metavar="GUEST.ELF", help="a program for RV64IM, linked statically")
    parser.add_argument("--input", type=Path, metavar="FILE", help="what the program reads; without it, no bytes")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write what the program puts out, before a fault too, to a file"
    )
    parser.add_argument("--cells", action="store_true", help="also print what a proof would commit to")
    with_limits(parser, "1024; with --cells, whose record counts, half of this computer's")


def with_limits(parser: argparse.ArgumentParser, default_memory: str = "half of this computer's") -> None:
    """Adds the limits of a guest's run; `limits` reads them."""
    parser.add_argument("--max-cycles", type=int, metavar="N", help="stop a guest there (default 2^30)")
    parser.add_argument(
        "--max-memory",
        type=int,
        metavar="MIB",
        help=f"stop a guest whose pages, output and record take more (default {default_memory})",
    )


def limits(options: argparse.Namespace) -> Limits:
    """Those that were given."""
    given: Limits = {}
    if options.max_cycles is not None:
        given["max_cycles"] = options.max_cycles
    if options.max_memory is not None:
        given["max_memory"] = options.max_memory << 20
    return given


def run_execute(options: argparse.Namespace) -> int:
    """``graphprover execute``: the guest's exit code tells success; raises GuestFault where it has none."""
    from graphprover.vm.execute import execute, prepare  # compiled code, which the other commands have no use for
    from graphprover.vm.faults import GuestFault

    try:
        image = load_elf(read_input(options.guest))
    except ElfError as error:
        raise FileError(f"{options.guest}: {error}") from error
    data = read_input(options.input) if options.input else b""
    prepare()
    started = time.perf_counter()
    try:
        execution = execute(image, data, **limits(options))
    except GuestFault as fault:
        if options.output:
            write(options.output, fault.output)
        raise
    seconds = time.perf_counter() - started
    if options.output:
        write(options.output, execution.output)
    found = execution_facts(execution, seconds)
    if options.cells:
        from graphprover.vm.cost import committed_cells
        from graphprover.vm.run_statement import statement_of_run
        from graphprover.vm.statement import Machine

        recorded = execute(image, data, **limits(options), record=True)
        found["committed_cells"] = committed_cells(statement_of_run(Machine(image), recorded))

    def report() -> list[Block]:
        cells = cells_report(found["committed_cells"], execution.cycles) if options.cells else []
        return [*execution_report(found, execution.output), *cells]

    say({"program": str(options.guest), **found}, report, options)
    return OK if execution.exit_code == 0 else FAILED


def execution_facts(execution: "Execution", seconds: float) -> Facts:
    """What a run did and what it cost, as JSON has it."""
    return {
        "instructions": {op.name.lower(): count for op, count in execution.mix().items()},
        "cycles": execution.cycles,
        "misaligned": execution.misaligned,
        "memory_bytes": execution.memory_bytes,
        "seconds": seconds,
        "output": bytes_json(execution.output),
        "exit_code": execution.exit_code,
    }


def execution_report(found: Facts, output: bytes) -> list[Block]:
    """The same for people."""
    total = found["cycles"]
    mix = [(name, count, f"{count / total:.1%}") for name, count in found["instructions"].items()]
    lines = {
        "cycles": f"{total:,}",
        "misaligned": f"{found['misaligned']:,} loads and stores",
        "memory": f"{found['memory_bytes'] / 1024:,.0f} KiB",
        "speed": f"{total / found['seconds'] / 1e6:,.1f} M instructions/s",
        "output": shown(output),
        "exit code": str(found["exit_code"]),
    }
    return [Section(mix, headed=False), lines]
