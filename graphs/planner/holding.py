"""The columns that a device holds of each table between the rounds, for a proof that does not fit with all extensions.

An extension that is not held is recomputed for each of its uses. So the device gives up as few bytes as possible:
extensions first, because a byte of them costs less time than a byte of lookup columns; and large tables first, because
each table costs launches.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphprover.device import Array
from graphprover.graphs.batches import NO_HOLDS, Hold, Holds
from graphprover.graphs.planner.costs import WORD_BYTES, Cost
from graphprover.graphs.planner.plan import On, Peak, make_plan
from graphprover.graphs.planner.roofline import Roofline
from graphprover.protocol.layout import Layout
from graphprover.statement.trace_task import TraceTask

_LEAST = 10_000  # a smaller share of all columns is worth no change


@dataclass(frozen=True)
class WholePlan:
    """The plan of a proof in one graph."""

    holds: Holds
    peak: Peak
    costs: tuple[Cost, ...]  # of each task

    @property
    def cost(self) -> Cost:
        """The cost of all tasks."""
        return sum(self.costs, Cost())

    def floor(self, roofline: Roofline) -> float:
        """Return the lower bound of the seconds of all tasks, one after another."""
        return sum(roofline.modelled(cost).seconds for cost in self.costs)


def plan_whole(layout: Layout, main: Sequence[Array | TraceTask], device: On, budget: int | None) -> WholePlan:
    """Return the plan of a proof that takes the least time within ``budget`` bytes, or the least memory.

    Plans are cached for each shape: the layout and the set of tables with trace tasks, which are assumed to determine
    shared trace tasks.

    Args:
        layout: The layout of the proof.
        main: The traces (`prepare.checked_traces`).
        device: The device.
        budget: The bytes that the proof may take; None if they are unknown, so that extensions are held.
    """

    def peak(holds: Holds) -> int:
        return plan_holding(layout, main, device, holds).peak.bytes

    if budget is None or peak(NO_HOLDS) <= budget:
        return plan_holding(layout, main, device, NO_HOLDS)
    return plan_holding(layout, main, device, fewest_changes(layout, budget, peak))


def fewest_changes(layout: Layout, budget: int, peak: Callable[[Holds], int]) -> Holds:
    """Return what to hold of each table so that the peak is at most ``budget`` bytes; if none is, the least of all.

    Args:
        layout: The layout of the proof.
        budget: The bytes.
        peak: Returns the peak for a choice.
    """
    changes = _changes(layout)

    def after(count: int) -> Holds:
        return dict(changes[:count])

    # The peak falls with the number of changes, but for the scratch memory of single tasks.
    least, most = 0, len(changes)
    while least < most:
        middle = (least + most) // 2
        if peak(after(middle)) <= budget:
            most = middle
        else:
            least = middle + 1
    found = after(least)
    if peak(found) <= budget:
        return found
    extensions = sum(hold == Hold.TRACES for _, hold in changes)
    return min((NO_HOLDS, after(extensions), found), key=peak)


def _changes(layout: Layout) -> list[tuple[int, Hold]]:
    """Return the changes in order: a table and what is held of it instead."""
    sizes = [_bytes(layout, table) for table in range(len(layout.tables))]
    worth = [table for table, size in enumerate(sizes) if size * _LEAST >= sum(sizes)]
    worth.sort(key=lambda table: -sizes[table])
    return [(table, hold) for hold in (Hold.TRACES, Hold.MAIN) for table in worth]


def _bytes(layout: Layout, table: int) -> int:
    """Return the bytes of a table's main and lookup columns on the trace."""
    air = layout.tables[table]
    return (air.main_width + air.permutation_width) * WORD_BYTES << layout.log_heights[table]


_plans: dict[object, WholePlan] = {}  # by shape
_SHAPES = 1000  # cached at most


def plan_holding(layout: Layout, main: Sequence[Array | TraceTask], device: On, holds: Holds) -> WholePlan:
    """Return the plan of a proof by a device that holds these columns of each table; cached as in `plan_whole`."""
    made = tuple(isinstance(trace, TraceTask) for trace in main)
    shape = layout, made, device, tuple(holds.items())
    if shape not in _plans:
        if len(_plans) >= _SHAPES:
            _plans.clear()
        plan = make_plan(layout, device.log_batch_rows, main, device.loads, holds)
        costs = tuple(task.cost for task in plan.tasks.values())
        _plans[shape] = WholePlan(holds, plan.peak(device.threads), costs)
    return _plans[shape]
