"""A sample of the mutations that tests/mutate_proofs.py does by the million."""

from itertools import product
from pathlib import Path

import pytest

from graphprover.protocol import backend
from graphprover.protocol.parameters import DEFAULT_HASH, HASH_NAMES
from tests.mutate_proofs import Case, Made, cases, compressed_cases, key_cases, mutate, sharded_cases
from tests.slow import slow_after


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder: Path = tmp_path_factory.mktemp("proofs")
    return Made(folder)


@pytest.mark.parametrize(("count", "hash"), slow_after(1, [(2_000, DEFAULT_HASH), *product([20_000], HASH_NAMES)]))
def test_damaged_proofs(count: int, hash: str, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    found = mutate(count, 1, cases(hash, made))
    assert found.tried == count
    assert not found.accepted and not found.other
    assert sum(found.reasons.values()) == count
    # Each part of the verifier refuses some mutations.
    for part in (
        "the proof ends inside",
        "entries where this statement has",
        "below p",
        "the proof of work before the queries",
        "the constraints do not hold",
        "the main commitment: a Merkle path",
        "the commitment of fold",
        "final polynomial",
        "no statement about this machine",
    ):
        assert any(part in reason for reason in found.reasons), part


@pytest.mark.parametrize(("count", "hash"), slow_after(1, [(800, DEFAULT_HASH), *product([4_000], HASH_NAMES)]))
def test_damaged_sharded_proofs(count: int, hash: str, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    found = mutate(count, 1, sharded_cases(hash, made))
    assert not found.accepted and not found.other
    assert sum(found.reasons.values()) == count
    for part in (
        "other parameters than shard",
        "is in no shard",
        "not what the lookup challenges were drawn from",
        "different nonces before the lookup challenges",
        "the buses do not balance",
        "the proof of work before the queries",
        "the constraints do not hold",
        "a Merkle path",
        "final polynomial",
        *(["no statement about this machine"] if count > 1000 else []),  # rare: none of the first 1,200
    ):
        assert any(part in reason for reason in found.reasons), part


@pytest.mark.parametrize("count", [100, pytest.param(4_000, marks=pytest.mark.slow)])
def test_damaged_compressed_proofs(count: int, made: Made) -> None:
    found = mutate(count, 1, compressed_cases(made))
    assert not found.accepted and not found.other
    assert sum(found.reasons.values()) == count
    for part in (
        "header has a payload",
        "states other public values",
        "tables# the statement of",
        "the constraints do not hold",
        "a Merkle path",
        "entries where this statement has",
    ):
        assert any(part in reason for reason in found.reasons), part


def test_damaged_keys(made: Made) -> None:
    found = mutate(2_000, 1, key_cases(made))
    assert not found.accepted and not found.other
    for part in ("no verifying key", "another machine", "no program has the addresses", "#^# rows", "not in order"):
        assert any(part in reason for reason in found.reasons), part


def test_what_is_accepted_or_fails_otherwise_is_found(made: Made) -> None:
    """With a verifier that accepts everything, and one that divides by zero."""
    honest = cases(DEFAULT_HASH, made)[0]

    class Gullible(Case):
        def judge(self, data: bytes) -> None:
            return None

    class Broken(Case):
        def judge(self, data: bytes) -> None:
            if data != self.proof.to_bytes():
                raise ZeroDivisionError("somewhere")

    assert len(mutate(20, 2, [Gullible(honest.proof, honest.statement_of)]).accepted) == 20
    assert mutate(20, 2, [Broken(honest.proof, honest.statement_of)]).other == ["ZeroDivisionError: somewhere"] * 20
