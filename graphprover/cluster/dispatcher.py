"""Dispatches proving tasks to workers, tracks assignments, and resubmits tasks of lost workers."""

import asyncio
import logging
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from enum import Enum
from itertools import repeat
from math import inf
from typing import Any, cast

import dask
from distributed import Client, span, wait
from distributed.scheduler import KilledWorker, NoValidWorkerError
from distributed.utils_comm import gather_from_workers

from graphprover.admission.admission import TooLarge
from graphprover.cluster import ClusterError, LostValue
from graphprover.cluster.results import part_of, unwrap_exception
from graphprover.cluster.tasks import EVENTS, Attempt, Location, ProvingTask, TaskResult
from graphprover.cluster.workers import ANSWER_SECONDS, GPU, POLL_SECONDS, SLOT, Workers, gpus_needed
from graphprover.device import Device
from graphprover.graphs.rounds.transcript import OtherShard
from graphprover.jobs.programs import ProgramError
from graphprover.protocol.errors import VerificationError
from graphprover.runtime.deadline import JobTimeout
from graphprover.runtime.settings import SILENCE, setting
from graphprover.statement.cost import CostLimit
from graphprover.vm.executor.faults import GuestFault, OtherExitCode

GRAPH_BYTES = 16 << 20  # of messages in one graph; client and scheduler hold several copies
# Estimated seconds of the tasks that the scheduler has for each worker, at least. An adaptive cluster adds workers if
# the tasks take more than 5 seconds a worker (`distributed.adaptive.target-duration`): twice that doubles their number.
SHOWN_SECONDS = 10.0
OVERDUE_SECONDS = 5.0  # after a task's timeout, in which its worker is expected to end it
LOST_SECONDS = 0.2  # between two looks for a worker's death, while a value is fetched
SOON = 0.05  # seconds between two looks for a job that has not come, while workers wait for it
MOST_SPANS = 1000  # of one call: a scheduler never forgets a span
_CALL = "__import__('graphprover.cluster.worker', fromlist=['worker']).{}(arguments['payload'], *arguments['held'])"

_log = logging.getLogger(__name__)  # warnings go to stderr by default


class Reason(Enum):
    """A reason for another attempt: its text, and the most attempts of one task for it."""

    CANCELLED = "the task was cancelled", 10
    UNPLACED = "no worker has the task", 10
    DEATHS = "workers that had the task died", 10
    UNRESPONSIVE = "its worker does not respond", 10
    UNREAD = "the result could not be fetched", 2  # each fetch may take ANSWER_SECONDS

    def __init__(self, text: str, limit: int) -> None:
        self.text, self.limit = text, limit


@dataclass(eq=False)
class _OpenTask:
    """A task without a result, and its attempts, of which the first to succeed counts."""

    task: ProvingTask
    attempts: list[Attempt] = field(default_factory=list)
    workers: list[str] = field(default_factory=list)  # addresses of the workers that have started it, in order
    started: float = inf  # time on time.monotonic of the last start
    failures: int = 0  # exceptions, and values that its check has refused
    failed: str = ""  # address of the last worker that has failed it
    retries: Counter[Reason] = field(default_factory=Counter)
    result: TaskResult | None = None

    def end(self, value: Any, error: Exception | None, retained: Attempt | None = None, worker: str = "") -> None:
        """Set the result; ``worker``: address of the worker with the value, by default the last that had the task."""
        last = worker or "".join(self.workers[-1:])
        self.result = TaskResult(self.task, value, error, last, max(len(self.workers), bool(last)), retained)

    @property
    def is_stuck(self) -> bool:
        """Whether no attempt is on a worker that responds."""
        return all(attempt.location is Location.UNRESPONSIVE for attempt in self.attempts)


@dataclass(frozen=True)
class _Value:
    """The value of an attempt, which may be of any type."""

    value: Any


_Fetched = _Value | BaseException  # an exception if the value could not be fetched


@dataclass(frozen=True, eq=False)
class _Submission:
    """An attempt to submit."""

    opened: _OpenTask
    key: tuple[str, ...]
    allowed: set[str]  # see `Attempt`
    span: Any
    payload: bytes  # the first argument of the function of `graphprover.cluster.worker`
    depends_on: tuple[Attempt, ...]  # the retained attempts whose values are the other arguments


class Dispatcher:
    """One call of `Cluster.run`.

    A task is open until it has a result. Each of its attempts is a task of Dask's scheduler::

        submitted ──> pending ──┬─> finished ──> the value is fetched, checked ───> RESULT: the value
                      ▲   │     │                   │  └ is refused ──────────────> as an error
                      │   │     │                   └ fails: UNREAD ──────────────> replaced
                      │   │     ├─> error ───┬ of its own, or the second ─────────> RESULT: the error
                      │   │     │            ├ the first ─────────────────────────> replaced, on another worker
                      │   │     │            └ its worker died: DEATHS ───────────> replaced
                      │   │     └─> cancelled: CANCELLED ─────────────────────────> replaced
                      │   ▼
                     poll, every POLL_SECONDS (`Location`)
                          PLACED         waits or runs
                          UNPLACED       on no worker; in the next poll LOST ─────> replaced
                          UNRESPONSIVE   stays; if all attempts are, a new one is submitted beside them

    ``pending``, ``finished``, ``error`` and ``cancelled`` are Dask's states of a future. A dead worker needs no
    replacement: the scheduler reassigns its tasks, and the attempt stays pending. Each `Reason` has a limit; beyond
    it the result is a ClusterError. With the result, all attempts are released. An attempt on an unresponsive worker
    is released only once the worker responds or leaves: until then it occupies the worker, which gets no other task.
    """

    def __init__(
        self,
        client: Client,
        workers: Workers,
        attempts: dict[str, Attempt],
        device: Device | str,
        begun: Callable[[ProvingTask, str], None] | None,
        more: Callable[[float], int],
    ) -> None:
        self._client, self._workers, self._attempts, self._device = client, workers, attempts, device
        self._more = more
        self._begun = begun or (lambda task, worker: None)
        gpus = gpus_needed(device)
        self._resources = {SLOT: 1, GPU.format(gpus - 1): 1} if gpus else {SLOT: 1}
        self._check_absence = workers.absence_check("has lost its workers", device)
        self._open: list[_OpenTask] = []
        self._ended: list[_OpenTask] = []  # with attempts to release
        self._abandoned: list[Attempt] = []  # of tasks that have ended, on unresponsive workers
        self._polled = time.monotonic()
        self._submitted = 0  # attempts

    def results(self, tasks: Iterator[ProvingTask]) -> Iterator[TaskResult]:
        """Submit the tasks, and yield their results as they end."""
        while True:
            self._open_tasks(tasks)
            self._release_ended()  # after new tasks are on their way
            if not self._open:
                if not self._more(POLL_SECONDS):
                    return
                continue
            self._wait()
            fetched = self._fetched()
            for opened in self._open:
                self._settle(opened, fetched)
                self._end_early(opened)
            if time.monotonic() - self._polled > POLL_SECONDS:
                self._poll()
                self._polled = time.monotonic()
            self._ended = [opened for opened in self._open if opened.result]
            self._open = [opened for opened in self._open if not opened.result]
            yield from [opened.result for opened in self._ended if opened.result]

    def close(self) -> None:
        """Release all attempts."""
        self._release_ended()
        for attempt in [*self._abandoned, *(attempt for opened in self._open for attempt in opened.attempts)]:
            attempt.location = Location.PLACED
            self._release(attempt)

    def _open_tasks(self, tasks: Iterator[ProvingTask]) -> None:
        """Submit as many tasks as the workers need, and as the scheduler of an adaptive cluster needs to see."""
        workers = len(self._workers.fit(self._device))
        # Queue one task ahead per worker; a longer queue of long tasks could leave other workers idle.
        least, seconds = max(1, 2 * workers), SHOWN_SECONDS * max(1, workers)
        opened = len(self._open)
        shown = sum(each.task.seconds for each in self._open)
        while (len(self._open) < least or shown < seconds) and (task := next(tasks, None)):
            self._open.append(_OpenTask(task))
            shown += task.seconds
        new = self._open[opened:]
        for avoid in {opened.task.avoid for opened in new}:
            self._submit([opened for opened in new if opened.task.avoid == avoid], first=True)

    def _submit(self, tasks: Sequence[_OpenTask], first: bool = False) -> None:
        """Submit an attempt of each task.

        Args:
            tasks: One task, or new ones that avoid the same workers.
            first: Whether these are first attempts.
        """
        places = self._workers.places(self._device)
        chosen = self._choose(places, tasks[0].task.avoid, tasks[0].failed)
        spread = self._spread(len(tasks), places, chosen)
        graph: list[_Submission] = []
        for opened in tasks:
            try:
                payload = opened.task.payload()
            except Exception as error:
                opened.end(None, error)
                continue
            held = self._held(opened.task.depends_on) if first or opened.task.needs_all else ()
            if opened.task.needs_all and not held:
                opened.end(None, LostValue(f"prove-{opened.task.name}: a value that it needs is lost"))
                continue
            allowed = chosen if held else next(spread)
            if first and opened.task.at in set[str]().union(*places) - opened.task.avoid:
                allowed = {opened.task.at}
            graph.append(self._submission(opened, allowed, payload, held))
            if sum(len(submission.payload) for submission in graph) > GRAPH_BYTES:
                self._send(graph)
                graph = []
        if graph:
            self._send(graph)

    def _choose(self, places: Sequence[set[str]], avoid: frozenset[str], failed: str) -> set[str]:
        """Return the workers that may have a task; empty if Dask may choose any.

        A task goes to a worker in ``avoid`` only if no other fits, and to the ``failed`` one only if no third fits.
        """
        fit = set[str]().union(*places)
        best = fit - avoid - {failed} or fit - avoid or fit - {failed} or fit
        return best if avoid or failed or self._workers.unfit(self._device) else set()

    def _spread(self, count: int, places: Sequence[set[str]], chosen: set[str]) -> Iterator[set[str]]:
        """Yield the workers that may have each of ``count`` tasks.

        Dask's scheduler prefers workers with little work, and two of them may share a GPU while another GPU is idle. So
        if there are no more tasks than workers, each task goes to the GPU with the fewest tasks per worker.

        Args:
            count: Number of tasks.
            places: Workers by GPU.
            chosen: Workers that may have the tasks; empty: all.
        """
        if chosen:
            places = [place & chosen for place in places if place & chosen]
        workers = sum(map(len, places))
        running = [attempt for attempt in list(self._attempts.values()) if attempt.future.status == "pending"]
        if not 1 < len(places) < workers or not 1 < len(running) + count <= workers:
            yield from repeat(chosen, count)
            return
        busy = [set(attempt.workers[-1:]) or attempt.allowed for attempt in running]
        tasks = [sum(bool(at) and at <= place for at in busy) for place in places]
        for _ in range(count):
            at = min(range(len(places)), key=lambda i: tasks[i] / len(places[i]))
            tasks[at] += 1
            yield places[at]

    def _held(self, results: Sequence[TaskResult]) -> tuple[Attempt, ...]:
        """Return the retained values of other tasks, unless one is lost."""
        attempts = tuple(result.retained for result in results if result.retained)
        unresponsive = any(self._workers.unresponsive & set(attempt.workers[-1:]) for attempt in attempts)
        if unresponsive or any(result.is_lost for result in results):
            return ()
        return attempts

    def _submission(
        self, opened: _OpenTask, allowed: set[str], payload: bytes, held: tuple[Attempt, ...]
    ) -> _Submission:
        self._submitted += 1
        own = self._submitted <= MOST_SPANS
        name = opened.task.name
        with span(name) if own else nullcontext():  # within the caller's spans
            seen_in = dask.get_annotations().get("span")
        return _Submission(opened, _key(name, own), allowed, seen_in, payload, held)

    def _send(self, graph: list[_Submission]) -> None:
        """Submit attempts as one graph: one by one, they would contend with a local scheduler for Python's lock."""
        spans = {submission.key: submission.span for submission in graph}
        order = {submission.key: submission.opened.task.order for submission in graph}
        allowed = {submission.key: sorted(submission.allowed) for submission in graph}
        # Without a choice, an annotation of the caller stays in force.
        chosen = {"workers": allowed.get} if any(allowed.values()) else {}
        with (
            dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}),  # messages have to be sent
            # The scheduler calls these functions, and it may not have graphprover.
            dask.annotate(span=spans.get, priority=order.get, **chosen),
        ):
            futures = self._client.map(
                eval,
                [_CALL.format(submission.opened.task.function) for submission in graph],
                [
                    {"arguments": {"payload": one.payload, "held": [attempt.future for attempt in one.depends_on]}}
                    for one in graph
                ],
                key=list(spans),
                resources=self._resources,
                pure=False,
            )
        for submission, future in zip(graph, futures, strict=True):
            attempt = Attempt(future, submission.allowed, submission.depends_on)
            submission.opened.attempts.append(attempt)
            self._attempts[str(future.key)] = attempt

    def _wait(self) -> None:
        """Wait until an attempt ends, for POLL_SECONDS at most; raise ClusterError if the scheduler has ended."""
        futures = [attempt.future for opened in self._open for attempt in opened.attempts]
        is_short = len(self._open) < 2 * len(self._workers.fit(self._device)) and self._more(0)
        try:
            with suppress(TimeoutError):
                if futures:
                    wait(futures, timeout=SOON if is_short else POLL_SECONDS, return_when="FIRST_COMPLETED")
        except (CancelledError, OSError) as error:
            self._check_scheduler(error)

    def _check_scheduler(self, error: BaseException) -> None:
        """Raise ClusterError if the scheduler has ended."""
        self._workers.check_scheduler(error, ", ".join(f"prove-{opened.task.name}" for opened in self._open))

    def _report_starts(self, opened: _OpenTask) -> None:
        """Report which workers have started the task, or one that it depends on, since the last call."""
        for dependency in opened.task.depends_on:
            if retained := dependency.retained:
                for worker in retained.workers[max(retained.reported, 1) :]:
                    self._warn(dependency.task, f"lost its worker; reassigned to {worker}")
                retained.reported = max(retained.reported, len(retained.workers))
        for attempt in opened.attempts:
            for worker in attempt.workers[attempt.reported :]:
                if attempt.reported:
                    self._warn(opened.task, f"lost its worker; reassigned to {worker}")
                attempt.reported += 1
                opened.workers.append(worker)
                opened.started = time.monotonic()
                self._begun(opened.task, worker)

    def _settle(self, opened: _OpenTask, fetched: Mapping[Attempt, _Fetched]) -> None:
        """Handle attempts that are no longer pending; ``fetched``: the values of the finished ones."""
        found = [(attempt, attempt.future.status) for attempt in opened.attempts]
        self._report_starts(opened)  # before the result
        for attempt, status in found:
            if opened.result or status == "pending":
                continue
            if status == "finished":
                if attempt in fetched:  # otherwise it has finished since, and is fetched in the next turn
                    self._take(opened, attempt, fetched[attempt])
            elif status == "error":
                self._handle_error(opened, attempt, attempt.future.exception())
            else:  # cancelled by another client, or forgotten by the scheduler
                self._check_scheduler(CancelledError(opened.task.name))
                self._retry(opened, attempt, Reason.CANCELLED)

    def _end_early(self, opened: _OpenTask) -> None:
        """End a task that is interrupted, or with JobTimeout if its worker has not done so, as one whose GPU hangs.

        The worker ends it before its next step (`graphprover.cluster.worker`), and gets no other task until then.
        """
        task, seconds = opened.task, opened.task.timeout
        try:
            if task.interrupt and not opened.result:
                task.interrupt()
        except Exception as error:
            opened.end(None, error)
        if seconds is not None and not opened.result and time.monotonic() > opened.started + seconds + OVERDUE_SECONDS:
            opened.end(None, JobTimeout(task.name, seconds))

    def _take(self, opened: _OpenTask, attempt: Attempt, fetched: _Fetched) -> None:
        """End the task with the value of an attempt, unless it could not be fetched or is refused."""
        if isinstance(fetched, BaseException):
            self._check_scheduler(fetched)
            if attempt.future.status == "finished":  # otherwise its worker has just died; handled by a later call
                self._retry(opened, attempt, Reason.UNREAD, "".join(attempt.workers[-1:]), fetched)
            return
        worker, retain = attempt.workers[-1] if attempt.workers else self._holder(attempt), opened.task.retain
        try:
            value = opened.task.check(fetched.value, worker)
        except VerificationError as error:
            refusal = error.refusal(f"{error}, by {worker}")
            self._fail(opened, attempt, refusal, str(refusal), worker)
            return
        except Exception as error:
            opened.end(None, error, worker=worker)
            return
        opened.end(value, None, attempt if retain else None, worker)
        if retain:
            opened.attempts.remove(attempt)

    def _fetched(self) -> dict[Attempt, _Fetched]:
        """Return the values of all attempts that have finished, which are fetched at the same time."""
        attempts = {
            attempt: opened.task.part
            for opened in self._open
            for attempt in opened.attempts
            if attempt.future.status == "finished"
        }
        if not attempts:
            return {}

        async def fetch_all() -> list[_Fetched]:
            each = [asyncio.wait_for(self._fetch_or_lose(*one), ANSWER_SECONDS) for one in attempts.items()]
            return await asyncio.gather(*each, return_exceptions=True)

        try:
            return dict(zip(attempts, self._client.sync(fetch_all), strict=True))
        except Exception as error:
            self._check_scheduler(error)
            raise

    async def _fetch_or_lose(self, attempt: Attempt, part: bool) -> _Value:
        """Return the value of an attempt; raise OSError as soon as the scheduler knows that its worker has died.

        The task is then no longer finished, and may be one that no other worker may have.
        """
        fetching = asyncio.ensure_future(self._fetch_part(attempt) if part else self._fetch(attempt))
        try:
            while not (await asyncio.wait({fetching}, timeout=LOST_SECONDS))[0]:
                if attempt.future.status != "finished":
                    raise OSError("its worker has died")
            return fetching.result()
        finally:
            fetching.cancel()

    async def _fetch(self, attempt: Attempt) -> _Value:
        """Return the value of an attempt: from its worker if direct connections are on, else from the scheduler.

        `Client.gather` alone would ask for all values in one message, whose answer waits for the slowest worker.
        """
        client, key = self._client, attempt.future.key
        if client.direct_to_workers and attempt.workers:
            found, *_ = await gather_from_workers({key: attempt.workers[-1:]}, client.rpc)
        else:
            scheduler: Any = client.scheduler
            found = (await scheduler.gather(keys=[key])).get("data", {})
        if key not in found:  # its worker has died, and another one makes it again
            (found[key],) = await client.gather([attempt.future], asynchronous=True)
        return _Value(found[key])

    async def _fetch_part(self, attempt: Attempt) -> _Value:
        """Return the part for the client of an attempt's value, which a worker gives beside its tasks."""
        key, scheduler = attempt.future.key, cast(Any, self._client.scheduler)
        holders = (await scheduler.who_has(keys=[key]))[key]
        if not holders:
            raise OSError("no worker has the value")
        found = await self._client.run(part_of, key, workers=list(holders[:1]), asynchronous=True)
        return _Value(*found.values())

    def _holder(self, attempt: Attempt) -> str:
        """Return the address of the worker that holds a value; empty if it has left.

        The event in which a worker names itself may come after its result.
        """
        with suppress(OSError, CancelledError):
            return next(iter(self._client.who_has([attempt.future])[attempt.future.key]), "")
        return ""

    def _handle_error(self, opened: _OpenTask, attempt: Attempt, error: Exception) -> None:
        """Handle the exception of an attempt, of the worker or of Dask."""
        if isinstance(error, KilledWorker):
            if len(opened.workers) > error.allowed_failures:
                line = f"prove-{opened.task.name}: all workers that started it died; see their logs ({error})"
                opened.end(None, ClusterError(line))
            else:  # it was queued there, and other tasks killed them
                self._retry(opened, attempt, Reason.DEATHS, error=error)
            return
        if isinstance(error, NoValidWorkerError):  # the scheduler has a `no-workers-timeout`; `_poll` has the client's
            self._retry(opened, attempt, Reason.UNPLACED, error=error)
            return
        worker = attempt.workers[-1] if attempt.workers else ""
        error = unwrap_exception(error, worker)
        self._fail(opened, attempt, error, f"failed ({type(error).__name__}: {error})", worker)

    def _fail(self, opened: _OpenTask, attempt: Attempt, error: Exception, reason: str, worker: str) -> None:
        """Retry the task elsewhere after its first failure, unless it is at fault; otherwise end it with the error."""
        if opened.failures or _is_own_fault(error):
            opened.end(None, error, worker=worker)
        else:
            opened.failures += 1
            self._replace(opened, attempt, reason, worker)

    def _retry(
        self,
        opened: _OpenTask,
        attempt: Attempt,
        reason: Reason,
        failed: str = "",
        error: BaseException | None = None,
    ) -> None:
        """Replace an attempt, unless the limit of the reason is reached."""
        if self._count(opened, attempt, reason, error):
            self._replace(opened, attempt, reason.text, failed)

    def _count(self, opened: _OpenTask, attempt: Attempt, reason: Reason, error: BaseException | None = None) -> bool:
        """Count a retry; beyond the limit, end the task with a ClusterError and return False."""
        opened.retries[reason] += 1
        if opened.retries[reason] <= reason.limit:
            return True
        by = f"; last worker: {attempt.workers[-1]}" if attempt.workers else ""
        cause = f": {type(error).__name__}: {error}" if error else ""
        line = f"prove-{opened.task.name}: {reason.text}, {opened.retries[reason]} times{by}{cause}"
        opened.end(None, ClusterError(line))
        return False

    def _replace(self, opened: _OpenTask, attempt: Attempt, reason: str, failed: str) -> None:
        """Release an attempt and submit another."""
        self._warn(opened.task, f"{reason}; it is retried")
        opened.attempts.remove(attempt)
        self._release(attempt)
        opened.failed = failed or opened.failed
        self._submit([opened])

    def _poll(self) -> None:
        """Update the workers and the locations of pending attempts, and help tasks that are lost."""
        workers = self._workers
        try:
            workers.refresh()
            where = {key: address for address, keys in self._client.processing().items() for key in keys}
        except OSError as error:
            self._check_scheduler(error)
            return
        workers.warn(self._device)
        fit = workers.fit(self._device)
        self._check_absence(bool(fit))
        self._release_abandoned(where)
        for opened in [opened for opened in self._open if not opened.result]:
            self._locate(opened, where, fit)

    def _locate(self, opened: _OpenTask, where: Mapping[Any, str], fit: set[str]) -> None:
        """Update the locations of the attempts of a task, and submit a new attempt if they are lost.

        A task can be on no worker for ever: if all workers leave and new ones join, the scheduler checks the resources
        of a new worker as it joins, and graphprover's resources are added only after that.
        """
        pending = [attempt for attempt in opened.attempts if attempt.future.status == "pending"]
        fits = bool(fit - self._workers.paused)
        for attempt in pending:
            worker = self._worker_of(attempt, where)
            attempt.locate(worker, responds=worker not in self._workers.unresponsive, fits=fits)
            if attempt.location is Location.LOST and attempt.future.status == "pending":
                self._retry(opened, attempt, Reason.UNPLACED)
        if fit and pending and opened.is_stuck and not opened.result:
            self._submit_beside(opened, pending[-1])

    def _submit_beside(self, opened: _OpenTask, attempt: Attempt) -> None:
        """Submit another attempt beside those on unresponsive workers."""
        if self._count(opened, attempt, Reason.UNRESPONSIVE):
            seconds = float(setting(SILENCE))
            self._warn(opened.task, f"no response from {attempt.worker} for {seconds:g} s; reassigned")
            self._submit([opened])

    def _worker_of(self, attempt: Attempt, where: Mapping[Any, str]) -> str:
        """Return the worker that an attempt waits for: its own, or its dependency's; empty if there is none."""
        address = where.get(attempt.future.key, "")
        if attempt.workers:
            return address
        for holder in (address for own in attempt.depends_on for address in own.workers[-1:]):
            if holder in self._workers.unresponsive:
                return holder
        recomputed = (where.get(own.future.key, "") for own in attempt.dependencies)  # before the attempt, if lost
        return address or next(filter(None, recomputed), "")

    def _release_ended(self) -> None:
        for attempt in (attempt for opened in self._ended for attempt in opened.attempts):
            self._release(attempt)
        self._ended = []

    def _release_abandoned(self, where: Mapping[Any, str]) -> None:
        for attempt in list(self._abandoned):
            if where.get(attempt.future.key) not in self._workers.unresponsive:
                self._abandoned.remove(attempt)
                attempt.future.release()

    def _release(self, attempt: Attempt) -> None:
        """Release an attempt: the scheduler forgets it, and its worker ends a proof before its next step."""
        self._attempts.pop(str(attempt.future.key), None)
        if attempt.location is Location.UNRESPONSIVE and attempt.future.status == "pending":
            self._abandoned.append(attempt)
        else:
            attempt.future.release()

    def _warn(self, task: ProvingTask, line: str) -> None:
        _log.warning("graphprover: prove-%s: %s", task.name, line, extra=dict(task.log_fields))
        with suppress(OSError):  # other calls notice a scheduler that has ended
            self._client.log_event(EVENTS, {"job": task.name, "line": line})


def _key(name: str, own: bool) -> tuple[str, ...]:
    """Return the key of an attempt.

    Dask groups tasks by the first part of their key. A span needs a group of its own (``own``).
    """
    # After "prove-", letters alone would be another kind of task to Dask.
    token = uuid.uuid4().hex[:8]
    return (f"prove-{token}-{name}",) if own else ("prove", name, token)


def _is_own_fault(error: Exception) -> bool:
    """Return whether a task would fail with this error on any worker."""
    own = ValueError | ProgramError | GuestFault | OtherExitCode | CostLimit | ModuleNotFoundError | TooLarge
    # After OtherShard, the client finds the worker at fault.
    return isinstance(error, own | JobTimeout | OtherShard)
