"""``graphprover help``: show the help of the command line or of a command, or print a manual page."""

import argparse

from graphprover.cli.args import Command
from graphprover.runtime.errors import OK


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "The same as `graphprover COMMAND --help`.",
        ["", "prove", "cluster start", "--man > ~/.local/share/man/man1/graphprover.1"],
    )
    parser.add_argument("names", nargs="*", metavar="COMMAND", help="Command. Default: all commands.")
    parser.add_argument("--man", action="store_true", help="Print the manual page of all commands, for man.")


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover help`` and return the exit code."""
    if options.man:
        from graphprover.cli.man_page import man_page

        print(man_page(options.whole), end="")
    else:
        options.whole.parse_args([*options.names, "--help"])  # prints the help and exits
    return OK
