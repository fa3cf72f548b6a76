"""``graphprover version``: print the version."""

import argparse

from graphprover import __version__
from graphprover.cli.args import Command
from graphprover.runtime.errors import OK


def add(command: Command) -> None:
    """Add the command to the command line."""
    command(run, "The same as `graphprover --version`.", [""])


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover version`` and return the exit code."""
    print(f"graphprover {__version__}")
    return OK
