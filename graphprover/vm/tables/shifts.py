"""Shifts by k = 16 w + s, s in 0..15: a product with a power of two, whose halves are the result's.

To the left the value is multiplied by 2^s, to the right by 2^(16 - s): at most 2^16, so the product has five halves
``p``. The result of a chip begins at half ``-w`` of the product, to the right at ``1 + w``; beyond the product there
are zeros. With the limbs lo and hi,

    lo * power = p[0] + 2^16 p[1] + 2^32 carry,    hi * power + carry = p[2] + 2^16 p[3] + 2^32 p[4].

All parts have 16 bits, so both sides are below 2^48 and there is no other solution.

The power is the program's, or, if rs2 holds k, looked up by s; the rest of rs2, divided by 64 (or 32), is a number of
32 bits that no constraint uses.
"""

from typing import Any

from graphprover.field import P
from graphprover.vm.tables.buses import Tag
from graphprover.vm.tables.limbs import HALF, LIMB, LIMB_MASK, PER_HALF, halves, low_half
from graphprover.vm.tables.step import A, B, D, Executed, Lane, Step


def power_of(s: int, right: bool) -> int:
    """Return the factor of a shift by ``s``."""
    return 1 << (16 - s if right else s)


class Shift(Step):
    """sll, srl, sra and their forms with an immediate, of 64 or 32 bits (``word``), for one number of halves ``w``."""

    def __init__(self, kind: str, w: int, register: bool, word: bool, lanes: int = 1) -> None:
        self.right, self.arithmetic = kind != "sll", kind == "sra"
        self.w, self.register, self.word = w, register, word
        self.count = 2 if word else 4  # halves of the value
        self.first = 1 + w if self.right else -w  # half of the product at which the result begins
        cells = [*A, *D, "power", f"p[{self.count + 1}]"]
        if not word:
            cells += ["carry"]
        if register:
            cells += [*B, "s", "rest"]
        if self.arithmetic:
            cells += ["a_low", "negative", "top"]
        elif word:
            cells += ["negative"]
        self.cells = tuple(cells)  # type: ignore[misc]
        super().__init__(lanes)

    def rule(self, c: Lane) -> None:
        lo, hi = c.read_a()
        product = list(c.p)
        if self.word:
            c.zero(lo * c.power - from_halves(product), "the product")
        else:
            c.half(c.carry)
            c.zero(lo * c.power - from_halves(product[:2]) - LIMB * c.carry, "the lower product")
            c.zero(hi * c.power + c.carry - from_halves(product[2:]), "the upper product")
        if self.arithmetic:
            c.sign(c.a_low, lo if self.word else hi, c.negative)
            c.zero(product[-1] + c.negative * (HALF - c.power) - c.top, "the highest half is filled with the sign")
        result = [self.half_of(c, self.first + i) for i in range(self.count)]
        if self.word and not self.arithmetic:
            # The sign of the result; its lookup also checks the highest half.
            for i, half in enumerate(product):
                if i != self.first + 1:
                    c.half(half)
            if 0 <= self.first + 1 < len(product):
                c.look(Tag.SIGN, result[1], c.negative)
            else:
                c.zero(c.negative, "a result below 2^16 has no sign")
        else:
            for half in product:
                c.half(half)
        sign = c.negative * LIMB_MASK if self.word else None
        c.write((result[0] + HALF * result[1], result[2] + HALF * result[3] if sign is None else sign))
        self.amount(c)

    def half_of(self, c: Lane, i: int) -> Any:
        """Return half ``i`` of the product, with zeros or signs around it."""
        if i < 0:
            return 0
        if not self.arithmetic:
            return c.p[i] if i < len(c.p) else 0
        return c.p[i] if i < len(c.p) - 1 else c.top if i == len(c.p) - 1 else c.negative * (HALF - 1)

    def amount(self, c: Lane) -> None:
        """State the source of the power."""
        if not self.register:
            c.go(imm=c.power)
            return
        lo, _ = c.read_b()
        c.look(Tag.RIGHT if self.right else Tag.LEFT, c.s, c.power)
        c.half(c.rest)
        size = 16 * self.count
        c.half((lo - 16 * self.w - c.s - size * c.rest) * (PER_HALF * pow(size, -1, P) % P))
        c.go()

    def fits(self, r: Executed) -> Any:
        return (r.b >> 4) % self.count == self.w if self.register else True

    def witness(self, r: Executed) -> dict[str, Any]:
        cells: dict[str, Any] = {}
        if self.register:
            cells["s"] = r.b & 15
            cells["rest"] = low_half((r.b & LIMB_MASK) // (16 * self.count))
            power = 1 << ((16 - cells["s"]) if self.right else cells["s"])
            cells["power"] = power
        else:
            power = cells["power"] = r.imm
        lo, hi = r.a & LIMB_MASK, r.a >> 32
        low = lo * power
        if self.word:
            cells["p"] = (low_half(low), low_half(low >> 16), low >> 32)
        else:
            high = hi * power + (low >> 32)
            cells["carry"] = low >> 32
            cells["p"] = (*halves(low)[:2], *halves(high)[:3])
        if self.arithmetic:
            signed = lo if self.word else hi
            cells["a_low"] = low_half(signed)
            cells["negative"] = signed >> 31
            cells["top"] = cells["p"][-1] + cells["negative"] * (HALF - power)
        elif self.word:
            cells["negative"] = r.c >> 63
        return cells


def from_halves(parts: Any) -> Any:
    """Return the number with these halves, lowest first."""
    return sum(part * HALF**i for i, part in enumerate(parts))
