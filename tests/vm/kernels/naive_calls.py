"""The rows of host calls by Python's integers, which the kernels must write; and rows that a forger might write.

Numbers that do not follow from a call's operands can be given; then carries, flags and differences are made to fit as
well as possible, and those that do not fit leave their range.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from graphprover.field import P
from graphprover.vm.kernels.calls import columns_of
from graphprover.vm.program.curves import ALL_CURVES
from graphprover.vm.program.host_calls import NUMBER_WORDS, POINT_WORDS, RATE_WORDS
from graphprover.vm.program.io import KECCAK_ABSORB, MODULAR, MODULAR_QUOTIENT
from graphprover.vm.tables.call import CallTable
from graphprover.vm.tables.clock import FAR, SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY, SLOTS
from graphprover.vm.tables.keccak_f import WORDS, rounds
from graphprover.vm.tables.modular import CARRIES, CARRY_CELLS, HALVES, LIMBS, OFFSET
from graphprover.vm.tables.point import SIGN
from tests.vm.calls import BOUND
from tests.vm.calls import Point as Pair

Row = dict[str, Any]  # cells, or lists of them, by name; absent ones are 0
Carries = Callable[[list[int]], list[int]]  # from the limbs of a number that should be 0, before carries


@dataclass(frozen=True)
class Around:
    """The cycle of a call, which its rows hold beside numbers. Times are of the accesses before."""

    clk: int
    pc: int
    pointers: Sequence[int]  # in a0, a1, ...
    register_times: Sequence[int]  # of a0, a1, ...
    a7_time: int
    word_times: Sequence[int]  # in the order of the accesses
    old: Sequence[int]  # words before, in the order of the accesses

    def time(self, before: int, slot: int) -> int:
        """Return the time before an access at a slot, or of a bump right before it."""
        now = SLOTS * self.clk + slot
        return now - 1 if now - before > FAR else before

    def register_time(self, register: int) -> int:
        return self.time(self.register_times[register], SLOT_A if register else SLOT_B)

    def times(self, operand: int, words: int, slot: int) -> list[int]:
        """Return the times of an operand's words."""
        return [self.time(before, slot) for before in self.word_times[words * operand : words * operand + words]]

    def limbs(self, operand: int) -> list[int]:
        """Return an operand of four words before the call."""
        words = self.old[NUMBER_WORDS * operand : NUMBER_WORDS * operand + NUMBER_WORDS]
        return list(chain.from_iterable(limbs(word, 2) for word in words))


def halves(x: int) -> list[int]:
    return [x >> 16 * i & 0xFFFF for i in range(HALVES)]


def limbs(x: int, count: int = LIMBS) -> list[int]:
    return [x >> 32 * i & 0xFFFFFFFF for i in range(count)]


def limbs_of_product(u: Sequence[int], v: Sequence[int]) -> list[int]:
    """Return the limbs, before carries, of the product of two numbers of halves, which may be negative."""
    places = [0] * (2 * HALVES)
    for i, x in enumerate(u):
        for j, y in enumerate(v):
            places[i + j] += x * y
    return [low + (high << 16) for low, high in zip(places[::2], places[1::2], strict=True)]


def exact(totals: list[int]) -> list[int]:
    """Return the carries of limbs, rounded down if the number is not 0."""
    found, carry = [], 0
    for total in totals[:-1]:
        carry = total + carry >> 32
        found.append(carry)
    return found


def in_the_field(totals: list[int]) -> list[int]:
    """Return carries that make all limbs but the highest 0 in the field, out of range if the number is not 0."""
    found, carry = [], 0
    for total in totals[:-1]:
        carry = (total + carry) * pow(1 << 32, -1, P) % P
        found.append(carry - P if carry > P // 2 else carry)
    return found


def pair(value: int) -> tuple[int, int]:
    """Return the lower 16 bits, and the others in one cell."""
    return value & 0xFFFF, value >> 16


def carry_cells(carries: Sequence[int]) -> tuple[list[int], list[int]]:
    low, high = zip(*(pair(carry + OFFSET) for carry in carries), strict=True)
    return list(low), list(high)


def below(x: int, bound: int) -> tuple[list[int], tuple[int, int]]:
    """Return the flags of x < bound, and what x lacks in the flagged limb."""
    of_x, of_bound = limbs(x), limbs(bound)
    top = max((i for i in range(LIMBS) if of_x[i] != of_bound[i]), default=0)
    return [int(i == top) for i in range(LIMBS)], pair(of_bound[top] - of_x[top] - 1)


def matrix(table: type[CallTable], rows: Sequence[Row]) -> np.ndarray:
    """Return rows as a trace."""
    columns, width = columns_of(table), table().describe().main_width
    found = np.zeros((width, len(rows)), dtype=np.uint64)
    for i, row in enumerate(rows):
        for name, value in row.items():
            for j, cell in enumerate(np.ravel(np.array(value, dtype=object))):
                found[columns[name] + j, i] = int(cell) % P
    return found


def modular_rows(
    a: int,
    b: int,
    m: int,
    c: int,
    around: Around,
    *,
    number: int = MODULAR,
    q: int | None = None,
    r: int | None = None,
    full: bool | None = None,
    carries: Carries = exact,
    more: int | None = None,
) -> list[Row]:
    """Return the two rows of a modular operation; ``more``: q and r are of a b + c and 1 more in this limb."""
    value = a * b + c + (0 if more is None else 1 << 32 * more)
    q = value // (m or BOUND) if q is None else q
    r = value % (m or BOUND) if r is None else r
    full = m == 0 if full is None else full
    of_q = limbs(q)
    products = zip(limbs_of_product(halves(a), halves(b)), limbs_of_product(halves(m), halves(q)), strict=True)
    added = [*(x - y for x, y in zip(limbs(c), limbs(r), strict=True)), *(-int(full) * x for x in of_q)]
    totals = [x - y + z + (i == more) for i, ((x, y), z) in enumerate(zip(products, added, strict=True))]
    low, high = carry_cells(carries(totals))
    flags, parts = below(r, m) if not full else ([0] * LIMBS, (0, 0))
    unused = [*parts, *flags]
    rest = CARRIES - CARRY_CELLS
    third = int(number == MODULAR_QUOTIENT)
    r_pointer = around.pointers[0]
    first = {
        "on": 1, "first": 1, "clk": around.clk, "third": 1, "full": int(full),
        "pointer": [around.pointers[i] for i in (1, 2, 4)],
        "register_t": [around.register_time(i) for i in (1, 2, 4)],
        "a7_pc": around.time(around.a7_time, SLOT_A),
        "u": halves(a), "v": halves(b), "s": halves(c),
        "word_t": [
            around.times(operand, NUMBER_WORDS, slot) for operand, slot in ((0, SLOT_A), (1, SLOT_B), (3, SLOT_MEMORY))
        ],
        "old_v": limbs(b), "old_s": limbs(c), "low": low[:CARRY_CELLS], "high": high[:CARRY_CELLS],
    }  # fmt: skip
    q_times, q_before = [0] * NUMBER_WORDS, [0] * LIMBS
    if third:
        q_times, q_before = around.times(5, NUMBER_WORDS, SLOT_D), around.limbs(5)
    second = {
        "on": 1, "clk": around.clk, "third": third,
        "pointer": [around.pointers[3], r_pointer, r_pointer + 8 * NUMBER_WORDS],
        "register_t": [around.register_time(3), around.register_time(0), 0],
        "a7_pc": around.pc,
        "u": halves(m), "v": halves(r), "s": halves(q),
        "word_t": [around.times(2, NUMBER_WORDS, SLOT_MEMORY), around.times(4, NUMBER_WORDS, SLOT_D), q_times],
        "old_v": around.limbs(4), "old_s": q_before,
        "low": [*low[CARRY_CELLS:], *unused[: CARRY_CELLS - rest]],
        "high": [*high[CARRY_CELLS:], *unused[CARRY_CELLS - rest :]],
    }  # fmt: skip
    return [first, second]


def point_rows(
    curve: int,
    first: Pair,
    second: Pair | None,
    around: Around,
    *,
    slope: int | None = None,
    result: Pair | None = None,
    carries: Carries = exact,
    more: tuple[int, int] | None = None,
) -> list[Row]:
    """Return the three rows of a sum of two points, or without the second of a double.

    ``more``: the multiple of p for the slope, x3 or y3 (0 to 2) is reached with 1 more in a limb.
    """
    excess = [1 << 32 * more[1] if more and more[0] == i else 0 for i in range(3)]
    p, a = ALL_CURVES[curve].p, ALL_CURVES[curve].a
    double = second is None
    (x1, y1), (x2, y2) = first, second or first
    if slope is None:
        above, under = (3 * x1 * x1 + a, 2 * y1) if double else (y2 - y1, x2 - x1)
        slope = (above - excess[0]) * pow(under, -1, p) % p
    if result is None:
        x3 = (slope * slope - x1 - x2 + excess[1]) % p
        result = x3, (slope * (x1 - x3) - y1 + excess[2]) % p
    x3, y3 = result
    line, of_x1, of_x3 = halves(slope), halves(x1), halves(x3)
    apart = [x - y for x, y in zip(halves(x2), of_x1, strict=True)]
    back = [x - y for x, y in zip(of_x1, of_x3, strict=True)]
    if double:
        value = 2 * slope * y1 - 3 * x1 * x1 - a
        sums = zip(limbs_of_product(line, halves(y1)), limbs_of_product(of_x1, of_x1), strict=True)
        for_slope = [2 * x - 3 * y - a * (i == 0) for i, (x, y) in enumerate(sums)]
    else:
        value = slope * (x2 - x1) - (y2 - y1)
        for_slope = less(limbs_of_product(line, apart), limbs(y2))
        for_slope = [x + y for x, y in zip(for_slope, [*limbs(y1), *[0] * LIMBS], strict=True)]
    identities = (
        (value, for_slope),
        (slope * slope - x1 - x2 - x3, less(limbs_of_product(line, line), limbs(x1), limbs(x2), limbs(x3))),
        (slope * (x1 - x3) - y1 - y3, less(limbs_of_product(line, back), limbs(y1), limbs(y3))),
    )
    rows: list[Row] = []
    for i, (x, (number, totals)) in enumerate(zip((y1 if double else x2, x1, x3), identities, strict=True)):
        quotient = (number + excess[i]) // p
        low_part, sign = quotient % BOUND, quotient // BOUND
        of_quotient = limbs_of_product(halves(low_part), halves(p))
        above = [0] * LIMBS + [sign * limb for limb in limbs(p)]
        rest = [x - y - z for x, y, z in zip(totals, of_quotient, above, strict=True)]
        if more and more[0] == i:
            rest[more[1]] += 1
        low, high = carry_cells(carries(rest))
        flags, parts = below(x, p)
        rows.append({
            "on": 1, "row": [int(i == j) for j in range(3)], "clk": around.clk, "double": int(double),
            "curve": [int(curve == j) for j in range(3)], "sign": sign + SIGN, "x": halves(x), "q": halves(low_part),
            "low": low, "high": high, "flag": flags, "part": [*parts, 0, 0],
        })  # fmt: skip
    differences = limbs(y1) if double else [x - y for x, y in zip(limbs(x2), limbs(x1), strict=True)]
    found = next((i for i in range(LIMBS) if differences[i]), None)
    rows[0]["w"] = [pow(differences[i], -1, P) if i == found else 0 for i in range(LIMBS)]
    rows[1] |= {
        "accessed": 1, "pointer": around.pointers[0], "register_t": around.register_time(0),
        "a7_pc": around.time(around.a7_time, SLOT_A), "y": line, "z": limbs(y1), "w": limbs(x2),
        "word_t": around.times(0, POINT_WORDS, SLOT_MEMORY),
    }  # fmt: skip
    flags, parts = below(y3, p)
    rows[2] |= {"a7_pc": around.pc, "y": halves(y3), "z": flags, "part": [*rows[2]["part"][:2], *parts]}
    if not double:
        rows[0] |= {
            "accessed": 1, "pointer": around.pointers[1], "register_t": around.register_time(1), "z": limbs(y2),
            "word_t": around.times(1, POINT_WORDS, SLOT_MEMORY),
        }  # fmt: skip
    return rows


def less(totals: list[int], *numbers: list[int]) -> list[int]:
    """Return limbs less the limbs of numbers."""
    return [x - sum(number[i] for number in numbers if i < LIMBS) for i, x in enumerate(totals)]


def absorb_rows(
    around: Around,
    *,
    block: Sequence[int] | None = None,
    state: Sequence[int] | None = None,
    result: Sequence[int] | None = None,
) -> list[Row]:
    """Return the five rows of a call that absorbs a block.

    ``block``: the words that are xored in, up to WORDS of them; by default those before the call. ``state``: the words
    before, by default those before the call; ``result``: the words after.
    """
    block = around.old[:RATE_WORDS] if block is None else block
    state = around.old[RATE_WORDS : RATE_WORDS + WORDS] if state is None else state
    block = [*block, *[0] * (WORDS - len(block))]
    result = permuted_words([x ^ y for x, y in zip(state, block, strict=True)]) if result is None else result
    block_times = [around.time(before, SLOT_B) for before in around.word_times[:RATE_WORDS]]
    block_times += [0] * (WORDS - RATE_WORDS)
    times = [around.time(before, SLOT_MEMORY) for before in around.word_times[RATE_WORDS : RATE_WORDS + WORDS]]
    registers = [KECCAK_ABSORB, around.pointers[1], around.pointers[0], 0, 0]
    t_pc = [around.time(around.a7_time, SLOT_A), around.register_time(1), around.register_time(0), around.pc, 0]
    rows: list[Row] = []
    for y in range(5):
        plane = slice(5 * y, 5 * y + 5)
        rows.append({
            "on": 1, "within": [int(y <= k) for k in range(4)], "clk": around.clk, "state": around.pointers[0],
            "block": around.pointers[1], "register": registers[y], "t_pc": t_pc[y],
            "old": list(map(octets, state[plane])), "added": list(map(octets, block[plane])),
            "both": [octets(one & other) for one, other in zip(state[plane], block[plane], strict=True)],
            "new": [limbs(word, 2) for word in result[plane]], "old_t": times[plane], "added_t": block_times[plane],
        })  # fmt: skip
    return rows


def octets(word: int) -> list[int]:
    return [word >> 8 * i & 0xFF for i in range(8)]


def permuted_words(words: Sequence[int]) -> list[int]:
    """Return Keccak-f[1600] of a state."""
    found: list[int] = rounds(np.array(words, dtype=np.uint64)[:, None])[-1, :, 0].tolist()
    return found
