"""Arguments of the command line: what is refused, and the types that several commands share."""

import argparse
import math
from pathlib import Path

from graphprover.graphs.executor_names import SYNCHRONOUS, THREADS


class UsageError(Exception):
    """Arguments that make no sense together."""


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
    if text in (SYNCHRONOUS, THREADS) or "://" in text or (text.endswith(".json") and Path(text).is_file()):
        return text
    raise argparse.ArgumentTypeError(
        f"{text!r} is neither {SYNCHRONOUS}, {THREADS}, tcp://ADDRESS nor a scheduler's FILE.json"
    )
