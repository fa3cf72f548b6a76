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


@dataclass(frozen=True)
class On:
    """What a plan depends on of a device."""

    log_batch_rows: int
    threads: int
    loads: bool  # its memory is its own


Given = Sequence[tuple[Layout, Sequence[Array | Recipe]]]  # each piece and its traces


def plan_pieces(pieces: Given, device: On, budget: int) -> PiecesPlan:
    """What to keep so that the proof takes at most so many bytes, if that can be.

    First all trees, for they are the most hashing for the fewest bytes; then traces; then extensions.
    """
    plan = plan_keeping(pieces, device, Keep.NOTHING)
    for keep in list(Keep)[1:]:
        with_more = plan_keeping(pieces, device, keep).pieces
        for index in reversed(range(len(pieces))):
            more = PiecesPlan((*plan.pieces[:index], with_more[index], *plan.pieces[index + 1 :]))
            if more.peak.bytes <= budget:
                plan = more
    return plan


def plan_keeping(pieces: Given, device: On, keep: Keep) -> PiecesPlan:
    """The plan where that is kept of each piece."""
    return PiecesPlan(tuple(_planned(layout, main, device, keep) for layout, main in pieces))


_plans: dict[object, PiecePlan] = {}  # of shapes that were planned
_SHAPES = 1000  # that are kept


def _planned(layout: Layout, main: Sequence[Array | Recipe], device: On, keep: Keep) -> PiecePlan:
    shape = layout, tuple(isinstance(trace, Recipe) for trace in main), device, keep
    if shape not in _plans:
        if len(_plans) >= _SHAPES:
            _plans.clear()
        first, last = make_plans_of_piece(layout, keep, device.log_batch_rows, main, device.loads)
        peak = max(first.peak(device.threads), last.peak(device.threads), key=lambda peak: peak.bytes)
        kept = sum(last.tasks[key].cost.kept for key in last.held)
        tasks = len(first.tasks), len(last.tasks)
        _plans[shape] = PiecePlan(layout, keep, kept, peak, first.total + last.total, tasks)
    return _plans[shape]
