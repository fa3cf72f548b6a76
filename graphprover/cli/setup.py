"""``graphprover setup``: the verifying key of a guest."""

import argparse
from pathlib import Path

from graphprover.cli import json_output, text_output
from graphprover.cli.args import OK, Command, add_json
from graphprover.cli.paths import path_argument, program_argument
from graphprover.cli.program_args import machine_of
from graphprover.runtime.files import check_writable, write


def add(command: Command) -> None:
    """Adds it to the command line."""
    parser = command(
        "setup",
        run,
        "Write the verifying key of a compiled program.",
        "A key of a few hundred bytes replaces the program in `graphprover verify`, and saves it the commitment to the "
        "program. It is as good as whoever made it: make it yourself.",
        ["guest.elf -o guest.vk"],
    )
    parser.add_argument(
        "program", type=program_argument, metavar="GUEST.ELF", help="a program for RV64IM, linked statically"
    )
    parser.add_argument(
        "-o", "--output", type=path_argument, default=Path("guest.vk"), metavar="FILE", help="default guest.vk"
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """``graphprover setup``"""
    check_writable(options.output)
    machine = machine_of(options.program, "; only guests have verifying keys")
    from graphprover.vm.statement.setup import make_key

    key = make_key(machine)
    encoded = key.to_bytes()
    write(options.output, encoded)
    found = json_output.key(key) | {"program": options.program, "key": json_output.file(options.output, encoded)}
    text_output.say(
        found, lambda: [*text_output.key_report(found), text_output.written(options.output, encoded)], options
    )
    return OK
