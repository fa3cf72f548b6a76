"""Packings of limbs into bus elements, and linear forms.

A packing joins neighbouring limbs, least significant first, into words of at most 32 bits: DWORD_HL turns the four
halves h0..h3 of a 64-bit value into h0 + 2^16 h1 and h2 + 2^16 h3. In the names B is a byte, H a half of 16 bits, W a
word of 32; L says that all limbs are alike, and three letters give the limbs in order (DWORD_HHW: two halves, then a
word). Limbs must be range-checked: a packing is injective only on limbs of their stated size.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphprover.air.expression import Expr

BYTE, HALF, WORD = 8, 16, 32


@dataclass(frozen=True)
class Packing:
    """Called with a list of limbs, gives the list of elements."""

    name: str
    elements: tuple[tuple[int, ...], ...]  # for each element, the bits of the limbs that it joins, lowest limb first

    @property
    def limbs(self) -> tuple[int, ...]:
        """The bits of each limb."""
        return tuple(bits for element in self.elements for bits in element)

    def __call__(self, limbs: Sequence[Expr]) -> list[Expr]:
        """One expression an element; raises ValueError for another number of limbs."""
        if len(limbs) != len(self.limbs):
            raise ValueError(f"{self.name} packs {len(self.limbs)} limbs, not {len(limbs)}")
        remaining = iter(limbs)
        packed = []
        for element in self.elements:
            total, shift = next(remaining), element[0]
            for bits in element[1:]:
                total = total + next(remaining) * (1 << shift)
                shift += bits
            packed.append(total)
        return packed


DIRECT = Packing("Direct", ((WORD,),))
WORD_2L = Packing("Word2L", ((HALF, HALF),))
WORD_4L = Packing("Word4L", ((BYTE,) * 4,))
DWORD_WL = Packing("DWordWL", ((WORD,), (WORD,)))
DWORD_HHW = Packing("DWordHHW", ((HALF, HALF), (WORD,)))
DWORD_WHH = Packing("DWordWHH", ((WORD,), (HALF, HALF)))
DWORD_HL = Packing("DWordHL", ((HALF, HALF),) * 2)
DWORD_BL = Packing("DWordBL", ((BYTE,) * 4,) * 2)
QUAD_HL = Packing("QuadHL", ((HALF, HALF),) * 4)
QUAD_WL = Packing("QuadWL", ((WORD,),) * 4)

PACKINGS = (
    DIRECT,
    WORD_2L,
    WORD_4L,
    DWORD_WL,
    DWORD_HHW,
    DWORD_WHH,
    DWORD_HL,
    DWORD_BL,
    QUAD_HL,
    QUAD_WL,
)


def linear(terms: Iterable[tuple[int, Expr]], constant: int = 0) -> Expr:
    """The sum of coefficient times expression, plus a constant; coefficients may be negative.

    Raises ValueError for no terms at all: a constant needs no form.
    """
    total: Expr | None = None
    for coefficient, expr in terms:
        term = expr * coefficient
        total = term if total is None else total + term
    if total is None:
        raise ValueError("a linear form needs at least one term")
    return total + constant
