"""The processes that a cluster on this host would have: their number, their threads and GPUs.

No import of Dask's distributed: a batch asks for the number before it decides to start them.
"""

import os
from collections.abc import Sequence
from multiprocessing import current_process
from typing import Any

from graphprover.cluster import ClusterError
from graphprover.device.choose import gpus, memory_of, missing
from graphprover.device.host_processor import available_threads
from graphprover.graphs.executor_names import CUDA, PROCESSES
from graphprover.runtime.settings import MPS, POOL, WORKERS, bytes_of, setting

MOST_PROCESSES = 8  # by default
MOST_PER_GPU, MOST_BY_MPS = 8, 16  # by default; more processes gain little
CONTEXT_BYTES = 600 << 20  # GPU memory of a process without arrays, on an H200

GUARD = 'Its processes import your script, which must guard the start with if __name__ == "__main__"'


def check_imported(kind: str) -> None:
    """Raise ClusterError in a process that is being started itself, and imports the script that starts it."""
    if getattr(current_process(), "_inheriting", False):
        raise ClusterError(f"executor {kind}: {GUARD}")


def uses_mps(kind: str) -> bool:
    """Return whether the processes share GPUs through NVIDIA's Multi-Process Service."""
    return kind == CUDA and bool(setting(MPS))


def options_of(kind: str, workers: int | None = None, tasks: int | None = None) -> list[dict[str, Any]]:
    """Return the options of each process, as Dask's nanny takes them.

    Args:
        kind: As in `local.starting`.
        workers: As in `local.starting`.
        tasks: As in `local.starting`.

    Raises:
        ClusterError: If there is no GPU.
    """
    number = workers or setting(WORKERS)
    return _for_gpus(number, tasks, uses_mps(kind)) if kind == CUDA else _for_cpus(number, tasks)


def _for_cpus(processes: int | None, tasks: int | None) -> list[dict[str, Any]]:
    """Return the options of each process, with the cores divided among them."""
    cores = available_threads()
    processes = processes or min(cores, MOST_PROCESSES, tasks or cores)
    return [{"nthreads": max(1, cores // processes), "env": {"CUDA_VISIBLE_DEVICES": ""}}] * processes


def _for_gpus(each: int | None, tasks: int | None, by_mps: bool) -> list[dict[str, Any]]:
    """Return the options of each process for GPUs: each sees one GPU, and GPUs take turns."""
    found = gpus()
    if not found:
        raise ClusterError(f"executor {CUDA}: {missing(found)}; executor {PROCESSES} uses CPUs")
    most = MOST_BY_MPS if by_mps else MOST_PER_GPU
    processes = each or _per_gpu(available_threads(), [memory_of(number) for number in range(found)], most)
    visible = None if by_mps else os.environ.get("CUDA_VISIBLE_DEVICES")  # numbers within the service
    names = visible.split(",")[:found] if visible else [str(number) for number in range(found)]
    options = [{"nthreads": 1, "env": {"CUDA_VISIBLE_DEVICES": name}} for _ in range(processes) for name in names]
    return options if each else options[:tasks]


def _per_gpu(cores: int, totals: Sequence[int], most: int) -> int:
    """Return the number of processes for each GPU.

    One per core, because a process waits for its GPU most of the time; limited by the GPU memory outside the pool, for
    the CUDA contexts of the processes.

    Args:
        cores: Of this process.
        totals: Memory of each GPU, in bytes.
        most: Upper limit.
    """
    outside = min(total - bytes_of(POOL, total) for total in totals)
    return max(1, min(cores // len(totals), outside // CONTEXT_BYTES, most))
