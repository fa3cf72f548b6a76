"""Proofs of the queue's jobs, one after another or on a cluster, by one prover process."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graphprover.jobs.errors import message_of
from graphprover.jobs.job import Job
from graphprover.jobs.result import Result
from graphprover.proof.compressed import CompressedProof
from graphprover.proving.batch import prove_many
from graphprover.runtime.files import FileError
from graphprover.service.config import ServiceLimits
from graphprover.service.counted import BYTES, CELLS, CYCLES, RETRIES
from graphprover.service.jobs import Provers, QueuedJob
from graphprover.service.json_log import current_job
from graphprover.service.queue import Queue
from graphprover.service.store import INPUTS, Store

POLL_SECONDS = 0.1  # between two looks for a job
PROGRESS_SECONDS = 0.5  # between two writes of the progress

_LIMITS = ServiceLimits()

_log = logging.getLogger(__name__)


class Cancelled(Exception):
    """The end of a proof whose job was cancelled."""


class Runner:
    """A prover process's part of the queue."""

    def __init__(
        self,
        queue: Queue,
        store: Store,
        inputs: Path,
        prover: str,
        count: Callable[[str, int], None] = lambda name, number: None,
        limits: ServiceLimits = _LIMITS,
    ) -> None:
        """Create a runner.

        Args:
            queue: The queue.
            store: The store.
            inputs: An empty folder of this host for the inputs of jobs that wait for their turn.
            prover: The id of this prover process.
            count: Called with names of `counted` and numbers, of each proof that was made.
            limits: The limits of jobs.
        """
        self._count = count
        self._queue, self._store, self._inputs, self._prover = queue, store, inputs, prover
        self._provers = Provers(store, limits)
        self._had: dict[int, tuple[int, int, str] | None] = {}  # by number of a job: its progress, if it is known
        self._cancelled: set[int] = set()
        self._lock = threading.Lock()  # of the two above

    def run(self, executor: Any, device: str, goes_on: Callable[[], bool]) -> None:
        """Prove jobs until ``goes_on`` returns False, and end the ones that were taken before.

        Raises:
            ClusterError: The executor has failed; its jobs are still this prover's.
            DeviceLost: The GPU has failed.
        """
        threading.Thread(target=self._follow, name="graphprover-progress", daemon=True).start()
        for result in prove_many(self._jobs(goes_on), executor, device, self._begun):
            assert isinstance(result.job, QueuedJob)
            current_job.set(result.job.id)
            self._end(result.job, result)
            current_job.set(None)

    def _jobs(self, goes_on: Callable[[], bool]) -> Iterator[QueuedJob]:
        """Yield the jobs of the queue in their order."""
        while goes_on():
            row = self._queue.take(self._prover)
            if row is None:
                time.sleep(POLL_SECONDS)
            elif self._store.intact(row.proof_key):
                if self._queue.finish(row.number, self._prover, from_store=True):
                    _log.info("the proof is in the store", extra={"job": row.id})
            elif job := self._opened(row):
                with self._lock:
                    self._had[row.number] = None
                yield job

    def _opened(self, row: Any) -> QueuedJob | None:
        """Return the job of a row; end it if its program or input cannot be opened."""

        def progress(ended: int, total: int, task: str) -> None:
            with self._lock:
                self._had[row.number] = (ended, total, task)

        def interrupt() -> None:
            if row.number in self._cancelled:
                raise Cancelled

        try:
            file = None
            if row.input:
                file = self._inputs / row.id
                self._store.copy_upload(INPUTS, row.input, file)
            return self._provers.job(row, file, progress, interrupt)
        except FileNotFoundError:
            problem = "its program or input is no longer in the store: upload it and submit the job again"
        except (OSError, FileError):  # of the store: the job is not at fault
            raise
        except Exception as error:  # which would end each prover process that takes the job
            problem = message_of(error)
        if self._queue.fail(row.number, self._prover, problem):
            _log.warning("failed: %s", problem, extra={"job": row.id})
        return None

    def _begun(self, job: Job, worker: str) -> None:
        """Record that a job starts; a job that was cancelled before ends with its first step."""
        assert isinstance(job, QueuedJob)
        if not worker:  # this thread proves it
            current_job.set(job.id)
        if self._queue.begin(job.number, self._prover, worker):
            _log.info("started", extra={"job": job.id} | ({"worker": worker} if worker else {}))
        else:
            with self._lock:
                self._cancelled.add(job.number)

    def _end(self, job: QueuedJob, result: Result) -> None:
        """Store a proof and end its job, or end it with its error."""
        with self._lock:
            self._had.pop(job.number, None)
            self._cancelled.discard(job.number)
        if isinstance(job.data, Path):
            job.data.unlink(missing_ok=True)
        if result.attempts > 1:
            self._count(RETRIES, result.attempts - 1)
        if isinstance(result.error, Cancelled):
            _log.info("its proof was stopped, because it was cancelled")
        elif result.error:
            problem = "; ".join([message_of(result.error), *getattr(result.error, "__notes__", ())])
            if self._queue.fail(job.number, self._prover, problem):
                _log.warning("failed: %s", problem)
        else:
            assert result.proof
            proof, report = result.proof.to_bytes(), _report(result)
            try:
                self._store.save_proof(job.proof_key, proof, _claim(job, result), report)
            except Exception:  # of the disk, or of any kind of store: the job is not at fault
                self._queue.put_back(job.number, self._prover)
                raise
            for name, number in ((CYCLES, report["cycles"] or 0), (CELLS, report["cells"]), (BYTES, len(proof))):
                self._count(name, number)
            if self._queue.finish(job.number, self._prover):
                _log.info("proved", extra={"seconds": round(sum(result.seconds.values()), 3)})
            else:
                _log.info("proved, but the job had been cancelled")

    def _follow(self) -> None:
        """Write the progress of jobs to the queue, and read which ones were cancelled."""
        written: dict[int, tuple[int, int, str] | None] = {}
        while True:
            time.sleep(PROGRESS_SECONDS)
            with self._lock:
                had = dict(self._had)
            try:
                cancelled = self._queue.cancelled(self._prover, list(had)) if had else set()
                with self._lock:
                    self._cancelled |= cancelled & self._had.keys()
                for number, progress in had.items():
                    if progress and progress != written.get(number):
                        facts = dict(zip(("tasks_ended", "tasks", "task"), progress, strict=True))
                        self._queue.set_progress(number, self._prover, facts)
                written = had
            except Exception:  # of the database, which the other thread reports if it lasts
                _log.warning("the progress was not written", exc_info=True)


def _claim(job: QueuedJob, result: Result) -> dict[str, Any]:
    """Return the public statement of a proof."""
    assert result.proof
    program, header = job.prover.program, result.proof.header
    layers = result.proof.layers if isinstance(result.proof, CompressedProof) else ()
    return {
        "program": program.program_hash,
        "label": header.label,
        "says": program.says(header),
        "security_bits": job.prover.level.security,
        "parameters": asdict(header.parameters),
        "shards": len(header.proofs),
        "layers": [asdict(layer.parameters) for layer in layers],
    }


def _report(result: Result) -> dict[str, Any]:
    """Return how a proof was made."""
    made = result.made
    assert made
    return {
        "seconds": dict(result.seconds),
        "compile_seconds": made.compile_seconds,
        "shards": [dict(shard) for shard in made.shards],
        "peak_bytes": made.peak_bytes,
        "cells": made.cells,
        "cycles": made.run.cycles if made.run else None,
        "misaligned_accesses": made.run.misaligned_accesses if made.run else None,
        "cost": made.run.cost if made.run else None,
        "base_bytes": made.base_bytes,
        "worker": result.worker or None,
        "attempts": result.attempts,
    }
