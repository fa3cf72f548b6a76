"""The two tasks of each shard on a Dask cluster, and the checks of their results."""

import logging
import pickle
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import count
from types import MappingProxyType
from typing import Any, TypeVar

from graphprover.cluster.client import Cluster
from graphprover.cluster.commitments import Version
from graphprover.cluster.messages import ShardRequest, pack
from graphprover.cluster.results import (
    ShardCommitment,
    StayingShard,
    commitment_in,
    expect_type,
    proof_in,
    staying_shard_in,
)
from graphprover.cluster.tasks import ProvingTask, TaskResult
from graphprover.device import Device
from graphprover.graphs.progress import Tell
from graphprover.graphs.rounds.transcript import OtherShard
from graphprover.graphs.task_keys import ShardNumber
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError, shard_error
from graphprover.protocol.joint import Joint
from graphprover.telemetry.merge import TaskReply, TaskTelemetry
from graphprover.telemetry.subscribe import clock, observing
from graphprover.verifier.shards import InCommon
from graphprover.vm.traces.shared_run import RunShard

# The tasks of a shard: functions of `graphprover.cluster.worker`. The first two are tasks of windows of a run.
RECORD, LAY_OUT, COMMIT, FINISH = "record", "lay_out", "commit", "finish"

NOTHING: Mapping[int, Any] = MappingProxyType({})

R = TypeVar("R")
Check = Callable[[int, Proof | StayingShard], "Future[InCommon]"]  # starts to verify a shard

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Refused:
    """A shard that fails verification, or a second task without a shard."""

    error: VerificationError
    worker: str  # address
    other: bool = False  # the worker's shard differs from the commitment


@dataclass(frozen=True)
class LaidOut:
    """The tables of all shards, on the workers that have laid them out."""

    subjects: Sequence[RunShard]
    held: Mapping[int, TaskResult]  # by index: the results on which the commitments depend

    def spread(self, workers: int) -> dict[int, TaskResult]:
        """Return the tables that stay on their workers, by index: no more than a worker's share of all shards.

        Others are laid out again elsewhere, since some of the workers have joined later.
        """
        shares: Counter[str] = Counter()
        kept = {}
        for index, result in self.held.items():
            shares[result.worker] += 1
            if shares[result.worker] <= -(-len(self.subjects) // workers):
                kept[index] = result
        return kept


@dataclass(eq=False)
class ShardTasks:
    """The tasks and results of a sharded proof."""

    cluster: Cluster
    name: str  # in log lines
    subjects: Sequence[Any]  # by shard, see `ShardRequest`
    device: Device | str
    tell: Tell | None
    given: dict[str, Sequence[Any]] = field(default_factory=dict)  # by token: the subject of each shard's tasks
    current: dict[int, Version] = field(default_factory=dict)  # by index: the commitments in use
    retained: set[TaskResult] = field(default_factory=set)  # values that workers retain
    shards: dict[int, Proof | StayingShard] = field(default_factory=dict)  # by index
    staying: dict[int, TaskResult] = field(default_factory=dict)  # by index: shards whose proofs are on their workers
    checked: dict[int, InCommon] = field(default_factory=dict)  # by index: values of valid shards
    observe: bool = field(default_factory=observing)
    began: float = field(default_factory=clock)
    sent: dict[tuple[int, str], float] = field(default_factory=dict)  # by index and task: time on `clock`
    finished: dict[int, TaskReply] = field(default_factory=dict)  # by index: observations of the second tasks

    @property
    def numbers(self) -> list[ShardNumber]:
        """The numbers of all shards."""
        return [ShardNumber(index, len(self.subjects)) for index in range(len(self.subjects))]

    def commit(
        self, shards: Iterable[int], avoid: Mapping[int, frozenset[str]], laid_out: LaidOut | None = None
    ) -> dict[int, Version]:
        """Run the first task of some shards, and return their commitments.

        Args:
            shards: Indices.
            avoid: By index: addresses of workers that get the shard only if no other fits.
            laid_out: The tables of all shards, if workers have laid them out.

        Raises:
            VerificationError: As `ask`.
        """
        token = uuid.uuid4().hex[:8]
        self.given[token] = laid_out.subjects if laid_out else self.subjects

        def read(index: int, value: Any) -> tuple[ShardCommitment, TaskReply | None]:
            return commitment_in(value), self._asked(index, COMMIT, value)

        def took(index: int, result: TaskResult) -> None:
            commitment, asked = result.value
            self.current[index] = Version(commitment, result.worker, token, result, asked)

        chosen = [number for number in self.numbers if number.index in set(shards)]
        for number in chosen:
            self._forget(number.index, COMMIT)
        held = laid_out.spread(self.cluster.workers(self.device)) if laid_out else {}
        self.ask(COMMIT, chosen, token, read, took, avoid, held)
        if laid_out:
            self.let_go(laid_out.held.values())
        return {number.index: self.current[number.index] for number in chosen}

    def ask(
        self,
        function: str,
        numbers: Iterable[ShardNumber],
        token: str,
        read: Callable[[int, Any], Any],
        took: Callable[[int, TaskResult], None],
        avoid: Mapping[int, frozenset[str]] = NOTHING,
        held: Mapping[int, TaskResult] = NOTHING,
        at: Mapping[int, str] = NOTHING,
    ) -> None:
        """Run a task of some shards whose value stays on its worker.

        Args:
            function: The task.
            numbers: Of the shards.
            token: Names the subjects.
            read: Returns the part of a shard's value for the client; raises VerificationError if there is none.
            took: Called with the index of the shard and the result, whose value is this part.
            avoid: By index: addresses of workers that get the shard only if no other fits.
            held: By index: results of an earlier task, on which this one depends.
            at: By index: addresses of workers, by default the ones of ``held``.

        Raises:
            VerificationError: If two workers return no such part; it names shard and worker.
        """

        def take(number: ShardNumber, result: TaskResult) -> None:
            if isinstance(result.error, VerificationError):
                raise shard_error(number.index, result.error)
            if result.error:
                raise result.error
            self.retained.add(result)
            took(number.index, result)

        tasks = {}
        for number in numbers:
            before = held.get(number.index)
            worker = before.worker if before else at.get(number.index, "")
            task = self._task(number, function, token, avoid, held=before, at=worker)
            tasks[replace(task, check=_reading(read, number.index), retain=True)] = number
        self._run(tasks, take)

    def finish(
        self,
        numbers: Iterable[ShardNumber],
        avoid: Mapping[int, frozenset[str]],
        joint: Joint,
        nonce: int,
        check: Check,
        stay: bool = False,
    ) -> dict[ShardNumber, Refused]:
        """Run the second task of some shards, and return the shards that are not valid.

        A shard that stays on its worker from an earlier call is not proved again.

        Args:
            numbers: Of the shards.
            avoid: By index: addresses of workers that get the shard only if no other fits.
            joint: Commitments of all shards.
            nonce: Proof of work before the shared challenges.
            check: Starts to verify a shard. Its futures are awaited after the last shard has come.
            stay: Whether the proofs stay on their workers (`staying`), and the client gets a part of each.
        """
        refused: dict[ShardNumber, Refused] = {}
        checks: dict[ShardNumber, tuple[Future[InCommon], str]] = {}
        tasks: dict[ProvingTask, ShardNumber] = {}

        def take(number: ShardNumber, result: TaskResult) -> None:
            index, worker, finished = number.index, result.worker, result.value
            version = self.current[index]
            self.let_go([version.result, *result.task.depends_on])
            if result.retained:
                self.retained.add(result)
                self.staying[index] = result
            if isinstance(result.error, OtherShard):
                what = f"the shard of {worker} differs from the commitment of {version.worker}"
                error = VerificationError("worker.shard", what)
                refused[number] = Refused(shard_error(index, error), worker, other=True)
                return
            if result.error:
                raise result.error
            try:
                shard = staying_shard_in(finished) if stay else expect_type(proof_in(finished), Proof)
                asked = self._asked(index, FINISH, finished)
            except VerificationError as error:
                refused[number] = Refused(shard_error(index, error), worker)
                return
            self.shards[index] = shard
            if asked:
                self.finished[index] = asked
            checks[number] = check(index, shard), worker
            if finished.recomputed is True:
                _log.warning("graphprover: prove-%s: recomputed from the beginning by %s", result.task.name, worker)

        for number in sorted(numbers, key=lambda number: -number.index):
            tasks[replace(self._second_task(number, avoid, joint, nonce), retain=stay, part=stay)] = number
        self._run(tasks, take)
        for number, (checked, worker) in checks.items():
            try:
                self.checked[number.index] = checked.result()
            except VerificationError as error:
                refused[number] = Refused(error, worker)
        for number, one in refused.items():
            self._warn(one)
            if stayed := self.staying.pop(number.index, None):
                self.let_go([stayed])
        return refused

    def _second_task(
        self, number: ShardNumber, avoid: Mapping[int, frozenset[str]], joint: Joint, nonce: int
    ) -> ProvingTask:
        """Return the second task of a shard, which depends on its commitment or its proof if a worker retains it."""
        version, stayed = self.current[number.index], self.staying.pop(number.index, None)
        if not stayed:
            self._forget(number.index, FINISH)
        before = stayed or version.result
        if before.is_lost:  # Dask need not recompute it
            self.let_go([before])
        held = before if before in self.retained else None
        at = held.worker if held and isinstance(self.given[version.token][number.index], RunShard) else ""
        return self._task(number, FINISH, version.token, avoid, joint, nonce, held=held, at=at)

    def release(self) -> None:
        """Release the values that workers retain of unfinished shards."""
        self.let_go(list(self.retained))

    def let_go(self, results: Iterable[TaskResult]) -> None:
        """Release values that workers retain, unless they are released."""
        for result in results:
            if result in self.retained:
                self.retained.remove(result)
                self.cluster.release(result)

    def _forget(self, index: int, function: str) -> None:
        """Forget the results of a task that is run again."""
        self.shards.pop(index, None)
        self.sent.pop((index, function), None)
        if function == COMMIT:
            self.current.pop(index, None)

    def _warn(self, refused: Refused) -> None:
        _log.warning("graphprover: prove-%s: %s, by %s", self.name, refused.error, refused.worker)

    def _asked(self, index: int, function: str, value: Any) -> TaskReply | None:
        """Return the observation in a result, if one was requested."""
        if not self.observe:
            return None
        sent, came = self.sent[index, function], clock()
        if function == COMMIT:  # which has the stages of the window's tasks, too
            sent = self.sent.get((index, RECORD), sent)
        return TaskReply(
            expect_type(getattr(value, "telemetry", None), TaskTelemetry), sent, came, _pickled_size(value)
        )

    def _task(
        self,
        number: ShardNumber,
        function: str,
        token: str,
        avoid: Mapping[int, frozenset[str]],
        *more: Any,
        held: TaskResult | None = None,
        at: str = "",
    ) -> ProvingTask:
        subject, attempts = self.given[token][number.index], count()

        def payload() -> bytes:
            per_worker = -(-number.count // self.cluster.workers(self.device))
            # The worker of the first attempt has the value that it depends on. A window may have many megabytes.
            slim = held and isinstance(subject, RunShard) and not next(attempts)
            sent = subject.without_window if slim else subject
            request = ShardRequest(sent, number, token, self.device, per_worker, self.observe)
            self.sent.setdefault((number.index, function), clock())
            return pack(request, *more)

        return ProvingTask(
            f"{self.name}: {number}: {function}",
            payload,
            # A shard's second task frees memory, so it goes first. The last shard to commit retains the most arrays.
            weight=1 + number.index if function == FINISH else -number.index,
            function=function,
            depends_on=(held,) if held else (),
            avoid=avoid.get(number.index, frozenset()),
            at=at,
        )

    def _run(self, tasks: Mapping[ProvingTask, ShardNumber], take: Callable[[ShardNumber, TaskResult], None]) -> None:
        with closing(self.cluster.run(tasks, self.device, lambda task, worker: self._tell(task.name))) as results:
            for result in results:
                take(tasks[result.task], result)
                self._tell(result.task.name if len(self.shards) < len(self.subjects) else "")

    def _tell(self, task: str) -> None:
        """Report progress: two tasks a shard."""
        if self.tell:
            unfinished = (version for index, version in self.current.items() if index not in self.shards)
            committed = sum(version.result in self.retained for version in unfinished)
            self.tell(committed + 2 * len(self.shards), 2 * len(self.subjects), task)


def _reading(read: Callable[[int, Any], Any], index: int) -> Callable[[Any, str], Any]:
    return lambda value, worker: read(index, value)


def _pickled_size(value: Any) -> int:
    """Return the size of a pickle in bytes, without a copy of the proof's payload, which is most of it."""
    buffers: list[pickle.PickleBuffer] = []
    return len(pickle.dumps(value, protocol=5, buffer_callback=buffers.append)) + sum(b.raw().nbytes for b in buffers)
