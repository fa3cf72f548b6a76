"""The modular operation on numbers of 256 or 384 bits: r = (a b + c) mod m, with m an operand.

A call takes two rows. The first holds a, b and c, the second m, r and the quotient q, each as halves of 16 bits in the
columns ``u``, ``v`` and ``s``. All is stated in the first row, with both in sight:

- a b + c = q m + r over the integers, limb by limb of 32 bits, with a signed carry between neighbours. The sum of a
  limb is below 2^53: of at most 24 products of halves in each of two places, 24 (2^16 - 1)^2 (2^16 + 1) < 2^52.6, less
  as much, and two numbers below 2^32. 2^32 times a carry is at most 2^55. So no equation wraps around p, and all
  carries of a b + c = q m + r, which are below 2^21, are in their range;
- r < m, so r is the only result;
- a modulus 0 stands for 2^256 or 2^384: then ``full`` is 1, q is the upper half of a b + c, and r < m holds by its
  halves.

The columns ``low`` and ``high`` have room in two rows for the carries and for the check of r < m, which is in the
second row's last cells of both; of 384 bits, four cells stay unused. The number of the call tells whether q is written
behind r (``third`` of the second row).

Operands may overlap, except for m and c, which are read at one slot: a is read first, then b, then m and c; r and q are
written last.
"""

from functools import partial

import numpy as np

from graphprover.air import TableBuilder
from graphprover.vm.accelerators.host_call import Accelerator, Cuda, HostCall, Operand
from graphprover.vm.accelerators.integers.identities import (
    Held,
    IntegerLayout,
    Lifted,
    Polynomial,
    limbs,
    named,
    sources,
)
from graphprover.vm.accelerators.integers.size import NUMBER, WIDE, Size, carries_of
from graphprover.vm.accelerators.table import CallBuilder, CallTable, check_below, columns_of, limbs_of, two_rows
from graphprover.vm.program.isa import A0, A7
from graphprover.vm.tables.clock import SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY
from graphprover.vm.tables.limbs import HALF, LIMB

# Integers of 256 bits, at the addresses in a0 (r, q), a1 (a), a2 (b), a3 (m) and a4 (c): r = (a b + c) mod m; a modulus
# 0 stands for 2^256.
MODULAR = 1025  # r
MODULAR_QUOTIENT = 1026  # r, and q behind it: a b + c = q m + r
# The same on integers of 384 bits; a modulus 0 stands for 2^384.
MODULAR_384 = 1036
MODULAR_384_QUOTIENT = 1037


def _host_calls(chip: str, size: Size, number: int, with_quotient: int) -> tuple[HostCall, ...]:
    words = size.words
    a, b = Operand(1, words, SLOT_A), Operand(2, words, SLOT_B)
    m, c = (Operand(pointer, words, SLOT_MEMORY) for pointer in (3, 4))
    return tuple(
        HostCall(called, chip, (a, b, m, c, Operand(0, results * words, SLOT_D)))
        for called, results in ((number, 1), (with_quotient, 2))
    )


HOST_CALLS = {
    NUMBER: _host_calls("modular", NUMBER, MODULAR, MODULAR_QUOTIENT),
    WIDE: _host_calls("modular_384", WIDE, MODULAR_384, MODULAR_384_QUOTIENT),
}


def _identity() -> Polynomial:
    """Return the number that is 0: a b + c less q m + r."""
    a, b, m, c, r, q = named(LAYOUT.names)
    return a * b - m * q + (c - r) + Lifted("full", q)


LAYOUT = IntegerLayout(
    ("a", "b", "m", "c", "r", "q"),
    {"a": (0, "u"), "b": (0, "v"), "c": (0, "s"), "m": (1, "u"), "r": (1, "v"), "q": (1, "s")},
    {"b": (0, "old_v"), "c": (0, "old_s")},
)
IDENTITY = _identity()


def carry_cells(size: Size) -> int:
    """Return how many pairs of cells a row has: two rows hold the carries, a difference in two cells and a flag a limb.

    The number is even, as the bytes of a row are checked in pairs.
    """
    return 2 * -(-(2 * size.carries + 2 + size.limbs) // 8)


class Modular(CallTable):
    """Calls of the modular operation, two rows each."""

    def __init__(self, lanes: int = 1, *, size: Size = NUMBER) -> None:
        super().__init__(lanes)
        self.host_calls, self.size = HOST_CALLS[size], size
        self.name = self.host_calls[0].chip
        carries = carry_cells(size)
        self.cells = (  # type: ignore[misc]
            "on",
            "first",  # 1 in the first row of a call
            "clk",
            "third",  # the third operand of the row, c or q, is accessed
            "full",  # the modulus is 0, for the number above all others; of the first row
            "pointer[3]",  # addresses of a, b, c and of m, r, q
            "register_t[3]",  # times before: of a1, a2, a4 and of a3, a0
            "a7_pc",  # the time before of a7; the instruction's address
            f"u[{size.halves}]",  # a, m
            f"v[{size.halves}]",  # b, r
            f"s[{size.halves}]",  # c, q
            f"word_t[3][{size.words}]",  # times before of the operands' words
            f"old_v[{size.limbs}]",  # the words of b or r before, as limbs
            f"old_s[{size.limbs}]",  # of c or q
            f"low[{carries}]",  # 16 bits each
            f"high[{carries}]",  # 8 bits each
        )

    def calls(self, t: CallBuilder) -> None:
        self._rows(t.t)
        self._identity(t.t)
        self._messages(t)

    def _rows(self, t: TableBuilder) -> None:
        two_rows(t)
        first = t.first
        t.boolean(t.third, "the third operand is accessed or not")
        t.every_row(t.third * (1 - t.on), "a row without a call accesses nothing")
        t.every_row(first * (t.third - 1), "c is read")
        second = t.on - first
        t.every_row(second * (t.pointer[2] - t.pointer[1] - 8 * self.size.words), "q is behind r")
        for now, old in ((t.v, t.old_v), (t.s, t.old_s)):
            for limb, before in zip(limbs_of(now), old, strict=True):
                t.every_row(first * (before - limb), "b and c stay")

    def _identity(self, t: TableBuilder) -> None:
        first, n = t.first, t.next
        carries, count = [*carries_of(t), *carries_of(n)], self.size.limbs
        rest = self.size.carries - len(t.low)
        unused = [*n.low[rest:], *n.high[rest:]]
        part_low, part_high, *flags = unused[: 2 + count]
        limb = limbs(IDENTITY, Held(LAYOUT, t, 0, {"full": t.full}), count)
        for i in range(self.size.halves):
            total = limb(i)
            if i:
                total = total + carries[i - 1]
            if i < self.size.carries:
                total = total - LIMB * carries[i]
            t.every_row(first * total, f"limb {i} of a b + c = q m + r")
        t.boolean(t.full, "the modulus is 0 or not")
        t.every_row(first * t.full * sum(n.u[1:], n.u[0]), "a modulus in place of the number above all others is 0")
        check_below(t, first, 1 - t.full, limbs_of(n.v), limbs_of(n.u), flags, part_low + HALF * part_high)

    def _messages(self, row: CallBuilder) -> None:
        t, first = row.t, row.t.first
        second = t.on - first
        for cell in (*t.u, *t.v, *t.s, *t.low):
            row.half(cell)
        row.bytes(t.high)

        def slot(of_first: int, of_second: int) -> object:
            return of_second + (of_first - of_second) * first

        u, v, s = map(limbs_of, (t.u, t.v, t.s))
        for i in range(self.size.words):
            word = slice(2 * i, 2 * i + 2)
            at = [pointer + 8 * i for pointer in t.pointer]
            before = [times[i] for times in t.word_t]
            row.access(at[0], before[0], slot(SLOT_A, SLOT_MEMORY), u[word], u[word], t.on)
            row.access(at[1], before[1], slot(SLOT_B, SLOT_D), t.old_v[word], v[word], t.on)
            row.access(at[2], before[2], slot(SLOT_MEMORY, SLOT_D), t.old_s[word], s[word], t.third)
        # The first row reads a1, a2, a4 and a7, the second a3 and a0.
        row.register(A0 + 3 - 2 * first, t.register_t[0], SLOT_A, t.pointer[0], t.on)
        row.register(A0 + 2 * first, t.register_t[1], slot(SLOT_A, SLOT_B), t.pointer[1], t.on)
        row.register(A0 + 4, t.register_t[2], SLOT_A, t.pointer[2], first)
        row.register(A7, t.a7_pc, SLOT_A, self.host_calls[0].number + t.next.third, first)
        row.instruction(t.a7_pc, second)


def _accelerator(size: Size) -> Accelerator:
    calls = HOST_CALLS[size]

    def parameters() -> tuple[np.ndarray | int, ...]:
        return np.array(list(columns_of(Modular(size=size)).values()), dtype=np.uint64), calls[1].number

    return Accelerator(
        calls,
        partial(Modular, size=size),
        "integers.modular_cpu",
        rows=2,
        cuda=Cuda("integers/integers.cu", sources("MODULAR", IDENTITY), parameters),
    )


MODULAR_256, MODULAR_WIDE = _accelerator(NUMBER), _accelerator(WIDE)
