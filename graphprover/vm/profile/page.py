"""A page without dependencies: the flame graph, and tables of functions, chips and cells outside of functions."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from graphprover.reports.browser import Cell, label, page, table
from graphprover.vm.profile.flame import drawing
from graphprover.vm.profile.tree import CHIP, FUNCTION, LINE, NO_FUNCTION, PADDING, TABLE, Frame, by_function

MOST = 40  # rows of a table, by each measure

_STYLE = "body{max-width:1400px}td:first-child{font-family:ui-monospace,monospace}"


def html(root: Frame, title: str, by: str) -> str:
    """Return the page; ``by``: the measure of widths and of the order of tables."""
    functions = by_function(root)
    shown = _most(functions, lambda share: (share.own_cells, share.own_cycles), by)
    rows = [(share.name, share.own_cells, share.cells, share.own_cycles, share.cycles) for share in shown]
    heads = ("function", "own cells", "cells with calls", "own cycles", "cycles with calls")
    wholes = (root.cells, root.cells, root.cycles, root.cycles)
    parts = [_table("Functions", heads, rows, wholes, "Own: without the functions it calls; with calls: with them.")]
    for name, kind in (("Source lines", LINE), ("Chips of instructions, and tables they use", CHIP)):
        sums = _by_name(root, kind)
        shown_sums = _most(list(sums.items()), lambda item: item[1], by)
        if sums:
            rows_of = [(key.strip("[]") if kind == CHIP else key, *value) for key, value in shown_sums]
            parts.append(_table(name, (kind, "cells", "cycles"), rows_of, (root.cells, root.cycles)))
    others, note = ("table", "cells", "padding"), "Tables that no instruction is a row of; padding: idle rows."
    parts.append(_table(NO_FUNCTION.strip("[]").capitalize(), others, _others(root), (root.cells,) * 2, note))
    body = f"<figure>{drawing(root, title, by)}</figure>{''.join(parts)}"
    return page(f"{title}: where {by} go", body, _STYLE)


def _by_name(root: Frame, kind: str) -> dict[str, tuple[int, int]]:
    """Return cells and cycles of all frames of a kind, by name."""
    found: dict[str, tuple[int, int]] = {}
    waiting = [root]
    while waiting:
        frame = waiting.pop()
        waiting += frame.children.values()
        if frame.kind == kind:
            cells, cycles = found.get(frame.name, (0, 0))
            found[frame.name] = cells + frame.cells, cycles + frame.cycles
    return found


def _others(root: Frame) -> list[tuple[str, int, int]]:
    """Return the cells outside of functions, by table, with padding; first their sum, then most cells first."""
    tables = {name: frame for (_, name), frame in root.child(FUNCTION, NO_FUNCTION).children.items()}
    padding = {frame.name: frame.cells for frame in tables.pop(PADDING, Frame(PADDING, TABLE)).children.values()}
    own = {name: frame.cells for name, frame in tables.items()}
    rows = [(name, own.get(name, 0), padding.get(name, 0)) for name in {**own, **padding}]
    return [("all", sum(own.values()), sum(padding.values())), *sorted(rows, key=lambda row: -row[1] - row[2])]


def _most(items, measures, by):  # type: ignore[no-untyped-def]
    """Return the MOST by cells and the MOST by cycles, in the order of ``by``."""
    ranked = [sorted(items, key=lambda item: -measures(item)[measure])[:MOST] for measure in (0, 1)]
    chosen = [*ranked[0], *(item for item in ranked[1] if item not in ranked[0])]
    return sorted(chosen, key=lambda item: -measures(item)[by == "cycles"])


def _table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], wholes: Sequence[int], note: str = ""
) -> str:
    body = (
        [label(str(of)), *(_share(n, whole) for n, whole in zip(numbers, wholes, strict=True))] for of, *numbers in rows
    )
    said = f"<p>{escape(note)}</p>" if note else ""
    return f"<h2>{escape(title)}</h2>{said}{table(heads, body)}"


def _share(number: int, whole: int) -> Cell:
    return Cell(f"{number:,}", number, f"{number / max(whole, 1):.1%}") if number else Cell("", 0)
