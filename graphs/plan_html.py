"""A plan as a page: its picture, what each round takes, and all tasks in a table that a click sorts."""

from collections.abc import Iterable, Sequence
from html import escape

from graphprover.graphs.ceilings import Assumed
from graphprover.graphs.costs import Cost
from graphprover.graphs.plan import Plan
from graphprover.graphs.plan_svg import plan_svg, share_text
from graphprover.graphs.plan_text import bytes_text, count_text, time_text

Cell = tuple[str, float | str]  # what is shown, and what it is sorted by

COLUMNS = ("time", "share", "bound by", "multiplications", "butterflies", "Keccak-f", "moved", "kept", "scratch")

STYLE = """
body{margin:1.5rem auto;max-width:1900px;padding:0 1rem;font:14px/1.45 system-ui,sans-serif;background:var(--paper);
color:var(--ink)}
.scroll{overflow-x:auto}
h2{font-size:1.1rem;margin:2rem 0 .5rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .7rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}
.left{text-align:left}
thead th{position:sticky;top:0;background:var(--paper)}
th button{font:inherit;font-weight:600;color:inherit;background:none;border:0;padding:0;cursor:pointer}
th[aria-sort=ascending] button::after{content:" \\2191"}
th[aria-sort=descending] button::after{content:" \\2193"}
tbody tr:nth-child(even){background:var(--band)}
"""

# A click on a column's name sorts by it: numbers from the largest, text from the first letter, and the other way again.
SCRIPT = """
for (const table of document.querySelectorAll("table")) table.tHead.addEventListener("click", event => {
  const head = event.target.closest("th");
  if (!head) return;
  const numeric = !head.classList.contains("left"), place = head.cellIndex, key = row => row.cells[place].dataset.by;
  const order = head.ariaSort ? (head.ariaSort === "ascending" ? -1 : 1) : numeric ? -1 : 1;
  const compare = numeric ? (a, b) => key(a) - key(b) : (a, b) => key(a).localeCompare(key(b), "en", {numeric: true});
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order > 0 ? "ascending" : "descending");
  const body = table.tBodies[0];
  body.append(...[...body.rows].sort((a, b) => order * compare(a, b)));
});
"""


def plan_html(plan: Plan, program: str, assumed: Assumed, threads: int) -> str:
    """An HTML file that needs no network."""
    total = sum(assumed.ceilings.modelled(task.cost).seconds for task in plan.tasks.values())
    rounds: dict[str, list[Cost]] = {}
    for task in plan.tasks.values():
        rounds.setdefault(task.round, []).append(task.cost)
    by_round = (
        [_name(name), (str(len(costs)), len(costs)), *_costs(costs, assumed, total)] for name, costs in rounds.items()
    )
    by_task = (
        [_name(task.round), _name(task.name), *_costs([task.cost], assumed, total)] for task in plan.tasks.values()
    )
    title = escape(f"Plan of {program}")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>{STYLE}</style></head><body>
<div class="scroll">{plan_svg(plan, program, assumed, threads)}</div>
<h2>Rounds</h2>
{_table(("round", "tasks", *COLUMNS), by_round)}
<h2>Tasks</h2>
{_table(("round", "of", *COLUMNS), by_task)}
<script>{SCRIPT}</script>
</body></html>
"""


def _costs(costs: Sequence[Cost], assumed: Assumed, total: float) -> list[Cell]:
    """What is said of one task, or of several together, which follow each other."""
    times = [assumed.ceilings.modelled(cost) for cost in costs]
    seconds, cost = sum(time.seconds for time in times), sum(costs, Cost())
    bound = max(times, key=lambda time: time.seconds).bound
    counts = (cost.multiplications, cost.butterflies, cost.permutations)
    return [
        (time_text(seconds), seconds),
        (share_text(seconds, total), seconds),
        _name(bound or "not in the model"),
        *((count_text(count), count) for count in counts),
        *((bytes_text(count), count) for count in (cost.moved, cost.kept, cost.scratch)),
    ]


def _name(text: str) -> Cell:
    return text, text


def _table(names: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Columns of text are on the left."""
    body = list(rows)
    left = {place for place, (_, by) in enumerate(body[0]) if isinstance(by, str)}
    kinds = [' class="left"' if place in left else "" for place in range(len(names))]
    heads = (f"<th{kind}><button>{name}</button></th>" for kind, name in zip(kinds, names, strict=True))
    lines = []
    for row in body:
        cells = zip(kinds, row, strict=True)
        shown = (f'<td{kind} data-by="{escape(str(by))}">{escape(text)}</td>' for kind, (text, by) in cells)
        lines.append(f"<tr>{''.join(shown)}</tr>")
    table = f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return f'<div class="scroll"><table>{table}</table></div>'
