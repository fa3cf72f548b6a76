"""The table `fixed` provides the digest of its public values at its place, and nothing else there."""

from pathlib import Path

import numpy as np
import pytest

from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import BLAKE3
from graphprover.proving.prove import prove
from graphprover.recursion.tables.fixed import FIELDS, FIRST_COLUMNS, ROWS, WIDTH, Fixed
from graphprover.statement.check import check
from graphprover.statement.statement import Statement, Table
from graphprover.verifier import verify
from tests.recursion.falsified import verdicts
from tests.recursion.machines import Facts, place

PLACE, DIGEST = (2**12 + 3, 5, 9), (10, 11, 12, 13, 14, 15, 16, 17)
PROGRAM = np.zeros((FIELDS, 3), dtype=np.uint64)


def statement(*, where: tuple[int, ...] = PLACE, digest: tuple[int, ...] = DIGEST, asked: int = 3) -> Statement:
    """Return the statement that the table answers three lookups of `DIGEST` at `PLACE`."""
    tree, layer, index = where
    main = np.zeros((WIDTH, ROWS), dtype=np.uint64)
    main[FIRST_COLUMNS["asked"], 0] = asked
    users = Table(Facts([(3, place(PLACE, DIGEST))]), [], np.zeros((1, 1), dtype=np.uint64))
    return Statement([Table(Fixed(PROGRAM, (tree, layer, index)), digest, main), users])


def changed(numbers: tuple[int, ...], at: int) -> tuple[int, ...]:
    return tuple(number + (i == at) for i, number in enumerate(numbers))


def test_lookups_of_the_digest_balance() -> None:
    assert check(statement()) == []
    proof = prove(statement(), hash=BLAKE3, device="cpu")
    assert verify(proof, statement()).bits >= 128


def test_another_digest_place_or_count_is_found() -> None:
    for at in range(len(DIGEST)):
        assert check(statement(digest=changed(DIGEST, at)))
    for at in range(len(PLACE)):
        assert check(statement(where=changed(PLACE, at)))
    for asked in (2, 4):
        assert check(statement(asked=asked))


def test_both_verifiers_reject_another_digest(tmp_path: Path) -> None:
    assert None not in verdicts(statement(digest=changed(DIGEST, 3)), tmp_path)


def test_a_proof_is_of_its_digest_and_place() -> None:
    proof = prove(statement(), hash=BLAKE3, device="cpu")
    for other in (statement(digest=changed(DIGEST, 7)), statement(where=changed(PLACE, 2))):
        with pytest.raises(VerificationError):
            verify(proof, other)


def test_only_the_first_row_has_lookups_of_the_digest() -> None:
    made = statement(asked=1)
    main = np.array(made.tables[0].main)
    main[FIRST_COLUMNS["asked"], 7] = 2
    (finding,) = check(Statement([Table(made.tables[0].air, DIGEST, main), made.tables[1]]))
    assert finding.label == "the first row has all lookups of the digest"  # type: ignore[union-attr]


def test_a_program_that_is_too_long_is_refused() -> None:
    Fixed(np.zeros((FIELDS, ROWS), dtype=np.uint64), PLACE)
    with pytest.raises(ValueError, match="at most 65,536 instructions, not 65,537"):
        Fixed(np.zeros((FIELDS, ROWS + 1), dtype=np.uint64), PLACE)
