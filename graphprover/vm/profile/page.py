"""A page that needs nothing else: the flame graph, and tables of functions, families and what is in no function."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from graphprover.vm.profile.flame import drawing
from graphprover.vm.profile.tree import FAMILY, LINE, NO_FUNCTION, TABLE, Frame, by_function

MOST = 40  # rows of a table, by each measure

_STYLE = """
:root{color-scheme:light dark}body{font:14px system-ui,sans-serif;margin:16px;max-width:1400px}
.scroll{overflow-x:auto}.scroll svg{min-width:700px}
table{border-collapse:collapse;margin:4px 0 24px}td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #8884}
td:first-child,th:first-child{text-align:left;font-family:ui-monospace,monospace;overflow-wrap:anywhere}
"""


def html(root: Frame, title: str, by: str) -> str:
    """The page; ``by``: what widths mean, and what orders the tables."""
    functions = by_function(root)
    shown = _most(functions, lambda share: (share.own_cells, share.own_cycles), by)
    rows = [(share.name, share.own_cells, share.cells, share.own_cycles, share.cycles) for share in shown]
    heads = ("function", "own cells", "with what it calls", "own cycles", "with what it calls")
    parts = [_table("Functions", heads, rows, (root.cells, root.cells, root.cycles, root.cycles))]
    for name, kind in (("Source lines", LINE), ("Families of instructions, and what they draw on", FAMILY)):
        sums = _by_name(root, kind)
        shown_sums = _most(list(sums.items()), lambda item: item[1], by)
        if sums:
            rows_of = [(key.strip("[]") if kind == FAMILY else key, *value) for key, value in shown_sums]
            parts.append(_table(name, (kind, "cells", "cycles"), rows_of, (root.cells, root.cycles)))
    others = sorted(_by_name(root, TABLE).items(), key=lambda item: -item[1][0])
    parts.append(_table(NO_FUNCTION.strip("[]").capitalize(), ("table", "cells"),
                        [(name, cells) for name, (cells, _) in others], (root.cells,)))  # fmt: skip
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>"
        f'<div class="scroll">{drawing(root, title, by)}</div>{"".join(parts)}</body></html>\n'
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


def _most(items, measures, by):  # type: ignore[no-untyped-def]
    """The MOST by cells and the MOST by cycles, in the order of ``by``."""
    ranked = [sorted(items, key=lambda item: -measures(item)[measure])[:MOST] for measure in (0, 1)]
    chosen = [*ranked[0], *(item for item in ranked[1] if item not in ranked[0])]
    return sorted(chosen, key=lambda item: -measures(item)[by == "cycles"])


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]], wholes: Sequence[int]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join(
        f"<tr><td>{escape(str(name))}</td>"
        + "".join(f"<td>{n:,} ({n / max(whole, 1):.1%})</td>" for n, whole in zip(numbers, wholes, strict=True))
        + "</tr>"
        for name, *numbers in rows
    )
    return f'<h2>{escape(title)}</h2><div class="scroll"><table><tr>{head}</tr>{body}</table></div>'
