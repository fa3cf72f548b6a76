"""``graphprover export``: write a proof, or the machine's tables, for the verifiers of others."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from graphprover.cli import json_output, text_output
from graphprover.cli.args import Command, add_json
from graphprover.cli.paths import path_argument, program_argument
from graphprover.cli.program_args import PROGRAM_DEFAULT, PROGRAM_HELP, program_of
from graphprover.cli.proof_argument import proof_bytes
from graphprover.proof.sharded import proof_from_bytes
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.transcript import RELEASE
from graphprover.runtime.errors import OK, UsageError
from graphprover.runtime.files import make_folder, write
from graphprover.verifier.plonky3 import export
from graphprover.vm.statement.version import MACHINE_VERSION

MACHINE = "machine.json"


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "The folder receives statement.json (the proven tables) and payload.bin (Plonky3's proof), or one subfolder "
        "with both for each shard. Public values, heights and parameters come from the proof, the rest of the "
        "statement from the program. The command does not verify the proof. docs/interop.md describes how to build a "
        "verifier on Plonky3 for these files. With --machine the folder receives machine.json, the descriptions of all "
        "tables of the RISC-V machine (docs/machine.md).",
        ["proof.bin", "proof.bin guest.elf -o plonky3", "--machine -o ."],
    )
    parser.add_argument("proof", type=path_argument, nargs="?", metavar="PROOF", help="Proof file.")
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
    parser.add_argument("--machine", action="store_true", help="Write machine.json instead of a proof.")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover export`` and return the exit code."""
    if options.machine == (options.proof is not None):
        raise UsageError("give either a proof or --machine")
    if options.machine:
        from graphprover.vm.statement.machine import machine_json

        return _write({MACHINE: machine_json().encode()}, {"machine": MACHINE_VERSION}, options)
    try:
        proof = proof_from_bytes(proof_bytes(options.proof, [options.program]))
        program = program_of(proof, options)
        if program.only_key:
            raise UsageError(
                f"{program.name}: a verifying key lacks the columns that Plonky3 commits to: give the ELF file"
            )
        files = export(proof, program.statement_of(proof))
    except VerificationError as error:
        raise error.refusal(f"{options.proof}: {error}") from error
    return _write(files, {"program": program.name, "release": RELEASE}, options)


def _write(files: Mapping[str, bytes], found: dict[str, object], options: argparse.Namespace) -> int:
    """Write files to the folder, report them with the other facts, and return the exit code."""
    for name, data in files.items():
        make_folder((options.folder / name).parent)
        write(options.folder / name, data)
    written = {name: json_output.file(options.folder / name, data) for name, data in files.items()}
    lines = [text_output.written(options.folder / name, data) for name, data in files.items()]
    text_output.say(found | {"files": list(written.values())}, lambda: lines, options)
    return OK
