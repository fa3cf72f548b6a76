"""Products and quotients of 64 and 32 bits, by halves of 16.

With u = sum u[i] 2^(16 i), v likewise and an addend, u v + addend is summed up by pairs of halves of the result: the
products of pair i, plus the carry out of pair i - 1, are the pair's 32 bits plus 2^32 times a carry. No sum exceeds
2^51, and a carry is 16 bits plus 2^16 times a byte, so both sides are below p and there is no other solution.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphprover.vm.tables.arithmetic import extended, extended_witness, value
from graphprover.vm.tables.buses import Tag
from graphprover.vm.tables.limbs import HALF, LIMB, LIMB_MASK, WORD_MASK, halves, low_half
from graphprover.vm.tables.step import A, B, D, Executed, Lane, Step, Word


def _sums(u: Sequence[Any], v: Sequence[Any], pairs: int) -> list[Any]:
    """Return the sums of products of halves in each pair of the result."""
    sums = []
    for pair in range(pairs):
        total: Any = 0
        for place in (2 * pair, 2 * pair + 1):
            for i in range(len(u)):
                if 0 <= place - i < len(v):
                    total = total + HALF ** (place % 2) * u[i] * v[place - i]
        sums.append(total)
    return sums


def product(c: Lane, u: Sequence[Any], v: Sequence[Any], addend: Sequence[Any], result: Sequence[Any]) -> None:
    """Constrain u v + addend = result: of halves u and v, pairs ``addend`` and ``result``, all in range.

    The cells ``carry_low`` and ``carry_high`` hold the carries out of the pairs. If they hold one fewer than there are
    pairs, the carry out of the last is 0; otherwise it is ignored.
    """
    carries = [low + HALF * high for low, high in zip(c.carry_low, c.carry_high, strict=True)]
    for low in c.carry_low:
        c.half(low)
    for i in range(0, len(carries), 2):
        pair = (*c.carry_high[i : i + 2], 0)
        c.look(Tag.BYTES, pair[0], pair[1])
    for i, total in enumerate(_sums(u, v, len(result))):
        total = total + (addend[i] if i < len(addend) else 0) + (carries[i - 1] if i else 0)
        out = carries[i] if i < len(carries) else 0
        c.zero(total - result[i] - LIMB * out, f"pair {i} of the product")


def carries(
    u: Sequence[Any], v: Sequence[Any], addend: Sequence[Any], count: int, carried: int
) -> tuple[list[Any], dict[str, Any]]:
    """Return the pairs of u v + addend, and the cells of the first ``carried`` carries."""
    result, out = [], []
    carry: Any = np.uint64(0)
    for i, total in enumerate(_sums(u, v, count)):
        total = total + carry + (addend[i] if i < len(addend) else np.uint64(0))
        result.append(total & LIMB_MASK)
        carry = total >> 32
        out.append(carry)
    out = out[:carried]
    return result, {"carry_low": [low_half(carry) for carry in out], "carry_high": [carry >> 16 for carry in out]}


A_PARTS, B_PARTS = ("a_at", "a_t", "a[4]"), ("b_at", "b_t", "b[4]")


class Multiply(Step):
    """mul: the lower 64 bits."""

    cells = (*A_PARTS, *B_PARTS, *D, "d[4]", "carry_low[2]", "carry_high[2]")

    def rule(self, c: Lane) -> None:
        c.read_a(value(c, c.a))
        c.read_b(value(c, c.b))
        result = value(c, c.d)
        product(c, c.a, c.b, (), result)
        c.write(result)
        c.go()

    def witness(self, r: Executed) -> dict[str, Any]:
        a, b = halves(r.a), halves(r.b)
        return {"a": a, "b": b, "d": halves(r.c)} | carries(a, b, (), 2, 2)[1]


class MultiplyWord(Step):
    """mulw: the lower 32 bits, with sign."""

    cells = (
        *("a_at", "a_t", "a[2]", "a_hi", "b_at", "b_t", "b[2]", "b_hi"),
        *(*D, "d0", "d1", "negative", "carry_low[1]", "carry_high[1]"),
    )

    def rule(self, c: Lane) -> None:
        for half in (*c.a, *c.b):
            c.half(half)
        c.read_a((c.a[0] + HALF * c.a[1], c.a_hi))
        c.read_b((c.b[0] + HALF * c.b[1], c.b_hi))
        result = extended(c)
        product(c, c.a, c.b, (), result[:1])
        c.write(result)
        c.go()

    def witness(self, r: Executed) -> dict[str, Any]:
        a, b = halves(r.a)[:2], halves(r.b)[:2]
        return {"a": a, "b": b} | extended_witness(r) | carries(a, b, (), 1, 1)[1]


class MultiplyHigh(Step):
    """mulh, mulhsu, mulhu: the upper 64 bits. A negative factor subtracts the other from the unsigned product."""

    def __init__(self, signed_a: bool, signed_b: bool, lanes: int = 1) -> None:
        self.signed = {"a": signed_a, "b": signed_b}
        cells = [*A_PARTS, *B_PARTS, *D, "p[8]", "carry_low[3]", "carry_high[3]"]
        cells += [f"{name}_negative" for name, signed in self.signed.items() if signed]
        if signed_a:
            cells += ["d[4]", "borrow_lo", "borrow_hi"]
        self.cells = tuple(cells)  # type: ignore[misc]
        super().__init__(lanes)

    def rule(self, c: Lane) -> None:
        factors = {}
        for name, signed in self.signed.items():
            parts = getattr(c, name)
            for part in parts[:3]:
                c.half(part)
            if signed:
                c.look(Tag.SIGN, parts[3], getattr(c, f"{name}_negative"))
            else:
                c.half(parts[3])
            factors[name] = parts[0] + HALF * parts[1], parts[2] + HALF * parts[3]
        a, b = c.read_a(factors["a"]), c.read_b(factors["b"])
        low, high = value(c, c.p[:4]), value(c, c.p[4:])
        product(c, c.a, c.b, (), (*low, *high))
        result = high
        if self.signed["a"]:
            result = value(c, c.d)
            negative_b = c.b_negative if self.signed["b"] else 0
            borrows = c.borrow_lo, c.borrow_hi
            for borrow in borrows:
                c.zero(borrow * (borrow - 1) * (borrow - 2), "a borrow is 0, 1 or 2")
            less = [c.a_negative * y + negative_b * x for x, y in zip(a, b, strict=True)]
            c.zero(high[0] - less[0] + LIMB * borrows[0] - result[0], "the factors off lo")
            c.zero(high[1] - less[1] - borrows[0] + LIMB * borrows[1] - result[1], "the factors off hi")
        c.write(result)
        c.go()

    def witness(self, r: Executed) -> dict[str, Any]:
        a, b = halves(r.a), halves(r.b)
        pairs, cells = carries(a, b, (), 4, 3)
        cells |= {"a": a, "b": b, "p": [half for pair in pairs for half in (low_half(pair), pair >> 16)]}
        sign_a, sign_b = (
            x >> 63 if signed else x & 0 for x, signed in zip((r.a, r.b), self.signed.values(), strict=True)
        )
        for name, sign in (("a", sign_a), ("b", sign_b)):
            if self.signed[name]:
                cells[f"{name}_negative"] = sign
        if self.signed["a"]:
            less = [sign_a * y + sign_b * x for x, y in ((r.a & LIMB_MASK, r.b & LIMB_MASK), (r.a >> 32, r.b >> 32))]
            cells["d"] = halves(r.c)
            cells["borrow_lo"] = ((r.c & LIMB_MASK) - pairs[2] + less[0]) >> 32
            cells["borrow_hi"] = ((r.c >> 32) - pairs[3] + less[1] + cells["borrow_lo"]) >> 32
        return cells


def negated_if(c: Lane, sign: Any, x: Word, y: Word, carry: Any, out: Any) -> None:
    """Constrain y to x, or if ``sign`` is 1, to -x mod 2^64; both are values, so the carries are unique."""
    c.zero(y[0] - x[0] + sign * (2 * x[0] - LIMB * carry), "lo, negated or not")
    c.zero(y[1] - x[1] + sign * (2 * x[1] + carry - LIMB * out), "hi, negated or not")


class Divide(Step):
    """div, divu, rem, remu and their forms of 32 bits.

    The magnitudes satisfy A = Q B + R, and Q B + R has no more bits than A. Either R < B or Q is all ones. The latter
    is right for B = 0; otherwise A = Q and B = 1, which is the quotient anyway. So ``by_zero`` needs no check: if it is
    not 0, Q is all ones, and if it is not 1, R < B. The quotient is negative if one operand is, the remainder if the
    dividend is. So -2^63 / -1 is 2^63 = -2^63 mod 2^64, as RISC-V demands.
    """

    def __init__(self, signed: bool, remainder: bool, word: bool, lanes: int = 1) -> None:
        self.signed, self.remainder, self.word = signed, remainder, word
        self.count = count = 2 if word else 4  # halves of an operand
        cells = [*A, *B, *D, f"n[{count}]", f"v[{count}]", f"q[{count}]", f"r[{count}]", f"less[{count}]"]
        cells += ["by_zero", f"carry_low[{count - 1}]", f"carry_high[{count - 1}]"]
        if not word:
            cells += ["borrow"]
        if signed:
            cells += [
                "a_low",
                "a_negative",
                "b_low",
                "b_negative",
                "flip",
                *(f"{x}[{count // 2}]" for x in ("na", "nb", "nd")),
            ]
        if word:
            cells += ["d0", "d1", "negative"]
        elif signed:
            cells += ["d[4]"]
        self.cells = tuple(cells)  # type: ignore[misc]
        super().__init__(lanes)

    def rule(self, c: Lane) -> None:
        a, b = c.read_a(), c.read_b()
        magnitudes = [self.checked(c, part) for part in (c.n, c.v, c.q, c.r, c.less)]
        dividend, divisor, quotient, rest, less = magnitudes
        if self.signed:
            negative = []
            for name, operand, magnitude in (("a", a, dividend), ("b", b, divisor)):
                sign = getattr(c, f"{name}_negative")
                c.sign(getattr(c, f"{name}_low"), operand[0 if self.word else 1], sign)
                self.negated(c, sign, operand, magnitude, getattr(c, f"n{name}"))
                negative.append(sign)
        else:
            for operand, magnitude in ((a, dividend), (b, divisor)):
                for x, y in list(zip(operand, magnitude, strict=True))[: self.count // 2]:
                    c.zero(x - y, "an operand without sign is its magnitude")
        pairs = self.count // 2
        # The result has the dividend's pairs, and nothing above them.
        full = (*dividend[:pairs], *(0,) * pairs)
        product(c, c.q, c.v, rest[:pairs], full)

        for half in c.q:
            c.zero(c.by_zero * (half - (HALF - 1)), "the quotient by 0 is all ones")
        difference = [x - y for x, y in zip(divisor, rest, strict=True)][:pairs]
        borrow = 0 if self.word else c.borrow
        idle = c.on - c.by_zero  # 1 if R < B must hold
        c.zero(idle * (difference[0] - 1 + LIMB * borrow - less[0]), "the remainder is less than the divisor, lo")
        if not self.word:
            c.boolean(c.borrow, "the borrow is a bit")
            c.zero(idle * (difference[1] - borrow - less[1]), "the remainder is less than the divisor, hi")
        self.result(c, rest if self.remainder else quotient)

    def checked(self, c: Lane, part: Sequence[Any]) -> Word:
        """Return the value of these halves, each range-checked to 16 bits."""
        return value(c, part) if len(part) == 4 else value_of_word(c, part)

    def negated(self, c: Lane, sign: Any, x: Word, y: Word, carry: Sequence[Any]) -> None:
        """Return y, constrained to x or -x, of as many bits as the operands."""
        for bit in carry:
            c.boolean(bit, "a carry of a negation is a bit")
        if self.word:
            c.zero(y[0] - x[0] + sign * (2 * x[0] - LIMB * carry[0]), "negated or not")
        else:
            negated_if(c, sign, x, y, carry[0], carry[1])

    def result(self, c: Lane, magnitude: Word) -> None:
        """Write the magnitude with its sign to rd."""
        if self.word:
            result = extended(c)
        elif self.signed:
            result = value(c, c.d)
        else:
            result = magnitude
        if self.signed:
            if self.remainder:
                c.zero(c.flip - c.a_negative, "the remainder has the sign of the dividend")
            else:
                differ = c.a_negative + c.b_negative - 2 * c.a_negative * c.b_negative
                c.zero(c.flip - differ + c.by_zero * differ, "the quotient is negative where one operand is")
            self.negated(c, c.flip, magnitude, result, c.nd)
        elif self.word:
            c.zero(result[0] - magnitude[0], "the result")
        c.write(result)
        c.go()

    def witness(self, r: Executed) -> dict[str, Any]:
        top = np.uint64(31 if self.word else 63)
        mask = np.uint64(LIMB_MASK if self.word else WORD_MASK)
        a, b = r.a & mask, r.b & mask
        sign_a, sign_b = (x >> top if self.signed else x & 0 for x in (a, b))
        where, zero, one = r.arrays.where, np.uint64(0), np.uint64(1)
        n, v = (where(sign == 1, -x & mask, x) for x, sign in ((a, sign_a), (b, sign_b)))
        by_zero = v == 0
        q = where(by_zero, mask, n // where(by_zero, one, v))
        rest = where(by_zero, n, n - q * v)
        less = where(by_zero, zero, v - rest - one)
        cells: dict[str, Any] = {}
        for name, x in (("n", n), ("v", v), ("q", q), ("r", rest), ("less", less)):
            cells[name] = halves(x)[: self.count]
        addend = [rest & LIMB_MASK, rest >> 32][: self.count // 2]
        cells |= carries(cells["q"], cells["v"], addend, self.count, self.count - 1)[1]
        cells["by_zero"] = by_zero
        if not self.word:
            cells["borrow"] = ~by_zero & ((v & LIMB_MASK) < (rest & LIMB_MASK) + 1)
        if self.signed:
            shift = np.uint64(0 if self.word else 32)
            flip = sign_a if self.remainder else (sign_a ^ sign_b) & ~by_zero
            y = rest if self.remainder else q
            for name, sign, x in (("a", sign_a, a), ("b", sign_b, b)):
                cells |= {
                    f"{name}_low": low_half(x >> shift),
                    f"{name}_negative": sign,
                    f"n{name}": self.turned(sign, x),
                }
            cells |= {"flip": flip, "nd": self.turned(flip, y)}
        if self.word:
            cells |= extended_witness(r)
        elif self.signed:
            cells["d"] = halves(r.c)
        return cells

    def turned(self, sign: Any, x: Any) -> tuple[Any, ...]:
        """Return the carries of a negation."""
        carries = (sign == 1) & (x & LIMB_MASK != 0), (sign == 1) & (x != 0)
        return carries[: self.count // 2]


def value_of_word(c: Lane, parts: Sequence[Any]) -> Word:
    """Return the value of two halves, each range-checked to 16 bits."""
    for part in parts:
        c.half(part)
    return parts[0] + HALF * parts[1], 0
