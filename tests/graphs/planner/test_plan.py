"""A plan has the tasks of the graph, and its memory is the memory that a proof takes."""

import tracemalloc
from dataclasses import replace

import pytest

from graphprover import Air, prove
from graphprover.device import CpuDevice
from graphprover.device.interface import CPU_BATCH
from graphprover.examples import memory
from graphprover.examples.synthetic import statement
from graphprover.graphs import proof_graph
from graphprover.graphs.batches import batches
from graphprover.graphs.builder import Graph
from graphprover.graphs.planner import holding
from graphprover.graphs.planner.costs import FREE, Cost, Costs
from graphprover.graphs.planner.holding import plan_whole
from graphprover.graphs.planner.plan import On, make_plan, make_plans_of_shard
from graphprover.graphs.proof_graph import Keep
from graphprover.graphs.task_keys import place_of
from graphprover.protocol.layout import make_layout
from graphprover.prover.prepare import checked_traces, prepare
from graphprover.reports.plan_text import peak_text, plan_rows
from graphprover.statement.shards import shards_of
from tests.graphs.test_proof_graph import FEW, example
from tests.preparing import prepare_shards
from tests.trace_tasks import as_trace_tasks


@pytest.mark.parametrize("made", [False, True])
def test_the_plan_has_the_tasks_and_dependencies_of_the_graph(made: bool) -> None:
    stated = as_trace_tasks(statement(5, 20, 4)) if made else statement(5, 20, 4)
    layout = prepare(stated).layout
    task = proof_graph.build(
        Graph(CpuDevice(), "", batches(layout, CPU_BATCH)),
        layout,
        "",
        dict(enumerate(checked_traces(stated))),
        {},
        [()],
    )
    graph = dict(task.__dask_graph__())
    planned = make_plan(layout, main=checked_traces(stated))
    assert {key: set(t.needs) for key, t in planned.tasks.items()} == {
        str(place_of(key)): {str(place_of(needed)) for needed in node.dependencies} for key, node in graph.items()
    }
    seen: set[str] = set()
    for key, t in planned.tasks.items():
        assert seen.issuperset(t.needs), "a task stands before one that it needs"
        seen.add(key)


def test_every_round_that_works_has_a_cost() -> None:
    tasks = make_plan(prepare(statement(5, 20, 4)).layout).tasks.values()
    free = {"trace_main", "transcript", "fri_final", "query", "query_proof", "deep_codeword"}
    assert {t.round for t in tasks if t.cost == Cost()} <= free


def test_the_model_knows_the_rounds_of_a_graph_and_no_others() -> None:
    """Use a graph with trace tasks, preprocessed columns, lookups and several heights, which has all rounds."""
    trace_tasks = as_trace_tasks(example(memory))
    layout = prepare(trace_tasks, parameters=FEW).layout
    rounds = {task.round for task in make_plan(layout, main=checked_traces(trace_tasks)).tasks.values()}
    costs = Costs(layout, batches(layout, CPU_BATCH), [])
    assert rounds == {*costs.of_table, *costs.rounds, *FREE}
    assert not FREE & {*costs.of_table, *costs.rounds} and not costs.of_table.keys() & costs.rounds.keys()
    for unknown in (("tea", "time"), ("transcript", "fold99")):
        with pytest.raises(KeyError):
            costs.of(*unknown)


def test_bytes_moved_are_those_counted_by_hand() -> None:
    class Cube(Air):
        """Two columns and no lookup; two quotient chunks."""

        name = "cube"
        columns = ("x", "y")

        def define(self, t) -> None:  # type: ignore[no-untyped-def]
            t.every_row(t.y - t.x * t.x * t.x)
            t.transition(t.next.x - t.x - 1)

    layout = make_layout([Cube().describe()], [4], replace(FEW, log_final_poly_len=0, max_log_arity=3, cap_height=0))
    found = {task.round: task.cost.moved for task in make_plan(layout).tasks.values() if task.round != "tree"}
    trees = [task.cost.moved for task in make_plan(layout).tasks.values() if task.round == "tree"]
    word, digest, element = 8, 32, 24
    assert found["extend_main"] == word * 2 * (16 + 32)
    # 32 leaves, 31 nodes, each digest written and read once: the rows of two columns, then of two chunks of three.
    assert sorted(trees) == [word * 2 * 32 + 2 * digest * 63, word * 6 * 32 + 2 * digest * 63]
    # Two columns on 32 points to one quotient; its two chunks of 16 rows to 32 rows each.
    assert found["quotient"] == word * (2 + 3) * 32 + word * 6 * (16 + 32)
    assert found["opening_weights"] == 2 * element * 16
    assert found["opening"] == word * (2 + 6) * 16 + 2 * element * 16
    assert found["deep_denominators"] == 2 * element * 16
    assert found["deep"] == word * (2 + 6) * 16 + 3 * element * 16
    assert found["deep_codeword"] == element * (16 + 32)
    assert layout.fold_log_arities == (3, 1)  # found has the figures of the last layer
    assert found["fri_tree"] == element * 4 + 2 * digest * 3
    assert found["fri_fold"] == element * (4 + 2)


def test_a_shard_opens_its_main_columns_once_more() -> None:
    """The table of one column, which reads the next row, in a shard and by itself, in bytes counted by hand."""

    class Steps(Air):
        columns = ("x",)

        def define(self, t) -> None:  # type: ignore[no-untyped-def]
            t.transition(t.next.x - t.x - 1)

    parameters = replace(FEW, log_final_poly_len=0, cap_height=0)
    layouts = [make_layout([Steps().describe()], [4], parameters, shard=shard) for shard in (False, True)]
    alone, shard = ({task.round: task.cost for task in make_plan(layout).tasks.values()} for layout in layouts)
    word, element = 8, 24
    new = {"opening_separation_weights", "opening_separation"}
    assert shard.keys() - alone.keys() == new
    changed = {round_ for round_ in alone if alone[round_] != shard[round_]}
    assert changed == {"deep_denominators", "deep"}
    assert shard["opening_separation_weights"].moved == element * 16
    assert shard["opening_separation"].moved == word * 16 + element * 16
    assert shard["deep_denominators"].moved - alone["deep_denominators"].moved == element * 16
    assert shard["deep"].moved - alone["deep"].moved == word * 16 + 3 * element * 16


@pytest.mark.parametrize("keep", Keep)
def test_the_values_at_the_separating_point_are_kept_with_the_trees(keep: Keep) -> None:
    stated = example(memory)
    prepared = prepare_shards(shards_of(stated, [[0], [1]]), parameters=FEW).shards[0]
    first, last = make_plans_of_shard(prepared.layout, keep)
    rounds = {task.round for task in first.tasks.values()}
    assert rounds >= {"opening_separation_weights", "opening_separation"} and "lookup" not in rounds
    again = {task.round for place, task in last.tasks.items() if place not in last.held}
    assert ("opening_separation" in again) == ("opening_separation_weights" in again) == (keep == Keep.NOTHING)


def test_nonces_planned_are_those_tried_on_average() -> None:
    parameters = replace(FEW, lookup_pow_bits=5, ood_pow_bits=6, batch_pow_bits=0, commit_pow_bits=3, query_pow_bits=7)
    stated = statement(5, 20, 4)
    planned = make_plan(prepare(stated, parameters=parameters).layout)
    nonces = {t.name: t.cost.hash_calls for t in planned.tasks.values() if t.round == "transcript"}
    folds = {name: nonces.pop(name) for name in list(nonces) if name.startswith("fold")}
    assert set(folds.values()) == {8} and len(folds) == len(planned.layout.fold_log_arities)
    assert nonces == {"begin": 0, "lookup": 32, "constraint": 0, "zeta": 64, "batching": 0, "queries": 128}


@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_measured_peak_is_near_the_planned_one(threads: int, made: bool) -> None:
    stated = as_trace_tasks(statement(13, 60, 12)) if made else statement(13, 60, 12)
    device = CpuDevice(threads)
    prove(stated, device=device)
    planned = make_plan(prepare(stated).layout, main=checked_traces(stated)).peak_bytes(threads)
    tracemalloc.start()
    prove(stated, device=device)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0.6 * planned <= peak <= 1.3 * planned


def test_text_names_every_task() -> None:
    planned = make_plan(prepare(statement(5, 20, 4)).layout)
    rows = plan_rows(planned)
    for row, task in zip(rows[1:], planned.tasks.values(), strict=False):
        assert row[:2] == (task.round, task.name)
    assert len(rows) == len(planned.tasks) + 2 and rows[-1][0] == "all"
    assert peak_text(planned, 2).startswith("peak memory beyond the traces: ")


def test_traces_that_the_proof_makes_are_in_its_peak() -> None:
    stated = statement(13, 60, 12)
    made, there = (
        make_plan(prepare(stated).layout, main=checked_traces(some)) for some in (as_trace_tasks(stated), stated)
    )
    (trace,) = (task.cost.kept for task in made.tasks.values() if task.round == "trace_main")
    assert trace == 60 * 8 << 13
    assert there.peak_bytes(1) < made.peak_bytes(1) <= there.peak_bytes(1) + trace


def test_the_peak_names_its_task() -> None:
    stated = statement(13, 60, 12)
    planned = make_plan(prepare(stated).layout)
    peak = planned.peak(1)
    assert (peak.round, peak.name) in {(task.round, task.name) for task in planned.tasks.values()}
    assert peak.bytes == planned.peak_bytes(1) and str(peak) == f"{peak.round} of {peak.name}"
    without = [replace(t, cost=Cost()) if t.round == peak.round else t for t in planned.tasks.values()]
    fewer = replace(planned, tasks=dict(zip(planned.tasks, without, strict=True)))
    assert fewer.peak_bytes(1) < peak.bytes


def test_columns_that_a_device_loads_are_in_its_peak() -> None:
    stated = example(memory)
    layout, traces = prepare(stated, parameters=FEW).layout, checked_traces(stated)
    there, loaded = (make_plan(layout, main=traces, loaded=loads) for loads in (False, True))
    kept = {task.round: task.cost.kept for task in loaded.tasks.values()}
    assert kept["trace_main"] and kept["trace_preprocessed"]
    columns = sum(layout.tables[table].main_width << log for table, log in enumerate(layout.log_heights))
    columns += sum(layout.tables[t].preprocessed_width << layout.log_heights[t] for t in layout.preprocessed_tables)
    assert loaded.total.kept - there.total.kept == 8 * columns
    assert there.peak_bytes(1) <= loaded.peak_bytes(1)


def test_a_proof_is_planned_once_for_each_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = On(CPU_BATCH, 1, False), On(CPU_BATCH, 2, False)
    shapes = [prepare(statement(height, 20, 4)) for height in (9, 10, 9)]
    peaks = [plan_whole(some.layout, some.traces, on, None).peak for some in shapes[:2] for on in (one, two)]
    planned = [make_plan(some.layout, main=some.traces).peak(threads) for some in shapes[:2] for threads in (1, 2)]
    assert peaks == planned and len(set(peaks)) == 2
    monkeypatch.setattr(holding, "make_plan", None)
    assert plan_whole(shapes[2].layout, shapes[2].traces, one, None).peak == peaks[0]
    with pytest.raises(TypeError):  # its traces are made, too
        plan_whole(shapes[2].layout, checked_traces(as_trace_tasks(statement(9, 20, 4))), one, None)
