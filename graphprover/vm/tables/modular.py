"""The modular operation on numbers of 256 bits: r = (a b + c) mod m, with m an operand.

A call takes two rows. The first holds a, b and c, the second m, r and the quotient q, each as 16 halves of 16 bits in
the columns ``u``, ``v`` and ``s``. All is stated in the first row, with both in sight:

- a b + c = q m + r over the integers, limb by limb of 32 bits, with a signed carry between neighbours. The sum of a
  limb is below 2^53 and 2^32 times a carry below 2^57, so no equation wraps around p;
- r < m, so r is the only result;
- a modulus 0 stands for 2^256: then ``full`` is 1, q is the upper half of a b + c, and r < m holds by its halves.

The last two columns of carries have 30 cells for 15 carries in two rows; the second row's other cells hold the check of
r < m. The number of the call tells whether q is written behind r (``third`` of the second row).

Operands may overlap, except for m and c, which are read at one slot: a is read first, then b, then m and c; r and q are
written last.
"""

from graphprover.air import TableBuilder
from graphprover.vm.program.host_calls import NUMBER_WORDS
from graphprover.vm.program.io import MODULAR
from graphprover.vm.program.isa import A0, A7
from graphprover.vm.tables.call import CallBuilder, CallTable, check_below, limbs_of, product
from graphprover.vm.tables.clock import SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY
from graphprover.vm.tables.limbs import HALF, LIMB

HALVES = 4 * NUMBER_WORDS  # of a number
LIMBS = 2 * NUMBER_WORDS
CARRIES = HALVES - 1
CARRY_CELLS = 10  # pairs of cells a row: two rows hold CARRIES carries, a difference in two cells and LIMBS flags
OFFSET = 1 << 23  # carries are from -OFFSET to 2^24 - 1 - OFFSET

assert 4 * CARRY_CELLS >= 2 * CARRIES + 2 + LIMBS


class Modular(CallTable):
    """Calls of the modular operation, two rows each."""

    name = "modular"
    cells = (
        "on",
        "first",  # 1 in the first row of a call
        "clk",
        "third",  # the third operand of the row, c or q, is accessed
        "full",  # the modulus is 2^256; of the first row
        "pointer[3]",  # addresses of a, b, c and of m, r, q
        "register_t[3]",  # times before: of a1, a2, a4 and of a3, a0
        "a7_pc",  # the time before of a7; the instruction's address
        f"u[{HALVES}]",  # a, m
        f"v[{HALVES}]",  # b, r
        f"s[{HALVES}]",  # c, q
        f"word_t[3][{NUMBER_WORDS}]",  # times before of the operands' words
        f"old_v[{LIMBS}]",  # the words of b or r before, as limbs
        f"old_s[{LIMBS}]",  # of c or q
        f"low[{CARRY_CELLS}]",  # 16 bits each
        f"high[{CARRY_CELLS}]",  # 8 bits each
    )

    def calls(self, t: CallBuilder) -> None:
        self._rows(t.t)
        self._identity(t.t)
        self._messages(t)

    @staticmethod
    def _rows(t: TableBuilder) -> None:
        first, n = t.first, t.next
        t.boolean(first, "a row is the first or not")
        t.every_row(n.on - n.first - first, "the second row follows the first")
        t.every_row(first * (n.clk - t.clk), "both rows are of one cycle")
        t.boolean(t.third, "the third operand is accessed or not")
        t.every_row(t.third * (1 - t.on), "a row without a call accesses nothing")
        t.every_row(first * (t.third - 1), "c is read")
        second = t.on - first
        t.every_row(second * (t.pointer[2] - t.pointer[1] - 8 * NUMBER_WORDS), "q is behind r")
        for now, old in ((t.v, t.old_v), (t.s, t.old_s)):
            for limb, before in zip(limbs_of(now), old, strict=True):
                t.every_row(first * (before - limb), "b and c stay")

    @staticmethod
    def _identity(t: TableBuilder) -> None:
        first, n = t.first, t.next
        carries = [low + HALF * high - OFFSET for row in (t, n) for low, high in zip(row.low, row.high, strict=True)]
        rest = CARRIES - CARRY_CELLS
        unused = [*n.low[rest:], *n.high[rest:]]
        part_low, part_high, *flags = unused[: 2 + LIMBS]
        c, r, q, m = map(limbs_of, (t.s, n.v, n.s, n.u))
        for i in range(HALVES):
            total = product(t.u, t.v, i) - product(n.u, n.s, i)
            total = total + (c[i] - r[i] if i < LIMBS else -t.full * q[i - LIMBS])
            if i:
                total = total + carries[i - 1]
            if i < CARRIES:
                total = total - LIMB * carries[i]
            t.every_row(first * total, f"limb {i} of a b + c = q m + r")
        t.boolean(t.full, "the modulus is 2^256 or not")
        t.every_row(first * t.full * sum(n.u[1:], n.u[0]), "a modulus that stands for 2^256 is 0")
        check_below(t, first, 1 - t.full, r, m, flags, part_low + HALF * part_high)

    @staticmethod
    def _messages(row: CallBuilder) -> None:
        t, first = row.t, row.t.first
        second = t.on - first
        for cell in (*t.u, *t.v, *t.s, *t.low):
            row.half(cell)
        row.bytes(t.high)

        def slot(of_first: int, of_second: int) -> object:
            return of_second + (of_first - of_second) * first

        u, v, s = map(limbs_of, (t.u, t.v, t.s))
        for i in range(NUMBER_WORDS):
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
        row.register(A7, t.a7_pc, SLOT_A, MODULAR + t.next.third, first)
        row.instruction(t.a7_pc, second)
