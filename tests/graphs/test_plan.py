"""The plan is the graph's, and its memory is what a proof takes."""

import tracemalloc

import pytest

from graphprover import prove
from graphprover.device import CpuDevice
from graphprover.device.interface import CPU_BATCH
from graphprover.graphs import proof as proof_graph
from graphprover.graphs.batches import batches
from graphprover.graphs.draw import plan_svg, plan_table
from graphprover.graphs.plan import Cost, make_plan
from graphprover.graphs.tasks import Graph
from graphprover.prover import load, plan
from scripts.synthetic import statement


def test_the_plan_has_the_tasks_and_dependencies_of_the_graph() -> None:
    each = statement(5, 20, 4)
    layout = plan(each)
    task = proof_graph.build(
        Graph(CpuDevice(), "", batches(layout, CPU_BATCH)), layout, "", dict(enumerate(load(each))), {}, [()]
    )
    graph = dict(task.__dask_graph__())
    planned = make_plan(layout)
    assert {key: set(t.needs) for key, t in planned.tasks.items()} == {
        key: set(node.dependencies) for key, node in graph.items()
    }
    seen: set[str] = set()
    for key, t in planned.tasks.items():
        assert seen.issuperset(t.needs), "a task stands before one that it needs"
        seen.add(key)


def test_every_round_that_works_has_a_cost() -> None:
    tasks = make_plan(plan(statement(5, 20, 4))).tasks.values()
    free = {"trace_main", "transcript", "fri_final", "query", "proof", "codeword"}
    assert {t.round for t in tasks if t.cost == Cost()} <= free


@pytest.mark.parametrize("threads", [1, 2])
def test_measured_peak_is_near_the_planned_one(threads: int) -> None:
    each = statement(13, 60, 12)
    device = CpuDevice(threads)
    prove(each, device=device)
    planned = make_plan(plan(each)).peak_bytes(threads)
    tracemalloc.start()
    prove(each, device=device)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.6 * planned <= peak <= 1.3 * planned


def test_text_and_drawing_name_every_task() -> None:
    planned = make_plan(plan(statement(5, 20, 4)))
    text, drawing = plan_table(planned, 2), plan_svg(planned)
    for task in planned.tasks.values():
        assert task.name in text
        assert f"{task.round} {task.name}" in drawing
    assert "peak memory" in text
