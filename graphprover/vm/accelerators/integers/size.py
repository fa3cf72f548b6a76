"""Integers in the tables of host calls: the cells of their parts, and multiples of a prime.

An integer of some words is held as halves of 16 bits, or as limbs of 32 bits. The product of two integers has as many
limbs as an integer has halves, and a signed carry between each two neighbours.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from graphprover.air import Expr, TableBuilder
from graphprover.vm.accelerators.table import limbs_of, product
from graphprover.vm.tables.limbs import HALF, LIMB

NUMBER_WORDS = 4  # of an integer below 2^256
WIDE_WORDS = 6  # of an integer below 2^384
OFFSET = 1 << 23  # carries are from -OFFSET to 2^24 - 1 - OFFSET
SIGN = 1 << 4  # the signed quotients of primes are from -SIGN times 2^64 to the number of words on


@dataclass(frozen=True)
class Size:
    """The number of words of an integer, and the sizes that follow from it."""

    words: int

    @property
    def halves(self) -> int:
        """Return the number of halves, which is the number of limbs of a product."""
        return 4 * self.words

    @property
    def limbs(self) -> int:
        """Return the number of limbs."""
        return 2 * self.words

    @property
    def carries(self) -> int:
        """Return the number of carries of a product."""
        return self.halves - 1

    def halves_of(self, x: int) -> list[int]:
        """Return the halves of an integer."""
        return [x >> 16 * i & HALF - 1 for i in range(self.halves)]

    def limbs_of(self, x: int) -> list[int]:
        """Return the limbs of an integer."""
        return [x >> 32 * i & LIMB - 1 for i in range(self.limbs)]


NUMBER, WIDE = Size(NUMBER_WORDS), Size(WIDE_WORDS)


def carries_of(row: Any) -> list[Expr]:
    """Return the carries of a row, from its cells ``low`` and ``high``."""
    return [low + HALF * high - OFFSET for low, high in zip(row.low, row.high, strict=True)]


def multiple(
    t: TableBuilder, gate: Expr, limb: Callable[[int], Any], row: Any, prime: Sequence[Any], label: str
) -> None:
    """State in rows with ``gate`` that a number is the quotient of ``row`` times a prime, with carries of ``row``.

    The quotient is ``q``, of halves, and above them ``sign`` - SIGN.

    Args:
        t: The table.
        gate: 1 in rows with a statement.
        limb: Maps i to the number's i-th limb, before carries.
        row: The cells ``q``, ``sign``, ``low`` and ``high``: of this row or of the next one.
        prime: The halves of the prime.
        label: The name of the number in messages.
    """
    carries, above = carries_of(row), limbs_of(prime)
    for i in range(len(prime)):
        total = limb(i) - product(row.q, prime, i)
        if i >= len(above):
            total = total - (row.sign - SIGN) * above[i - len(above)]
        if i:
            total = total + carries[i - 1]
        if i < len(carries):
            total = total - LIMB * carries[i]
        t.every_row(gate * total, f"limb {i} of {label}")
