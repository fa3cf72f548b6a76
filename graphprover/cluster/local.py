"""A temporary cluster of processes on this host, for CPUs or with several processes for each GPU.

dask-cuda's LocalCUDACluster starts only one process for each GPU, but a proof keeps a GPU busy for part of its time.
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
from multiprocessing import get_context
from multiprocessing.resource_tracker import ensure_running
from typing import Any

import dask
from distributed import Client, Nanny, Scheduler, Security, Worker
from distributed.core import Status
from distributed.utils import silence_logging_cmgr

from graphprover.cluster import ClusterError
from graphprover.cluster.mps import serving
from graphprover.cluster.ports import SchedulerWithoutHttp, WorkerWithoutHttp
from graphprover.cluster.processes import GUARD, check_imported, options_of, uses_mps
from graphprover.cluster.workers import without_delay
from graphprover.graphs.executor_names import THREADS
from graphprover.runtime.settings import DASHBOARD, SILENCE, setting
from graphprover.runtime.signals import called_on_signal

PATIENCE_SECONDS = 5.0  # after which a wait for processes is logged
START_SECONDS = 900.0  # timeout of the start; slow computers compile kernels for minutes
SIGNAL_SECONDS = 5.0  # within which starts end after Ctrl-C, even if the main thread holds a lock

_HOST = "127.0.0.1"
# Dask's configuration. Callbacks that run many times a second take Python's lock: they cost 4 % of a small proof on a
# worker, and time of the client's threads in this process.
_SERVERS = {"distributed.admin.tick.interval": "500ms"}
_WORKERS = {"distributed.worker.profile.enabled": False}
_NANNIES = {"distributed.admin.system-monitor.interval": "1h"}  # the scheduler's own monitor covers this process
# Python's tracker frees the semaphores of a command that Ctrl-C ends, and would warn of them.
_NO_WARNING = "ignore:resource_tracker:UserWarning"
_log = logging.getLogger(__name__)  # warnings go to stderr by default


@contextmanager
def started(
    kind: str, workers: int | None = None, tasks: int | None = None, wait_for_all: bool = True
) -> Iterator[Client]:
    """Start processes, wait for them, and yield their client; see `starting`.

    If ``graphprover.dashboard`` is set, the address of the dashboard is logged.

    Raises:
        ClusterError: As `starting`, or if a process does not start, or processes do not answer within START_SECONDS.
    """
    with starting(kind, workers, tasks, wait_for_all) as processes, processes.client() as client:
        if setting(DASHBOARD):
            _log.warning("graphprover: dashboard: %s", client.dashboard_link)
        yield client


@contextmanager
def starting(
    kind: str, workers: int | None = None, tasks: int | None = None, wait_for_all: bool = True
) -> "Iterator[LocalProcesses]":
    """Start processes, and yield them without waiting. All processes end with the context.

    No other user can connect: the processes listen on 127.0.0.1 under TLS, and only they have the key. If
    ``graphprover.mps`` is set, processes for GPUs use NVIDIA's Multi-Process Service (`mps`).

    Args:
        kind: ``"processes"`` for CPUs or ``"cuda"`` for GPUs.
        workers: Number of processes, for ``"cuda"`` per visible GPU. Default: the setting ``graphprover.workers``, or
            a number chosen by cores and GPU memory, then no more than ``tasks``.
        tasks: How many tasks there will be at the same time.
        wait_for_all: Whether the processes are ready once all of them are warm, or only one. A warning reports a later
            one that does not start.

    Raises:
        ClusterError: If there is no GPU, or the service does not start.
    """
    check_imported(kind)
    _check_semaphores(kind)
    options = options_of(kind, workers, tasks)
    with serving() if uses_mps(kind) else nullcontext(dict[str, str]()) as service:
        processes = LocalProcesses(kind, [each | {"env": each["env"] | service} for each in options], wait_for_all)
        try:
            with called_on_signal(processes.end_starts):
                yield processes
        finally:
            processes.end()


def _check_semaphores(kind: str) -> None:
    """Raise ClusterError if semaphores cannot be created; a nanny shares some with its process."""
    try:
        get_context("fork").Lock()  # nothing is forked; other contexts would start a tracker process
    except OSError as error:
        raise ClusterError(
            f"executor {kind}: no semaphores can be created in /dev/shm, which its processes need ({error.strerror}): "
            f"mount /dev/shm writable and with free space, or use --executor {THREADS}"
        ) from error


class _Nanny(Nanny):
    """A nanny that can be closed after a failed start."""

    async def kill(self, timeout: float = 5, reason: str = "nanny-kill") -> None:
        """Kill the process if there is one; without one, Dask would fail an assertion and wait for ever."""
        if self.pid or (self.process and self.process.status not in (Status.init, Status.starting)):
            await super().kill(timeout, reason)


class LocalProcesses:
    """A scheduler in a thread of this process, and nannies that start one process each, and restart it when it dies.

    The thread and its child processes ignore Ctrl-C: the main thread handles it and ends them.
    """

    def __init__(self, kind: str, options: list[dict[str, Any]], wait_for_all: bool) -> None:
        self._kind, self._security = kind, Security.temporary()
        self._options, self._wait_for_all = options, wait_for_all
        self._address: Future[str] = Future()
        self._loop = asyncio.new_event_loop()
        self._left = asyncio.Event()
        self._starts: Sequence[asyncio.Future[Any]] | None = None  # of each process, once they have begun
        self._thread = threading.Thread(target=self._serve, name="graphprover-cluster", daemon=True)
        self._thread.start()

    def are_ready(self) -> bool:
        """Return whether all processes are warm, or the first one, or a process has not started."""
        return self._address.done()

    def client(self) -> Client:
        """Return a client, once the processes are ready.

        Raises:
            ClusterError: If a process does not start.
        """
        # Fetch proofs from the workers directly, not through the scheduler, a thread of this process.
        return without_delay(Client(self._ready_address(), security=self._security, direct_to_workers=True))

    def _ready_address(self) -> str:
        """Wait until the processes are ready, and return the scheduler's address; raise ClusterError."""
        try:
            with suppress(TimeoutError):
                return self._address.result(PATIENCE_SECONDS)
            _log.warning(
                "graphprover: executor %s: %d processes load or compile kernels; waiting for them",
                self._kind,
                len(self._options),
            )
            return self._address.result()
        except Exception as error:
            raise ClusterError(
                f"executor {self._kind}: its processes do not start: {_first(error)}. {GUARD}"
            ) from error

    def end(self, seconds: float | None = None) -> None:
        """Kill all processes, and wait for their end, for some seconds at most."""
        with suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(self._left.set)
        self._thread.join(seconds)

    def end_starts(self) -> None:
        """Kill all processes if some are starting; others end with this process.

        A process that has not received its first message from this process would show a traceback.
        """
        if self._starts is None or not all(start.done() for start in self._starts):
            self.end(SIGNAL_SECONDS)

    def _serve(self) -> None:
        with silence_logging_cmgr(logging.ERROR), self._without_open_pages():
            try:
                sys.warnoptions.append(_NO_WARNING)
                ensure_running()  # before the mask: starting it unblocks Ctrl-C in this thread
                sys.warnoptions.remove(_NO_WARNING)
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                self._loop.run_until_complete(self._run())
            except Exception as error:
                if not self._address.done():
                    self._address.set_exception(error)
            finally:
                self._loop.run_until_complete(_cancel_others())
                self._loop.close()

    @contextmanager
    def _without_open_pages(self) -> Iterator[None]:
        """Log no errors of the dashboard's open pages at the end, which cancels their connections."""
        log = logging.getLogger("tornado.application")

        def serves(record: logging.LogRecord) -> bool:
            return not self._left.is_set()

        log.addFilter(serves)
        try:
            yield
        finally:
            log.removeFilter(serves)

    async def _run(self) -> None:
        shown = setting(DASHBOARD)
        if shown:  # another port is used and logged
            warnings.filterwarnings("ignore", r"\s*Port \d+ is already in use", module=r"distributed\.node")
        with dask.config.set(_SERVERS):
            serving = (Scheduler if shown else SchedulerWithoutHttp)(
                host=_HOST,
                security=self._security,
                dashboard=bool(shown),
                dashboard_address=shown,
                worker_ttl=setting(SILENCE),
            )
        async with serving as scheduler:
            with dask.config.set(_SERVERS | _WORKERS):
                config = deepcopy(dask.config.config)  # a copy: a nanny reads it later
            with dask.config.set(_SERVERS | _NANNIES):
                nannies = [
                    _Nanny(
                        scheduler.address,
                        name=number,
                        preload=["graphprover.cluster.worker"],
                        memory_limit=0,  # admission limits the memory of proofs
                        dashboard=False,
                        silence_logs=logging.CRITICAL,  # the client logs failed proofs
                        host=_HOST,
                        security=self._security,
                        worker_class=Worker if shown else WorkerWithoutHttp,
                        config=config,
                        **options,
                    )
                    for number, options in enumerate(self._options)
                ]
            self._starts = each = [asyncio.ensure_future(nanny) for nanny in nannies]
            starting: asyncio.Future[Any] = asyncio.gather(*each)
            left: asyncio.Future[Any] = asyncio.ensure_future(self._left.wait())
            awaited = {left, *([starting] if self._wait_for_all else each)}
            done, _ = await asyncio.wait(awaited, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            try:
                if not done:
                    waiting = sum(nanny.status != Status.running for nanny in nannies)
                    raise TimeoutError(f"{waiting} of {len(nannies)} did not answer within {START_SECONDS:g} seconds")
                if not left.done():
                    for one in done:
                        await one
                    self._address.set_result(scheduler.address)
                    await asyncio.wait({left, starting}, return_when=asyncio.FIRST_COMPLETED)
                    if not left.done() and (error := starting.exception()):
                        _log.warning("graphprover: a process did not start: %s", _first(error))
                    await left
            finally:
                with silence_logging_cmgr(logging.CRITICAL):
                    await _end(nannies, each)
                    await asyncio.gather(starting, return_exceptions=True)  # its error is handled above


def _first(error: BaseException) -> BaseException:
    """Return the first cause of an error."""
    return _first(error.__cause__) if error.__cause__ else error


async def _cancel_others() -> None:
    """Cancel the remaining tasks of the event loop."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def _end(nannies: Sequence[Nanny], each: "Sequence[asyncio.Future[Any]]") -> None:
    """Kill the processes of nannies such that they are not restarted.

    Args:
        nannies: The nannies.
        each: Their starts. All of them are waited for: a start that is left behind goes on in a thread, and its process
            would outlive this one.
    """
    for nanny, start in zip(nannies, each, strict=True):
        if start.done():
            nanny.close_gracefully()
    while True:
        for nanny in nannies:
            if nanny.pid:
                with suppress(ProcessLookupError):
                    os.kill(nanny.pid, signal.SIGKILL)
        if all(start.done() for start in each):
            break
        await asyncio.sleep(0.05)
    await asyncio.gather(*(nanny.close() for nanny in nannies), return_exceptions=True)
