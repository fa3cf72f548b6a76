"""The manual page of the command line, in the format of man(7), from the parser."""

import argparse
from collections.abc import Iterator

from graphprover import __version__
from graphprover.cli.parser import Parser


def man_page(top: Parser) -> str:
    """Return the manual page of all commands: the usage, the description, the options and the examples of each."""
    lines = [f'.TH GRAPHPROVER 1 "" "graphprover {__version__}"', ".SH NAME"]
    lines += [rf"graphprover \- {_escaped(str(top.description).rstrip('.'))}", ".SH SYNOPSIS"]
    lines += [r"\fBgraphprover\fR \fICOMMAND\fR ...", *_options(top), ".SH COMMANDS"]
    for command in top.commands():
        usage = command.format_usage().removeprefix("usage: ")
        lines += [f'.SS "{_escaped(command.prog)}"', _paragraph(usage), ".PP", _paragraph(str(command.description))]
        lines += [*_options(command), *_with_breaks(command.epilog or "")]
    return "\n".join([*lines, ".SH NOTES", *_with_breaks(str(top.epilog))]) + "\n"


def _options(parser: Parser) -> Iterator[str]:
    """Yield the arguments of a command, each with its help."""
    formatter = parser._get_formatter()
    for action in parser._actions:
        if action.help and not isinstance(action, argparse._SubParsersAction):
            yield ".TP"
            yield rf"\fB{_escaped(formatter._format_action_invocation(action))}\fR"
            yield _escaped(formatter._expand_help(action))


def _with_breaks(text: str) -> Iterator[str]:
    """Yield a text with its line breaks."""
    yield from (".PP", ".nf", *map(_escaped, text.splitlines()), ".fi")


def _paragraph(text: str) -> str:
    return _escaped(" ".join(text.split()))


def _escaped(text: str) -> str:
    """Return a line without characters that man(7) interprets."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
