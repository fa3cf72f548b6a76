"""What a worker of a Dask cluster does for us: it makes proofs, or shards of one, on its own device.

`graphprover.cluster.dispatcher` names this module in text, so that a worker without it fails a task and lives. A worker
that is started with it, ``dask worker … --preload graphprover.worker``, joins once it is warm.
"""

import asyncio
import ctypes
import logging
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache

from distributed import Worker, WorkerPlugin, get_worker

from graphprover.admission.admission import limit_process
from graphprover.cluster.messages import Part, Whole, unpacked
from graphprover.cluster.metrics import METERS, install, metered, metered_shard
from graphprover.cluster.results import carried
from graphprover.cluster.shard_worker import Finished, Held, commit_one, finish_one
from graphprover.cluster.tasks import BEGUN, TOGETHER_SECONDS
from graphprover.cluster.workers import READY, enlist
from graphprover.device import CpuDevice, Device, DeviceLost
from graphprover.device.choose import AUTO, CPU, profile_of
from graphprover.jobs.warmup import prove_smallest
from graphprover.prover.local import Made
from graphprover.telemetry.merge import TaskTelemetry

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
MOST_MMAP = 32 << 20  # bytes: how far glibc raises its threshold by itself

_log = logging.getLogger(__name__)
_proving = threading.Lock()  # a proof takes all threads of its worker


@carried
def prove(payload: bytes) -> Made:
    """A proof; raises what `graphprover.jobs.jobs.made` does."""
    with _task() as worker:
        asked: Whole = unpacked(payload)[0]
        return metered(asked.subject, _own(asked.device, worker), asked.observe, asked.verified)


@carried
def prove_in_turn(payload: bytes) -> list[Made]:
    """The proofs of several jobs, one after another, until one fails, of which nothing is told, or time is over."""
    with _task() as worker:
        asked: Whole = unpacked(payload)[0]
        own, end = _own(asked.device, worker), time.monotonic() + 2 * TOGETHER_SECONDS  # what jobs take was guessed
        made: list[Made] = []
        for job in asked.subject:
            try:
                made.append(metered(job, own, asked.observe, asked.verified))
            except DeviceLost:
                raise
            except Exception as error:
                _log.info("%s: %s: %s; it is asked for again", job.label, type(error).__name__, error)
                break
            if time.monotonic() > end:
                break
        return made


@carried
def commit(payload: bytes) -> Held:
    """A shard that has committed, and whose arrays stay."""
    with _task() as worker:
        part: Part = unpacked(payload)[0]
        held = metered_shard(lambda device: commit_one(part, device), _own(part.device, worker), part.observe)
        held.telemetry = _by(worker, held.telemetry)
        return held


@carried
def finish(payload: bytes, held: Held | None = None) -> Finished:
    """A shard that is finished; ``held``: what `commit` has left here, if it has."""
    with _task() as worker:
        part, joint, nonce = unpacked(payload)
        own = _own(part.device, worker)
        made = metered_shard(lambda device: finish_one(part, joint, nonce, held, device), own, part.observe)
        return replace(made, telemetry=_by(worker, made.telemetry))


def _by(worker: Worker, telemetry: TaskTelemetry | None) -> TaskTelemetry | None:
    """The same with its name: the scheduler's events that say who began a task may come after the task has ended."""
    return replace(telemetry, worker=worker.address) if telemetry else None


@contextmanager
def _task() -> Iterator[Worker]:
    """Around whatever proves, one at a time.

    A GPU that fails takes its process with it, since nothing can use it there any more: the nanny starts another, and
    the scheduler gives the proof to whom it likes.
    """
    worker = get_worker()
    with _proving:
        worker.log_event(BEGUN, {"key": str(worker.get_current_task()), "worker": worker.address})
        install(worker)
        _keep_freed()
        try:
            limit_process(worker.memory_manager.memory_limit if worker.nanny else None)
            yield worker
        except DeviceLost as error:  # before another proof begins
            _log.critical("graphprover: this worker ends: %s", error)
            logging.shutdown()
            os._exit(1)


class Ready(WorkerPlugin):
    """Makes the device of a worker, and its first proof, with which all that is compiled is loaded.

    Where that fails, `graphprover.cluster.workers.enlist` says so to whoever wants proofs of it.
    """

    name = READY

    def __init__(self) -> None:
        self.error: Exception | None = None

    async def setup(self, worker: Worker) -> None:
        """In a thread, so that the worker can say meanwhile that it is there."""
        try:
            await asyncio.to_thread(_warm_up, worker)
        except Exception as error:
            self.error = error
            _log.warning("graphprover: the first proof failed, so this worker gets no others: %s", error)
        else:
            await enlist(worker)


async def dask_setup(worker: Worker) -> None:
    """What ``--preload graphprover.worker`` runs before the worker joins."""
    if worker.nanny:  # this process is the worker's own; its folder goes even where the process is killed
        tempfile.tempdir = worker.local_directory
    install(worker)
    await worker.plugin_add(Ready())


def _warm_up(worker: Worker) -> None:
    with _proving:
        _keep_freed()
        prove_smallest(METERS.use(_own(AUTO, worker)))


@cache
def _keep_freed() -> None:
    """Let glibc keep as much of what is freed as it does by default once arrays have come and gone.

    Dask's nannies (``MALLOC_TRIM_THRESHOLD_``) have it give all of it back, and what comes next costs page faults: a
    fifth of the time of what Python does.
    """
    with suppress(AttributeError, TypeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, MOST_MMAP)
        mallopt(M_TRIM_THRESHOLD, 2 * MOST_MMAP)


def _own(device: Device | str, worker: Worker) -> Device | str:
    """The device asked for, as this worker has it: on a CPU as many threads as Dask has given it."""
    if isinstance(device, str) and (profile := profile_of(device)).kind == CPU:
        return CpuDevice(min(worker.state.nthreads, profile.threads))
    return device
