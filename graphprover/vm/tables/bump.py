"""Bumps: accesses in between two accesses of an address that are more than FAR apart."""

from graphprover.air import Air, TableBuilder
from graphprover.vm.tables.buses import VM, Tag, message
from graphprover.vm.tables.limbs import HALF, LIMB
from graphprover.vm.tables.step import paired

BUMP_LANES = 1  # bumps are few: more lanes would widen a row of every proof
REACH = LIMB  # longest step of a lane; ``times`` bounds the sum over all lanes of a statement


class Bump(Air):
    """A value, the time of its last access, and the step to the bump's time, of 32 bits and at least 1."""

    columns = tuple(f"{name}[{BUMP_LANES}]" for name in ("on", "at", "t", "lo", "hi", "step_low", "step_high"))

    def define(self, t: TableBuilder) -> None:
        for on, at, time, lo, hi, low, high in zip(t.on, t.at, t.t, t.lo, t.hi, t.step_low, t.step_high, strict=True):
            t.every_row(paired(on), "a lane is used or not")
            now = time + 1 + low + HALF * high
            t.receive(VM, message(Tag.ACCESS, at, time, lo, hi), on, weight=1)
            t.send(VM, message(Tag.ACCESS, at, now, lo, hi), on, weight=1)
            t.lookup(VM, message(Tag.HALF, low), on, weight=1)
            t.lookup(VM, message(Tag.HALF, high), on, weight=1)
