"""The worker's side of a cluster: functions that make proofs, or shards, on the worker's device.

`graphprover.cluster.dispatcher` names them in text, so a worker without this module fails the task and goes on. With
``dask worker … --preload graphprover.worker`` a worker makes a small proof before it joins.
"""

import asyncio
import ctypes
import logging
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache

from distributed import Worker, WorkerPlugin, get_worker

from graphprover.admission.admission import limit_process
from graphprover.cluster import window_worker
from graphprover.cluster.messages import ProofRequest, ShardRequest, unpack
from graphprover.cluster.metrics import METRICS, install, measured_proof, measured_shard
from graphprover.cluster.results import wrap_exceptions
from graphprover.cluster.shard_worker import CommittedShard, FinishedShard, commit_shard, finish_shard
from graphprover.cluster.tasks import BATCH_SECONDS, BEGUN
from graphprover.cluster.window_worker import LaidOutWindow, RecordedWindow
from graphprover.cluster.workers import READY, add_resources
from graphprover.device import CpuDevice, Device, DeviceLost
from graphprover.device.choose import AUTO, CPU, device_for, profile_of
from graphprover.graphs.planner.layers import Target
from graphprover.jobs.precompile import load_interpreter
from graphprover.jobs.warmup import prove_smallest
from graphprover.kernels.cpu import pages
from graphprover.prover.made import Made
from graphprover.prover.tree_choice import target_of
from graphprover.runtime.deadline import check_deadline, within
from graphprover.runtime.numba_cache import is_compiled
from graphprover.telemetry.merge import TaskTelemetry
from graphprover.vm.executor import interpreter

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
MOST_MMAP = 32 << 20  # bytes: the most to which glibc raises its threshold

_log = logging.getLogger(__name__)
_proving = threading.Lock()  # a proof uses all threads of its worker


@wrap_exceptions
def prove(payload: bytes, *held: FinishedShard) -> Made:
    """Make a proof; raise the exceptions of `graphprover.jobs.made.made`.

    ``held``: the shards that a layer is about, if their workers have retained them.
    """
    with _task() as worker:
        request: ProofRequest = unpack(payload)[0]
        subject = request.subject.with_shards([shard.proof for shard in held]) if held else request.subject
        return measured_proof(subject, _own(request.device, worker), request.observe, request.verify)


@wrap_exceptions
def prove_in_turn(payload: bytes) -> list[Made]:
    """Make the proofs of several jobs, one after another.

    It stops before a job that fails, and after 2 BATCH_SECONDS; the client retries the other jobs.
    """
    with _task() as worker:
        request: ProofRequest = unpack(payload)[0]
        own, end = _own(request.device, worker), time.monotonic() + 2 * BATCH_SECONDS
        made: list[Made] = []
        for job in request.subject:
            try:
                made.append(measured_proof(job, own, request.observe, request.verify))
            except DeviceLost:
                raise
            except Exception as error:
                _log.info("%s: %s: %s; the client retries it", job.label, type(error).__name__, error)
                break
            if time.monotonic() > end:
                break
        return made


@wrap_exceptions
def target(payload: bytes) -> Target:
    """Return this worker's device as a search for trees has it."""
    with _task() as worker:
        own = _own(unpack(payload)[0], worker)
        return target_of(device_for(own))


@wrap_exceptions
def record(payload: bytes) -> RecordedWindow:
    """Record a window of a run, and retain the record in this process."""
    with _task() as worker:
        request: ShardRequest = unpack(payload)[0]
        own = _own(request.device, worker)
        return measured_shard(lambda device: window_worker.record(request, device), own, observe=False)


@wrap_exceptions
def lay_out(payload: bytes, held: RecordedWindow | None = None) -> LaidOutWindow:
    """Lay out the tables of a window; ``held``: the result of `record`, with the record if it ran in this process."""
    with _task() as worker:
        request: ShardRequest = unpack(payload)[0]
        own = _own(request.device, worker)
        return measured_shard(lambda device: window_worker.lay_out(request, held, device), own, observe=False)


@wrap_exceptions
def commit(payload: bytes, held: LaidOutWindow | None = None) -> CommittedShard:
    """Run the first task of a shard, and retain its arrays in this process.

    ``held``: the result of `lay_out`, with the tables if it ran in this process.
    """
    with _task() as worker:
        request: ShardRequest = unpack(payload)[0]
        result = measured_shard(
            lambda device: commit_shard(request, device, held), _own(request.device, worker), request.observe
        )
        result.telemetry = _by(worker, result.telemetry)
        return result


@wrap_exceptions
def finish(payload: bytes, held: CommittedShard | FinishedShard | None = None) -> FinishedShard:
    """Run the second task of a shard.

    ``held``: the result of `commit`, with arrays if it ran in this process, or an earlier result of this task.
    """
    with _task() as worker:
        if isinstance(held, FinishedShard):
            return held
        request, joint, nonce = unpack(payload)
        own = _own(request.device, worker)
        made = measured_shard(lambda device: finish_shard(request, joint, nonce, held, device), own, request.observe)
        return replace(made, telemetry=_by(worker, made.telemetry))


def _by(worker: Worker, telemetry: TaskTelemetry | None) -> TaskTelemetry | None:
    """Return an observation with the worker's address: events with the address may come after the result."""
    return replace(telemetry, worker=worker.address) if telemetry else None


@contextmanager
def _task() -> Iterator[Worker]:
    """Run a task alone in this process, and end it early once the scheduler has released it for its client.

    If a GPU fails, the process ends, because it cannot use the GPU any more. The nanny starts another process, and the
    scheduler reassigns the proof.
    """
    worker = get_worker()
    key = worker.get_current_task()

    def check_wanted() -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise CancelledError(f"{key}: its client has given it up")

    with _proving, within(None, str(key), interrupt=check_wanted):
        check_deadline()  # after the task before
        worker.log_event(BEGUN, {"key": str(key), "worker": worker.address})
        install(worker)
        _keep_freed()
        limit = worker.memory_manager.memory_limit if worker.nanny else None
        try:
            limit_process(limit)
            yield worker
        except DeviceLost as error:  # before another task starts
            _log.critical("graphprover: this worker ends: %s", error)
            logging.shutdown()
            os._exit(1)
        finally:
            if limit:  # Dask counts free pages too, and would pause the worker
                pages.trim()


class Ready(WorkerPlugin):
    """A plugin that warms a worker up: it opens the device and makes a small proof, which loads the compiled kernels.

    After a failure, `graphprover.cluster.workers.add_resources` raises the error to clients.
    """

    name = READY

    def __init__(self) -> None:
        self.error: Exception | None = None

    async def setup(self, worker: Worker) -> None:
        """Warm up in a thread, so that the worker can send heartbeats meanwhile."""
        try:
            await asyncio.to_thread(_warm_up, worker)
        except Exception as error:
            self.error = error
            _log.warning("graphprover: the first proof failed, so this worker gets no tasks: %s", error)
        else:
            await add_resources(worker)


async def dask_setup(worker: Worker) -> None:
    """Set the worker up before it joins; Dask calls this for ``--preload graphprover.worker``."""
    if worker.nanny:  # the process is the worker's alone; the nanny removes this folder even after a kill
        tempfile.tempdir = worker.local_directory
    install(worker)
    await worker.plugin_add(Ready())


def _warm_up(worker: Worker) -> None:
    with _proving:
        _keep_freed()
        prove_smallest(METRICS.use(_own(AUTO, worker)))
        if is_compiled(interpreter.run):  # the kernel that the first guest would load
            load_interpreter()


@cache
def _keep_freed() -> None:
    """Let glibc keep freed memory, up to its own default limits.

    Dask's nannies set ``MALLOC_TRIM_THRESHOLD_`` such that all freed memory goes back to the system. The page faults of
    later allocations would cost 20 % of the time of Python code.
    """
    with suppress(AttributeError, TypeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, MOST_MMAP)
        mallopt(M_TRIM_THRESHOLD, 2 * MOST_MMAP)


def _own(device: Device | str, worker: Worker) -> Device | str:
    """Return the requested device; on a CPU with the worker's number of threads."""
    if isinstance(device, str) and (profile := profile_of(device)).kind == CPU:
        return CpuDevice(min(worker.state.nthreads, profile.threads))
    return device
