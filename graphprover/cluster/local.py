"""A cluster of processes on this host, which lasts as long as it is needed: for CPUs, or several for each GPU.

dask-cuda's LocalCUDACluster starts one process for each GPU only, but a proof keeps a GPU busy for part of its time.
"""

import asyncio
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext, suppress
from copy import deepcopy
from multiprocessing import current_process, get_context
from multiprocessing.resource_tracker import ensure_running
from typing import Any

import dask
from distributed import Client, Nanny, Scheduler, Security, Worker
from distributed.core import Status
from distributed.utils import silence_logging_cmgr

from graphprover.cluster import ClusterError
from graphprover.cluster.mps import serving
from graphprover.cluster.ports import SchedulerWithoutHttp, WorkerWithoutHttp
from graphprover.cluster.workers import prompt
from graphprover.device.choose import gpus, memory_of, missing
from graphprover.device.host_processor import available_threads
from graphprover.graphs.executor_names import CUDA, PROCESSES, THREADS
from graphprover.runtime.settings import DASHBOARD, MPS, POOL, SILENCE, WORKERS, bytes_of, setting

MOST_PROCESSES = 8  # by default
MOST_PER_GPU, MOST_BY_MPS = 8, 16  # by default: more gain little
CONTEXT_BYTES = 600 << 20  # that a process takes of a GPU before it has any array, on an H200
PATIENCE_SECONDS = 5.0  # after which the wait for processes is told
START_SECONDS = 900.0  # after which the wait ends: kernels of a slow computer compile for some minutes

_HOST = "127.0.0.1"
_GUARD = 'Its processes import your script, which must start them under if __name__ == "__main__": only'
# Of Dask's configuration. What runs many times a second takes Python's lock: from the proving thread of a worker,
# together 4 % of a small proof, and from the client's threads here.
_SERVERS = {"distributed.admin.tick.interval": "500ms"}
_WORKERS = {"distributed.worker.profile.enabled": False}
_NANNIES = {"distributed.admin.system-monitor.interval": "1h"}  # of this process, which the scheduler's own looks at
# Of Python's tracker of semaphores, which gives back those of a command that Ctrl-C ends, and would say so.
_UNTOLD = "ignore:resource_tracker:UserWarning"
_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr


@contextmanager
def started(kind: str, workers: int | None = None, tasks: int | None = None) -> Iterator[Client]:
    """A client of so many processes, in all for ``"processes"``, of each visible GPU for ``"cuda"``.

    Without a number the setting ``graphprover.workers`` is taken, or what the cores suffice for, and then no more
    than ``tasks``, if so many will be asked for at once. All processes end when the context does, however that is.
    Where ``graphprover.dashboard`` is set, a line says where the dashboard is. Where ``graphprover.mps`` is,
    processes for GPUs use NVIDIA's Multi-Process Service (`mps`). No other user can connect: the processes listen
    on this host alone, under TLS, and only they have the key. Raises ClusterError where there is no GPU, or a
    process or that service does not start, or processes do not answer within START_SECONDS.
    """
    if getattr(current_process(), "_inheriting", False):  # this process is one that is being started
        raise ClusterError(f"executor {kind}: {_GUARD}")
    _check_semaphores(kind)
    number = workers or setting(WORKERS)
    by_mps = kind == CUDA and setting(MPS)
    options = _for_gpus(number, tasks, by_mps) if kind == CUDA else _for_cpus(number, tasks)
    with serving() if by_mps else nullcontext(dict[str, str]()) as service:
        cluster = _Processes([each | {"env": each["env"] | service} for each in options])
        try:
            address = cluster.address(kind)
            # Proofs come from the workers themselves, not by way of the scheduler, which is a thread of this process.
            with prompt(Client(address, security=cluster.security, direct_to_workers=True)) as client:
                if setting(DASHBOARD):
                    _log.warning("graphprover: dashboard: %s", client.dashboard_link)
                yield client
        finally:
            cluster.end()


def _check_semaphores(kind: str) -> None:
    """Raise ClusterError if there can be no semaphores, which a nanny shares with its process."""
    try:
        get_context("fork").Lock()  # nothing is forked; other contexts start a process that looks after the lock
    except OSError as error:
        raise ClusterError(
            f"executor {kind}: no semaphores can be made in /dev/shm, which its processes need ({error.strerror}): "
            f"mount /dev/shm writable and with free space, or take --executor {THREADS}"
        ) from error


def _for_cpus(processes: int | None, tasks: int | None) -> list[dict[str, Any]]:
    """What each process is started with: the cores divided among them."""
    cores = available_threads()
    processes = processes or min(cores, MOST_PROCESSES, tasks or cores)
    return [{"nthreads": max(1, cores // processes), "env": {"CUDA_VISIBLE_DEVICES": ""}}] * processes


def _for_gpus(each: int | None, tasks: int | None, by_mps: bool) -> list[dict[str, Any]]:
    """The same for GPUs: a process sees one. Each GPU has one before one has another."""
    found = gpus()
    if not found:
        raise ClusterError(f"executor {CUDA}: {missing(found)}; executor {PROCESSES} takes CPUs")
    most = MOST_BY_MPS if by_mps else MOST_PER_GPU
    processes = each or _per_gpu(available_threads(), [memory_of(number) for number in range(found)], most)
    visible = None if by_mps else os.environ.get("CUDA_VISIBLE_DEVICES")  # the service sees no others
    names = visible.split(",")[:found] if visible else [str(number) for number in range(found)]
    options = [{"nthreads": 1, "env": {"CUDA_VISIBLE_DEVICES": name}} for _ in range(processes) for name in names]
    return options if each else options[:tasks]


def _per_gpu(cores: int, totals: Sequence[int], most: int) -> int:
    """How many processes to start for each of the GPUs that have so many bytes, at most ``most``.

    One for each core, as it waits for its GPU most of the time; and so many that there is room for their contexts
    beside what proofs may hold.
    """
    beside = min(total - bytes_of(POOL, total) for total in totals)
    return max(1, min(cores // len(totals), beside // CONTEXT_BYTES, most))


class _Nanny(Nanny):
    """A nanny that ends if its process could not be started."""

    async def kill(self, timeout: float = 5, reason: str = "nanny-kill") -> None:
        """Kill the process; do nothing if there is none yet, which Dask asserts, and then waits for ever."""
        if self.pid or (self.process and self.process.status not in (Status.init, Status.starting)):
            await super().kill(timeout, reason)


class _Processes:
    """A scheduler in a thread of this process, and nannies that start a process each, and another when it dies.

    The thread takes no Ctrl-C, and so neither do the processes that it starts: the caller's own ends them.
    """

    def __init__(self, options: list[dict[str, Any]]) -> None:
        self.security = Security.temporary()
        self._options = options
        self._address: Future[str] = Future()
        self._loop = asyncio.new_event_loop()
        self._left = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, name="graphprover-cluster", daemon=True)
        self._thread.start()

    def address(self, kind: str) -> str:
        """The scheduler's, once all processes are warm; raises ClusterError where one does not start."""
        try:
            with suppress(TimeoutError):
                return self._address.result(PATIENCE_SECONDS)
            _log.warning(
                "graphprover: executor %s: %d processes load or compile kernels; waiting for them",
                kind,
                len(self._options),
            )
            return self._address.result()
        except Exception as error:
            first: BaseException = error
            while first.__cause__:
                first = first.__cause__
            raise ClusterError(f"executor {kind}: its processes do not start: {first}. {_GUARD}") from error

    def end(self) -> None:
        """End all processes, whatever they do."""
        with suppress(RuntimeError):  # it has ended by itself
            self._loop.call_soon_threadsafe(self._left.set)
        self._thread.join()

    def _serve(self) -> None:
        with silence_logging_cmgr(logging.ERROR):
            try:
                sys.warnoptions.append(_UNTOLD)
                ensure_running()  # now, since a thread that starts it takes Ctrl-C again
                sys.warnoptions.remove(_UNTOLD)
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                self._loop.run_until_complete(self._run())
            except Exception as error:
                if not self._address.done():
                    self._address.set_exception(error)
            finally:
                self._loop.run_until_complete(_cancel_others())
                self._loop.close()

    async def _run(self) -> None:
        shown = setting(DASHBOARD)
        if shown:  # a line says where it is, wherever that was asked to be
            warnings.filterwarnings("ignore", r"\s*Port \d+ is already in use", module=r"distributed\.node")
        with dask.config.set(_SERVERS):
            serving = (Scheduler if shown else SchedulerWithoutHttp)(
                host=_HOST,
                security=self.security,
                dashboard=bool(shown),
                dashboard_address=shown,
                worker_ttl=setting(SILENCE),
            )
        async with serving as scheduler:
            with dask.config.set(_SERVERS | _WORKERS):
                config = deepcopy(dask.config.config)  # which a nanny would share, and read later
            with dask.config.set(_SERVERS | _NANNIES):
                nannies = [
                    _Nanny(
                        scheduler.address,
                        name=number,
                        preload=["graphprover.cluster.worker"],
                        memory_limit=0,  # admission counts what proofs take
                        dashboard=False,
                        silence_logs=logging.CRITICAL,  # a proof that fails is told here, in a line
                        host=_HOST,
                        security=self.security,
                        worker_class=Worker if shown else WorkerWithoutHttp,
                        config=config,
                        **options,
                    )
                    for number, options in enumerate(self._options)
                ]
            starting = asyncio.gather(*nannies)
            left: asyncio.Future[Any] = asyncio.ensure_future(self._left.wait())
            done, _ = await asyncio.wait({starting, left}, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            try:
                if not done:
                    silent = sum(nanny.status != Status.running for nanny in nannies)
                    raise TimeoutError(f"{silent} of {len(nannies)} did not answer within {START_SECONDS:g} seconds")
                if not left.done():
                    await starting
                    self._address.set_result(scheduler.address)
                    await left
            finally:
                with silence_logging_cmgr(logging.CRITICAL):
                    await _end(nannies, starting)


async def _cancel_others() -> None:
    """What servers leave behind."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def _end(nannies: Sequence[Nanny], starting: "asyncio.Future[Any]") -> None:
    """Kill the processes of nannies, which start no others then."""
    for nanny in nannies:
        if starting.done():
            nanny.close_gracefully()
    while True:
        for nanny in nannies:
            if nanny.pid:
                with suppress(ProcessLookupError):
                    os.kill(nanny.pid, signal.SIGKILL)
        if starting.done():
            break
        await asyncio.sleep(0.05)
    await asyncio.gather(starting, *(nanny.close() for nanny in nannies), return_exceptions=True)
