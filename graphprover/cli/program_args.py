"""The PROGRAM argument, its input, and the statement to prove."""

import argparse
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from graphprover.cli.args import (
    FILES,
    group_of,
    level_given,
    options_given,
    refuse,
)
from graphprover.cli.paths import path_argument, program_argument
from graphprover.jobs.kinds import kind_of_file
from graphprover.jobs.opening import load_packaged, open_program
from graphprover.jobs.options import BY_NAME, conflict, of_job, only_for_guests
from graphprover.jobs.programs import Program, ProgramError, packaged_names
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.level import Level
from graphprover.protocol.parameters import FAST
from graphprover.runtime.errors import UsageError
from graphprover.runtime.files import read_input
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.vm.executor.debug import to_stderr
from graphprover.vm.statement.statement import Machine

PROGRAM_HELP = (
    f"an ELF file for RV64IM; a packaged example ({', '.join(packaged_names())}); or a folder or .py file that defines "
    "tables(), prove_inputs() and describe(), which is CODE THAT RUNS with your rights: use only code you trust"
)

PROGRAM_DEFAULT = "Default: the packaged example that the proof names."  # of verify and export
INPUT_HELP = "Input of the program. Default: no input."


def add_program(parser: argparse.ArgumentParser) -> None:
    """Add PROGRAM and ``--input``."""
    parser.add_argument("program", type=program_argument, metavar="PROGRAM", help=f"Program to run: {PROGRAM_HELP}.")
    add_input(parser)


def add_proof(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add PROOF and the PROGRAM that it is about; ``several``: an aggregated proof may be about several programs."""
    parser.add_argument("proof", type=path_argument, metavar="PROOF", help="Proof file.")
    parser.add_argument(
        "program",
        type=program_argument,
        nargs="*" if several else "?",
        default=[] if several else None,  # else argparse lists it among the arguments that are required
        metavar="PROGRAM",
        help=f"Program of the proof: a verifying key; {PROGRAM_HELP}. "
        f"{'An aggregated proof may have several. ' * several}{PROGRAM_DEFAULT}",
    )


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add ``--input``."""
    group_of(parser, FILES).add_argument("--input", type=path_argument, metavar="FILE", help=INPUT_HELP)
    parser.set_defaults(ran={})  # the program and its run, once it has run, and the statement of each layout policy


def program_and_statement(options: argparse.Namespace) -> tuple[Program, Statement | ShardedStatement]:
    """Return the program and its statement for the input, split into shards as the options request."""
    program, run = program_and_run(options)
    cut: Any = {name: getattr(options, name, None) for name in ("shard_size", "rate")}
    policy = program.layout_policy(cut["rate"])
    if policy not in options.ran:
        try:
            options.ran[policy] = program.statement_about(run, shards=getattr(options, "shards", None) or 1, **cut)
        except ValueError as error:
            refuse(error, program.name)
    return program, options.ran[policy]


def program_and_run(options: argparse.Namespace) -> tuple[Program, Any]:
    """Return the program and its recorded run on the input, which a command makes only once."""
    if "run" not in options.ran:
        program, data = program_given(options)
        limits = of_job(options_given(options))["limits"]
        try:
            run = program.record(data, **limits, random_seed=options.random_seed, debug=to_stderr)
            options.ran["run"] = program, run
        except ValueError as error:
            refuse(error, program.name)
    found: tuple[Program, Any] = options.ran["run"]
    return found


def program_given(options: argparse.Namespace) -> tuple[Program, bytes | None]:
    """Return the program and its input.

    Raises:
        UsageError: An option for guests is given for a program of tables, or two that exclude each other.
    """
    program = open_program(options.program)
    data = None if options.input is None else read_input(options.input)
    given = options_given(options)
    if not program.has_runs and (own := only_for_guests(given)):
        raise UsageError(f"{own[0].flag}: only for guests, and {program.name} is no guest")
    if found := conflict(given):
        raise UsageError(f"{BY_NAME[found[0]].flag}: {found[1]}")
    return program, data


def prepared_for(program: Program, statement: Statement | ShardedStatement, options: argparse.Namespace) -> Any:
    """Return the statement with checked traces and the proof's layout, as `graphprover.prover.prepare.ready` does."""
    from graphprover.prover.prepare import ready

    try:
        return ready(statement, level_given(options))
    except ValueError as error:
        refuse(error, program.name)


def prepared_at(program: Program, level: Level, options: argparse.Namespace) -> Any:
    """Return the program's statement, prepared as `prepared_for`, for another level than the command line asks for."""
    there = argparse.Namespace(**vars(options) | vars(level))
    return prepared_for(program, program_and_statement(there)[1], there)


def resolve_small(options: argparse.Namespace, device: str = "auto") -> None:
    """Replace ``--small`` by the rate and the proof of work that a proof by this device would have."""
    if options.small is None:
        return
    from graphprover.device.choose import device_for
    from graphprover.prover.smallest import smallest

    program, _ = program_given(options)
    prepare = partial(prepared_at, program, options=options)
    seconds, options.small = options.small, None
    found = smallest(prepare, level_given(options), seconds, device_for(device), program.layout_policy)
    options.rate = FAST
    if found:
        parameters = found.shards[0].layout.parameters
        options.rate, options.pow_bits = 1 << parameters.log_blowup, parameters.query_pow_bits


def machine_of(name: str, but: str) -> Machine:
    """Return the machine of a guest's ELF file, or raise UsageError with a message that ends with `but`."""
    machine = open_program(name).elf
    if machine is None:
        kind = kind_of_file(Path(name))
        raise UsageError(f"{name}: {f'{kind}, ' if kind else ''}not an ELF file{but}")
    return machine


def program_of(proof: Proof | ShardedProof, options: argparse.Namespace) -> Program:
    """Return the program of the command line, else the packaged example that the proof names; never other code."""
    given = [options.program] if options.program else []
    (program,) = programs_of([proof], given, "`graphprover verify PROOF PROGRAM`")
    return program


def programs_of(headers: Sequence[Proof | ShardedProof], given: Sequence[str], hint: str) -> list[Program]:
    """Return the program of each proof: the given one that the proof names, or the only one that is given.

    The name in a proof is chosen by its prover. It selects one of the given programs, or a packaged example if none is
    given; a proof of another program is refused later.

    Args:
        headers: The headers.
        given: The programs of the command line.
        hint: How to give a program.

    Raises:
        UsageError: No program is the one that a proof names.
    """
    programs = [open_program(name) for name in given]
    by_label: dict[str, Program] = {}
    for label in {header.label for header in headers}:
        named = programs if len(programs) == 1 else [program for program in programs if _is_named(program, label)]
        if not programs:
            with suppress(ProgramError):
                named = [load_packaged(label)]
        if not named:
            what = "none of the given programs is" if programs else "is no packaged example"
            raise UsageError(f"the proof names {label!r}, which {what}: give the program, as in {hint}")
        by_label[label] = named[0]
    return [by_label[header.label] for header in headers]


def other_programs(headers: Sequence[Proof | ShardedProof], programs: Sequence[Program]) -> str:
    """Return the end of an error about proofs that do not name their programs; empty if all do."""
    for header, program in zip(headers, programs, strict=True):
        if not _is_named(program, header.label):
            return f"; the proof names {header.label!r}, and the program is {program.label!r}"
    return ""


def _is_named(program: Program, label: str) -> bool:
    """Return whether a proof's label is of a program: of a guest it ends with the program's hash."""
    hash = program.program_hash
    return label.endswith(f" {hash}") if hash else label == program.label
