"""The output of a benchmark: a table for people, or with --json one object in each line for each figure."""

import argparse
import json
from typing import Any

RATES = ("/s", "Hz")  # ends of units of rates: more is faster
TIMES = ("s", "ms")  # units of times: less is faster


class Figures:
    """The output of one benchmark, for people or for programs."""

    def __init__(self, as_json: bool) -> None:
        self._as_json, self._names = as_json, set[str]()

    def text(self, *lines: object) -> None:
        """Print lines for people."""
        if not self._as_json:
            print(*lines, sep="\n", flush=True)

    def __call__(self, name: str, value: float, unit: str, ratio: float | None = None, **parameters: Any) -> None:
        """Print a figure for programs, with a unique name; ``ratio`` is the ratio to its ceiling, if it has one."""
        assert name not in self._names, name
        self._names.add(name)
        if self._as_json:
            figure: dict[str, Any] = {"name": name, "value": rounded(value), "unit": unit}
            if ratio is not None:
                figure["ratio"] = rounded(ratio)
            print(json.dumps(figure | {"parameters": parameters}, allow_nan=False), flush=True)


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the option --json of every benchmark."""
    parser.add_argument("--json", action="store_true", help="print a JSON object a line for each figure, and no table")


def rounded(value: float) -> float:
    """Return six digits, more than a clock resolves; whole numbers stay."""
    return int(value) if value == int(value) else float(f"{value:.6g}")


def direction(unit: str) -> int:
    """Return 1 for a unit of rates, -1 for a unit of times, and 0 for other units, such as bytes."""
    return 1 if unit.endswith(RATES) else -1 if unit in TIMES else 0
