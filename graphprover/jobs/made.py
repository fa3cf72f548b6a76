"""Proofs for the tasks of workers."""

from dataclasses import replace
from typing import Any

from graphprover.device import Device
from graphprover.graphs.executor_names import THREADS
from graphprover.prover.local import make
from graphprover.prover.made import Made, checksum_of
from graphprover.prover.prepare import Prepared, PreparedShards


def made(subject: Any, executor: str = THREADS, device: Device | str = "auto", verified: bool = True) -> Made:
    """Prove a job, a layer or a prepared statement by a device of this process, for a worker's task.

    `Job.make` describes arguments and errors. A verified proof gets its checksum, which the client compares.
    """
    if isinstance(subject, Prepared | PreparedShards):
        result = make(subject, executor, device, verified=verified)
    else:
        result = subject.make(executor, device, progress=False, verified=verified)
    return replace(result, checksum=checksum_of(result.proof)) if verified else result
