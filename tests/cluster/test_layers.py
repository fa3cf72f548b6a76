"""Layers of compressed proofs on two workers: the same bytes, in parallel; a lost or a wrong one alone is repeated."""

import struct
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from graphprover import CompressedProof, Prover, ShardedProof, VerificationError, compress, observed
from graphprover.cluster.tasks import BEGUN
from graphprover.device import CpuDevice
from graphprover.prover import layer_tree
from graphprover.proving.executor import OnCluster
from graphprover.reports.proof_page import proof_page
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.tree import critical_path
from tests.cluster.once import DIES, WRONG, Once
from tests.cluster.processes import ROOT
from tests.conftest import LAYERS_AT

pytestmark = pytest.mark.usefixtures("patience")

INPUT = struct.pack("<Q", 30)
LEVEL: dict[str, Any] = {"security": 20.0, "pow_bits": 4}
PROVER = Prover(
    ROOT / "examples/guests/fib_iterative.elf", rate=8, shards=3, device=CpuDevice(1), executor="sync", **LEVEL
)


@pytest.fixture(scope="module")
def proof() -> ShardedProof:
    made = PROVER.prove(INPUT)
    assert isinstance(made, ShardedProof)
    return made


@pytest.fixture(autouse=True)
def one_shard_a_layer(monkeypatch: pytest.MonkeyPatch, proof: ShardedProof) -> None:
    """Give each shard a layer of its own."""
    monkeypatch.setattr(layer_tree, "most_compressions", lambda memory, rate: proof.proofs[0].size // 34 + 1)


@pytest.fixture(scope="module")
def seen_alone(proof: ShardedProof) -> tuple[CompressedProof, list[Observation]]:
    """Return the compressed proof by this process, and its observation."""
    with pytest.MonkeyPatch.context() as patched, observed() as seen:
        patched.setattr(layer_tree, "most_compressions", lambda memory, rate: proof.proofs[0].size // 34 + 1)
        prover = Prover(
            PROVER.program, rate=8, shards=3, compress=LAYERS_AT, executor="sync", device=CpuDevice(1), **LEVEL
        )
        made = prover.prove(INPUT)
    assert isinstance(made, CompressedProof)
    return made, seen


@pytest.fixture(scope="module")
def alone(seen_alone: tuple[CompressedProof, list[Observation]]) -> CompressedProof:
    """Return the compressed proof by this process."""
    return seen_alone[0]


def begun(client: Client) -> list[str]:
    """Return the workers of the tasks that have begun, in their order."""
    return [fields["worker"] for _, fields in client.get_events(BEGUN)]


@pytest.mark.slow
def test_the_layers_of_a_level_are_made_in_parallel(pair: Client, proof: ShardedProof, alone: CompressedProof) -> None:
    before, told = len(begun(pair)), list[tuple[int, int, str]]()
    made = compress(
        proof,
        PROVER.program.statement_of(proof),
        pair,
        device="cpu",
        progress=lambda ended, total, task: told.append((ended, total, task)),
        rate=LAYERS_AT,
        **LEVEL,
    )
    assert made == alone
    assert len(alone.layers) >= 5 and len(alone.children) == 2
    own = begun(pair)[before:]
    assert len(own) == 1 + len(alone.layers)  # one says how much memory there is
    assert len(set(own[1:3])) == 2
    assert {total for _, total, _ in told} == {3, 1}  # of two layers and one, one layer about two is made first
    for task in ("shard 1: layer 1", "shard 0 to shard 2: layer 3"):
        assert any(f"{task} by tcp://" in name for *_, name in told)


@pytest.mark.parametrize("happens", [DIES, WRONG])
@pytest.mark.slow
def test_a_layer_is_repeated(
    pair: Client, proof: ShardedProof, alone: CompressedProof, happens: str, tmp_path: Path
) -> None:
    before = len(begun(pair))
    device = Once("gather", tmp_path / "marker", happens)
    made = compress(proof, PROVER.program.statement_of(proof), pair, device=device, rate=LAYERS_AT, **LEVEL)  # type: ignore[arg-type]
    assert made == alone and (tmp_path / "marker").exists()
    assert len(begun(pair)[before:]) == 2 + len(alone.layers)


def test_a_false_shard_is_named(pair: Client, proof: ShardedProof) -> None:
    payload = proof.proofs[1].payload
    other = type(proof.proofs[1])(
        proof.label, proof.parameters, proof.proofs[1].log_heights, proof.proofs[1].public_values, flipped(payload)
    )
    false = ShardedProof(proof.joint, (proof.proofs[0], other, proof.proofs[2]))
    with pytest.raises(VerificationError, match="shard 1"):
        compress(false, PROVER.program.statement_of(proof), pair, device="cpu", rate=LAYERS_AT, **LEVEL)


def check_tree(seen: list[Observation], proof: CompressedProof) -> None:
    """Check the observation of three shards and the layers about them."""
    (found,) = seen
    tree, path = found.tree, critical_path(found.tree)
    assert [part.name for part in tree[:3]] == ["shard 0", "shard 1", "shard 2"]
    assert len(tree) == 3 + len(found.layers) == 3 + len(proof.layers) and len({part.name for part in tree}) == len(
        tree
    )
    assert sorted(of for part in tree for of in part.parts) == list(range(len(tree) - 1))  # a tree
    for part in tree:
        assert part.seconds > 0
        for of in part.parts:  # a worker of the same host has the same clock
            assert tree[of].end <= part.start + 0.5
    assert tree[path[-1]] == tree[-1] and tree[path[0]] in tree[:3]
    assert "Critical path: shard" in proof_page(found)


def test_this_process_observes_the_tree(seen_alone: tuple[CompressedProof, list[Observation]]) -> None:
    made, seen = seen_alone
    check_tree(seen, made)


def flipped(payload: bytes) -> bytes:
    """Return a payload with another bit in its last word."""
    return payload[:-8] + bytes([payload[-8] ^ 1]) + payload[-7:]


def test_workers_prove_and_compress_the_shards_of_a_job(
    pair: Client, proof: ShardedProof, alone: CompressedProof
) -> None:
    prover = Prover(PROVER.program, rate=8, shards=3, compress=LAYERS_AT, executor=pair, device="cpu", **LEVEL)
    with observed() as seen:
        made, verdict = OnCluster(pair, "cpu").prove(prover.job(INPUT))
    assert made.proof == alone and made.base_bytes == proof.size
    assert min(made.seconds["prove"], made.seconds["compress"]) > 0
    check_tree(seen, alone)
    assert all(part.worker.startswith("tcp://") for part in seen[0].tree)
    assert verdict and verdict.claim == PROVER.verify(proof).claim
