"""Mock proofs, which prove nothing: the check of their claim, for tests of applications."""

from dataclasses import replace

from graphprover.proof.mock import MockProof
from graphprover.protocol.security import JOHNSON_PROXIMITY
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.verifier.shards import expect_header
from graphprover.verifier.verdict import Verdict


def verify_mock(
    mock: MockProof,
    statement: Statement | ShardedStatement,
    security: float = 128,
    proximity: str = JOHNSON_PROXIMITY,
) -> Verdict:
    """Check the header of a mock as the header of a proof; arguments and errors are as for `verify`.

    Returns:
        The verdict, which says that it is of a mock and has 0 bits of security.
    """
    expected = expect_header(mock.header, statement, security, proximity)
    return replace(expected.verdict([]), mock=True)
