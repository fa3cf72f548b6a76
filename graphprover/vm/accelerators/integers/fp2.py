"""a b + c in Fp2 = Fp[u] / (u^2 + 1), for a constant prime p of up to 256 or 384 bits.

A call takes two rows. The first holds a, the second b: the real part as halves of 16 bits in ``x``, the factor of u in
``y``. The first row also holds the real part of c and of the result r, the second one their factors of u. With
integers, limb by limb of 32 bits with a signed carry between neighbours, the first row states with both in sight:

- a0 b0 - a1 b1 + c0 - r0 = q0 p, with carries of the first row;
- a0 b1 + a1 b0 + c1 - r1 = q1 p, with carries of the second row.

The coordinates of a, b and c are any numbers of 256 or 384 bits, below p or not. Both rows state r < p, so r is the
only result.

The quotients q are signed: with B = 2^256 or 2^384, the halves of ``q`` and B times ``sign`` - SIGN, so from -16 B to
240 B. They fit for all operands, because B is below 5.3 p for bn254 and below 9.85 p for BLS12-381: q0 is above
-B^2 / p - 1 > -9.9 B, and q1 is below (2 B^2 + B) / p < 19.8 B.

No equation wraps around the field's prime. A product adds to a limb at most 24 products of halves in each of two
places: 24 (2^16 - 1)^2 (2^16 + 1) < 2^52.6. Of the three products in an identity at most two have the same sign;
``sign`` times a limb of p is below 2^40, and c and r are below 2^32. So the sum of a limb is below 2^53.7, and 2^32
times a carry is at most 2^55. A carry of the identities is the sum of a limb and the carry before, over 2^32: below
2^21.7 < OFFSET for all operands, so it is in its range.

Operands may overlap: a is read first, then b, then c; r is written last.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from graphprover.air import TableBuilder
from graphprover.vm.accelerators.host_call import Accelerator, Cuda, HostCall, Operand
from graphprover.vm.accelerators.integers.identities import Held, IntegerLayout, Polynomial, limbs, named, sources
from graphprover.vm.accelerators.integers.point import ALL_CURVES
from graphprover.vm.accelerators.integers.size import Size, multiple
from graphprover.vm.accelerators.table import CallBuilder, CallTable, check_below, columns_of, limbs_of, two_rows
from graphprover.vm.program.isa import A0, A7
from graphprover.vm.tables.clock import SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY
from graphprover.vm.tables.limbs import HALF, WORD_MASK

# r = a b + c, at the addresses in a0 (r), a1 (a), a2 (b) and a3 (c); p is the prime of a curve's coordinates.
FP2_BN254 = 1038
FP2_BLS12_381 = 1039


class Fp2Field(NamedTuple):
    """A field Fp2 = Fp[u] / (u^2 + 1).

    An element is two integers, its real part and then its factor of u. Those of a result are below p.
    """

    name: str  # of the chip
    number: int  # of the host call
    p: int
    words: int  # of an integer below p

    @property
    def host_call(self) -> HostCall:
        """Return the host call."""
        slots = (1, SLOT_A), (2, SLOT_B), (3, SLOT_MEMORY), (0, SLOT_D)
        return HostCall(self.number, self.name, tuple(Operand(at, 2 * self.words, slot) for at, slot in slots))


BN254 = Fp2Field("fp2_bn254", FP2_BN254, {curve.name: curve.p for curve in ALL_CURVES}["bn254"], 4)
BLS12_381 = Fp2Field(
    "fp2_bls12_381",
    FP2_BLS12_381,
    0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB,
    6,
)
ALL_FIELDS = (BN254, BLS12_381)


def _identities() -> tuple[Polynomial, Polynomial]:
    """Return the multiples of p: of the real part, and of the factor of u."""
    a0, a1, b0, b1, c0, c1, r0, r1 = named(LAYOUT.names)
    return a0 * b0 - a1 * b1 + (c0 - r0), a0 * b1 + a1 * b0 + (c1 - r1)


LAYOUT = IntegerLayout(
    ("a0", "a1", "b0", "b1", "c0", "c1", "r0", "r1"),
    {"a0": (0, "x"), "a1": (0, "y"), "b0": (1, "x"), "b1": (1, "y"), "r0": (0, "r"), "r1": (1, "r")},
    {"c0": (0, "c"), "c1": (1, "c")},
)
IDENTITIES = _identities()


class Fp2(CallTable):
    """Calls of a b + c in Fp2, two rows each."""

    def __init__(self, lanes: int = 1, *, field: Fp2Field = BN254) -> None:
        super().__init__(lanes)
        self.name, self.field, self.size = field.name, field, Size(field.words)
        self.host_calls = (field.host_call,)
        self.prime = self.size.halves_of(field.p)
        halves, count = self.size.halves, self.size.limbs
        self.cells = (  # type: ignore[misc]
            "on",
            "first",  # 1 in the first row of a call
            "clk",
            "pointer[3]",  # addresses of a or b, and of the row's part of c and of r
            "register_t[2]",  # times before: of a1 and a3, of a2 and a0
            "a7_pc",  # the time before of a7; the instruction's address
            "sign",  # 8 bits
            f"x[{halves}]",  # a0, b0
            f"y[{halves}]",  # a1, b1
            f"r[{halves}]",
            f"q[{halves}]",  # the quotient for r0, for r1
            f"low[{self.size.carries}]",  # of the carries for r0, for r1: 16 bits each
            f"high[{self.size.carries}]",  # 8 bits each
            f"flag[{count}]",  # of r < p
            "part[2]",  # the difference for r < p, 16 bits each
            f"word_t[4][{field.words}]",  # times before of words: of x, y, c and r
            f"c[{count}]",
            f"old[{count}]",  # the words of r before, as limbs
        )

    def calls(self, t: CallBuilder) -> None:
        self._rows(t.t)
        self._identities(t.t)
        self._messages(t)

    def _rows(self, t: TableBuilder) -> None:
        two_rows(t)
        first, n = t.first, t.next
        for part, of in enumerate(("c", "r"), start=1):
            behind = n.pointer[part] - t.pointer[part] - 8 * self.field.words
            t.every_row(first * behind, f"the factor of u is behind the real part of {of}")

    def _identities(self, t: TableBuilder) -> None:
        held = Held(LAYOUT, t, 0)
        for identity, row, label in zip(IDENTITIES, (t, t.next), ("the real part", "the factor"), strict=True):
            multiple(t, t.first, limbs(identity, held, self.size.limbs), row, self.prime, label)
        check_below(
            t, t.on, t.on, limbs_of(t.r), self.size.limbs_of(self.field.p), t.flag, t.part[0] + HALF * t.part[1]
        )

    def _messages(self, row: CallBuilder) -> None:
        t, first, words = row.t, row.t.first, self.field.words
        second = t.on - first
        for cell in (*t.x, *t.y, *t.r, *t.q, *t.low, *t.part):
            row.half(cell)
        row.bytes([*t.high, t.sign])
        slot = SLOT_B + (SLOT_A - SLOT_B) * first
        x, y, r = map(limbs_of, (t.x, t.y, t.r))
        for i in range(words):
            word = slice(2 * i, 2 * i + 2)
            at = [pointer + 8 * i for pointer in t.pointer]
            of_x, of_y, of_c, of_r = (times[i] for times in t.word_t)
            row.access(at[0], of_x, slot, x[word], x[word], t.on)
            row.access(at[0] + 8 * words, of_y, slot, y[word], y[word], t.on)
            row.access(at[1], of_c, SLOT_MEMORY, t.c[word], t.c[word], t.on)
            row.access(at[2], of_r, SLOT_D, t.old[word], r[word], t.on)
        # The first row reads a1, a3 and a7, the second a2 and a0.
        row.register(A0 + 2 - first, t.register_t[0], SLOT_A, t.pointer[0], t.on)
        row.exchange_register(A0 + 3, t.register_t[1], SLOT_A, t.pointer[1], first)
        row.exchange_register(A0, t.register_t[1], SLOT_B, t.pointer[2] - 8 * words, second)
        row.recent(t.register_t[1], slot, t.on)
        row.register(A7, t.a7_pc, SLOT_A, self.field.number, first)
        row.instruction(t.a7_pc, second)


def _accelerator(field: Fp2Field) -> Accelerator:
    def parameters() -> tuple[np.ndarray | int, ...]:
        words = [field.p >> 64 * i & WORD_MASK for i in range(field.words)]
        prime = np.array([*words, pow(field.p, -1, 1 << 32)], dtype=np.uint64)
        return np.array(list(columns_of(Fp2(field=field)).values()), dtype=np.uint64), prime

    return Accelerator(
        (field.host_call,),
        partial(Fp2, field=field),
        "integers.fp2_cpu",
        rows=2,
        cuda=Cuda("integers/integers.cu", sources("FP2", *IDENTITIES), parameters),
    )


FP2 = tuple(map(_accelerator, ALL_FIELDS))
