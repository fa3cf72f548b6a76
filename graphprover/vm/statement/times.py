"""The bound on times: no chain of accesses wraps around p.

An access takes the value at an address with the time of the access before. It gives the value with its own time, which
is later by 1 to FAR, or for a bump by up to ``bump.REACH``. So if the bus balances, the accesses of an address are one
chain from its initial to its final value and possibly circles, whose steps add up to a multiple of p. A circle needs no
initial value: its values are made up. No circle exists while the steps of *all* tables of a statement, bumps included,
add up to less than p.
"""

from collections.abc import Iterable

from graphprover.air import Air
from graphprover.protocol.errors import RuleError
from graphprover.vm.tables import bump
from graphprover.vm.tables.bump import Bump
from graphprover.vm.tables.clock import FAR

MAX_RISE = 1 << 61  # an eighth of p


def rise(air: Air) -> int:
    """Return a bound on the sum of steps in time of a row's accesses: each is a message of weight 1 or a bump."""
    return bump.BUMP_LANES * bump.REACH if isinstance(air, Bump) else air.describe().total_weight * FAR


def check_times(tables: Iterable[tuple[Air, int]]) -> None:
    """Raise ValueError if the accesses of these tables, given with their rows, could add up to more than MAX_RISE."""
    total = sum(rise(air) * rows for air, rows in tables)
    if total > MAX_RISE:
        raise RuleError(
            "shape.time", f"accesses whose times rise by up to {total:,} in all tables together could wrap around p"
        )
