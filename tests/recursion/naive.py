"""The trace of `blake3` and its lookups in Python integers, cell by cell, and the calls that hash messages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from graphprover.air.evaluate import evaluate
from graphprover.field import P
from graphprover.recursion.kernels.compressions import Compressions
from graphprover.recursion.tables.blake3 import Blake3, CallUse
from graphprover.recursion.tables.buses import XOR, XOR_4, XOR_7
from graphprover.recursion.tables.fixed import ROWS as PAIRS
from graphprover.recursion.tables.fixed import WIDTH, XORS

IV = [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19]
PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]
START, END, PARENT, ROOT = 1, 2, 4, 8
MASK = 2**32 - 1


@dataclass(frozen=True)
class Call:
    """One call of the compression function."""

    value: Sequence[int]
    block: Sequence[int]
    parameters: Sequence[int]  # counter (low, high), length, flags
    use: CallUse

    @property
    def digest(self) -> list[int]:
        """The chaining value after the block, or the digest."""
        return compressed(self)[1]


IDLE = Call(IV, [0] * 16, [0] * 4, CallUse(0))


def turned(word: int, bits: int) -> int:
    """Rotate to the right."""
    return (word >> bits | word << 32 - bits) & MASK


def compressed(call: Call, rounds: int = 7) -> tuple[list[list[dict[str, list[int]]]], list[int]]:
    """Return the words of each G, by row with a G and lane, in the order of the state's columns; and the digest.

    A lane has the words before and after each half of its G, and the xors before their rotation.
    """
    v = [*call.value, *IV[:4], *call.parameters]
    m = list(call.block)
    rows = []
    for _ in range(rounds):
        for diagonal in range(2):
            row = []
            for i in range(4):
                at = [4 * k + (i + k * diagonal) % 4 for k in range(4)]
                a, b, c, d = (v[k] for k in at)
                found: dict[str, list[int]] = {name: [] for name in ("a", "c", "d", "b")}
                for half in range(2):
                    a = (a + b + m[8 * diagonal + 2 * i + half]) & MASK
                    found["d"].append(d ^ a)
                    d = turned(d ^ a, (16, 8)[half])
                    c = (c + d) & MASK
                    found["b"].append(b ^ c)
                    b = turned(b ^ c, (12, 7)[half])
                    found["a"].append(a)
                    found["c"].append(c)
                v[at[0]], v[at[1]], v[at[2]], v[at[3]] = a, b, c, d
                row.append(found)
            rows.append(row)
        m = [m[k] for k in PERMUTATION]
    rows.append([{"state": [v[i], v[4 + i], v[8 + i], v[12 + i]]} for i in range(4)])
    return rows, [v[i] ^ v[8 + i] for i in range(8)]


def message_calls(data: bytes) -> list[Call]:
    """Return the calls that hash up to 1024 bytes."""
    blocks = [data[i : i + 64] for i in range(0, len(data), 64)] or [b""]
    calls, value = [], IV
    for i, block in enumerate(blocks):
        last = i == len(blocks) - 1
        flags = START * (i == 0) | (END | ROOT) * last
        words = np.frombuffer(block.ljust(64, b"\0"), "<u4").tolist()
        calls.append(
            Call(value, words, [0, 0, len(block), flags], CallUse.PART if last else CallUse.PART | CallUse.CHAIN)
        )
        value = calls[-1].digest
    return calls


def node_call(children: bytes) -> Call:
    """Return the call that hashes two digests."""
    return Call(IV, np.frombuffer(children, "<u4").tolist(), [0, 0, 64, START | END | ROOT], CallUse.NODE)


def words_of(digest: bytes) -> list[int]:
    """Return the words of 32 bits of a digest."""
    return np.frombuffer(digest, "<u4").tolist()


def compressions(calls: Sequence[Call]) -> Compressions:
    """Return calls as kernels take them."""
    arrays = (
        np.array([call.value for call in calls]).reshape(-1, 8),
        np.array([call.block for call in calls]).reshape(-1, 16),
        np.array([call.parameters for call in calls]).reshape(-1, 4),
        np.array([int(call.use) for call in calls]),
    )
    return Compressions(*(np.ascontiguousarray(array, dtype=np.uint32) for array in arrays))


def blake3_trace(calls: Sequence[Call], rows: int) -> np.ndarray:
    """Return the trace of `Blake3`, with idle calls at the end."""
    trace, t = Blake3().zeros(rows)
    for number in range(rows // 16):
        put_call(t, number, 16 * number, calls[number] if number < len(calls) else IDLE)
    return trace


def put_call(t: SimpleNamespace, number: int, first: int, call: Call, rounds: int = 7) -> None:
    """Write the rows of a call from ``first`` on; with fewer rounds, as if it had begun later, or earlier."""
    last = first + 1 + 2 * rounds
    every = slice(first, last + 1)
    t.number[every] = number
    t.position[every] = [at % P for at in range(14 - 2 * rounds, 16)]
    t.odd[every] = [0, 1] * (rounds + 1)
    t.final[last] = 1
    t.node[every] = CallUse.NODE in call.use
    t.part[every] = CallUse.PART in call.use
    t.chain[every] = CallUse.CHAIN in call.use
    lanes, _ = compressed(call, rounds)
    for j in range(4):  # row 0 is like a row of diagonals
        words = call.value[-j % 4], call.value[4 + (1 - j) % 4], IV[(2 - j) % 4], call.parameters[(3 - j) % 4]
        _put_lane(t, first, 1, j, words[0], turned(words[1], 25), words[2], turned(words[3], 24))
    m = [call.block[PERMUTATION.index(k)] for k in range(16)]  # as if there were a round before the first
    t.m[:, first] = _of_diagonals(m)
    m = list(call.block)
    for i in range(rounds):
        t.m[:, first + 1 + 2 * i] = m
        t.m[:, first + 2 + 2 * i] = _of_diagonals(m)
        m = [m[k] for k in PERMUTATION]
    t.m[:, last] = m
    for row, found in enumerate(lanes[:-1], 1):
        for j in range(4):
            lane = found[j if row % 2 else -j % 4]
            for half in range(2):
                _put_lane(t, first + row, half, j, *(lane[name][half] for name in ("a", "b", "c", "d")))
    for j in range(4):
        a, b, c, d = lanes[-1][j]["state"]
        xor = turned(a, 20)
        _put_lane(t, last, 0, j, b, xor, b ^ xor, d ^ b)
        _put_lane(t, last, 1, j, 0, a ^ c, c, turned(d ^ b, 16))


def _of_diagonals(m: Sequence[int]) -> list[int]:
    """Return the words of a row with diagonals, from the words of its round."""
    return [m[8 + 2 * (-j % 4) + half] for j in range(4) for half in range(2)] + list(m[:8])


def _put_lane(t: SimpleNamespace, row: int, half: int, lane: int, a: int, b: int, c: int, d: int) -> None:
    for q in range(4):
        byte = b >> 8 * q & 255
        t.a[half][lane][q][row] = a >> 8 * q & 255
        t.c[half][lane][q][row] = c >> 8 * q & 255
        t.d[half][lane][q][row] = d >> 8 * q & 255
        t.high[half][lane][q][row] = byte >> (4, 7)[half]
        t.low[half][lane][q][row] = byte & (15, 127)[half]


def xor_counts(main: np.ndarray) -> np.ndarray:
    """Return the lookups of xors by a trace of `Blake3`, by its description: columns of `Fixed`."""
    counts = np.zeros((XORS, PAIRS), dtype=np.uint64)
    for bus, x, y in lookups(main):
        np.add.at(counts[bus], (256 * x + y).astype(np.int64) % PAIRS, 1)
    return counts


def fixed_trace(main: np.ndarray) -> np.ndarray:
    """Return the trace of `Fixed` for a trace of `Blake3`, without other lookups."""
    return np.concatenate([xor_counts(main), np.zeros((WIDTH - XORS, PAIRS), dtype=np.uint64)])


def lookups(main: np.ndarray) -> Iterable[tuple[int, np.ndarray, np.ndarray]]:
    """Yield the number of the bus, x and y of the lookups of a trace, a message of the table at a time."""
    description = Blake3().describe()
    numbers = {bus.name: number for number, bus in enumerate((XOR, XOR_4, XOR_7))}
    said = [(numbers[i.bus], i.tuples[0]) for i in description.globals if i.bus in numbers]
    roots = [node for _, found in said for node in (found.multiplicity, *found.fields[:2])]
    for _, values in evaluate(description, main, None, (), roots):
        for k, (number, _) in enumerate(said):
            on, x, y = values[3 * k : 3 * k + 3]
            yield number, x[on == 1], y[on == 1]
