"""The command line as a whole: which command is asked for, and how it ends."""

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Callable, Sequence

from graphprover import __version__
from graphprover.cli import (
    batch,
    check,
    completion,
    execute,
    export,
    facts,
    inspect,
    new_guest,
    plan,
    prove,
    setup,
    verify,
    warm,
)
from graphprover.cli.options import DEBUG, FAILED, OK, USAGE, UsageError, check_files
from graphprover.cli.parser import Parser
from graphprover.files import FileError
from graphprover.programs import ProgramError
from graphprover.protocol.errors import VerificationError

PROVER = {"dask", "distributed", "numba", "llvmlite", "rich", "shtab"}  # modules of the extra [prover]

EPILOG = f"""\
first steps:
  graphprover prove examples/keccak --input README.md -o proof.bin
  graphprover verify proof.bin
  graphprover inspect proof.bin

exit codes: 0 ok, 1 not proven or not valid, 2 usage (arguments, files, programs), 130 interrupted, 143 terminated.
With {DEBUG}=1 in the environment, errors come with their traceback, and stderr says what runs.
A FILE called - is standard input where it is read, and standard output where it is written.
PROGRAM as a folder or .py file is code that runs, in verify and inspect too; so is what a Dask cluster sends. See
SECURITY.md.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. Errors are one line on stderr; `__main__` has the signals."""
    options = parser().parse_args(arguments)
    try:
        check_files(options)
        return options.command(options)
    except BrokenPipeError:  # whoever reads our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as error:
        if DEBUG in os.environ:
            raise
        code = USAGE if isinstance(error, UsageError | ProgramError | FileError) else FAILED
        lines = [facts.message(error)]
        if isinstance(error, UsageError):
            lines = [facts.one_line(line) for line in error.args]
        elif isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] in PROVER:
            lines, code = ["this needs the prover, not the verifier alone: pip install 'graphprover[prover]'"], USAGE
        for line in lines:
            print(f"graphprover: {line}", file=sys.stderr)
        if getattr(options, "json", False):
            no = {"valid": False} if options.command is verify.run and isinstance(error, VerificationError) else {}
            print(json.dumps(no | {"error": "\n".join(lines)}))
        return code


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = Parser(
        "graphprover",
        description="A STARK prover in which a proof is a task graph.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"graphprover {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    def command(
        name: str, run: Callable[[argparse.Namespace], int], summary: str, more: str, examples: Sequence[str]
    ) -> argparse.ArgumentParser:
        subparser = commands.add_parser(
            name,
            help=summary[0].lower() + summary[1:].rstrip("."),
            description=textwrap.fill(f"{summary} {more}", 79),
            epilog="\n  ".join(["examples:", *(f"graphprover {name} {example}" for example in examples)]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        subparser.set_defaults(command=run)
        return subparser

    for module in (prove, batch, verify, setup, inspect, export, plan, check, execute, new_guest, warm):
        module.add(command)
    completion.add(command, top)
    return top
