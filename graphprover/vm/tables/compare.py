"""Comparisons: branches, whose next pc the program table states for each outcome, and slt.

For unsigned values a < b if a - b borrows: then a - b + 2^64 is a value. For signed values both sides are first
increased by 2^63, which only flips the highest bits.
"""

from typing import Any

import numpy as np

from graphprover.vm.tables.limbs import HALF, LIMB, LIMB_MASK, PER_LIMB, halves, low_half
from graphprover.vm.tables.step import A, B, D, Executed, Lane, Step, Word

FLIP = 1 << 31  # 2^63 in the upper limb


class Equal(Step):
    """A branch outcome with rs1 = rs2."""

    cells = (*A, "b_at", "b_t", "following")

    def rule(self, c: Lane) -> None:
        c.read_b(c.read_a())
        c.go(c.following)

    def fits(self, r: Executed) -> Any:
        return r.a == r.b


class Unequal(Step):
    """A branch outcome with rs1 != rs2: a combination of both differences is 1 unless both are 0."""

    cells = (*A, *B, "following", "u", "v")

    def rule(self, c: Lane) -> None:
        (a_lo, a_hi), (b_lo, b_hi) = c.read_a(), c.read_b()
        c.zero((a_lo - b_lo) * c.u + (a_hi - b_hi) * c.v - c.on, "the values differ")
        c.go(c.following)

    def fits(self, r: Executed) -> Any:
        return r.a != r.b

    def witness(self, r: Executed) -> dict[str, Any]:
        u = r.inverse_of_difference(r.a & LIMB_MASK, r.b & LIMB_MASK)
        v = r.inverse_of_difference(r.a >> 32, r.b >> 32)
        return {"u": u, "v": v * (u == 0)}


class Zero(Step):
    """A branch outcome with rs1 = 0, with rs2 = x0."""

    cells = ("a_at", "a_t", "following")

    def rule(self, c: Lane) -> None:
        c.read_a((0, 0))
        c.go(c.following)

    def fits(self, r: Executed) -> Any:
        return r.a == 0


class Nonzero(Step):
    """A branch outcome with rs1 != 0, with rs2 = x0: lo + hi < p is 0 only if both are."""

    cells = (*A, "following", "u")

    def rule(self, c: Lane) -> None:
        lo, hi = c.read_a()
        c.zero((lo + hi) * c.u - c.on, "the value is not 0")
        c.go(c.following)

    def fits(self, r: Executed) -> Any:
        return r.a != 0

    def witness(self, r: Executed) -> dict[str, Any]:
        return {"u": r.inverse_of_difference((r.a & LIMB_MASK) + (r.a >> 32), r.a & 0)}


class Sign(Step):
    """A branch outcome with rs1 < 0 or rs1 >= 0, with rs2 = x0."""

    cells = (*A, "following", "a_low")

    def __init__(self, negative: bool, lanes: int = 1) -> None:
        super().__init__(lanes)
        self.negative = negative

    def rule(self, c: Lane) -> None:
        _, hi = c.read_a()
        c.sign(c.a_low, hi, int(self.negative))
        c.go(c.following)

    def fits(self, r: Executed) -> Any:
        return r.a >> 63 == self.negative

    def witness(self, r: Executed) -> dict[str, Any]:
        return {"a_low": low_half(r.a >> 32)}


def _flipped(c: Lane, value: Word, name: str) -> Word:
    """Return a value plus 2^63; cells ``NAME_low`` and ``NAME_negative``."""
    lo, hi = value
    negative = getattr(c, f"{name}_negative")
    c.sign(getattr(c, f"{name}_low"), hi, negative)
    return lo, hi + FLIP * c.on - LIMB * negative


def _sign_witness(name: str, x: Any) -> dict[str, Any]:
    return {f"{name}_low": low_half(x >> 32), f"{name}_negative": x >> 63}


SIGNS = ("a_low", "a_negative", "b_low", "b_negative")


class Order(Step):
    """A branch outcome with rs1 < rs2 or rs1 >= rs2, signed or unsigned."""

    def __init__(self, signed: bool, less: bool, lanes: int = 1) -> None:
        self.signed, self.less = signed, less
        self.cells = (*A, *B, "following", "borrow", "r0", "r2", *(SIGNS if signed else ()))  # type: ignore[misc]
        super().__init__(lanes)

    def rule(self, c: Lane) -> None:
        a, b = c.read_a(), c.read_b()
        if self.signed:
            a, b = _flipped(c, a, "a"), _flipped(c, b, "b")
        c.boolean(c.borrow, "the borrow is a bit")
        c.word(c.r0, a[0] - b[0] + LIMB * c.borrow)
        c.word(c.r2, a[1] - b[1] - c.borrow + LIMB * int(self.less))
        c.go(c.following)

    def fits(self, r: Executed) -> Any:
        flip = (FLIP << 32) * self.signed
        return (r.a ^ flip < r.b ^ flip) == self.less

    def witness(self, r: Executed) -> dict[str, Any]:
        difference = r.a - r.b  # also the difference of the values plus 2^63
        cells = {
            "borrow": (r.a & LIMB_MASK) < (r.b & LIMB_MASK),
            "r0": low_half(difference),
            "r2": low_half(difference >> 32),
        }
        return cells | (_sign_witness("a", r.a) | _sign_witness("b", r.b) if self.signed else {})


class SetLess(Step):
    """slt, sltu, and with an immediate slti, sltiu. The program gives slti's immediate plus 2^63."""

    def __init__(self, signed: bool, immediate: bool, lanes: int = 1) -> None:
        self.signed, self.immediate = signed, immediate
        signs = SIGNS[: 2 if immediate else 4] if signed else ()
        right = ("imm", "imm2") if immediate else B
        self.cells = (*A, *right, *D, "r[4]", "less", *signs)  # type: ignore[misc]
        super().__init__(lanes)

    def rule(self, c: Lane) -> None:
        a = c.read_a()
        b = (c.imm, c.imm2) if self.immediate else c.read_b()
        if self.signed:
            a = _flipped(c, a, "a")
            b = b if self.immediate else _flipped(c, b, "b")
        for part in c.r:
            c.half(part)
        borrow = (c.r[0] + HALF * c.r[1] - a[0] + b[0]) * PER_LIMB
        c.boolean(borrow, "the borrow is a bit")
        c.zero(a[1] - b[1] - borrow + LIMB * c.less - c.r[2] - HALF * c.r[3], "the upper difference")
        c.boolean(c.less, "the result is a bit")
        c.write((c.less, 0))
        c.go(imm=c.imm if self.immediate else 0, imm2=c.imm2 if self.immediate else 0)

    def witness(self, r: Executed) -> dict[str, Any]:
        if self.immediate:
            b = r.imm | r.imm2 << 32
            difference = r.a - b + np.uint64(1 << 63 if self.signed else 0)
        else:
            difference = r.a - r.b
        cells = {"r": halves(difference), "less": r.c}
        if self.signed:
            cells |= _sign_witness("a", r.a)
            cells |= {} if self.immediate else _sign_witness("b", r.b)
        return cells
