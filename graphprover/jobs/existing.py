"""The proof that exists before a job: a valid one with the claim of the new proof takes its place."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from graphprover.jobs.returned import check_kind
from graphprover.proof.compressed import AnyProof, any_proof_from_bytes
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.errors import VerificationError
from graphprover.prover.prepare import Prepared, PreparedShards
from graphprover.runtime.display.notebook import short
from graphprover.runtime.files import FileError, read_proof

if TYPE_CHECKING:
    from graphprover.jobs.job import Job

_log = logging.getLogger(__name__)

Says = list[tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]]  # of each shard, as in a `Verdict`


def read_existing(existing: bytes | Path | None) -> bytes | None:
    """Return the bytes of the existing proof; None if there is none."""
    if not isinstance(existing, Path):
        return existing
    try:
        return read_proof(existing)
    except FileError:  # usually it does not exist; writing the new proof reports other errors
        return None


def valid_existing(job: "Job") -> AnyProof | None:
    """Return the existing proof if it is a valid one of the job's program, perhaps of another run."""
    try:
        return check_existing(job)
    except VerificationError as error:
        _log.info("%s: the proof that is there is not good enough, so it is made again: %s", job.label, error)
        return None


def check_existing(job: "Job") -> AnyProof | None:
    """Verify the existing proof, perhaps of another run, and return it; None if there is none.

    Raises:
        VerificationError: if it is not valid, or is compressed although the job asks for another proof, or the reverse.
    """
    data = read_existing(job.existing)
    if data is None:
        return None
    proof = any_proof_from_bytes(data)
    check_kind(proof, bool(job.prover.layers))
    job.prover.verify(proof, exit_code=job.exit_code)
    return proof


def says(proof: Proof | ShardedProof) -> Says:
    """Return the claim of a proof of tables."""
    return [(shard.public_values, shard.log_heights) for shard in proof.proofs]


def to_say(prepared: Prepared | PreparedShards) -> Says:
    """Return the claim of a proof that is yet to be made."""
    return [(shard.public_values, shard.layout.log_heights) for shard in prepared.shards]


def contents(data: bytes | Path | None) -> str:
    """Return a text for people about a file or its contents."""
    if data is None:
        return "none"
    return short(data) if isinstance(data, Path) else f"{len(data):,} bytes"
