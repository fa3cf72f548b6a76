"""The table of SHA-256's compression proves it and nothing else, for any trace; see test_calls.py."""

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from graphprover import prove, verify
from graphprover.field import P
from graphprover.statement.check import check
from graphprover.vm.accelerators.sha256.table import ROUND_CONSTANTS, ROWS, SHA256, Sha256
from graphprover.vm.executor.execute import execute
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import ROWS_OF_CHIP
from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
from graphprover.vm.traces.run_statement import shards_of_run, statement_of_run
from tests.graphs.test_proof_graph import FEW
from tests.vm.calls import Call, program
from tests.vm.kernels.naive_calls import Around, Row, matrix
from tests.vm.kernels.naive_sha256 import Compression, compression, rows_of, sha256_rows, small, t1_of, t2_of
from tests.vm.sha256 import CONSTANTS, MASK, START, digest, words_of
from tests.vm.tables.call_forgeries import exchanged_times
from tests.vm.tables.checks import names_of, recency
from tests.vm.tables.test_calls import judge

RNG = random.Random(4)
AROUND = Around(
    1000, 0x10000, [8 * RNG.randrange(1 << 28) for _ in range(2)], [RNG.randrange(4000) for _ in range(2)], 77,
    [RNG.randrange(4000) for _ in range(12)], [RNG.getrandbits(64) for _ in range(12)],
)  # fmt: skip
BLOCK = RNG.randbytes(64)
STATE = [RNG.getrandbits(32) for _ in range(8)]
HEIGHT = ROWS + 8
TABLE = Sha256()
AIR = TABLE.describe()
NAMES = [cell.partition("[")[0] for cell in AIR.main_names]
FIRST = {name: NAMES.index(name) for name in NAMES}


def padded(rows: np.ndarray) -> np.ndarray:
    """Return rows after an idle one and before others."""
    found = np.zeros((len(rows), HEIGHT), dtype=np.uint64)
    found[:, 1 : 1 + rows.shape[1]] = rows
    return found


def trace(rows: list[Row]) -> np.ndarray:
    return padded(matrix(TABLE, rows))


def honest() -> list[Row]:
    return sha256_rows(STATE, BLOCK, AROUND)


def test_constants_and_messages() -> None:
    assert CONSTANTS == ROUND_CONSTANTS and ROWS_OF_CHIP["sha256"] == ROWS
    for length in (*range(130), 1000):
        message = random.Random(length).randbytes(length)
        assert digest(message) == hashlib.sha256(message).digest()


def test_cells_of_a_call() -> None:
    width = AIR.main_width + AIR.permutation_width + 3 * (1 << AIR.log_quotient_chunks)
    assert (width, ROWS * width) == (268, 9_648)


@pytest.mark.parametrize("byte", [0, 255, None])
def test_honest_calls_are_accepted(byte: int | None) -> None:
    state = STATE if byte is None else [byte * 0x1010101] * 8
    rows = sha256_rows(state, BLOCK if byte is None else bytes([byte]) * 64, AROUND)
    assert not judge(AIR, trace(rows))[0][0]
    assert not judge(AIR, matrix(TABLE, rows * 2))[0][0]


def test_a_program_is_proved() -> None:
    """Prove calls one after the other, with operands that overlap, as a whole and in shards."""
    calls = [Call(SHA256, at) for at in ((0, 64), (0, 128), (0, 0), (256, 240), (248, 256))]
    execution = execute(program(random.Random(6).randbytes(512), calls), record=True)
    machine = Machine(execution.image)
    stated = statement_of_run(machine, execution)
    assert not check(stated)
    verify(prove(stated, executor="sync", parameters=FEW), stated, security=0)
    shards = shards_of_run(machine, execution, cycle_ranges_of(execution.cycles, 2), "calls")
    proof = prove(shards, parameters=replace(FEW, cap_height=0))
    assert machine.verify(proof, security=0, exit_code=0).shards == 2


# Cells changed alone.

EARLIER = "nothing reads what was before the call's rows"
UNREAD: dict[str, tuple[set[int], str]] = {  # by column, places of cells that no constraint or message reads
    "w": ({0, 1, *range(34, 36)}, "a bit that no round has"),
    "before_a": ({0}, EARLIER),
    "before_e": ({0}, EARLIER),
    "t2": ({0}, EARLIER),
    "h": ({0}, EARLIER),
    "y": ({0}, EARLIER),
    "carry_a": ({0, 1}, "rows without sums"),
    "carry_e": ({0, 1}, "rows without sums"),
    "carry_w": ({*range(10), 34, 35}, "rows without a sum for w"),
    "time": ({0, 1, 10, 11, *range(14, 18), *range(19, 34)}, "any recent time"),
    "time_e": (set(range(34)), "any recent time"),
}
TOLD = {"t1": {0}, "time": set(range(ROWS)), "time_e": set(range(ROWS))}  # cells of messages
CHANGES = (1, P - 1, 0x123456789ABCDEF)


def changed(columns: Iterable[int], changes: tuple[int, ...]) -> Iterator[tuple[int, int, bool, set[str]]]:
    """Yield column and row of cells changed alone, whether the machine is told other things, and what notices it."""
    block = trace(honest())
    _, told = judge(AIR, block)[0]
    places = [(column, row, change) for column in columns for row in range(ROWS) for change in changes]
    for first in range(0, len(places), 500):
        some = places[first : first + 500]
        many = np.tile(block, len(some))
        for i, (column, row, change) in enumerate(some):
            at = HEIGHT * i + 1 + row
            many[column, at] = (int(many[column, at]) + change) % P
        for (column, row, _), (reasons, bus) in zip(some, judge(AIR, many, len(some)), strict=True):
            yield column, row, bus != told, reasons


@cache
def changed_cells() -> list[tuple[int, int, bool, set[str]]]:
    """Return the changes of columns of words, and of some bits."""
    bits = [FIRST[name] + 32 * j + z for name in "aew" for j in range(2) for z in (0, 14, 31)]
    return [*changed([*bits, *(i for i, name in enumerate(NAMES) if name not in ("a", "e", "w"))], (P - 1,))]


def _unread(cells: list[tuple[int, int, bool, set[str]]]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for column, row, told, reasons in cells:
        if not told and not reasons:
            found.setdefault(NAMES[column], set()).add(row)
    return found


def left_open(name: str, place: int) -> bool:
    """Return whether the table alone need not notice a change of a cell."""
    return place in UNREAD.get(name, ((), ""))[0] or place in TOLD.get(name, ())


def test_every_cell_counts() -> None:
    """Notice every changed cell that something reads; the table alone notices all but the cells of its messages."""
    found = _unread(changed_cells())
    for name, places in found.items():
        assert places <= UNREAD[name][0], name
    assert all(reasons or left_open(NAMES[column], row) for column, row, _, reasons in changed_cells())


@pytest.mark.slow
def test_every_cell_counts_for_all_changes() -> None:
    found = _unread([*changed(range(len(NAMES)), CHANGES)])
    for name, places in found.items():
        assert places <= UNREAD[name][0], name


# Forgeries: everything else fits them as well as possible.

TRUE = compression(STATE, words_of(BLOCK))


def forged(**given: Any) -> list[Row]:
    """Return the rows of other sequences."""
    return rows_of(replace(TRUE, **given), AROUND)


def with_words(at: int) -> list[Row]:
    """Return rows of which a message word is another one, with the words and rounds that follow from it."""
    words = words_of(BLOCK)
    words[at] ^= 1 << 31
    for i in range(max(16, at + 1), 64):
        x, y = words[i - 15], words[i - 2]
        words[i] = words[i - 16] + small(x, (7, 18, 3)) + words[i - 7] + small(y, (17, 19, 10)) & MASK
    return rows_of(compression(STATE, words), AROUND)


def with_constant(at: int) -> list[Row]:
    """Return rows with another round constant, claimed to be the right one."""
    constants = list(CONSTANTS)
    constants[at] ^= 1
    other = compression(STATE, words_of(BLOCK), constants)
    return rows_of(replace(other, constants=CONSTANTS), AROUND)


def with_round(family: str, at: int) -> list[Row]:
    """Return rows with another word of a or e, and the rounds that follow from it."""
    return rows_of(_continued(TRUE.changed(family, at, getattr(TRUE, family)[at] ^ 1), at), AROUND)


def _continued(c: Compression, at: int) -> Compression:
    """Return the sequences with the rounds and sums behind a word that was changed."""
    a, e = list(c.a), list(c.e)
    for i in range(at + 1, 68):
        t1 = t1_of(e, i) + e[i - 4] + CONSTANTS[i - 4] + c.w[i]
        a[i], e[i] = t1 + t2_of(a, i) & MASK, a[i - 4] + t1 & MASK
    for i in range(max(68, at + 1), 72):
        a[i], e[i] = a[i - 4] + a[i - 68] & MASK, e[i - 4] + e[i - 68] & MASK
    return replace(c, a=a, e=e)


def edited(*edits: tuple[int, dict[str, Any]]) -> list[Row]:
    """Return honest rows with other cells."""
    rows = honest()
    for place, edit in edits:
        rows[place] = rows[place] | edit
    return rows


def element(name: str, at: int, value: int, *places: int) -> list[Row]:
    """Return honest rows with another value in one of a name's cells."""
    rows = honest()
    for place in places or range(ROWS):
        cells = np.ravel(np.array(rows[place].get(name, np.zeros(NAMES.count(name))), dtype=object))
        cells[at] = value
        rows[place] = rows[place] | {name: cells}
    return rows


def another_state() -> list[Row]:
    """Return rows that compress the standard's first state, but read and add another one."""
    c = compression(START, words_of(BLOCK))
    a = [x + y & MASK for x, y in zip(c.a[64:68], STATE[3::-1], strict=True)]
    e = [x + y & MASK for x, y in zip(c.e[64:68], STATE[7:3:-1], strict=True)]
    return rows_of(replace(c, a=c.a[:68] + a, e=c.e[:68] + e, h=STATE), AROUND)


def with_e(at: int) -> list[Row]:
    """Return rows with a round whose e is another word, and a the one that fits it; the carries are in range."""
    a, e = list(TRUE.a), list(TRUE.e)
    e[at] ^= 1
    a[at] = a[at] + e[at] - TRUE.e[at] & MASK
    return _carries_kept(rows_of(_continued(replace(TRUE, a=a, e=e), at), AROUND), at)


def _carries_kept(rows: list[Row], at: int) -> list[Row]:
    """Return the rows with the honest carries of word ``at`` of a and e."""
    place, j = divmod(at, 2)
    for name in ("carry_a", "carry_e"):
        carries = list(rows[place][name])
        carries[j] = honest()[place][name][j]
        rows[place] = rows[place] | {name: carries}
    return rows


def with_end(family: str, at: int) -> list[Row]:
    """Return rows with another word of the state after; the carries are in range."""
    return _carries_kept(rows_of(TRUE.changed(family, at, getattr(TRUE, family)[at] ^ 1), AROUND), at)


def with_state_before(word: int, first: int = 0) -> list[Row]:
    """Return rows that add a state with another word to the one that they compressed, from a row on."""
    h, a, e = list(STATE), list(TRUE.a), list(TRUE.e)
    h[word] ^= 1
    for i in range(4):
        a[68 + i], e[68 + i] = a[64 + i] + h[3 - i] & MASK, e[64 + i] + h[7 - i] & MASK
    rows = rows_of(replace(TRUE, a=a, e=e, h=h), AROUND)
    for place in range(1, first):
        rows[place] = rows[place] | {"h": STATE}
    return rows


def from_place(place: int) -> list[Row]:
    """Return the rows from a place on, behind an idle row with the cells of the row before."""
    before = honest()[place - 1] | {"on": 0, "step": [0] * 5, "turn": [0] * 5}
    return [before, *honest()[place:]]


def steps_apart() -> list[Row]:
    """Return the first row alone and, behind idle rows with a step of -1, the others."""
    rows, idle = honest(), []
    for i in range(1, 7):  # the first row's step and a step of -1 behind it go on; a new step makes up for the latter
        steps = [(k == i) - (k == i - 1) + (i == 6 and k == 0) for k in range(5)]
        idle.append(rows[i % 6] | {"on": 0, "step": steps, "turn": [0] * 5})
    return [rows[0], *idle, *rows[1:]]


def everywhere_on() -> np.ndarray:
    """Return a table without an idle row, whose rows are of all places by a sixth of a sixth."""
    rows, sixth = trace(honest()), pow(6, -1, P)
    rows[[i for i, name in enumerate(NAMES) if name in ("step", "turn")]] = sixth
    rows[FIRST["on"]] = 1
    return rows


FIVE = [0] * 5
FORGERIES: dict[str, Callable[[], list[Row]]] = {
    **{f"message word {at}": lambda at=at: with_words(at) for at in (16, 17, 30, 63)},  # type: ignore[misc]
    **{f"constant {at}": lambda at=at: with_constant(at) for at in (0, 1, 31, 63)},  # type: ignore[misc]
    **{
        f"{family} {at}": lambda family=family, at=at: with_round(family, at)  # type: ignore[misc]
        for family in "ae"
        for at in (4, 5, 20, 67, 68, 69, 70, 71)
    },
    "another state": another_state,
    **{f"e {at} and a": lambda at=at: with_e(at) for at in (4, 5, 40, 41)},  # type: ignore[misc]
    **{
        f"{family} {at} of the state after": lambda family=family, at=at: with_end(family, at)  # type: ignore[misc]
        for family in "ae"
        for at in range(68, 72)
    },
    **{f"another word {i} of the state is added": lambda i=i: with_state_before(i) for i in range(8)},  # type: ignore[misc]
    **{
        f"another word {i} of the state in the last row": lambda i=i: with_state_before(i, 35)  # type: ignore[misc]
        for i in (0, 1, 4, 5)
    },
    **{f"from place {place} on": lambda place=place: from_place(place) for place in range(1, ROWS)},  # type: ignore[misc]
    **{
        f"an idle row has no bit {i} of {family}": lambda family=family, i=i: [  # type: ignore[misc]
            *honest(),
            {family: [5 * (i == k) for k in range(64)]},
        ]
        for family in "aew"
        for i in range(64)
    },
    "the standard's state is added": lambda: forged(h=list(START)),
    "the state is not added": lambda: rows_of(
        replace(TRUE, a=[*TRUE.a[:68], *TRUE.a[64:68]], e=[*TRUE.e[:68], *TRUE.e[64:68]]), AROUND
    ),
    "63 rounds": lambda: rows_of(compression(STATE, words_of(BLOCK), last=63), AROUND),
    "a digit 2 for 1 and carries": lambda: element("a", 5, 2, 20),
    "a bit of e is 2": lambda: element("e", 0, 2, 35),
    "a bit of w is -1": lambda: element("w", 3, -1, 3),
    "two cycles": lambda: edited(*((i, {"clk": 1001}) for i in range(20, 36))),
    "the block elsewhere": lambda: edited(*((i, {"pointer": 8}) for i in range(12))),
    "the state elsewhere": lambda: edited((34, {"pointer": 8}), (35, {"pointer": 8})),
    "another call": lambda: edited((13, {"pointer": 93})),
    "on 2": lambda: edited(*((i, {"on": 2}) for i in range(36))),
    "on -1": lambda: edited(*((i, {"on": -1}) for i in range(36))),
    "half a row on": lambda: edited((7, {"on": 2})),
    "a row is missing": lambda: [*honest()[:20], *honest()[21:]],
    "two rounds are missing": lambda: [*honest()[:12], *honest()[18:]],
    "a row twice": lambda: [*honest()[:20], *honest()[19:]],
    "a turn twice": lambda: [*honest()[:18], *honest()[12:]],
    "a row of another call": lambda: [*honest()[:20], sha256_rows(START, BLOCK, AROUND)[20], *honest()[21:]],
    "the second half of another call": lambda: [*honest()[:18], *sha256_rows(START, BLOCK, AROUND)[18:]],
    "cut short": lambda: honest()[:35],
    "the last row alone": lambda: honest()[35:],
    "the first row alone": lambda: honest()[:1],
    "without the first": lambda: honest()[1:],
    "two first rows": lambda: [honest()[0], *honest()],
    "two last rows": lambda: [*honest(), honest()[35]],
    "rows shifted": lambda: [*honest()[1:], honest()[0]],
    "rows swapped": lambda: [*honest()[:16], honest()[17], honest()[16], *honest()[18:]],
    "turns swapped": lambda: [*honest()[:6], *honest()[12:18], *honest()[6:12], *honest()[18:]],
    "an idle row is on": lambda: [*honest(), {"on": 1}],
    "an idle row steps": lambda: [*honest(), {"step": [0, 0, 1, 0, 0]}],
    "an idle row steps first and last": lambda: [*honest(), {"step": [1, 0, 0, 0, 0]}],
    "an idle row turns": lambda: [*honest(), {"turn": [1, 0, 0, 0, 0]}],
    "an idle row of a later turn": lambda: [*honest(), {"turn": [0, 0, 0, 1, 0]}],
    "half a step": lambda: edited((0, {"step": [2, 0, 0, 0, 0]})),
    "an idle row has no bits": lambda: [*honest(), {"a": [5] * 64}],
    "a step of -1 in an idle row": steps_apart,
    "a carry of 4": lambda: element("carry_w", 0, 4, 12),
}


@cache
def noticing() -> dict[str, set[str]]:
    """Return the checks that notice each forgery."""
    blocks = [trace(forge()) for forge in FORGERIES.values()]
    found = judge(AIR, np.concatenate(blocks, axis=1), len(blocks))
    return {forgery: reasons for forgery, (reasons, _) in zip(FORGERIES, found, strict=True)}


def test_forgeries_are_noticed() -> None:
    missed = [forgery for forgery, reasons in noticing().items() if not reasons]
    assert not missed


def test_fractions_of_places_are_noticed() -> None:
    """Refuse a table whose steps and turns follow each other and are none."""
    reasons = judge(AIR, everywhere_on())[0][0]
    assert {"a step or not", "a turn or not"} <= reasons
    assert not reasons & {"steps follow each other", "turns follow each other"}


def test_calls_cut_short_by_the_tables_end() -> None:
    """Refuse rows that begin at the end of a table; with all of them, they may go on at its beginning."""
    rows = trace(honest())
    for shift in (1, 2, ROWS // 2, ROWS - 1, ROWS):
        around = np.roll(rows, -1 - shift, axis=1)
        assert not judge(AIR, around)[0][0]
        around[:, : ROWS - shift] = 0
        assert judge(AIR, around)[0][0] or shift == ROWS


# Checks without which everything above would still be noticed.
REDUNDANT = {
    "a row is of a call or not": "a row of two steps would have twice the turns of the row before",
    "a turn or not": "a row's other turns are bits behind an idle row, and it is the rest; calls fill no table",
}


@cache
def with_exchanged_times() -> list[set[str]]:
    """Return the checks that notice two calls with each other's times, if their messages are the honest ones."""
    both, exchanged = exchanged_times(TABLE, lambda around: sha256_rows(STATE, BLOCK, around), AROUND)
    ((reasons, honest_told),) = judge(AIR, both)
    assert not reasons
    found = judge(AIR, np.concatenate(exchanged, axis=1), len(exchanged), 1)
    return [reasons for reasons, told in found if told == honest_told]


def test_times_of_two_calls_are_not_exchanged() -> None:
    """Refuse reads of later values, with the messages of honest calls: only the check of the time notices."""
    assert all(with_exchanged_times())
    needed = {next(iter(reasons)) for reasons in with_exchanged_times()}
    assert needed >= {names_of(AIR)[check] for check in recency(AIR)}


def needed() -> set[str]:
    """Return the checks that are the only one to notice a forgery that the tests above require to be noticed."""
    changed = [reasons for column, row, _, reasons in changed_cells() if not left_open(NAMES[column], row)]
    noticed = [*changed, *noticing().values(), *with_exchanged_times()]
    return {next(iter(reasons)) for reasons in noticed if len(reasons) == 1}


def test_every_check_counts() -> None:
    """For each constraint and each range have a forgery that it alone notices; other tests require this."""
    assert set(names_of(AIR)) - needed() == set(REDUNDANT)
