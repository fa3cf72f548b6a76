"""The rules of docs/protocol.md, section 15, for the shapes of guests' proofs, in plain integers.

Written from the text of the page. It imports nothing from the package, so that it shares no constant with the code that
it is compared with (test_spec_shape.py). Only the canonical bytes of tables come from outside; section 2 of the page
derives from them the numbers that the rules need.
"""

import re
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

ONCE, SEVERAL = {1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 14, 15}, {8, 10, 12, 4096, 4097}
FIRST_SHARD_ONLY = {2, 3, 4, 5, 6, 7, 14, 15}
LANES = (1, 2, 4)
CHIPS, HALT, KECCAK_CALL, NARROW, FIRST_IN_PLACE = 202, 46, 47, (9, 11), 115
_COMMON_TEXT = "1-8 10 12-25 35-37 41-43 45-46 49-50 52 55-57 59 61 63 65 67 69 71 73 75"
COMMON = {f for part in _COMMON_TEXT.split() for f in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)}
RARE = set(range(1, FIRST_IN_PLACE)) - COMMON - {KECCAK_CALL, *NARROW}
MOST_ROWS = 2**26


class Refused(Exception):
    """A refusal of the header by a verifier that follows the page, with the reason."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of the page that have two sets of values, and the low rows."""

    a: int
    b: int
    c: int
    d: int
    e: int
    f: int
    low: tuple[int, ...]  # the only rows up to the last of them in a run of 2^18 cycles or more


SETS = (
    Bounds(2**16, 2**10, 2**17, 2**19, 2**20, 2**12, (64,)),
    Bounds(2**21, 2**15, 2**22, 2**24, 2**25, 2**17, (64, 2**10, 2**13, 2**16)),
)


@dataclass(frozen=True)
class Program:
    """The facts about a program that the rules need."""

    zero_base: int
    program_rows: int
    data_rows: int | None  # None for a program without data
    hash: str


@dataclass(frozen=True)
class File:
    """The header of one file of section 12, the shard's head included."""

    logs: tuple[int, ...]  # log2 of each table's rows
    values: tuple[tuple[int, ...], ...]  # public values of each table


@dataclass(frozen=True)
class Derived:
    """The numbers that section 2 derives from a description."""

    cells: int
    weight: int


Describe = Callable[[int, int, int, int], bytes]  # canonical bytes of a table: number, t, words of 6, words of 14


# Section 2


@lru_cache(maxsize=4096)
def derived(canonical: bytes) -> Derived:
    """Return the cells of a row and the total weight."""
    magic = b"graphprover air 1"
    assert canonical.startswith(magic)
    at = len(magic)

    def word() -> int:
        nonlocal at
        (value,) = struct.unpack_from("<Q", canonical, at)
        at += 8
        return value

    main, _, _ = word(), word(), word()
    degrees: list[int] = []
    for _ in range(word()):
        op, a, b = word(), word(), word()
        leaf = {0: 0, 1: 1, 2: 1, 3: 0, 4: 1, 5: 1, 6: 0}
        if op in leaf:
            degrees.append(leaf[op])
        elif op in (7, 8):
            degrees.append(max(degrees[a], degrees[b]))
        else:
            degrees.append(degrees[a] + degrees[b] if op == 9 else degrees[a])
    largest = max([2, *(degrees[word()] for _ in range(word()))])
    weight, local, buses = 0, [], dict[bytes, list[list[tuple[int, int]]]]()
    for _ in range(2):  # local interactions, then those on buses
        for _ in range(word()):
            size = word()
            bus, at = canonical[at : at + size], at + size
            tuples = []
            for _ in range(word()):
                fields = [degrees[word()] for _ in range(word())]
                tuples.append((degrees[word()], max(fields)))
                weight += word()
            largest = max(largest, pin_degree(tuples))
            if bus:
                buses.setdefault(bus, []).append(tuples)
            else:
                local.append(tuples)
    assert at == len(canonical)
    c = 0
    while 2**c < largest - 1:
        c += 1
    lookups = len(local)
    for on_bus in buses.values():
        column = list[tuple[int, int]]()
        for tuples in on_bus:
            if column and pin_degree(column + tuples) <= 2**c + 1:
                column = column + tuples
            else:
                column, lookups = tuples, lookups + 1
    return Derived(main + (3 * (lookups + 1) if lookups else 0) + 3 * 2**c, weight)


def pin_degree(tuples: Sequence[tuple[int, int]]) -> int:
    """Return the pin degree of tuples, given the degrees of multiplicity and fields of each."""
    total = sum(fields for _, fields in tuples)
    return max(1 + total, *(multiplicity + total - fields for multiplicity, fields in tuples))


# Section 15


def refusal(
    files: Sequence[File],
    in_shards: bool,
    log_blowup: int,
    cap_height: int,
    label: str,
    program: Program,
    describe: Describe,
) -> str | None:
    """Return the rule that a verifier refuses the headers by, or None if it accepts them."""
    try:
        _check(files, in_shards, log_blowup, cap_height, label, program, describe)
    except Refused as refused:
        return str(refused)
    return None


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise Refused(rule)


def _check(
    files: Sequence[File],
    in_shards: bool,
    log_blowup: int,
    cap_height: int,
    label: str,
    program: Program,
    describe: Describe,
) -> None:
    last = label.split(" ")[-1]
    _require(not re.fullmatch("[0-9a-f]{64}", last) or last == program.hash, "label of another program")
    _require(log_blowup in (1, 2, 3), "rate")
    _require(cap_height == 0, "cap height")
    numbers, logs, values = [], [], []
    for index, file in enumerate(files):
        own_values, own_logs = list(file.values), list(file.logs)
        head: tuple[int, ...] | None = None
        if in_shards:
            _require(len(own_values) > 1, "a shard without tables")
            head = own_values.pop(0)
            _require(own_logs.pop(0) == 6, "rows of a head")
        if index == 0:
            _require(len(own_values) > 0 and len(own_values[0]) > 3, "a boundary that names no tables")
            own = own_values[0][3:]
            _require(head is None or head == (0, *own), "head of shard 0")
            _require(len(own_values) == 1 + len(own), "number of tables")
        else:
            own = head or ()
            _require(len(own_values) == len(own), "number of tables")
        numbers.append(own)
        logs.append(own_logs)
        values.append(own_values)
    cycles, low, high = values[0][0][:3]
    _require(low < 2**32 and high < 2**32, "exit code")
    _require(logs[0].pop(0) == 6, "rows of the boundary")
    values[0].pop(0)
    for index, own in enumerate(numbers):
        _check_numbers(own, index, len(numbers), program)
    words = _check_values(numbers, values)
    for own, heights in zip(numbers, logs, strict=True):
        for number, log in zip(own, heights, strict=True):
            _require(6 <= log <= 26, "rows of a table")
            _check_single(number, 2**log, program, *words)
    t = len(numbers[0])
    rise = 64 * 2**16 * derived(describe(0, t, *words)).weight
    facts: dict[int, Derived] = {}
    for own, heights in zip(numbers, logs, strict=True):
        for number, log in zip(own, heights, strict=True):
            facts[number] = derived(describe(number, t, *words))
            rise += 2**log * (2**32 if number == 8 else 2**16 * facts[number].weight)
    _require(rise <= 2**61, "time")
    _require(10 not in numbers[0] or (len(numbers) == 1 and cycles <= 2**17), "table 10")
    _require(any(_leads(numbers, logs, cycles, facts, bounds) for bounds in SETS), "uses")


def chip_of(number: int) -> tuple[int, int] | None:
    """Return the chip and the lanes of a chip's table."""
    chip, lanes = divmod(number, 16)
    return (chip, lanes) if 1 <= chip <= CHIPS and chip != HALT and lanes in LANES else None


def _check_numbers(own: Sequence[int], index: int, shards: int, program: Program) -> None:
    _require(all(n in ONCE | SEVERAL or chip_of(n) for n in own), "unknown number")
    _require(list(own) == sorted(own), "order")
    _require(all(own.count(n) == 1 for n in own if n in ONCE), "a table twice")
    _require({1, 11} <= set(own), "tables 1 and 11")
    if index:
        _require(9 in own and not FIRST_SHARD_ONLY & set(own), "tables of shard 0 alone")
    else:
        _require(2 in own and (3 in own) == (program.data_rows is not None), "tables 2 and 3")
    _require((9 in own) != (10 in own), "tables 9 and 10")
    _require(not (14 in own and 5 in own) and (14 in own or 15 not in own), "tables 5, 14 and 15")
    chips = {chip_of(n) for n in own} - {None}
    calls = any(pair is not None and pair[0] == KECCAK_CALL for pair in chips)
    _require((12 in own) == calls and (13 in own) == calls, "tables 12 and 13")
    _require(index < shards - 1 or 4096 in own, "table 4096")
    _require(bool(chips) or 4096 in own or 4097 in own, "no cycle")
    _require(len({pair[0] for pair in chips if pair}) == len(chips), "lanes of a chip")


def _check_values(numbers: Sequence[Sequence[int]], values: Sequence[Sequence[tuple[int, ...]]]) -> tuple[int, int]:
    """Return the words of tables 6 and 14, 0 without them."""
    words = {6: 0, 14: 0}
    for own, of_tables in zip(numbers, values, strict=True):
        for number, stated in zip(own, of_tables, strict=True):
            if number not in words:
                _require(len(stated) == 0, "public values")
                continue
            _require(len(stated) >= 2 and all(value < 2**32 for value in stated), "public words")
            k = stated[0] + 2**32 * stated[1]
            _require(len(stated) == 2 + 2 * ((k + 7) // 8), "length of public words")
            _require(k <= (2**20 if number == 6 else 2**16), "too many public bytes")
            data = b"".join(value.to_bytes(4, "little") for value in stated[2:])
            _require(number == 6 or not any(data[k:]), "padding of the input")
            words[number] = len(stated) // 2
    return words[6], words[14]


def least(k: int) -> int:
    """Return the rows that k needs."""
    rows = 64
    while rows < k:
        rows *= 2
    return rows


def _check_single(number: int, rows: int, program: Program, w: int, v: int) -> None:
    """Check the rules for heights that do not depend on uses."""
    exact = {2: 64, 11: 64, 9: 2**16, 13: 4096, 1: program.program_rows, 3: program.data_rows}
    if number in exact:
        _require(rows == exact[number], "rows of a table that is the same for all runs")
    regions = {
        4: (program.zero_base, 2**31),
        5: (2**31, 3 * 2**30),
        7: (3 * 2**30 + 8 * max(w, 1), 2**32),
        15: (2**31 + 8 * v, 3 * 2**30),
    }
    if number in regions:
        start, end = regions[number]
        _require(rows <= least(2 + (end - start) // 8), "rows of a region")
    if number in (6, 14):
        _require(rows == least(-(-(w if number == 6 else v) // lanes_of_words(number, w, v))), "rows of public words")


@lru_cache(maxsize=1024)
def lanes_of_words(number: int, w: int, v: int) -> int:
    """Return the lanes of tables 6 and 14."""
    words, each = (w, 4) if number == 6 else (v, 6)
    # No more lanes than words: a row that is not full has no use for them.
    return min(range(1, words + 1), key=lambda lanes: (-(-words // lanes) + each * lanes, lanes))


@lru_cache
def rows_allowed(low: tuple[int, ...]) -> list[int]:
    """Return all rows that a table of uses may have, and larger powers of two, rising."""
    return [*low, *(2**log for log in range(6, 64) if 2**log > low[-1])]


@dataclass(frozen=True)
class Rule:
    """The rule by which heights follow from uses."""

    lanes: int  # uses of a row
    block: int  # rows of a use
    idle: int  # an unsplit table has at most this many idle rows
    low: tuple[int, ...]  # the only rows up to the last of them

    def rows(self, uses: int) -> int:
        """Return the rows that uses need."""
        return -(-uses * self.block // self.lanes)

    def room(self, rows: int) -> int:
        """Return the uses that rows fit."""
        return rows * self.lanes // self.block

    def height(self, left: int) -> int:
        """Return the rows of the next table while uses are left; never falls if these rise."""
        needed, allowed = self.rows(left), rows_allowed(self.low)
        at = bisect_left(allowed, needed)
        if at and allowed[at] - needed > self.idle:
            at -= 1
        return min(allowed[at], MOST_ROWS)

    def heights(self, uses: int) -> list[int]:
        """Return the rows of all tables."""
        found = []
        while uses > 0:
            found.append(self.height(uses))
            uses -= min(uses, self.room(found[-1]))
        return found

    def uses(self, heights: Sequence[int]) -> range:
        """Return all numbers of uses from which the heights follow."""
        first, last, taken = 1, sum(map(self.room, heights)), 0
        for index, rows in enumerate(heights):
            left = range(1, sum(map(self.room, heights[index:])) + 1)
            low = left.start + bisect_left(left, rows, key=self.height)
            high = left.start + bisect_right(left, rows, key=self.height) - 1
            if index < len(heights) - 1:
                low = max(low, self.room(rows) + 1)  # uses are left for the next table
            first, last, taken = max(first, taken + low), min(last, taken + high), taken + self.room(rows)
        return range(first, last + 1)


def rule_of(number: int, cells: int, cycles: int, bounds: Bounds) -> Rule:
    """Return the rule for the tables of a number that may repeat, table 10 aside."""
    # (n - rows) * cells > e and n - rows > f
    idle = max(bounds.e // cells, bounds.f)
    low = bounds.low if cycles >= 2**18 else (64,)
    if number == 12:
        return Rule(1, 24, idle, low)
    pair = chip_of(number)
    return Rule(pair[1] if pair else 1, 1, idle, low)


def own_tables_from(chip: int, cycles: int, bounds: Bounds) -> int:
    """Return the number of uses from which a chip has tables of its own."""
    if chip == KECCAK_CALL:
        return 1
    if chip >= FIRST_IN_PLACE:
        return bounds.a
    return bounds.b if cycles < 2**18 else 2 * bounds.b


def uses_of(
    own: Sequence[int], logs: Sequence[int], cycles: int, facts: dict[int, Derived], bounds: Bounds
) -> dict[int, range]:
    """Return the numbers of uses that lead to the tables of a shard, by number."""
    found: dict[int, range] = {}
    for number in sorted(set(own) - ONCE):
        heights = [2**log for other, log in zip(own, logs, strict=True) if other == number]
        if number == 10:
            others = sum(facts[other].cells for other in own if other != 10)
            found[number] = _common(Rule(1, 1, 2**13 if others >= 720 else MOST_ROWS, (64,)).uses(heights), 1, 2**15)
            continue
        found[number] = rule_of(number, facts[number].cells, cycles, bounds).uses(heights)
        pair = chip_of(number)
        if number in (4096, 4097):
            sharing = COMMON if number == 4096 else RARE
            most = sum(1 if f == HALT else own_tables_from(f, cycles, bounds) - 1 for f in sharing)
            found[number] = _common(found[number], 1, most)
        elif pair:
            chip, lanes = pair
            from_, to = {1: (1, bounds.c - 1), 2: (bounds.c, bounds.d - 1), 4: (bounds.d, 2**62)}[lanes]
            found[number] = _common(found[number], max(from_, own_tables_from(chip, cycles, bounds)), to)
    for number in [n for n in found if (pair := chip_of(n)) and pair[0] == KECCAK_CALL]:
        found[number] = _common(found[number], found[12].start, found[12].stop - 1)
        found[12] = found[number]
    return found


def cycles_range(
    numbers: Sequence[Sequence[int]],
    logs: Sequence[Sequence[int]],
    cycles: int,
    facts: dict[int, Derived],
    bounds: Bounds,
) -> tuple[int, int] | None:
    """Return the least and largest sum of the uses of all chips; None if no uses lead to some tables."""
    least_, most = 0, 0
    for own, heights in zip(numbers, logs, strict=True):
        uses = uses_of(own, heights, cycles, facts, bounds)
        if not all(uses.values()):
            return None
        for number, counts in uses.items():
            if number in (4096, 4097) or chip_of(number):
                least_, most = least_ + counts[0], most + counts[-1]
    return least_, most


def _leads(
    numbers: Sequence[Sequence[int]],
    logs: Sequence[Sequence[int]],
    cycles: int,
    facts: dict[int, Derived],
    bounds: Bounds,
) -> bool:
    found = cycles_range(numbers, logs, cycles, facts, bounds)
    return found is not None and found[0] <= cycles <= found[1]


def _common(counts: range, least_: int, most: int) -> range:
    return range(max(counts.start, least_), min(counts.stop, most + 1))


def least_bytes(tables: int, columns: int, queries: int) -> int:
    """Return the least number of bytes of a payload by section 13."""
    return 24 * columns + 83 * tables + queries * (8 * columns + 26 * tables)
