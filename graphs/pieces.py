"""What a device keeps of each piece of a proof while it makes the others, one after another.

Pieces commit in order, and are finished in the opposite one: so the last has everything left, and what is kept of a
piece is there while those after it are made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphprover.device import Array
from graphprover.graphs.costs import Cost, kept_by_size
from graphprover.graphs.keys import PieceNumber
from graphprover.graphs.plan import Peak, make_plans_of_piece
from graphprover.graphs.proof import Keep
from graphprover.protocol.layout import Layout
from graphprover.recipe import Recipe


@dataclass(frozen=True)
class PiecePlan:
    """A piece with what is kept of it."""

    layout: Layout
    keep: Keep
    kept: int  # bytes from when it has committed to when it is finished
    peak: Peak  # of its own two graphs
    cost: Cost  # of both
    tasks: tuple[int, int]  # of each graph


@dataclass(frozen=True)
class PiecesPlan:
    """All pieces of a proof, by one device."""

    pieces: tuple[PiecePlan, ...]

    @property
    def tasks(self) -> int:
        """Of all graphs."""
        return sum(sum(piece.tasks) for piece in self.pieces)

    @property
    def peak(self) -> Peak:
        """The most memory that the proof holds at once; its task is named with its piece."""
        by_size = kept_by_size(*(piece.layout for piece in self.pieces))
        waiting, peak = 0, Peak(0, "", "")
        for index, piece in enumerate(self.pieces):
            now = waiting + piece.peak.bytes - kept_by_size(piece.layout) + by_size
            if now > peak.bytes:
                number = PieceNumber(index, len(self.pieces))
                peak = replace(piece.peak, bytes=now, round=f"{number}: {piece.peak.round}")
            waiting += piece.kept
        return peak


def plan_pieces(
    pieces: Sequence[tuple[Layout, Sequence[Array | Recipe]]],
    budget: int,
    *,
    log_batch_rows: int,
    threads: int,
    loaded: bool,
) -> PiecesPlan:
    """What to keep so that the proof takes at most so many bytes, if that can be; traces are given by piece.

    First all trees, for they are the most hashing for the fewest bytes; then traces; then extensions.
    """

    def piece_plan(index: int, keep: Keep) -> PiecePlan:
        layout, main = pieces[index]
        made = tuple(isinstance(trace, Recipe) for trace in main)
        shape = layout, made, keep, log_batch_rows, threads, loaded
        if shape not in _plans:
            if len(_plans) >= _SHAPES:
                _plans.clear()
            _plans[shape] = _planned(layout, main, keep, log_batch_rows, threads, loaded)
        return _plans[shape]

    plan = PiecesPlan(tuple(piece_plan(index, Keep.NOTHING) for index in range(len(pieces))))
    for keep in list(Keep)[1:]:
        for index in reversed(range(len(pieces))):
            more = PiecesPlan((*plan.pieces[:index], piece_plan(index, keep), *plan.pieces[index + 1 :]))
            if more.peak.bytes <= budget:
                plan = more
    return plan


_plans: dict[object, PiecePlan] = {}  # of shapes that were planned
_SHAPES = 1000  # that are kept


def _planned(
    layout: Layout, main: Sequence[Array | Recipe], keep: Keep, log_batch_rows: int, threads: int, loaded: bool
) -> PiecePlan:
    plans = make_plans_of_piece(layout, keep, log_batch_rows, main, loaded)
    peak = max((plan.peak(threads) for plan in plans), key=lambda peak: peak.bytes)
    kept = sum(plans[1].tasks[key].cost.kept for key in plans[1].held)
    cost = plans[0].total + plans[1].total
    first, last = (len(plan.tasks) for plan in plans)
    return PiecePlan(layout, keep, kept, peak, cost, (first, last))
