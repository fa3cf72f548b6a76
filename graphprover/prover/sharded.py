"""Proving in pieces: two graphs each, and one draw for all between; here one after another on one device."""

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

from graphprover.device import Device
from graphprover.graphs import proof_graph
from graphprover.graphs.batches import batches
from graphprover.graphs.builder import Around, Graph
from graphprover.graphs.executors import executor_for
from graphprover.graphs.observer import GraphOfProof, around_tasks, observer_for
from graphprover.graphs.planner.shard_memory import PiecesPlan
from graphprover.graphs.progress import Tell
from graphprover.graphs.proof_graph import Committed, Keep
from graphprover.graphs.rounds.query import Proven
from graphprover.graphs.rounds.transcript import joint_nonce
from graphprover.graphs.task_keys import Key, PieceNumber
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import Piece, ProofInPieces
from graphprover.protocol.joint import Joint
from graphprover.protocol.proof import Cap
from graphprover.prover.observe import Sight, made_in
from graphprover.prover.prepare import Prepared, PreparedPieces, wrapped
from graphprover.telemetry.model import Stage
from graphprover.telemetry.observation import Observation
from graphprover.telemetry.subscribe import clock, observing

_log = logging.getLogger(__name__)

Run = Callable[[Any], Any]  # a task's value


@dataclass(frozen=True)
class MadeInPieces:
    """A proof in pieces, and what it took."""

    proof: ProofInPieces
    preprocessed_caps: tuple[Cap | None, ...]  # each piece's own commitment to its preprocessed columns
    seconds: tuple[Mapping[str, float], ...]  # of each piece, by stage: "commit", "prove", "verify"
    observe: Callable[[], Observation] | None  # gives what was seen, if somebody has asked


def prove_pieces(
    prepared: PreparedPieces,
    device: Device,
    executor: str,
    plan: PiecesPlan,
    tell: Tell | None = None,
    check: Callable[[Piece, Cap | None], object] | None = None,
) -> MadeInPieces:
    """The proof of a statement in pieces, each finished from what ``plan`` says is kept of it.

    ``check``: verifies each piece as it is made. Raises what the graphs raise, naming the piece; RuntimeError where a
    piece that is made again is another, since a recipe of its traces is not pure.
    """
    began, observer = clock(), observer_for(device)
    seen: list[GraphOfProof] = []
    run, token = _running(executor, device, plan.tasks, tell), uuid.uuid4().hex[:8]
    count = len(prepared.pieces)
    numbers, waiting = [PieceNumber(index, count) for index in range(count)], plan.waiting
    firsts = [0, *accumulate(len(piece.layout.tables) for piece in prepared.pieces)]
    stages: list[list[Stage]] = [[] for _ in numbers]

    def by(number: PieceNumber, live: int) -> InPieces:
        piece = prepared.pieces[number.index]

        def run_seen(task: Any) -> Any:
            if observer:
                seen.append(GraphOfProof(task, piece.layout, made_in(piece), live, number.index, firsts[number.index]))
            return run(task)

        return InPieces(device, run_seen, token, around_tasks(device, observer, len(seen)))

    @contextmanager
    def stage(name: str, number: PieceNumber) -> Iterator[None]:
        started = clock()
        yield
        stages[number.index].append(Stage(name, started, clock()))

    # Rounds 0 and 1 of each piece.
    committed = []
    for number, piece, planned in zip(numbers, prepared.pieces, plan.pieces, strict=True):
        with stage("commit", number):
            committed.append(by(number, waiting[number.index]).commit(number, piece, planned.keep))
        _log.debug("%s has committed, and keeps %s: %d bytes", number, planned.keep.name, planned.kept)

    # σ and τ, of all of them.
    joint = Joint(tuple(piece.digest for piece in committed))
    nonce = joint_nonce(device, joint, prepared.pieces[0].layout.parameters.lookup_pow_bits)

    # The other rounds of each: of the last one first, of which most is there.
    proofs: dict[int, tuple[Proof, Cap | None]] = {}
    for number in reversed(numbers):
        piece = prepared.pieces[number.index]
        with stage("prove", number):
            finisher = by(number, waiting[number.index] + plan.pieces[number.index].kept)
            proven = finisher.finish(number, piece, committed.pop().kept, joint, nonce)
            proof, cap = wrapped(proven, piece.header), proven.preprocessed_cap
        proofs[number.index] = proof, cap
        if check:
            with stage("verify", number):
                check(Piece(joint, number.index, proof), cap)

    made, caps = zip(*(proofs[number.index] for number in numbers), strict=True)
    proof_in_pieces, observe = ProofInPieces(joint, made), None
    if observer:
        observer.tell()
    if observer and observing():
        sight = Sight(device, executor, observer, seen, Stage("prove", began, clock()))
        observe = partial(sight.in_pieces, prepared, proof_in_pieces, plan, stages)
    seconds = tuple({one.name: one.seconds for one in of_piece} for of_piece in stages)
    return MadeInPieces(proof_in_pieces, caps, seconds, observe)


@dataclass(frozen=True)
class InPieces:
    """Pieces of one proof, by a device that keeps their arrays between the two graphs."""

    device: Device
    run: Run
    token: str  # of the proof: in the keys of what is kept, too
    around: Around | None = None

    def commit(self, number: PieceNumber, piece: Prepared, keep: Keep) -> Committed:
        """Rounds 0 and 1 of a piece."""
        self.device.expect(piece.layout.tables)
        committed: Committed = self.run(
            proof_graph.committing(self._graph(number, piece, {}), *_given(piece), keep=keep)
        )
        return committed

    def finish(self, number: PieceNumber, piece: Prepared, kept: dict[Key, Any], joint: Joint, nonce: int) -> Proven:
        """Its other rounds, which use up what was ``kept``, and make again what was not."""
        graph = self._graph(number, piece, kept)
        proven: Proven = self.run(proof_graph.finishing(graph, *_given(piece), joint=joint, nonce=nonce))
        return proven

    def _graph(self, number: PieceNumber, piece: Prepared, kept: dict[Key, Any]) -> Graph:
        batched = batches(piece.layout, self.device.log_batch_rows)
        return Graph(self.device, self.token, batched, number, kept, self.around)


def _given(piece: Prepared) -> tuple[Any, ...]:
    """What its graphs are built of."""
    return piece.layout, piece.label, dict(enumerate(piece.traces)), dict(piece.preprocessed), piece.public_values


def _running(executor: str, device: Device, total: int, tell: Tell | None) -> Run:
    """Runs one graph after another; ``tell`` hears of all their tasks as if they were one graph's."""
    ended = 0

    def told(now: int, _: int, task: str) -> None:
        assert tell is not None
        if task or ended + now == total:
            tell(ended + now, total, task)

    run = executor_for(executor, device.threads, told if tell else None)

    def counted(task: Any) -> Any:
        nonlocal ended
        value = run(task)
        ended += len(task.dask)
        return value

    return counted
