"""A script that completes commands, options and files in fish, from the parser; shtab knows other shells only."""

import argparse
from collections.abc import Callable, Iterator, Sequence

from graphprover.cli.parser import Parser


def fish_script(top: Parser, is_file: Callable[[argparse.Action], bool]) -> str:
    """Return the script for the whole command line; ``is_file``: whether the values of an argument are files."""
    return "\n".join(_lines(top, (), is_file)) + "\n"


def _lines(parser: Parser, names: Sequence[str], is_file: Callable[[argparse.Action], bool]) -> Iterator[str]:
    """Yield the completions of a command, after its names."""
    parser.fill()
    seen = [f"__fish_seen_subcommand_from {name}" for name in names]
    below = next((action for action in parser._actions if isinstance(action, argparse._SubParsersAction)), None)
    if below:
        own = (
            [*seen, f"not __fish_seen_subcommand_from {' '.join(below.choices)}"] if seen else ["__fish_use_subcommand"]
        )
        for summary in below._choices_actions:
            yield _completion(own, "-f", "-a", summary.dest, *_described(summary.help))
        for name, command in below.choices.items():
            yield from _lines(command, [*names, name], is_file)
        seen = own
    positional = [action for action in parser._actions if not action.option_strings]
    if not below and not any(map(is_file, positional)):
        yield _completion(seen, "-f")
    for action in positional:
        if action.choices and action is not below:
            yield _completion(seen, "-a", _quoted(" ".join(map(str, action.choices))))
    for action in parser._actions:
        if action.option_strings:
            names_of = [
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in action.option_strings
            ]
            yield _completion(seen, *names_of, *_values(action, is_file), *_described(action.help))


def _values(action: argparse.Action, is_file: Callable[[argparse.Action], bool]) -> Sequence[str]:
    """Return how fish completes the value of an option."""
    if action.nargs in (0, "?"):  # fish would demand a value
        return []
    if action.choices:
        return ["-x", "-a", _quoted(" ".join(map(str, action.choices)))]
    return ["-r", "-F"] if is_file(action) else ["-x"]


def _described(help: str | None) -> Sequence[str]:
    """Return the first sentence of a help as the description."""
    return ["-d", _quoted((help or "").partition(". ")[0].rstrip(".").replace("%%", "%"))]


def _completion(conditions: Sequence[str], *what: str) -> str:
    return " ".join(["complete -c graphprover -n", _quoted("; and ".join(conditions)), *what])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
