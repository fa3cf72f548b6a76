"""Checks workers' proofs of a batch before the caller gets them."""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from graphprover.cluster.results import expect_type, figures_in, proof_in
from graphprover.jobs.job import Job
from graphprover.jobs.on_workers import guest_run
from graphprover.jobs.returned import check_returned
from graphprover.proof.compressed import CompressedProof
from graphprover.protocol.errors import VerificationError
from graphprover.prover.made import Made, checksum_of
from graphprover.telemetry.observation import Observation
from graphprover.verifier import verify_header
from graphprover.vm.executor.execute import Execution

THREADS = 4  # for runs of guests, which do not hold Python's lock


class ResultChecker:
    """A context that runs guests in the client and compares workers' proofs with the runs."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS)
        self._runs: dict[Job, Future[Execution | None]] = {}

    def __enter__(self) -> "ResultChecker":
        return self

    def __exit__(self, *raised: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def begin(self, job: Job) -> None:
        """Start a run of the job's guest in a thread, while a worker proves it."""
        if job not in self._runs:
            self._runs[job] = self._pool.submit(job.rehearse)

    def check(self, job: Job, result: Any) -> Made:
        """Return a worker's result for a job, with the type of every field checked.

        The header of the proof is verified: security, proximity and hash, the rate and the number of shards if the job
        sets them, the program, and for a guest output, exit code and cycles. Of a compressed proof the headers of base
        and layer are verified. The payload is not verified: its checksum
        is compared with the one that the worker computed after verification.

        Raises:
            VerificationError: If a check fails.
            Exception: Any exception of `Job.rehearse`.
        """
        made, proof, prover = expect_type(result, Made), proof_in(result), job.prover
        statement = prover.program.statement_of(proof.header, coming=isinstance(proof, CompressedProof))
        verify_header(proof, statement, prover.level.security, prover.level.proximity)
        kept = made.kept is True and job.existing is not None
        if made.checksum != checksum_of(proof):
            raise VerificationError(
                "worker.proof", f"{job.label}: the proof is not the one that the worker has verified"
            )
        self.begin(job)
        run = self._runs[job].result()
        check_returned(job, proof, job.claim_about(run), kept=kept)
        del self._runs[job]
        return replace(
            made,
            proof=proof,
            preprocessed_caps=None,  # a worker's commitment must not be relied on
            kept=kept,
            run=guest_run(run),
            observation=made.observation if isinstance(made.observation, Observation) else None,
            **figures_in(made),
        )

    def forget(self, job: Job) -> None:
        """Cancel the run of a job that has failed, unless it has started."""
        if run := self._runs.pop(job, None):
            run.cancel()
