"""``graphprover verify``: verify a proof and print its statement."""

import argparse
from collections.abc import Sequence

from graphprover.cli import expectations, json_output, text_output
from graphprover.cli.args import FILES, Command, add_json, add_max_members, add_option, count, group_of
from graphprover.cli.members import headers_of, members_report, statements_of
from graphprover.cli.paths import path_argument
from graphprover.cli.program_args import add_proof, other_programs, programs_of
from graphprover.cli.proof_argument import proof_bytes
from graphprover.jobs.options import PROOF
from graphprover.jobs.programs import Program
from graphprover.proof.compressed import AnyProof, CompressedProof, any_proof_from_bytes
from graphprover.proof.mock import MOCK, MockProof, is_mock
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.runtime.errors import OK, UsageError
from graphprover.runtime.files import check_writable, write
from graphprover.verifier import Verdict
from graphprover.verifier.headers import check_level
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
            "all.bin guest.vk other.vk --member 2",
        ],
    )
    add_proof(parser, several=True)
    parser.add_argument(
        "--member",
        type=count,
        metavar="N",
        help="Aggregated proofs only: print the claim of member N, from 1 on, and apply all expectations to it. By "
        "default all claims are printed.",
    )
    expectations.add_arguments(parser)
    group_of(parser, FILES).add_argument(
        "--output", type=path_argument, metavar="FILE", help="Guests only: write the proven output to FILE."
    )
    level = group_of(parser, PROOF)
    add_option(level, "security", "Least provable security in bits; proofs with less fail.", 128)
    add_option(level, "proximity", default=JOHNSON_PROXIMITY)
    add_max_members(parser)
    parser.add_argument(
        "--allow-mock",
        action="store_true",
        help="For tests of applications: accept a mock proof, made by `prove --mock`, if its claim meets all "
        "expectations. It PROVES NOTHING.",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover verify`` and return the exit code."""
    if options.output:
        check_writable(options.output)
    data = proof_bytes(options.proof, options.program)
    try:
        mock = options.allow_mock and is_mock(data)
        proof = MockProof.from_bytes(data) if mock else any_proof_from_bytes(data, options.max_members)
        headers = headers_of(proof)
        number = _chosen(len(headers), options)
        for header in headers:
            check_level(header, options.security)  # first, because the statement may be expensive to build
        programs = programs_of(headers, options.program, "`graphprover verify PROOF PROGRAM ...`")
        if number is not None:
            expectations.refuse(programs[number], options)
        verdicts = _verified(proof, headers, programs, options)
    except VerificationError as error:
        raise error.refusal(f"{options.proof}: not valid: {error}") from error
    if number is None:
        for program, verdict in zip(programs, verdicts, strict=True):
            expectations.check_expectations(program, verdict, options)
        members = [json_output.verdict(*own) for own in zip(programs, verdicts, strict=True)]
        text_output.say(
            {"valid": True, "members": members}, lambda: [*members_report(programs, verdicts), "valid"], options
        )
        return OK
    program, verdict = programs[number], verdicts[number]
    expectations.check_expectations(program, verdict, options)
    if options.output and verdict.claim:
        write(options.output, verdict.claim.output)

    def describe() -> list[text_output.Block]:
        described = program.describe(verdict.public_values)
        return [{"program": program.name} | described | text_output.worth(verdict), MOCK if verdict.mock else "valid"]

    text_output.say({"valid": True} | json_output.verdict(program, verdict), describe, options)
    return OK


def _chosen(members: int, options: argparse.Namespace) -> int | None:
    """Return the index of the member that is asked about; None for all members of an aggregated proof.

    Raises:
        UsageError: There is no such member, or expectations are about one of several members.
    """
    if options.member is not None:
        if options.member > members:
            raise UsageError(f"--member {options.member}: the proof is about {members} proofs")
        return int(options.member) - 1
    if members == 1:
        return 0
    for name in ("input", "expect_output", "expect_output_hex", "expect", "output"):
        if getattr(options, name):
            option = name.replace("_", "-")
            raise UsageError(f"--{option}: the proof is about {members} proofs: choose one by --member")
    return None


def _verified(
    proof: AnyProof | MockProof,
    headers: Sequence[Proof | ShardedProof],
    programs: Sequence[Program],
    options: argparse.Namespace,
) -> list[Verdict]:
    """Return the verdict on each member."""
    try:
        if len(headers) == 1:
            level, allowed = (options.security, options.proximity), options.allow_mock
            return [programs[0].verify(proof, *level, exit_code=ANY, allow_mock=allowed)]
        from graphprover.verifier.compressed import verify_aggregate  # here, because other proofs do not need it

        assert isinstance(proof, CompressedProof)
        statements = statements_of(programs, headers, [f"member {number}" for number in range(1, len(headers) + 1)])
        return verify_aggregate(proof, statements, options.security, options.proximity, max_members=options.max_members)
    except VerificationError as error:
        hint = other_programs(headers, programs) + _or_the_key(programs)
        raise error.refusal(f"{error}{hint}") from error


def _or_the_key(programs: Sequence[Program]) -> str:
    """Return a hint that the key may be damaged: it has no checksum, and causes the same errors as a damaged proof."""
    program = next((program for program in programs if program.only_key), None)
    if program is None:
        return ""
    return f"; or the key {program.name} is damaged: check it by `graphprover inspect {program.name} GUEST.ELF`"
