"""One thread runs Dask's graphs as Dask does, and drops each value after its last use."""

import random
from typing import Any

import pytest
from dask._task_spec import Task, TaskRef
from dask.delayed import Delayed
from dask.diagnostics import Profiler
from dask.order import order

from graphprover.examples import memory
from graphprover.graphs import one_thread
from graphprover.proving.prove import prove
from tests.graphs.test_proof_graph import FEW, example


class Value:
    """A number; the class counts its instances that are alive."""

    alive = 0

    def __init__(self, number: int) -> None:
        self.number = number
        Value.alive += 1

    def __del__(self) -> None:
        Value.alive -= 1


def random_graph(seed: int, token: str, most: list[int]) -> tuple[dict[Any, Task], list[set[int]]]:
    """Return tasks that sum their inputs, and each task's inputs; ``most`` gets the number of live values per task."""
    rng, tasks, needs = random.Random(seed), dict[Any, Task](), list[set[int]]()
    keys = [("group", "round", f"name{i}", token) for i in range(rng.randint(1, 40))]

    def total(*values: Value) -> Value:
        most.append(Value.alive)
        return Value(1 + sum(value.number for value in values))

    for i, key in enumerate(keys):
        needs.append(set(rng.sample(range(i), min(i, rng.randint(0, 3)))))
        if i == len(keys) - 1:
            needs[-1] |= set(range(i)) - set().union(*needs)
        tasks[key] = Task(key, total, *(TaskRef(keys[j]) for j in needs[-1]))
    return tasks, needs


@pytest.mark.parametrize("seed", range(50))
def test_values_are_dasks_and_are_dropped_after_their_last_use(seed: int) -> None:
    sequence: list[int] = []
    for token in ("a", "b"):  # the second by the order that was kept of the first
        most: list[int] = []
        tasks, needs = random_graph(seed, token, most)
        result, keys = list(tasks)[-1], list(tasks)
        told: list[tuple[int, int, str]] = []
        value = one_thread.run(Delayed(result, tasks), lambda *what, told=told: told.append(what))
        numbers: list[int] = []
        for needed in needs:
            numbers.append(1 + sum(numbers[j] for j in needed))
        assert value.number == numbers[-1]

        if not sequence:
            positions = order(tasks)
            sequence = [keys.index(key) for key in sorted(tasks, key=positions.__getitem__)]
        assert [words for *_, words in told] == [*(f"round of name{i}" for i in sequence), ""]
        assert [ended for ended, _, _ in told] == list(range(len(keys) + 1))
        done = [set(sequence[:count]) for count in range(len(keys))]
        needed_later = [set().union(*(needs[i] for i in sequence[count:])) for count in range(len(keys))]
        assert most == [len(before & later) for before, later in zip(done, needed_later, strict=True)]
        del value
        assert Value.alive == 0


def test_proofs_of_one_shape_share_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    statement = example(memory)
    proof = prove(statement, "sync", parameters=FEW, device="cpu")

    def refuse(tasks: Any) -> Any:
        raise AssertionError("the order is there already")

    monkeypatch.setattr(one_thread, "order", refuse)
    assert prove(statement, "sync", parameters=FEW, device="cpu") == proof


def test_a_profiler_of_dask_sees_the_tasks() -> None:
    statement = example(memory)
    with Profiler() as profiler:
        prove(statement, "sync", parameters=FEW, device="cpu")
    assert {"extend_main", "quotient", "query_proof"} <= {task.key[1] for task in profiler.results}
