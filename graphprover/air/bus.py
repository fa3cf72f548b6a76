"""Buses, and the messages that tables put on them.

A bus balances when every message was sent as often as it was received, over all tables and rows. A send counts
positive and a receive negative; a lookup is a send, and the entry of the table that it queries is a receive as often as
it was queried.
"""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphprover.air.expression import Dag, Expr, Operand
from graphprover.air.lookups import MAX_WEIGHT, Message
from graphprover.field import P


@dataclass(frozen=True)
class Bus:
    """A channel between tables; two buses of one name are the same."""

    name: str

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a bus needs a name")


@dataclass(frozen=True, eq=False)
class SymbolicMessage:
    """A message while its table is described: expressions of its elements, and how often one row puts it on a bus."""

    fields: Sequence[Operand]  # its elements
    multiplicity: Operand  # signed count
    weight: int | None  # bound on the count's magnitude in every row; None to take it from a constant count

    def in_dag(self, dag: Dag) -> Message:
        """The message as nodes of ``dag``.

        Raises ValueError for a message without elements, a weight outside of 32 bits or below a constant count, and for
        a count that varies with no weight declared.
        """
        if not self.fields:
            raise ValueError("a message needs at least one element")
        count = dag.lift(self.multiplicity)
        weight = self.weight
        if count.value is not None:
            magnitude = min(count.value, P - count.value)
            weight = magnitude if weight is None else weight
            if weight and weight < magnitude:
                raise ValueError(f"weight {weight} is below the count, {magnitude}")
        if weight is None:
            raise ValueError(
                "a count that is not a constant needs weight=: a bound on its magnitude in every row, which your "
                "constraints enforce (1 for a flag that they keep boolean)"
            )
        if not 0 <= weight <= MAX_WEIGHT:
            raise ValueError(f"a weight lies in 0..{MAX_WEIGHT}, not {weight}")
        return Message(tuple([dag.index_of(field) for field in self.fields]), count.index, operator.index(weight))


def sent(fields: Iterable[Operand], multiplicity: Operand = 1, *, weight: int | None = None) -> SymbolicMessage:
    """A message sent ``multiplicity`` times; ``weight`` bounds a multiplicity that is not a constant.

    Raises ValueError for weight 0, which would leave the message out of the bound on all counts.
    """
    if weight == 0:
        raise ValueError("weight 0 is for provided entries alone")
    return SymbolicMessage(list(fields), multiplicity, weight)


def received(fields: Iterable[Operand], multiplicity: Operand = 1, *, weight: int | None = None) -> SymbolicMessage:
    """A message received ``multiplicity`` times; ``weight`` as in ``sent``."""
    return sent(fields, _negated(multiplicity), weight=weight)


def provided(fields: Iterable[Operand], count: Operand) -> SymbolicMessage:
    """The entry of a table that is looked up ``count`` times. It needs no weight: the queries bound the count."""
    return SymbolicMessage(list(fields), _negated(count), 0)


def _negated(count: Operand) -> Operand:
    # Unsigned NumPy integers would wrap at 2^64 instead of p.
    return -count if isinstance(count, Expr) else -operator.index(count)
