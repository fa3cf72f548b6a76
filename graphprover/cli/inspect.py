"""``graphprover inspect``: what a proof, a verifying key or a program is made of."""

import argparse
from pathlib import Path

from graphprover.cli import json_output, text_output
from graphprover.cli.args import OK, Command, UsageError, add_json, add_level
from graphprover.cli.paths import program_argument
from graphprover.cli.program_args import (
    PROGRAM_HELP,
    add_input,
    machine_of,
    prepared_for,
    program_and_statement,
    program_of,
)
from graphprover.jobs.programs import is_guest, is_packaged, open_program, packaged_names
from graphprover.proof.proof import MAGIC, Proof
from graphprover.proof.sharded import SHARD_MAGIC, ShardedProof, proof_from_bytes
from graphprover.proof.sizes import security_facts, security_of, sizes_of
from graphprover.protocol.errors import VerificationError
from graphprover.runtime.files import SHARDS_MAGIC, STREAM, read_proof
from graphprover.verifier import layouts_of_proof
from graphprover.vm.statement.key import Key

BEGINNINGS = tuple(magic[:-1] for magic in (MAGIC, SHARD_MAGIC, SHARDS_MAGIC))  # of proofs of any format version


def add(command: Command) -> None:
    """Adds it to the command line."""
    parser = command(
        "inspect",
        run,
        "Show what a proof, a verifying key or a program is made of.",
        "A proof: header, parameters, sizes by part, provable security by round; nothing is verified. A key: the "
        "program it is for, and the hash that covers all of it; with the program, whether it is its key. A program: "
        "its tables, and the parameters and security its proof will have.",
        ["proof.bin", "proof.bin tables.py", "guest.vk guest.elf", "examples/keccak --input README.md --rate 8"],
    )
    subjects = f"a proof file; a verifying key; or {PROGRAM_HELP}"
    parser.add_argument("subject", type=program_argument, metavar="PROOF|KEY|PROGRAM", help=subjects)
    parser.add_argument(
        "program",
        type=program_argument,
        nargs="?",
        metavar="PROGRAM",
        help="the program of the proof, or its verifying key; that of the key",
    )
    add_input(parser)
    add_level(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """``graphprover inspect``"""
    path = Path(options.subject)
    is_file = path == STREAM or path.is_file()
    if is_packaged(options.subject) or not is_file or path.suffix == ".py" or is_guest(path):
        named = open_program(options.subject)
        if named.only_key:
            _say_key(named.only_key, options)
            return OK
        if options.program:
            raise UsageError(f"{options.subject}: not a proof, so {options.program} says nothing about it")
        options.program = options.subject
        program, statement = program_and_statement(options)
        layout = prepared_for(program, statement, options).shards[0].layout
        security = security_of(layout)
        made = {"program": program.name, **json_output.statement(layout), "security": security_facts(security)}
        text_output.say(
            made, lambda: [*text_output.statement_report(made), *text_output.security_report(security)], options
        )
        return OK
    data = read_proof(path)
    if data and not data.startswith(BEGINNINGS):
        raise VerificationError(f"{path}: not a graphprover proof, nor a verifying key, an ELF file or a .py file")
    try:
        _say_proof(proof_from_bytes(data), path, options)
    except VerificationError as error:
        raise VerificationError(f"{path}: {error}") from error
    return OK


def _say_key(key: Key, options: argparse.Namespace) -> None:
    """What a key is for and, with a program, whether it is that program's."""
    found = json_output.key(key)
    if options.program:
        machine = machine_of(options.program, ", so the key is not its key")
        from graphprover.vm.statement.setup import check_key

        try:
            check_key(key, machine)
        except VerificationError as error:
            raise VerificationError(f"{options.subject}: not the key of {options.program}: {error}") from error
        found["program"] = options.program
    own = [f"the key of {options.program}"] if options.program else []
    text_output.say(found, lambda: [*text_output.key_report(found), *own], options)


def _say_proof(proof: Proof | ShardedProof, path: Path, options: argparse.Namespace) -> None:
    """What a proof says about itself and, where its program is known, how large its parts are and what it is worth."""
    found = json_output.header(proof) | {"sizes": None, "security": None}
    if not options.program and proof.label not in packaged_names():
        hint = f"for sizes and security, name its program: graphprover inspect {path} PROGRAM"
        text_output.say(found, lambda: [*text_output.header_report(found), hint], options)
        return
    layouts = layouts_of_proof(proof, program_of(proof, options).statement_of(proof))
    security = security_of(*layouts)
    found |= {"sizes": sizes_of(proof, *layouts), "security": security_facts(security)}

    def describe() -> list[text_output.Block]:
        sizes = text_output.sizes_section(found["sizes"])
        return [*text_output.header_report(found), sizes, *text_output.security_report(security)]

    text_output.say(found, describe, options)
