"""prove_many(): proofs of many jobs, by this process or by a cluster, as they come."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from graphprover.device import Device
from graphprover.graphs.executor_names import THREADS
from graphprover.jobs import Job, Result


def prove_many(
    jobs: Iterable[Job],
    executor: Any = THREADS,
    device: Device | str = "auto",
    started: Callable[[Job, str], None] | None = None,
) -> Iterator[Result]:
    """Prove ``jobs``, the heaviest first, and yield each result as it comes; a job that fails ends no other.

    ``executor``: as of `graphprover.prove`, and ``"cuda"`` or ``"processes"`` for a cluster on this host that lasts as
    long as this call. ``started`` is told each job as it begins, and by which worker.
    """
    raise NotImplementedError
