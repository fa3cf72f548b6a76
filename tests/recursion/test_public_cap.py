"""The table `PublicCap` provides the digest of its public values at its place, and nothing else."""

from pathlib import Path

import numpy as np
import pytest

from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import BLAKE3
from graphprover.prover.prove import prove
from graphprover.recursion.tables.stated import PublicCap
from graphprover.statement.check import check
from graphprover.statement.statement import Statement, Table
from graphprover.verifier import verify
from tests.recursion.falsified import verdicts
from tests.recursion.running import Partner

PLACE, DIGEST = (2**12 + 3, 5, 9), (10, 11, 12, 13, 14, 15, 16, 17)


def statement(*, place: tuple[int, ...] = PLACE, digest: tuple[int, ...] = DIGEST, asked: int = 3) -> Statement:
    """Return the statement that a cap answers three lookups of `DIGEST` at `PLACE`."""
    tree, layer, index = place
    counts = np.array([[asked, 0, 0, 0]], dtype=np.uint64)
    users = Table(Partner([], [((*PLACE, *DIGEST), 3)]), [], np.zeros((1, 1), dtype=np.uint64))
    return Statement([Table(PublicCap(tree, layer, index), digest, counts), users])


def changed(numbers: tuple[int, ...], at: int) -> tuple[int, ...]:
    return tuple(number + (i == at) for i, number in enumerate(numbers))


def test_lookups_of_the_digest_balance() -> None:
    assert check(statement()) == []
    proof = prove(statement(), hash=BLAKE3, device="cpu")
    assert verify(proof, statement()).bits >= 128


def test_another_digest_place_or_count_is_found(tmp_path: Path) -> None:
    for at in range(len(DIGEST)):
        assert check(statement(digest=changed(DIGEST, at)))
    for at in range(len(PLACE)):
        assert check(statement(place=changed(PLACE, at)))
    for asked in (2, 4):
        assert check(statement(asked=asked))
    assert None not in verdicts(statement(digest=changed(DIGEST, 3)), tmp_path)


def test_a_proof_is_of_its_digest_and_place() -> None:
    proof = prove(statement(), hash=BLAKE3, device="cpu")
    for other in (statement(digest=changed(DIGEST, 7)), statement(place=changed(PLACE, 2))):
        with pytest.raises(VerificationError):
            verify(proof, other)
