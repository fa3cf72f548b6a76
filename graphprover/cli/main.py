"""Entry point of the command line: select and run a command, and report its errors.

The module of a command is imported when it is used: most take longer to import than the others take to run.
"""

import argparse
import errno
import json
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

from graphprover import __version__
from graphprover.cli.parser import HelpFormatter, Parser
from graphprover.runtime.errors import DEBUG, FAILED, OK, USAGE, UsageError, one_line
from graphprover.runtime.files import FileError, drop_stdout, stdout_error

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)  # a full disk, or a closed stream
LIMITS = {
    "cycle limit": "--max-cycles",
    "memory limit": "--max-memory",
}  # options by the fault of a run that exceeds it

COMMANDS = {  # with their summaries; each has a module of its name in this package
    "prove": "Prove that the tables of a program hold, and write the proof to a file.",
    "batch": "Prove many runs of programs, listed in a TOML file.",
    "verify": "Verify a proof and print its statement.",
    "compress": "Compress a proof: prove that a verifier accepts it.",
    "aggregate": "Replace several proofs by one small proof that a verifier accepts all of them.",
    "setup": "Write the verifying key of a guest program.",
    "inspect": "Show the contents of a proof, a verifying key or a program.",
    "export": "Write a proof in the format of Plonky3's verifier, or the tables of the machine.",
    "plan": "Show the cost of a proof before making it.",
    "check": "Check a program's traces row by row, without a proof.",
    "execute": "Run a guest program without a proof.",
    "report": "Compare the reports of two proofs or two batches.",
    "new-guest": "Create a folder for a new guest program.",
    "cluster": "Start, show or stop workers in the background, warm for the next proofs.",
    "serve": "Run a proving service: HTTP, a queue that survives restarts, and a store of proofs.",
    "submit": "Have a proof made by a proving service.",
    "jobs": "List, show and cancel the jobs of a proving service, and fetch their proofs.",
    "warm": "Compile all kernels ahead, once per host.",
    "doctor": "List software and hardware of this host for proofs and guests, with a remedy for each gap.",
    "completion": "Print a script that completes commands, options and files in a shell.",
    "help": "Show this help, or the help of a command.",
    "version": "Print the version.",
}

EPILOG = f"""\
first steps:
  graphprover prove examples/keccak --input README.md -o proof.bin
  graphprover verify proof.bin
  graphprover inspect proof.bin

exit codes: 0 success, 1 not proven or not valid, 2 usage error (arguments,
files, programs), 130 interrupted, 143 terminated.
The FILE name - means standard input or output.
With {DEBUG}=1, errors include tracebacks and stderr logs every task.
A folder or .py file given as PROGRAM runs as code, also in verify and inspect.
A Dask cluster can run code here too. See SECURITY.md.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Errors are one line on stderr; `__main__` handles signals."""
    try:
        return _flushed(_run(arguments))
    except SystemExit as ended:  # from argparse, also after --help
        raise SystemExit(_flushed(ended.code)) from None


def _flushed(code: Any) -> Any:
    """Flush standard output before the interpreter does, and return the exit code."""
    try:
        sys.stdout.flush()
        return code
    except OSError as error:
        return _unwritten(error, code)


def _unwritten(error: OSError, code: Any) -> Any:
    """Print the error of standard output, and return the exit code; ``code`` if its reader has closed it."""
    drop_stdout()
    if isinstance(error, BrokenPipeError):
        return code
    with suppress(OSError):  # stderr may be full, too
        print(f"graphprover: {stdout_error(error)}", file=sys.stderr)
    return USAGE


def _run(arguments: Sequence[str] | None) -> int:
    try:
        options = parser().parse_args(arguments)
        if not options.command:
            options.whole.print_help()
            return OK
    except OSError as error:  # of the text of --help
        return _unwritten(error, OK)
    from graphprover.cli.args import check_files  # the command has imported it

    try:
        check_files(options)
        return options.command(options)
    except BrokenPipeError:  # the reader of our output has closed it
        drop_stdout()
        return OK
    except Exception as error:
        return _report(error, options)


def _report(error: Exception, options: argparse.Namespace) -> int:
    """Print the error of a command, and return its exit code; raise it for debugging."""
    from graphprover.cli import verify
    from graphprover.jobs.errors import message_of
    from graphprover.jobs.programs import ProgramError
    from graphprover.protocol.errors import VerificationError
    from graphprover.runtime.extras import install, needs_prover, needs_serve
    from graphprover.vm.executor.faults import GuestFault

    if isinstance(error, OSError) and error.errno in UNWRITABLE and error.filename is None:
        drop_stdout()
        error = FileError(stdout_error(error))  # errors of other files have a file name
    if DEBUG in os.environ:
        raise error
    code = USAGE if isinstance(error, UsageError | ProgramError | FileError) else FAILED
    lines = [message_of(error)]
    if isinstance(error, GuestFault) and (flag := LIMITS.get(error.fault)):
        lines = [f"{lines[0]}; {flag} raises the limit"]
    elif isinstance(error, UsageError):
        lines = [one_line(line) for line in error.args]
    elif needs_prover(error):
        lines, code = [f"this command needs the prover: {install('prover')}"], USAGE
    elif needs_serve(error):
        lines, code = [f"this command needs the service: {install('prover,serve')}"], USAGE
    with suppress(OSError):  # the exit code remains
        for line in lines:
            print(f"graphprover: {line}", file=sys.stderr)
    if getattr(options, "json", False):
        no: dict[str, object] = {}
        if options.command is verify.run and isinstance(error, VerificationError):
            no = {"valid": False, "rule": error.rule}
        with suppress(OSError):  # stderr already has the error
            print(json.dumps(no | {"error": "\n".join(lines)}, allow_nan=False))
    return code


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line with all commands, which add their arguments when they are parsed."""
    top = Parser(
        "graphprover",
        description="A STARK prover in which a proof is a task graph.",
        epilog=EPILOG,
        formatter_class=HelpFormatter,
    )
    top.add_argument(
        "--version", action="version", version=f"graphprover {__version__}", help="Show the version and exit."
    )
    top.set_defaults(whole=top, command=None)
    commands = top.add_subparsers(metavar="COMMAND")
    for name, summary in COMMANDS.items():
        commands.add_parser(
            name,
            help=summary,
            fill=partial(_fill, name),
            others=commands.choices,
            formatter_class=HelpFormatter,
        )
    return top


def _fill(name: str, subparser: Parser) -> None:
    """Add the arguments and the help of a command to its parser."""

    def command(
        run: Callable[[argparse.Namespace], int], more: str, examples: Sequence[str]
    ) -> argparse.ArgumentParser:
        subparser.description = textwrap.fill(f"{COMMANDS[name]} {more}", 79)
        subparser.epilog = "\n  ".join(
            ["examples:", *(f"graphprover {name} {example}".rstrip() for example in examples)]
        )
        subparser.set_defaults(command=run)
        return subparser

    import_module(f"{__package__}.{name.replace('-', '_')}").add(command)
