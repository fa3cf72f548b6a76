"""Options that several commands have, with their types and what is refused, and how a command ends."""

import argparse
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from graphprover.cli.paths import path_argument
from graphprover.jobs.programs import line_of
from graphprover.protocol.parameters import FAST, RATES, SMALL
from graphprover.protocol.security import JOHNSON_PROXIMITY, PROXIMITIES
from graphprover.runtime.files import STREAM, resolved
from graphprover.vm.statement.guest import Limits, limits_of

OK, FAILED, USAGE = 0, 1, 2  # exit codes; `__main__` has those of signals

PAGE, FACTS = ".html", ".json"  # how the name of a report's file ends

DEBUG = "GRAPHPROVER_DEBUG"  # set, errors come with their traceback, and the log says what runs

READ = ("proof", "subject", "guest", "jobs", "input", "expect_output")  # options that name a file to read
WRITTEN = ("output", "svg", "html", "summary", "profile", "trace")  # a file to write


# Makes the parser of a command of: name, what runs, a sentence, more of them, examples.
Command = Callable[[str, Callable[[argparse.Namespace], int], str, str, Sequence[str]], argparse.ArgumentParser]


class UsageError(Exception):
    """Arguments, or files in their place, that make no sense; each argument of the exception is a line."""


def outputs(options: argparse.Namespace) -> list[Path]:
    """The files that a command writes."""
    return _paths(options, WRITTEN)


def check_files(options: argparse.Namespace) -> None:
    """Raises UsageError where standard input, standard output or a file that is written would serve two purposes."""
    if _paths(options, READ).count(STREAM) > 1:
        raise UsageError("standard input (-) can be read once")
    written = outputs(options).count(STREAM)
    if written > 1 or (written and getattr(options, "json", False)):
        raise UsageError("standard output (-) takes one thing: a file, or what --json prints")
    reports = getattr(options, "report", None) or ()
    files = [path for path in [*outputs(options), *reports] if path not in (None, STREAM)]
    for path, times in Counter(map(resolved, files)).items():
        if times > 1:
            raise UsageError(f"{path}: two files of this command would be written there")


def _paths(options: argparse.Namespace, names: Sequence[str]) -> list[Path]:
    given = (getattr(options, name, None) for name in names)
    return [Path(value) for value in given if value is not None]


def drawn() -> bool:
    """Whether progress is drawn: in a terminal, unless the log goes there."""
    return sys.stderr.isatty() and DEBUG not in os.environ


def refuse(error: ValueError, subject: object) -> NoReturn:
    """End a command whose arguments a function refused by a ValueError.

    Args:
        error: What the function raised.
        subject: The program or file that the line begins with.

    Raises:
        UsageError: The same about the subject.
        ValueError: The error itself, if a line of the user's program raised it.
    """
    if line_of(error):
        raise error
    raise UsageError(f"{subject}: {error}") from error


def add_json(parser: argparse.ArgumentParser) -> None:
    """``--json``, of the commands that report something."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text (see docs/cli.md)")


def bits(text: str) -> float:
    """A level of security; argparse tells the name in its message."""
    level = float(text)
    if not 0 < level < math.inf:
        raise ValueError
    return level


bits.__name__ = "number of bits"


def count(text: str) -> int:
    """How many; argparse tells the name in its message."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


count.__name__ = "number from 1 on"


def report(text: str) -> Path:
    """The file of a report, whose ending says what it holds."""
    path = path_argument(text)
    if path.suffix not in (PAGE, FACTS):
        raise argparse.ArgumentTypeError(
            f"{text} is neither FILE.html nor FILE.json; the report as text needs no FILE: write --report last"
        )
    return path


def add_report(parser: argparse.ArgumentParser, text: str) -> None:
    """``--report`` and ``--trace``; ``text`` says what the former prints."""
    parser.add_argument(
        "--report",
        type=report,
        nargs="?",
        action="append",
        metavar="FILE",
        help=f"print {text}; with FILE.html or FILE.json, write what was seen there instead (both may be given)",
    )
    parser.add_argument(
        "--trace", type=path_argument, metavar="FILE", help="write a time line as a Chrome trace, which Perfetto opens"
    )


def asks(options: argparse.Namespace) -> bool:
    """Whether `add_report` was told of anything, so that proofs are to be observed."""
    return bool(options.report or options.trace)


def report_files(options: argparse.Namespace) -> list[Path]:
    """The files that `add_report` was told of."""
    return [path for path in [*(options.report or ()), options.trace] if path is not None]


def add_shards(parser: argparse.ArgumentParser, default: str) -> None:
    """``--shards`` and ``--shard-size``; ``default`` says what is made without them."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--shards",
        type=count,
        metavar="N",
        help="split the proof into N shards: a device proves them one after another in the memory of about one, the "
        f"workers of a cluster in parallel (default {default})",
    )
    group.add_argument(
        "--shard-size", type=count, metavar="CYCLES", help="of a guest: split the run into shards of this many cycles"
    )


def add_level(parser: argparse.ArgumentParser) -> None:
    """How many bits, by which results, at which rate."""
    parser.add_argument("--security", type=bits, default=128, metavar="BITS", help="provable bits (default 128)")
    add_proximity(parser)
    rate = parser.add_mutually_exclusive_group()
    rate.add_argument(
        "--rate",
        type=int,
        choices=tuple(RATES),
        help="rate 1/2, 1/4 or 1/8 of the code: less is a smaller proof for more work (see `plan`); by default 1/2, "
        "and 1/8 where there is little to prove; asked for at 8, a guest's run has fewer tables, of more cells",
    )
    for name, number, what in (("--fast", FAST, "the least work"), ("--small", SMALL, "the smallest proof")):
        rate.add_argument(name, dest="rate", action="store_const", const=number, help=f"{what}: --rate {number}")


def add_proximity(parser: argparse.ArgumentParser) -> None:
    """``--proximity``."""
    parser.add_argument(
        "--proximity",
        choices=PROXIMITIES,
        default=JOHNSON_PROXIMITY,
        help="the results by which the bits are proven: all up to Johnson's radius, of which the better counts "
        "(johnson, default), or unique decoding alone (unique), which takes a longer proof",
    )


def add_limits(parser: argparse.ArgumentParser, default_memory: str = "half of this computer's") -> None:
    """The limits of a guest's run, which `limits_given` reads."""
    parser.add_argument("--max-cycles", type=count, metavar="N", help="stop a guest there (default 2^30)")
    parser.add_argument(
        "--max-memory",
        type=count,
        metavar="MIB",
        help=f"stop a guest whose pages, output and record take more (default {default_memory})",
    )


def limits_given(options: argparse.Namespace) -> Limits:
    """Those that were given."""
    return limits_of(options.max_cycles, options.max_memory)
