"""Errands given to workers: who has which, what has been lost and is given to another, and what comes of each."""

import logging
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import islice, repeat
from typing import Any

import dask
from distributed import Client, Future, span, wait
from distributed.scheduler import KilledWorker
from distributed.utils_comm import gather_from_workers

from graphprover.admission.admission import TooLarge
from graphprover.cluster import ClusterError
from graphprover.cluster.results import raised
from graphprover.cluster.tasks import EVENTS, Attempt, ProvingTask, TaskResult
from graphprover.cluster.workers import ANSWER_SECONDS, GPU, LOOK_SECONDS, SLOT, Workers, gpus_asked
from graphprover.device import Device
from graphprover.graphs.rounds.transcript import OtherShard
from graphprover.runtime.settings import SILENCE, setting
from graphprover.vm.executor.faults import GuestFault, OtherExitCode

GRAPH_BYTES = 16 << 20  # of payloads, which client and scheduler hold several times
# How often an task is submitted again for one reason. A result that cannot be read may take a minute each time.
CANCELLED, NOWHERE, DEATHS, SILENT = "was cancelled", "is with no worker", "was with workers that died", "has stopped"
UNREAD = "is proved, but the proof does not come"
MOST_AGAIN = {CANCELLED: 10, NOWHERE: 10, DEATHS: 10, SILENT: 10, UNREAD: 2}
MOST_SPANS = 1000  # of a run: a scheduler keeps what it has seen of a span for ever
_TASK = "__import__('graphprover.cluster.worker', fromlist=['worker']).{}(**given)"

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr


@dataclass(eq=False)
class _Open:
    """A task that has not ended: its attempts, of which the first to succeed counts."""

    task: ProvingTask
    attempts: list[Attempt] = field(default_factory=list)
    workers: list[str] = field(default_factory=list)  # who has begun it, in order
    failures: int = 0
    again: Counter[str] = field(default_factory=Counter)  # how often it was submitted again, by reason
    result: TaskResult | None = None

    def end(self, value: Any, error: Exception | None, kept: Attempt | None = None, worker: str = "") -> None:
        """End the task; ``worker``: the address of the worker that gave the value, if no event has named one."""
        last = self.workers[-1] if self.workers else worker
        self.result = TaskResult(self.task, value, error, last, max(len(self.workers), bool(last)), kept)


@dataclass(frozen=True, eq=False)
class _Sent:
    """What a task is sent with."""

    opened: _Open
    key: tuple[str, ...]
    among: set[str]  # see `Attempt`
    seen_in: Any  # the span
    given: dict[str, Any]  # to the function of `graphprover.cluster.worker`


class Run:
    """One call of `Cluster.run`."""

    def __init__(
        self,
        client: Client,
        workers: Workers,
        heard: dict[str, Attempt],
        device: Device | str,
        begun: Callable[[ProvingTask, str], None] | None,
    ) -> None:
        self._client, self._workers, self._heard, self._device = client, workers, heard, device
        self._begun = begun or (lambda task, worker: None)
        asked = gpus_asked(device)
        self._needed = {SLOT: 1, GPU.format(asked - 1): 1} if asked else {SLOT: 1}
        self._present = workers.absence("has lost its workers", device)
        self._open: list[_Open] = []
        self._ended: list[_Open] = []  # whose workers may still keep what they gave
        # Of tasks that others have ended: a stopped worker keeps its task, and gets no more.
        self._held: list[Attempt] = []
        self._looked = time.monotonic()
        self._submitted = 0  # tasks

    def results(self, tasks: Iterator[ProvingTask]) -> Iterator[TaskResult]:
        while True:
            # Each has one more at hand; a second would wait there while others have nothing to do.
            at_once = max(1, 2 * len(self._workers.fit(self._device)))
            begin = [_Open(task) for task in islice(tasks, max(0, at_once - len(self._open)))]
            self._open += begin
            for avoid in {one.task.avoid for one in begin}:
                self._submit([one for one in begin if one.task.avoid == avoid], first=True)
            self._release_ended()  # now that others are on their way
            if not self._open:
                return
            self._wait()
            for one in self._open:
                self._settle(one)
            if time.monotonic() - self._looked > LOOK_SECONDS:
                self._look()
                self._looked = time.monotonic()
            self._ended = [one for one in self._open if one.result]
            self._open = [one for one in self._open if not one.result]
            yield from [one.result for one in self._ended if one.result]

    def close(self) -> None:
        """Take back what has not ended."""
        self._release_ended()
        for one in [*self._held, *(one for opened in self._open for one in opened.attempts)]:
            one.stopped = ""
            self._release(one)

    def _submit(self, begin: Sequence[_Open], failed: str = "", first: bool = False) -> None:
        """To any worker; never to one that has stopped, nor, if there are others, to those to avoid.

        All tasks avoid the same workers. ``failed``: the worker that has failed an task, which is avoided, too, if
        there is a third.
        """
        places, avoid = self._workers.places(self._device), begin[0].task.avoid
        fit = set[str]().union(*places)
        best = fit - avoid - {failed} or fit - avoid or fit - {failed} or fit
        chosen = best if avoid or failed or self._workers.unfit(self._device) else set()
        spread = self._spread(len(begin), places, chosen)
        graph: list[_Sent] = []
        for opened in begin:
            task = opened.task
            try:
                payload = task.payload()
            except Exception as error:
                opened.end(None, error)
                continue
            self._submitted += 1
            own = self._submitted <= MOST_SPANS
            with span(task.name) if own else nullcontext():  # within those of the caller
                seen_in = dask.get_annotations().get("span")
            held = self._at_hand(task.held if first else None)
            among = chosen if held else next(spread)
            graph.append(_Sent(opened, _key(task.name, own), among, seen_in, {"payload": payload} | held))
            if sum(len(sent.given["payload"]) for sent in graph) > GRAPH_BYTES:
                self._send(graph)
                graph = []
        if graph:
            self._send(graph)

    def _spread(self, count: int, places: Sequence[set[str]], chosen: set[str]) -> Iterator[set[str]]:
        """The workers that each of so many tasks may go to, of those that were chosen, or all; ``places``: by GPU.

        The scheduler looks for a worker that has little to do, and two such may share a GPU while another is idle. So
        where there are no more tasks than workers, each goes to the GPU that has the fewest for its workers.
        """
        if chosen:
            places = [place & chosen for place in places if place & chosen]
        workers = sum(map(len, places))
        running = [one for one in list(self._heard.values()) if one.future.status == "pending"]
        if not 1 < len(places) < workers or not 1 < len(running) + count <= workers:
            yield from repeat(chosen, count)
            return
        has = [set(one.workers[-1:]) or one.among for one in running]
        tasks = [sum(bool(at) and at <= place for at in has) for place in places]
        for _ in range(count):
            at = min(range(len(places)), key=lambda i: tasks[i] / len(places[i]))
            tasks[at] += 1
            yield places[at]

    def _send(self, graph: list[_Sent]) -> None:
        """As one graph: one by one they would take turns with the scheduler, where that is here for Python's lock."""
        spans = {sent.key: sent.seen_in for sent in graph}
        weights = {sent.key: sent.opened.task.weight for sent in graph}
        among = {sent.key: sorted(sent.among) for sent in graph}
        chosen = {"workers": among.get} if any(among.values()) else {}  # else those of the caller, if it has any
        with (
            dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}),  # all of it is needed there
            # The scheduler calls these, without our package.
            dask.annotate(span=spans.get, priority=weights.get, **chosen),
        ):
            futures = self._client.map(
                eval,
                [_TASK.format(sent.opened.task.function) for sent in graph],
                [{"given": sent.given} for sent in graph],
                key=list(spans),
                resources=self._needed,
                pure=False,
            )
        for sent, future in zip(graph, futures, strict=True):
            held = sent.opened.task.held
            takes = held.kept if held and "held" in sent.given else None
            sent.opened.attempts.append(Attempt(future, sent.among, takes))
            self._heard[str(future.key)] = sent.opened.attempts[-1]

    def _at_hand(self, held: TaskResult | None) -> dict[str, Future]:
        """What a task takes of another's worker, where it is not lost with that."""
        if held is None or held.kept is None or held.kept.future.status not in ("finished", "pending"):
            return {}
        return {} if self._workers.silent & set(held.kept.workers[-1:]) else {"held": held.kept.future}

    def _wait(self) -> None:
        """Until one ends, for a look's time at most; raises ClusterError where the scheduler is gone."""
        futures = [one.future for opened in self._open for one in opened.attempts]
        try:
            with suppress(TimeoutError):
                if futures:
                    wait(futures, timeout=LOOK_SECONDS, return_when="FIRST_COMPLETED")
        except (CancelledError, OSError) as error:
            self._gone(error)

    def _gone(self, error: BaseException) -> None:
        """Raise ClusterError if the scheduler is gone."""
        self._workers.gone(error, ", ".join(f"prove-{opened.task.name}" for opened in self._open))

    def _tell_begun(self, opened: _Open) -> None:
        if opened.task.held and (kept := opened.task.held.kept):
            for worker in kept.workers[max(kept.told, 1) :]:
                self._log(opened.task.held.task, f"lost its worker; {worker} begins it again")
            kept.told = max(kept.told, len(kept.workers))
        for one in opened.attempts:
            for worker in one.workers[one.told :]:
                if one.told:
                    self._log(opened.task, f"lost its worker; {worker} begins it again")
                one.told += 1
                opened.workers.append(worker)
                self._begun(opened.task, worker)

    def _settle(self, opened: _Open) -> None:
        """See what has become of its tries."""
        found = [(one, one.future.status) for one in opened.attempts]
        self._tell_begun(opened)  # which comes before the end
        for one, status in found:
            if opened.result or status == "pending":
                continue
            if status == "finished":
                self._take(opened, one)
            elif status == "error":
                self._failed(opened, one, one.future.exception())
            else:  # cancelled, by another client or because the scheduler forgot us
                self._gone(CancelledError(opened.task.name))
                self._again(opened, one, CANCELLED)

    def _take(self, opened: _Open, one: Attempt) -> None:
        try:
            value = self._value(one)
        except Exception as error:
            self._gone(error)
            if one.future.status == "finished":  # else its worker died with it, and what comes of it now is seen later
                self._again(opened, one, UNREAD, "".join(one.workers[-1:]), error)
        else:
            stays = opened.task.stays
            opened.end(value, None, one if stays else None, "" if opened.workers else self._holder(one))
            if stays:
                opened.attempts.remove(one)

    def _value(self, one: Attempt) -> Any:
        """What it gave: from its worker, where that is asked directly, else by way of the scheduler, which knows."""
        client, key = self._client, one.future.key
        if client.direct_to_workers and one.workers:
            where = {key: one.workers[-1:]}
            found, *_ = client.sync(gather_from_workers, where, client.rpc, callback_timeout=ANSWER_SECONDS)
            if key in found:
                return found[key]
        return one.future.result(timeout=ANSWER_SECONDS)

    def _holder(self, one: Attempt) -> str:
        """Return the address of the worker that holds a result; empty if it has left.

        The event in which a worker names itself may come after its result.
        """
        with suppress(OSError, CancelledError):
            return next(iter(self._client.who_has([one.future])[one.future.key]), "")
        return ""

    def _failed(self, opened: _Open, one: Attempt, error: Exception) -> None:
        if isinstance(error, KilledWorker):
            deaths = len(opened.workers)
            if deaths > error.allowed_failures:
                line = f"prove-{opened.task.name}: the workers that tried it died; their logs say of what ({error})"
                opened.end(None, ClusterError(line))
            else:  # others' deaths, while it waited
                self._again(opened, one, DEATHS, error=error)
            return
        avoid = one.workers[-1] if one.workers else ""
        error = raised(error, avoid)
        if opened.failures or _is_own_fault(error):
            opened.end(None, error)
        else:
            opened.failures += 1
            self._replace(opened, one, f"failed ({type(error).__name__}: {error})", avoid)

    def _again(
        self, opened: _Open, one: Attempt, reason: str, avoid: str = "", error: BaseException | None = None
    ) -> None:
        """Submit once more, in place of one try, unless that was done too often for this reason."""
        if self._may_again(opened, one, reason, error):
            self._replace(opened, one, reason, avoid)

    def _may_again(self, opened: _Open, one: Attempt, reason: str, error: BaseException | None = None) -> bool:
        """Count a reason to submit once more; end the task with a ClusterError if there were too many."""
        opened.again[reason] += 1
        if opened.again[reason] <= MOST_AGAIN[reason]:
            return True
        by = f", by {one.workers[-1]}" if one.workers else ""
        cause = f": {type(error).__name__}: {error}" if error else ""
        line = f"prove-{opened.task.name}: {reason}, {opened.again[reason]} times{by}{cause}"
        opened.end(None, ClusterError(line))
        return False

    def _replace(self, opened: _Open, one: Attempt, why: str, avoid: str) -> None:
        self._log(opened.task, f"{why}; it is submitted again")
        opened.attempts.remove(one)
        self._release(one)
        self._submit([opened], avoid)

    def _look(self) -> None:
        """See who is there and which worker has what, and help what has been lost.

        A task that is nowhere is submitted again: when all that could have it had gone and others have come, the
        scheduler looks at their resources when they come, and they have ours only after that.
        """
        workers = self._workers
        try:
            workers.look()
            where = {key: address for address, keys in self._client.processing().items() for key in keys}
        except OSError as error:
            self._gone(error)
            return
        workers.warn(self._device)
        silent, fit = workers.silent, workers.fit(self._device)
        self._present(bool(fit))
        for held in list(self._held):
            if where.get(held.future.key) not in silent:
                self._held.remove(held)
                held.future.release()
        for opened in [opened for opened in self._open if not opened.result]:
            waiting = [one for one in opened.attempts if one.future.status == "pending"]
            for one in waiting:
                address = self._place(one, where)
                one.stopped = address if address in silent else ""
                one.nowhere = one.nowhere + 1 if fit - workers.paused and not address else 0
                if one.nowhere == 2 and one.future.status == "pending":  # once it may be on its way
                    self._again(opened, one, NOWHERE)
            if fit and waiting and all(one.stopped for one in opened.attempts) and not opened.result:
                since = f"{float(setting(SILENCE)):g} s"
                if self._may_again(opened, waiting[-1], SILENT):
                    self._log(opened.task, f"nothing from {waiting[-1].stopped} for {since}; it is given to another")
                    self._submit([opened])

    def _place(self, one: Attempt, where: Mapping[Any, str]) -> str:
        """The worker that a task waits for: who has it, or what it takes; empty if it is nowhere."""
        address = where.get(one.future.key, "")
        if one.takes is None or one.workers:
            return address
        holder = "".join(one.takes.workers[-1:])
        if holder in self._workers.silent:
            return holder
        return address or where.get(one.takes.future.key, "")  # what it takes is lost, and made first

    def _release_ended(self) -> None:
        for one in (one for opened in self._ended for one in opened.attempts):
            self._release(one)
        self._ended = []

    def _release(self, one: Attempt) -> None:
        """What nobody wants any more the scheduler takes back; a proof that runs ends first."""
        self._heard.pop(str(one.future.key), None)
        if one.stopped and one.future.status == "pending":
            self._held.append(one)
        else:
            one.future.release()

    def _log(self, task: ProvingTask, line: str) -> None:
        _log.warning("graphprover: prove-%s: %s", task.name, line)
        with suppress(OSError):  # whether the scheduler is gone others will see
            self._client.log_event(EVENTS, {"job": task.name, "line": line})


def _key(name: str, own: bool) -> tuple[str, ...]:
    """The key of an task's task, whose first part is its group: its own, which a span needs, or that of others.

    What follows the first word must not be letters alone, or Dask would take it for another kind of task.
    """
    token = uuid.uuid4().hex[:8]
    return (f"prove-{token}-{name}",) if own else ("prove", name, token)


def _is_own_fault(error: Exception) -> bool:
    """Whether an task would fail so anywhere."""
    from graphprover.jobs.programs import ProgramError

    own = ValueError | ProgramError | GuestFault | OtherExitCode | ModuleNotFoundError | TooLarge
    # Of a shard that is another than what has committed, the client finds the worker at fault.
    return isinstance(error, own | OtherShard)
