"""A worker's metrics: seconds by activity, figures and warnings for Dask's dashboard, and figures for Prometheus.

Figures are sent with the worker's heartbeats, and warnings as events.
"""

import logging
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate
from math import inf
from typing import Any, TypeVar

from distributed import Worker
from distributed.metrics import context_meter

from graphprover.cluster.shard_worker import CommittedShard, FinishedShard
from graphprover.cluster.tasks import EVENTS
from graphprover.cluster.window_worker import LaidOutWindow, RecordedWindow
from graphprover.device import Device
from graphprover.device.choose import device_for
from graphprover.device.host_memory import resident
from graphprover.graphs.executor_names import THREADS
from graphprover.graphs.observer import TaskTime, timed
from graphprover.jobs.made import Provable, made
from graphprover.protocol.layout import Layout
from graphprover.prover.made import Made
from graphprover.telemetry.activities import COMPRESS, EXECUTE, HOST, VERIFY, WAITING, activity, shares
from graphprover.telemetry.model import rate
from graphprover.telemetry.subscribe import observed

P = TypeVar("P", RecordedWindow, LaidOutWindow, CommittedShard, FinishedShard)

STAGES = {"prepare": EXECUTE, "wait": WAITING, "compress": COMPRESS, "verify": VERIFY}  # of `Made.seconds`
COUNTERS = {
    "proofs": "Proofs made.",
    "failures": "Attempts of proofs that failed.",
    "cycles": "Cycles of guests proved.",
    "cells": "Cells that proofs commit to.",
}
PROOF_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, inf)
UPLOAD, DOWNLOAD = "upload", "download"  # names of bytes over a GPU's bus
SAMPLE_SECONDS = 3.0  # after which another proof of the same shape is timed
MOST_SHAPES = 64  # with cached times

# Names among Dask's metrics of a worker. Rates are of the latest proof.
PROOFS, CYCLES, CELLS, MEMORY, POOL = "proofs", "cycles/s", "cells/s", "device memory", "pool"


_log = logging.getLogger(__name__.partition(".")[0])  # the logger of the package


@dataclass(frozen=True)
class _Times:
    """Times of the tasks of one proof."""

    measured: float  # time, by time.monotonic
    prove: float  # seconds of all tasks, and between them
    seconds: Mapping[str, float]  # by activity
    moved: Mapping[str, int]  # bytes by direction

    def scaled(self, prove: float) -> "_Times":
        """Return estimated times of a proof of the same shape that took ``prove`` seconds."""
        return replace(self, prove=prove, seconds={name: s * prove / self.prove for name, s in self.seconds.items()})


class TimingSample:
    """The times of the tasks of one proof, measured or estimated.

    Timing costs 10 % of a small proof. So of each shape one proof is timed every SAMPLE_SECONDS, and the times of
    others are estimated by it.
    """

    def __init__(self, samples: dict[Layout, _Times]) -> None:
        self._samples = samples  # of earlier proofs
        self._layout: Layout | None = None  # None for a shard

    def wanted(self, layout: Layout) -> bool:
        """Return whether to time the proof that starts."""
        self._layout = layout
        return layout not in self._samples or time.monotonic() > self._samples[layout].measured + SAMPLE_SECONDS

    def times(self, prove: float, tasks: Sequence[TaskTime]) -> _Times:
        """Return the times of a proof that took ``prove`` seconds; ``tasks``: empty if it was not timed."""
        if self._layout and not tasks:
            return self._samples[self._layout].scaled(prove)
        seconds = shares((activity(task.round), task.start, task.end) for task in tasks)
        moved = {UPLOAD: sum(task.uploaded for task in tasks), DOWNLOAD: sum(task.downloaded for task in tasks)}
        found = _Times(time.monotonic(), prove, seconds, moved)
        if self._layout:
            if len(self._samples) >= MOST_SHAPES:
                self._samples.clear()
            self._samples[self._layout] = found
        return found


class WorkerMetrics:
    """The metrics of this process, which makes one proof at a time."""

    def __init__(self) -> None:
        self.device: Device | None = None
        self.totals: Counter[str] = Counter()  # proofs, failures, cycles, cells
        self.durations = [0] * len(PROOF_SECONDS)  # proofs by the least of these that they did not exceed
        self.duration = 0.0  # seconds of all proofs, with waiting
        self.seconds: Counter[str] = Counter()  # by activity
        self.rates: Counter[str] = Counter()  # of the latest proof: cycles and cells per second
        self.samples: dict[Layout, _Times] = {}  # by shape: the latest timed proof

    def use(self, device: Device | str) -> Device:
        """Set the device of the next proof, and return it."""
        self.device = device_for(device)
        return self.device

    def add(self, made: Made, seconds: dict[str, float]) -> None:
        """Count a proof; ``seconds``: by activity."""
        whole, cycles = sum(seconds.values()), made.run.cycles if made.run else 0
        self.durations[bisect_left(PROOF_SECONDS, whole)] += 1
        self.duration += whole
        self.totals.update(proofs=1, cycles=cycles, cells=made.cells)
        self.seconds.update(seconds)
        amounts = {"cycles": cycles, "cells": made.cells}
        rates = {name: rate(amount, made.seconds, made.compile_seconds) for name, amount in amounts.items()}
        self.rates = Counter({name: int(found or 0) for name, found in rates.items()})

    def memory(self) -> int:
        """Return the bytes of the device's memory in use; on a CPU, the memory of the process."""
        return self.device.memory.held() if self.device else resident()

    def pool(self) -> int:
        """Return the bytes of the process's pool on a GPU, in use or not."""
        return self.device.memory.reserved() if self.device else 0


METRICS = WorkerMetrics()
FIGURES: dict[str, Callable[[], int]] = {
    PROOFS: lambda: METRICS.totals["proofs"],
    CYCLES: lambda: METRICS.rates["cycles"],
    CELLS: lambda: METRICS.rates["cells"],
    MEMORY: METRICS.memory,
    POOL: METRICS.pool,
}


def measured_proof(
    subject: Provable,
    device: Device | str,
    observe: bool = False,
    verified: bool = True,
) -> Made:
    """Run `graphprover.jobs.made.made` in a task, and report its seconds by activity to Dask.

    Dask reports the rest of the task's time itself, such as unpickling. ``observe``: whether to add an observation.
    """
    METRICS.use(device)
    sample = TimingSample(METRICS.samples)
    try:
        with timed(sample.wanted) as tasks, observed() if observe else nullcontext():
            result = made(subject, THREADS, device, verified)
    except Exception:
        METRICS.totals["failures"] += 1
        raise
    seconds = _report_seconds(result.seconds, tasks, sample)
    if not result.kept:
        METRICS.add(result, seconds)
    return result


def measured_shard(make: Callable[[Device], P], device: Device | str, observe: bool) -> P:
    """Run ``make`` for a shard in a task, and report its seconds by activity to Dask; no proof is counted."""
    own = METRICS.use(device)
    with timed() as tasks, observed() if observe else nullcontext():
        result = make(own)
    METRICS.seconds.update(_report_seconds(result.seconds, tasks, TimingSample(METRICS.samples)))
    return result


def _report_seconds(stages: Mapping[str, float], tasks: Sequence[TaskTime], sample: TimingSample) -> dict[str, float]:
    """Report the seconds by activity to Dask, and return them."""
    seconds = {STAGES[stage]: taken for stage, taken in stages.items() if stage in STAGES}
    if "prove" in stages:
        times = sample.times(stages["prove"], tasks)
        seconds |= {**times.seconds, HOST: max(stages["prove"] - sum(times.seconds.values()), 0.0)}
        for name, total in times.moved.items():
            if total:
                context_meter.digest_metric(name, total, "bytes")
    for name, taken in seconds.items():
        context_meter.digest_metric(name, taken, "seconds")
    return seconds


def install(worker: Worker) -> None:
    """Add the metrics to a worker, unless it has them."""
    if not FIGURES.keys() <= worker.metrics.keys():
        worker.metrics |= {name: partial(_figure, figure) for name, figure in FIGURES.items()}
        _events.worker = worker
        _log.addHandler(_events)
        _register()


def _figure(figure: Callable[[], int], worker: Worker) -> int:
    return figure()


class _EventHandler(logging.Handler):
    """A handler that sends warnings of this process to the scheduler as events."""

    worker: Worker | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self.worker:
            line = record.getMessage()
            self.worker.log_event(EVENTS, {"worker": self.worker.address, "level": record.levelname, "line": line})
        if logging.lastResort and not logging.root.handlers and _log.handlers == [self]:
            logging.lastResort.handle(record)  # the default without this handler


_events = _EventHandler(logging.WARNING)


class _Prometheus:
    """A collector for a worker's ``/metrics``."""

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
        from prometheus_client.utils import floatToGoString

        for name, what in COUNTERS.items():
            yield CounterMetricFamily(f"graphprover_{name}", what, value=METRICS.totals[name])
        counts = accumulate(METRICS.durations)
        buckets = [(floatToGoString(most), count) for most, count in zip(PROOF_SECONDS, counts, strict=True)]
        yield HistogramMetricFamily(
            "graphprover_proof_seconds", "Seconds of proofs, with waiting.", buckets, METRICS.duration
        )
        spent = CounterMetricFamily("graphprover_seconds", "Time of proofs.", labels=["activity"], unit="seconds")
        for name, seconds in sorted(METRICS.seconds.items()):
            spent.add_metric([name], seconds)
        yield spent
        yield GaugeMetricFamily(
            "graphprover_device_memory", "Memory of the device in use.", value=METRICS.memory(), unit="bytes"
        )
        yield GaugeMetricFamily(
            "graphprover_pool", "Memory of the pool on the GPU, in use or not.", value=METRICS.pool(), unit="bytes"
        )


@cache
def _register() -> None:
    """Register the collector, once in a process."""
    with suppress(ModuleNotFoundError):  # a worker without it has no /metrics
        from prometheus_client import REGISTRY

        REGISTRY.register(_Prometheus())
