"""Argument parser with one-line errors."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from graphprover.runtime.errors import USAGE, one_line

MOST_NAMED = 3  # commands in an error message


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """A formatter with commands and their summaries on one line; argparse forgets that commands are indented."""

    def add_argument(self, action: argparse.Action) -> None:
        """Add an argument, and make room for the indentation of its commands."""
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += self._indent_increment


class Parser(argparse.ArgumentParser):
    """A parser of the command line or of one command.

    An error is one line that names the command's ``--help``. Repeating an option that takes one value is an error.
    """

    def __init__(
        self,
        *args: Any,
        fill: Callable[["Parser"], None] | None = None,
        others: Mapping[str, "Parser"] = MappingProxyType({}),
        **kwargs: Any,
    ) -> None:
        """Create a parser.

        Args:
            args: As for `argparse.ArgumentParser`.
            fill: Adds its arguments when they are needed.
            others: The parsers of all commands, of which one may have an option that this one lacks.
            kwargs: As for `argparse.ArgumentParser`.
        """
        super().__init__(*args, **kwargs)
        self._fill, self._others = fill, others
        self.given: set[str] = set()  # destinations of the options that had a value so far
        for action in self._actions:
            action.help = "Show this help and exit."  # of argparse's own --help, in the style of the other options
        for name in (None, "store"):
            self.register("action", name, _StoreOnce)

    def fill(self) -> None:
        """Add the arguments of the command, once."""
        if self._fill:
            fill, self._fill = self._fill, None
            fill(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse arguments and report unknown ones here.

        By default argparse passes a command's unknown arguments to the top parser, whose error would name its own help.
        """
        self.fill()
        self.given.clear()
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._remedy(unknown[0])}")
        return found, unknown

    def _remedy(self, unknown: str) -> str:
        """Return the end of the error message about an unknown argument: what may have been meant."""
        if unknown.startswith("-"):
            return self._of_others(unknown := unknown.partition("=")[0]) or _did_you_mean(
                unknown, self._option_string_actions
            )
        takes_input = "--input" in self._option_string_actions
        return f" (an input file is given as --input {unknown})" if takes_input else ""

    def _of_others(self, option: str) -> str:
        """Return the end of the error message about an option of few other commands; empty if none or many have it."""
        for other in self._others.values():
            other.fill()
        names = [f"`{other.prog}`" for other in self._others.values() if option in other._option_string_actions]
        return f": an option of {', '.join(names)}" if 0 < len(names) <= MOST_NAMED else ""

    def commands(self) -> Iterator["Parser"]:
        """Yield the parsers of all commands, and after each the ones of its actions; all are filled."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for command in action.choices.values():
                    command.fill()
                    yield command
                    yield from command.commands()

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise ArgumentError for a value that is none of the choices; for a command, with the nearest one."""
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            hint = _did_you_mean(value, action.choices)
            raise argparse.ArgumentError(None, f"{value!r} is no {str(action.metavar).lower()}{hint}")
        super()._check_value(action, value)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print a message; argparse would ignore that standard output cannot be written."""
        if file is sys.stdout:
            file.write(message)
        else:
            super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        """Print one line on stderr, without the usage, and exit."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and message.endswith(f"required: {action.metavar}"):
                message += f" ({', '.join(action.choices)})"
        self.exit(USAGE, f"graphprover: {one_line(message)}; see `{self.prog} --help`\n")


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of the error message about an unknown word, with the nearest known one if one is near."""
    from difflib import get_close_matches  # here, because only errors need it

    near = get_close_matches(word, known, 1)
    return f": did you mean {near[0]}?" if near else ""


class _StoreOnce(argparse.Action):
    """Store the value of an argument once; argparse would silently replace it by a second value."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        """Store a value, or raise ArgumentError if the option was given before."""
        if self.option_strings and self.dest in parser.given:
            raise argparse.ArgumentError(self, "given twice")
        parser.given.add(self.dest)
        setattr(namespace, self.dest, values)
