"""Expectations of `graphprover verify` beyond a valid proof: exit code, output, input and public values."""

import argparse

from graphprover.cli.args import add_option
from graphprover.cli.paths import path_argument
from graphprover.jobs.programs import Program
from graphprover.protocol.errors import VerificationError
from graphprover.runtime.errors import UsageError
from graphprover.runtime.files import read_input
from graphprover.verifier import Verdict
from graphprover.vm.statement.claim import ANY, Claim, other_exit_code, shown

OF_GUESTS = ("input", "exit_code", "expect_output", "expect_output_hex", "output")  # options for guests only
IN_BYTES = {"output": "--expect-output FILE or --expect-output-hex HEX", "input": "--input FILE"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``verify`` for expectations."""
    group = parser.add_argument_group("expectations")
    group.add_argument(
        "--input",
        type=path_argument,
        metavar="FILE",
        help="Guests only: fail unless the proof states this input (made with prove --commit-input).",
    )
    add_option(group, "exit_code", "Fail unless the run ended with exit code N, or `any` to accept every exit code.")
    output = group.add_mutually_exclusive_group()
    output.add_argument(
        "--expect-output",
        type=path_argument,
        metavar="FILE",
        help="Guests only: fail unless the output equals the contents of FILE.",
    )
    output.add_argument(
        "--expect-output-hex",
        type=_hex,
        metavar="HEX",
        help="Guests only: fail unless the output equals these bytes, in hexadecimal.",
    )
    group.add_argument(
        "--expect",
        action="append",
        default=[],
        type=_expectation,
        metavar="KEY=VALUE",
        help="Fail unless the report of the proof has the line KEY with the text VALUE. May be repeated. For a guest's "
        "output use --expect-output.",
    )


def refuse(program: Program, options: argparse.Namespace) -> None:
    """Raise UsageError for expectations that do not apply to this kind of program."""
    if program.has_runs:
        for key, _ in options.expect:
            if key in IN_BYTES:
                raise UsageError(f"--expect {key}: bytes cannot be compared as text; use {IN_BYTES[key]}")
        return
    for name in OF_GUESTS:
        if getattr(options, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')}: only for guests, and {program.name} is no guest")


def check_expectations(program: Program, verdict: Verdict, options: argparse.Namespace) -> None:
    """Raise VerificationError unless a valid proof meets all expectations."""
    if claim := verdict.claim:
        _check_exit_code(claim, options)
        _check_output(claim, options)
        if options.input:
            _check_input(claim, options)
    described = program.describe(verdict.public_values)
    for key, value in options.expect:
        if key not in described:
            raise UsageError(
                f"--expect {key}: unknown key; the keys of this program are {', '.join(map(repr, described))}"
            )
        digits = {str(claim.cycles)} if claim and key == "cycles" else set()  # the report has commas in them
        if value not in {described[key], *digits}:
            raise VerificationError("asked.claim", f"{options.proof}: {key} is {described[key]}, not {value}")


def _check_exit_code(claim: Claim, options: argparse.Namespace) -> None:
    wrong = other_exit_code(claim.exit_code, options.exit_code)
    if wrong:
        raise VerificationError(
            "asked.exit_code", f"{options.proof}: {wrong} (--exit-code {claim.exit_code} or {ANY} accepts it)"
        )


def _check_output(claim: Claim, options: argparse.Namespace) -> None:
    wanted = options.expect_output_hex
    if options.expect_output:
        wanted = read_input(options.expect_output)
    if wanted is not None and claim.output != wanted:
        pairs = enumerate(zip(claim.output, wanted, strict=False))
        equal = next((i for i, (own, other) in pairs if own != other), min(len(claim.output), len(wanted)))
        raise VerificationError(
            "asked.output",
            f"{options.proof}: the output differs from the expected one at byte {equal}: {shown(claim.output)}",
        )


def _check_input(claim: Claim, options: argparse.Namespace) -> None:
    data, stated = read_input(options.input), claim.input
    if stated is None:
        raise VerificationError(
            "asked.input", f"{options.proof}: the proof states no input: it was made without --commit-input"
        )
    if stated != data:
        raise VerificationError(
            "asked.input", f"{options.proof}: the stated input ({len(stated):,} bytes) differs from {options.input}"
        )


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no sequence of bytes in hexadecimal, two digits each") from None


def _expectation(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is no KEY=VALUE")
    return key, value
