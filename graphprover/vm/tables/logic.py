"""and, or, xor by bytes: a | b = a + b - (a & b), and a ^ b = a + b - 2 (a & b)."""

from typing import Any

from graphprover.vm.tables.buses import Tag
from graphprover.vm.tables.limbs import BYTE, HALF, LIMB_MASK
from graphprover.vm.tables.step import D, Executed, Lane, Step

SUM = {"and": 0, "or": 1, "xor": 1}  # the result is SUM * (a + b) + BOTH * (a & b)
BOTH = {"and": 1, "or": -1, "xor": -2}


def byte_list(x: Any, count: int) -> tuple[Any, ...]:
    """Return the lowest bytes of a word."""
    return tuple(x >> 8 * i & 255 for i in range(count))


def from_bytes(parts: Any) -> Any:
    """Return the number with these bytes, lowest first."""
    return sum(part * BYTE**i for i, part in enumerate(parts))


class Logic(Step):
    """and, or, xor of two registers."""

    cells = ("a_at", "a_t", "a[8]", "b_at", "b_t", "b[8]", *D, "both[8]")

    def __init__(self, op: str, lanes: int = 1) -> None:
        super().__init__(lanes)
        self.op = op

    def rule(self, c: Lane) -> None:
        for a, b, both in zip(c.a, c.b, c.both, strict=True):
            c.look(Tag.AND, a, b, both)
        a = c.read_a((from_bytes(c.a[:4]), from_bytes(c.a[4:])))
        b = c.read_b((from_bytes(c.b[:4]), from_bytes(c.b[4:])))
        both = from_bytes(c.both[:4]), from_bytes(c.both[4:])
        lo, hi = (SUM[self.op] * (x + y) + BOTH[self.op] * z for x, y, z in zip(a, b, both, strict=True))
        c.write((lo, hi))
        c.go()

    def witness(self, r: Executed) -> dict[str, Any]:
        return {"a": byte_list(r.a, 8), "b": byte_list(r.b, 8), "both": byte_list(r.a & r.b, 8)}


class LogicImmediate(Step):
    """andi, ori, xori of an immediate whose sign, hence all but its lowest 12 bits, is fixed by the chip."""

    cells = ("a_at", "a_t", "a[2]", "a_top", "a_hi", *D, "imm", "imm2", "both[2]")

    def __init__(self, op: str, negative: bool, lanes: int = 1) -> None:
        super().__init__(lanes)
        self.op = op
        self.ones = int(negative)  # each of the higher bits of the immediate

    def rule(self, c: Lane) -> None:
        for a, b, both in zip(c.a, (c.imm, c.imm2), c.both, strict=True):
            c.look(Tag.AND, a, b, both)
        c.half(c.a_top)
        low = from_bytes(c.a)
        c.read_a((low + HALF * c.a_top, c.a_hi))
        lo = self.result(low, from_bytes((c.imm, c.imm2)), from_bytes(c.both))
        top = self.result(c.a_top, self.ones * (HALF - 1), self.ones * c.a_top)
        hi = self.result(c.a_hi, self.ones * LIMB_MASK, self.ones * c.a_hi)
        c.write((lo + HALF * top, hi))
        c.go(imm=c.imm, imm2=c.imm2)

    def result(self, x: Any, y: Any, both: Any) -> Any:
        """Return the operation on a part, given the bits in both operands."""
        return SUM[self.op] * (x + y) + BOTH[self.op] * both

    def witness(self, r: Executed) -> dict[str, Any]:
        immediate = r.imm | r.imm2 << 8
        return {
            "a": byte_list(r.a, 2),
            "a_top": r.a >> 16 & (HALF - 1),
            "a_hi": r.a >> 32,
            "both": byte_list(r.a & immediate, 2),
        }
