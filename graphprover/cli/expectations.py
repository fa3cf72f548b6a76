"""What `graphprover verify` demands of a proof besides being valid, and `prove` of a run before it is proven."""

import argparse
from collections.abc import Sequence

from graphprover.cli.args import UsageError
from graphprover.cli.paths import path_argument
from graphprover.jobs.programs import Program
from graphprover.protocol.errors import VerificationError
from graphprover.runtime.files import read_input
from graphprover.vm.statement.claim import Claim, shown
from graphprover.vm.statement.guest import ANY, other_exit_code

OF_GUESTS = ("input", "exit_code", "expect_output", "expect_output_hex", "output")  # options that tables do not have
IN_BYTES = {"output": "--expect-output FILE or --expect-output-hex HEX", "input": "--input FILE"}


def add_exit_code(parser: argparse.ArgumentParser, more: str) -> None:
    """``--exit-code``, of ``verify`` and ``prove``."""
    parser.add_argument("--exit-code", type=_exit_code, metavar="N", help=f"of a guest: {more}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What ``verify`` can be told to demand."""
    parser.add_argument(
        "--input",
        type=path_argument,
        metavar="FILE",
        help="fail unless the proof states this input (prove --commit-input)",
    )
    add_exit_code(parser, "fail unless it ended with this exit code (default 0), which may be `any`")
    output = parser.add_mutually_exclusive_group()
    output.add_argument(
        "--expect-output", type=path_argument, metavar="FILE", help="fail unless the output is these bytes"
    )
    output.add_argument("--expect-output-hex", type=_hex, metavar="HEX", help="the same, in hexadecimal digits")
    parser.add_argument(
        "--expect",
        action="append",
        default=[],
        type=_expectation,
        metavar="KEY=VALUE",
        help="fail unless the proof says so, as printed; may be repeated (not for a guest's output: compare its bytes)",
    )


def refuse(program: Program, options: argparse.Namespace) -> None:
    """Raises UsageError for demands that make no sense of this kind of program."""
    if program.has_runs:
        for key, _ in options.expect:
            if key in IN_BYTES:
                raise UsageError(f"--expect {key}: bytes are not compared as text; give {IN_BYTES[key]}")
        return
    for name in OF_GUESTS:
        if getattr(options, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')}: only guests have that, and {program.name} is none")


def check_demands(program: Program, public_values: Sequence[Sequence[int]], options: argparse.Namespace) -> None:
    """Raises VerificationError unless a proof with these public values meets all demands."""
    if what := program.claim_of(public_values):
        _check_exit_code(what, options)
        _check_output(what, options)
        if options.input:
            _check_input(what, options)
    described = program.describe(public_values)
    for key, value in options.expect:
        if key not in described:
            raise UsageError(f"--expect {key}: this program says {', '.join(map(repr, described))}")
        if described[key] != value:
            raise VerificationError(f"{options.proof}: {key} is {described[key]}, not {value}")


def _check_exit_code(what: Claim, options: argparse.Namespace) -> None:
    wrong = other_exit_code(what.exit_code, options.exit_code)
    if wrong:
        raise VerificationError(f"{options.proof}: {wrong} (--exit-code {what.exit_code} or {ANY} accepts it)")


def _check_output(what: Claim, options: argparse.Namespace) -> None:
    wanted = options.expect_output_hex
    if options.expect_output:
        wanted = read_input(options.expect_output)
    if wanted is not None and what.output != wanted:
        pairs = enumerate(zip(what.output, wanted, strict=False))
        alike = next((i for i, (own, other) in pairs if own != other), min(len(what.output), len(wanted)))
        raise VerificationError(f"{options.proof}: not the output expected from byte {alike} on: {shown(what.output)}")


def _check_input(what: Claim, options: argparse.Namespace) -> None:
    data, stated = read_input(options.input), what.input
    if stated is None:
        raise VerificationError(f"{options.proof}: states no input, as it was made without --commit-input")
    if stated != data:
        raise VerificationError(f"{options.proof}: on another input than {options.input}, of {len(stated):,} bytes")


def _exit_code(text: str) -> int | str:
    if text == ANY:
        return ANY
    if not text.isdecimal() or int(text) >= 1 << 64:
        raise argparse.ArgumentTypeError(f"{text!r} is neither {ANY} nor a number below 2^64")
    return int(text)


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not bytes in hexadecimal digits, two for each") from None


def _expectation(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is no KEY=VALUE")
    return key, value
