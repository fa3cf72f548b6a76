"""The page of a comparison of two reports."""

from collections.abc import Mapping
from html import escape
from typing import Any

from graphprover.reports.page_parts import MOST, STYLE, short
from graphprover.runtime.display.browser import TableCell, label, page, table
from graphprover.telemetry.compare import SECTIONS

Row = Mapping[str, Any]


def compare_page(first: str, second: str, found: Mapping[str, Any]) -> str:
    """Return the HTML page of a comparison, which needs no network.

    Args:
        first: The name of the first report.
        second: The name of the second.
        found: Their comparison (`graphprover.telemetry.compare.compare`).
    """
    title = f"{first} and {second}"
    parts = [f"<h1>{escape(title)}</h1>", "<p>The largest changes come first. A ratio is the second to the first.</p>"]
    if found["differs"]:
        rows = [[_setting(row[name]) for name in ("name", "first", "second")] for row in found["differs"]]
        parts.append(f"<h2>Not the same</h2>{table(('setting', first, second), rows, MOST)}")
    parts.append('<div class="columns">')
    for name, unit in SECTIONS.items():
        rows = _rows(found[name])
        if rows:
            head = f"{name} ({unit})" if unit else name
            shown = table((name, first, second, "change", "ratio"), rows, MOST)
            parts.append(f"<section><h2>{head[0].upper()}{head[1:]}</h2>{shown}</section>")
    return page(f"Comparison of {title}", "\n".join([*parts, "</div>"]), STYLE)


def _rows(found: list[Row]) -> list[list[TableCell]]:
    """Return the rows of a section, with bars behind the changes."""
    changes = [(row["second"] or 0) - (row["first"] or 0) for row in found]
    largest = max(map(abs, changes), default=0) or 1
    return [
        [
            label(row["name"]),
            _figure(row["first"]),
            _figure(row["second"]),
            TableCell(_number(change, "+"), change, part=abs(change) / largest),
            TableCell("" if row["ratio"] is None else f"{row['ratio']:.2f}", row["ratio"] or 0.0),
        ]
        for row, change in zip(found, changes, strict=True)
    ]


def _figure(value: float | None) -> TableCell:
    return TableCell("", 0) if value is None else TableCell(_number(value), value)


def _number(value: float, sign: str = "") -> str:
    return format(value, f"{sign},.3f" if isinstance(value, float) else f"{sign},")


def _setting(value: object) -> TableCell:
    text = "" if value is None else str(value)
    return label(short(text), title=text)
