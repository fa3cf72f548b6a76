"""``graphprover export``: a proof as Plonky3's verifier reads it."""

import argparse
from pathlib import Path

from graphprover.cli import json_output, text_output
from graphprover.cli.args import OK, Command, UsageError, add_json
from graphprover.cli.paths import path_argument, program_argument
from graphprover.cli.program_args import PROGRAM_HELP, program_of
from graphprover.proof.plonky3 import export
from graphprover.proof.sharded import proof_from_bytes
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.transcript import RELEASE
from graphprover.runtime.files import make_folder, read_proof, write


def add(command: Command) -> None:
    """Adds it to the command line."""
    parser = command(
        "export",
        run,
        "Write a proof as Plonky3's own verifier reads it.",
        "The folder gets statement.json, the tables that are proven, and payload.bin, Plonky3's proof; of a proof in "
        "shards a folder of the two for each. All of the statement but public values, heights and parameters comes "
        "from the program, not from the proof; nothing is verified here. docs/interop.md says how to build a verifier "
        "on Plonky3 that takes them.",
        ["proof.bin", "proof.bin guest.elf -o plonky3"],
    )
    parser.add_argument("proof", type=path_argument, metavar="PROOF", help="a proof file")
    parser.add_argument(
        "program",
        type=program_argument,
        nargs="?",
        metavar="PROGRAM",
        help=f"of a guest its ELF file, for a key lacks the columns that Plonky3 commits to; or {PROGRAM_HELP}",
    )
    parser.add_argument(
        "-o",
        "--output",
        dest="folder",
        type=path_argument,
        default=Path("exported"),
        metavar="FOLDER",
        help="default exported",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """``graphprover export``"""
    try:
        proof = proof_from_bytes(read_proof(options.proof))
        program = program_of(proof, options)
        if program.only_key:
            raise UsageError(
                f"{program.name}: a verifying key, without the columns that Plonky3 commits to: give the ELF file"
            )
        files = export(proof, program.statement_of(proof))
    except VerificationError as error:
        raise VerificationError(f"{options.proof}: {error}") from error
    for name, data in files.items():
        make_folder((options.folder / name).parent)
        write(options.folder / name, data)
    written = {name: json_output.file(options.folder / name, data) for name, data in files.items()}
    found = {"program": program.name, "release": RELEASE, "files": list(written.values())}
    lines = [text_output.written(options.folder / name, data) for name, data in files.items()]
    text_output.say(found, lambda: lines, options)
    return OK
