"""prove_many(): proofs of many jobs, by this process or by a cluster, as they come."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from graphprover.device import Device
from graphprover.graphs.executor_names import THREADS
from graphprover.jobs.job import Job
from graphprover.jobs.result import Result
from graphprover.proving.executor import Begun, executor_of
from graphprover.runtime.arguments import expect


def prove_many(
    jobs: Iterable[Job],
    executor: Any = THREADS,
    device: Device | str = "auto",
    begun: Begun | None = None,
) -> Iterator[Result]:
    """Prove ``jobs``, which may come from an endless iterator, and yield each result; a job that fails ends no other.

        from pathlib import Path
        from graphprover import Prover, prove_many

        if __name__ == "__main__":  # the processes that are started import this file
            sha256 = Prover("examples/guests/sha256.elf")
            inputs = Path("inputs").glob("*.txt")
            jobs = [sha256.job(path, path.name, existing=path.with_suffix(".proof")) for path in inputs]
            for result in prove_many(jobs, executor="processes"):
                if result.error:
                    print(result.job.name, result.error)
                elif not result.kept:
                    result.proof.save(result.job.existing)

    A second run makes only the proofs that are missing or not good enough.

    An iterator is read as results come, so it may be endless, and may wait for jobs from a queue: no proof waits for
    the next job, and neither jobs nor results are retained.

    Every proof has been verified by the process that made it, or by one that this process has started. On a GPU of this
    process the next job begins before a result is yielded: its guest runs during the proof of this one, and a helper
    process verifies this proof during the next one.

    Of a worker's proof this process verifies the header: the level, the program, and the claim about a guest's run,
    which this process repeats without a record. It compares the payload's checksum with the one that the worker
    computed after verification. `verify` checks the rest. A proof that does not hold is retried once, on another
    worker.

    Args:
        jobs: The jobs. The next one is the one with the highest priority, and of equal ones the heaviest. A collection
            is ordered as a whole. An iterator is read by a thread of its own, at most eight jobs ahead, on a cluster 64
            for each worker; the order is the one among these. An input that is a path is read when its job begins, and
            on a GPU of this process one job earlier.
        executor: As in `graphprover.prove`. On a cluster every job is a task, or several short ones are. ``"cuda"`` and
            ``"processes"`` start a cluster on this host for the time of the call. ``"auto"`` without a background
            cluster begins in this process, and starts such a cluster once it pays (docs/cluster.md).
        device: As in `graphprover.prove`.
        begun: Called with each job when it begins, and with the address of its worker; empty for this process.

    Yields:
        The result of each job. It has the address of the worker that made it.

    Raises:
        ValueError: for another executor, or a device that is missing.
        Exception: the exception of an iterator of jobs; the results of the jobs before have been yielded.
        graphprover.cluster.ClusterError: if the cluster can make no proofs.
        graphprover.device.DeviceLost: if this process has lost its GPU; the jobs before have been yielded.
    """
    expect(jobs, Iterable, "prove_many: jobs", "give a sequence or an iterator of Job")
    checked = list(map(_job, jobs)) if isinstance(jobs, Collection) else map(_job, jobs)
    yield from executor_of(executor, device).prove_many(checked, begun or (lambda job, worker: None))


def _job(job: Job) -> Job:
    """Return a job; raises TypeError for anything else."""
    expect(job, Job, "prove_many: a job", "give a Job, as Prover.job makes it")
    return job
