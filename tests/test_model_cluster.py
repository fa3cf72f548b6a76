"""scripts/model_cluster.py: the model on clusters with a known answer, and against a simulation with two workers."""

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from math import inf
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"
CYCLES = 1e9
NO_CLIENT: dict[str, Any] = {
    **dict.fromkeys(("run_rate", "verify_byte", "verify_layer", "decode_byte", "client_task", "turn"), 0.0),
    **dict.fromkeys(("receive", "send", "kept_cycles"), inf),
}


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, ModuleType]]:
    """Return the modules of the script, which import each other by name."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(SCRIPTS)
        yield {name: import_module(name) for name in ("cluster_model", "simulated_cluster")}


@pytest.fixture(scope="module")
def model(modules: dict[str, ModuleType]) -> ModuleType:
    return modules["cluster_model"]


def test_one_worker_takes_the_sum_of_the_parts(model: ModuleType) -> None:
    parts = replace(model.Parts(), **NO_CLIENT | {"run_rate": 1.0})
    each = [parts.record, parts.lay_out, parts.commit]
    shard = sum(part(CYCLES / 4) for part in each) + parts.finish(CYCLES / 4, kept=True)
    schedule = model.proof(parts, CYCLES, 1, 4, compress=False)
    assert schedule.seconds == pytest.approx(1.0 + 4 * shard + 3 * parts.behind(CYCLES))
    lost = model.proof(replace(parts, kept_cycles=250e6), CYCLES, 1, 4, compress=False)
    assert lost.seconds - schedule.seconds == pytest.approx(3 * parts.recompute_rate * 0.25)


@pytest.mark.parametrize("workers", [2, 4, 16, 64])
def test_without_a_client_the_speed_up_is_the_number_of_workers(model: ModuleType, workers: int) -> None:
    parts = replace(model.Parts(), **NO_CLIENT)
    one, many = (model.proof(parts, CYCLES, number, workers, compress=False).seconds for number in (1, workers))
    assert one / many == pytest.approx(workers)


@pytest.mark.parametrize("compress", [False, True])
def test_more_workers_are_never_slower(model: ModuleType, compress: bool) -> None:
    times = [model.best(model.Parts(), 2 * CYCLES, workers, compress)[1].seconds for workers in (1, 2, 3, 4, 8, 16, 64)]
    assert times == sorted(times, reverse=True)


def test_the_critical_path_takes_the_time_of_the_proof(model: ModuleType) -> None:
    for workers, shards in ((1, 1), (1, 8), (4, 8), (16, 16)):
        schedule = model.proof(model.Parts(), CYCLES, workers, shards)
        assert sum(schedule.critical().values()) == pytest.approx(schedule.seconds)
        for name in {step.on for step in schedule.steps}:  # no resource has two tasks at a time
            own = [step for step in schedule.steps if step.on == name]
            assert all(step.start >= before.end for before, step in pairwise(own))


def test_more_processes_verify_sooner(model: ModuleType) -> None:
    times = [
        model.proof(replace(model.Parts(), **change), CYCLES, 16, 16, compress=False).seconds
        for change in ({"alone": True}, {"cores": 4}, {"cores": 16})
    ]
    assert times == sorted(times, reverse=True) and times[0] > times[-1] + 0.2


def test_four_shards_have_six_layers(model: ModuleType) -> None:
    steps = model.proof(model.Parts(), CYCLES, 4, 4).steps
    assert [sum(step.name == name for step in steps) for name in ("layers", "last layer")] == [5, 1]


def test_the_model_has_the_time_of_a_simulation(modules: dict[str, ModuleType]) -> None:
    parts = modules["cluster_model"].Parts()
    expected = modules["cluster_model"].proof(parts, CYCLES / 4, 2, 2)
    simulated = modules["simulated_cluster"].simulate(parts, CYCLES / 4, 2, 2, turns=2)
    assert 0.97 < simulated.seconds / expected.seconds < 1.5
    assert sum(simulated.stages.values()) == pytest.approx(simulated.seconds)
    assert list(simulated.stages) == [
        *("run", "record", "lay_out", "commit", "finish", "layer 1", "layer 2", "layer 3", "verify")
    ]
