"""The parts of a 64-bit word: two limbs of 32 bits, four halves of 16, eight bytes.

A word is too large for a field element. Tables have it as limbs, which are elements, and as smaller parts if a lookup
must show how many bits a limb has. The functions take integers and arrays of uint64.
"""

from typing import Any

from graphprover.field import inv

LIMB_BITS = 32
BYTE, HALF, LIMB = 1 << 8, 1 << 16, 1 << LIMB_BITS  # bounds of numbers of 8, 16 and 32 bits
LIMB_MASK, WORD_MASK = LIMB - 1, (1 << 64) - 1
PER_HALF, PER_LIMB = inv(HALF), inv(LIMB)  # inverses in the field


def limbs(word: Any) -> tuple[Any, Any]:
    """Return the lower and the upper 32 bits."""
    return word & LIMB_MASK, word >> LIMB_BITS


def low_half(word: Any) -> Any:
    """Return the lowest 16 bits."""
    return word & (HALF - 1)


def halves(word: Any) -> tuple[Any, Any, Any, Any]:
    """Return the four halves, lowest first."""
    return low_half(word), low_half(word >> 16), low_half(word >> 32), word >> 48
