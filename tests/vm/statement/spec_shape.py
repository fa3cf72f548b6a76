"""The rules of docs/protocol.md, section 15, for the shapes of guests' proofs, in plain integers.

Written from the text of the page; docs/shapes.md has the part from `VERSION` on as its pseudocode. It imports nothing
from the package, so that it shares no constant with the code that it is compared with (test_spec_shape.py). Only the
canonical bytes of tables come from outside; section 2 of the page derives from them the numbers that the rules need.
"""

import re
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache


class Refused(Exception):
    """A refusal of the header by a verifier that follows the page, with the reason."""


@dataclass(frozen=True)
class Program:
    """The facts about a program that the rules need, as a verifying key has them."""

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

    main: int  # columns
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
    return Derived(main, main + (3 * (lookups + 1) if lookups else 0) + 3 * 2**c, weight)


def pin_degree(tuples: Sequence[tuple[int, int]]) -> int:
    """Return the pin degree of tuples, given the degrees of multiplicity and fields of each."""
    total = sum(fields for _, fields in tuples)
    return max(1 + total, *(multiplicity + total - fields for multiplicity, fields in tuples))


# Section 15


def refusal(
    files: Sequence[File],
    in_shards: bool,
    cap_height: int,
    label: str,
    program: Program,
    describe: Describe,
) -> str | None:
    """Return the rule that a verifier refuses the headers by, or None if it accepts them."""
    try:
        _check(files, in_shards, cap_height, label, program, describe)
    except Refused as refused:
        return str(refused)
    return None


def _check(
    files: Sequence[File],
    in_shards: bool,
    cap_height: int,
    label: str,
    program: Program,
    describe: Describe,
) -> None:
    last = label.split(" ")[-1]
    require(not re.fullmatch("[0-9a-f]{64}", last) or last == program.hash, "guest.label")
    require(cap_height == 0, "guest.cap")
    numbers, logs, values = [], [], []
    for index, file in enumerate(files):
        own_values, own_logs = list(file.values), list(file.logs)
        head: tuple[int, ...] | None = None
        if in_shards:
            require(len(own_values) > 1, "guest.head")
            head = own_values.pop(0)
            require(own_logs.pop(0) == 6, "guest.head_rows")
        if index == 0:
            require(len(own_values) > 0 and len(own_values[0]) > 3, "guest.boundary")
            own = own_values[0][3:]
            require(head is None or head == (0, *own), "guest.head")
            require(len(own_values) == 1 + len(own), "guest.boundary")
        else:
            own = head or ()
            require(len(own_values) == len(own), "guest.head")
        numbers.append(own)
        logs.append(own_logs)
        values.append(own_values)
    cycles, low, high = values[0][0][:3]
    require(low < 2**32 and high < 2**32, "guest.exit_code")
    require(logs[0].pop(0) == 6, "shape.boundary")
    values[0].pop(0)
    for index, own in enumerate(numbers):
        check_numbers(own, index, len(numbers), program)
    words = _check_values(numbers, values)
    t = len(numbers[0])
    tables = {number: derived(describe(number, t, *words)) for number in {0}.union(*numbers)}
    rows = [[2**log for log in own] for own in logs]
    check_heights(numbers, rows, cycles, words, program, tables)


def _check_values(numbers: Sequence[Sequence[int]], values: Sequence[Sequence[tuple[int, ...]]]) -> tuple[int, int]:
    """Return the words of tables 6 and 14, 0 without them."""
    words = {6: 0, 14: 0}
    for own, of_tables in zip(numbers, values, strict=True):
        for number, stated in zip(own, of_tables, strict=True):
            if number not in words:
                require(len(stated) == 0, "statement.value_count")
                continue
            require(len(stated) >= 2 and all(value < 2**32 for value in stated), "guest.words")
            k = stated[0] + 2**32 * stated[1]
            require(len(stated) == 2 + 2 * ((k + 7) // 8), "guest.words")
            require(k <= (2**20 if number == 6 else 2**16), "guest.output" if number == 6 else "guest.input")
            data = b"".join(value.to_bytes(4, "little") for value in stated[2:])
            require(number == 6 or not any(data[k:]), "guest.input")
            words[number] = len(stated) // 2
    return words[6], words[14]


def least_bytes(tables: int, columns: int, queries: int) -> int:
    """Return the least number of bytes of a payload by section 13."""
    return 24 * columns + 83 * tables + queries * (8 * columns + 26 * tables)


# The rules for shapes: the pseudocode of docs/shapes.md

VERSION = 4

ONCE, SEVERAL = {1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 14, 15}, {8, 10, 12, *range(4096, 4101)}
FIRST_SHARD_ONLY = {2, 3, 4, 5, 6, 7, 14, 15}
CHIPS, HALT, KECCAK_CALL, NARROW, FIRST_IN_PLACE = 209, 46, 47, {9, 11}, 115
ROWS_OF_CHIP = {203: 2, 204: 3, 205: 5, 206: 36, 207: 2, 208: 2, 209: 2}  # rows of a call, of a chip that needs several
CALLS = {KECCAK_CALL, *ROWS_OF_CHIP}  # chips with tables of their own only
PERMUTING = {KECCAK_CALL, 205}  # chips whose uses are calls of Keccak-f
COMMON = {*range(1, 9), 10, *range(12, 26), 35, 36, 37, 41, 42, 43, 45, 46, 49, 50, 52, 55, 56, 57, *range(59, 76, 2)}
RARE = set(range(1, FIRST_IN_PLACE)) - COMMON - NARROW - {KECCAK_CALL}
MANY_CALLS, FEW_CALLS = {12: 25, 4098: 10}, {4099: 400, 4100: 170}  # rows of one of many or few calls of Keccak-f
ROWS_OF_CALL = MANY_CALLS | FEW_CALLS
MOST_ROWS = 2**26


@dataclass(frozen=True)
class Bounds:
    """One set of the bounds a to h."""

    a: int  # uses from which a chip in place has tables of its own
    b: int  # uses from which another chip has, in a run of fewer than 2^18 cycles
    c: int  # uses from which a chip has 2 lanes
    d: int  # uses from which a chip has 4 lanes
    e: int  # idle cells of a table that is not split
    f: int  # idle rows of a table that is not split
    low: tuple[int, ...]  # the only rows up to the last of them, which is g, in a run of 2^18 cycles or more
    h: int  # calls of Keccak-f from which they are many


SETS = (
    Bounds(2**16, 2**10, 2**17, 2**19, 2**20, 2**12, (64,), 2**8),
    Bounds(2**21, 2**15, 2**22, 2**24, 2**25, 2**17, (64, 2**10, 2**13, 2**16), 2**13),
)


def require(holds: bool, rule: str) -> None:
    """Refuse the proof by a rule of docs/refusals.md unless the condition holds."""
    if not holds:
        raise Refused(rule)


def chip_of(number: int) -> tuple[int, int] | None:
    """Return the chip and the lanes of a chip's table, or None for another table."""
    chip, lanes = divmod(number, 16)
    known = (1,) if chip in ROWS_OF_CHIP else (1, 2, 4)
    return (chip, lanes) if 1 <= chip <= CHIPS and chip != HALT and lanes in known else None


def check_numbers(own: Sequence[int], index: int, shards: int, program: Program) -> None:
    """Check the numbers of the tables of a shard, without the boundary."""
    present, chips = set(own), {pair for pair in map(chip_of, own) if pair}
    require(index == 0 or not FIRST_SHARD_ONLY & present, "shape.first_shard")
    require(all(n in ONCE | SEVERAL or chip_of(n) for n in own), "shape.unknown")
    require(list(own) == sorted(own), "shape.order")
    require(all(own.count(n) == 1 for n in own if n in ONCE), "shape.twice")
    require({1, 11} <= present, "shape.missing")
    if index:
        require(9 in present, "shape.missing")
    else:
        require(2 in present and (3 in present or program.data_rows is None), "shape.missing")
        require(9 in present or 10 in present, "shape.missing")
    require(not (3 in present and program.data_rows is None), "shape.data")
    require(not {9, 10} <= present, "shape.numbers")
    require(index < shards - 1 or 4096 in present, "shape.exit")
    require(not {5, 14} <= present, "shape.input")
    require(14 in present or 15 not in present, "shape.zero_between")
    of_calls = [{13, *MANY_CALLS}, {13, *FEW_CALLS}] if any(chip in PERMUTING for chip, _ in chips) else [set()]
    require(present & {13, *ROWS_OF_CALL} in of_calls, "shape.keccak")
    require(bool(chips) or 4096 in present or 4097 in present, "shape.no_cycle")
    require(len({chip for chip, _ in chips}) == len(chips), "shape.lanes")


def check_heights(
    numbers: Sequence[Sequence[int]],
    rows: Sequence[Sequence[int]],
    cycles: int,
    words: tuple[int, int],
    program: Program,
    tables: dict[int, Derived],
) -> None:
    """Check the rows of all tables of all shards."""
    pairs = [pair for own, heights in zip(numbers, rows, strict=True) for pair in zip(own, heights, strict=True)]
    rise = 64 * 2**16 * tables[0].weight
    rise += sum(height * (2**32 if n == 8 else 2**16 * tables[n].weight) for n, height in pairs)
    require(rise <= 2**61, "shape.time")
    require(10 not in numbers[0] or (len(numbers) == 1 and cycles <= 2**17), "shape.sparse_range")
    for number, height in pairs:
        require(64 <= height <= MOST_ROWS, "shape.rows")
        check_single(number, height, program, *words)
    rule = "shape.uses"
    for bounds in SETS:
        found = cycles_range(numbers, rows, cycles, tables, bounds)
        if found is not None:
            rule = "shape.cycles"
            if found[0] <= cycles <= found[1]:
                return
    raise Refused(rule)


def least(k: int) -> int:
    """Return the rows for k."""
    rows = 64
    while rows < k:
        rows *= 2
    return rows


def check_single(number: int, rows: int, program: Program, w: int, v: int) -> None:
    """Check the rows of a table that may not repeat."""
    exact = {2: 64, 11: 64, 9: 2**16, 13: 2**14, 1: program.program_rows, 3: program.data_rows}
    if number in exact:
        require(rows == exact[number], "shape.height")
    regions = {
        4: (program.zero_base, 2**31),
        5: (2**31, 3 * 2**30),
        7: (3 * 2**30 + 8 * max(w, 1), 2**32),
        15: (2**31 + 8 * v, 3 * 2**30),
    }
    if number in regions:
        start, end = regions[number]
        require(rows <= least(2 + (end - start) // 8), "shape.height")
    if number in (6, 14):
        words = w if number == 6 else v
        require(rows == least(-(-words // lanes_of_words(number, w, v))), "shape.height")


@lru_cache(maxsize=1024)
def lanes_of_words(number: int, w: int, v: int) -> int:
    """Return the lanes of table 6 or 14: more lanes than words are never the least."""
    words, each = (w, 4) if number == 6 else (v, 6)
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
    if number in ROWS_OF_CALL:
        return Rule(1, ROWS_OF_CALL[number], idle, low)
    pair = chip_of(number)
    chip, lanes = pair or (0, 1)
    return Rule(lanes, ROWS_OF_CHIP.get(chip, 1), idle, low)


def own_tables_from(chip: int, cycles: int, bounds: Bounds) -> int:
    """Return the number of uses from which a chip has tables of its own."""
    if chip in CALLS:
        return 1
    if chip >= FIRST_IN_PLACE:
        return bounds.a
    return bounds.b if cycles < 2**18 else 2 * bounds.b


def uses_of(
    own: Sequence[int], rows: Sequence[int], cycles: int, tables: dict[int, Derived], bounds: Bounds
) -> dict[int, range]:
    """Return the numbers of uses that lead to the tables of a shard, by number."""
    found = dict[int, range]()
    for number in sorted(set(own) - ONCE):
        heights = [height for other, height in zip(own, rows, strict=True) if other == number]
        if number == 10:
            others = sum(tables[other].cells for other in own if other != 10)
            found[number] = common(Rule(1, 1, 2**13 if others >= 720 else MOST_ROWS, (64,)).uses(heights), 1, 2**15)
            continue
        found[number] = rule_of(number, tables[number].cells, cycles, bounds).uses(heights)
        pair = chip_of(number)
        if number in (4096, 4097):
            sharing = COMMON if number == 4096 else RARE
            most = sum(1 if f == HALT else own_tables_from(f, cycles, bounds) - 1 for f in sharing)
            found[number] = common(found[number], 1, most)
        elif pair:
            chip, lanes = pair
            from_, to = {1: (1, bounds.c - 1), 2: (bounds.c, bounds.d - 1), 4: (bounds.d, 2**62)}[lanes]
            to = 2**62 if chip in ROWS_OF_CHIP else to
            found[number] = common(found[number], max(from_, own_tables_from(chip, cycles, bounds)), to)
    callers = [counts for number, counts in found.items() if permutes(number)]
    if callers and all(callers):
        calls = range(sum(counts[0] for counts in callers), sum(counts[-1] for counts in callers) + 1)
        calls = common(calls, bounds.h, 2**62) if 12 in found else common(calls, 1, bounds.h - 1)
        of_calls = MANY_CALLS if 12 in found else FEW_CALLS
        for other in of_calls:
            calls = common(calls, found[other].start, found[other].stop - 1)
        found |= dict.fromkeys(of_calls, calls)
    return found


def permutes(number: int) -> bool:
    """Return whether the uses of a table are calls of Keccak-f."""
    pair = chip_of(number)
    return pair is not None and pair[0] in PERMUTING


def cycles_range(
    numbers: Sequence[Sequence[int]],
    rows: Sequence[Sequence[int]],
    cycles: int,
    tables: dict[int, Derived],
    bounds: Bounds,
) -> tuple[int, int] | None:
    """Return the least and largest sum of the uses of all chips; None if no uses lead to some tables.

    The chips that call Keccak-f have as many uses together as table 12 or table 4099.
    """
    fewest, most = 0, 0
    for own, heights in zip(numbers, rows, strict=True):
        uses = uses_of(own, heights, cycles, tables, bounds)
        if not all(uses.values()):
            return None
        for number, counts in uses.items():
            if number in (12, 4096, 4097, 4099) or (chip_of(number) and not permutes(number)):
                fewest, most = fewest + counts[0], most + counts[-1]
    return fewest, most


def common(counts: range, fewest: int, most: int) -> range:
    return range(max(counts.start, fewest), min(counts.stop, most + 1))
