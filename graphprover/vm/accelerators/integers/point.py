"""The sum of two points of a curve y^2 = x^3 + a x + b mod p, or the double of one, in affine coordinates.

A call takes three rows: ``row[0]`` holds the second point (of a double: y1 again, in halves), ``row[1]`` the first
point and the slope of the line through both, ``row[2]`` the result (x3, y3). p and a are constants of the curve, which
``curve`` selects. With integers, limb by limb of 32 bits with a signed carry between neighbours:

- rows 0, 1: slope (x2 - x1) - (y2 - y1) = q p; of a double 2 slope y1 - 3 x1^2 - a = q p;
- rows 1, 2: slope^2 - x1 - x2 - x3 = q p, and slope (x1 - x3) - y1 - y3 = q p.

The quotients q are signed: 256 bits and ``sign`` - SIGN above. The sum of a limb is below 2^55 and 2^32 times a carry
below 2^57, so no equation wraps around p of the field.

All coordinates are below p. So the slope is the only one: x1 and x2 differ in a limb, so x2 - x1 has an inverse mod p;
of a double the same holds of y1 and 0. x3 and y3 are the only result. A point need not be on the curve. A sum has no
proof if x1 = x2, a double if y1 = 0, and neither has one if a coordinate is not below p: the program must treat these
cases.
"""

from typing import NamedTuple

from graphprover.air import Expr, TableBuilder
from graphprover.vm.accelerators.host_call import Accelerator, Cuda, HostCall, Operand
from graphprover.vm.accelerators.integers.identities import (
    Coefficient,
    Either,
    Held,
    IntegerLayout,
    Polynomial,
    limbs,
    named,
    sources,
)
from graphprover.vm.accelerators.integers.size import NUMBER, NUMBER_WORDS, OFFSET, SIGN, multiple
from graphprover.vm.accelerators.table import CallBuilder, CallTable, check_below, limbs_of
from graphprover.vm.program.isa import A0, A7
from graphprover.vm.tables.clock import SLOT_A, SLOT_B, SLOT_MEMORY
from graphprover.vm.tables.limbs import HALF

# The point at a0 becomes its sum with the point at a1, or its double: + 1 for the double, + 2 for each next curve.
POINT = 1028
POINT_WORDS = 2 * NUMBER_WORDS  # of the coordinates x and y


class Curve(NamedTuple):
    """A curve y^2 = x^3 + a x + b over the integers mod a prime p. The formulas of points do not need b."""

    name: str
    p: int
    a: int
    b: int


ALL_CURVES = (
    Curve("secp256k1", 2**256 - 2**32 - 977, 0, 7),
    Curve(
        "P-256",
        2**256 - 2**224 + 2**192 + 2**96 - 1,
        -3,
        0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
    ),
    Curve("bn254", 0x30644E72E131A029B85045B68181585D97816A916871CA8D3C208C16D87CFD47, 0, 3),
)
CURVES = len(ALL_CURVES)
_FIRST, _SECOND = (Operand(pointer, POINT_WORDS, SLOT_MEMORY) for pointer in (0, 1))
HOST_CALLS = tuple(HostCall(POINT + i, "point", (_FIRST,) if i % 2 else (_FIRST, _SECOND)) for i in range(2 * CURVES))
HALVES, LIMBS, CARRIES = NUMBER.halves, NUMBER.limbs, NUMBER.carries
PRIME_LIMBS = [NUMBER.limbs_of(curve.p) for curve in ALL_CURVES]
PRIME_INVERSES = [pow(curve.p, -1, 1 << 32) for curve in ALL_CURVES]  # of the primes, mod 2^32
PRIME_HALVES = [NUMBER.halves_of(curve.p) for curve in ALL_CURVES]


def _identities() -> tuple[Polynomial, ...]:
    """Return the multiples of p: for the slope, x3 and y3.

    Row 0 has x0: x2, or of a double y1. Row 1 has x2 again: of a double x1.
    """
    x0, x1, y1, x2, y2, slope, x3, y3 = named(LAYOUT.names[:-1])
    of_double = 2 * (slope * x0) - 3 * (x1 * x1) - Coefficient("a")
    of_sum = slope * (x0 - x1) - y2 + y1
    return Either("twice", of_double, of_sum), slope * slope - (x1 + x2 + x3), slope * (x1 - x3) - (y1 + y3)


LAYOUT = IntegerLayout(
    ("x0", "x1", "y1", "x2", "y2", "slope", "x3", "y3", "a"),
    {"x0": (0, "x"), "x1": (1, "x"), "x3": (2, "x"), "slope": (1, "y"), "y3": (2, "y")},
    {"y2": (0, "z"), "y1": (1, "z"), "x2": (1, "w")},
)
IDENTITIES = _identities()


class PointTable(CallTable):
    """Calls of sums and doubles of points, three rows each."""

    name, host_calls = "point", HOST_CALLS
    cells = (
        "on",
        "row[3]",
        "clk",
        "double",
        "accessed",  # the row accesses a point: row 0 of a sum, and row 1
        f"curve[{CURVES}]",
        "pointer",  # the address of the row's point
        "register_t",  # the time before of a1 or a0
        "a7_pc",  # in row 1 the time before of a7, in row 2 the instruction's address
        "sign",  # 8 bits
        f"x[{HALVES}]",  # x2 (of a double y1), x1, x3
        f"y[{HALVES}]",  # of a sum flags of y2 < p, then of y1 < p; the slope; y3
        f"q[{HALVES}]",  # the quotient for the slope, for x3, for y3
        f"low[{CARRIES}]",  # of the carries for the slope, for x3, for y3: 16 bits each
        f"high[{CARRIES}]",  # 8 bits each
        f"z[{LIMBS}]",  # y2, y1, flags of y3 < p
        f"w[{LIMBS}]",  # inverses of a difference, x2 (of a double x1), -
        f"flag[{LIMBS}]",  # of x < p
        "part[4]",  # differences for x < p, then for y2, y1 (of a sum), y3 < p, 16 bits each
        f"word_t[{POINT_WORDS}]",  # times before of the point's words
    )

    def calls(self, t: CallBuilder) -> None:
        self._rows(t.t)
        self._slope(t.t)
        self._result(t.t)
        self._messages(t)

    @staticmethod
    def _rows(t: TableBuilder) -> None:
        n = t.next
        t.every_row(sum(t.row[1:], t.row[0]) - t.on, "a row of a call is one of its three")
        for flag in t.row:
            t.boolean(flag, "a row is of a kind or not")
        for flag, following in ((t.row[0], n.row[1]), (t.row[1], n.row[2])):
            t.every_row(following - flag, "rows follow each other")
        ongoing = t.row[0] + t.row[1]
        t.boolean(t.double, "a double or not")
        for flag in t.curve:
            t.boolean(flag, "a curve or not")
        for now, following in ((t.clk, n.clk), (t.double, n.double), *zip(t.curve, n.curve, strict=True)):
            t.every_row(ongoing * (following - now), "the rows of a call are of one cycle, kind and curve")
        t.every_row(sum(t.curve[1:], t.curve[0]) - t.on, "one curve")
        t.every_row(t.accessed - t.row[0] * (1 - t.double) - t.row[1], "rows that access a point")
        prime = limbs_of(_prime(t))
        check_below(t, t.on, t.on, limbs_of(t.x), prime, t.flag, t.part[0] + HALF * t.part[1])
        check_below(t, t.row[2], t.on, limbs_of(t.y), prime, t.z, t.part[2] + HALF * t.part[3])
        # Of a double, row 0 has y1 in x.
        for row, flags in ((t, t.y[:LIMBS]), (n, t.y[LIMBS:])):
            check_below(t, t.row[0], 1 - t.double, row.z, prime, flags, row.part[2] + HALF * row.part[3])

    @staticmethod
    def _slope(t: TableBuilder) -> None:
        first, n, sums = t.row[0], t.next, 1 - t.double
        x2, x1, y1 = limbs_of(t.x), limbs_of(n.x), n.z
        a = sum((curve.a * flag for curve, flag in zip(ALL_CURVES, t.curve, strict=True)), 0 * t.on)
        held = Held(LAYOUT, t, 0, {"twice": t.double, "a": a})
        multiple(t, first, limbs(IDENTITIES[0], held, LIMBS), t, _prime(t), "the slope")
        for i in range(LIMBS):
            t.every_row(first * t.double * (x2[i] - y1[i]), "of a double, row 0 has y1")
            t.every_row(first * (n.w[i] - x2[i] - t.double * (x1[i] - x2[i])), "row 1 has x2, of a double x1")
        differences = [sums * (x2[i] - x1[i]) + t.double * y1[i] for i in range(LIMBS)]
        found = sum((w * apart for w, apart in zip(t.w, differences, strict=True)), 0 * t.on)
        t.every_row(first * (found - 1), "x1 and x2 differ in a limb; of a double y1 is not 0")

    @staticmethod
    def _result(t: TableBuilder) -> None:
        held, prime = Held(LAYOUT, t, 1), _prime(t)
        for identity, row, label in zip(IDENTITIES[1:], (t, t.next), ("x3", "y3"), strict=True):
            multiple(t, t.row[1], limbs(identity, held, LIMBS), row, prime, label)

    @staticmethod
    def _messages(row: CallBuilder) -> None:
        t = row.t
        middle, last = t.row[1:]
        for cell in (*t.x, *t.y, *t.q, *t.low, *t.part):
            row.half(cell)
        row.bytes([*t.high, t.sign])
        old = [*limbs_of(t.x), *t.z]
        # The second point stays; the first one becomes the result, which is in the next row.
        new = [*limbs_of(t.next.x), *limbs_of(t.next.y)]
        for i in range(POINT_WORDS):
            word = slice(2 * i, 2 * i + 2)
            kept = [middle * after + (1 - middle) * before for before, after in zip(old[word], new[word], strict=True)]
            row.access(t.pointer + 8 * i, t.word_t[i], SLOT_MEMORY, old[word], kept, t.accessed)
        slot = SLOT_A + (SLOT_B - SLOT_A) * middle
        row.register(A0 + 1 - middle, t.register_t, slot, t.pointer, t.accessed)
        number = sum((2 * k * flag for k, flag in enumerate(t.curve)), POINT + t.double)
        row.register(A7, t.a7_pc, SLOT_A, number, middle)
        row.instruction(t.a7_pc, last)


def _prime(t: TableBuilder) -> list[Expr]:
    """Return the halves of the curve's prime."""
    return [
        sum((halves[i] * flag for halves, flag in zip(PRIME_HALVES, t.curve, strict=True)), 0 * t.on)
        for i in range(HALVES)
    ]


POINTS = Accelerator(
    HOST_CALLS,
    PointTable,
    "integers.point_cpu",
    rows=3,
    cuda=Cuda(
        "integers/integers.cu",
        {
            "POINT": POINT,
            "CURVES": CURVES,
            "LIMBS": LIMBS,
            "NUMBER_WORDS": NUMBER_WORDS,
            "POINT_WORDS": POINT_WORDS,
            "OFFSET": OFFSET,
            "SIGN": SIGN,
            "LIST_PRIMES": PRIME_LIMBS,
            "LIST_INVERSES": PRIME_INVERSES,
            "LIST_COEFFICIENTS": [curve.a for curve in ALL_CURVES],
            **sources("POINT", *IDENTITIES),
        },
    ),
)
