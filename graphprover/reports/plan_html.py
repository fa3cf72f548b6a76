"""A plan as an HTML page: its picture, the cost of each round, and a sortable table of all tasks."""

from collections.abc import Mapping, Sequence

from graphprover.graphs.planner.costs import Cost
from graphprover.graphs.planner.plan import Plan
from graphprover.graphs.planner.roofline import Assumed
from graphprover.reports.plan_svg import plan_svg, share_text
from graphprover.reports.plan_text import bytes_text, count_text, time_text
from graphprover.runtime.display.browser import TableCell, label, page, table

COLUMNS = ("time", "share", "bound by", "multiplications", "butterflies", "hash calls", "moved", "kept", "scratch")


def plan_html(plan: Plan, program: str, assumed: Assumed, threads: int) -> str:
    """Return the HTML page of a plan, which needs no network; arguments as of `plan_svg`."""
    total = sum(assumed.roofline.modelled(task.cost).seconds for task in plan.tasks.values())
    rounds: dict[str, list[Cost]] = {}
    for task in plan.tasks.values():
        rounds.setdefault(task.round, []).append(task.cost)
    by_task = (
        [label(task.round), label(task.name), *_costs([task.cost], assumed, total)] for task in plan.tasks.values()
    )
    return page(
        f"Plan of {program}",
        f"<figure>{plan_svg(plan, program, assumed, threads)}</figure>\n"
        f"<h2>Rounds</h2>\n{by_round(rounds, assumed)}\n"
        f"<h2>Tasks</h2>\n{table(('round', 'of', *COLUMNS), by_task)}",
    )


def by_round(rounds: Mapping[str, Sequence[Cost]], assumed: Assumed) -> str:
    """Return a table of the cost of each round, from the costs of its tasks."""
    total = sum(assumed.roofline.modelled(cost).seconds for costs in rounds.values() for cost in costs)
    rows = (
        [label(of), TableCell(str(len(costs)), len(costs)), *_costs(costs, assumed, total)]
        for of, costs in rounds.items()
    )
    return table(("round", "tasks", *COLUMNS), rows)


def _costs(costs: Sequence[Cost], assumed: Assumed, total: float) -> list[TableCell]:
    """Return the cells of one task, or of several that run one after another."""
    times = [assumed.roofline.modelled(cost) for cost in costs]
    seconds, cost = sum(time.seconds for time in times), sum(costs, Cost())
    bound = max(times, key=lambda time: time.seconds).bound
    counts = (cost.multiplications, cost.butterflies, cost.hash_calls)
    return [
        TableCell(time_text(seconds), seconds),
        TableCell(share_text(seconds, total), seconds),
        label(bound or "not in the model"),
        *(TableCell(count_text(count), count) for count in counts),
        *(TableCell(bytes_text(count), count) for count in (cost.moved, cost.kept, cost.scratch)),
    ]
