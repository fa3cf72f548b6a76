"""Layers of compressed proofs on two workers: the same bytes, in parallel; a lost or a wrong one alone is repeated."""

import struct
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from graphprover import CompressedProof, Prover, ShardedProof, VerificationError, compress
from graphprover.cluster.tasks import BEGUN
from graphprover.device import CpuDevice
from graphprover.prover import layer_tree
from tests.cluster.once import DIES, WRONG, Once
from tests.cluster.processes import ROOT
from tests.cluster.test_staying import largest_work
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
    monkeypatch.setattr(layer_tree, "most_compressions", lambda *given: largest_work(proof, PROVER))


@pytest.fixture(scope="module")
def alone(proof: ShardedProof) -> CompressedProof:
    """Return the compressed proof by this process."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(layer_tree, "most_compressions", lambda *given: largest_work(proof, PROVER))
        return compress(proof, PROVER.program.statement_of(proof), "sync", device=CpuDevice(1), rate=LAYERS_AT, **LEVEL)


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


def flipped(payload: bytes) -> bytes:
    """Return a payload with another bit in its last word."""
    return payload[:-8] + bytes([payload[-8] ^ 1]) + payload[-7:]
