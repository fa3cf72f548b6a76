"""``graphprover export``: write a proof in the format of Plonky3's verifier."""

import argparse
from pathlib import Path

from graphprover.cli import json_output, text_output
from graphprover.cli.args import OK, Command, UsageError, add_json
from graphprover.cli.paths import path_argument, program_argument
from graphprover.cli.program_args import PROGRAM_DEFAULT, PROGRAM_HELP, program_of
from graphprover.proof.plonky3 import export
from graphprover.proof.sharded import proof_from_bytes
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.transcript import RELEASE
from graphprover.runtime.files import make_folder, read_proof, write


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        "export",
        run,
        "Write a proof in the format of Plonky3's verifier.",
        "The folder receives statement.json (the proven tables) and payload.bin (Plonky3's proof), or one subfolder "
        "with both for each shard. Public values, heights and parameters come from the proof, the rest of the "
        "statement from the program. The command does not verify the proof. docs/interop.md describes how to build a "
        "verifier on Plonky3 for these files.",
        ["proof.bin", "proof.bin guest.elf -o plonky3"],
    )
    parser.add_argument("proof", type=path_argument, metavar="PROOF", help="Proof file.")
    parser.add_argument(
        "program",
        type=program_argument,
        nargs="?",
        metavar="PROGRAM",
        help=f"Program of the proof, but no verifying key, which lacks committed columns: {PROGRAM_HELP}. "
        f"{PROGRAM_DEFAULT}",
    )
    parser.add_argument(
        "-o",
        "--output",
        dest="folder",
        type=path_argument,
        default=Path("exported"),
        metavar="FOLDER",
        help="Folder for the files. Default: exported.",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover export`` and return the exit code."""
    try:
        proof = proof_from_bytes(read_proof(options.proof))
        program = program_of(proof, options)
        if program.only_key:
            raise UsageError(
                f"{program.name}: a verifying key lacks the columns that Plonky3 commits to: give the ELF file"
            )
        files = export(proof, program.statement_of(proof))
    except VerificationError as error:
        raise error.refusal(f"{options.proof}: {error}") from error
    for name, data in files.items():
        make_folder((options.folder / name).parent)
        write(options.folder / name, data)
    written = {name: json_output.file(options.folder / name, data) for name, data in files.items()}
    found = {"program": program.name, "release": RELEASE, "files": list(written.values())}
    lines = [text_output.written(options.folder / name, data) for name, data in files.items()]
    text_output.say(found, lambda: lines, options)
    return OK
