"""``graphprover verify``: verify a proof and print its statement."""

import argparse

from graphprover.cli import expectations, json_output, text_output
from graphprover.cli.args import Command, add_json, add_proximity, bits
from graphprover.cli.errors import OK
from graphprover.cli.paths import path_argument
from graphprover.cli.program_args import add_proof, program_of
from graphprover.jobs.programs import Program
from graphprover.proof.compressed import any_proof_from_bytes
from graphprover.protocol.errors import VerificationError
from graphprover.runtime.files import check_writable, read_proof, write
from graphprover.verifier import check_level
from graphprover.vm.statement.claim import ANY


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "A proof is about a program. Give the program or its verifying key: the name in the proof is chosen by its "
        "prover, and selects only packaged examples.",
        [
            "proof.bin",
            "proof.bin examples/keccak --expect length=2048",
            "proof.bin guest.vk --security 100",
            "proof.bin guest.vk --input data --expect-output-hex 6869",
            "proof.bin guest.vk --exit-code any --output result",
        ],
    )
    add_proof(parser)
    expectations.add_arguments(parser)
    parser.add_argument(
        "--output", type=path_argument, metavar="FILE", help="Guests only: write the proven output to FILE."
    )
    parser.add_argument(
        "--security",
        type=bits,
        default=128,
        metavar="BITS",
        help="Least provable security in bits; proofs with less fail. Default: 128.",
    )
    add_proximity(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover verify`` and return the exit code."""
    if options.output:
        check_writable(options.output)
    data = read_proof(options.proof)
    try:
        proof = any_proof_from_bytes(data)
        check_level(proof.header, options.security)  # first, because the statement may be expensive to build
        program = program_of(proof.header, options)
        expectations.refuse(program, options)
        try:
            verdict = program.verify(proof, options.security, options.proximity, exit_code=ANY)
        except VerificationError as error:
            raise error.refusal(f"{error}{_or_the_key(program)}") from error
    except VerificationError as error:
        raise error.refusal(f"{options.proof}: not valid: {error}") from error
    expectations.check_expectations(program, verdict, options)
    if options.output and verdict.claim:
        write(options.output, verdict.claim.output)

    def describe() -> list[text_output.Block]:
        described = program.describe(verdict.public_values)
        return [{"program": program.name} | described | text_output.worth(verdict), "valid"]

    text_output.say({"valid": True} | json_output.verdict(program, verdict), describe, options)
    return OK


def _or_the_key(program: Program) -> str:
    """Return a hint that the key may be damaged: it has no checksum, and causes the same errors as a damaged proof."""
    if not program.only_key:
        return ""
    return f"; or the key {program.name} is damaged: check it by `graphprover inspect {program.name} GUEST.ELF`"
