"""Sums and differences of 64 and 32 bits.

A sum of two limbs is a limb plus 2^32 times a carry. The carries are expressions. They are unique because they are
small and both limbs of the result have 32 bits.
"""

from typing import Any

from graphprover.vm.tables.buses import Tag
from graphprover.vm.tables.limbs import HALF, LIMB_MASK, PER_LIMB, halves, low_half
from graphprover.vm.tables.step import A, B, D, Executed, Lane, Step, Word


def value(c: Lane, parts: Any) -> Word:
    """Return the value with these four parts, each range-checked to 16 bits."""
    for part in parts:
        c.half(part)
    return parts[0] + HALF * parts[1], parts[2] + HALF * parts[3]


def _add(c: Lane, left: Word, right: Word, total: Word) -> None:
    """Constrain total = left + right mod 2^64; all are values."""
    carry = (left[0] + right[0] - total[0]) * PER_LIMB
    c.boolean(carry, "the carry out of lo is a bit")
    c.boolean((left[1] + right[1] + carry - total[1]) * PER_LIMB, "the carry out of hi is a bit")


def _add_signed(c: Lane, left: Word, right: Any, total: Word) -> None:
    """Constrain total = left + right mod 2^64 for a number ``right`` between -2^32 and 2^32."""
    carry = (left[0] + right - total[0]) * PER_LIMB
    c.zero(carry * (carry - 1) * (carry + 1), "the carry out of lo is -1, 0 or 1")
    carry = (left[1] + carry - total[1]) * PER_LIMB
    c.zero(carry * (carry - 1) * (carry + 1), "the carry out of hi is -1, 0 or 1")


class Addi(Step):
    """addi."""

    cells = (*A, *D, "imm", "d[4]")

    def rule(self, c: Lane) -> None:
        total = value(c, c.d)
        _add_signed(c, c.read_a(), c.imm, total)
        c.write(total)
        c.go(imm=c.imm)

    def witness(self, r: Executed) -> dict[str, Any]:
        return {"d": halves(r.c)}


class AddiNarrow(Step):
    """addi for operands whose sum leaves hi unchanged."""

    cells = (*A, *D, "imm", "d0")

    def rule(self, c: Lane) -> None:
        lo, hi = c.read_a()
        c.word(c.d0, lo + c.imm)
        c.write((lo + c.imm, hi))
        c.go(imm=c.imm)

    def fits(self, r: Executed) -> Any:
        return r.a >> 32 == r.c >> 32

    def witness(self, r: Executed) -> dict[str, Any]:
        return {"d0": low_half(r.c)}


class Add(Step):
    """add."""

    cells = (*A, *B, *D, "d[4]")

    def rule(self, c: Lane) -> None:
        total = value(c, c.d)
        _add(c, c.read_a(), c.read_b(), total)
        c.write(total)
        c.go()

    witness = Addi.witness


class AddNarrow(Step):
    """add of an rs2 below 2^32 whose sum leaves hi unchanged."""

    cells = (*A, *B[:-1], *D, "d0")

    def rule(self, c: Lane) -> None:
        lo, hi = c.read_a()
        more, _ = c.read_b((c.b_lo, 0))
        c.word(c.d0, lo + more)
        c.write((lo + more, hi))
        c.go()

    def fits(self, r: Executed) -> Any:
        return (r.a >> 32 == r.c >> 32) & (r.b >> 32 == 0)

    witness = AddiNarrow.witness


class Sub(Step):
    """sub: rs1 = rd + rs2."""

    cells = (*A, *B, *D, "d[4]")

    def rule(self, c: Lane) -> None:
        difference = value(c, c.d)
        _add(c, difference, c.read_b(), c.read_a())
        c.write(difference)
        c.go()

    witness = Addi.witness


def extended(c: Lane) -> Word:
    """Return a 32-bit result extended by its sign: cells ``d0``, ``d1`` and ``negative``, its highest bit."""
    c.half(c.d0)
    c.look(Tag.SIGN, c.d1, c.negative)
    return c.d0 + HALF * c.d1, LIMB_MASK * c.negative


def extended_witness(r: Executed) -> dict[str, Any]:
    """Return the cells of ``extended``."""
    return {"d0": low_half(r.c), "d1": low_half(r.c >> 16), "negative": r.c >> 63}


class Addiw(Step):
    """addiw."""

    cells = (*A, *D, "imm", "d0", "d1", "negative")

    def rule(self, c: Lane) -> None:
        lo, _ = c.read_a()
        total = extended(c)
        carry = (lo + c.imm - total[0]) * PER_LIMB
        c.zero(carry * (carry - 1) * (carry + 1), "the carry is -1, 0 or 1")
        c.write(total)
        c.go(imm=c.imm)

    def witness(self, r: Executed) -> dict[str, Any]:
        return extended_witness(r)


class Addw(Step):
    """addw."""

    cells = (*A, *B, *D, "d0", "d1", "negative")

    def rule(self, c: Lane) -> None:
        total = extended(c)
        c.boolean((c.read_a()[0] + c.read_b()[0] - total[0]) * PER_LIMB, "the carry is a bit")
        c.write(total)
        c.go()

    witness = Addiw.witness


class Subw(Step):
    """subw: rs1 = rd + rs2."""

    cells = (*A, *B, *D, "d0", "d1", "negative")

    def rule(self, c: Lane) -> None:
        difference = extended(c)
        c.boolean((difference[0] + c.read_b()[0] - c.read_a()[0]) * PER_LIMB, "the carry is a bit")
        c.write(difference)
        c.go()

    witness = Addiw.witness
