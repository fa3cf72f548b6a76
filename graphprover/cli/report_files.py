"""Files of ``--report`` and ``--trace``."""

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
    """Write the requested reports and trace of a proof.

    Raises:
        FileError: A file cannot be written.
    """
    for path in report_files(options):
        if path == options.trace:
            text = _json(chrome_trace([seen]))
        elif path.suffix == PAGE:
            from graphprover.reports.proof_page import proof_page  # loaded only for pages

            data = getattr(options, "input", None)
            text = proof_page(seen, Path(data).name if data else "")
        else:
            text = _json(seen.to_json())
        write(path, text.encode())


def save_batch(jobs: Sequence[Facts], figures: Facts, seen: Sequence[Observation], options: argparse.Namespace) -> None:
    """Write the requested reports and trace of a batch.

    Args:
        jobs: Outcomes of the jobs.
        figures: Figures of the batch, by `batch_figures.figures`.
        seen: Observations of the proofs.
        options: The command's parsed arguments.

    Raises:
        FileError: A file cannot be written.
    """
    for path in report_files(options):
        if path == options.trace:
            text = _json(chrome_trace(seen))
        elif path.suffix == PAGE:
            from graphprover.reports.batch_page import batch_page  # loaded only for pages

            text = batch_page(Path(options.jobs).name, jobs, figures, seen)
        else:
            text = _json([one.to_json() if len(seen) == 1 else one.summary() for one in seen])
        write(path, text.encode())


def _json(found: object) -> str:
    return json.dumps(found, allow_nan=False)
