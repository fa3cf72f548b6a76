"""``graphprover execute``: run a program without a proof, and say what it did and what it cost."""

import argparse
import time
from pathlib import Path

from graphprover.files import FileError, read_input, write
from graphprover.report import aligned, listed
from graphprover.vm.claim import shown
from graphprover.vm.elf import ElfError, load_elf

OK, FAILED = 0, 1

EXAMPLES = [
    "examples/guests/sha256.elf --input README.md",
    "guest.elf --input data --output result --max-cycles 1000000",
]


def add_arguments(each: argparse.ArgumentParser) -> None:
    """What ``execute`` takes."""
    each.add_argument("guest", type=Path, metavar="GUEST.ELF", help="a program for RV64IM, linked statically")
    each.add_argument("--input", type=Path, metavar="FILE", help="what the program reads; without it, no bytes")
    each.add_argument("--output", type=Path, metavar="FILE", help="write what the program puts out to a file")
    each.add_argument("--max-cycles", type=int, default=1 << 30, metavar="N", help="stop it there (default 2^30)")
    each.add_argument("--max-memory", type=int, default=1024, metavar="MIB", help="stop it there (default 1024 MiB)")
    each.add_argument("--cells", action="store_true", help="also print what a proof would commit to")


def run_execute(options: argparse.Namespace) -> int:
    """``graphprover execute``: the guest's exit code tells success; raises GuestFault where it has none."""
    from graphprover.vm.execute import execute, prepare  # compiled code, which the other commands have no use for

    try:
        image = load_elf(read_input(options.guest))
    except ElfError as error:
        raise FileError(f"{options.guest}: {error}") from error
    data = read_input(options.input) if options.input else b""
    prepare()
    started = time.perf_counter()
    execution = execute(image, data, max_cycles=options.max_cycles, max_memory=options.max_memory << 20)
    seconds = time.perf_counter() - started
    if options.output:
        write(options.output, execution.output)
    total = execution.cycles
    print(aligned([(op.name.lower(), count, f"{count / total:.1%}") for op, count in execution.mix().items()]))
    print(
        listed(
            {
                "cycles": f"{total:,}",
                "misaligned": f"{execution.misaligned:,} loads and stores",
                "memory": f"{execution.memory_bytes / 1024:,.0f} KiB",
                "speed": f"{total / seconds / 1e6:,.1f} M instructions/s",
                "output": shown(execution.output),
                "exit code": str(execution.exit_code),
            }
        )
    )
    if options.cells:
        from graphprover.vm.machine import Machine, cells_text
        from graphprover.vm.trace import statement

        recorded = execute(image, data, max_memory=options.max_memory << 20, record=True)
        print(cells_text(statement(Machine(image), recorded)))
    return OK if execution.exit_code == 0 else FAILED
