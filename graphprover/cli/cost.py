"""The cost number of a guest's run, as text and JSON."""

from graphprover.cli.json_output import Facts
from graphprover.runtime.display.section import Block, Section
from graphprover.statement.cost import COST_NAME, REFERENCE, SECONDS_OF_UNIT, Cost


def cost_facts(cost: Cost) -> Facts:
    """Return a cost as a JSON object."""
    classes = [{"name": one.name, "count": one.count, "weight": one.weight} for one in cost.classes]
    return {"name": COST_NAME, "version": cost.version, "value": cost.value, "classes": classes}


def cost_report(cost: Cost) -> list[Block]:
    """Return a cost and the share of each class."""
    from graphprover.reports.plan_text import time_text  # here, because it loads the planner

    heads = ("class", "count", "weight", "cost", "share")
    rows = [
        (one.name, f"{one.count:,}", f"{one.weight:,}", f"{one.cost:,}", f"{one.cost / cost.value:.1%}")
        for one in cost.classes
    ]
    about = time_text(cost.value * SECONDS_OF_UNIT)
    return [Section([heads, *rows], f"cost {cost}, about {about} on {REFERENCE}")]
