"""Interactions of a table with buses, and their LogUp columns in Plonky3.

Source: ``from_interactions`` and ``pack_same_bus_with_degree`` of p3-lookup/src/types.rs, the degree of a fraction
column from ``constraint_degree_with_transition`` of p3-lookup/src/logup.rs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_WEIGHT = 2**32 - 1  # Plonky3 stores weights in 32 bits


@dataclass(frozen=True)
class Message:
    """One message of every row, as nodes of its table: a tuple of elements and the count on the bus."""

    fields: tuple[int, ...]  # nodes of the elements, at least one
    multiplicity: int  # node of the signed count: positive if sent, negative if received
    weight: int  # bound on the magnitude of the count in every row; 0 for a provided entry


@dataclass(frozen=True)
class Interaction:
    """The messages of one call of send, receive, lookup, provide or local_lookup."""

    bus: str | None  # None for a local lookup
    tuples: tuple[Message, ...]  # exactly one on a bus
    label: str  # display label: line of code of the call


@dataclass(frozen=True)
class Lookup:
    """One fraction column: the tuples whose fractions it sums."""

    bus: str | None  # None for a local lookup, which has separate challenges
    tuples: tuple[Message, ...]


def pin_degree(tuples: Iterable[Message], degrees: Sequence[int]) -> int:
    """Return the degree of ``U f - V = 0`` for the fraction ``V / U`` of these tuples.

    U is the product of the tuples' denominators; V sums each multiplicity times the denominators of the other tuples.

    Args:
        tuples: the tuples of one column.
        degrees: degree of every node of the table.
    """
    terms = [_terms(t, degrees) for t in tuples]
    return sum(denominator for denominator, _ in terms) + max(1, *(excess for _, excess in terms))


def unpacked(local: Iterable[Interaction], on_buses: Iterable[Interaction]) -> tuple[Lookup, ...]:
    """Return one column for each interaction, local lookups first."""
    return tuple(Lookup(i.bus, i.tuples) for i in (*local, *on_buses))


def pack_same_bus(lookups: Iterable[Lookup], degrees: Sequence[int], budget: int) -> tuple[Lookup, ...]:
    """Pack consecutive tuples of a bus greedily into columns whose `pin_degree` is at most ``budget``.

    Args:
        lookups: one column for each interaction (`unpacked`).
        degrees: degree of every node of the table.
        budget: maximum degree.

    Returns:
        The local lookups unchanged, then the columns of each bus in the order of the bus's first tuple.
    """
    packed: list[Lookup] = []
    buses: dict[str, list[_Column]] = {}
    for lookup in lookups:
        if lookup.bus is None:
            packed.append(lookup)
            continue
        columns = buses.setdefault(lookup.bus, [])
        (message,) = lookup.tuples
        if not columns or not columns[-1].takes(message, degrees, budget):
            columns.append(_Column(message, degrees))
    for bus, columns in buses.items():
        packed += [Lookup(bus, tuple(column.tuples)) for column in columns]
    return tuple(packed)


class _Column:
    """The tuples of one column, and the terms of their `pin_degree`, so that a further tuple takes constant time."""

    def __init__(self, message: Message, degrees: Sequence[int]) -> None:
        self.tuples = [message]
        self.denominator, self.excess = _terms(message, degrees)

    def takes(self, message: Message, degrees: Sequence[int], budget: int) -> bool:
        """Add a tuple and return True, unless the pin degree would be above ``budget``."""
        denominator, excess = _terms(message, degrees)
        denominator, excess = self.denominator + denominator, max(self.excess, excess)
        if denominator + max(1, excess) > budget:
            return False
        self.tuples.append(message)
        self.denominator, self.excess = denominator, excess
        return True


def _terms(message: Message, degrees: Sequence[int]) -> tuple[int, int]:
    """Return the degree of a tuple's denominator, and of its multiplicity less that degree."""
    fields = max(degrees[field] for field in message.fields)
    return fields, degrees[message.multiplicity] - fields


def check_weights(lookups: Iterable[Lookup]) -> None:
    """Raise ValueError if the weights of a column sum to more than 32 bits."""
    for lookup in lookups:
        if sum(t.weight for t in lookup.tuples) > MAX_WEIGHT:
            where = "a local lookup" if lookup.bus is None else f"one column of bus {lookup.bus!r}"
            raise ValueError(f"the weights of {where} sum to more than {MAX_WEIGHT}")
