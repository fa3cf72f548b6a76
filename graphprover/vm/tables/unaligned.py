"""Loads and stores at any address, by bytes (Zicclsm), also across the boundary of two words."""

from typing import Any

from graphprover.vm.tables.buses import Tag
from graphprover.vm.tables.clock import SLOT_MEMORY
from graphprover.vm.tables.limbs import HALF, LIMB, LIMB_MASK
from graphprover.vm.tables.load_store import base
from graphprover.vm.tables.logic import byte_list, from_bytes
from graphprover.vm.tables.step import A32, D, Executed, Lane, Step


class Unaligned(Step):
    """The part that both share: the bytes of one word or two, and the position of the first byte among them."""

    def __init__(self, size: int, crossing: bool, cells: tuple[str, ...], lanes: int = 1) -> None:
        self.size = size
        self.words = 2 if crossing else 1
        self.starts = range(9 - size, 8) if crossing else range(9 - size)  # starts of an access in the word
        m = ("m_t", "m2_t") if crossing else ("m_t",)
        shared = (*A32, *m, f"m[{8 * self.words}]", f"at[{len(self.starts)}]", "imm")
        self.cells = (*shared, *cells)  # type: ignore[misc]
        super().__init__(lanes)

    def place(self, c: Lane) -> Any:
        """Check that one of the bits ``at`` is 1 and all bytes are bytes; return the address of the (first) word."""
        for bit in c.at if len(self.starts) > 1 else ():
            c.boolean(bit, "where the access starts")
        c.zero(sum(c.at) - c.on, "it starts in one place")
        for i in range(0, len(c.m), 2):
            c.look(Tag.BYTES, c.m[i], c.m[i + 1])
        return base(c) - sum(start * bit for start, bit in zip(self.starts, c.at, strict=True))

    def access(self, c: Lane, address: Any, new: list[Any]) -> None:
        """Change the words' bytes to ``new``."""
        for word in range(self.words):
            old, then = (
                (from_bytes(content[8 * word : 8 * word + 4]), from_bytes(content[8 * word + 4 : 8 * word + 8]))
                for content in (c.m, new)
            )
            before = c.m2_t if word else c.m_t
            c.access(address + 8 * word, before, SLOT_MEMORY, old, then)

    def fits(self, r: Executed) -> Any:
        crosses = (r.address & 7) + self.size > 8
        return (r.a >> 32 == 0) & (crosses == (self.words == 2))

    def place_witness(self, r: Executed) -> dict[str, Any]:
        """Return the cells of ``place``."""
        m = byte_list(r.old, 8) + (byte_list(r.old2, 8) if self.words == 2 else ())
        return {"m": m, "at": [(r.address & 7) == start for start in self.starts]}


class UnalignedLoad(Unaligned):
    """A load of ``size`` bytes."""

    def __init__(self, size: int, signed: bool, crossing: bool, lanes: int = 1) -> None:
        self.signed = signed
        super().__init__(size, crossing, (*D, f"v[{size}]", *(("negative",) if signed else ())), lanes)

    def rule(self, c: Lane) -> None:
        address = self.place(c)
        self.access(c, address, c.m)
        for i, byte in enumerate(c.v):
            found = sum(bit * c.m[start + i] for start, bit in zip(self.starts, c.at, strict=True))
            c.zero(found - byte, f"byte {i} of the value")
        lo, hi = from_bytes(c.v[:4]), from_bytes(c.v[4:])
        if self.signed:
            c.look(Tag.SIGN, c.v[-1] * 256, c.negative)
            lo = lo + c.negative * (LIMB - 256 ** min(self.size, 4))
            hi = c.negative * LIMB_MASK
        c.write((lo, hi))
        c.go(imm=c.imm)

    def witness(self, r: Executed) -> dict[str, Any]:
        cells = self.place_witness(r) | {"v": byte_list(r.c, self.size)}
        return cells | ({"negative": r.c >> 63} if self.signed else {})


class UnalignedStore(Unaligned):
    """A store of ``size`` bytes."""

    def __init__(self, size: int, crossing: bool, lanes: int = 1) -> None:
        rest = {2: ("b_hi",), 4: ("b_hi",), 8: ()}[size]
        words = f"new[{16 if crossing else 8}]"
        super().__init__(
            size, crossing, ("b_at", "b_t", *rest, f"v[{size}]", words, *(("b_top",) if size == 2 else ())), lanes
        )

    def rule(self, c: Lane) -> None:
        address = self.place(c)
        for i in range(0, self.size, 2):
            c.look(Tag.BYTES, c.v[i], c.v[i + 1])
        lo = from_bytes(c.v[:4])
        if self.size == 2:
            c.half(c.b_top)
            lo = lo + HALF * c.b_top
        c.read_b((lo, from_bytes(c.v[4:]) if self.size == 8 else c.b_hi))
        for i, byte in enumerate(c.new):
            grown = c.m[i]
            for start, bit in zip(self.starts, c.at, strict=True):
                if start <= i < start + self.size:
                    grown = grown + bit * (c.v[i - start] - c.m[i])
            c.zero(grown - byte, f"byte {i} after the store")
        self.access(c, address, c.new)
        c.go(imm=c.imm)

    def witness(self, r: Executed) -> dict[str, Any]:
        cells = self.place_witness(r) | {"v": byte_list(r.b, self.size)}
        cells["new"] = byte_list(r.new, 8) + (byte_list(r.new2, 8) if self.words == 2 else ())
        return cells | ({"b_top": (r.b & LIMB_MASK) >> 16} if self.size == 2 else {})
