"""A job whose proof workers make: the subject of each worker, and the verification of their proofs here."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphprover.jobs.returned import check_returned
from graphprover.proof.compressed import AnyProof
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.prover.made import Made
from graphprover.prover.prepare import Prepared, PreparedShards, check_headers
from graphprover.telemetry.model import GuestRun
from graphprover.verifier import Verdict
from graphprover.verifier.shards import Expected
from graphprover.vm.executor.execute import Execution
from graphprover.vm.executor.window import rehearse
from graphprover.vm.statement.claim import shown
from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
from graphprover.vm.traces.shared_run import SharedRun

if TYPE_CHECKING:
    from graphprover.graphs.planner.layers import Target
    from graphprover.jobs.job import Job
    from graphprover.prover.layer_tree import ProveLayers


@contextmanager
def for_workers(job: "Job") -> "Iterator[JobOnWorkers]":
    """Yield a job as workers prove it.

    This process runs a guest without a record, which takes a small part of the time of a proof. For a proof in one
    shard, a worker runs the guest with its record meanwhile. For several shards this process runs the guest first, and
    each worker records windows of the run (`graphprover.vm.traces.shared_run`). If the job has a highest cost, which
    depends on the whole record, all workers run the whole guest. Tables in several shards are prepared here.
    """
    prover, has_runs = job.prover, job.prover.program.has_runs
    several = prover.shard_size is not None or (prover.shards or 1) > 1
    if prover.small is not None and several and has_runs:
        raise ValueError("workers that share a proof would choose different rates: give a rate instead of small")
    with ThreadPoolExecutor(2) as meanwhile:
        committed = meanwhile.submit(prover.commit)
        shared = shared_run(job) if several and has_runs and job.max_cost is None else None
        ran = meanwhile.submit(lambda: shared.execution if shared else job.rehearse())
        count = job.count(job.claim_about(ran.result()) if prover.shard_size is not None else None) or 1
        prepared = job.prepared() if count > 1 and not has_runs else None
        if prepared:
            job.check_room(prepared)
        shards = prepared.on_host().shards if prepared else [job] * count
        yield JobOnWorkers(job, shards, shared, prepared, committed, ran)


def shared_run(job: "Job") -> SharedRun:
    """Run a guest whose windows workers record, one a shard."""
    rehearsal = rehearse(job.machine.image, job.provable_input() or b"", **job.run_options())
    job.check_exit_code(rehearsal.execution.exit_code)
    ranges = cycle_ranges_of(rehearsal.execution.cycles, job.prover.shards or 1, job.prover.shard_size)
    return SharedRun(job, rehearsal, ranges, commit_input=job.commit_input)


@dataclass(frozen=True, eq=False)
class JobOnWorkers:
    """A job as workers prove it (`graphprover.proving.executor.OnWorkers`)."""

    job: "Job"
    shards: Sequence[Any]  # the subject of each shard's task
    shared: SharedRun | None  # a guest's run that workers record
    prepared: Prepared | PreparedShards | None  # tables in several shards
    committed: "Future[None]"  # of `Recipe.commit`
    ran: "Future[Execution | None]"  # a guest's run in this process

    @property
    def compresses(self) -> bool:
        """Whether `compress` is to follow a proof in several shards."""
        return bool(self.job.prover.layers)

    def run(self) -> GuestRun | None:
        """Return a guest's run in this process, once it has ended."""
        return guest_run(self.ran.result())

    def verify(self, proof: AnyProof) -> Verdict:
        """Verify a whole proof."""
        self.committed.result()
        verdict = self.job.prover.verify_made(proof, None)
        check_returned(self.job, proof, self.job.claim_about(self.ran.result()))
        return verdict

    def expect(self, headers: Proof | ShardedProof) -> Expected:
        """Verify the headers of a proof in several shards, and return the verification of the shards."""
        self.committed.result()
        against = self.job.prover.expect(headers)
        check_returned(self.job, headers, self.job.claim_about(self.ran.result()), base=True)
        if self.prepared:
            check_headers(headers, self.prepared)
        return against

    def compress(self, made: Made, prove: "ProveLayers", target: "Target") -> Made:
        """Compress a proof in several shards, as `Recipe.compressed`."""
        return self.job.prover.compressed(made, prove, target)


def guest_run(run: Execution | None, cost: int | None = None) -> GuestRun | None:
    """Return the figures of a guest's run for reports."""
    return GuestRun(run.cycles, run.misaligned, run.exit_code, shown(run.output), cost) if run else None
