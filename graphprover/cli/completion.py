"""``graphprover completion``: print a completion script for a shell."""

import argparse

from graphprover.cli.args import Command
from graphprover.cli.paths import path_argument
from graphprover.protocol.level import one_of
from graphprover.runtime.errors import OK

SHELLS = ("bash", "zsh", "fish")
FILES = {"PROGRAM", "PROOF|KEY|PROGRAM", "GUEST.ELF"}  # metavars of arguments that may be files but have another type


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        run,
        "Source the script when the shell starts.",
        [
            "bash > ~/.local/share/bash-completion/completions/graphprover",
            "zsh > ~/.zfunc/_graphprover",
            "fish > ~/.config/fish/completions/graphprover.fish",
        ],
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"Shell of the script: {one_of(SHELLS)}.")


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover completion`` for the whole command line."""
    if options.shell == "fish":
        from graphprover.cli.fish import fish_script

        print(fish_script(options.whole, _is_file), end="")
        return OK
    import shtab

    for parser in (options.whole, *options.whole.commands()):
        for action in filter(_is_file, parser._actions):
            action.complete = shtab.DIRECTORY if action.metavar == "FOLDER" else shtab.FILE
    print(shtab.complete(options.whole, options.shell))
    return OK


def _is_file(action: argparse.Action) -> bool:
    """Return whether the values of an argument are files or folders."""
    return action.type is path_argument or action.metavar in FILES
