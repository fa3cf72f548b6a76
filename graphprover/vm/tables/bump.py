"""Brings values nearer: what was accessed more than FAR before its next access is accessed in between."""

from graphprover.air import Air, TableBuilder
from graphprover.vm.tables.buses import VM, Tag, message
from graphprover.vm.tables.limbs import HALF, LIMB
from graphprover.vm.tables.step import paired

BUMP_LANES = 1  # bumps are few: a table of more lanes would be a wider row of every proof
REACH = LIMB  # the longest step of a lane; what all lanes of a statement add up to is bounded (``times``)


class Bump(Air):
    """A value, when it was accessed last, and the step to when it is accessed now, of 32 bits and at least 1."""

    columns = tuple(f"{name}[{BUMP_LANES}]" for name in ("on", "at", "t", "lo", "hi", "step_low", "step_high"))

    def define(self, t: TableBuilder) -> None:
        for on, at, time, lo, hi, low, high in zip(t.on, t.at, t.t, t.lo, t.hi, t.step_low, t.step_high, strict=True):
            t.every_row(paired(on), "a lane is used or not")
            now = time + 1 + low + HALF * high
            t.receive(VM, message(Tag.ACCESS, at, time, lo, hi), on, weight=1)
            t.send(VM, message(Tag.ACCESS, at, now, lo, hi), on, weight=1)
            t.lookup(VM, message(Tag.HALF, low), on, weight=1)
            t.lookup(VM, message(Tag.HALF, high), on, weight=1)
