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
    pairs = [(degrees[t.multiplicity], max(degrees[field] for field in t.fields)) for t in tuples]
    denominator = sum(fields for _, fields in pairs)
    numerator = max(multiplicity + denominator - fields for multiplicity, fields in pairs)
    return max(1 + denominator, numerator)


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

    Raises:
        ValueError: the weights of a column sum to more than 32 bits.
    """
    packed: list[Lookup] = []
    buses: dict[str, list[Lookup]] = {}
    for lookup in lookups:
        if lookup.bus is None:
            packed.append(lookup)
            continue
        columns = buses.setdefault(lookup.bus, [])
        if columns:
            merged = Lookup(lookup.bus, columns[-1].tuples + lookup.tuples)
            if pin_degree(merged.tuples, degrees) <= budget:
                columns[-1] = merged
                continue
        columns.append(lookup)
    for columns in buses.values():
        packed += columns
    for lookup in packed:
        if sum(t.weight for t in lookup.tuples) > MAX_WEIGHT:
            where = "a local lookup" if lookup.bus is None else f"one column of bus {lookup.bus!r}"
            raise ValueError(f"the weights of {where} sum to more than {MAX_WEIGHT}")
    return tuple(packed)
