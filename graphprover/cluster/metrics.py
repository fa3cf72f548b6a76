"""What a worker tells of its proofs: to Dask's dashboard seconds by activity, figures and warnings; to Prometheus the
same figures.

The figures travel with a worker's heartbeats, and the warnings as events, wherever the worker was started.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

from distributed import Worker
from distributed.metrics import context_meter

from graphprover.cluster.shard_worker import Finished, Held
from graphprover.cluster.tasks import EVENTS
from graphprover.device import Device
from graphprover.device.choose import device_for
from graphprover.device.host_memory import resident
from graphprover.graphs.executor_names import THREADS
from graphprover.graphs.observer import TaskTime, timed
from graphprover.jobs.jobs import Job, made
from graphprover.protocol.layout import Layout
from graphprover.prover.local import Made
from graphprover.prover.prepare import Prepared, PreparedShards
from graphprover.telemetry.activities import EXECUTE, HOST, VERIFY, WAITING, activity, shares
from graphprover.telemetry.subscribe import observed

P = TypeVar("P", Held, Finished)

STAGES = {"prepare": EXECUTE, "wait": WAITING, "verify": VERIFY}  # of `Made.seconds`
COUNTED = {"proofs": "Proofs made.", "cycles": "Cycles of guests proved.", "cells": "Cells that proofs commit to."}
UPLOAD, DOWNLOAD = "upload", "download"  # bytes over a GPU's bus, beside the seconds
LOOK_AGAIN_SECONDS = 3.0  # after which another proof of the same shape is timed
MOST_SHAPES = 64  # of which times are kept

# By their names among Dask's metrics of a worker; rates are those of the latest proof.
PROOFS, CYCLES, CELLS, MEMORY, POOL = "proofs", "cycles/s", "cells/s", "device memory", "pool"


_log = logging.getLogger(__name__.partition(".")[0])  # of all modules


@dataclass(frozen=True)
class _Inside:
    """What the tasks of a proof took."""

    looked: float  # when, of time.monotonic
    prove: float  # seconds of all, and between them
    seconds: Mapping[str, float]  # by activity
    moved: Mapping[str, int]  # bytes, by direction

    def of(self, prove: float) -> "_Inside":
        """The same of a proof of the same shape that took so many seconds."""
        return replace(self, prove=prove, seconds={name: s * prove / self.prove for name, s in self.seconds.items()})


class Look:
    """At what the tasks of one proof take.

    Not of each proof, as that takes a tenth of a small one: what one took stands for others of its shape for a while.
    """

    def __init__(self, seen: dict[Layout, _Inside]) -> None:
        self._seen = seen  # of proofs before
        self._layout: Layout | None = None  # where the proof is whole

    def wanted(self, layout: Layout) -> bool:
        """Whether the proof, which begins, is to be timed."""
        self._layout = layout
        return layout not in self._seen or time.monotonic() > self._seen[layout].looked + LOOK_AGAIN_SECONDS

    def inside(self, prove: float, tasks: Sequence[TaskTime]) -> _Inside:
        """Of the proof, which has taken so many seconds; ``tasks``: where it was timed."""
        if self._layout and not tasks:
            return self._seen[self._layout].of(prove)
        seconds = shares((activity(task.round), task.start, task.end) for task in tasks)
        moved = {UPLOAD: sum(task.uploaded for task in tasks), DOWNLOAD: sum(task.downloaded for task in tasks)}
        found = _Inside(time.monotonic(), prove, seconds, moved)
        if self._layout:
            if len(self._seen) >= MOST_SHAPES:
                self._seen.clear()
            self._seen[self._layout] = found
        return found


class Meters:
    """What this process has proved, and on what device; it makes one proof at a time."""

    def __init__(self) -> None:
        self.device: Device | None = None
        self.totals: Counter[str] = Counter()  # proofs, cycles, cells
        self.seconds: Counter[str] = Counter()  # by activity
        self.rates: Counter[str] = Counter()  # of the latest proof: cycles and cells in a second
        self.seen: dict[Layout, _Inside] = {}  # the latest proof that was timed, by its shape

    def use(self, device: Device | str) -> Device:
        """The device that the next proof is made by."""
        self.device = device_for(device) if isinstance(device, str) else device
        return self.device

    def add(self, seconds: dict[str, float], cycles: int, cells: int) -> None:
        """Another proof."""
        took = sum(seconds.values()) - seconds.get(WAITING, 0)
        self.totals.update(proofs=1, cycles=cycles, cells=cells)
        self.seconds.update(seconds)
        self.rates = Counter(cycles=int(cycles / took), cells=int(cells / took))

    def memory(self) -> int:
        """Bytes that are held of the device's memory; on a CPU all that the process has."""
        return self.device.memory.held() if self.device else resident()

    def pool(self) -> int:
        """Bytes that the process keeps of a GPU, in use or not."""
        return self.device.memory.reserved() if self.device else 0


METERS = Meters()
SHOWN: dict[str, Callable[[], int]] = {
    PROOFS: lambda: METERS.totals["proofs"],
    CYCLES: lambda: METERS.rates["cycles"],
    CELLS: lambda: METERS.rates["cells"],
    MEMORY: METERS.memory,
    POOL: METERS.pool,
}


def metered(
    subject: Job | Prepared | PreparedShards, device: Device | str, observe: bool = False, verified: bool = True
) -> Made:
    """`graphprover.jobs.jobs.made` in a task of Dask's, which hears how many seconds it has taken with what.

    What is left of the task's time is Dask's own, such as unpickling, and it says so itself. ``observe``: what was seen
    is to come with the proof.
    """
    METERS.use(device)
    look = Look(METERS.seen)
    with timed(look.wanted) as tasks, observed() if observe else nullcontext():
        result = made(subject, THREADS, device, verified)
    seconds = _told(result.seconds, tasks, look)
    if not result.kept:
        METERS.add(seconds, _cycles(subject, result), result.cells)
    return result


def metered_shard(make: Callable[[Device], P], device: Device | str, observe: bool) -> P:
    """What ``make`` makes of a shard by the device, in a task of Dask's; no proof is counted. ``observe``: as above."""
    own = METERS.use(device)
    with timed() as tasks, observed() if observe else nullcontext():
        result = make(own)
    METERS.seconds.update(_told(result.seconds, tasks, Look(METERS.seen)))
    return result


def _told(stages: Mapping[str, float], tasks: Sequence[TaskTime], look: Look) -> dict[str, float]:
    """Seconds by activity, which Dask hears."""
    seconds = {STAGES[stage]: taken for stage, taken in stages.items() if stage in STAGES}
    if "prove" in stages:
        inside = look.inside(stages["prove"], tasks)
        seconds |= {**inside.seconds, HOST: max(stages["prove"] - sum(inside.seconds.values()), 0.0)}
        for name, total in inside.moved.items():
            if total:
                context_meter.digest_metric(name, total, "bytes")
    for name, taken in seconds.items():
        context_meter.digest_metric(name, taken, "seconds")
    return seconds


def install(worker: Worker) -> None:
    """Have a worker tell of its proofs; a second time it does nothing."""
    if not SHOWN.keys() <= worker.metrics.keys():
        worker.metrics |= {name: partial(_shown, figure) for name, figure in SHOWN.items()}
        _warnings.worker = worker
        _log.addHandler(_warnings)
        _collect()


def _shown(figure: Callable[[], int], worker: Worker) -> int:
    return figure()


class _Warnings(logging.Handler):
    """Sends what this process warns of to the scheduler, for whoever asks for its events."""

    worker: Worker | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self.worker:
            line = record.getMessage()
            self.worker.log_event(EVENTS, {"worker": self.worker.address, "level": record.levelname, "line": line})
        if logging.lastResort and not logging.root.handlers and _log.handlers == [self]:
            logging.lastResort.handle(record)  # as without this handler


_warnings = _Warnings(logging.WARNING)


class _Prometheus:
    """What a worker's ``/metrics`` says of its proofs."""

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for name, what in COUNTED.items():
            yield CounterMetricFamily(f"graphprover_{name}", what, value=METERS.totals[name])
        spent = CounterMetricFamily("graphprover_seconds", "Time of proofs.", labels=["activity"], unit="seconds")
        for name, seconds in sorted(METERS.seconds.items()):
            spent.add_metric([name], seconds)
        yield spent
        yield GaugeMetricFamily(
            "graphprover_device_memory", "Held of the device's memory.", value=METERS.memory(), unit="bytes"
        )
        yield GaugeMetricFamily(
            "graphprover_pool", "Kept of the GPU's memory, in use or not.", value=METERS.pool(), unit="bytes"
        )


@cache
def _collect() -> None:
    """Once in a process."""
    with suppress(ModuleNotFoundError):  # a worker without it has no /metrics
        from prometheus_client import REGISTRY

        REGISTRY.register(_Prometheus())


def _cycles(subject: Job | Prepared | PreparedShards, result: Made) -> int:
    claim = subject.prover.program.claim_in(result.proof) if isinstance(subject, Job) else None
    return claim.cycles if claim else 0
