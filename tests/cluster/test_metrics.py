"""A worker's metrics: one proof of a shape is timed now and then, and the others are estimated by it."""

import pytest
from distributed.metrics import context_meter

from graphprover.cluster import metrics
from graphprover.cluster.metrics import DOWNLOAD, UPLOAD, TimingSample, WorkerMetrics, measured_proof
from graphprover.examples import fibonacci, memory
from graphprover.graphs import observer
from graphprover.graphs.observer import TaskTime
from graphprover.prover.prepare import prepare
from graphprover.telemetry.activities import HOST, VERIFY
from tests.graphs.test_proof_graph import FEW, example

LAYOUT, OTHER = (prepare(example(statement), parameters=FEW).layout for statement in (memory, fibonacci))
TASKS = [TaskTime("tree", 1.0, 1.5, 10, 0), TaskTime("quotient", 1.5, 1.75, 0, 20), TaskTime("tree", 2.0, 2.25, 0, 1)]


def test_one_proof_stands_for_others_of_its_shape() -> None:
    own = WorkerMetrics()
    first, second, other = (TimingSample(own.samples) for _ in range(3))
    assert first.wanted(LAYOUT)
    seen = first.times(1.25, TASKS)
    assert seen.seconds == {"hashing": 0.75, "quotients": 0.25} and seen.moved == {UPLOAD: 10, DOWNLOAD: 21}
    assert not second.wanted(LAYOUT)
    guessed = second.times(2.5, [])
    assert guessed.seconds == {"hashing": 1.5, "quotients": 0.5} and guessed.moved == seen.moved
    assert other.wanted(OTHER)


def test_a_proof_is_timed_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    own = WorkerMetrics()
    sample = TimingSample(own.samples)
    sample.wanted(LAYOUT)
    sample.times(1.25, TASKS)
    monkeypatch.setattr(metrics, "SAMPLE_SECONDS", 0.0)
    again = TimingSample(own.samples)
    assert again.wanted(LAYOUT)
    again.times(1.0, TASKS[:1])
    assert own.samples[LAYOUT].seconds == {"hashing": 0.5}


def test_shards_are_always_timed() -> None:
    """Each has a shape of its own."""
    own = WorkerMetrics()
    assert TimingSample(own.samples).times(1.25, TASKS).seconds == {"hashing": 0.75, "quotients": 0.25}
    assert not own.samples


def test_few_shapes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST_SHAPES", 1)
    own = WorkerMetrics()
    for layout in (LAYOUT, OTHER):
        sample = TimingSample(own.samples)
        sample.wanted(layout)
        sample.times(1.25, TASKS)
    assert own.samples.keys() == {OTHER}


def test_a_proof_that_is_not_timed_has_no_observer_and_its_seconds_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(metrics, "METRICS", WorkerMetrics())
    monkeypatch.setattr(
        observer, "Observer", lambda device, real=observer.Observer: made.append(device) or real(device)
    )
    prepared = prepare(example(memory), parameters=FEW)
    for proofs in range(1, 4):
        reported: dict[str, float] = {}
        with context_meter.add_callback(lambda name, value, unit, reported=reported: reported.update({name: value})):
            result = measured_proof(prepared, "cpu")
        assert len(made) == 1 and metrics.METRICS.totals["proofs"] == proofs
        inside = sum(seconds for name, seconds in reported.items() if name not in (HOST, VERIFY, "waiting"))
        assert inside + reported[HOST] == pytest.approx(result.seconds["prove"]) and reported["hashing"] > 0
