"""Which tables a statement about an execution has, in each of its shards, and how tall each is.

The prover goes from what a run uses to heights; the verifier goes back, from the tables that a proof names to the uses
that lead to them, and refuses a shape that none do. So it accepts no shape that honest proving never makes.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby, pairwise
from operator import itemgetter

from graphprover.protocol.parameters import SMALL
from graphprover.vm.statement.table_numbers import (
    BOUNDARY,
    CHIP_TABLES,
    EXIT,
    IN_PLACE,
    LANES,
    SHARED,
    SHARED_TABLE,
    ChipTable,
    TableNumber,
    name_of,
)
from graphprover.vm.tables.bump import BUMP_LANES
from graphprover.vm.tables.keccak_f import ROUNDS

MIN_ROWS = 64  # of a table: shorter ones would make the proof longer, not shorter
MAX_LOG_ROWS = 26  # of a table: addresses of a region, which rise by at most 2^35 a row, stay below 2^61
MAX_ROWS = 1 << MAX_LOG_ROWS
LONG = 1 << 18  # cycles of a run in which a chip has tables from twice as many instructions on
# A statement may have any number of these.
SEVERAL = frozenset({TableNumber.BUMP, TableNumber.FEW_NUMBERS, TableNumber.KECCAK_F, *SHARED})
# A row of few numbers has twice the cells of one of all numbers, but there are no more rows than a run asks for. Which
# these are takes its traces, so that a run of few numbers has them made twice.
SHORT = 1 << 17  # cycles up to which a run in one shard may have few numbers
MOST_FEW = 1 << 15  # of them
# They are split beyond so many idle rows, whose cells are 2^13 a word of another table, and only where that is no more
# than a twentieth of the words of all others: bytes of a proof.
SPARE_FEW = 1 << 13
MANY_WORDS = 720
# Where the run, registers and words begin and end: elsewhere as well they would have a second history.
OF_FIRST_SHARD = frozenset({
    BOUNDARY, TableNumber.REGISTERS, TableNumber.IMAGE, TableNumber.ZERO, TableNumber.INPUT, TableNumber.OUTPUT,
    TableNumber.ZERO_ABOVE, TableNumber.STATED_INPUT, TableNumber.ZERO_BETWEEN,
})  # fmt: skip


@dataclass(frozen=True)
class LayoutPolicy:
    """What words are worth in cells: a table costs a proof a row for each query, however tall it is.

    A run has one layout policy, in all its shards. A proof does not say which, and need not: what tables say does not
    depend on how they were chosen.
    """

    in_place: int  # instructions of a chip in place from which on it has tables
    fewest: tuple[int, ...]  # those of any other, and those from which on so many, LANES, share a row
    idle_cells: int  # and
    idle_rows: int  # beyond both of which a table is split into two


DEFAULT = LayoutPolicy(
    1 << 16, (1 << 10, 1 << 17, 1 << 19), 1 << 20, 1 << 12
)  # a word is worth some 2^12 to 2^14 cells
COMPACT = LayoutPolicy(1 << 18, (1 << 12, 1 << 19, 1 << 21), 1 << 22, 1 << 14)  # four times as many


class Kind(IntEnum):
    """A statement, or a shard of one, by which of its tables have preprocessed columns."""

    FIRST = 0  # a statement, or the first shard of one
    SHORT = 1  # a statement with few numbers
    OTHER = 2  # a shard behind the first


# Without the program's data, which all but the others have, if there are any.
_PREPROCESSED = {
    Kind.FIRST: (TableNumber.PROGRAM, TableNumber.REGISTERS, TableNumber.NUMBERS, TableNumber.POWERS),
    Kind.SHORT: (TableNumber.PROGRAM, TableNumber.REGISTERS, TableNumber.POWERS),
    Kind.OTHER: (TableNumber.PROGRAM, TableNumber.NUMBERS, TableNumber.POWERS),
}
_TABLE_NUMBERS = frozenset(map(int, TableNumber))
KECCAK_CALL = "keccak_call"  # the chip that needs the permutation
_CALLS = frozenset(ChipTable(KECCAK_CALL, lanes).number for lanes in LANES)


def preprocessed(kind: Kind, data: bool) -> tuple[TableNumber, ...]:
    """The tables with preprocessed columns, in order; ``data``: whether the program brings any."""
    image = (TableNumber.IMAGE,) if data and kind != Kind.OTHER else ()
    return tuple(sorted((*_PREPROCESSED[kind], *image)))


def may_have_few(cycles: int, shards: int) -> bool:
    """Whether a run of so many cycles in this number of shards has few numbers, if it asks for no more."""
    return shards == 1 and cycles <= SHORT


def policy_at(rate: int | None) -> LayoutPolicy:
    """The layout policy of a run's tables where a proof at rate 1/``rate`` is asked for; None: none is.

    Who asks for the last of the rates wants the smallest proof.
    """
    return COMPACT if rate == SMALL else DEFAULT


def least_for(chip: str, cycles: int, policy: LayoutPolicy) -> int:
    """Instructions of a chip from which on it has tables of its own, in a run of so many cycles."""
    if chip == KECCAK_CALL:
        return 1
    if chip == EXIT:
        return 2  # and it proves one
    if chip.endswith(IN_PLACE):
        return policy.in_place
    return policy.fewest[0] if cycles < LONG else 2 * policy.fewest[0]


def table_for(chip: str, count: int, cycles: int, policy: LayoutPolicy) -> int:
    """The number of the table in which a chip proves so many instructions: its own, or one that it shares.

    ``cycles``: those of the run, in all its shards.
    """
    if count < least_for(chip, cycles, policy):
        return SHARED_TABLE[chip]
    return ChipTable(chip, LANES[max(bisect_right(policy.fewest, count) - 1, 0)]).number


def rows_for(count: int) -> int:
    """The rows of a table that needs ``count``."""
    return max(MIN_ROWS, 1 << max(count - 1, 0).bit_length())


@dataclass(frozen=True)
class Packing:
    """How uses fill the rows of tables of one kind, which are split where one would be idle for long."""

    uses: int  # that fit ``rows``
    rows: int
    spare: int  # idle rows that split nothing

    def needed(self, count: int) -> int:
        """Rows for so many uses."""
        return -(-count * self.rows // self.uses)

    def room(self, rows: int) -> int:
        """Uses that fit so many rows."""
        return rows * self.uses // self.rows

    def heights(self, count: int) -> list[int]:
        """The heights of the tables for so many uses; none for none."""
        found = []
        while count > 0:
            rows = self.needed(count)
            height = rows_for(rows)
            if height > MIN_ROWS and height - rows > self.spare:
                height //= 2
            found.append(min(height, MAX_ROWS))
            count -= min(count, self.room(found[-1]))
        return found

    def shares(self, count: int) -> Iterator[tuple[int, int, int]]:
        """For each of these tables its height and the uses first..last that it takes."""
        first = 0
        for height in self.heights(count):
            last = min(first + self.room(height), count)
            yield height, first, last
            first = last

    def counts(self, heights: Sequence[int]) -> range:
        """All numbers of uses that give these heights, one or more: the inverse of ``heights``."""
        *full, last = heights
        before, least, most = 0, 1, self.room(sum(heights))
        for height in full:
            least = max(least, before + self.room(height) + 1)
            if height < MAX_ROWS:
                most = min(most, before + self.room(2 * height - self.spare - 1))
            before += self.room(height)
        fewer = 0 if last == MIN_ROWS else max(last // 2, last - self.spare - 1)  # rows that a lower table would have
        least = max(least, before + self.room(fewer) + 1)
        return range(least, min(most, before + self.room(last)) + 1)


def few_packing(words: int) -> Packing:
    """How few numbers fill their tables, beside others of so many committed cells a row, all together."""
    return Packing(1, 1, SPARE_FEW if words >= MANY_WORDS else MOST_FEW)


def packing(number: int, cells: int, policy: LayoutPolicy) -> Packing:
    """How the uses of chips, of bumps or of permutations fill tables of so many committed cells a row."""
    spare = max(policy.idle_cells // cells, policy.idle_rows)
    if number == TableNumber.KECCAK_F:
        return Packing(1, ROUNDS, spare)
    if number in SHARED:
        return Packing(1, 1, spare)
    return Packing(BUMP_LANES if number == TableNumber.BUMP else CHIP_TABLES[number].lanes, 1, spare)


def check_numbers(shards: Sequence[Sequence[int]], data: bool) -> None:
    """Raises ValueError unless an execution may have these tables beside the boundary, which is in the first shard.

    ``data``: whether the program brings any.
    """
    last = len(shards) - 1
    for index, numbers in enumerate(shards):
        with _naming(index, len(shards)):
            once = next((number for number in numbers if index and number in OF_FIRST_SHARD), None)
            if once is not None:
                raise ValueError(f"the table {name_of(once)} stands in shard 0 and in no other")
            kind = Kind.OTHER if index else Kind.SHORT if TableNumber.FEW_NUMBERS in numbers else Kind.FIRST
            _check_shard(numbers, preprocessed(kind, data), exits=index == last)


def _check_shard(numbers: Sequence[int], required: Collection[int], exits: bool) -> None:
    """The same for what concerns one shard alone; ``exits``: whether the run does in it."""
    present = set(numbers)
    unknown = next((number for number in numbers if number not in CHIP_TABLES and number not in _TABLE_NUMBERS), None)
    if unknown is not None:
        raise ValueError(f"no table beside the boundary has the number {unknown}")
    if list(numbers) != sorted(numbers):
        raise ValueError("the tables are not in the order of their numbers")
    again = next((a for a, b in pairwise(numbers) if a == b and a in _TABLE_NUMBERS - SEVERAL), None)
    if again is not None:
        raise ValueError(f"the table {name_of(again)} is there twice")
    missing = min(set(required) - present, default=None)
    if missing is not None:
        raise ValueError(f"the table {name_of(missing)}, which every statement has, is missing")
    if {TableNumber.NUMBERS, TableNumber.FEW_NUMBERS} <= present:
        raise ValueError("numbers are there twice")
    if exits and SHARED_TABLE[EXIT] not in present:
        raise ValueError("the exit, which every run ends with, is missing")
    if (TableNumber.INPUT in present and TableNumber.STATED_INPUT in present) or (
        TableNumber.ZERO_BETWEEN in present and TableNumber.STATED_INPUT not in present
    ):
        raise ValueError("the input's memory is there twice, or in part")
    if {TableNumber.KECCAK_F in present, TableNumber.EVEN in present} != {not _CALLS.isdisjoint(present)}:
        raise ValueError("calls of the permutation, its tables and its even numbers are not all there, or all absent")
    chips = [CHIP_TABLES[number].chip for number in sorted(present - _TABLE_NUMBERS)]
    if not chips and SHARED.keys().isdisjoint(present):
        raise ValueError("no cycle is proved")
    twice = next((a for a, b in pairwise(chips) if a == b), None)
    if twice is not None:
        raise ValueError(f"the chip {twice} has tables of different lanes")


def check_heights(
    shards: Sequence[Sequence[int]],
    heights: Sequence[Sequence[int]],
    cycles: int,
    cells: Callable[[int], int],
    rows: Callable[[int], range],
) -> None:
    """Raises ValueError unless some execution of so many cycles, cut into cycle ranges, has tables of these heights.

    At one of the layout policies, the same for all shards; where at none, it says what is wrong at the usual one.
    ``shards``: their numbers, which are checked; ``cells``: committed cells of a row of a table; ``rows``: how many a
    table that is there once may need.
    """
    if TableNumber.FEW_NUMBERS in shards[0] and not may_have_few(cycles, len(shards)):
        raise ValueError(f"few numbers, in a run of more than {SHORT:,} cycles or in shards")

    def check_at(policy: LayoutPolicy) -> None:
        least = most = 0
        for index, (numbers, own) in enumerate(zip(shards, heights, strict=True)):
            with _naming(index, len(shards)):
                proved = _cycles_proved(numbers, own, cycles, cells, rows, policy)
            least, most = least + proved[0], most + proved[-1]
        if not least <= cycles <= most:
            raise ValueError(f"tables of chips for another number of cycles than {cycles:,}")

    wrong: list[ValueError] = []
    for policy in (DEFAULT, COMPACT):
        try:
            return check_at(policy)
        except ValueError as error:
            wrong.append(error)
    raise wrong[0]


def _cycles_proved(
    numbers: Sequence[int],
    heights: Sequence[int],
    cycles: int,
    cells: Callable[[int], int],
    rows: Callable[[int], range],
    policy: LayoutPolicy,
) -> range:
    """How many cycles the chips of a shard may prove, of so many in all; raises ValueError where none lead to it."""
    uses: dict[int, range] = {}
    for number, group in groupby(zip(numbers, heights, strict=True), key=itemgetter(0)):
        own = [height for _, height in group]
        if not all(MIN_ROWS <= height <= MAX_ROWS for height in own):
            raise ValueError(f"a table {name_of(number)} has not {MIN_ROWS} to 2^{MAX_LOG_ROWS} rows: {own}")
        if number == TableNumber.FEW_NUMBERS:
            words = sum(cells(other) for other in numbers if other != number)
            uses[number] = _common(few_packing(words).counts(own), range(1, MOST_FEW + 1))
        elif number in CHIP_TABLES or number in SEVERAL:
            uses[number] = packing(number, cells(number), policy).counts(own)
        elif not rows_for(rows(number)[0]) <= own[0] <= rows_for(rows(number)[-1]):
            raise ValueError(f"the table {name_of(number)} has {own[0]:,} rows; no execution needs as many, or as few")
    proving = (CHIP_TABLES.keys() | SHARED.keys()) & uses.keys()
    for number in proving:
        uses[number] = _common(uses[number], _fitting(number, cycles, policy))
    for number in _CALLS & uses.keys():
        uses[number] = uses[TableNumber.KECCAK_F] = _common(uses[number], uses[TableNumber.KECCAK_F])
    for number, counts in uses.items():
        if not counts:
            raise ValueError(f"tables {name_of(number)} of these heights: no number of uses leads to them")
    proved = [uses[number] for number in proving]
    return range(sum(counts[0] for counts in proved), sum(counts[-1] for counts in proved) + 1)


def _fitting(number: int, cycles: int, policy: LayoutPolicy) -> range:
    """How many instructions, of so many cycles, a table of chips has."""
    if number in SHARED:
        most = sum(least_for(chip, cycles, policy) - 1 for chip in SHARED[TableNumber(number)])
        return range(1, min(cycles, most) + 1)
    table = CHIP_TABLES[number]
    fewest, *others = (0, *policy.fewest[1:])[LANES.index(table.lanes) :]
    return range(max(fewest, least_for(table.chip, cycles, policy)), min([cycles + 1, *others]))


@contextmanager
def _naming(index: int, shards: int) -> Iterator[None]:
    """Errors about a shard say which."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"shard {index}: {error}" if shards > 1 else str(error)) from None


def _common(a: range, b: range) -> range:
    return range(max(a.start, b.start), min(a.stop, b.stop))
