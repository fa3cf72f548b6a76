"""The two tasks of each shard on a Dask cluster, and the checks of what they return."""

import logging
import pickle
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from graphprover.cluster.client import Cluster
from graphprover.cluster.commitments import Version
from graphprover.cluster.messages import Part, packed
from graphprover.cluster.results import commitment_in, expect_type, proof_in
from graphprover.cluster.tasks import Errand, Outcome
from graphprover.device import Device
from graphprover.graphs.progress import Tell
from graphprover.graphs.rounds.transcript import OtherShard
from graphprover.graphs.task_keys import ShardNumber
from graphprover.proof.proof import Proof
from graphprover.protocol.errors import VerificationError, shard_error
from graphprover.protocol.joint import Joint
from graphprover.protocol.proof import BatchProof
from graphprover.telemetry.merge import TaskReply, TaskTelemetry
from graphprover.telemetry.subscribe import clock, observing

COMMIT, FINISH = "commit", "finish"  # the tasks of a shard, functions of `graphprover.cluster.worker`

Check = Callable[[int, Proof], "Future[BatchProof]"]  # begins to verify a shard

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Refused:
    """A shard that does not hold, or that its second task could not make."""

    error: VerificationError
    worker: str  # the address of the worker that has returned it
    other: bool = False  # it is another shard than the one that has committed


@dataclass(eq=False)
class ShardTasks:
    """A proof whose shards are made."""

    cluster: Cluster
    name: str  # for people
    parts: Sequence[Any]
    device: Device | str
    tell: Tell | None
    current: dict[int, Version] = field(default_factory=dict)  # by shard, the versions that count for now
    kept: set[Outcome] = field(default_factory=set)  # of versions whose arrays workers keep
    made: dict[int, Proof] = field(default_factory=dict)
    batches: dict[int, BatchProof] = field(default_factory=dict)  # what is in the shards that hold
    observe: bool = field(default_factory=observing)
    sent: dict[tuple[int, str], float] = field(default_factory=dict)  # on `clock`, when a task first was
    finished: dict[int, TaskReply] = field(default_factory=dict)  # what was seen of the second tasks that count

    @property
    def numbers(self) -> list[ShardNumber]:
        """The numbers of all shards."""
        return [ShardNumber(index, len(self.parts)) for index in range(len(self.parts))]

    def commit(self, shards: Iterable[int], avoid: Mapping[int, frozenset[str]]) -> dict[int, Version]:
        """Run the first task of these shards, and return what they have committed to.

        ``avoid``: for each shard the workers that get it only if there is no other. A task that returns no commitment
        is run again, once, by another worker if there is one; then VerificationError names the worker.
        """
        token, refused = uuid.uuid4().hex[:8], dict[ShardNumber, Refused]()

        def take(number: ShardNumber, outcome: Outcome) -> None:
            if outcome.error:
                raise outcome.error
            self.kept.add(outcome)
            try:
                commitment, asked = commitment_in(outcome.value), self._asked(number, COMMIT, outcome.value)
            except VerificationError as error:
                self._release(outcome)
                refused[number] = Refused(shard_error(number.index, error), outcome.worker)
            else:
                self.current[number.index] = Version(commitment, outcome.worker, token, outcome, asked)

        def run(numbers: Iterable[ShardNumber], avoid: Mapping[int, frozenset[str]]) -> None:
            errands = {}
            for number in numbers:
                self._forget(number.index, COMMIT)
                errands[self._errand(number, COMMIT, token, avoid)] = number
            self._run(errands, take)

        chosen = [number for number in self.numbers if number.index in set(shards)]
        run(chosen, avoid)
        if refused:
            again = list(refused)
            failed = {n.index: avoid.get(n.index, frozenset()) | {one.worker} for n, one in refused.items()}
            for one in refused.values():
                self._warn(one)
            refused.clear()
            run(again, failed)
        for one in refused.values():
            raise VerificationError(f"{one.error}, by {one.worker}")
        return {number.index: self.current[number.index] for number in chosen}

    def finish(
        self,
        numbers: Iterable[ShardNumber],
        avoid: Mapping[int, frozenset[str]],
        joint: Joint,
        nonce: int,
        check: Check,
    ) -> dict[ShardNumber, Refused]:
        """Run the second task of these shards, and return what is wrong with the shards that do not hold.

        ``check`` begins to verify a shard; the wait for that is after the last shard has come.
        """
        refused: dict[ShardNumber, Refused] = {}
        checks: dict[ShardNumber, tuple[Future[BatchProof], str]] = {}

        def take(number: ShardNumber, outcome: Outcome) -> None:
            index, worker, finished = number.index, outcome.worker, outcome.value
            version = self.current[index]
            self._release(version.outcome)
            if isinstance(outcome.error, OtherShard):
                reason = f"{worker} makes another shard than {version.worker} has committed to"
                refused[number] = Refused(shard_error(index, reason), worker, other=True)
                return
            if outcome.error:
                raise outcome.error
            try:
                proof = expect_type(proof_in(finished), Proof)
                asked = self._asked(number, FINISH, finished)
            except VerificationError as error:
                refused[number] = Refused(shard_error(index, error), worker)
                return
            self.made[index] = proof
            if asked:
                self.finished[index] = asked
            checks[number] = check(index, proof), worker
            if finished.again is True:
                _log.warning("graphprover: prove-%s: made from the beginning by %s", outcome.errand.name, worker)

        errands = {}
        for number in numbers:
            self._forget(number.index, FINISH)
            token = self.current[number.index].token
            errands[self._errand(number, FINISH, token, avoid, joint, nonce)] = number
        self._run(errands, take)
        for number, (checked, worker) in checks.items():
            try:
                self.batches[number.index] = checked.result()
            except VerificationError as error:
                refused[number] = Refused(error, worker)
        for one in refused.values():
            self._warn(one)
        return refused

    def release(self) -> None:
        """Let workers forget what they keep of shards that were not finished."""
        for outcome in list(self.kept):
            self._release(outcome)

    def _release(self, outcome: Outcome) -> None:
        if outcome in self.kept:
            self.kept.remove(outcome)
            self.cluster.release(outcome)

    def _forget(self, index: int, task: str) -> None:
        """The shard is made, or begun, anew."""
        self.made.pop(index, None)
        self.sent.pop((index, task), None)
        if task == COMMIT:
            self.current.pop(index, None)

    def _warn(self, refused: Refused) -> None:
        _log.warning("graphprover: prove-%s: %s, by %s", self.name, refused.error, refused.worker)

    def _asked(self, number: ShardNumber, task: str, value: Any) -> TaskReply | None:
        """What was seen of a task that gave a `one_shard.Held` or `Finished`, if that was asked for."""
        if not self.observe:
            return None
        sent, came = self.sent[number.index, task], clock()
        return TaskReply(
            expect_type(getattr(value, "telemetry", None), TaskTelemetry), sent, came, _pickled_size(value)
        )

    def _errand(
        self, number: ShardNumber, task: str, token: str, avoid: Mapping[int, frozenset[str]], *more: Any
    ) -> Errand:
        def payload() -> bytes:
            waiting = -(-number.count // self.cluster.workers(self.device))
            part = Part(self.parts[number.index], number, token, self.device, waiting, self.observe)
            self.sent.setdefault((number.index, task), clock())
            return packed(part, *more)

        held = self.current[number.index].outcome if task == FINISH else None
        return Errand(
            f"{self.name}: {number}: {task}",
            payload,
            weight=int(task == FINISH),  # which gives memory back, so it goes first
            task=task,
            held=held if held in self.kept else None,
            stays=task == COMMIT,
            avoid=avoid.get(number.index, frozenset()),
        )

    def _run(self, errands: Mapping[Errand, ShardNumber], take: Callable[[ShardNumber, Outcome], None]) -> None:
        with closing(self.cluster.run(errands, self.device, lambda one, worker: self._say(one.name))) as outcomes:
            for outcome in outcomes:
                take(errands[outcome.errand], outcome)
                self._say(outcome.errand.name if len(self.made) < len(self.parts) else "")

    def _say(self, task: str) -> None:
        if self.tell:
            waiting = sum(one.outcome in self.kept for index, one in self.current.items() if index not in self.made)
            self.tell(waiting + 2 * len(self.made), 2 * len(self.parts), task)


def _pickled_size(value: Any) -> int:
    """In bytes; a proof's payload, the most of it, is not copied for that."""
    buffers: list[pickle.PickleBuffer] = []
    return len(pickle.dumps(value, protocol=5, buffer_callback=buffers.append)) + sum(b.raw().nbytes for b in buffers)
