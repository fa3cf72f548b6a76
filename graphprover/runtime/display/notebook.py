"""Proofs, plans, statements, jobs and observations in a notebook and at a prompt; progress bars in a notebook."""

import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from itertools import islice
from typing import Any

MOST_ROWS = 64  # of a table; the others are counted
MOST_CHARACTERS = 48  # of user-supplied text
BAR_SECONDS = 0.1  # between two drawings of a progress bar


def html(title: str, facts: Mapping[str, object], rows: Iterable[Sequence[object]] = ()) -> str:
    """Return a title, a list of facts, and a table whose first row has the column names, all escaped."""
    named = "".join(f"<br>{escape(name)}: {_text(value)}" for name, value in facts.items())
    return f"<div><b>{escape(title)}</b>{named}{_table(iter(rows))}</div>"


def kernel() -> Any:
    """Return the shell of the notebook whose code this process runs; None outside of notebooks."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell if any(kind.__name__ == "ZMQInteractiveShell" for kind in type(shell).__mro__) else None


@contextmanager
def bar(shell: Any) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar below the running cell, fed by the ``progress`` of `graphprover.prove`.

    rich would need ipywidgets for this.

    Args:
        shell: The `kernel`.
    """
    place = {"display_id": uuid.uuid4().hex}
    began, drawn = time.monotonic(), 0.0

    def tell(ended: int, total: int, task: str) -> None:
        nonlocal drawn
        now, first = time.monotonic(), not drawn
        if ended < total and now - drawn < BAR_SECONDS:
            return
        drawn = now
        words = f"{ended:,} of {total:,} tasks, {now - began:.1f} s" + f": {task}" * bool(task)
        line = f'<progress value="{ended}" max="{total}" style="width: 15em"></progress> {escape(words)}'
        shell.display_pub.publish({"text/html": line, "text/plain": words}, transient=place, update=not first)

    yield tell


def short(text: object) -> str:
    """Return a text as one line, without its middle if it is long."""
    line = " ".join(str(text).split())
    if len(line) <= MOST_CHARACTERS:
        return line
    kept = MOST_CHARACTERS - len("...")
    return f"{line[: kept - kept // 2]}...{line[-(kept // 2) :]}"


def quoted(text: str) -> str:
    """Return a text in quotation marks, as Python writes it, and short."""
    return short(repr(text))


def _table(rows: Iterable[Sequence[object]]) -> str:
    shown = list(islice(rows, 1 + MOST_ROWS))
    if not shown:
        return ""
    left = sum(1 for _ in rows)
    cells = ["".join(f"<td>{_text(cell)}</td>" for cell in row) for row in shown[1:]]
    more = [f"<td>and {left:,} more</td>"] if left else []
    head = "".join(f"<th>{_text(name)}</th>" for name in shown[0])
    body = "".join(f"<tr>{row}</tr>" for row in (*cells, *more))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _text(value: object) -> str:
    return escape(f"{value:,}" if isinstance(value, int) else str(value))
