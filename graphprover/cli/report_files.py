"""The files that ``--report`` and ``--trace`` ask for."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from graphprover.cli.args import PAGE, report_files
from graphprover.cli.json_output import Facts
from graphprover.runtime.files import write
from graphprover.telemetry.chrome_trace import chrome_trace
from graphprover.telemetry.observation import Observation


def save_proof(seen: Observation, options: argparse.Namespace) -> None:
    """Write what was seen of a proof; raises FileError."""
    for path in report_files(options):
        if path == options.trace:
            text = _json(chrome_trace([seen]))
        elif path.suffix == PAGE:
            from graphprover.reports.proof_page import proof_page  # which loads what draws

            text = proof_page(seen)
        else:
            text = _json(seen.to_json())
        write(path, text.encode())


def save_batch(jobs: Sequence[Facts], seen: Sequence[Observation], options: argparse.Namespace) -> None:
    """Write what was seen of the proofs of a batch, of which ``jobs`` says what has become; raises FileError."""
    for path in report_files(options):
        if path == options.trace:
            text = _json(chrome_trace(seen))
        elif path.suffix == PAGE:
            from graphprover.reports.batch_page import batch_page  # which loads what draws

            text = batch_page(Path(options.jobs).name, jobs, seen)
        else:
            text = _json([one.to_json() if len(seen) == 1 else one.summary() for one in seen])
        write(path, text.encode())


def _json(found: object) -> str:
    return json.dumps(found, allow_nan=False)
