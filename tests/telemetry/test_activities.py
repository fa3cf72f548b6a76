"""The activities that a proof spends its time on."""

import pytest
from dask.callbacks import Callback
from dask.sizeof import sizeof

import graphprover
from graphprover.examples import memory, synthetic
from graphprover.graphs.task_keys import place_of
from graphprover.telemetry.activities import ACTIVITIES, activity, shares
from tests.graphs.test_proof_graph import FEW, example


def test_every_round_is_an_activity() -> None:
    tasks = dict(graphprover.graph(example(memory), parameters=FEW, device="cpu").dask)
    assert {activity(place_of(key).round) for key in tasks} <= set(ACTIVITIES.values())
    assert {key[0] for key in tasks} <= set(ACTIVITIES)


def test_shares_add_up_to_the_time_in_which_any_task_ran() -> None:
    found = shares([("a", 0.0, 4.0), ("b", 2.0, 3.0), ("a", 2.0, 4.0), ("c", 10.0, 11.0), ("c", 12.0, 12.0)])
    assert found == pytest.approx({"a": 2 + 2 / 3 + 1, "b": 1 / 3, "c": 1.0})
    assert shares([]) == {}


def test_what_tasks_leave_is_as_large_as_it_is() -> None:
    """Compare with Dask's sizes; 32 rows of 32 columns exceed the size of all other objects."""
    sizes: dict[str, int] = {}

    class Sizes(Callback):
        def _posttask(self, key, value, dsk, state, worker_id) -> None:  # type: ignore[no-untyped-def]
            sizes[place_of(key).round] = sizes.get(place_of(key).round, 0) + sizeof(value)

    statement = synthetic.statement(10, 32, 4)
    with Sizes():
        proof = graphprover.graph(statement, parameters=FEW, device="cpu").compute(scheduler="synchronous")
    trace = statement.tables[0].main
    assert trace is not None
    blowup = 1 << FEW.log_blowup
    leaves = blowup * trace.shape[1] * 32
    assert sizes["extend_main"] == pytest.approx(trace.nbytes * blowup, rel=0.02)
    assert sizes["tree"] == pytest.approx(3 * 2 * leaves, rel=0.02)  # of main, permutation and quotient
    assert sizes["query_envelope"] == pytest.approx(len(proof.to_bytes()), rel=0.1)
