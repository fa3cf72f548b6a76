"""A proof in pieces on a Dask cluster: two tasks a piece, and the draw for all of them between.

A piece is finished by the worker on which it has committed, since its arrays are there; nothing of it travels but its
digest and, in the end, its proof. What a lost worker held is made again elsewhere, and the digests stand.
"""

import logging
import pickle
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from distributed import span

from graphprover.cluster import Cluster, Errand, Outcome
from graphprover.device import CpuDevice, Device
from graphprover.graphs.keys import PieceNumber
from graphprover.graphs.progress import Tell
from graphprover.graphs.transcript import joint_nonce
from graphprover.proof_in_pieces import ProofInPieces
from graphprover.protocol.pieces import Joint

_log = logging.getLogger(__name__)


def prove_parts(
    cluster: Cluster, name: str, parts: Sequence[Any], device: Device | str, tell: Tell | None = None
) -> ProofInPieces:
    """The proof of as many pieces as there are ``parts``; what each may be says `graphprover.one_piece.Part`.

    Each piece has been verified by its worker; the proof is to be verified here. ``tell`` hears of two tasks a piece.
    Errors are those of `Cluster.prove`.
    """
    name = name.split(" ")[0] or "statement"
    token, numbers = uuid.uuid4().hex[:8], [PieceNumber(index, len(parts)) for index in range(len(parts))]

    def errand(number: PieceNumber, task: str, *more: Any, held: Outcome | None = None) -> Errand:
        def payload() -> bytes:
            waiting = -(-number.count // cluster.workers(device))
            part = parts[number.index], number, token, device, waiting
            return pickle.dumps((part, *more), protocol=pickle.HIGHEST_PROTOCOL)

        finishes = held is not None  # which gives memory back, so it goes first
        return Errand(f"{name}: {number}: {task}", payload, int(finishes), task, held, stays=not finishes)

    ended = 0

    def done(errands: Sequence[Errand], then: Callable[[int, Outcome], None]) -> None:
        """All of them, one a piece; raises what one of them has failed by."""
        nonlocal ended
        places = {one: index for index, one in enumerate(errands)}
        with closing(cluster.run(errands, device, lambda one, worker: said(one.name))) as outcomes:
            for outcome in outcomes:
                if outcome.error:
                    raise outcome.error
                then(places[outcome.errand], outcome)
                ended += 1
                said(outcome.errand.name if ended < 2 * len(parts) else "")

    def said(task: str) -> None:
        if tell:
            tell(ended, 2 * len(parts), task)

    committed: dict[int, Outcome] = {}
    made: dict[int, Any] = {}

    def take(index: int, outcome: Outcome) -> None:
        made[index] = pickle.loads(outcome.value)
        cluster.release(committed.pop(index))
        if made[index].again:
            _log.warning("graphprover: prove-%s: made from the beginning by %s", outcome.errand.name, outcome.worker)

    try:
        with span(name):
            done([errand(number, "commit") for number in numbers], committed.__setitem__)
            states = [committed[number.index].value for number in numbers]
            joint = Joint(tuple(state.digest for state in states))
            nonce = joint_nonce(CpuDevice(1), joint, states[0].lookup_pow_bits)  # little work
            finishing = [errand(number, "finish", joint, nonce, held=committed[number.index]) for number in numbers]
            done(finishing, take)
    finally:
        for outcome in committed.values():
            cluster.release(outcome)
    return ProofInPieces(joint, tuple(made[number.index].proof for number in numbers))
