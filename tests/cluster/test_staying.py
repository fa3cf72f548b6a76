"""Shards that stay on their workers for the layers about them: the same bytes, of which the client gets no payload."""

import os
import pickle
import signal
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from distributed import Client

from graphprover import CompressedProof, Prover, ShardedProof, observed
from graphprover.cluster import layers, metrics
from graphprover.cluster.dispatcher import Dispatcher
from graphprover.cluster.tasks import BEGUN, Attempt
from graphprover.device import CpuDevice
from graphprover.prover import layer_tree
from graphprover.proving.executor import OnCluster
from graphprover.recursion.expected import work_about
from graphprover.reports.proof_page import proof_page
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.tree import critical_path
from graphprover.verifier.headers import layouts_of_proof
from tests.cluster import bad_workers, faults
from tests.cluster.processes import ROOT, pids
from tests.cluster.test_sharded import await_both, await_release
from tests.conftest import LAYERS_AT
from tests.slow import slow_after

pytestmark = pytest.mark.usefixtures("patience")

GUEST, INPUT = ROOT / "examples/guests/fib_iterative.elf", struct.pack("<Q", 30)
LEVEL: dict[str, Any] = {"security": 20.0, "pow_bits": 4, "rate": 8}
FALLBACK, LOST = "the client verifies all shards", "shards are lost with their worker"


def largest_work(proof: ShardedProof, prover: Prover) -> float:
    """Return the compressions of a layer about the shard that takes the most."""
    layouts = layouts_of_proof(proof, prover.program.statement_of(proof))
    return max(work_about(layout).compressions for layout in layouts)


@cache
def sharded(shards: int) -> ShardedProof:
    """Return the proof by this process, before it is compressed."""
    made = Prover(GUEST, shards=shards, device=CpuDevice(1), executor="sync", **LEVEL).prove(INPUT)
    assert isinstance(made, ShardedProof)
    return made


class Shape(NamedTuple):
    """The shape of a compressed proof of shards."""

    shards: int
    each: int  # how many of them a layer of the first level is about


@cache
def seen_alone(shape: Shape) -> tuple[CompressedProof, Observation]:
    """Return the compressed proof by this process and its observation, if `shape` has set the shards a layer."""
    prover = Prover(GUEST, shards=shape.shards, compress=LAYERS_AT, device=CpuDevice(1), executor="sync", **LEVEL)
    with observed() as seen:
        made = prover.prove(INPUT)
    assert isinstance(made, CompressedProof) and len(seen) == 1
    return made, seen[0]


def alone(shape: Shape) -> CompressedProof:
    return seen_alone(shape)[0]


@pytest.fixture
def shape(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Shape:
    """Return the shape of the test; by default one layer is about two shards."""
    found: Shape = getattr(request, "param", Shape(2, 2))
    most = found.each * largest_work(sharded(found.shards), Prover(GUEST, shards=found.shards, **LEVEL))
    monkeypatch.setattr(layer_tree, "most_compressions", lambda *given: most)
    assert len(alone(found).layers) == (1 if found.shards == found.each else 3)
    return found


@pytest.fixture(autouse=True)
def workers_as_before(pair: Client) -> Iterator[None]:
    """Undo all faults of workers, and wait for the ones that died."""
    await_both(pair)
    pair.run(faults.restore)  # which also imports the module, before any fault
    yield
    await_both(pair)
    pair.run(faults.restore)
    await_release(pair)


@pytest.fixture
def came(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Return the pickled values that the client gets, and its messages (``to``), by task."""
    found: dict[str, bytes] = {}
    fetch, submission = Dispatcher._fetch_or_lose, Dispatcher._submission

    async def fetched(self: Dispatcher, attempt: Attempt, part: bool) -> Any:
        value = await fetch(self, attempt, part)
        found[str(attempt.future.key)] = pickle.dumps(value.value)
        return value

    def submitted(self: Dispatcher, opened: Any, allowed: Any, payload: bytes, held: Any) -> Any:
        found[f"to {opened.task.name}"] = payload
        return submission(self, opened, allowed, payload, held)

    monkeypatch.setattr(Dispatcher, "_fetch_or_lose", fetched)
    monkeypatch.setattr(Dispatcher, "_submission", submitted)
    return found


def shards_in(data: bytes, shards: int) -> list[int]:
    """Return the shards whose payloads are in some bytes."""
    return [index for index, proof in enumerate(sharded(shards).proofs) if proof.payload[-500:] in data]


def made_by(pair: Client, shape: Shape) -> CompressedProof:
    """Return the compressed proof by the workers."""
    made = Prover(GUEST, shards=shape.shards, compress=LAYERS_AT, executor=pair, device="cpu", **LEVEL).prove(INPUT)
    assert isinstance(made, CompressedProof)
    return made


def starts(pair: Client, task: str) -> int:
    """Return how many times workers have started tasks whose names have this text."""
    return sum(task in event["key"] for _, event in pair.get_events(BEGUN))


@pytest.mark.parametrize(
    "shape",
    [pytest.param(Shape(2, 1), id="one shard a layer"), pytest.param(Shape(4, 2), id="two", marks=pytest.mark.slow)],
    indirect=True,
)
def test_the_client_gets_no_shard(
    pair: Client, shape: Shape, came: dict[str, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    before = starts(pair, "finish")
    prover = Prover(GUEST, shards=shape.shards, compress=LAYERS_AT, executor=pair, device="cpu", **LEVEL)
    with observed() as seen:
        made, verdict = OnCluster(pair, "cpu").prove(prover.job(INPUT))
    assert made.proof == alone(shape) and made.base_bytes == sharded(shape.shards).size
    assert min(made.seconds["prove"], made.seconds["compress"]) > 0
    assert verdict and verdict.claim == prover.verify(sharded(shape.shards)).claim
    assert sum("finish" in task for task in came) == 2 * shape.shards and sum("layer 1" in task for task in came) == 4
    assert not [task for task, data in came.items() if shards_in(data, shape.shards)]
    assert starts(pair, "finish") - before == shape.shards and FALLBACK not in caplog.text
    (found,) = seen
    assert len(found.shards) == shape.shards and sum(found.sizes.values()) == sharded(shape.shards).size
    assert not [stage for shard in found.shards for stage in shard.stages if stage.name == "verify"]
    assert all(shard.workers[-1].startswith("tcp://") for shard in found.shards)
    proof, seen_here = seen_alone(shape)
    check_tree(found, proof)
    check_tree(seen_here, proof)
    assert all(part.worker.startswith("tcp://") for part in found.tree)


def check_tree(found: Observation, proof: CompressedProof) -> None:
    """Check the observation of shards and the layers about them."""
    tree, path, shards = found.tree, critical_path(found.tree), [f"shard {index}" for index in range(len(found.shards))]
    assert [part.name for part in tree[: len(shards)]] == shards
    assert len(tree) == len(shards) + len(found.layers) == len(shards) + len(proof.layers)
    assert len({part.name for part in tree}) == len(tree)
    assert sorted(of for part in tree for of in part.parts) == list(range(len(tree) - 1))  # a tree
    for part in tree:
        assert part.seconds > 0
        for of in part.parts:  # a worker of the same host has the same clock
            assert tree[of].end <= part.start + 0.5
    assert tree[path[-1]] == tree[-1] and tree[path[0]] in tree[: len(shards)]
    assert "Critical path: shard" in proof_page(found)


@pytest.mark.parametrize("shape", [Shape(4, 2)], indirect=True)
@pytest.mark.slow
def test_a_worker_dies_before_the_layers(
    pair: Client, shape: Shape, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before, memory = starts(pair, "finish"), layers.layer_memory

    def killed(*arguments: Any) -> int:
        found = memory(*arguments)
        os.kill(min(pids(pair).values()), signal.SIGKILL)
        return found

    monkeypatch.setattr(layers, "layer_memory", killed)
    assert made_by(pair, shape) == alone(shape)
    assert LOST in caplog.text and FALLBACK not in caplog.text
    # Two shards are lost. Each is asked for with the other one of its layer.
    assert starts(pair, "finish") - before in (shape.shards + 2, shape.shards + 4)


def test_a_worker_dies_in_a_layer(pair: Client, shape: Shape, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pair.run(faults.dies_in, metrics, "made", tmp_path / "dies")
    assert made_by(pair, shape) == alone(shape)
    assert (tmp_path / "dies").exists() and LOST in caplog.text and FALLBACK not in caplog.text


@pytest.mark.parametrize("shape", [Shape(2, 1)], indirect=True)
@pytest.mark.slow
def test_a_wrong_layer_is_repeated_elsewhere(
    pair: Client, shape: Shape, caplog: pytest.LogCaptureFixture, came: dict[str, bytes]
) -> None:
    wrong = sorted(pids(pair))[0]
    pair.run(bad_workers.flips_a_bit, workers=[wrong])
    assert made_by(pair, shape) == alone(shape)
    assert f", by {wrong}; it is retried" in caplog.text and FALLBACK not in caplog.text


@pytest.mark.parametrize("kind", slow_after(1, [faults.CORRUPT, faults.NOTHING]))
def test_a_wrong_shard_is_proved_again_elsewhere(
    pair: Client, shape: Shape, tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    before = starts(pair, "finish")
    pair.run(faults.returns, kind, ("finish",), tmp_path / "marker", True)
    assert made_by(pair, shape) == alone(shape)
    wrong = (tmp_path / "marker").read_text().split()[1]
    assert wrong in caplog.text
    fetched = shape.shards if kind == faults.CORRUPT else 0  # a layer finds it, and the client verifies all shards
    assert (FALLBACK in caplog.text) == bool(fetched)
    assert starts(pair, "finish") - before == shape.shards + fetched + 1


def test_a_wrong_total_does_not_stop_the_proof(
    pair: Client, shape: Shape, caplog: pytest.LogCaptureFixture, came: dict[str, bytes]
) -> None:
    pair.run(bad_workers.of_other_totals, workers=sorted(pids(pair))[:1])
    assert made_by(pair, shape) == alone(shape)
    assert "the buses do not balance" in caplog.text and FALLBACK in caplog.text
    fetched = [
        index for task, data in came.items() if not task.startswith("to") for index in shards_in(data, shape.shards)
    ]
    assert sorted(fetched) == [*range(shape.shards)]
