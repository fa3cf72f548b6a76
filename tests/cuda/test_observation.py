"""What is seen of a proof by a GPU: its tasks one after another on one stream, and all that it has counted."""

import gc

import pytest

from graphprover import Statement, observed, prove
from graphprover.examples import keccak
from graphprover.prover.local import make
from graphprover.prover.prepare import prepare
from graphprover.telemetry.observation import Observation
from tests.graphs.test_proof_graph import FEW, example
from tests.random_statements import random_statement
from tests.trace_tasks import as_trace_tasks

pytestmark = pytest.mark.gpu

CLOSE = 1e-3  # seconds between the clocks of host and device


@pytest.fixture
def device():  # type: ignore[no-untyped-def]
    from graphprover.device import cuda

    return cuda.device(0)


def seen_of(statement: Statement, device) -> Observation:  # type: ignore[no-untyped-def]
    with observed() as seen:
        prove(statement, parameters=FEW, device=device)
    (one,) = seen
    return one


@pytest.mark.parametrize("made", [False, True], ids=["uploaded", "made"])
def test_tasks_follow_each_other_on_the_stream(made: bool, device) -> None:  # type: ignore[no-untyped-def]
    statement = as_trace_tasks(random_statement(7, tables=2)[1]) if made else example(keccak)
    prove(statement, parameters=FEW, device=device)
    device.usage.clear()
    seen = seen_of(statement, device)
    for task in seen.tasks:
        assert task.device_start <= task.device_end and task.start <= task.end
        assert task.device_start > task.start - CLOSE  # nothing is done before it is enqueued
        assert 0 <= task.waited <= task.end - task.start
    for before, after in zip(seen.tasks, seen.tasks[1:], strict=False):
        assert before.end <= after.start and before.device_end <= after.device_start + 1e-6
    assert sum(task.device_seconds for task in seen.tasks) <= seen.seconds("prove") + CLOSE
    assert seen.tasks[-1].device_end <= seen.end
    assert sum(task.launches for task in seen.tasks) == sum(usage.launches for usage in device.usage.values()) > 0
    assert sum(task.uploaded for task in seen.tasks) == sum(usage.uploaded for usage in device.usage.values())
    assert sum(task.downloaded for task in seen.tasks) == sum(usage.downloaded for usage in device.usage.values()) > 0
    assert seen.device == "cuda" and seen.machine.gpu and seen.machine.memory == device.memory.total
    assert any(name.startswith("cupy") for name in seen.versions)
    assert 0 <= seen.idle < seen.seconds("prove")


def test_memory_is_that_of_the_pool(device) -> None:  # type: ignore[no-untyped-def]
    statement = example(keccak)
    prove(statement, parameters=FEW, device=device)  # which leaves tables by size
    gc.collect()
    seen = seen_of(statement, device)
    assert seen.memory.before <= min(task.held for task in seen.tasks)
    assert max(task.held for task in seen.tasks) <= seen.memory.peak == device.memory.peak
    assert seen.memory.peak - seen.memory.before <= 1.1 * seen.memory.planned + (64 << 20)


def test_observing_does_not_double_the_time(device) -> None:  # type: ignore[no-untyped-def]
    """It costs the host an event and two readings of counts and memory a task: 40 µs on an idle host."""
    prepared = prepare(example(keccak), parameters=FEW)

    def seconds() -> float:
        return make(prepared, device=device).seconds["prove"]

    def watched() -> float:
        with observed():
            return seconds()

    seconds()
    tasks = len(seen_of(example(keccak), device).tasks)
    pairs = [(seconds(), watched()) for _ in range(20)]
    alone, seen = (min(column) for column in zip(*pairs, strict=True))
    print(f"alone {alone * 1e3:.2f} ms, seen {seen * 1e3:.2f} ms, {tasks} tasks")
    assert seen < 2 * alone


def test_ranges_of_nvtx(device) -> None:  # type: ignore[no-untyped-def]
    """They open and close; a profiler shows them."""
    with device.profiled("quotient"), device.profiled("0.table"), device.task():
        pass
