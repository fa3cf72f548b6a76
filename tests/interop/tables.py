"""Small tables with valid traces, one for each feature that the interoperability tests check separately."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from graphprover.air import Air, Bus, provided, sent
from graphprover.field import P, array_mul
from graphprover.protocol.parameters import BLAKE3, KECCAK, Parameters
from graphprover.statement.statement import Table

PLAIN = Parameters(
    hash=KECCAK,
    log_blowup=1,
    num_queries=4,
    log_final_poly_len=0,
    max_log_arity=1,
    cap_height=0,
    lookup_pow_bits=0,
    ood_pow_bits=0,
    batch_pow_bits=0,
    commit_pow_bits=0,
    query_pow_bits=0,
)
GRINDING = replace(PLAIN, lookup_pow_bits=4, ood_pow_bits=5, batch_pow_bits=6, commit_pow_bits=7, query_pow_bits=8)

COLUMNS = 300  # of `Wide`: a row has three chunks of BLAKE3

BYTES = Bus("bytes")
SQUARES = Bus("squares")
CROWD = Bus("crowd")


class Fibonacci(Air):
    """Each row holds two neighbouring numbers."""

    columns = ("left", "right")
    public_values = ("first", "second", "result")

    def define(self, t: Any) -> None:
        t.first_row(t.left - t.public.first)
        t.first_row(t.right - t.public.second)
        t.transition(t.next.left - t.right)
        t.transition(t.next.right - t.left - t.right)
        t.last_row(t.right - t.public.result)


class Squares(Air):
    """Provides ``(x, x * x)`` with the number of lookups as count."""

    columns = ("x", "count")

    def define(self, t: Any) -> None:
        t.provide(SQUARES, (t.x, t.x * t.x), t.count)


class Asker(Air):
    """Looks up one square in each row with ``active`` set."""

    columns = ("x", "square", "active")

    def define(self, t: Any) -> None:
        t.boolean(t.active)
        t.lookup(SQUARES, (t.x, t.square), t.active, weight=1)


class Bytes(Air):
    """The bytes, as a preprocessed table to look up."""

    columns = ("count",)
    preprocessed = ("byte",)

    def define(self, t: Any) -> None:
        t.provide(BYTES, (t.byte,), t.count)

    def preprocessed_trace(self) -> np.ndarray:
        return np.arange(256, dtype=np.uint64)[None]


class Limbs(Air):
    """Sums of bytes."""

    columns = ("limb[4]", "word")

    def define(self, t: Any) -> None:
        t.every_row(sum(t.limb[i] * 256**i for i in range(4)) - t.word)
        for limb in t.limb:
            t.lookup(BYTES, (limb,))


class Shuffle(Air):
    """``b`` is ``a`` in another order."""

    columns = ("a", "b")

    def define(self, t: Any) -> None:
        t.local_lookup(sent((t.a,)), provided((t.b,), 1))


class Power(Air):
    """Fifth powers, so that the quotient has more chunks than a low-degree extension at rate 1/2 has cosets."""

    columns = ("x",)

    def define(self, t: Any) -> None:
        t.transition(t.next.x - t.x**5 - 3)


class Crowd(Air):
    """Messages to itself: the lower the rate, the more of them share a fraction column."""

    columns = ("x",)

    def define(self, t: Any) -> None:
        for i in range(32):
            t.send(CROWD, (t.x + i,))
            t.receive(CROWD, (t.x + i,))


class Wide(Air):
    """Each column is the square of the one before it."""

    columns = (f"x[{COLUMNS}]",)

    def define(self, t: Any) -> None:
        for root, square in pairwise(t.x):
            t.every_row(square - root * root)


class Counter(Air):
    """A preprocessed column whose next row is read."""

    columns = ("sum",)
    preprocessed = ("step",)

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def define(self, t: Any) -> None:
        t.first_row(t.sum)
        t.transition(t.next.sum - t.sum - t.next.step)

    def preprocessed_trace(self) -> np.ndarray:
        return np.arange(self.rows, dtype=np.uint64)[None] ** np.uint64(2)


def fibonacci(rows: int) -> Table:
    left, right = [1], [2]
    for _ in range(rows - 1):
        left, right = [*left, right[-1]], [*right, (left[-1] + right[-1]) % P]
    return Table(Fibonacci(), (1, 2, right[-1]), np.array([left, right], dtype=np.uint64))


def squares(rows: int, asked: int) -> tuple[Table, Table]:
    """Return a table of ``rows`` squares, and a table of ``asked`` lookups in it, every third inactive."""
    x = np.arange(asked, dtype=np.uint64) * np.uint64(5) % np.uint64(rows)
    active = (np.arange(asked) % 3 != 0).astype(np.uint64)
    count = np.bincount(x.astype(np.int64), weights=active, minlength=rows).astype(np.uint64)
    table = Table(Squares(), (), np.array([np.arange(rows), count], dtype=np.uint64))
    return table, Table(Asker(), (), np.array([x, x * x, active], dtype=np.uint64))


def limbs(rows: int) -> tuple[Table, Table]:
    """Return the table of bytes, and a table of ``rows`` words decomposed into bytes."""
    word = np.arange(rows, dtype=np.uint64) * np.uint64(2654435761) % np.uint64(2**32)
    limb = np.array([word >> np.uint64(8 * i) & np.uint64(255) for i in range(4)])
    count = np.bincount(limb.ravel().astype(np.int64), minlength=256).astype(np.uint64)[None]
    table = Table(Bytes(), (), count)
    return table, Table(Limbs(), (), np.array([*limb, word]))


def shuffle(rows: int) -> Table:
    a = np.arange(rows, dtype=np.uint64) + np.uint64(7)
    return Table(Shuffle(), (), np.array([a, a[::-1]]))


def power(rows: int) -> Table:
    x = [2]
    for _ in range(rows - 1):
        x.append((pow(x[-1], 5, P) + 3) % P)
    return Table(Power(), (), np.array([x], dtype=np.uint64))


def crowd(rows: int) -> Table:
    return Table(Crowd(), (), np.arange(rows, dtype=np.uint64)[None])


def wide(rows: int) -> Table:
    x = [np.arange(2, 2 + rows, dtype=np.uint64)]
    for _ in range(COLUMNS - 1):
        x.append(array_mul(x[-1], x[-1]))
    return Table(Wide(), (), np.array(x))


def counter(rows: int) -> Table:
    step = Counter(rows).preprocessed_trace()
    return Table(Counter(rows), (), np.cumsum(step, axis=1, dtype=np.uint64))


def statements() -> dict[str, tuple[Parameters, list[Table]]]:
    """Return named statements that together use every feature of the protocol."""
    every_option = replace(GRINDING, log_blowup=2, num_queries=9, cap_height=2, max_log_arity=3, log_final_poly_len=2)
    mixed = [fibonacci(8), *limbs(64), power(512), shuffle(16), counter(32), *squares(16, 128)]
    return {
        "fibonacci": (PLAIN, [fibonacci(8)]),
        "fibonacci, grinding": (GRINDING, [fibonacci(8)]),
        "bus between heights": (PLAIN, list(squares(8, 64))),
        "bus, grinding": (GRINDING, list(squares(8, 64))),
        "preprocessed bytes": (PLAIN, list(limbs(32))),
        "local lookup": (PLAIN, [shuffle(16)]),
        "degree five": (PLAIN, [power(16)]),
        "preprocessed next row": (PLAIN, [counter(16)]),
        "mixed": (every_option, mixed),
        "mixed, BLAKE3": (replace(every_option, hash=BLAKE3), mixed),
        # A fold of 2^6 also has more words in a row than a chunk of BLAKE3.
        "wide, BLAKE3": (replace(PLAIN, hash=BLAKE3, log_blowup=2, num_queries=2, max_log_arity=6), [wide(16)]),
        "rate 1/256": (replace(PLAIN, log_blowup=8), list(squares(8, 64))),
        "rate 1/256, BLAKE3": (replace(GRINDING, hash=BLAKE3, log_blowup=8, cap_height=4), list(squares(8, 64))),
        "two messages a column": (PLAIN, [crowd(16)]),
        "four messages a column": (replace(PLAIN, log_blowup=3), [crowd(16)]),
        "eight messages a column": (replace(GRINDING, log_blowup=6), [crowd(16)]),
        "rows 1 and 2": (PLAIN, [fibonacci(1), fibonacci(2), shuffle(1), shuffle(2)]),
        "one row": (PLAIN, [fibonacci(1)]),
    }
