"""Shards are verified by processes beside this one, with the same verdict, and here if a process is lost."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from graphprover import ShardedProof, VerificationError, prove
from graphprover.device import CpuDevice
from graphprover.examples import memory
from graphprover.verifier import expect
from graphprover.verifier.pool import ShardChecks, processes_for
from graphprover.verifier.shards import Expected
from tests.cluster.processes import until
from tests.graphs.test_proof_graph import FEW, example

STATEMENT = example(memory)


@pytest.fixture(scope="module")
def proof() -> ShardedProof:
    made = prove(STATEMENT, "sync", parameters=FEW, device=CpuDevice(1), shards=2)
    assert isinstance(made, ShardedProof)
    return made


@pytest.fixture(scope="module")
def expected(proof: ShardedProof) -> Expected:
    headers = ShardedProof(proof.joint, tuple(replace(own, payload=b"") for own in proof.proofs))
    return expect(headers, STATEMENT, security=0)


@pytest.fixture
def checks() -> Iterator[ShardChecks]:
    """Return the verification with a process that is ready."""
    with ShardChecks(1) as made:
        until(lambda: all(checker._last and checker._last.done() for checker in made._pool._checkers))
        yield made


def refuse(*arguments: Any) -> None:
    raise AssertionError("this process verifies")


def test_a_process_verifies(
    checks: ShardChecks, expected: Expected, proof: ShardedProof, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = [expected.check(index, own) for index, own in enumerate(proof.proofs)]
    monkeypatch.setattr(Expected, "check_decoded", refuse)
    for _ in range(2):
        found = [checks.submit(checks.check, expected, *shard).result() for shard in enumerate(proof.proofs)]
        assert [batch for batch, _ in found] == here
        assert all(stage.name == "verify" and stage.end >= stage.start for _, stage in found)


def test_a_false_shard_is_refused_as_here(
    checks: ShardChecks, expected: Expected, proof: ShardedProof, monkeypatch: pytest.MonkeyPatch
) -> None:
    payload = proof.proofs[1].payload
    at = len(payload) // 2
    false = replace(proof.proofs[1], payload=payload[:at] + bytes([payload[at] ^ 1]) + payload[at + 1 :])
    with pytest.raises(VerificationError) as here:
        expected.check(1, false)
    monkeypatch.setattr(Expected, "check_decoded", refuse)
    for wrong in (false, replace(false, payload=b"")):
        with pytest.raises(VerificationError, match="shard 1: ") as there:
            checks.check(expected, 1, wrong)
        assert wrong is not false or (str(there.value), there.value.rule) == (str(here.value), here.value.rule)
    with pytest.raises(VerificationError, match="its header is not what it has committed to"):
        checks.check(expected, 0, proof.proofs[1])
    assert checks.check(expected, 0, proof.proofs[0])  # the process goes on


def test_this_process_verifies_without_the_other_one(
    checks: ShardChecks, expected: Expected, proof: ShardedProof, caplog: pytest.LogCaptureFixture
) -> None:
    (checker,) = checks._pool._checkers
    assert checker._process
    os.kill(checker._process.pid, signal.SIGKILL)
    checker._process.wait()
    for _ in range(2):
        assert checks.check(expected, 0, proof.proofs[0])[0] == expected.check(0, proof.proofs[0])
    assert "a process that verifies proofs has ended" in caplog.text


def test_few_shards_have_no_process() -> None:
    assert [processes_for(shards, cores=32) for shards in (2, 7, 8, 16, 64)] == [0, 0, 2, 4, 8]
    assert [processes_for(64, cores) for cores in (1, 2, 8)] == [0, 1, 4]
