"""The program that a command is about: its argument, its input, and its statement."""

import argparse
from typing import Any

from graphprover.cli.args import UsageError, add_limits, limits_given, refuse
from graphprover.cli.paths import path_argument, program_argument
from graphprover.jobs.programs import Program, ProgramError, load_packaged, open_program, packaged_names
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.runtime.files import read_input
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.vm.statement.guest import Limits
from graphprover.vm.statement.statement import Machine

PROGRAM_HELP = (
    f"an ELF file for RV64IM; {', '.join(packaged_names())}, which are packaged; or a folder or .py file that defines "
    "tables(), prove_inputs() and describe() and is CODE THAT RUNS with your rights: name only one you trust"
)


def add_program(parser: argparse.ArgumentParser) -> None:
    """The program and what it reads."""
    parser.add_argument("program", type=program_argument, metavar="PROGRAM", help=PROGRAM_HELP)
    add_input(parser)


def add_input(parser: argparse.ArgumentParser) -> None:
    """``--input``, and how much a guest may do with it."""
    parser.add_argument("--input", type=path_argument, metavar="FILE", help="the file that the program reads")
    add_limits(parser)


def program_and_statement(options: argparse.Namespace) -> tuple[Program, Statement | ShardedStatement]:
    """Open the program asked for, and return it with its statement about the input, in the shards asked for."""
    program, data, limits = program_given(options)
    cut: Any = {name: getattr(options, name, None) for name in ("shard_size", "rate")}
    try:
        return program, program.statement_for(data, shards=getattr(options, "shards", None) or 1, **cut, **limits)
    except ValueError as error:
        refuse(error, program.name)


def program_given(options: argparse.Namespace) -> tuple[Program, bytes | None, Limits]:
    """The program asked for, its input, and the limits of a guest's run; UsageError where another is given those."""
    program = open_program(options.program)
    data = None if options.input is None else read_input(options.input)
    limits = limits_given(options)
    if not program.has_runs:
        if limits:
            raise UsageError(f"--{min(limits).replace('_', '-')}: {program.name} is no guest, and has no cycles")
        if getattr(options, "commit_input", False):
            raise UsageError(f"--commit-input: {program.name} is no guest; what its proofs say is up to its tables")
        if getattr(options, "shard_size", None) is not None:
            raise UsageError(f"--shard-size: {program.name} is no guest, and has no cycles: --shards deals its tables")
        if getattr(options, "exit_code", None) is not None:
            raise UsageError(f"--exit-code: only guests have one, and {program.name} is none")
    return program, data, limits


def prepared_for(program: Program, statement: Statement | ShardedStatement, options: argparse.Namespace) -> Any:
    """The statement with its checked traces and the layout of the proof asked for, as `prepared.ready` gives it."""
    from graphprover.prover.prepare import ready

    try:
        return ready(statement, options.security, options.rate, proximity=options.proximity)
    except ValueError as error:
        refuse(error, program.name)


def machine_of(name: str, but: str) -> Machine:
    """Return the machine of a guest's ELF file; raises UsageError for anything else, which ends with ``but``."""
    machine = open_program(name).elf
    if machine is None:
        raise UsageError(f"{name}: not an ELF file{but}")
    return machine


def program_of(proof: Proof | ShardedProof, options: argparse.Namespace) -> Program:
    """The program named on the command line, else the packaged example that the proof names; never other code."""
    if options.program:
        return open_program(options.program)
    try:
        return load_packaged(proof.label)
    except ProgramError:
        raise UsageError(
            f"proof of {proof.label!r}, which is no packaged example: name the program you mean, "
            "as in `graphprover verify PROOF PROGRAM`"
        ) from None
