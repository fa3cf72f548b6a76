"""Workers' results are checked before use: other statements or levels, other types, odd exceptions."""

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from graphprover import Prover, VerificationError, prove, prove_many
from graphprover.cluster import ClusterError
from graphprover.cluster.client import joined
from graphprover.cluster.tasks import BEGUN
from graphprover.examples import memory, synthetic
from graphprover.protocol.parameters import DEFAULT_HASH, HASH_NAMES
from tests.cluster import bad_workers, faults
from tests.cluster.processes import pids, soon
from tests.cluster.test_sharded import await_both
from tests.graphs.test_proof_graph import FEW, example
from tests.slow import slow_after

pytestmark = pytest.mark.usefixtures("patience")

GUEST = Path(__file__).parents[2] / "examples" / "guests" / "fib_iterative.elf"
INPUT, OTHER = struct.pack("<Q", 9), struct.pack("<Q", 10)


@pytest.fixture
def pair(pair: Client) -> Iterator[Client]:
    """Give two workers without faults, of which tests change one or both."""
    await_both(pair)
    pair.run(faults.restore)
    yield pair
    pair.run(faults.restore)


def spoil(client: Client, change: Callable[..., None], *arguments: Any, all_of_them: bool = True) -> None:
    """Make workers faulty."""
    chosen = sorted(pids(client)) if all_of_them else sorted(pids(client))[:1]
    client.run(change, *arguments, workers=chosen)


@pytest.mark.parametrize("kind", ["unreadable", "only there"])
def test_an_exception_that_cannot_be_unpickled_fails_the_proof(pair: Client, kind: str) -> None:
    spoil(pair, bad_workers.raises, kind)
    before = len(pair.get_events(BEGUN))
    with pytest.raises(ClusterError, match=r"worker tcp://\S+: .*cannot be unpickled here: .*a cause"):
        soon(pair, lambda: prove(example(memory), pair, parameters=FEW))
    assert len(pair.get_events(BEGUN)) - before == 2


def test_a_task_that_ends_without_a_word_is_submitted_a_few_times(pair: Client) -> None:
    spoil(pair, bad_workers.raises_bare)
    with pytest.raises(ClusterError, match=r"prove-statement: no worker has the task, \d+ times"):
        soon(pair, lambda: prove(example(memory), pair, parameters=FEW))


@pytest.mark.parametrize("value", slow_after(1, [None, "a text", 7]))
def test_a_worker_that_returns_no_proof_is_named(pair: Client, value: Any) -> None:
    spoil(pair, bad_workers.returns, value)
    with pytest.raises(VerificationError, match=rf"returned {type(value).__name__}, .*, by tcp://"):
        prove(example(memory), pair, parameters=FEW)


class Deaf(dict[str, Any]):
    """The attempts of a cluster, in which no event finds its attempt."""

    def get(self, key: str, default: Any = None) -> Any:
        """Return nothing."""
        return default


def test_a_worker_is_named_even_if_its_event_is_late(pair: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(pair, bad_workers.returns, None)
    with joined(pair) as cluster:
        monkeypatch.setattr(cluster, "_attempts", Deaf())
    with pytest.raises(VerificationError, match=r"returned NoneType, .*, by tcp://"):
        prove(example(memory), pair, parameters=FEW)


def test_a_proof_of_wrong_types_is_malformed(pair: Client) -> None:
    spoil(pair, bad_workers.without_parameters)
    with pytest.raises(VerificationError, match=r"returned a malformed proof: .*, by tcp://"):
        prove(example(memory), pair, parameters=FEW)


def test_another_worker_makes_the_proof(pair: Client) -> None:
    proof = prove(example(memory), "sync", parameters=FEW)
    spoil(pair, bad_workers.returns, None, all_of_them=False)
    assert all(prove(example(memory), pair, parameters=FEW) == proof for _ in range(4))


def test_a_proof_of_another_level_is_refused(pair: Client) -> None:
    """The client gets its own parameters, whether it gives a level or parameters."""
    statement = example(memory)
    spoil(pair, bad_workers.weak)
    with pytest.raises(VerificationError, match=r"other parameters than were asked for, by tcp://"):
        prove(statement, pair, security=40)
    with pytest.raises(VerificationError, match=r"other parameters than were asked for, by tcp://"):
        prove(statement, pair, parameters=FEW)


def test_a_proof_of_fewer_rows_is_refused(pair: Client) -> None:
    """It has the tables and public values of the statement; a verifier does not know the number of rows."""
    spoil(pair, bad_workers.proves, synthetic.statement(6, 40, 8))
    with pytest.raises(VerificationError, match=r"other log heights than were asked for, by tcp://"):
        prove(synthetic.statement(7, 40, 8), pair, parameters=FEW)


def test_shards_of_another_level_are_refused(pair: Client) -> None:
    spoil(pair, bad_workers.weak_shards)
    with pytest.raises(VerificationError, match="other parameters than were asked for"):
        prove(example(memory), pair, parameters=FEW, shards=2)


@pytest.mark.parametrize("cut", slow_after(1, [{}, {"shards": 2}]))
def test_a_proof_of_another_input_is_refused(pair: Client, cut: dict[str, int]) -> None:
    """It is a valid proof of the program, and does not state the input."""
    guest = Prover(GUEST, security=20, executor=pair, **cut)
    proof = guest.prove(INPUT)
    spoil(pair, bad_workers.on_input, OTHER)
    with pytest.raises(VerificationError, match="of another run than the program's on this input"):
        guest.prove(INPUT)
    assert proof == Prover(GUEST, security=20, executor="sync", **cut).prove(INPUT)


def test_a_proof_at_another_rate_is_refused(pair: Client) -> None:
    spoil(pair, bad_workers.at_rate, 2)
    Prover(GUEST, security=20, executor=pair).prove(INPUT)
    with pytest.raises(VerificationError, match="not at the rate 1/4, which was asked for, by tcp://"):
        Prover(GUEST, security=20, rate=4, executor=pair).prove(INPUT)


OTHER_HASH = next(name for name in HASH_NAMES if name != DEFAULT_HASH)
BATCH: dict[str, tuple[Callable[..., None], tuple[Any, ...], str]] = {
    "nothing": (bad_workers.returns, (None,), "returned NoneType, not Made"),
    "another input": (bad_workers.on_input, (OTHER,), "of another run than the program's on this input"),
    "another rate": (bad_workers.at_rate, (2,), "not at the rate 1/4"),
    "another hash": (bad_workers.by_hash, (OTHER_HASH,), f"by {OTHER_HASH}, not by {DEFAULT_HASH}"),
    "another level": (bad_workers.at_level, (5,), "60 were asked for"),
    "wrong types": (bad_workers.without_parameters, (), "returned a malformed proof"),
    "another payload": (bad_workers.flips_a_bit, (), "not the one that the worker has verified"),
}


@pytest.mark.parametrize("wrong", slow_after(2, BATCH))
def test_a_batch_refuses_the_same(pair: Client, wrong: str) -> None:
    change, arguments, message = BATCH[wrong]
    guest = Prover(GUEST, security=60, rate=4)
    jobs = [guest.job(INPUT, f"job {number}") for number in range(6)]
    spoil(pair, change, *arguments)
    results = list(prove_many(jobs, pair, "cpu"))
    assert {result.job for result in results} == set(jobs)
    for result in results:
        assert isinstance(result.error, VerificationError) and result.proof is None
        assert message in str(result.error) and str(result.error).endswith(f", by {result.worker}")


def test_a_batch_is_made_by_the_other_worker(pair: Client) -> None:
    guest = Prover(GUEST, security=20)
    expected = guest.prove(INPUT)
    spoil(pair, bad_workers.on_input, OTHER, all_of_them=False)
    results = list(prove_many([guest.job(INPUT, f"job {number}") for number in range(12)], pair, "cpu"))
    assert len(results) == 12 and all(result.proof == expected for result in results)
