"""``graphprover completion``: print a completion script for a shell."""

import argparse
from collections.abc import Iterator

from graphprover.cli.args import Command
from graphprover.cli.parser import Parser
from graphprover.cli.paths import path_argument
from graphprover.runtime.errors import OK

SHELLS = ("bash", "zsh")
FILES = {"PROGRAM", "PROOF|KEY|PROGRAM", "GUEST.ELF"}  # metavars of arguments that may be files but have another type


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "Source the script when the shell starts.",
        ["bash > ~/.local/share/bash-completion/completions/graphprover", "zsh > ~/.zfunc/_graphprover"],
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"Shell of the script: {' or '.join(SHELLS)}.")


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover completion`` for the whole command line."""
    import shtab

    for action in _actions(options.whole):
        if action.type is path_argument or action.metavar in FILES:
            action.complete = shtab.DIRECTORY if action.metavar == "FOLDER" else shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(options.whole, options.shell))
    return OK


def _actions(parser: Parser) -> Iterator[argparse.Action]:
    """Yield all arguments of the command line and its commands."""
    parser.fill()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
        else:
            yield action
