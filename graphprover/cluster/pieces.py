"""A proof in pieces on a Dask cluster: two tasks a piece, and the draw for all of them between.

A piece is finished by the worker on which it has committed, since its arrays are there; nothing of it travels but its
digest, its header and, in the end, its proof. What a lost worker held is made again elsewhere, and the digests stand.
The client verifies each piece as it comes, so workers do not: one that does not hold is made again elsewhere, too.
"""

import logging
import pickle
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from distributed import span

from graphprover.cluster.errands import Errand, Outcome
from graphprover.cluster.joining import Cluster
from graphprover.cluster.payloads import Part, packed
from graphprover.device import CpuDevice, Device
from graphprover.envelope import Proof
from graphprover.graphs.keys import PieceNumber
from graphprover.graphs.progress import Tell
from graphprover.graphs.transcript import joint_nonce
from graphprover.proof_in_pieces import ProofInPieces
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.pieces import Joint
from graphprover.protocol.proof import BatchProof
from graphprover.seen.parts import Stage
from graphprover.seen.watching import clock, give, observing
from graphprover.seen.workers import Asked, joined_sight
from graphprover.verifier import Expected, Verdict

DRAW = "joint challenge"  # the stage of the client between them
COMMIT, FINISH = "commit", "finish"  # the tasks of a piece, functions of `graphprover.worker`

_log = logging.getLogger(__name__)


def prove_parts(
    cluster: Cluster,
    name: str,
    parts: Sequence[Any],
    device: Device | str,
    expect: Callable[[ProofInPieces], Expected],
    tell: Tell | None = None,
) -> tuple[ProofInPieces, Verdict]:
    """The proof of as many pieces as there are ``parts``, verified, and what it is worth.

    What a part may be says `payloads.Part`. ``expect``: what the pieces are verified against, given their headers; it
    works while they are made. A piece that does not hold is made again, once, by another worker if there is one.
    ``tell`` hears of two tasks a piece. Errors are those of `Cluster.prove`, and VerificationError.
    """
    began, numbers = clock(), [PieceNumber(index, len(parts)) for index in range(len(parts))]
    making = _Making(cluster, name.split(" ")[0] or "statement", parts, device, tell)
    try:
        with span(making.name), ThreadPoolExecutor(1) as meanwhile:
            headers = making.commit(numbers)
            drawing = clock()
            nonce = joint_nonce(CpuDevice(1), headers.joint, headers.parameters.lookup_pow_bits)  # little work
            drawn = clock()
            expected = meanwhile.submit(expect, headers)

            def check(index: int, proof: Proof) -> "Future[BatchProof]":
                def checked() -> BatchProof:
                    against, started = expected.result(), clock()
                    batch = against.check(index, proof)
                    making.checks[index] = Stage("verify", started, clock())
                    return batch

                return meanwhile.submit(checked)

            bad = making.finish(numbers, headers.joint, nonce, check)
            against = expected.result()  # raises what is wrong with the headers, and so with all
            for number, error in bad.items():
                _log.warning("graphprover: prove-%s: %s, by %s", making.name, error, making.makers[number.index])
            if bad:
                for error in making.finish(list(bad), headers.joint, nonce, check).values():
                    raise error
        finished = clock()
        verdict = against.verdict([making.batches[number.index] for number in numbers])
        proof = ProofInPieces(headers.joint, tuple(making.made[number.index] for number in numbers))
        if making.observe:
            stages = Stage("prove", began, finished), Stage(DRAW, drawing, drawn), Stage("join", finished, clock())
            commits, finishes = ([making.asked[number.index, task] for number in numbers] for task in (COMMIT, FINISH))
            checks = [making.checks[number.index] for number in numbers]
            give(joined_sight(name, proof, commits, finishes, checks, stages, verdict.security))
        return proof, verdict
    finally:
        making.release()


@dataclass(eq=False)
class _Making:
    """A proof whose pieces are made."""

    cluster: Cluster
    name: str  # for people
    parts: Sequence[Any]
    device: Device | str
    tell: Tell | None
    token: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    committed: dict[int, Outcome] = field(default_factory=dict)  # of pieces that are not finished
    made: dict[int, Proof] = field(default_factory=dict)
    makers: dict[int, str] = field(default_factory=dict)  # the address of each one's worker
    batches: dict[int, BatchProof] = field(default_factory=dict)  # what is in those that hold
    observe: bool = field(default_factory=observing)
    sent: dict[tuple[int, str], float] = field(default_factory=dict)  # on `clock`, when a task first was
    asked: dict[tuple[int, str], Asked] = field(default_factory=dict)  # what was seen of the tries that count
    checks: dict[int, Stage] = field(default_factory=dict)  # of the verifications that count

    def commit(self, numbers: Sequence[PieceNumber]) -> ProofInPieces:
        """Their first task; gives what all have committed to, as a proof whose payloads are to come."""

        def take(number: PieceNumber, outcome: Outcome) -> None:
            self.committed[number.index] = outcome
            self._note(number, COMMIT, outcome.value)

        self._done(numbers, [self._errand(number, COMMIT) for number in numbers], take)
        states = [self.committed[number.index].value for number in numbers]
        return ProofInPieces(Joint(tuple(state.digest for state in states)), tuple(state.header for state in states))

    def finish(
        self,
        numbers: Sequence[PieceNumber],
        joint: Joint,
        nonce: int,
        check: Callable[[int, Proof], "Future[BatchProof]"],
    ) -> dict[PieceNumber, VerificationError]:
        """Their second task, a second time by another worker; gives what is wrong with those that do not hold.

        ``check`` begins to verify one: here nobody waits for that before all have come.
        """
        checks: dict[PieceNumber, Future[BatchProof]] = {}

        def take(number: PieceNumber, outcome: Outcome) -> None:
            finished = outcome.value
            self.made[number.index], self.makers[number.index] = finished.proof, outcome.worker
            self._note(number, FINISH, finished)
            checks[number] = check(number.index, finished.proof)
            if number.index in self.committed:
                self.cluster.release(self.committed.pop(number.index))
            if finished.again:
                again = "graphprover: prove-%s: made from the beginning by %s"
                _log.warning(again, outcome.errand.name, outcome.worker)

        for number in numbers:
            self.made.pop(number.index, None)
            self.sent.pop((number.index, FINISH), None)
        self._done(numbers, [self._errand(number, FINISH, joint, nonce) for number in numbers], take)
        bad: dict[PieceNumber, VerificationError] = {}
        for number, checked in checks.items():
            try:
                self.batches[number.index] = checked.result()
            except VerificationError as error:
                bad[number] = error
        return bad

    def _note(self, number: PieceNumber, task: str, value: Any) -> None:
        """What was seen of a task that gave a `one_piece.Held` or `Finished`, if that was asked for."""
        if value.seen:
            sent, came = self.sent[number.index, task], clock()
            self.asked[number.index, task] = Asked(value.seen, sent, came, _pickled_size(value))

    def release(self) -> None:
        """Let workers forget what they hold of pieces that were not finished."""
        for outcome in self.committed.values():
            self.cluster.release(outcome)

    def _errand(self, number: PieceNumber, task: str, *more: Any) -> Errand:
        def payload() -> bytes:
            waiting = -(-number.count // self.cluster.workers(self.device))
            part = Part(self.parts[number.index], number, self.token, self.device, waiting, self.observe)
            self.sent.setdefault((number.index, task), clock())
            return packed(part, *more)

        return Errand(
            f"{self.name}: {number}: {task}",
            payload,
            weight=int(task == FINISH),  # which gives memory back, so it goes first
            task=task,
            held=self.committed.get(number.index),
            stays=task == COMMIT,
            avoid=self.makers.get(number.index, ""),
        )

    def _done(
        self, numbers: Sequence[PieceNumber], errands: Sequence[Errand], then: Callable[[PieceNumber, Outcome], None]
    ) -> None:
        """All of them, one a piece; raises what one of them has failed by."""
        places = dict(zip(errands, numbers, strict=True))
        with closing(self.cluster.run(errands, self.device, lambda one, worker: self._say(one.name))) as outcomes:
            for outcome in outcomes:
                if outcome.error:
                    raise outcome.error
                then(places[outcome.errand], outcome)
                self._say(outcome.errand.name if len(self.made) < len(self.parts) else "")

    def _say(self, task: str) -> None:
        if self.tell:
            ended = len(self.committed) + 2 * len(self.made)
            self.tell(ended, 2 * len(self.parts), task)


def _pickled_size(value: Any) -> int:
    """In bytes; a proof's payload, the most of it, is not copied for that."""
    buffers: list[pickle.PickleBuffer] = []
    return len(pickle.dumps(value, protocol=5, buffer_callback=buffers.append)) + sum(b.raw().nbytes for b in buffers)
