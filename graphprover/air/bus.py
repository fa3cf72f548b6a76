"""Buses, and the messages that tables put on them.

A bus balances if, over all tables and rows, every message is sent and received equally often. A send has a positive
count, a receive a negative one. A lookup is a send; the entry that it queries is a receive, once for each query.
"""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphprover.air.expression import Dag, Expr, Operand
from graphprover.air.lookups import MAX_WEIGHT, Message
from graphprover.field import P


@dataclass(frozen=True)
class Bus:
    """A channel between tables. Buses with equal names are the same bus. Raises ValueError for an empty name."""

    name: str

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a bus needs a name")


@dataclass(frozen=True, eq=False)
class SymbolicMessage:
    """A message in symbolic form, before its expressions are numbered as nodes."""

    fields: Sequence[Operand]  # elements
    multiplicity: Operand  # signed number of messages that one row puts on the bus
    weight: int | None  # bound on the count's magnitude in every row; None: derived from a constant count

    def in_dag(self, dag: Dag) -> Message:
        """Return the message as nodes of ``dag``.

        Raises:
            ValueError: the message has no element, the weight exceeds 32 bits or is below a constant count, or the
                count varies and has no weight.
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
    """Return a sent message for `TableBuilder.local_lookup`.

    Args:
        fields: elements of the message.
        multiplicity: signed number of times that a row sends the message.
        weight: bound on the magnitude of ``multiplicity``; required unless it is a constant.

    Raises:
        ValueError: ``weight`` is 0, which would exclude the message from the bound on all counts.
    """
    if weight == 0:
        raise ValueError("weight 0 is for provided entries alone")
    return SymbolicMessage(list(fields), multiplicity, weight)


def received(fields: Iterable[Operand], multiplicity: Operand = 1, *, weight: int | None = None) -> SymbolicMessage:
    """Return a received message; arguments and errors as in `sent`."""
    return sent(fields, _negated(multiplicity), weight=weight)


def provided(fields: Iterable[Operand], count: Operand) -> SymbolicMessage:
    """Return a lookup-table entry with ``count`` lookups. Its weight is 0, because the lookups bound the count."""
    return SymbolicMessage(list(fields), _negated(count), 0)


def _negated(count: Operand) -> Operand:
    # Unsigned NumPy integers would wrap at 2^64 instead of p.
    return -count if isinstance(count, Expr) else -operator.index(count)
