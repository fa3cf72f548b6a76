"""Aligned loads and stores.

Memory is words of 8 bytes at multiples of 8. No other address has a value, so a load from a misaligned address, or from
one at or above 2^32, finds no message. ``unaligned`` has the chips for other accesses.

To select a part of a word, bits name it: ``upper`` of its two limbs, then the upper half of that, then the upper byte.
The parts are cells and range-checked, because only the limb is known to have 32 bits.
"""

from typing import Any

from graphprover.vm.program.isa import ACCESS_BYTES, Op
from graphprover.vm.tables.buses import Tag
from graphprover.vm.tables.limbs import BYTE, HALF, LIMB, LIMB_MASK, PER_HALF, low_half
from graphprover.vm.tables.step import A32, B, D, Executed, Lane, M, Step, Word


def base(c: Lane) -> Any:
    """Return the address in bytes: rs1, which is below 2^32, plus the immediate."""
    lo, _ = c.read_a((c.a_lo, 0))
    return lo + c.imm


def chosen(bit: Any, low: Any, high: Any) -> Any:
    """Return ``high`` if ``bit`` is 1, else ``low``."""
    return low + bit * (high - low)


class Aligned(Step):
    """The part that loads and stores share."""

    size = ACCESS_BYTES[Op.LD]  # bytes

    def fits(self, r: Executed) -> Any:
        return (r.a >> 32 == 0) & (r.address % self.size == 0)


class LoadDouble(Aligned):
    """ld."""

    cells = (*A32, *D, *M, "imm")

    def rule(self, c: Lane) -> None:
        word = c.m_lo, c.m_hi
        c.memory(base(c), word, word)
        c.write(word)
        c.go(imm=c.imm)


class LoadWord(Aligned):
    """lw, lwu."""

    size = ACCESS_BYTES[Op.LW]

    def __init__(self, signed: bool, lanes: int = 1) -> None:
        self.signed = signed
        self.cells = (*A32, *D, *M, "imm", "upper", "x", *(("x_low", "negative") if signed else ()))  # type: ignore[misc]
        super().__init__(lanes)

    def rule(self, c: Lane) -> None:
        word = c.m_lo, c.m_hi
        c.boolean(c.upper, "which limb is a bit")
        c.memory(base(c) - 4 * c.upper, word, word)
        c.zero(chosen(c.upper, *word) - c.x, "the limb")
        hi: Any = 0
        if self.signed:
            c.sign(c.x_low, c.x, c.negative)
            hi = LIMB_MASK * c.negative
        c.write((c.x, hi))
        c.go(imm=c.imm)

    def witness(self, r: Executed) -> dict[str, Any]:
        cells = {"upper": r.address >> 2 & 1, "x": r.c & LIMB_MASK}
        return cells | ({"x_low": low_half(r.c), "negative": r.c >> 63} if self.signed else {})


HALF_CELLS = ("upper", "upper_half", "x[2]", "y")
BYTE_CELLS = (*HALF_CELLS, "upper_byte", "z[2]", "v")


def half_of(c: Lane, word: Word, checked: bool) -> Any:
    """Return the half at the address, checked to have 16 bits; unless ``checked``, the caller proves that."""
    c.boolean(c.upper, "which limb is a bit")
    c.boolean(c.upper_half, "which half is a bit")
    c.zero(chosen(c.upper, *word) - c.x[0] - HALF * c.x[1], "the limb")
    c.zero(chosen(c.upper_half, *c.x) - c.y, "the half")
    c.half(c.x[0] + c.x[1] - c.y)  # the other one
    if checked:
        c.half(c.y)
    return c.y


def byte_of(c: Lane, word: Word) -> Any:
    """Return the byte at the address, checked to have 8 bits."""
    half = half_of(c, word, checked=False)
    c.boolean(c.upper_byte, "which byte is a bit")
    c.look(Tag.BYTES, *c.z)
    c.zero(c.z[0] + BYTE * c.z[1] - half, "the half in bytes")
    c.zero(chosen(c.upper_byte, *c.z) - c.v, "the byte")
    return c.v


def half_witness(r: Executed) -> dict[str, Any]:
    """Return the cells of ``half_of``."""
    upper, upper_half = r.address >> 2 & 1, r.address >> 1 & 1
    limb = r.old >> 32 * upper & LIMB_MASK
    return {
        "upper": upper,
        "upper_half": upper_half,
        "x": (low_half(limb), limb >> 16),
        "y": low_half(limb >> 16 * upper_half),
    }


def byte_witness(r: Executed) -> dict[str, Any]:
    """Return the cells of ``byte_of``."""
    cells = half_witness(r)
    z = cells["y"] & 255, cells["y"] >> 8
    upper_byte = r.address & 1
    return cells | {"upper_byte": upper_byte, "z": z, "v": cells["y"] >> 8 * upper_byte & 255}


class LoadHalf(Aligned):
    """lh, lhu."""

    size = ACCESS_BYTES[Op.LH]

    def __init__(self, signed: bool, lanes: int = 1) -> None:
        self.signed = signed
        self.cells = (*A32, *D, *M, "imm", *HALF_CELLS, *(("negative",) if signed else ()))  # type: ignore[misc]
        super().__init__(lanes)

    def rule(self, c: Lane) -> None:
        word = c.m_lo, c.m_hi
        c.memory(base(c) - 4 * c.upper - 2 * c.upper_half, word, word)
        y = half_of(c, word, checked=not self.signed)
        write_extended(c, y, HALF, c.negative if self.signed else None)
        c.go(imm=c.imm)

    def witness(self, r: Executed) -> dict[str, Any]:
        return half_witness(r) | ({"negative": r.c >> 63} if self.signed else {})


class LoadByte(Aligned):
    """lb, lbu."""

    size = ACCESS_BYTES[Op.LB]

    def __init__(self, signed: bool, lanes: int = 1) -> None:
        self.signed = signed
        self.cells = (*A32, *D, *M, "imm", *BYTE_CELLS, *(("negative",) if signed else ()))  # type: ignore[misc]
        super().__init__(lanes)

    def rule(self, c: Lane) -> None:
        word = c.m_lo, c.m_hi
        c.memory(base(c) - 4 * c.upper - 2 * c.upper_half - c.upper_byte, word, word)
        v = byte_of(c, word)
        write_extended(c, v, BYTE, c.negative if self.signed else None)
        c.go(imm=c.imm)

    def witness(self, r: Executed) -> dict[str, Any]:
        return byte_witness(r) | ({"negative": r.c >> 63} if self.signed else {})


def write_extended(c: Lane, x: Any, size: int, negative: Any) -> None:
    """Write ``x``, a number below ``size``, to rd, with its sign unless ``negative`` is None."""
    if negative is None:
        c.write((x, 0))
        return
    c.look(Tag.SIGN, x * (HALF // size), negative)
    c.write((x + negative * (LIMB - size), LIMB_MASK * negative))


class StoreDouble(Aligned):
    """sd."""

    cells = (*A32, *B, *M, "imm")

    def rule(self, c: Lane) -> None:
        address = base(c)
        c.memory(address, (c.m_lo, c.m_hi), c.read_b())
        c.go(imm=c.imm)


class StoreWord(Aligned):
    """sw."""

    size = ACCESS_BYTES[Op.SW]
    cells = (*A32, *B, *M, "imm", "upper", "new_lo", "new_hi")

    def rule(self, c: Lane) -> None:
        c.boolean(c.upper, "which limb is a bit")
        address = base(c) - 4 * c.upper
        value, _ = c.read_b()
        c.zero(chosen(c.upper, value, c.m_lo) - c.new_lo, "the lower limb")
        c.zero(chosen(c.upper, c.m_hi, value) - c.new_hi, "the upper limb")
        c.memory(address, (c.m_lo, c.m_hi), (c.new_lo, c.new_hi))
        c.go(imm=c.imm)

    def witness(self, r: Executed) -> dict[str, Any]:
        return {"upper": r.address >> 2 & 1, "new_lo": r.new & LIMB_MASK, "new_hi": r.new >> 32}


class StoreHalf(Aligned):
    """sh: the word grows by the difference of new and old half, times the place value of the half."""

    size = ACCESS_BYTES[Op.SH]
    cells = (*A32, *B, *M, "imm", *HALF_CELLS, "b_low", "growth", "new_lo")

    def rule(self, c: Lane) -> None:
        word = c.m_lo, c.m_hi
        address = base(c) - 4 * c.upper - 2 * c.upper_half
        old = half_of(c, word, checked=True)
        value, _ = c.read_b()
        c.word(c.b_low, value)
        c.zero((c.b_low - old) * (1 + (HALF - 1) * c.upper_half) - c.growth, "what the limb grows by")
        store(c, address, word)

    def witness(self, r: Executed) -> dict[str, Any]:
        cells = half_witness(r)
        b_low = low_half(r.b)
        growth = r.signed(b_low, cells["y"], 16 * cells["upper_half"])
        return cells | {"b_low": b_low, "growth": growth, "new_lo": r.new & LIMB_MASK}


class StoreByte(Aligned):
    """sb, like `StoreHalf`."""

    size = ACCESS_BYTES[Op.SB]
    cells = (*A32, *B, *M, "imm", *BYTE_CELLS, "b_byte", "b_next", "place", "growth", "new_lo")

    def rule(self, c: Lane) -> None:
        word = c.m_lo, c.m_hi
        address = base(c) - 4 * c.upper - 2 * c.upper_half - c.upper_byte
        old = byte_of(c, word)
        value, _ = c.read_b()
        c.look(Tag.BYTES, c.b_byte, c.b_next)
        c.half((value - c.b_byte - BYTE * c.b_next) * PER_HALF)
        place = (1 + (BYTE - 1) * c.upper_byte) * (1 + (HALF - 1) * c.upper_half)
        c.zero(place - c.place - (1 - c.on), "the byte's place in the limb")
        c.zero((c.b_byte - old) * c.place - c.growth, "what the limb grows by")
        store(c, address, word)

    def witness(self, r: Executed) -> dict[str, Any]:
        cells = byte_witness(r)
        shift = 16 * cells["upper_half"] + 8 * cells["upper_byte"]
        growth = r.signed(r.b & 255, cells["v"], shift)
        new = {"b_byte": r.b & 255, "b_next": r.b >> 8 & 255, "growth": growth, "new_lo": r.new & LIMB_MASK}
        return cells | new | {"place": 1 << shift}


def store(c: Lane, address: Any, word: Word) -> None:
    """Increase the limb at the address by ``growth``."""
    c.zero(word[0] + (1 - c.upper) * c.growth - c.new_lo, "the lower limb")
    c.memory(address, word, (c.new_lo, word[0] + word[1] + c.growth - c.new_lo))
    c.go(imm=c.imm)
