"""Metrics for Prometheus: of requests, of jobs as they end, and of the queue when they are read."""

import time
from collections.abc import Iterator
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy import Row

from graphprover.service.counted import COUNTED
from graphprover.service.queue import Queue
from graphprover.service.states import DONE
from graphprover.service.supervisor import Supervisor

REQUEST_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30)
JOB_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400)


class ServiceMetrics:
    """The metrics of one service since its start, in a registry of their own."""

    def __init__(self, queue: Queue, supervisor: Supervisor) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        registry.register(_Current(queue, supervisor))
        self._requests = Histogram(
            "graphprover_request_seconds",
            "Seconds of HTTP requests",
            ("method", "route", "status"),
            buckets=REQUEST_SECONDS,
            registry=registry,
        )
        self.submitted = Counter("graphprover_jobs_submitted", "Jobs that clients have submitted", registry=registry)
        self._ended = Counter(
            "graphprover_jobs_ended", "Jobs that have ended", ("state", "from_store"), registry=registry
        )
        self._retries = Counter(
            "graphprover_job_retries", "Starts of jobs after the death of a prover process", registry=registry
        )
        self._wait = Histogram(
            "graphprover_job_wait_seconds", "From submission to start", buckets=JOB_SECONDS, registry=registry
        )
        self._total = Histogram(
            "graphprover_job_seconds",
            "From submission to the end, of jobs that are done",
            buckets=JOB_SECONDS,
            registry=registry,
        )
        self._prove = Histogram(
            "graphprover_job_prove_seconds", "From the last start to the end", buckets=JOB_SECONDS, registry=registry
        )
        self.callbacks = Counter("graphprover_callbacks", "Attempts of callbacks", ("result",), registry=registry)
        for state in ("done", "failed", "cancelled"):
            self._ended.labels(state, "false")

    def request_ended(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that has ended."""
        self._requests.labels(method, route, status).observe(seconds)

    def job_ended(self, row: Row[Any]) -> None:
        """Count a job that has ended."""
        self._ended.labels(row.state, str(row.from_store).lower()).inc()
        self._retries.inc(max(0, row.attempts - 1))
        if row.started is not None and not row.from_store:
            self._wait.observe(row.started - row.created)
            self._prove.observe(row.ended - row.started)
        if row.state == DONE:
            self._total.observe(row.ended - row.created)

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self._registry)


class _Current(Collector):
    """Metrics that are read from the queue and the supervisor."""

    def __init__(self, queue: Queue, supervisor: Supervisor) -> None:
        self._queue, self._supervisor = queue, supervisor

    def describe(self) -> list[GaugeMetricFamily]:
        """Return no descriptions, so that registration reads nothing."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """Yield the metrics."""
        jobs = GaugeMetricFamily("graphprover_jobs", "Jobs in the database by state", labels=["state"])
        for state, number in self._queue.counts().items():
            jobs.add_metric([state], number)
        yield jobs
        oldest = self._queue.oldest_queued()
        age = 0.0 if oldest is None else max(0.0, time.time() - oldest)
        yield GaugeMetricFamily("graphprover_queue_oldest_seconds", "Age of the oldest job that waits", age)
        yield GaugeMetricFamily(
            "graphprover_prover_ready", "Whether the prover takes jobs", int(not self._supervisor.problem)
        )
        yield GaugeMetricFamily(
            "graphprover_prover_failures", "Prover processes that have failed", self._supervisor.restarts
        )
        for name, number in self._supervisor.counted.items():
            yield CounterMetricFamily(f"graphprover_{name}", COUNTED[name], number)
