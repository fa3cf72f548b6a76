"""``graphprover setup``: write the verifying key of a guest."""

import argparse

from graphprover.cli import json_output, text_output
from graphprover.cli.args import GUEST_HELP, Command, add_json, add_output
from graphprover.cli.paths import program_argument
from graphprover.cli.program_args import machine_of
from graphprover.protocol.parameters import DEFAULT_HASH, HASH_NAMES, RATES
from graphprover.runtime.errors import OK
from graphprover.runtime.files import check_writable, write
from graphprover.vm.statement.key import KEY_RATES, proof_kinds


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "A key of a few hundred bytes replaces the program in `graphprover verify`, which then need not commit to the "
        "program. Trust only keys that you made, or whose hash you compared.",
        ["guest.elf -o guest.vk", "guest.elf --hash keccak --hash blake3 --rate 8 --rate 32"],
    )
    parser.add_argument("program", type=program_argument, metavar="GUEST.ELF", help=f"{GUEST_HELP}.")
    add_output(parser, "guest.vk", "File of the key.")
    parser.add_argument(
        "--hash",
        action="append",
        choices=HASH_NAMES,
        help=f"Hash of the proofs that the key is to verify; may be repeated. Default: {DEFAULT_HASH}.",
    )
    parser.add_argument(
        "--rate",
        action="append",
        type=int,
        choices=tuple(RATES),
        help="Rate of the proofs that the key is to verify: N stands for 1/N; may be repeated. Default: "
        f"{', '.join(map(str, KEY_RATES))}.",
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover setup`` and return the exit code."""
    check_writable(options.output)
    machine = machine_of(options.program, "; only guests have verifying keys")
    from graphprover.vm.statement.setup import make_key

    key = make_key(machine, proof_kinds(options.hash or (DEFAULT_HASH,), options.rate or KEY_RATES))
    encoded = key.to_bytes()
    write(options.output, encoded)
    found = json_output.key(key) | {"program": options.program, "key": json_output.file(options.output, encoded)}
    text_output.say(
        found, lambda: [*text_output.key_report(found), text_output.written(options.output, encoded)], options
    )
    return OK
