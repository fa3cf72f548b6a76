"""``graphprover inspect``: show the contents of a proof, a verifying key or a program."""

import argparse
from pathlib import Path

from graphprover.cli import json_output, text_output
from graphprover.cli.args import Command, add_json, add_max_members, add_options
from graphprover.cli.paths import program_argument
from graphprover.cli.program_args import (
    PROGRAM_HELP,
    add_input,
    machine_of,
    prepared_for,
    program_and_run,
    program_and_statement,
    program_of,
    resolve_small,
)
from graphprover.jobs.kinds import KEY, PROOF, kind_of, kind_of_file
from graphprover.jobs.opening import is_guest, open_program
from graphprover.jobs.options import INSPECT
from graphprover.jobs.programs import is_packaged, packaged_names
from graphprover.proof.compressed import CompressedProof, any_proof_from_bytes, names_of
from graphprover.proof.mock import MOCK, MockProof, is_mock
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.proof.sizes import security_facts, security_of, sizes_of
from graphprover.protocol.errors import VerificationError
from graphprover.runtime.errors import OK, UsageError
from graphprover.runtime.files import STREAM, read_proof
from graphprover.verifier.headers import layouts_of_proof
from graphprover.vm.statement.key import Key


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "For a proof: header, parameters, sizes by part and provable security by round, unverified. For a key: the "
        "program's hash and the hash of the whole key; with PROGRAM, also a check that the key belongs to it. For a "
        "program: its tables, and the parameters and security of its proof.",
        ["proof.bin", "proof.bin tables.py", "guest.vk guest.elf", "examples/keccak --input README.md --rate 8"],
    )
    subjects = f"A proof file; a verifying key; {PROGRAM_HELP}."
    parser.add_argument("subject", type=program_argument, metavar="PROOF|KEY|PROGRAM", help=subjects)
    parser.add_argument(
        "program",
        type=program_argument,
        nargs="?",
        metavar="PROGRAM",
        help="Program or verifying key of the proof, or program of the key. Default: for a proof, the packaged example "
        "that it names.",
    )
    add_input(parser)
    add_max_members(parser)
    add_options(parser, INSPECT)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover inspect`` and return the exit code."""
    path = Path(options.subject)
    is_file = path == STREAM or path.is_file()
    if is_packaged(options.subject) or not is_file or path.suffix == ".py" or is_guest(path):
        named = open_program(options.subject)
        second = kind_of_file(Path(options.program)) if options.program else None
        if second == PROOF or (second == KEY and not named.only_key):
            first = KEY if named.only_key else "a program"
            raise UsageError(f"{options.subject} is {first}, {options.program} {second}: swap them")
        if named.only_key:
            _say_key(named.only_key, options)
            return OK
        if options.program:
            raise UsageError(
                f"{options.subject}: not a proof or a key, so it takes no second argument ({options.program})"
            )
        options.program = options.subject
        resolve_small(options)
        program, run = program_and_run(options)
        _, statement = program_and_statement(options)
        layout = prepared_for(program, statement, options).shards[0].layout
        security = security_of(layout)
        ran = json_output.run_of(program, run)
        made = {"program": program.name, **ran, **json_output.statement(layout), "security": security_facts(security)}

        def describe() -> list[text_output.Block]:
            tables = text_output.statement_report(made)
            return [*text_output.run_report(ran), *tables, *text_output.security_report(security)]

        text_output.say(made, describe, options)
        return OK
    data = read_proof(path)
    if data and not kind_of(data):
        raise VerificationError(
            "proof.magic", f"{path}: not a graphprover proof, a verifying key, an ELF file or a .py file"
        )
    try:
        if is_mock(data):
            header = json_output.header(MockProof.from_bytes(data).header) | {"mock": True}
            text_output.say(header, lambda: [MOCK, *text_output.header_report(header)], options)
            return OK
        proof = any_proof_from_bytes(data, options.max_members)
        if isinstance(proof, CompressedProof):
            _say_compressed(proof, path, options)
        else:
            _say_proof(proof, path, options)
    except VerificationError as error:
        raise error.refusal(f"{path}: {error}") from error
    return OK


def _say_key(key: Key, options: argparse.Namespace) -> None:
    """Print a key and, if a program is given, check that the key belongs to it."""
    found = json_output.key(key)
    if options.program:
        machine = machine_of(options.program, ", so the key cannot belong to it")
        from graphprover.vm.statement.setup import check_key

        try:
            check_key(key, machine)
        except VerificationError as error:
            raise error.refusal(f"{options.subject}: not the key of {options.program}: {error}") from error
        found["program"] = options.program
    own = [f"the key of {options.program}"] if options.program else []
    text_output.say(found, lambda: [*text_output.key_report(found), *own], options)


def _say_proof(proof: Proof | ShardedProof, path: Path, options: argparse.Namespace) -> None:
    """Print the header of a proof and, if its program is known, its sizes and security."""
    found = json_output.header(proof) | {"sizes": None, "security": None}
    if not _is_known(proof, options):
        hint = f"give the program to see sizes and security: graphprover inspect {path} PROGRAM"
        text_output.say(found, lambda: [*text_output.header_report(found), hint], options)
        return
    layouts = layouts_of_proof(proof, program_of(proof, options).statement_of(proof))
    security = security_of(*layouts)
    found |= {"sizes": sizes_of(proof, *layouts), "security": security_facts(security)}

    def describe() -> list[text_output.Block]:
        sizes = text_output.sizes_section(found["sizes"])
        return [*text_output.header_report(found), sizes, *text_output.security_report(security)]

    text_output.say(found, describe, options)


def _is_known(proof: Proof | ShardedProof, options: argparse.Namespace) -> bool:
    """Return whether the program of a proof is given, or is a packaged example."""
    return bool(options.program) or proof.label in packaged_names()


def _say_compressed(proof: CompressedProof, path: Path, options: argparse.Namespace) -> None:
    """Print all headers of a compressed proof, the sizes, and the security of each proof that is known."""
    from graphprover.verifier.layer_key import LayerStatement  # here, because other subjects do not need it

    layers, reports = [], list[text_output.Block]()
    names = [name for own, name in zip(proof.accepted, names_of(proof), strict=True) if own.children]
    names.append("last layer" if len(proof.members) > 1 else f"layer {proof.depth}")
    for layer, name in zip(proof.layers, names, strict=True):
        layouts = layouts_of_proof(layer, LayerStatement(layer.log_heights))
        security, sizes = security_of(*layouts), sizes_of(layer, *layouts) if layer.payload else None
        layers.append(json_output.header(layer) | {"sizes": sizes, "security": security_facts(security)})
        shown = [text_output.sizes_section(sizes)] if sizes else []
        reports += ["", name, *text_output.header_report(layers[-1]), *shown, *text_output.security_report(security)]
    found = json_output.header(proof.header) | {"sizes": None, "security": None, "layers": layers}
    found["members"] = len(proof.members)
    found["sizes"] = {"headers": proof.size - proof.layer.size, "last layer": proof.layer.size}
    hint: list[text_output.Block] = [
        f"give the program to see the security of the base: graphprover inspect {path} PROGRAM"
    ]
    if len(proof.members) > 1:
        hint = [f"member 1 of {len(proof.members)}"]
    elif _is_known(proof.header, options):
        statement = program_of(proof.header, options).statement_of(proof.header, coming=True)
        security = security_of(*layouts_of_proof(proof.header, statement))
        found["security"] = security_facts(security)
        hint = text_output.security_report(security)

    def describe() -> list[text_output.Block]:
        base = [*text_output.header_report(found), text_output.sizes_section(found["sizes"]), *hint]
        return [*base, *reports]

    text_output.say(found, describe, options)
