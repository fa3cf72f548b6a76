"""``graphprover submit``: have a proof made by a service, verify it and write it."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphprover.cli import json_output, text_output
from graphprover.cli.args import (
    GUEST_HELP,
    Command,
    add_json,
    add_options,
    add_output,
    drawn,
    level_given,
    options_given,
)
from graphprover.cli.connection import add_connection, connected
from graphprover.cli.paths import program_argument
from graphprover.cli.program_args import add_input, program_given
from graphprover.jobs.options import SUBMIT
from graphprover.proof.compressed import any_proof_from_bytes
from graphprover.protocol.errors import VerificationError
from graphprover.runtime.errors import OK, UsageError
from graphprover.runtime.files import check_writable, write


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "Uploads the guest and its input, submits the job, waits for it, verifies the proof and writes it. A proof "
        "that the service has made before with the same options comes from its store. An interruption does not end "
        "the job: the same command later finds its proof. The options mean the same as in `graphprover prove`.",
        [
            "guest.elf --input data -o proof.bin",
            "guest.elf --input data --url https://host:8750 --token-file token",
            "guest.elf --priority 10 --timeout 600 --no-wait",
        ],
    )
    parser.add_argument("program", type=program_argument, metavar="GUEST.ELF", help=f"{GUEST_HELP}.")
    add_input(parser)
    parser.add_argument(
        "--idempotency-key",
        metavar="KEY",
        help="A repeated submission with the same KEY gets the first one's job. Default: a random key.",
    )
    parser.add_argument("--no-wait", action="store_true", help="Print the job, and do not wait for its end.")
    add_output(parser, "proof.bin")
    add_options(parser, SUBMIT)
    add_connection(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover submit`` and return the exit code."""
    check_writable(options.output)
    program, data = program_given(options)
    if program.elf is None:
        raise UsageError(f"{program.name}: a service proves guests only: give an ELF file")
    with connected(options) as client:
        hash = client.upload_program(Path(options.program))
        given = None if data is None else client.upload_input(data)
        job = client.submit(hash, given, options.idempotency_key, **options_given(options))
        if options.no_wait:
            text_output.say(job, lambda: [{"job": job["id"], "state": job["state"]}], options)
            return OK
        job = client.wait(job["id"], tell=_tell if drawn() else None)
        proof = client.proof(job["id"])
        report = client.report(job["id"])
    level = level_given(options)
    found = any_proof_from_bytes(proof)
    verdict = program.verify(found, level.security, level.proximity, exit_code=options.exit_code or 0)
    if options.commit_input and (not verdict.claim or verdict.claim.input != (data or b"")):
        raise VerificationError("asked.input", f"{program.name}: the proof does not state the input")
    write(options.output, proof)
    facts = json_output.verdict(program, verdict) | {"job": job, "report": report}
    facts["proof"] = json_output.file(options.output, proof)

    def describe() -> list[text_output.Block]:
        says = program.describe(verdict.public_values) | text_output.worth(verdict)
        times = job["ended"], job["started"]
        by = "from the store" if job["from_store"] or None in times else f"made in {times[0] - times[1]:.1f} s"
        size = {"job": job["id"], "proof": f"{text_output.place(options.output)}, {len(proof):,} bytes, {by}"}
        return [says | size]

    text_output.say(facts, describe, options)
    return OK


def _tell(job: Mapping[str, Any]) -> None:
    """Show the state of a job in the terminal's last line."""
    progress = job["progress"]
    tasks = f", {progress['tasks_ended']} of {progress['tasks']} tasks" if progress else ""
    end = "\n" if job["ended"] else ""
    print(f"\r\x1b[K{job['id']}: {job['state']}{tasks}", end=end, file=sys.stderr, flush=True)
