"""How the command line is parsed, as `argparse` does it but for what it says of errors."""

import argparse
from typing import Any, NoReturn

from graphprover.cli.facts import one_line
from graphprover.cli.options import USAGE


class Parser(argparse.ArgumentParser):
    """A parser, and those of its commands, whose errors are one line that names where help is."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse arguments, of which none may be unknown: else the parser of a command leaves them to the top's."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """End the process with one line on stderr, without the usage, which takes ten."""
        self.exit(USAGE, f"graphprover: {one_line(message)}; see `{self.prog} --help`\n")
