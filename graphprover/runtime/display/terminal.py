"""Terminal output drawn by rich: tables of reports, and progress bars."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column, Table
from rich.text import Text

from graphprover.runtime.display.section import Section

TEXT, BAR = 8, 30  # characters: most of a text column, and of a bar
SPEED_SECONDS = 3600.0  # seconds over which a batch's speed is measured: a proof may take minutes


def draw(section: Section, stream: TextIO) -> None:
    """Draw a table. In a narrow terminal text takes several lines, but neither numbers nor the first column do."""
    table = Table(
        title=section.title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        show_header=section.headed,
        collapse_padding=True,
    )
    cells = section.cells
    names, rows = (cells[0], cells[1:]) if section.headed else ([""] * len(cells[0]), cells)
    for place, (name, column, numeric) in enumerate(zip(names, zip(*rows, strict=True), section.numeric, strict=True)):
        widest = max(map(len, column))
        least = widest if numeric or place == 0 else min(widest, TEXT)
        table.add_column(Text(name), justify="right" if numeric else "left", min_width=least)
    for row in rows:
        table.add_row(*(Text(cell, overflow="fold") for cell in row))
    Console(file=stream).print(table)


@contextmanager
def bar() -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar on stderr, fed by the ``progress`` of `graphprover.prove`; nothing if it is no terminal."""
    console = Console(stderr=True)
    # Only the name of the running task may be cut: it changes constantly, and nothing else should move.
    columns = (
        BarColumn(BAR, table_column=Column(min_width=BAR)),
        MofNCompleteColumn(table_column=Column(min_width=9, no_wrap=True, justify="right")),
        TimeElapsedColumn(table_column=Column(min_width=7, no_wrap=True)),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        proof = progress.add_task("", total=None)
        yield lambda ended, total, task: progress.update(proof, completed=ended, total=total, description=task)


@contextmanager
def batch_bar(total: int) -> Iterator[Callable[[int, int, int, str], None]]:
    """Show a progress bar of a batch on stderr: proofs that are made, existing and failed, and the running ones.

    Other output to stderr appears above it. The remaining time is estimated from the finished proofs.
    """
    columns = (
        BarColumn(BAR, table_column=Column(min_width=BAR)),
        TextColumn("{task.fields[done]}", table_column=Column(no_wrap=True)),
        TextColumn("[red]{task.fields[failures]}", table_column=Column(no_wrap=True)),
        TimeElapsedColumn(table_column=Column(min_width=7, no_wrap=True)),
        TextColumn("left", table_column=Column(no_wrap=True)),
        TimeRemainingColumn(table_column=Column(min_width=7, no_wrap=True)),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=SPEED_SECONDS) as progress:
        bar = progress.add_task("", total=total, done=f"0/{total}", failures="")

        def tell(made: int, kept: int, failed: int, running: str) -> None:
            done, failures = f"{made + kept + failed}/{total}", f"{failed} failed" if failed else ""
            progress.update(
                bar, completed=made + failed, total=total - kept, description=running, done=done, failures=failures
            )

        yield tell
