"""What prover and verifier agree on about LogUp challenges (p3-batch-stark ``lay_out_lookup_challenges``)."""

from functools import lru_cache

from graphprover.air.description import AirDescription
from graphprover.field import Ext, ext_add, ext_pow


@lru_cache(maxsize=16)
def bus_numbers(tables: tuple[AirDescription, ...]) -> list[list[int]]:
    """The number of the bus of each lookup of each table, in order of first appearance; a local lookup has its own."""
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
    """The most elements that any tuple of any table has; 1 without lookups."""
    return max((len(t.fields) for air in tables for lookup in air.lookups for t in lookup.tuples), default=1)


def lookup_prefixes(tables: tuple[AirDescription, ...], sigma: Ext, tau: Ext) -> list[list[Ext]]:
    """For each lookup of each table the constant term of its denominators, sigma + (bus + 1)·tau^W.

    W is the widest tuple, so that no two tuples of different buses have the same polynomial in tau.
    """
    step = ext_pow(tau, max_tuple_width(tables))
    numbers = bus_numbers(tables)
    prefixes = [ext_add(sigma, step)]
    for _ in range(max((n for of_table in numbers for n in of_table), default=0)):
        prefixes.append(ext_add(prefixes[-1], step))
    return [[prefixes[number] for number in of_table] for of_table in numbers]
