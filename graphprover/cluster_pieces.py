"""A proof in pieces on a Dask cluster: two tasks a piece, and the draw for all of them between.

A piece is finished by the worker on which it has committed, since its arrays are there; nothing of it travels but its
digest and, in the end, its proof. What a lost worker held is made again elsewhere, and the digests stand. The client
verifies the proof, so workers do not: a piece that does not hold is made again, too.
"""

import logging
import pickle
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, TypeVar

from distributed import span

from graphprover.cluster import Cluster, Errand, Outcome
from graphprover.device import CpuDevice, Device
from graphprover.envelope import Proof
from graphprover.graphs.keys import PieceNumber
from graphprover.graphs.progress import Tell
from graphprover.graphs.transcript import joint_nonce
from graphprover.proof_in_pieces import ProofInPieces
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.pieces import Joint

V = TypeVar("V")

COMMIT, FINISH = "commit", "finish"  # the tasks of a piece, functions of `graphprover.worker`

_log = logging.getLogger(__name__)


def prove_parts(
    cluster: Cluster,
    name: str,
    parts: Sequence[Any],
    device: Device | str,
    verified: Callable[[ProofInPieces], V],
    tell: Tell | None = None,
) -> tuple[ProofInPieces, V]:
    """The proof of as many pieces as there are ``parts``, and what ``verified`` gives for it.

    What a part may be says `graphprover.one_piece.Part`. ``verified`` raises VerificationError for a proof that does
    not convince; the piece to blame is made again, once, by another worker if there is one. ``tell`` hears of two tasks
    a piece. Errors are those of `Cluster.prove` and of ``verified``.
    """
    numbers = [PieceNumber(index, len(parts)) for index in range(len(parts))]
    making = _Making(cluster, name.split(" ")[0] or "statement", parts, device, tell)
    blamed: set[int] = set()
    try:
        with span(making.name):
            joint, nonce = making.commit(numbers)
            making.finish(numbers, joint, nonce)
            while True:
                proof = ProofInPieces(joint, tuple(making.made[number.index] for number in numbers))
                try:
                    return proof, verified(proof)
                except VerificationError as error:
                    if error.piece is None or error.piece in blamed:
                        raise
                    blamed.add(error.piece)
                    again = numbers[error.piece]
                    _log.warning("graphprover: prove-%s: %s, by %s", making.name, error, making.makers[again.index])
                making.finish([again], joint, nonce)
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

    def commit(self, numbers: Sequence[PieceNumber]) -> tuple[Joint, int]:
        """Their first task; gives what all have committed to, and the nonce of the draw."""

        def take(number: PieceNumber, outcome: Outcome) -> None:
            self.committed[number.index] = outcome

        self._done(numbers, [self._errand(number, COMMIT) for number in numbers], take)
        states = [self.committed[number.index].value for number in numbers]
        joint = Joint(tuple(state.digest for state in states))
        return joint, joint_nonce(CpuDevice(1), joint, states[0].lookup_pow_bits)  # little work

    def finish(self, numbers: Sequence[PieceNumber], joint: Joint, nonce: int) -> None:
        """Their second task; of a piece that was finished before both, and by another worker."""

        def take(number: PieceNumber, outcome: Outcome) -> None:
            finished = pickle.loads(outcome.value)
            self.made[number.index], self.makers[number.index] = finished.proof, outcome.worker
            if number.index in self.committed:
                self.cluster.release(self.committed.pop(number.index))
            if finished.again:
                _log.warning(
                    "graphprover: prove-%s: made from the beginning by %s", outcome.errand.name, outcome.worker
                )

        for number in numbers:
            self.made.pop(number.index, None)
        self._done(numbers, [self._errand(number, FINISH, joint, nonce) for number in numbers], take)

    def release(self) -> None:
        """Let workers forget what they hold of pieces that were not finished."""
        for outcome in self.committed.values():
            self.cluster.release(outcome)

    def _errand(self, number: PieceNumber, task: str, *more: Any) -> Errand:
        def payload() -> bytes:
            waiting = -(-number.count // self.cluster.workers(self.device))
            part = self.parts[number.index], number, self.token, self.device, waiting
            return pickle.dumps((part, *more), protocol=pickle.HIGHEST_PROTOCOL)

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
