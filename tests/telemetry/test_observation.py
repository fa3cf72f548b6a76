"""An observation of a proof has all of its tasks once, its whole time, and the planned figures."""

import json
from collections import Counter
from pathlib import Path

import dask
import pytest

from graphprover import Statement, observed, prove
from graphprover.cli.json_output import times
from graphprover.device import CpuDevice
from graphprover.device.interface import CPU_BATCH
from graphprover.examples import memory, synthetic
from graphprover.graphs.batches import batches
from graphprover.graphs.planner.plan import On, Plan, make_plan, make_plans_of_shard
from graphprover.graphs.planner.shard_memory import plan_keeping
from graphprover.graphs.proof_graph import Keep
from graphprover.prover.local import make
from graphprover.prover.prepare import prepare
from graphprover.prover.sharded import prove_shards
from graphprover.runtime.settings import NVTX
from graphprover.statement.shards import shards_of
from graphprover.telemetry.chrome_trace import DEVICE, SHARDS, chrome_trace
from graphprover.telemetry.model import Stage
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.rounds import DEVICE as BY_DEVICE
from graphprover.telemetry.rounds import HOST, covered
from graphprover.telemetry.subscribe import clock, observing
from tests.call_counts import count_calls
from tests.graphs.test_proof_graph import FEW, example
from tests.late_device import LATE, LateDevice
from tests.preparing import prepare_shards
from tests.random_statements import random_statement
from tests.reports.observations import compressed, in_shards, on_a_free_host, on_cpu
from tests.trace_tasks import as_trace_tasks


@pytest.fixture(scope="module")
def statement() -> Statement:
    """Return two tables with preprocessed columns, lookups and trace tasks."""
    return as_trace_tasks(random_statement(7, tables=2)[1])


def seen_of(statement: Statement, device: CpuDevice, executor: str = "sync") -> Observation:
    with observed() as seen:
        prove(statement, executor, parameters=FEW, device=device)
    (one,) = seen
    return one


def plan_of(statement: Statement, device: CpuDevice) -> Plan:
    prepared = prepare(statement, parameters=FEW)
    return make_plan(prepared.layout, device.log_batch_rows, prepared.traces)


@pytest.mark.parametrize("executor", ["sync", "threads"])
def test_tasks_are_those_of_the_plan(statement: Statement, executor: str) -> None:
    device = CpuDevice(2)
    seen, plan = seen_of(statement, device, executor), plan_of(statement, device)
    assert sorted(f"{task.round} of {task.name}" for task in seen.tasks) == sorted(plan.tasks)
    for task in seen.tasks:
        cost = plan.tasks[f"{task.round} of {task.name}"].cost
        planned = task.planned
        counts = planned.multiplications, planned.butterflies, planned.hash_calls, planned.moved
        assert counts == (cost.multiplications, cost.butterflies, cost.hash_calls, cost.moved)
        assert (planned.seconds > 0) == bool(planned.bound) == any(counts)
    assert Counter(task.round for task in seen.tasks) == {one.round: one.tasks for one in seen.rounds}
    assert {task.thread for task in seen.tasks} <= {0, 1}
    assert (seen.executor, seen.device, seen.machine.threads, seen.machine.gpu) == (executor, "cpu", 2, None)


def test_times_add_up() -> None:
    seen = seen_of(example(memory), CpuDevice(1))
    preparing, proving = seen.stages
    assert (preparing.name, preparing.start, proving.name) == ("prepare", 0, "prove")
    assert 0 < preparing.end <= proving.start
    for task in seen.tasks:
        assert proving.start <= task.start <= task.end <= proving.end
        assert task.start == task.device_start < task.device_end <= task.end
        assert 0 <= task.waited <= task.end - task.start + 1e-5
    within = sum(task.end - task.start for task in seen.tasks)
    assert seen.seconds("prove") == pytest.approx(within + seen.idle, abs=1e-3)  # one task at a time
    assert sum(one.seconds for one in seen.rounds) == pytest.approx(within, abs=1e-3)
    assert seen.end == proving.end


def test_tables_share_the_time_of_their_task_as_planned(statement: Statement) -> None:
    device = CpuDevice(1)
    seen = seen_of(statement, device)
    layout = prepare(statement, parameters=FEW).layout
    (batch,) = batches(layout, device.log_batch_rows)
    assert [table.name for table in seen.tables] == batch.name.split(", ")
    for one in seen.rounds:
        times = [found for found in seen.table_times if found.round == one.round]
        if one.round in ("extend_main", "lookup", "quotient", "opening", "deep"):
            assert {found.table for found in times} == {0, 1} and all(found.modelled for found in times)
            assert sum(found.seconds for found in times) == pytest.approx(one.seconds)
            assert times == sorted(times, key=lambda found: -found.seconds)
    for task in seen.tasks:
        assert not task.tables or sum(part.share for part in task.tables) == pytest.approx(1)


def test_what_is_planned_to_be_held_is_what_the_plan_keeps(statement: Statement) -> None:
    """Run tasks in the plan's own order, in which its peak is the cached values of tasks and their scratch."""
    device = CpuDevice(1)
    seen, plan = seen_of(statement, device), plan_of(statement, device)
    scratch = {key: task.cost.scratch for key, task in plan.tasks.items()}
    planned = {f"{task.round} of {task.name}": task.planned.held for task in seen.tasks}
    assert max(planned[key] + scratch[key] for key in planned) == plan.peak_bytes(1) == seen.memory.planned
    assert all(task.held > 1 << 20 for task in seen.tasks)
    assert seen.memory.peak >= max(task.held for task in seen.tasks) >= seen.memory.before > 1 << 20


def test_a_device_that_is_late() -> None:
    """Convert the device's own clock; a count between two readings belongs to the task."""
    seen = seen_of(example(memory), LateDevice())
    assert all((task.launches, task.uploaded, task.downloaded) == (3, 8, 1) for task in seen.tasks)
    for task in seen.tasks:
        assert task.device_start == pytest.approx(task.start + LATE, abs=1e-3)
    assert seen.machine.gpu == "a double" and seen.end == max(task.device_end for task in seen.tasks)
    assert sum(one.launches for one in seen.rounds) == 3 * len(seen.tasks)
    assert {one.limited_by for one in on_a_free_host(seen).rounds} == {HOST}  # which never waits for it
    alone = on_a_free_host(seen_of(example(memory), CpuDevice(1)))
    assert BY_DEVICE in {one.limited_by for one in alone.rounds}


def test_nothing_is_seen_unasked() -> None:
    device = LateDevice()
    prove(example(memory), "sync", parameters=FEW, device=device)
    assert device.readings == 0 and not device.ranges and not observing()
    assert make(prepare(example(memory), parameters=FEW), "sync", device).observation is None


def test_a_proof_that_fails_is_not_seen() -> None:
    with observed() as seen:
        with pytest.raises(ValueError, match="rate"):
            prove(example(memory), rate=3)
        prove(example(memory), "sync", parameters=FEW, device="cpu")
        prove(example(memory), "sync", parameters=FEW, device="cpu")
    assert [[stage.name for stage in one.stages] for one in seen] == [["prepare", "prove"]] * 2


def test_ranges_for_profilers_are_by_round_and_table(statement: Statement) -> None:
    device = LateDevice()
    with dask.config.set({NVTX: True}):
        prove(statement, "sync", parameters=FEW, device=device)
    inner = [found for found in device.ranges if len(found) == 2]
    assert sorted(map(" of ".join, inner)) == sorted(plan_of(statement, device).tasks)
    assert [found[:1] for found in inner] == [found for found in device.ranges if len(found) == 1]


def test_json_and_its_file(tmp_path: Path) -> None:
    statement = example(memory)
    seen = seen_of(statement, CpuDevice(1))
    seen.save(tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    assert found == json.loads(json.dumps(seen.to_json())) and found["format"] == 1
    proof = prove(statement, "sync", parameters=FEW, device="cpu")
    assert sum(found["sizes"].values()) == len(proof.to_bytes())
    assert found["parameters"]["num_queries"] == FEW.num_queries and found["security"]["bits"] < 128
    assert found["versions"].keys() >= {"graphprover", "python", "dask", "numpy"} and "cupy" not in found["versions"]
    brief = seen.brief()
    assert not brief.tasks and (brief.rounds, brief.idle) == (seen.rounds, seen.idle)
    assert len(json.dumps(brief.summary())) < 10_000 and brief.summary() == seen.summary()
    documented = (Path(__file__).parents[2] / "docs/cli_json.md").read_text()
    for name in [
        *found,
        *found["tasks"][0],
        *found["rounds"][0],
        *found["tasks"][0]["planned"],
        *found["memory"],
        *found["processor"],
    ]:
        assert f"`{name}`" in documented or f"memory.{name}" in documented, name


def test_shards_are_seen_one_by_one_and_all_together() -> None:
    seen = in_shards()
    assert [shard.tables for shard in seen.shards] == [2, 2, 2] and [table.shard for table in seen.tables] == [
        0, 0, 1, 1, 2, 2,
    ]  # fmt: skip
    assert {task.shard for task in seen.tasks} == {0, 1, 2}
    for task in seen.tasks:
        assert all(seen.tables[part.table].shard == task.shard for part in task.tables)
    begun = sorted(
        (stage.start, index, stage.name) for index, shard in enumerate(seen.shards) for stage in shard.stages
    )
    commits, others = [(0, "commit"), (1, "commit"), (2, "commit")], [("prove"), ("verify")]
    assert [one[1:] for one in begun] == commits + [(index, name) for index in (2, 1, 0) for name in others]
    for task in seen.tasks:
        parts = [stage for stage in seen.shards[task.shard or 0].stages if stage.name != "verify"]
        assert any(part.start <= task.start <= task.end <= part.end for part in parts), task
    (proving,) = [stage for stage in seen.stages if stage.name == "prove"]
    ran = sum(task.end - task.start for task in seen.tasks)
    verified = sum(shard.seconds("verify") for shard in seen.shards)
    assert proving.seconds == pytest.approx(ran + verified + seen.idle, abs=2e-3)


def test_rounds_of_shards_add_up() -> None:
    seen = in_shards()
    of_shards = seen.rounds_of_shards
    for one in seen.rounds:
        parts = [part for rounds in of_shards for part in rounds if part.round == one.round]
        assert len(parts) == 3 and sum(part.tasks for part in parts) == one.tasks
        assert sum(part.seconds for part in parts) == pytest.approx(one.seconds)
        assert sum(part.floor for part in parts) == pytest.approx(one.floor)
    found = json.loads(json.dumps(seen.to_json()))
    sizes = Counter[str]()
    for shard in found["shards"]:
        sizes += Counter(shard["sizes"])
    rest = found["sizes"].pop("header, public values, nonces, lengths")
    assert rest > sizes.pop("header, public values, nonces, lengths") and sizes == found["sizes"]
    brief = seen.brief()
    assert brief.rounds_of_shards == of_shards and brief.summary() == seen.summary()
    documented = (Path(__file__).parents[2] / "docs/cli_json.md").read_text()
    assert not [name for name in found["shards"][0] if f"`{name}`" not in documented]


@pytest.mark.parametrize("keep", list(Keep))
def test_what_is_planned_to_be_held_of_shards(keep: Keep) -> None:
    """Plan the peak of tasks in sequence: their cached and waiting values, and their scratch."""
    statement = as_trace_tasks(
        Statement([synthetic.table(6, 20, 5), synthetic.table(8, 30, 5), synthetic.table(6, 20, 5)])
    )
    prepared = prepare_shards(shards_of(statement, [[0], [1], [2]]), parameters=FEW)
    plan = plan_keeping(prepared.shapes, On(CPU_BATCH, 1, False), keep)
    with observed():
        made = prove_shards(prepared, CpuDevice(1), "sync", plan)
    assert made.observation
    seen = made.observation
    most = [0, 0, 0]
    for index, (layout, main) in enumerate(prepared.shapes):
        first, last = make_plans_of_shard(layout, keep, CPU_BATCH, main)
        scratch = {key: task.cost.scratch for of_graph in (first, last) for key, task in of_graph.tasks.items()}
        held = [(f"{task.round} of {task.name}", task.planned.held) for task in seen.tasks if task.shard == index]
        most[index] = max(bytes_ + scratch[key] for key, bytes_ in held)
    assert most == plan.peaks == [shard.planned for shard in seen.shards]
    assert seen.memory.planned == max(most) and {shard.keep for shard in seen.shards} == {keep.name.lower()}


def test_stages_of_two_processes_have_one_clock() -> None:
    seen = seen_of(example(memory), CpuDevice(1))
    first, last = seen.tasks[0].start + seen.began, seen.tasks[-1].end + seen.began
    more = [Stage("imports", seen.began - 2, seen.began - 1), Stage("verify", clock(), clock() + 1)]
    merged = seen.of_worker("tcp://a:1").with_stages(more)
    assert [stage.name for stage in merged.stages] == ["imports", "prepare", "prove", "verify"]
    assert [stage.by_worker for stage in merged.stages] == [False, True, True, False]
    assert merged.began == seen.began - 2 and merged.stages[0].start == 0 and merged.worker == "tcp://a:1"
    assert merged.tasks[0].start + merged.began == pytest.approx(first, abs=1e-5)
    assert merged.tasks[-1].end + merged.began == pytest.approx(last, abs=1e-5)
    assert merged.seconds("prove") == pytest.approx(seen.seconds("prove"))


def test_covered_is_the_length_of_a_union() -> None:
    assert covered([(5, 6), (0, 2), (1, 3), (1.5, 2)]) == 4 and covered([]) == 0


def test_a_trace_is_what_browsers_open() -> None:
    """Write complete events, each in a row that has a name and within the time of the proofs."""
    seen = [seen_of(example(memory), LateDevice()), seen_of(example(memory), CpuDevice(2), "threads")]
    found = json.loads(json.dumps(chrome_trace(seen)))
    assert found["displayTimeUnit"] == "ms"
    events = found["traceEvents"]
    end = max(one.began + one.end for one in seen) - seen[0].began
    named = {(event["pid"], event["tid"]) for event in events if event["name"] in ("thread_name", "process_name")}
    for event in events:
        assert event["ph"] in "MXC" and {"name", "pid", "tid", "args"} <= event.keys()
        if event["ph"] != "M":
            assert (event["pid"], event["tid"]) in named
            assert 0 <= event["ts"] <= event["ts"] + event.get("dur", 0) <= end * 1e6 + 1
    spans = [event for event in events if event["ph"] == "X"]
    assert all(event["dur"] >= 0 for event in spans)
    tasks = Counter(event["pid"] for event in spans if event["cat"] == "host")
    assert tasks == {number: len(one.tasks) for number, one in enumerate(seen)}
    stream = [event for event in spans if event["tid"] == DEVICE]
    assert len(stream) == len(seen[0].tasks) and {event["pid"] for event in stream} == {0}
    quotient = next(event for event in stream if event["name"].startswith("quotient of "))
    assert quotient["args"]["launches"] == 3 and quotient["args"]["tables"] == "0.reads, 1.memory"


def test_layers_go_with_their_base() -> None:
    seen = compressed().named("job").of_worker("tcp://a:1")
    (layer,) = seen.layers
    assert [one.name for one in seen.proofs] == ["job", "job: layer 1"] and layer.layer == 1
    assert layer.worker == "tcp://a:1" and all(stage.by_worker for stage in layer.stages)
    assert [one.tasks for one in seen.brief().proofs] == [(), ()] and seen.brief().layers[0].rounds == layer.rounds
    assert seen.to_json()["layers"] == [layer.to_json()] and seen.summary()["layers"] == [layer.summary()]
    assert layer.summary()["layer"] == 1 and not {"layer", "layers"} & on_cpu().summary().keys()
    trace = chrome_trace([seen])["traceEvents"]
    assert {one["args"]["name"] for one in trace if one["name"] == "process_name"} == {
        "job by tcp://a:1",
        "job: layer 1 by tcp://a:1",
    }
    found = times(seen, seen)
    for name in ("quotient", "layer 1: quotient"):
        (row,) = (row for row in found["rounds"] if row["round"] == name)
        assert row["tasks"] == 2 * sum(task.round == "quotient" for task in on_cpu().tasks)
    assert found["stages"].keys() == {f"worker: {of}{one.name}" for of in ("", "layer 1: ") for one in on_cpu().stages}


def test_shards_have_a_row_of_a_trace() -> None:
    seen = in_shards().with_stages([Stage("imports", in_shards().began - 1, in_shards().began)])
    events = json.loads(json.dumps(chrome_trace([seen])))["traceEvents"]
    row = [event for event in events if event["ph"] == "X" and event["tid"] == SHARDS]
    assert len(row) == 9 and {event["args"]["shard"] for event in row} == {0, 1, 2}
    tasks = [event for event in events if event.get("cat") == "host"]
    for event in tasks:
        parts = [part for part in row if part["args"]["shard"] == event["args"]["shard"]]
        assert any(part["ts"] - 1 <= event["ts"] <= part["ts"] + part["dur"] for part in parts)
    whole = seen_of(example(memory), CpuDevice(1))
    assert '"shard' not in json.dumps([chrome_trace([whole]), whole.to_json()])


def test_seeing_costs_little() -> None:
    """Make at most as many calls as the proof itself, whose tasks take 0.1 ms here.

    docs/performance.md has the seconds of a real proof.
    """
    statement = example(memory)
    prepared = prepare(statement, parameters=FEW)
    device = CpuDevice(1)
    make(prepared, "sync", device)

    def seen() -> None:
        with observed():
            make(prepared, "sync", device)

    seen()  # imports
    alone, watched = count_calls(lambda: make(prepared, "sync", device)), count_calls(seen)
    print(f"alone {alone:,} calls, seen {watched:,}")
    assert watched < 2 * alone
