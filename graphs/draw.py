"""A plan for people: as the rows of a table, and as a drawing of its graph."""

from collections.abc import Iterable
from xml.sax.saxutils import escape

from graphprover.graphs.plan import Plan, Task
from graphprover.graphs.transcript import TRANSCRIPT

BOX_WIDTH, BOX_HEIGHT, GAP_X, GAP_Y, MARGIN = 190, 34, 60, 12, 20


def plan_rows(plan: Plan) -> list[tuple[str, ...]]:
    """The names of the columns, then a row a task: operations, bytes, and the rounds it waits for; then the totals."""
    rows: list[tuple[str, ...]] = [("round", "of", "multiply", "butterfly", "Keccak-f", "kept", "scratch", "after")]
    for task in plan.tasks.values():
        rows.append(_row(task, ", ".join(_rounds(plan, task))))
    total = plan.total
    counts = map(_count, (total.multiplications, total.butterflies, total.permutations))
    return [*rows, ("all", f"{len(plan.tasks)} tasks", *counts, bytes_text(total.kept), "", "")]


def peak_text(plan: Plan, threads: int) -> str:
    """The most memory that the proof takes, with so many tasks side by side."""
    return f"peak memory beyond the traces: {bytes_text(plan.peak_bytes(threads))}"


def plan_svg(plan: Plan) -> str:
    """The graph from left to right: a column for each step of the longest way, a box for each task."""
    depth: dict[str, int] = {}
    for key, task in plan.tasks.items():
        depth[key] = max((depth[needed] + 1 for needed in task.needs), default=0)
    columns: dict[int, list[str]] = {}
    for key in sorted(plan.tasks, key=lambda key: (depth[key], plan.tasks[key].round, key)):
        columns.setdefault(depth[key], []).append(key)
    place = {
        key: (MARGIN + column * (BOX_WIDTH + GAP_X), MARGIN + row * (BOX_HEIGHT + GAP_Y))
        for column, keys in columns.items()
        for row, key in enumerate(keys)
    }
    width = MARGIN * 2 + len(columns) * (BOX_WIDTH + GAP_X) - GAP_X
    height = MARGIN * 2 + max(map(len, columns.values())) * (BOX_HEIGHT + GAP_Y) - GAP_Y
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for key, task in plan.tasks.items():
        x, y = place[key]
        for needed in task.needs:
            from_x, from_y = place[needed][0] + BOX_WIDTH, place[needed][1] + BOX_HEIGHT // 2
            to_y, bend = y + BOX_HEIGHT // 2, GAP_X // 2
            curve = f"M{from_x},{from_y} C{from_x + bend},{from_y} {x - bend},{to_y} {x},{to_y}"
            parts.append(f'<path d="{curve}" fill="none" stroke="#bbb"/>')
    for key, task in plan.tasks.items():
        x, y = place[key]
        cost = task.cost
        fill = "#eef" if task.round == TRANSCRIPT else "#efe" if cost.permutations else "#fff8e0"
        work = cost.multiplications + cost.butterflies
        detail = f"{_count(work)} mul, {_count(cost.permutations)} Keccak, {bytes_text(cost.kept)}"
        parts += [
            f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4" fill="{fill}" stroke="#888"/>',
            f'<text x="{x + 6}" y="{y + 14}" font-size="11">{escape(task.round)} {escape(task.name)}</text>',
            f'<text x="{x + 6}" y="{y + 28}" font-size="9" fill="#555">{detail}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def _rounds(plan: Plan, task: Task) -> Iterable[str]:
    """The rounds of what a task needs, each once."""
    return dict.fromkeys(
        f"{needed.round} {needed.name}" if needed.round == TRANSCRIPT else needed.round
        for needed in (plan.tasks[key] for key in task.needs)
    )


def _row(task: Task, after: str) -> tuple[str, ...]:
    cost = task.cost
    counts = map(_count, (cost.multiplications, cost.butterflies, cost.permutations))
    return (task.round, task.name, *counts, bytes_text(cost.kept), bytes_text(cost.scratch), after)


def _count(value: int) -> str:
    return _scaled(value, 1000, ("", " k", " M", " G", " T")) if value else "-"


def bytes_text(value: int) -> str:
    """Bytes for people."""
    return _scaled(value, 1024, (" B", " KiB", " MiB", " GiB", " TiB")) if value else "-"


def _scaled(value: float, base: int, units: tuple[str, ...]) -> str:
    power = 0
    while value >= base and power < len(units) - 1:
        value /= base
        power += 1
    return f"{value:.0f}{units[power]}" if value >= 100 or power == 0 else f"{value:.1f}{units[power]}"
