"""Interactions of a table with buses, and the LogUp columns that Plonky3 makes of them.

Source: ``from_interactions`` and ``pack_same_bus_with_degree`` of p3-lookup/src/types.rs, the degree of a fraction
column from ``constraint_degree_with_transition`` of p3-lookup/src/logup.rs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_WEIGHT = 2**32 - 1  # Plonky3 keeps weights in 32 bits


@dataclass(frozen=True)
class Message:
    """One message a row, as nodes of its table: a tuple of elements and how often the row puts it on the bus."""

    fields: tuple[int, ...]  # nodes of its elements, at least one
    multiplicity: int  # node of the signed count: sent is positive, received is negative
    weight: int  # bound on the magnitude of the count in every row; 0 for the entry of a provided table


@dataclass(frozen=True)
class Interaction:
    """What one call of send, receive, lookup, provide or local_lookup emitted."""

    bus: str | None  # None for a local lookup
    tuples: tuple[Message, ...]  # exactly one on a bus
    label: str  # for people: where it was emitted


@dataclass(frozen=True)
class Lookup:
    """One fraction column: the tuples whose fractions it sums."""

    bus: str | None  # None for a local lookup, which has challenges of its own
    tuples: tuple[Message, ...]


def pin_degree(tuples: Iterable[Message], degrees: Sequence[int]) -> int:
    """The degree of ``U f - V = 0`` for the fraction ``V / U`` of these tuples; ``degrees`` has that of every node.

    U is the product of one denominator a tuple; V sums each multiplicity times the denominators of the others.
    """
    pairs = [(degrees[t.multiplicity], max(degrees[field] for field in t.fields)) for t in tuples]
    denominator = sum(fields for _, fields in pairs)
    numerator = max(multiplicity + denominator - fields for multiplicity, fields in pairs)
    return max(1 + denominator, numerator)


def unpacked(local: Iterable[Interaction], on_buses: Iterable[Interaction]) -> tuple[Lookup, ...]:
    """One column an interaction, local ones first."""
    return tuple(Lookup(i.bus, i.tuples) for i in (*local, *on_buses))


def pack_same_bus(lookups: Iterable[Lookup], degrees: Sequence[int], budget: int) -> tuple[Lookup, ...]:
    """Greedily lets consecutive tuples of a bus share a column while its pin keeps to degree ``budget``.

    Local lookups stay as they are and first; buses follow in the order of their first tuple. Raises ValueError where
    the weights of a column sum to more than 32 bits.
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
