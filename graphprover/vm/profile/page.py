"""A page that needs nothing else: the flame graph, and tables of functions, families and what is in no function."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from graphprover.vm.profile.flame import drawing
from graphprover.vm.profile.tree import FAMILY, FUNCTION, LINE, NO_FUNCTION, PADDING, TABLE, Frame, by_function

MOST = 40  # rows of a table, by each measure

_STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#111;--faint:#57606a}
@media(prefers-color-scheme:dark){:root{--paper:#16181c;--ink:#eee;--faint:#9aa4b0}}
body{font:14px system-ui,sans-serif;margin:16px;max-width:1400px;background:var(--paper);color:var(--ink)}
h2{font-size:1.1rem;margin:24px 0 4px}p,small{color:var(--faint)}p{margin:4px 0}.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{padding:2px 10px;text-align:right;white-space:nowrap;border-bottom:1px solid #8884}
td:first-child,th:first-child{text-align:left;position:sticky;left:0;background:var(--paper)}
td:first-child{font-family:ui-monospace,monospace;white-space:normal;overflow-wrap:anywhere;min-width:9em}
small{display:inline-block;min-width:4em}
@media(max-width:600px){td,th{padding:2px 5px}}
"""


def html(root: Frame, title: str, by: str) -> str:
    """The page; ``by``: what widths mean, and what orders the tables."""
    functions = by_function(root)
    shown = _most(functions, lambda share: (share.own_cells, share.own_cycles), by)
    rows = [(share.name, share.own_cells, share.cells, share.own_cycles, share.cycles) for share in shown]
    heads = ("function", "own cells", "cells with calls", "own cycles", "cycles with calls")
    wholes = (root.cells, root.cells, root.cycles, root.cycles)
    parts = [_table("Functions", heads, rows, wholes, "Own: without the functions it calls; with calls: with them.")]
    for name, kind in (("Source lines", LINE), ("Families of instructions, and what they draw on", FAMILY)):
        sums = _by_name(root, kind)
        shown_sums = _most(list(sums.items()), lambda item: item[1], by)
        if sums:
            rows_of = [(key.strip("[]") if kind == FAMILY else key, *value) for key, value in shown_sums]
            parts.append(_table(name, (kind, "cells", "cycles"), rows_of, (root.cells, root.cycles)))
    others, note = ("table", "cells", "padding"), "Tables that no instruction is a row of; padding: idle rows."
    parts.append(_table(NO_FUNCTION.strip("[]").capitalize(), others, _others(root), (root.cells,) * 2, note))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}: where {by} go</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>"
        f"{drawing(root, title, by)}{''.join(parts)}</body></html>\n"
    )


def _by_name(root: Frame, kind: str) -> dict[str, tuple[int, int]]:
    """Cells and cycles of all frames of a kind, by name."""
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
    """What is in no function: each table, its cells, and those of its padding; all together, then most cells first."""
    tables = {name: frame for (_, name), frame in root.child(FUNCTION, NO_FUNCTION).children.items()}
    padding = {frame.name: frame.cells for frame in tables.pop(PADDING, Frame(PADDING, TABLE)).children.values()}
    own = {name: frame.cells for name, frame in tables.items()}
    rows = [(name, own.get(name, 0), padding.get(name, 0)) for name in {**own, **padding}]
    return [("all", sum(own.values()), sum(padding.values())), *sorted(rows, key=lambda row: -row[1] - row[2])]


def _most(items, measures, by):  # type: ignore[no-untyped-def]
    """The MOST by cells and the MOST by cycles, in the order of ``by``."""
    ranked = [sorted(items, key=lambda item: -measures(item)[measure])[:MOST] for measure in (0, 1)]
    chosen = [*ranked[0], *(item for item in ranked[1] if item not in ranked[0])]
    return sorted(chosen, key=lambda item: -measures(item)[by == "cycles"])


def _table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], wholes: Sequence[int], note: str = ""
) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join(
        f"<tr><td>{escape(str(name))}</td>"
        + "".join(
            f"<td>{n:,} <small>{n / max(whole, 1):.1%}</small></td>" if n else "<td></td>"
            for n, whole in zip(numbers, wholes, strict=True)
        )
        + "</tr>"
        for name, *numbers in rows
    )
    said = f"<p>{escape(note)}</p>" if note else ""
    return f'<h2>{escape(title)}</h2>{said}<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'
