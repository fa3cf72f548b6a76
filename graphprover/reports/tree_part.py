"""The part of a page about the tree of a compressed proof: its parts in time, and the critical path."""

from collections.abc import Sequence
from html import escape
from itertools import pairwise

from graphprover.reports import charts
from graphprover.reports.page_parts import MOST, legend, seconds_cell
from graphprover.reports.plan_text import time_text
from graphprover.runtime.display.browser import TableCell, label, table
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.tree import TreePart, critical_path

CRITICAL, OTHERS = "on the critical path", "others"
COLOURS = {CRITICAL: charts.COLOURS["transcript"], OTHERS: charts.COLOURS["commit"]}
MOST_ROWS = 60  # of the chart


def tree_line(observation: Observation) -> "charts.Plot":
    """Return the chart of the tree: a row for each part, the critical path and the first of the others."""
    tree, began = observation.tree, observation.began
    path = critical_path(tree)
    others = [number for number in range(len(tree)) if number not in path]
    rows = sorted([*path, *others[: max(MOST_ROWS - len(path), 0)]])
    boxes = [
        charts.Box(
            _lane(tree, number),
            tree[number].start - began,
            tree[number].end - began,
            COLOURS[CRITICAL if number in path else OTHERS],
            _details(tree[number], began),
        )
        for number in rows
    ]
    end = max(part.end for part in tree) - began
    return charts.time_line([_lane(tree, number) for number in rows], boxes, (0.0, end), end)


def tree_html(observation: Observation, times: str) -> str:
    """Return the part of the page; ``times``: the HTML of the chart."""
    tree = observation.tree
    path = critical_path(tree)
    whole = tree[path[-1]].end - min(part.start for part in tree)
    rows = [
        [
            TableCell(part.name, number),
            seconds_cell(part.seconds, whole),
            TableCell(time_text(part.start - observation.began), part.start),
            label(", ".join(tree[of].name for of in part.parts)),
            *([label(part.worker)] if any(one.worker for one in tree) else []),
            label("yes" if number in path else ""),
        ]
        for number, part in enumerate(tree)
    ]
    workers = ["worker"] if any(part.worker for part in tree) else []
    return f"""<h2>Tree</h2>
<p>{escape(path_text(tree))} Layers begin when the last of their parts has ended, at the earliest.</p>
{legend(COLOURS)}
<figure>{times}</figure>
{table(("part", "seconds", "from", "about", *workers, "critical"), rows, MOST)}
"""


def path_text(tree: Sequence[TreePart]) -> str:
    """Return the critical path as a sentence, with the seconds between its parts."""
    path = [tree[number] for number in critical_path(tree)]
    steps = [f"{path[0].name} ({time_text(path[0].seconds)})"]
    for before, part in pairwise(path):
        steps.append(f"{part.name} ({time_text(max(part.start - before.end, 0.0))} later, {time_text(part.seconds)})")
    return f"Critical path: {', then '.join(steps)}."


def _lane(tree: Sequence[TreePart], number: int) -> str:
    """Return the name of a part's row; two layers about the same parts have the same name."""
    name = tree[number].name
    return name if [part.name for part in tree].count(name) == 1 else f"{name} ({number})"


def _details(part: TreePart, began: float) -> str:
    by = f"\nby {part.worker}" if part.worker else ""
    return f"{part.name}\n{time_text(part.seconds)} from {part.start - began:.3f} s{by}"
