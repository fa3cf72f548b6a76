"""The rows of a compression of SHA-256 by Python's integers, and rows that a forger might write."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphprover.field import P
from graphprover.vm.accelerators.sha256.table import SHA256
from graphprover.vm.tables.clock import SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY, SLOTS
from tests.vm.kernels.naive_calls import Around, Row
from tests.vm.sha256 import CONSTANTS, MASK, rotated, words_of

ROWS, STEPS = 36, 6


@dataclass(frozen=True)
class Compression:
    """The sequences of a compression, by row and place in it: a and e from the state before on, w with zeros around."""

    a: list[int]  # 72
    e: list[int]  # 72
    w: list[int]  # 72
    h: list[int]  # the state before
    constants: Sequence[int] = CONSTANTS

    def changed(self, family: str, at: int, value: int) -> "Compression":
        """Return another word in a sequence."""
        words = list(getattr(self, family))
        words[at] = value
        return replace(self, **{family: words})


def big(x: int, by: tuple[int, int, int]) -> int:
    return rotated(x, by[0]) ^ rotated(x, by[1]) ^ rotated(x, by[2])


def small(x: int, by: tuple[int, int, int]) -> int:
    return rotated(x, by[0]) ^ rotated(x, by[1]) ^ x >> by[2]


def choice(x: int, y: int, z: int) -> int:
    return x & y | ~x & z & MASK


def majority(x: int, y: int, z: int) -> int:
    return x & y | x & z | y & z


def t1_of(e: Sequence[int], at: int) -> int:
    """Return the sum of the functions of e that give word ``at``."""
    return big(e[at - 1], (6, 11, 25)) + choice(e[at - 1], e[at - 2], e[at - 3])


def t2_of(a: Sequence[int], at: int) -> int:
    return big(a[at - 1], (2, 13, 22)) + majority(a[at - 1], a[at - 2], a[at - 3])


def compression(
    state: Sequence[int], words: Sequence[int], constants: Sequence[int] = CONSTANTS, last: int = 64
) -> Compression:
    """Return a compression with these 64 message words; the rounds from ``last`` on change nothing."""
    a, e, w = list(state[3::-1]), list(state[7:3:-1]), [0] * 4 + list(words) + [0] * 4
    for at in range(4, 68):
        t1 = t1_of(e, at) + e[at - 4] + constants[at - 4] + w[at]
        skipped = at - 4 >= last
        e.append(e[at - 4] if skipped else a[at - 4] + t1 & MASK)
        a.append(a[at - 4] if skipped else t1 + t2_of(a, at) & MASK)
    a += [x + y & MASK for x, y in zip(a[64:], state[3::-1], strict=True)]
    e += [x + y & MASK for x, y in zip(e[64:], state[7:3:-1], strict=True)]
    return Compression(a, e, w, list(state), constants)


def bits(x: int) -> list[int]:
    return [x >> z & 1 for z in range(32)]


def carry(total: int, word: int) -> int:
    """Return the carry that makes an equation hold, out of range for another word than the sum's."""
    return (total - word) * pow(1 << 32, -1, P) % P


def sha256_rows(state: Sequence[int], block: bytes, around: Around) -> list[Row]:
    """Return the 36 rows of a compression."""
    return rows_of(compression(state, words_of(block)), around)


def rows_of(c: Compression, around: Around) -> list[Row]:
    """Return the 36 rows of these sequences, with all else as it follows from them."""
    a, e, w = c.a, c.e, c.w
    rows: list[Row] = []
    y = [[0, 0] for _ in range(7)]
    for r in range(ROWS):
        row: Row = {
            "on": 1, "step": [int(r % STEPS == i) for i in range(5)], "turn": [int(r // STEPS == i) for i in range(5)],
            "clk": around.clk, "pointer": around.pointers[1] if r < 13 else SHA256 if r == 13 else around.pointers[0],
            "a": [bits(x) for x in a[2 * r : 2 * r + 2]], "e": [bits(x) for x in e[2 * r : 2 * r + 2]],
            "w": [bits(x) for x in w[2 * r : 2 * r + 2]],
        }  # fmt: skip
        if r:
            at = 2 * r
            made = [[w[at + j - 2] + small(w[at + j - 1], (7, 18, 3)) for j in range(2)], *y[:-1]]
            third = [[w[at - 1 + j] * (m == 4) for j in range(2)] for m in range(7)]
            before, y = y, [[p + q for p, q in zip(*pairs, strict=True)] for pairs in zip(made, third, strict=True)]
            row |= {
                "before_a": a[at - 2 : at], "before_e": e[at - 2 : at], "y": y, "h": c.h,
                "t1": t1_of(e, at + 2), "t2": t2_of(a, at + 2),
            }  # fmt: skip
            carries: list[list[int]] = [[], [], []]
            for j in range(2):
                x, z = a[at + j], e[at + j]
                if 2 <= r < 34:
                    t1 = t1_of(e, at + j) + e[at + j - 4] + c.constants[at + j - 4] + w[at + j]
                    of_e = carry(t1 + a[at + j - 4], z)
                    sums = z + (of_e << 32) - a[at + j - 4] + t2_of(a, at + j)
                    carries[0].append(carry(sums, x))
                    carries[1].append(of_e)
                elif r >= 34:
                    halves = c.h[3::-1], c.h[7:3:-1]
                    carries[0].append(carry(a[at + j - 4] + halves[0][at + j - 68], x))
                    carries[1].append(carry(e[at + j - 4] + halves[1][at + j - 68], z))
                if 10 <= r < 34:
                    carries[2].append(carry(small(w[at + j - 2], (17, 19, 10)) + before[6][j], w[at + j]))
            row |= {f"carry_{name}": found for name, found in zip("aew", carries, strict=True) if found}
        rows.append(row)
    rows[35]["h"] = [c.h[i ^ 2] for i in range(8)]
    times = [around.time(before, SLOT_MEMORY) for before in around.word_times[:8]]
    times += [around.time(before, SLOT_D) for before in around.word_times[8:12]]
    rows[0]["t1"] = around.pc
    for r, row in enumerate(rows):
        slot = (SLOT_MEMORY, SLOT_MEMORY, SLOT_A, SLOT_B, SLOT_A, SLOT_D)[r // STEPS]
        row |= {"time": SLOTS * around.clk + slot - 1, "time_e": SLOTS * around.clk + SLOT_D - 1}
    for i in range(8):
        rows[2 + i]["time"] = times[i]
    rows[12]["time"] = around.time(around.register_times[1], SLOT_A)
    rows[13]["time"] = around.time(around.a7_time, SLOT_A)
    rows[18]["time"] = around.time(around.register_times[0], SLOT_B)
    rows[34] |= {"time": times[9], "time_e": times[11]}
    rows[35] |= {"time": times[8], "time_e": times[10]}
    return rows
