"""Proofs for the tasks of workers."""

from dataclasses import replace

from graphprover.device import Device
from graphprover.graphs.executor_names import THREADS
from graphprover.jobs.job import Job
from graphprover.prover.layers import LayerJob
from graphprover.prover.local import make
from graphprover.prover.made import Made, checksum_of
from graphprover.prover.prepare import Prepared, PreparedShards

Provable = Job | LayerJob | Prepared | PreparedShards  # the subjects of a task that proves


def made(subject: Provable, executor: str = THREADS, device: Device | str = "auto", verified: bool = True) -> Made:
    """Prove a job, a layer or a prepared statement by a device of this process, for a worker's task.

    `Job.make` describes arguments and errors. A verified proof gets its checksum, which the client compares.
    """
    if isinstance(subject, Prepared | PreparedShards):
        result = make(subject, executor, device, verified=verified)
    else:
        result = subject.make(executor, device, progress=False, verified=verified)
    return replace(result, checksum=checksum_of(result.proof)) if verified else result
