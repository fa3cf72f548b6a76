"""Checking the proofs that workers return for the jobs of a batch, before anyone sees them."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from graphprover.cluster.results import expect_type, proof_in
from graphprover.jobs.jobs import Job
from graphprover.protocol.errors import VerificationError
from graphprover.prover.local import Made, checksum_of
from graphprover.telemetry.observation import Observation
from graphprover.verifier import verify_header
from graphprover.vm.statement.claim import Claim

THREADS = 4  # that run guests beside the workers, without Python's lock


class Returned:
    """The client's own runs of guests, and the comparison of workers' proofs with them; a context."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS)
        self._claims: dict[Job, Future[Claim | None]] = {}

    def __enter__(self) -> "Returned":
        return self

    def __exit__(self, *raised: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def begin(self, job: Job) -> None:
        """Run the job's guest, in a thread, while a worker proves it."""
        if job not in self._claims:
            self._claims[job] = self._pool.submit(job.claim)

    def check(self, job: Job, result: Any) -> Made:
        """Return a worker's result for a job, every field of the type that it should have.

        The header of the proof is verified: the level and the proximity, the rate and the shards if they were asked
        for, the program, and for a guest output, exit code and cycles. The payload is compared with the checksum of the
        payload that the worker has verified.
        Raises VerificationError, and what `Job.claim` raises.
        """
        made, proof, prover = expect_type(result, Made), proof_in(result), job.prover
        verify_header(proof, prover.program.statement_of(proof), prover.security, prover.proximity)
        kept = made.kept is True and job.existing is not None
        if made.checksum != checksum_of(proof):
            raise VerificationError(f"{job.label}: the proof is not the one that the worker has verified")
        self.begin(job)
        job.check_returned(proof, self._claims[job].result(), kept=kept)
        del self._claims[job]
        try:
            return replace(
                made,
                proof=proof,
                preprocessed_caps=None,  # a worker's commitment must not be relied on
                seconds={str(name): float(seconds) for name, seconds in made.seconds.items()},
                peak_bytes=int(made.peak_bytes),
                kept=kept,
                shards=tuple({str(name): float(seconds) for name, seconds in one.items()} for one in made.shards),
                cells=int(made.cells),
                observation=made.observation if isinstance(made.observation, Observation) else None,
            )
        except (AttributeError, TypeError, ValueError) as error:
            raise VerificationError(f"the worker returned malformed figures: {error}") from error

    def forget(self, job: Job) -> None:
        """End the run of a job that has failed, unless it has begun."""
        if claim := self._claims.pop(job, None):
            claim.cancel()
