"""Which tables a statement about an execution has, and how tall each is.

The prover goes from what a run uses to heights; the verifier goes back, from the tables that a proof names to the uses
that lead to them, and refuses a shape that none do. So it accepts no shape that honest proving never makes.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

from graphprover.vm.parts import Part
from graphprover.vm.tables.bump import LANES as BUMP_LANES
from graphprover.vm.tables.keccak_f import ROUNDS
from graphprover.vm.version import NUMBERS

MIN_ROWS = 64  # of a table: shorter ones would make the proof longer, not shorter
MAX_LOG_ROWS = 26  # of a table: addresses of a region, which rise by at most 2^35 a row, stay below 2^61
MAX_ROWS = 1 << MAX_LOG_ROWS
LANES = (1, 4)  # instructions in a row of a family's table
MANY = 1 << 12  # instructions of a family from which on several share a row
SPLIT_CELLS = 1 << 20  # idle cells from which on a table is split into two
PARTS = 16  # numbers below are tables of the machine; a family's table is called family * PARTS + lanes


SEVERAL = frozenset({Part.BUMP, Part.KECCAK_F})  # a statement may have any number of these


@dataclass(frozen=True)
class Place:
    """A family's table in a statement."""

    family: str
    lanes: int

    @property
    def code(self) -> int:
        """Its number in the shape of the statement."""
        return NUMBERS[self.family] * PARTS + self.lanes


PLACES = {place.code: place for family in NUMBERS for lanes in LANES for place in (Place(family, lanes),)}
_PART_CODES = frozenset(map(int, Part))
KECCAK_CALL = "keccak_call"  # the family that needs the permutation
_CALLS = frozenset(Place(KECCAK_CALL, lanes).code for lanes in LANES)
_ONCE = frozenset(Place("halt", lanes).code for lanes in LANES)  # proves one cycle, the last


def lanes_for(count: int) -> int:
    """How many share a row, where a family proves so many instructions."""
    return LANES[count >= MANY]


def rows_for(count: int) -> int:
    """The rows of a table that needs ``count``."""
    return max(MIN_ROWS, 1 << max(count - 1, 0).bit_length())


@dataclass(frozen=True)
class Packing:
    """How uses fill the rows of tables of one kind, which are split where one would be idle for long."""

    uses: int  # that fit ``rows``
    rows: int
    cells: int  # committed cells of a row

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
            if height > MIN_ROWS and (height - rows) * self.cells > SPLIT_CELLS:
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
        spare = SPLIT_CELLS // self.cells  # idle rows that split nothing
        before, least, most = 0, 1, self.room(sum(heights))
        for height in full:
            least = max(least, before + self.room(height) + 1)
            if height < MAX_ROWS:
                most = min(most, before + self.room(2 * height - spare - 1))
            before += self.room(height)
        fewer = 0 if last == MIN_ROWS else max(last // 2, last - spare - 1)  # rows that a lower table would have
        least = max(least, before + self.room(fewer) + 1)
        return range(least, min(most, before + self.room(last)) + 1)


def packing(code: int, cells: int) -> Packing:
    """How the uses of a family, of bumps or of permutations fill tables of so many committed cells a row."""
    if code == Part.KECCAK_F:
        return Packing(1, ROUNDS, cells)
    return Packing(BUMP_LANES if code == Part.BUMP else PLACES[code].lanes, 1, cells)


def check_codes(codes: Sequence[int], fixed: Collection[int]) -> None:
    """Raises ValueError unless an execution may have these tables beside the boundary; all have the ``fixed``."""
    present = set(codes)
    unknown = next((code for code in codes if code not in PLACES and code not in _PART_CODES), None)
    if unknown is not None:
        raise ValueError(f"no table beside the boundary has the number {unknown}")
    if list(codes) != sorted(codes):
        raise ValueError("the tables are not in the order of their numbers")
    again = next((a for a, b in pairwise(codes) if a == b and a in _PART_CODES - SEVERAL), None)
    if again is not None:
        raise ValueError(f"the table {name_of(again)} is there twice")
    missing = min(set(fixed) - present, default=None)
    if missing is not None:
        raise ValueError(f"the table {name_of(missing)}, which every statement has, is missing")
    if _ONCE.isdisjoint(present):
        raise ValueError("the exit, which every run ends with, is missing")
    if (Part.INPUT in present and Part.STATED_INPUT in present) or (
        Part.ZERO_BETWEEN in present and Part.STATED_INPUT not in present
    ):
        raise ValueError("the input's memory is there twice, or in part")
    if {Part.KECCAK_F in present, Part.EVEN in present} != {not _CALLS.isdisjoint(present)}:
        raise ValueError("calls of the permutation, its tables and its even numbers are not all there, or all absent")
    families = [PLACES[code].family for code in sorted(present - _PART_CODES)]
    twice = next((a for a, b in pairwise(families) if a == b), None)
    if twice is not None:
        raise ValueError(f"the family {twice} has tables of different lanes")


def check_heights(
    codes: Sequence[int], heights: Sequence[int], cycles: int, cells: Callable[[int], int], rows: Callable[[int], range]
) -> None:
    """Raises ValueError unless some execution of so many cycles has tables of these heights; ``codes`` are checked.

    ``cells``: committed cells of a row of a table; ``rows``: how many a table that is there once may need.
    """
    uses: dict[int, range] = {}
    for code, group in groupby(zip(codes, heights, strict=True), key=itemgetter(0)):
        own = [height for _, height in group]
        if not all(MIN_ROWS <= height <= MAX_ROWS for height in own):
            raise ValueError(f"a table {name_of(code)} has not {MIN_ROWS} to 2^{MAX_LOG_ROWS} rows: {own}")
        if code in PLACES or code in SEVERAL:
            uses[code] = packing(code, cells(code)).counts(own)
        elif not rows_for(rows(code)[0]) <= own[0] <= rows_for(rows(code)[-1]):
            raise ValueError(f"the table {name_of(code)} has {own[0]:,} rows; no execution needs as many, or as few")
    for code in PLACES.keys() & uses:
        few = PLACES[code].lanes == LANES[0]
        uses[code] = _common(uses[code], range(1, MANY) if few else range(MANY, cycles + 1))
    for code in _ONCE & uses.keys():
        uses[code] = _common(uses[code], range(1, 2))
    for code in _CALLS & uses.keys():
        uses[code] = uses[Part.KECCAK_F] = _common(uses[code], uses[Part.KECCAK_F])
    for code, counts in uses.items():
        if not counts:
            raise ValueError(f"tables {name_of(code)} of these heights: no number of uses leads to them")
    proved = [uses[code] for code in PLACES.keys() & uses]
    if not sum(counts[0] for counts in proved) <= cycles <= sum(counts[-1] for counts in proved):
        raise ValueError(f"tables of families for another number of cycles than {cycles:,}")


def name_of(code: int) -> str:
    """The name of a table, for people."""
    return PLACES[code].family if code in PLACES else Part(code).name.lower()


def _common(a: range, b: range) -> range:
    return range(max(a.start, b.start), min(a.stop, b.stop))
