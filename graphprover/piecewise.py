"""Proving in pieces: one after another on one device, each in two graphs, with one draw for all of them between."""

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from graphprover.device import Device
from graphprover.envelope import Proof
from graphprover.graphs import proof as proof_graph
from graphprover.graphs.batches import batches
from graphprover.graphs.executors import executor_for
from graphprover.graphs.keys import PieceNumber
from graphprover.graphs.pieces import PiecesPlan
from graphprover.graphs.progress import Tell
from graphprover.graphs.proof import Committed
from graphprover.graphs.tasks import Graph
from graphprover.prepared import Prepared, PreparedPieces
from graphprover.proof_in_pieces import Piece, ProofInPieces
from graphprover.protocol.pieces import Joint
from graphprover.protocol.proof import Cap, encode

_log = logging.getLogger(__name__)

Run = Callable[[Any], Any]  # a task's value


@dataclass(frozen=True)
class MadeInPieces:
    """A proof in pieces, and what it took."""

    proof: ProofInPieces
    preprocessed_caps: tuple[Cap | None, ...]  # each piece's own commitment to its preprocessed columns
    seconds: tuple[Mapping[str, float], ...]  # of each piece, by stage: "commit", "prove", "verify"


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
    run, token = _running(executor, device, plan.tasks, tell), uuid.uuid4().hex[:8]
    count = len(prepared.pieces)
    numbers = [PieceNumber(index, count) for index in range(count)]
    seconds: list[dict[str, float]] = [{} for _ in numbers]

    # Rounds 0 and 1 of each piece.
    committed = []
    for number, piece, planned in zip(numbers, prepared.pieces, plan.pieces, strict=True):
        started = time.perf_counter()
        graph = Graph(device, token, batches(piece.layout, device.log_batch_rows), number)
        committed.append(run(proof_graph.committing(graph, *_given(piece), keep=planned.keep)))
        seconds[number.index]["commit"] = time.perf_counter() - started
        _log.debug("%s has committed, and keeps %s: %d bytes", number, planned.keep.name, planned.kept)

    # σ and τ, of all of them.
    joint = Joint(tuple(piece.digest for piece in committed))
    with device.task():
        nonce = device.grind(joint.grinding_seed, prepared.pieces[0].layout.parameters.lookup_pow_bits)

    # The other rounds of each: of the last one first, of which most is there.
    proofs: dict[int, tuple[Proof, Cap | None]] = {}
    for number in reversed(numbers):
        started = time.perf_counter()
        piece = prepared.pieces[number.index]
        proof, cap = _finished(piece, device, token, number, committed.pop(), joint, nonce, run)
        proofs[number.index] = proof, cap
        proved = time.perf_counter()
        seconds[number.index]["prove"] = proved - started
        if check:
            check(Piece(joint, number.index, proof), cap)
            seconds[number.index]["verify"] = time.perf_counter() - proved
    made, caps = zip(*(proofs[number.index] for number in numbers), strict=True)
    return MadeInPieces(ProofInPieces(joint, made), caps, tuple(seconds))


def _finished(
    piece: Prepared,
    device: Device,
    token: str,
    number: PieceNumber,
    committed: Committed,
    joint: Joint,
    nonce: int,
    run: Run,
) -> tuple[Proof, Cap | None]:
    """A piece's proof, and its commitment to preprocessed columns."""
    layout = piece.layout
    graph = Graph(device, token, batches(layout, device.log_batch_rows), number, committed.kept)
    proven = run(proof_graph.finishing(graph, *_given(piece), joint=joint, nonce=nonce))
    proof = Proof(piece.label, layout.parameters, layout.log_heights, piece.public_values, encode(proven.proof))
    return proof, proven.preprocessed_cap


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
