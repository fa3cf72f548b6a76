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
from graphprover.vm.accelerators.integers.fp2 import Fp2Field
from graphprover.vm.accelerators.integers.modular import MODULAR
from graphprover.vm.accelerators.integers.point import ALL_CURVES, POINT_WORDS
from graphprover.vm.accelerators.integers.size import NUMBER_WORDS, OFFSET, SIGN
from graphprover.vm.accelerators.keccak.absorb import KECCAK_ABSORB, RATE_WORDS
from graphprover.vm.accelerators.keccak.permutation import WORDS, rounds
from graphprover.vm.accelerators.table import CallTable, columns_of
from graphprover.vm.tables.clock import FAR, SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY, SLOTS
from tests.vm.calls import BOUND, MODULAR_CALLS, Pair

LIMBS = 8  # of 256 bits
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

    def limbs(self, operand: int, count: int = NUMBER_WORDS) -> list[int]:
        """Return an operand of some words before the call."""
        words = self.old[count * operand : count * operand + count]
        return list(chain.from_iterable(limbs(word, 2) for word in words))


def halves(x: int, limbs: int = LIMBS) -> list[int]:
    return [x >> 16 * i & 0xFFFF for i in range(2 * limbs)]


def limbs(x: int, count: int = LIMBS) -> list[int]:
    return [x >> 32 * i & 0xFFFFFFFF for i in range(count)]


def limbs_of_product(u: Sequence[int], v: Sequence[int]) -> list[int]:
    """Return the limbs, before carries, of the product of two numbers of halves, which may be negative."""
    places = [0] * (2 * len(u))
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


def below(x: int, bound: int, count: int = LIMBS) -> tuple[list[int], tuple[int, int]]:
    """Return the flags of x < bound, and what x lacks in the flagged limb."""
    of_x, of_bound = limbs(x, count), limbs(bound, count)
    top = max((i for i in range(count) if of_x[i] != of_bound[i]), default=0)
    return [int(i == top) for i in range(count)], pair(of_bound[top] - of_x[top] - 1)


def matrix(table: CallTable, rows: Sequence[Row]) -> np.ndarray:
    """Return rows as a trace."""
    columns, width = columns_of(table), table.describe().main_width
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
    size, third = MODULAR_CALLS[number]
    words, count, bound = size // 8, size // 4, 1 << 8 * size
    value = a * b + c + (0 if more is None else 1 << 32 * more)
    q = value // (m or bound) if q is None else q
    r = value % (m or bound) if r is None else r
    full = m == 0 if full is None else full
    of_a, of_b, of_m, of_q = (halves(x, count) for x in (a, b, m, q))
    of_q[-1] = q >> 16 * (len(of_q) - 1)  # all the rest of a quotient that is too large
    products = zip(limbs_of_product(of_a, of_b), limbs_of_product(of_m, of_q), strict=True)
    added = [x - y for x, y in zip(limbs(c, count), limbs(r, count), strict=True)]
    added += [-int(full) * x for x in limbs(q, count)]
    totals = [x - y + z + (i == more) for i, ((x, y), z) in enumerate(zip(products, added, strict=True))]
    low, high = carry_cells(carries(totals))
    flags, parts = below(r, m, count) if not full else ([0] * count, (0, 0))
    in_row = {4: 10, 6: 16}[words]
    unused = [*parts, *flags, *[0] * (4 * in_row - 2 * len(low) - 2 - count)]
    rest = len(low) - in_row
    r_pointer = around.pointers[0]
    reads = (0, SLOT_A), (1, SLOT_B), (3, SLOT_MEMORY)
    first = {
        "on": 1, "first": 1, "clk": around.clk, "third": 1, "full": int(full),
        "pointer": [around.pointers[i] for i in (1, 2, 4)],
        "register_t": [around.register_time(i) for i in (1, 2, 4)],
        "a7_pc": around.time(around.a7_time, SLOT_A),
        "u": of_a, "v": of_b, "s": halves(c, count),
        "word_t": [around.times(operand, words, slot) for operand, slot in reads],
        "old_v": limbs(b, count), "old_s": limbs(c, count), "low": low[:in_row], "high": high[:in_row],
    }  # fmt: skip
    q_times, q_before = [0] * words, [0] * count
    if third:
        q_times, q_before = around.times(5, words, SLOT_D), around.limbs(5, words)
    second = {
        "on": 1, "clk": around.clk, "third": int(third),
        "pointer": [around.pointers[3], r_pointer, r_pointer + size],
        "register_t": [around.register_time(3), around.register_time(0), 0],
        "a7_pc": around.pc,
        "u": of_m, "v": halves(r, count), "s": of_q,
        "word_t": [around.times(2, words, SLOT_MEMORY), around.times(4, words, SLOT_D), q_times],
        "old_v": around.limbs(4, words), "old_s": q_before,
        "low": [*low[in_row:], *unused[: in_row - rest]],
        "high": [*high[in_row:], *unused[in_row - rest :]],
    }  # fmt: skip
    return [first, second]


def fp2_rows(
    field: Fp2Field,
    a: Pair,
    b: Pair,
    c: Pair,
    around: Around,
    *,
    r: Pair | None = None,
    q: Pair | None = None,
    carries: Carries = exact,
    more: tuple[int, int] | None = None,
) -> list[Row]:
    """Return the two rows of a b + c in Fp2.

    ``q``: signed quotients. ``more``: the multiple of p for the real part (0) or the factor of u (1) is reached with 1
    more in a limb.
    """
    words, count, p = field.words, 2 * field.words, field.p
    excess = [1 << 32 * more[1] if more and more[0] == i else 0 for i in range(2)]
    values = a[0] * b[0] - a[1] * b[1] + c[0] + excess[0], a[0] * b[1] + a[1] * b[0] + c[1] + excess[1]
    r = (values[0] % p, values[1] % p) if r is None else r
    q = ((values[0] - r[0]) // p, (values[1] - r[1]) // p) if q is None else q
    of = {(name, i): halves(x, count) for name, pair in (("a", a), ("b", b)) for i, x in enumerate(pair)}
    sums = (
        ((1, "a", 0, "b", 0), (-1, "a", 1, "b", 1)),
        ((1, "a", 0, "b", 1), (1, "a", 1, "b", 0)),
    )
    rows: list[Row] = []
    for i, (factors, x, quotient) in enumerate(zip(sums, r, q, strict=True)):
        totals = [0] * (2 * count)
        for sign, one, j, other, k in factors:
            totals = [t + sign * y for t, y in zip(totals, limbs_of_product(of[one, j], of[other, k]), strict=True)]
        low_part, above = quotient % (1 << 64 * words), quotient >> 64 * words
        multiple = limbs_of_product(halves(low_part, count), halves(p, count))
        multiple = [y + above * z for y, z in zip(multiple, [*[0] * count, *limbs(p, count)], strict=True)]
        added = [y - z for y, z in zip(limbs(c[i], count), limbs(x, count), strict=True)] + [0] * count
        totals = [t + y - z for t, y, z in zip(totals, added, multiple, strict=True)]
        if more and more[0] == i:
            totals[more[1]] += 1
        low, high = carry_cells(carries(totals))
        flags, parts = below(x, p, count)
        operand, slot = (b, SLOT_B) if i else (a, SLOT_A)
        times = [around.times(place, words, slot) for place in (2 * i, 2 * i + 1)]
        times += [around.times(4 + i, words, SLOT_MEMORY), around.times(6 + i, words, SLOT_D)]
        rows.append({
            "on": 1, "first": 1 - i, "clk": around.clk, "sign": above + SIGN,
            "pointer": [around.pointers[1 + i], around.pointers[3] + 8 * words * i, around.pointers[0] + 8 * words * i],
            "register_t": [around.register_time(1 + i), around.register_time(0 if i else 3)],
            "a7_pc": around.pc if i else around.time(around.a7_time, SLOT_A),
            "x": halves(operand[0], count), "y": halves(operand[1], count), "r": halves(x, count),
            "q": halves(low_part, count), "low": low, "high": high, "flag": flags, "part": list(parts),
            "word_t": times, "c": limbs(c[i], count), "old": around.limbs(6 + i, words),
        })  # fmt: skip
    return rows


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
        checks = below(y2, p), below(y1, p)
        rows[0]["y"] = [flag for flags, _ in checks for flag in flags]
        for row, (_, parts) in zip(rows, checks, strict=False):
            row["part"] = [*row["part"][:2], *parts]
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
