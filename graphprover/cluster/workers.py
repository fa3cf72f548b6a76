"""The workers of a cluster: which fit, which do not and why, and which do not respond.

A worker that fits gets the resource ``graphprover``, which every proving task asks for. The scheduler chooses among
these workers. Functions for workers are sent as text (``eval``), so a worker without graphprover fails the call and
goes on.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Set
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from contextvars import Context
from functools import partial
from math import inf
from secrets import token_hex
from typing import Any

import dask
from distributed import Client, Status, Worker

from graphprover import __version__
from graphprover.cluster import ClusterError
from graphprover.device import Device
from graphprover.device.choose import CPU, CUDA, Named, gpus, identities, named
from graphprover.protocol.transcript import RELEASE
from graphprover.runtime.settings import SILENCE, WAIT, setting

ANSWER_SECONDS = 60.0  # timeout of an answer; the first import takes part of it
PATIENCE_SECONDS = 5.0  # a wait for an answer is reported after this time
STRAGGLER_SECONDS = 2.0  # for which answers of other workers are awaited if one fits
MOST_WAKES = 100  # tasks of which Dask's scheduler takes the time, for the number of workers of an adaptive cluster
LOOK_SECONDS = 0.1  # between two looks for workers while none fits
POLL_SECONDS = 0.5  # between two polls of the scheduler; workers of a small cluster send heartbeats as often

VERSIONS = {"graphprover": __version__, "protocol": RELEASE, "dask": dask.__version__}  # must be equal on both sides
# Dask's resources: one slot for a proof, and one for each GPU that the worker sees. A worker has one of each and so
# makes one proof at a time. The scheduler queues further tasks on workers, and moves queued tasks to idle workers.
SLOT, GPU = "graphprover", "graphprover-gpu{}"
READY = "graphprover"  # name of the plugin that warms a worker up, `graphprover.cluster.worker.Ready`
_INFO = "__import__('graphprover.cluster.workers', fromlist=['workers']).worker_info()"

_LEFT = OSError("left the cluster")

_log = logging.getLogger(__name__)  # warnings go to stderr by default


class Workers:
    """The workers of a client. Threads may share it.

    Args:
        client: Client of the cluster.
        own: Whether this process has started the cluster, so that no other workers join it.
    """

    def __init__(self, client: Client, own: bool = False) -> None:
        self._client, self._own = client, own
        self._answers: dict[str, Future[Any]] = {}  # by address: the `worker_info` of a worker, or an exception
        self._since: dict[str, float] = {}  # by address: time of the first request
        self._slots: set[str] = set()  # workers to which the scheduler can give proofs
        # By address: time of the last heartbeat, and for how many polls there was no other.
        self._heartbeats: dict[str, tuple[float, int]] = {}
        self.paused: set[str] = set()  # by Dask, at its memory limit; they get no tasks meanwhile
        self._warned: set[str] = set()
        self._refreshed = 0.0  # time of the last poll
        self._counted = 0.0  # time of the last count of missed heartbeats
        self._lock = threading.Lock()

    def wait_for(self, device: Device | str, tasks: int = 1) -> None:
        """Wait until a worker fits, and STRAGGLER_SECONDS at most for the answers of others.

        A poll takes a millisecond, so one of the last POLL_SECONDS is reused. Warnings name workers that do not fit.

        Args:
            device: The device.
            tasks: How many tasks there will be. An adaptive cluster without workers starts some for them.

        Raises:
            ClusterError: If no worker fits within the setting ``graphprover.wait``, with the reason for each worker;
                or if the scheduler has ended.
        """
        if time.monotonic() - self._refreshed < POLL_SECONDS and self.fit(device) and not self._awaited():
            return
        check_absence = self.absence_check("has no worker", device)
        with ExitStack() as stack:
            wakes: list[Any] = []
            while True:
                try:
                    self.refresh()
                except OSError as error:
                    self.check_scheduler(error)
                    check_absence(False)
                    time.sleep(LOOK_SECONDS)
                    continue
                # Before `fit`: a worker may answer between the two.
                awaited, due = self._awaited(), self._awaited(ANSWER_SECONDS)
                fit = bool(self.fit(device))
                if self._own and self._answers and not fit and not due and not self._are_new():
                    raise ClusterError("\n".join(self._reasons(device)))
                self.warn(device)
                if fit and not awaited:
                    return
                if not self._own and not self._answers and all(wake.status != "pending" for wake in wakes):
                    wakes = self._wake(min(max(tasks, 1), MOST_WAKES))
                    stack.callback(_release, wakes)
                check_absence(fit or bool(awaited))
                if pending := [answer for answer in self._answers.values() if not answer.done()]:
                    wait(pending, LOOK_SECONDS, FIRST_COMPLETED)
                else:
                    time.sleep(LOOK_SECONDS)

    def _are_new(self) -> bool:
        """Return whether a worker has joined in the last STRAGGLER_SECONDS, after which others may."""
        return time.monotonic() - max(self._since.values()) < STRAGGLER_SECONDS

    def _wake(self, tasks: int) -> list[Any]:
        """Submit tasks that no worker can have, for which an adaptive cluster starts workers, as for the real ones."""
        keys = [f"graphprover-wake-{token_hex(8)}" for _ in range(tasks)]
        return self._client.map(eval, ["None"] * tasks, key=keys, resources={SLOT: 1}, pure=False)

    def check_scheduler(self, error: BaseException, lost: str = "") -> None:
        """Raise ClusterError if the scheduler has ended; ``lost``: names of the proofs that are lost with it."""
        if self._client.status != "running":
            what = f", and with it {lost}" if lost else ""
            raise ClusterError(f"{self.name}: connection to the scheduler lost{what}: restart it") from error

    def _awaited(self, seconds: float = STRAGGLER_SECONDS) -> list[str]:
        """Return the workers whose answer is due, asked less than ``seconds`` ago."""
        now = time.monotonic()
        return sorted(
            address
            for address, answer in list(self._answers.items())
            if not answer.done() and now - self._since.get(address, now) < seconds
        )

    def refresh(self) -> None:
        """Poll the scheduler for its workers, and ask new workers for their information without waiting for it."""
        scheduler: Any = self._client.scheduler
        # `Client.scheduler_info` returns a dictionary that another thread of the client changes.
        workers = self._client.sync(scheduler.identity, n_workers=-1)["workers"]
        with self._lock:
            self.paused = {address for address, worker in workers.items() if worker["status"] == Status.paused.name}
            self._slots = {address for address, worker in workers.items() if worker["resources"].get(SLOT)}
            self._count_heartbeats({address: worker["last_seen"] for address, worker in workers.items()})
            for address in self._answers.keys() - workers.keys():
                del self._answers[address], self._since[address]
            for address, answer in list(self._answers.items()):
                if answer.done() and (_has_left(answer.result()) or self._is_back(address)):
                    del self._answers[address]  # to be asked again
            loop: Any = self._client.loop
            for address in workers.keys() - self._answers.keys():
                ask = partial(asyncio.run_coroutine_threadsafe, self._ask(address), loop.asyncio_loop)
                self._answers[address] = Context().run(ask)  # the caller's context would keep its client alive
                self._since.setdefault(address, time.monotonic())
            self._refreshed = time.monotonic()

    def _is_back(self, address: str) -> bool:
        """Return whether a worker whose answer timed out sends heartbeats again."""
        late = isinstance(self._answers[address].result(), TimeoutError)
        return late and self._heartbeats.get(address, (0.0, 1))[1] == 0

    def _count_heartbeats(self, seen: dict[str, float]) -> None:
        """Count polls without a new heartbeat. A clock would count the time in which this process is suspended."""
        now = time.monotonic()
        if now - self._counted < POLL_SECONDS:
            return
        self._counted, before = now, self._heartbeats
        self._heartbeats = {
            address: (last, before[address][1] + 1 if address in before and before[address][0] == last else 0)
            for address, last in seen.items()
        }

    @property
    def unresponsive(self) -> set[str]:
        """Workers without a heartbeat for the setting ``graphprover.silence``."""
        most = float(setting(SILENCE)) / POLL_SECONDS
        return {address for address, (_, polls) in self._heartbeats.items() if polls > most}

    def fit(self, device: Device | str) -> set[str]:
        """Return the workers that can prove on a device."""
        return set().union(*self.places(device))

    def places(self, device: Device | str) -> list[set[str]]:
        """Return the workers that fit, in a set for each GPU; on a CPU each worker has a set of its own."""
        kind, number = _named(device)
        found: dict[str, set[str]] = {}
        unresponsive = self.unresponsive
        for address, asked in list(self._answers.items()):
            answer = asked.result() if asked.done() else None
            if isinstance(answer, dict) and not self._misfit(address, device, unresponsive):
                gpu = answer["gpus"][number] if answer["gpus"] and kind != CPU else address
                found.setdefault(gpu, set()).add(address)
        return list(found.values())

    def unfit(self, device: Device | str) -> set[str]:
        """Return the workers that do not fit, but to which the scheduler could give a proof."""
        return self._slots - self.fit(device) - set(self._awaited())

    def warn(self, device: Device | str) -> None:
        """Log a warning, once each, for workers that get no tasks and for workers whose answer takes long."""
        late, unresponsive = set(self._awaited(inf)) - set(self._awaited(PATIENCE_SECONDS)), self.unresponsive
        for address in sorted(self._answers):
            if line := self._misfit(address, device, unresponsive):
                self._warn_once(f"{line}; it gets no proof")
            elif address in late:
                self._warn_once(f"worker {address} does not answer; it gets no proof until it does")

    def absence_check(self, what: str, device: Device | str) -> Callable[[bool], None]:
        """Return a function to be called in each poll with whether a worker fits.

        It logs a warning when no worker fits, and raises ClusterError if that lasts for the setting
        ``graphprover.wait`` and no answer is due.
        """
        seconds = float(setting(WAIT))
        since: float | None = None

        def check(present: bool) -> None:
            nonlocal since
            now, which = time.monotonic(), f"{what} that fits" if self._answers else what
            if present:
                since = None
            elif since is None:
                since = now
                _log.warning("graphprover: %s %s; waiting up to %g s for one", self.name, which, seconds)
            elif now - since > seconds and not self._awaited(ANSWER_SECONDS):
                head = (
                    f"{self.name} {which}, and none came in {seconds:g} s: start some "
                    f"(dask worker {self.name}), or wait longer (DASK_GRAPHPROVER__WAIT=SECONDS)"
                )
                raise ClusterError("\n".join([head, *self._reasons(device)]))

        return check

    def _reasons(self, device: Device | str) -> list[str]:
        """Return a line for each worker with the reason why it gets no task."""
        unresponsive = self.unresponsive
        return [
            self._misfit(address, device, unresponsive) or f"worker {address}: no answer"
            for address in sorted(self._answers)
        ]

    @property
    def name(self) -> str:
        """The scheduler's address."""
        return str(self._client.scheduler.address) if self._client.scheduler else "the cluster"

    async def _ask(self, address: str) -> Any:
        """Return the `worker_info` of a worker, and add its resources if the versions are equal.

        Never raises; an exception is returned.
        """

        async def call(function: Any, *arguments: Any) -> Any:
            answer = self._client.run(function, *arguments, workers=[address], on_error="return")
            return (await asyncio.wait_for(answer, ANSWER_SECONDS)).get(address, _LEFT)

        try:
            answer = await call(eval, _INFO)
            if isinstance(answer, dict) and not _other_versions(answer):
                failed = await call(add_resources)
                return answer if failed is None else failed
            return answer
        except Exception as error:
            return error

    def _misfit(self, address: str, device: Device | str, unresponsive: Set[str]) -> str:
        """Return why a worker does not fit, and the remedy; empty if it fits or has not answered.

        ``unresponsive``: as the property, of which a caller with many workers asks once.
        """
        asked = self._answers.get(address)
        answer = asked.result() if asked and asked.done() else None
        if address in unresponsive:
            wrong = f"no heartbeat for {setting(SILENCE):g} s: it has stopped or is overloaded; end it"
        elif answer is None or _has_left(answer):
            return ""
        elif isinstance(answer, TimeoutError):
            wrong = f"no answer in {ANSWER_SECONDS:g} s: it has stopped or is overloaded; end it"
        elif isinstance(answer, ImportError):
            wrong = f"cannot import graphprover ({answer}): install {__version__} with the extra [prover] there"
        elif isinstance(answer, Exception):
            wrong = f"{type(answer).__name__}: {answer}"
        elif other := _other_versions(answer):
            theirs, here = (", ".join(f"{name} {side.get(name)}" for name in other) for side in (answer, VERSIONS))
            wrong = f"has {theirs}, and the client {here}: install the same version"
        elif gpus_needed(device) > len(answer["gpus"]):
            wrong = f"device {device}: it sees {len(answer['gpus'])} GPUs; ask for another device, or end this worker"
        else:
            return ""
        return f"worker {address}: {wrong}"

    def _warn_once(self, line: str) -> None:
        if line not in self._warned:
            self._warned.add(line)
            _log.warning("graphprover: %s", line)


def worker_info() -> dict[str, Any]:
    """Return the versions of this worker, and the identities of the GPUs that it sees."""
    return VERSIONS | {"gpus": identities()}


async def add_resources(dask_worker: Worker) -> None:
    """Give a worker a slot for a proof, and one for each GPU that it sees; raise the exception of its warm-up.

    A worker that has not joined yet sends its resources to the scheduler when it joins.
    """
    ready = dask_worker.plugins.get(READY)
    if error := getattr(ready, "error", None):
        raise error
    names = [SLOT, *(GPU.format(number) for number in range(gpus()))]
    resources = {name: 1 for name in names if name not in dask_worker.state.total_resources}
    if not resources:
        return
    if dask_worker.status in (Status.running, Status.paused):
        await dask_worker.set_resources(**resources)
    else:
        dask_worker.state.total_resources |= resources
        dask_worker.state.available_resources |= resources


def _release(futures: list[Any]) -> None:
    for future in futures:
        future.release()


def without_delay(client: Client) -> Client:
    """Make a client send each message at once, and return it: by default, it collects messages for up to 10 ms."""
    stream: Any = client.scheduler_comm
    stream.interval = 0
    return client


def gpus_needed(device: Device | str) -> int:
    """Return how many GPUs a worker must see for a device.

    Raises:
        ValueError: If no device has that name.
    """
    kind, number = _named(device)
    return number + 1 if kind == CUDA else 0


def _named(device: Device | str) -> Named:
    return named(device) if isinstance(device, str) else Named(device.kind, getattr(device, "number", 0))


def _other_versions(answer: dict[str, Any]) -> list[str]:
    return [name for name in VERSIONS if answer.get(name) != VERSIONS[name]]


def _has_left(answer: Any) -> bool:
    return isinstance(answer, OSError) and not isinstance(answer, TimeoutError)
