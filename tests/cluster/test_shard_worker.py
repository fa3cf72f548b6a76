"""One shard on a worker: its bytes are the same whether its arrays are retained or recomputed."""

import gc
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from graphprover import ShardedProof, prove
from graphprover.admission.admission import sharing
from graphprover.cluster import shard_worker
from graphprover.cluster.messages import ShardRequest
from graphprover.cluster.shard_worker import CommittedShard, FinishedShard, commit_shard, finish_shard
from graphprover.device import CpuDevice
from graphprover.examples import memory
from graphprover.graphs.batches import Holds
from graphprover.graphs.proof_graph import Keep
from graphprover.graphs.rounds.transcript import joint_nonce
from graphprover.graphs.task_keys import ShardNumber
from graphprover.protocol.joint import Joint
from graphprover.prover.sharded import InShards
from graphprover.statement.shards import shards_of
from tests.graphs.test_proof_graph import FEW, example
from tests.preparing import prepare_shards

DEVICE = CpuDevice(1)
SHARES = [[0], [1]]


def travelled(held: CommittedShard) -> CommittedShard:
    found: CommittedShard = pickle.loads(pickle.dumps(held))
    return found


def dropped(held: CommittedShard) -> CommittedShard:
    held.store.drop()
    return held


@pytest.fixture(scope="module")
def proof() -> ShardedProof:
    made = prove(example(memory), "sync", parameters=FEW, device=DEVICE, shards=SHARES)
    assert isinstance(made, ShardedProof)
    return made


@pytest.fixture
def requests() -> list[ShardRequest]:
    prepared = prepare_shards(shards_of(example(memory), SHARES), parameters=FEW)
    return [
        ShardRequest(shard, ShardNumber(index, 2), "token", "cpu", 2) for index, shard in enumerate(prepared.shards)
    ]


@pytest.mark.parametrize(
    ("left", "again"),
    [(lambda held: held, False), (travelled, True), (dropped, True), (lambda held: None, True)],
    ids=["all", "its digest", "dropped", "nothing"],
)
def test_the_bytes(
    proof: ShardedProof, requests: list[ShardRequest], left: Callable[[CommittedShard], Any], again: bool
) -> None:
    held = [commit_shard(request, DEVICE) for request in requests]
    joint = Joint(tuple(one.digest for one in held))
    assert joint == proof.joint
    nonce = joint_nonce(DEVICE, joint, held[0].header.parameters)
    made: list[FinishedShard] = [
        finish_shard(request, joint, nonce, left(one), DEVICE) for request, one in zip(requests, held, strict=True)
    ]
    assert tuple(one.proof for one in made) == proof.proofs
    assert [one.recomputed for one in made] == [again] * 2


@pytest.mark.parametrize("most", [0, 1 << 40])
def test_the_plan_of_a_dropped_shard_is_another_one(
    proof: ShardedProof, requests: list[ShardRequest], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    held = [commit_shard(request, DEVICE) for request in requests]
    joint = Joint(tuple(one.digest for one in held))
    nonce = joint_nonce(DEVICE, joint, held[0].header.parameters)
    monkeypatch.setattr(shard_worker, "largest", lambda device: most)
    holds: list[Holds] = []

    class Seen(InShards):
        def finish(self, *arguments: Any) -> Any:
            holds.append(arguments[-1])
            return super().finish(*arguments)

    monkeypatch.setattr(shard_worker, "InShards", Seen)
    for index, request in enumerate(requests):
        assert finish_shard(request, joint, nonce, dropped(held[index]), DEVICE).proof == proof.proofs[index]
    assert len(holds) == 2 and any(holds) == (most == 0)


def test_what_is_held_travels_as_digest_and_header_and_goes_with_its_object(
    requests: list[ShardRequest], proof: ShardedProof
) -> None:
    held = commit_shard(requests[0], DEVICE)
    grant, elsewhere = held.store.grant, travelled(held)
    assert (
        held.plan
        and held.plan.keep == Keep.ALL
        and grant
        and not grant.ended
        and sys.getsizeof(held) > grant.bytes > 1000
    )
    assert elsewhere.store.grant is None and sys.getsizeof(elsewhere) < 200 and len(pickle.dumps(held)) < 1000
    assert elsewhere.digest == held.digest and elsewhere.header == replace(proof.proofs[0], payload=b"")
    del held
    gc.collect()
    assert grant.ended


def test_many_processes_leave_each_shard_its_share(
    requests: list[ShardRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_worker, "sharing", lambda device: 10**9)  # but there are two shards
    plan = commit_shard(requests[0], DEVICE).plan
    assert plan and plan.keep == Keep.ALL


def test_another_shard_is_refused(requests: list[ShardRequest]) -> None:
    held = [commit_shard(request, DEVICE) for request in requests]
    joint = Joint((held[1].digest, held[0].digest))
    with pytest.raises(RuntimeError, match="shard 0 of 2: recomputed commitment differs"):
        finish_shard(requests[0], joint, 0, held[0], DEVICE)
    assert sharing(DEVICE) >= 1
