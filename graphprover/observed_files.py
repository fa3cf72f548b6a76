"""The files that ``--report`` and ``--trace`` ask for."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from graphprover.chrome_trace import chrome_trace
from graphprover.files import write
from graphprover.observation import Observation
from graphprover.options import PAGE, report_files


def save(seen: Sequence[Observation], options: argparse.Namespace, batch: bool = False) -> None:
    """Write the files; those of a ``batch`` hold a list of sums by round, where there is more than one proof."""
    for path in report_files(options):
        write(path, _contents(path, seen, options, batch).encode())


def _contents(path: Path, seen: Sequence[Observation], options: argparse.Namespace, batch: bool) -> str:
    if path == options.trace:
        found: object = chrome_trace(seen)
    elif path.suffix == PAGE:
        from graphprover.pages.proof import proof_page

        return proof_page(seen[0])
    else:
        sums = [one.to_json(tasks=len(seen) == 1) for one in seen]
        found = sums if batch else sums[0]
    return json.dumps(found, allow_nan=False)
