"""prove_many(): proofs of many jobs, by this process or by a cluster, as they come."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from graphprover.device import Device, DeviceLost
from graphprover.device.choose import device_for
from graphprover.graphs.executor_names import LOCAL, THREADS
from graphprover.jobs.jobs import Job, Result, made
from graphprover.telemetry.subscribe import publish

Begun = Callable[[Job, str], None]
Weighed = Sequence[tuple[int, Job]]


def prove_many(
    jobs: Iterable[Job],
    executor: Any = THREADS,
    device: Device | str = "auto",
    begun: Begun | None = None,
) -> Iterator[Result]:
    """Prove ``jobs``, the heaviest first, and yield each result as it comes; a job that fails ends no other.

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

    Run again, it makes the proofs that are missing, or not good enough.

    ``executor``: as of `graphprover.prove`; on a cluster every job is a task, or several are that take little time;
    its result says which worker made it. ``"cuda"`` and ``"processes"`` are a cluster on this host that lasts as long
    as this call. ``device``: as there. ``begun`` is told each job as it begins, and the address of its worker.

    What a job weighs is known only once its program has run, so the bytes of its input stand for it. ``jobs`` is read
    to its end before the first begins, but no input that is a path before its job does.

    Every proof has been verified by the process that made it. Of a worker's proof this process verifies the header:
    the level, the program, and what it says of a guest's run, which this process repeats without a record. It compares
    the payload's checksum with the one that the worker computed after verification. `verify` checks the rest. A proof
    that does not hold is retried, once, on another worker.

    Raises ValueError for another executor, or a device that is not there; `graphprover.cluster.ClusterError` where a
    cluster can make no proofs; and what ends this process or its GPU: KeyboardInterrupt,
    `graphprover.device.DeviceLost`.
    """
    weighed = sorted(((_weight(job), job) for job in jobs), key=itemgetter(0), reverse=True)
    prove = _here if executor in LOCAL else _by_cluster
    yield from prove(weighed, executor, device, begun or (lambda job, worker: None))


def _here(weighed: Weighed, executor: str, device: Device | str, begun: Begun) -> Iterator[Result]:
    """One after another."""
    if isinstance(device, str):
        device_for(device)  # raises where no job could be proved
    for _, job in weighed:
        begun(job, "")
        try:
            result = Result(job, made(job, executor, device))
        except DeviceLost:
            raise
        except Exception as error:
            result = Result(job, None, error)
        yield result


def _by_cluster(weighed: Weighed, executor: Any, device: Device | str, begun: Begun) -> Iterator[Result]:
    """As tasks of workers."""
    from graphprover.cluster.batch_check import ResultChecker
    from graphprover.cluster.batching import BatchTasks  # which load Dask's distributed
    from graphprover.cluster.client import joined
    from graphprover.cluster.tasks import ProvingTask

    with joined(executor, max(1, len(weighed))) as cluster, ResultChecker() as checker:
        batch = BatchTasks(weighed, device, partial(cluster.workers, device), checker.check)

        def begins(task: ProvingTask, worker: str) -> None:
            for job in batch.jobs(task):
                checker.begin(job)
                begun(job, worker)

        for result in cluster.run(batch, device, begins):
            for job, theirs, error in batch.results(result):
                checker.forget(job)
                if theirs and theirs.observation:
                    theirs = replace(theirs, observation=publish(theirs.observation.of_worker(result.worker)))
                yield Result(job, theirs, error, result.worker, result.attempts)


def _weight(job: Job) -> int:
    """What a job weighs, as far as that is known before it runs."""
    if not isinstance(job.data, Path):
        return len(job.data or b"")
    try:
        return job.data.stat().st_size
    except OSError:  # told when it is read
        return 0
