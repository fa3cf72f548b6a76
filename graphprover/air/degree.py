"""The degree of a table's constraints: how many messages share a fraction column at a rate (docs/protocol.md, 2).

More messages in a column commit fewer columns and raise the degree of the column's constraint. The quotient then has
more chunks and is computed at more points. Prover and verifier derive the degree from the description and the rate.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from graphprover.air.description import AirDescription
from graphprover.air.expression import MUL
from graphprover.field import EXTENSION_DEGREE

MOST_LOG_CHUNKS = 3  # log2 of the most chunks for which columns are packed: up to eight messages a column
# Products that a committed word costs at each point of its low-degree extension: the extension, its share of the leaf
# hash, openings and queries. Measured: 12 on a CPU, 14 to 22 on a GPU, and more for each layer that opens it again.
WORD_PRODUCTS = 24
EXT_PRODUCTS = 9  # base products of one extension product


def products(air: AirDescription) -> int:
    """Return the base products that a table's quotient takes at one point.

    Each multiplication of the expressions is one. Others are three to fold a constraint, three to add a field to a
    fingerprint, and two extension products for each message and each column.
    """
    messages = [message for lookup in air.lookups for message in lookup.tuples]
    folded = len(air.constraints) + sum(len(message.fields) for message in messages)
    expressions = sum(op == MUL for op, _, _ in air.nodes)
    return expressions + EXTENSION_DEGREE * folded + 2 * EXT_PRODUCTS * (len(messages) + len(air.lookups))


def cost(air: AirDescription, log_blowup: int) -> int:
    """Return the products for a row of a table, as far as they depend on its degree.

    A row has three words for each fraction column and each chunk. A word is paid at the 2^log_blowup points of its
    extension (`WORD_PRODUCTS`), and the quotient has one point for each chunk (`products`). Main columns, preprocessed
    columns and the accumulator are left out, as all degrees share them.
    """
    words = EXTENSION_DEGREE * (len(air.lookups) + (1 << air.log_quotient_chunks))
    return (products(air) << air.log_quotient_chunks) + (WORD_PRODUCTS * words << log_blowup)


@lru_cache(maxsize=2048)  # the tables of a proof at the rates that a planner tries
def at_rate(air: AirDescription, log_blowup: int) -> AirDescription:
    """Return a table with its fraction columns packed for the degree of least `cost` at the rate 1/2^log_blowup.

    Of equal costs, the least degree counts. The quotient has no more chunks than the constraints and single messages
    need, or than the rate's inverse: so no column is extended further for it, and Plonky3 accepts the packing.
    """
    least = packed(air, 0)
    most = min(MOST_LOG_CHUNKS, log_blowup)
    degrees = [least, *(packed(air, log_chunks) for log_chunks in range(least.log_quotient_chunks + 1, most + 1))]
    return min(degrees, key=lambda air: cost(air, log_blowup))


def packings(air: AirDescription, log_blowups: Iterable[int]) -> list[AirDescription]:
    """Return the different packings of a table at these rates (`at_rate`)."""
    return list(dict.fromkeys(at_rate(air, log_blowup) for log_blowup in log_blowups))


def packed(air: AirDescription, log_chunks: int) -> AirDescription:
    """Return a table with its fraction columns packed for at least 2^log_chunks chunks of the quotient."""
    if air.packed_for == log_chunks:
        return air
    found = replace(air, packed_for=log_chunks)
    found.__dict__.update(degrees=air.degrees, depths=air.depths)  # which no packing changes
    return found
