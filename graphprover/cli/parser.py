"""How the command line is parsed, as `argparse` does it but for what it says of errors."""

import argparse
from typing import Any, NoReturn

from graphprover.cli.args import USAGE
from graphprover.cli.json_output import one_line


class Parser(argparse.ArgumentParser):
    """A parser, and those of its commands, whose errors are one line that names where help is.

    An option that takes one value is refused the second time.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.given: set[str] = set()  # names in the namespace of options with a value
        for name in (None, "store"):
            self.register("action", name, _StoreOnce)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse arguments, of which none may be unknown: else the parser of a command leaves them to the top's."""
        self.given.clear()
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """End the process with one line on stderr, without the usage, which takes ten."""
        self.exit(USAGE, f"graphprover: {one_line(message)}; see `{self.prog} --help`\n")


class _StoreOnce(argparse.Action):
    """Keep the value of an argument; the second value of an option would replace the first without a word."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        """Raises ArgumentError for an option that was given before."""
        if self.option_strings and self.dest in parser.given:
            raise argparse.ArgumentError(self, "given twice")
        parser.given.add(self.dest)
        setattr(namespace, self.dest, values)
