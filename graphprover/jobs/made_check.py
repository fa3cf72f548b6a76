"""The verification of a proof by its maker, in this process or, with the program as bytes, in another one.

The other process imports this module, and so neither Dask nor a device.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.jobs.programs import Packed, Program, unpack
from graphprover.proof.compressed import AnyProof, CompressedProof
from graphprover.protocol.level import Level
from graphprover.protocol.proof import Cap
from graphprover.verifier import Verdict, check_level, verify_shards


def check_made(program: Program, level: Level, proof: AnyProof, caps: Sequence[Cap | None] | None) -> Verdict:
    """Check a proof of a program at this level.

    Args:
        program: The program.
        level: The level; the proof needs its security.
        proof: The proof.
        caps: The maker's own commitments to the preprocessed columns, one a shard; of the base of a compressed proof.

    Raises:
        VerificationError: if the proof does not convince.
    """
    check_level(proof.header, level.security)  # before the statement, which may be expensive to make
    if isinstance(proof, CompressedProof):
        from graphprover.recursion.compressed import verify_compressed  # here, because other proofs do not need it

        statement = program.statement_of(proof.header, coming=True)
        return verify_compressed(proof, statement, level.security, level.proximity, preprocessed=caps)
    return verify_shards(proof, program.statement_of(proof), level.security, level.proximity, preprocessed=caps)


@dataclass(frozen=True)
class PackedCheck:
    """`check_made` for proofs of one program at one level, which travels to another process."""

    packed: Packed
    level: Level

    def load(self) -> None:
        """Open the program, which is kept open."""
        unpack(self.packed)

    def __call__(self, proof: AnyProof, caps: Sequence[Cap | None] | None) -> Verdict:
        """Check a proof; see `check_made` for arguments and errors."""
        return check_made(unpack(self.packed), self.level, proof, caps)
