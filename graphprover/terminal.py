"""What rich draws: the tables of a report in a terminal, and the bar of a proof that is being made."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from graphprover.report import Section


def draw(section: "Section", stream: TextIO) -> None:
    """Draw a table as wide as its terminal at most."""
    table = Table(title=section.title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.show_header = section.headed
    rows = [[Text(cell) for cell in row] for row in section.cells]
    names = rows[0] if section.headed else [Text()] * len(rows[0])
    for name, right in zip(names, section.numeric, strict=True):
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in rows[section.headed :]:
        table.add_row(*row)
    Console(file=stream).print(table)


@contextmanager
def bar() -> Iterator[Callable[[int, int, str], None]]:
    """A bar on stderr that follows what it is told, as `graphprover.prove` tells; nothing where that is a file."""
    console = Console(stderr=True)
    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False)
    shown = console.is_terminal or console.is_jupyter
    with Progress(*columns, console=console, disable=not shown) as progress:
        proof = progress.add_task("", total=None)
        yield lambda ended, total, task: progress.update(proof, completed=ended, total=total, description=task)
