"""Figures of a batch: proofs an hour, times of proofs, retries and energy."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict

import numpy as np

from graphprover.cli.json_output import Facts
from graphprover.device.choose import AUTO, CPU, CUDA, gpu_address, gpus, named
from graphprover.device.energy import Energy, HostEnergy, metered
from graphprover.graphs.executor_names import CLUSTERS, GROWING, HERE, PROCESSES
from graphprover.graphs.executor_names import CUDA as ALL_GPUS
from graphprover.runtime import background
from graphprover.runtime.files import FileError

MEDIAN, MOST = 50, 95  # percentiles of the time of a proof
ELSEWHERE = "the workers may be on other hosts"


def figures(jobs: Sequence[Facts], seconds: float, energy: HostEnergy) -> Facts:
    """Return the figures of a batch.

    Args:
        jobs: The outcomes of its jobs (`json_output.job`). Only proofs that the batch has made count.
        seconds: The duration of the batch.
        energy: The energy during the batch.
    """
    made = [sum(job["seconds"].values()) for job in jobs if job["outcome"] == "made"]
    median, most = (float(value) for value in np.percentile(made, [MEDIAN, MOST])) if made else (None, None)

    def by_proof(found: Energy) -> Facts:
        each = found.joules / len(made) if found.joules is not None and made else None
        return {**asdict(found), "joules_per_proof": each}

    return {
        "seconds": seconds,
        "proofs_per_hour": 3600 * len(made) / seconds,
        "seconds_per_proof": seconds / len(made) if made else None,
        "proof_seconds": {f"p{MEDIAN}": median, f"p{MOST}": most},
        "retries": sum(max(0, job["attempts"] - 1) for job in jobs),
        "energy": {"gpu": by_proof(energy.gpu) if energy.gpu else None, "cpu": by_proof(energy.cpu)},
    }


@contextmanager
def metered_by(executor: str, device: str) -> Iterator[Callable[[], HostEnergy]]:
    """Yield a function that returns the energy of the devices that prove, since the start of the context.

    Args:
        executor: The executor of the proofs; of workers on other hosts nothing is measured.
        device: The device of the proofs.
    """
    here = executor if executor in (*HERE, *CLUSTERS) else _background_kind(executor)
    if here is None:
        unknown = Energy(None, ELSEWHERE)
        yield lambda: HostEnergy(None if named(device).kind == CPU else unknown, unknown)
        return
    with metered([gpu_address(number) for number in _gpus_of(here, device)]) as read:
        yield read


def _background_kind(executor: str) -> str | None:
    """Return the executor that the background cluster is like, if this is its address or its file."""
    with suppress(FileError):  # no folder is private to this user, so no background cluster runs
        _, cluster = background.found()
        return cluster.kind if cluster and executor in (cluster.address, str(background.file())) else None
    return None


def _gpus_of(executor: str, device: str) -> Sequence[int]:
    """Return the numbers of the GPUs that prove; a missing GPU is an error of the proof."""
    kind, number = named(device)
    if executor == ALL_GPUS or (executor == GROWING and device in (AUTO, CUDA)):  # processes may use all of them
        return range(gpus())
    wants = kind == CUDA or (kind == AUTO and executor != PROCESSES)
    return [number] if wants and number < gpus() else []
