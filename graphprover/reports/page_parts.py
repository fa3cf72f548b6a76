"""Common parts of the pages of a proof and of a batch."""

from collections.abc import Container, Iterable, Mapping
from html import escape

from graphprover.reports.charts import COLOURS
from graphprover.reports.conclusion import MODELLED, Finding, ratio_text
from graphprover.reports.plan_svg import COLUMNS, share_text
from graphprover.reports.plan_text import time_text
from graphprover.runtime.display.browser import TableCell
from graphprover.telemetry.observation import Observation

MOST = 19  # rows of a table shown at first
TEXT = 60  # characters of a name

STYLE = """
.said{font-size:1.05rem;color:var(--ink)}
.findings{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(12.5rem,45%),1fr));gap:.6rem;margin:1rem 0}
.findings div{background:var(--band);border-radius:.4rem;padding:.5rem .8rem}
.findings dt{color:var(--faint)}.findings dd{margin:0}.findings dd:first-of-type{font-size:1.15rem;font-weight:600;
overflow-wrap:anywhere}.findings small{font-size:.85rem}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.3rem 0;padding:0;list-style:none}
.legend i{display:inline-block;width:.8rem;height:.8rem;border-radius:.15rem;margin-right:.35rem;vertical-align:-.05rem}
.legend i.line{height:0;border-top:2px solid;border-radius:0;vertical-align:.25rem;width:1.2rem}
.legend i.dashed{border-top-style:dashed}
.columns{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(24rem,100%),1fr));gap:0 2rem}
.columns>section{min-width:0}.wide{grid-template-columns:repeat(auto-fit,minmax(min(48rem,100%),1fr))}
"""


def group_of(round_: str) -> str:
    """Return the colour group of a round: its column in the plan's picture, or its own name if it is in several."""
    return next((column.name for column in COLUMNS if round_ in column.rounds), round_)


def groups(observation: Observation) -> dict[str, float]:
    """Return the seconds of running tasks by colour group."""
    found: dict[str, float] = {}
    for one in observation.rounds:
        found[group_of(one.round)] = found.get(group_of(one.round), 0.0) + one.seconds
    return {name: found[name] for name in COLOURS if name in found}


def legend(colours: Mapping[str, str]) -> str:
    """Return a legend of colours."""
    parts = (f'<li><i style="background:{colour}"></i>{escape(name)}</li>' for name, colour in colours.items())
    return f'<ul class="legend">{"".join(parts)}</ul>'


def rounds_legend(names: Container[str]) -> str:
    """Return a legend of these groups of rounds."""
    return legend({name: colour for name, colour in COLOURS.items() if name in names})


def short(text: str) -> str:
    """Return a name, shortened."""
    return text if len(text) <= TEXT else f"{text[: TEXT - 1]}…"


def findings_html(found: Iterable[Finding]) -> str:
    """Return conclusions in columns."""
    parts = (
        f"<div><dt>{escape(one.name)}</dt><dd>{escape(one.figure)}</dd><dd><small>{escape(one.beside)}</small></dd></div>"
        for one in found
    )
    return f'<dl class="findings">{"".join(parts)}</dl>'


def seconds_cell(seconds: float, whole: float, mark: str = "") -> TableCell:
    """Return a cell with a time and its share of the whole."""
    return TableCell(
        f"{mark}{time_text(seconds)}", seconds, share_text(seconds, whole), seconds / whole if whole else 0.0
    )


def ratio_cell(ratio: float | None) -> TableCell:
    """Return a cell with a time over its lower bound; empty for None."""
    return TableCell("", 0.0) if ratio is None else TableCell(ratio_text(ratio), ratio)


def floor_cell(seconds: float) -> TableCell:
    """Return a cell with a lower bound; empty for 0."""
    return TableCell(f"{MODELLED} {time_text(seconds)}" if seconds else "", seconds)
