"""The shape of a statement about an execution: the tables of each shard and their heights.

The prover derives heights from the uses of each table (instructions, bumps, permutations or numbers). The verifier
inverts this: it derives the possible uses from a proof's heights, and refuses a shape without any. So it accepts only
shapes that honest proving produces.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import itemgetter

from graphprover.protocol.errors import RuleError
from graphprover.protocol.parameters import SMALL
from graphprover.vm.statement.table_numbers import (
    CALL_CHIPS,
    CHIP_TABLES,
    EXIT,
    IN_PLACE,
    LANES,
    ROWS_OF_CHIP,
    SHARED,
    SHARED_TABLE,
    ChipTable,
    TableNumber,
    lanes_of,
    name_of,
)
from graphprover.vm.statement.table_rules import (
    CALL_TABLES,
    NARROW_TABLES,
    ROWS_OF_CALL,
    SEVERAL,
    WIDE_TABLES,
    naming,
)
from graphprover.vm.tables.bump import BUMP_LANES

MIN_ROWS = 64  # minimum height of a table: lower ones would make the proof longer, not shorter
MAX_LOG_ROWS = 26  # limit of a table: addresses of a region, which rise by at most 2^35 a row, stay below 2^61
MAX_ROWS = 1 << MAX_LOG_ROWS
# Every distinct height adds a fold and its Merkle paths. Below `LayoutPolicy.merged_rows` a table has one of these
# heights: folds of arity 8 meet them without a stop between.
MERGED_ROWS = (MIN_ROWS, 1 << 10, 1 << 13)
LONG = 1 << 18  # cycles from which a run is long, see ``LayoutPolicy``
# The sparse range table has twice the cells a row of the full table of numbers, but only rows for numbers that the run
# looks up. Counting these takes the run's traces, so only short runs in one shard have it.
SPARSE_CYCLES = 1 << 17  # most cycles of a run with a sparse range table
SPARSE_NUMBERS = 1 << 15  # most different numbers of such a run
# A sparse range table is split if more than SPARSE_IDLE rows would be idle and the other tables have at least
# SPARSE_WORDS committed cells a row together, so that the additional table adds at most 5 % to the opened words.
SPARSE_IDLE = 1 << 13
SPARSE_WORDS = 720


@dataclass(frozen=True)
class LayoutPolicy:
    """Trade-off between proof size and trace area.

    Every table adds one opened row per query whatever its height, so a chip gets a table of its own, and a row more
    lanes, only from these thresholds on. A run has one policy in all its shards. A proof does not name its policy: the
    meaning of a table does not depend on it. docs/cost.md has the same values in its table "Layout policy".
    """

    in_place: int  # instructions from which an in-place chip has its own table
    own_table: int  # instructions from which any other chip has its own table
    own_table_long: int  # the same in a run of LONG cycles or more
    two_lanes: int  # instructions of a chip from which two share a row
    four_lanes: int  # instructions of a chip from which four share a row
    idle_cells: int  # idle cells above which a table is split, if its idle rows exceed their threshold too
    idle_rows: int  # idle rows above which a table is split, if its idle cells exceed their threshold too
    merged_rows: int  # rows below which a table in a run of LONG cycles or more has one of MERGED_ROWS
    wide_permutations: int  # permutations from which they have the wide tables

    @property
    def lanes_from(self) -> dict[int, int]:
        """The fewest instructions of a chip for each number of lanes, rising."""
        return dict(zip(LANES, (0, self.two_lanes, self.four_lanes), strict=True))

    def low_heights(self, cycles: int) -> tuple[int, ...]:
        """Return the only heights up to the last of them that tables of a run of ``cycles`` cycles have, rising."""
        if cycles < LONG:
            return (MIN_ROWS,)
        return (*(rows for rows in MERGED_ROWS if rows < self.merged_rows), self.merged_rows)


DEFAULT = LayoutPolicy(  # values an opened word at about 2^12 to 2^14 cells
    in_place=1 << 16,
    own_table=1 << 10,
    own_table_long=1 << 11,
    two_lanes=1 << 17,
    four_lanes=1 << 19,
    idle_cells=1 << 20,
    idle_rows=1 << 12,
    merged_rows=MIN_ROWS,
    wide_permutations=1 << 8,
)
COMPACT = LayoutPolicy(  # values an opened word at 32 times as many cells
    in_place=1 << 21,
    own_table=1 << 15,
    own_table_long=1 << 16,
    two_lanes=1 << 22,
    four_lanes=1 << 24,
    idle_cells=1 << 25,
    idle_rows=1 << 17,
    merged_rows=1 << 16,
    wide_permutations=1 << 13,
)


def may_have_sparse_range(cycles: int, shards: int) -> bool:
    """Return whether a run of this length in this number of shards may have a sparse range table."""
    return shards == 1 and cycles <= SPARSE_CYCLES


def policy_at(rate: int | None) -> LayoutPolicy:
    """Return the layout policy for a proof at rate 1/``rate``: compact from 1/8 on, else default.

    ``rate`` is None if the user chose none.
    """
    return COMPACT if rate is not None and rate >= SMALL else DEFAULT


def least_for(chip: str, cycles: int, policy: LayoutPolicy) -> int:
    """Return the fewest instructions with which a chip has its own table, in a run of ``cycles`` cycles."""
    if chip in CALL_CHIPS:
        return 1
    if chip == EXIT:
        return 2  # never: it proves one
    if chip.endswith(IN_PLACE):
        return policy.in_place
    return policy.own_table if cycles < LONG else policy.own_table_long


def table_for(chip: str, count: int, cycles: int, policy: LayoutPolicy) -> int:
    """Return the number of the table, its own or a shared one, in which a chip proves ``count`` instructions.

    ``cycles``: length of the whole run, in all its shards.
    """
    if count < least_for(chip, cycles, policy):
        return SHARED_TABLE[chip]
    lanes = [lanes for lanes in lanes_of(chip) if count >= policy.lanes_from[lanes]]
    return ChipTable(chip, max(lanes)).number


def permutation_tables(calls: int, policy: LayoutPolicy) -> Mapping[int, int]:
    """Return the rows of a permutation in each of the tables for these calls of it, one or more."""
    return WIDE_TABLES if calls >= policy.wide_permutations else NARROW_TABLES


def rows_for(count: int) -> int:
    """Return the height of a table with ``count`` rows in use."""
    return max(MIN_ROWS, 1 << max(count - 1, 0).bit_length())


def lowest(count: int, low_heights: Sequence[int]) -> int:
    """Return the lowest height for ``count`` rows in use; ``low_heights`` are the only ones up to the last of them."""
    return next((rows for rows in low_heights if count <= rows), rows_for(count))


_UNBOUNDED = 1 << 62  # more than any number of uses


@dataclass(frozen=True)
class Packing:
    """How uses fill the tables of one number: ``uses`` of them fill ``rows`` rows.

    ``spare`` is at least ``rows``, unless a use fits MIN_ROWS: so a table that is split has room for a use.
    """

    uses: int
    rows: int
    spare: int  # most idle rows of a table that is not split
    low_heights: tuple[int, ...]  # the only heights up to the last of them, rising

    def needed(self, count: int) -> int:
        """Return the rows that ``count`` uses fill."""
        return -(-count * self.rows // self.uses)

    def room(self, rows: int) -> int:
        """Return the most uses that fit ``rows`` rows."""
        return rows * self.uses // self.rows

    def heights(self, count: int) -> list[int]:
        """Return the heights of the tables for ``count`` uses; none for none.

        Each table is the lowest for all uses left. If more than ``spare`` of its rows would be idle, it has the next
        lower height, and others follow. MIN_ROWS and MAX_ROWS bound each height.
        """
        found = []
        while count > 0:
            rows = self.needed(count)
            height = lowest(rows, self.low_heights)
            if height > MIN_ROWS and height - rows > self.spare:
                height = self._below(height)
            found.append(min(height, MAX_ROWS))
            count -= min(count, self.room(found[-1]))
        return found

    def shares(self, count: int) -> Iterator[tuple[int, int, int]]:
        """Yield the height of each of these tables and the range first..last of its uses."""
        first = 0
        for height in self.heights(count):
            last = min(first + self.room(height), count)
            yield height, first, last
            first = last

    def counts(self, heights: Sequence[int]) -> range:
        """Return all numbers of uses that give these heights, one or more: the inverse of ``heights``."""
        if any(height != lowest(height, self.low_heights) for height in heights):
            return range(0)
        found = range(1, self.room(sum(heights)) + 1)
        before = 0  # uses in the tables before
        for index, height in enumerate(heights):
            left = self._left(height, last=index == len(heights) - 1)
            found = _common(found, range(before + left.start, before + left.stop))
            before += self.room(height)
        return found

    def _left(self, height: int, last: bool) -> range:
        """Return the numbers of uses left for which ``heights`` chooses this height, and no more tables if ``last``.

        The last table holds all uses left, which neither fit the next lower height nor leave more than ``spare`` rows
        idle. Any other is full and is MAX_ROWS, or the next height below that for all uses left, of which more than
        ``spare`` rows would be idle.
        """
        if last:
            too_few = 0 if height == MIN_ROWS else max(self._below(height), height - self.spare - 1)
            return range(self.room(too_few) + 1, self.room(height) + 1)
        above = lowest(height + 1, self.low_heights)
        most = _UNBOUNDED if height == MAX_ROWS else self.room(above - self.spare - 1)
        return range(self.room(height) + 1, most + 1)

    def _below(self, height: int) -> int:
        """Return the next lower height."""
        if height > self.low_heights[-1]:
            return height // 2
        return max(low for low in self.low_heights if low < height)


def sparse_range_packing(words: int) -> Packing:
    """Return how numbers fill sparse range tables, if the other tables have ``words`` committed cells a row."""
    return Packing(1, 1, SPARSE_IDLE if words >= SPARSE_WORDS else SPARSE_NUMBERS, (MIN_ROWS,))


def packing(number: int, cells: int, cycles: int, policy: LayoutPolicy) -> Packing:
    """Return how uses fill tables of chips, bumps or permutations of ``cells`` committed cells a row.

    ``cycles``: length of the whole run, in all its shards.
    """
    spare, low_heights = max(policy.idle_cells // cells, policy.idle_rows), policy.low_heights(cycles)
    if number in ROWS_OF_CALL:
        return Packing(1, ROWS_OF_CALL[number], spare, low_heights)
    if number in SHARED:
        return Packing(1, 1, spare, low_heights)
    if number == TableNumber.BUMP:
        return Packing(BUMP_LANES, 1, spare, low_heights)
    table = CHIP_TABLES[number]
    return Packing(table.lanes, ROWS_OF_CHIP.get(table.chip, 1), spare, low_heights)


def check_heights(
    shards: Sequence[Sequence[int]],
    heights: Sequence[Sequence[int]],
    cycles: int,
    cells: Callable[[int], int],
    rows: Callable[[int], range],
) -> None:
    """Raise ValueError unless an execution of ``cycles`` cycles, split into shards, has tables of these heights.

    The rule: under one of the layout policies, the same for all shards, every table has a possible number of uses
    (`_cycles_proved`), and the chips of all shards together can prove ``cycles`` cycles.

    Args:
        shards: Numbers of each shard's tables, which satisfy `check_numbers`.
        heights: Rows of each of these tables.
        cycles: Length of the whole run.
        cells: Maps a table's number to its committed cells a row.
        rows: Maps the number of a table that cannot repeat to the numbers of rows that executions need.

    Raises:
        ValueError: If no execution has these heights; names the violation of the default policy.
    """
    if TableNumber.SPARSE_RANGE in shards[0] and not may_have_sparse_range(cycles, len(shards)):
        raise RuleError(
            "shape.sparse_range", f"table sparse_range is allowed only in one shard of at most {SPARSE_CYCLES:,} cycles"
        )

    def check_at(policy: LayoutPolicy) -> None:
        least = most = 0
        for index, (numbers, own) in enumerate(zip(shards, heights, strict=True)):
            with naming(index, len(shards)):
                proved = _cycles_proved(numbers, own, cycles, cells, rows, policy)
            least, most = least + proved[0], most + proved[-1]
        if not least <= cycles <= most:
            raise RuleError(
                "shape.cycles",
                f"instruction tables account for {least:,} to {most:,} cycles, but the proof claims {cycles:,}",
            )

    errors: list[RuleError] = []
    for policy in (DEFAULT, COMPACT):
        try:
            return check_at(policy)
        except RuleError as error:
            errors.append(error)
    raise errors[0]


def _cycles_proved(
    numbers: Sequence[int],
    heights: Sequence[int],
    cycles: int,
    cells: Callable[[int], int],
    rows: Callable[[int], range],
    policy: LayoutPolicy,
) -> range:
    """Return how many of ``cycles`` cycles the chips of a shard may prove under a policy.

    The rule: all heights are from MIN_ROWS to MAX_ROWS. A table that cannot repeat has the height for one of its
    possible numbers of rows. The tables of any other number have a range of possible numbers of uses, which must not
    be empty: `Packing.counts`, at most SPARSE_NUMBERS for sparse range tables, for a chip the counts with which it has
    these tables (`_instructions`), and as many permutations as calls of all chips that need them, with which these have
    the wide or the narrow tables. The result is the sum of the ranges of permutations and of all other chips.

    Raises:
        ValueError: If no run has these tables.
    """
    tables = {
        number: [height for _, height in group]
        for number, group in groupby(zip(numbers, heights, strict=True), key=itemgetter(0))
    }
    for number, own in tables.items():
        if not all(MIN_ROWS <= height <= MAX_ROWS for height in own):
            raise RuleError(
                "shape.rows", f"table {name_of(number)} has {_shown(own)} rows, not {MIN_ROWS} to 2^{MAX_LOG_ROWS}"
            )
    uses: dict[int, range] = {}
    for number, own in tables.items():
        if number == TableNumber.SPARSE_RANGE:
            words = sum(cells(other) for other in numbers if other != number)
            uses[number] = _common(sparse_range_packing(words).counts(own), range(1, SPARSE_NUMBERS + 1))
        elif number in CHIP_TABLES or number in SEVERAL:
            counts = packing(number, cells(number), cycles, policy).counts(own)
            uses[number] = _common(counts, _instructions(number, cycles, policy))
        else:
            _check_height(number, own[0], rows(number))
    uses |= _permutations(uses, policy)
    for number, counts in uses.items():
        if not counts:
            raise RuleError(
                "shape.uses", f"no number of uses gives tables {name_of(number)} of {_shown(tables[number])} rows"
            )
    permuting = {TableNumber.KECCAK_ROUNDS, TableNumber.KECCAK_CLASSES}
    proving = (CHIP_TABLES.keys() | SHARED.keys() | permuting) - CALL_TABLES
    return _sum([counts for number, counts in uses.items() if number in proving])


def _check_height(number: int, height: int, rows: range) -> None:
    least, most = rows_for(rows[0]), rows_for(rows[-1])
    if not least <= height <= most:
        raise RuleError(
            "shape.height",
            f"table {name_of(number)} has {height:,} rows, but executions need {least:,} to {most:,}",
        )


def _permutations(uses: Mapping[int, range], policy: LayoutPolicy) -> dict[int, range]:
    """Return the possible numbers of permutations, by table: those of all calls, with which they have these tables."""
    callers = [uses[number] for number in CALL_TABLES & uses.keys()]
    if not callers or not all(callers):
        return {}
    wide = TableNumber.KECCAK_ROUNDS in uses
    few = range(1, policy.wide_permutations)
    calls = _common(_sum(callers), range(few.stop, _UNBOUNDED) if wide else few)
    tables = WIDE_TABLES if wide else NARROW_TABLES
    return dict.fromkeys(tables, reduce(_common, (uses[number] for number in tables), calls))


def _instructions(number: int, cycles: int, policy: LayoutPolicy) -> range:
    """Return for how many instructions, of ``cycles`` cycles, `table_for` chooses this table of a chip or of several.

    A shared table has at least one instruction, and of each chip fewer than give the chip its own table. Other tables
    prove no instructions: any number is possible.
    """
    if number in SHARED:
        most = sum(least_for(chip, cycles, policy) - 1 for chip in SHARED[TableNumber(number)])
        return range(1, min(cycles, most) + 1)
    if number not in CHIP_TABLES:
        return range(1, _UNBOUNDED)
    table = CHIP_TABLES[number]
    least = max(policy.lanes_from[table.lanes], least_for(table.chip, cycles, policy))
    more_lanes = [policy.lanes_from[lanes] for lanes in lanes_of(table.chip) if lanes > table.lanes]
    return range(least, min([cycles + 1, *more_lanes]))


def _shown(heights: Sequence[int], most: int = 8) -> str:
    """Return the first heights as text: a header may have 65,535."""
    return ", ".join(f"{height:,}" for height in heights[:most]) + ", ..." * (len(heights) > most)


def _sum(counts: Sequence[range]) -> range:
    """Return the sums of numbers from these ranges, of which none is empty."""
    return range(sum(some[0] for some in counts), sum(some[-1] for some in counts) + 1)


def _common(a: range, b: range) -> range:
    """Return the numbers in both ranges."""
    return range(max(a.start, b.start), min(a.stop, b.stop))
