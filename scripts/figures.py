"""What a benchmark prints: a table for people, or with --json one object a line for each figure it has measured."""

import argparse
import json
from typing import Any

RATES = ("/s", "Hz")  # how units end of which more is faster
TIMES = ("s", "ms")  # units of which less is faster


class Figures:
    """The output of one benchmark: each of its lines is for people or for programs."""

    def __init__(self, as_json: bool) -> None:
        self._as_json, self._names = as_json, set[str]()

    def text(self, *lines: object) -> None:
        """Lines for people."""
        if not self._as_json:
            print(*lines, sep="\n", flush=True)

    def __call__(self, name: str, value: float, unit: str, ratio: float | None = None, **parameters: Any) -> None:
        """Return a figure for programs. No two of a run have the same name; ``ratio`` is to its ceiling, where it has
        one.
        """
        assert name not in self._names, name
        self._names.add(name)
        if self._as_json:
            figure: dict[str, Any] = {"name": name, "value": rounded(value), "unit": unit}
            if ratio is not None:
                figure["ratio"] = rounded(ratio)
            print(json.dumps(figure | {"parameters": parameters}), flush=True)


def add_option(parser: argparse.ArgumentParser) -> None:
    """--json, which every benchmark has."""
    parser.add_argument("--json", action="store_true", help="print a JSON object a line for each figure, and no table")


def rounded(value: float) -> float:
    """Six digits, which is more than a clock can tell; whole numbers stay."""
    return int(value) if value == int(value) else float(f"{value:.6g}")


def direction(unit: str) -> int:
    """1 for a unit of which more is faster, -1 where less is; 0 for what is no speed, as bytes."""
    return 1 if unit.endswith(RATES) else -1 if unit in TIMES else 0
