"""Options that several commands share, and their types."""

import argparse
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from graphprover.cli.paths import path_argument
from graphprover.jobs.errors import line_of
from graphprover.jobs.machine_options import MACHINE_OPTIONS
from graphprover.jobs.option import UnreadableText, Values
from graphprover.jobs.options import BY_NAME, EXCLUDED, OPTIONS, level_of, options_of
from graphprover.proof.compressed import MAX_MEMBERS
from graphprover.protocol.errors import RuleError
from graphprover.protocol.level import Level
from graphprover.protocol.parameters import FAST
from graphprover.runtime.errors import DEBUG, UsageError
from graphprover.runtime.files import STREAM, goes_to_stdout, is_replaced, resolved

FILES = "files and output"  # the group of options that are in no table

PAGE, DATA = ".html", ".json"  # suffixes of report files

READ = ("proof", "subject", "guest", "jobs", "input", "expect_output")  # options that name an input file
WRITTEN = ("output", "svg", "html", "summary", "profile", "trace")  # options that name an output file

GUEST_HELP = "guest program: a statically linked ELF file for RV64IM"

# Return the parser of a command, for its arguments, from its `run`, sentences for its help, and example arguments.
Command = Callable[[Callable[[argparse.Namespace], int], str, Sequence[str]], argparse.ArgumentParser]


def check_files(options: argparse.Namespace) -> None:
    """Raise UsageError if standard input, standard output or an output file has two uses in one command."""
    if _paths(options, READ).count(STREAM) > 1:
        raise UsageError("standard input (-) can be read only once")
    if has_stdout(options):
        others = sum(map(goes_to_stdout, _outputs(options))) > 1
        if others or getattr(options, "json", False):
            raise UsageError("standard output (-) can receive only one file, or the output of --json")
    for path, times in Counter(resolved(path) for path in _outputs(options) if is_replaced(path)).items():
        if times > 1:
            raise UsageError(f"{path}: two options name this output file")


def has_stdout(options: argparse.Namespace) -> bool:
    """Return whether a file of a command goes to standard output, so that its report must not."""
    return any(map(goes_to_stdout, _outputs(options)))


def _outputs(options: argparse.Namespace) -> list[Path]:
    """Return the output files of a command."""
    reports = getattr(options, "report", None) or ()
    return [*_paths(options, WRITTEN), *(path for path in reports if path is not None)]


def _paths(options: argparse.Namespace, names: Sequence[str]) -> list[Path]:
    given = (getattr(options, name, None) for name in names)
    return [Path(value) for value in given if value is not None]


def drawn() -> bool:
    """Return whether to draw progress bars: stderr is a terminal and receives no log."""
    return sys.stderr.isatty() and DEBUG not in os.environ


def refuse(error: ValueError, subject: object) -> NoReturn:
    """End a command because a function rejected its arguments with a ValueError.

    Args:
        error: The exception of the function.
        subject: The program or file that the error message starts with.

    Raises:
        UsageError: The message of `error`, prefixed with `subject`.
        ValueError: `error` itself, if a line of the user's program raised it.
    """
    if line_of(error):
        raise error
    raise UsageError(f"{subject}: {error}") from error


@contextmanager
def refusing(subject: object) -> Iterator[None]:
    """End a command by `refuse` if a block rejects its arguments with a ValueError; subclasses have other causes."""
    try:
        yield
    except ValueError as error:
        if type(error) not in (ValueError, RuleError):
            raise
        refuse(error, subject)


def add_output(parser: argparse.ArgumentParser, default: str, what: str = "File of the proof.") -> None:
    """Add ``--output``, the file that the command writes, with this default; ``what``: a sentence for the help."""
    group_of(parser, FILES).add_argument(
        "-o",
        "--output",
        type=path_argument,
        default=Path(default),
        metavar="FILE",
        help=f"{what} Default: {default}.",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    group_of(parser, FILES).add_argument(
        "--json", action="store_true", help="Print one JSON object instead of text. docs/cli_json.md lists its fields."
    )


def count(text: str) -> int:
    """Return a positive integer."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


count.__name__ = "positive integer"  # argparse prints the name in its error


def positive(name: str) -> Callable[[str], float]:
    """Return the type of options that are positive numbers; ``name``: argparse prints it in its error."""

    def number_of(text: str) -> float:
        number = float(text)
        if not 0 < number < math.inf:
            raise ValueError
        return number

    number_of.__name__ = name
    return number_of


def group_of(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """Return the group of options with this title in the help of a command."""
    found = [group for group in parser._action_groups if group.title == title]
    return found[0] if found else parser.add_argument_group(title)


def add_options(parser: argparse.ArgumentParser, command: str, usual: Mapping[str, str] | None = None) -> None:
    """Add the options of proofs that a command takes, in groups of its help.

    Args:
        parser: The parser of the command.
        command: A name of ``where`` in the table of options.
        usual: The text about the default of an option, by name, if it differs from the table.
    """
    exclusive: dict[str, argparse._ArgumentGroup] = {}
    for option in options_of(command):
        group = group_of(parser, option.group)
        if option.name in EXCLUDED:
            exclusive[option.name] = group.add_mutually_exclusive_group()
        group = exclusive.get(option.excludes or option.name, group)
        add_option(group, option.name, usual=(usual or {}).get(option.name))
        if option.name == "rate":
            help = f"Least work: same as --rate {FAST}."
            group.add_argument("--fast", dest="rate", action="store_const", const=FAST, help=help)


def add_machine(parser: argparse.ArgumentParser, command: str, usual: Mapping[str, str] | None = None) -> None:
    """Add the options of the machine that a command takes; arguments are as for `add_options`."""
    for option in MACHINE_OPTIONS:
        if command in option.where:
            group = group_of(parser, option.group)
            add_option(group, option.name, default=option.default or None, usual=(usual or {}).get(option.name))


def add_option(
    parser: argparse._ActionsContainer,
    name: str,
    help: str | None = None,
    default: Any = None,
    usual: str | None = None,
    values: Values | None = None,
) -> None:
    """Add an option of a table.

    Args:
        parser: The parser, or a group of it.
        name: The name of the option.
        help: Sentences for the help, in place of the table's.
        default: Its value without the option. By default None, so that only given options have one.
        usual: The text about its default, in place of the table's.
        values: Its values, in place of the table's.
    """
    (option,) = (option for option in (*OPTIONS, *MACHINE_OPTIONS) if option.name == name)
    values = values or option.values
    texts = [help or option.help]
    if option.guests:
        texts = [f"Guests only: {texts[0][0].lower()}{texts[0][1:]}"]
    if option.bare is not None:
        texts.append(f"Without a value: {_listed(option.bare)}.")
    if usual := usual or (option.usual if default is None else str(default)):
        texts.append(f"Default: {usual}.")
    taken: dict[str, Any] = {"help": " ".join(texts), "default": default}
    if values.type is bool:
        taken["action"] = "store_true"
    else:
        hint = ": put PROGRAM first" if option.bare is not None and option in OPTIONS else ""  # it may be the value
        taken |= {"type": reader(values, hint), "choices": values.choices or None, "metavar": values.metavar}
    if option.bare is not None:
        taken |= {"nargs": "?", "const": option.bare}
    parser.add_argument(option.flag, **taken)


def _listed(value: Any) -> str:
    """Return a value of an option as on the command line."""
    if isinstance(value, str):
        return value
    return ",".join(map(str, value)) if isinstance(value, tuple) else f"{value:g}"


def reader(values: Values, hint: str = "") -> Callable[[str], Any]:
    """Return the type of arguments with values of the table; ``hint`` ends its error message."""

    def read(text: str) -> Any:
        try:
            if values.fit(value := values.read(text)):
                return value
        except UnreadableText as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        except ValueError:
            pass
        raise argparse.ArgumentTypeError(f"{text!r} is not {values.typed or values.words}{hint}")

    return read


def options_given(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the table that are given, by name."""
    return {name: value for name in BY_NAME if (value := getattr(options, name, None)) is not None}


def level_given(options: argparse.Namespace) -> Level:
    """Return the level of the proof that the options of the table ask for."""
    return level_of(options_given(options))


def report(text: str) -> Path:
    """Return the path of a report; its suffix selects the format."""
    path = path_argument(text)
    if path.suffix not in (PAGE, DATA):
        raise argparse.ArgumentTypeError(
            f"{text} is neither FILE.html nor FILE.json; for a text report write --report last, without FILE"
        )
    return path


def add_report(parser: argparse.ArgumentParser, text: str) -> None:
    """Add ``--report`` and ``--trace``; `text` describes the contents of the text report."""
    group = group_of(parser, FILES)
    group.add_argument(
        "--report",
        type=report,
        nargs="?",
        action="append",
        metavar="FILE",
        help=f"Print {text}. With FILE.html or FILE.json, write a report page or its data to the file instead. May be "
        "repeated.",
    )
    group.add_argument(
        "--trace",
        type=path_argument,
        metavar="FILE",
        help="Write a timeline of all tasks in the Chrome trace format, for Perfetto.",
    )


def asks(options: argparse.Namespace) -> bool:
    """Return whether a report or trace was requested, so that proofs must be observed."""
    return bool(options.report or options.trace)


def report_files(options: argparse.Namespace) -> list[Path]:
    """Return the report and trace files that were requested."""
    return [path for path in [*(options.report or ()), options.trace] if path is not None]


def add_max_members(parser: argparse.ArgumentParser) -> None:
    """Add ``--max-members``."""
    parser.add_argument(
        "--max-members",
        type=count,
        default=MAX_MEMBERS,
        metavar="N",
        help="Aggregated proofs only: refuse one about more than N proofs, before any of them is verified; of a proof "
        f"in shards each shard counts. Default: {MAX_MEMBERS}.",
    )
