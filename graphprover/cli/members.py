"""The members of an aggregated proof: their headers, statements and report."""

from collections.abc import Sequence

from graphprover.cli import text_output
from graphprover.jobs.programs import Program
from graphprover.proof.compressed import AnyProof, CompressedProof
from graphprover.proof.mock import MockProof
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.errors import VerificationError
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.verifier import Verdict


def headers_of(proof: AnyProof | MockProof) -> Sequence[Proof | ShardedProof]:
    """Return the headers of all members of a proof, or the proof itself; the header of a mock."""
    if isinstance(proof, MockProof):
        return [proof.header]
    return proof.members if isinstance(proof, CompressedProof) else [proof]


def statements_of(
    programs: Sequence[Program], headers: Sequence[Proof | ShardedProof], names: Sequence[str]
) -> list[Statement | ShardedStatement]:
    """Return the statement of each proof about its program; the name of a proof begins the error about it."""
    found = []
    for program, header, name in zip(programs, headers, names, strict=True):
        try:
            found.append(program.statement_of(header, coming=not header.proofs[0].payload))
        except VerificationError as error:
            raise error.refusal(f"{name}: {error}") from error
    return found


def members_report(programs: Sequence[Program], verdicts: Sequence[Verdict]) -> list[text_output.Block]:
    """Return the program and the statement of each member of a valid proof, and the security."""
    blocks = list[text_output.Block]()
    for number, (program, verdict) in enumerate(zip(programs, verdicts, strict=True), 1):
        blocks += [f"member {number}", {"program": program.name} | program.describe(verdict.public_values), ""]
    return [*blocks, text_output.worth(verdicts[0])]
