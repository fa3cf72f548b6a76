"""Separation of buses in LogUp (p3-batch-stark ``lay_out_lookup_challenges``; docs/protocol.md, section 8)."""

from functools import lru_cache

from graphprover.air.description import AirDescription
from graphprover.field import Ext, ext_add, ext_pow


@lru_cache(maxsize=16)
def bus_numbers(tables: tuple[AirDescription, ...]) -> list[list[int]]:
    """Return [table][lookup], the number of the lookup's bus in order of first appearance.

    Each local lookup counts as a separate bus.
    """
    numbers: list[list[int]] = []
    named: dict[str, int] = {}
    used = 0
    for air in tables:
        numbers.append([])
        for lookup in air.lookups:
            number = used if lookup.bus is None else named.setdefault(lookup.bus, used)
            used = max(used, number + 1)
            numbers[-1].append(number)
    return numbers


@lru_cache(maxsize=16)
def max_tuple_width(tables: tuple[AirDescription, ...]) -> int:
    """Return the maximum number of elements of a tuple over all tables; 1 without lookups."""
    return max((len(t.fields) for air in tables for lookup in air.lookups for t in lookup.tuples), default=1)


def lookup_prefixes(tables: tuple[AirDescription, ...], sigma: Ext, tau: Ext) -> list[list[Ext]]:
    """Return [table][lookup], the constant term of the lookup's denominators: sigma + (bus + 1)·tau^W.

    W is the width of the widest tuple, so that tuples of different buses have different polynomials in tau.
    """
    step = ext_pow(tau, max_tuple_width(tables))
    numbers = bus_numbers(tables)
    prefixes = [ext_add(sigma, step)]
    for _ in range(max((n for of_table in numbers for n in of_table), default=0)):
        prefixes.append(ext_add(prefixes[-1], step))
    return [[prefixes[number] for number in of_table] for of_table in numbers]
