"""Arguments of the command line: what is refused, and the types that several commands share."""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from graphprover.files import STREAM
from graphprover.graphs.executor_names import CLUSTERS, LOCAL

OK, FAILED, USAGE = 0, 1, 2  # exit codes; `__main__` has those of signals

READ = ("proof", "subject", "guest", "input", "expect_output")  # options that name a file to read
WRITTEN = ("output", "svg", "profile")  # a file to write


class UsageError(Exception):
    """Arguments that make no sense together."""


def outputs(options: argparse.Namespace) -> list[Path]:
    """The files that a command writes."""
    return _paths(options, WRITTEN)


def check_streams(options: argparse.Namespace) -> None:
    """Raises UsageError where standard input or output would serve two purposes."""
    if _paths(options, READ).count(STREAM) > 1:
        raise UsageError("standard input (-) can be read once")
    written = outputs(options).count(STREAM)
    if written > 1 or (written and getattr(options, "json", False)):
        raise UsageError("standard output (-) takes one thing: a file, or what --json prints")


def _paths(options: argparse.Namespace, names: Sequence[str]) -> list[Path]:
    given = (getattr(options, name, None) for name in names)
    return [Path(value) for value in given if value is not None]


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


def executor(text: str) -> str:
    """Who runs a graph; see ``graphs.executors.executor_for``."""
    if text in (*LOCAL, *CLUSTERS) or "://" in text or (text.endswith(".json") and Path(text).is_file()):
        return text
    raise argparse.ArgumentTypeError(
        f"{text!r} is neither {', '.join((*LOCAL, *CLUSTERS))}, tcp://ADDRESS nor a scheduler's FILE.json"
    )
