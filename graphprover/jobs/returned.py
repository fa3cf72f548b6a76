"""Checks of the proofs that workers return: whether a proof is the one that a job asks for."""

from typing import TYPE_CHECKING

from graphprover.proof.compressed import AnyProof, CompressedProof
from graphprover.protocol.errors import VerificationError, shard_error
from graphprover.protocol.goal import Goal
from graphprover.protocol.parameters import LAYER_RATES, RATES
from graphprover.vm.executor.faults import OtherExitCode
from graphprover.vm.statement.claim import ANY, Claim, other_exit_code

if TYPE_CHECKING:
    from graphprover.jobs.job import Job


def check_exit_code(program: str, code: int, asked: int | str) -> None:
    """Raise OtherExitCode if a run of a program has another exit code than is asked for."""
    if wrong := other_exit_code(code, asked):
        raise OtherExitCode(
            "asked.exit_code",
            f"{program}: {wrong}: not proven (--exit-code {code} or {ANY} proves it as well; in Python exit_code)",
        )


def check_kind(proof: AnyProof, compressed: bool) -> None:
    """Raise VerificationError unless a proof is compressed as it is asked for."""
    if (found := isinstance(proof, CompressedProof)) != compressed:
        what = "compressed, which was not asked for" if found else "not compressed"
        raise VerificationError("asked.compressed", f"the proof is {what}")


def check_returned(job: "Job", proof: AnyProof, claim: Claim | None, *, kept: bool = False, base: bool = False) -> None:
    """Raise VerificationError unless the header of a worker's proof is what a job asks for.

    Level and tables are left to `Recipe.verify`.

    Args:
        job: The job.
        proof: The proof.
        claim: Of the guest's run in this process, with which the proof must agree; None for a program of tables.
        kept: The proof was there before, possibly by another hash, at another rate and in other shards.
        base: The proof is to be compressed if the job asks for it.
    """
    if not base:
        check_kind(proof, bool(job.prover.layers))
    check_claim(job, proof)
    if not kept:
        _check_options(job, proof, job.count(claim))
    if claim and job.prover.program.claim_in(proof.header) != claim:
        what = f"{job.label}: the proof is of another run than the program's on this input"
        error = VerificationError("asked.run", what)
        raise shard_error(0, error) if len(proof.header.proofs) > 1 else error  # the first shard states the run


def check_claim(job: "Job", proof: AnyProof) -> None:
    """Raise VerificationError if a guest's proof has another exit code or input than the job asks for."""
    if claim := job.prover.program.claim_in(proof.header):
        check_exit_code(job.prover.program.name, claim.exit_code, job.exit_code)
        if claim.input != job.stated():
            raise VerificationError(
                "asked.input", f"{job.label}: the proof states another input, or states one or none unasked"
            )


def _check_options(job: "Job", proof: AnyProof, count: int | None) -> None:
    """Raise VerificationError unless a new proof has the rates, the hash and the number of shards of the job."""
    level, found = job.prover.level, len(proof.header.proofs)
    if isinstance(proof, CompressedProof):
        _check_layers(job, proof)
    if level.rate is not None and proof.parameters.log_blowup != RATES[level.rate]:
        raise VerificationError(
            "asked.rate", f"{job.label}: the proof is not at the rate 1/{level.rate}, which was asked for"
        )
    if proof.parameters.hash != level.hash:
        raise VerificationError(
            "asked.hash",
            f"{job.label}: the proof is by {proof.parameters.hash}, not by {level.hash}, which was asked for",
        )
    if count is not None and count != found:
        raise VerificationError("asked.shards", f"{job.label}: the proof is in {found} shards; {count} were asked for")


def _check_layers(job: "Job", proof: CompressedProof) -> None:
    """Raise VerificationError unless a new compressed proof has the layers that the job asks for."""
    if isinstance(job.prover.layers, Goal):  # the prover chooses
        return
    first, *others = [LAYER_RATES[layer.rate] for layer in job.prover.layers]
    found = [layer.parameters.log_blowup for layer in proof.layers]
    several = len(found) - len(others) if proof.header.joint else 1  # layers about shards and about these layers
    if several < 1 or found != [first] * several + others:
        what = f"the {job.prover.layers_text}, which were asked for"
        raise VerificationError("asked.compressed", f"{job.label}: the proof has not {what}")
