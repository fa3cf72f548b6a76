"""The bound on times: no chain of accesses leads around p.

An access takes the value at an address with the time of the access before, and gives it with its own time, later by 1
to FAR, in a bump by up to ``bump.REACH``. So where the bus balances, the accesses of an address are a chain from its
initial to its final value and, beside it, circles, whose steps add up to a multiple of p. A circle needs no initial
value: whatever it reads is made up. There is none while the steps of *all* tables of a statement, of which several may
be bumps, add up to less than p.
"""

from collections.abc import Iterable

from graphprover.air import Air
from graphprover.vm.tables import bump
from graphprover.vm.tables.bump import Bump
from graphprover.vm.tables.clock import FAR

MAX_RISE = 1 << 61  # an eighth of p


def rise(air: Air) -> int:
    """A bound on what the accesses of a row add to times: each is a message of weight 1, and bumps are far apart."""
    return bump.BUMP_LANES * bump.REACH if isinstance(air, Bump) else air.describe().total_weight * FAR


def check_times(tables: Iterable[tuple[Air, int]]) -> None:
    """Raises ValueError where the accesses of these tables, each with its rows, could add up to more than MAX_RISE."""
    total = sum(rise(air) * rows for air, rows in tables)
    if total > MAX_RISE:
        raise ValueError(f"accesses whose times rise by up to {total:,} in all tables together could wrap around p")
