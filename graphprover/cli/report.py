"""``graphprover report diff``: compare the reports of two proofs or two batches."""

import argparse
import textwrap
from pathlib import Path
from typing import Any

from graphprover.cli import text_output
from graphprover.cli.args import FILES, Command, add_json, group_of
from graphprover.cli.paths import path_argument
from graphprover.jobs.kinds import kind_of_file
from graphprover.runtime.display.section import Block, Section
from graphprover.runtime.errors import OK, UsageError
from graphprover.runtime.files import check_writable, write
from graphprover.telemetry.compare import SECTIONS, Report, compare, read_report

MOST = 12  # rows of a section in the text, those with the largest changes


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        lambda options: OK, "`diff` compares two files of --report FILE.json.", ["diff before.json after.json"]
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    help = "Compare the reports of two proofs or two batches: seconds, memory, sizes and cells, and their ratios."
    own = actions.add_parser("diff", help=help, description=textwrap.fill(help, 79))
    own.set_defaults(command=run)
    for name, which in (("first", "The report to compare with"), ("second", "The other report")):
        metavar = f"{name.upper()}.JSON"
        own.add_argument(name, type=path_argument, metavar=metavar, help=f"{which}, of --report FILE.json.")
    group_of(own, FILES).add_argument(
        "--html", type=path_argument, metavar="FILE", help="Also write the comparison as a page."
    )
    add_json(own)


def run(options: argparse.Namespace) -> int:
    """Run ``graphprover report diff`` and return the exit code."""
    if options.html:
        check_writable(options.html)
    first, second = _read(options.first), _read(options.second)
    try:
        found = compare(first, second)
    except ValueError as error:
        raise UsageError(f"{options.first}, {options.second}: {error}") from error
    if options.html:
        from graphprover.reports.compare_page import compare_page  # loaded only for pages

        write(options.html, compare_page(options.first.name, options.second.name, found).encode())
    facts = {"first": str(options.first), "second": str(options.second), **found}
    text_output.say(facts, lambda: _report(found), options)
    return OK


def _read(path: Path) -> Report:
    """Return the report in a file; raises UsageError for a file of another kind."""
    try:
        return read_report(path)
    except ValueError as error:
        kind = kind_of_file(path)
        what = f"{kind}, not a report" if kind else error
        raise UsageError(f"{path}: {what}: give a file of `graphprover prove --report FILE.json`") from error


def _report(found: dict[str, Any]) -> list[Block]:
    """Return the comparison as text."""
    blocks: list[Block] = []
    if found["differs"]:
        rows = [(row["name"], *(_shown(row[which]) for which in ("first", "second"))) for row in found["differs"]]
        blocks.append(Section([("differs", "first", "second"), *rows]))
    for name, unit in SECTIONS.items():
        rows = [(row["name"], figure(row["first"]), figure(row["second"]), ratio(row["ratio"])) for row in found[name]]
        if rows:
            more = [f"  and {len(rows) - MOST:,} more with smaller changes"] if len(rows) > MOST else []
            head = f"{name} ({unit})" if unit else name
            blocks += [Section([(head, "first", "second", "ratio"), *rows[:MOST]]), *more]
    return blocks


def _shown(value: object) -> str:
    return "-" if value is None else str(value)


def figure(value: float | None) -> str:
    """Return a figure as text: seconds have a fraction, counts have none."""
    return "-" if value is None else f"{value:,.3f}" if isinstance(value, float) else f"{value:,}"


def ratio(value: float | None) -> str:
    """Return a ratio as text."""
    return "-" if value is None else f"{value:.2f}"
