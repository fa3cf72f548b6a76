"""Which tables a shard may have beside the boundary: one rule for each table that is not a chip's, and their checks.

docs/shapes.md has TABLE_RULES as a table, and a second version of the checks.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from types import MappingProxyType

from graphprover.protocol.errors import RuleError
from graphprover.vm.accelerators.keccak import classes as keccak_classes
from graphprover.vm.accelerators.keccak import limbs as keccak_limbs
from graphprover.vm.accelerators.keccak import planes as keccak_planes
from graphprover.vm.accelerators.keccak import rounds as keccak_rounds
from graphprover.vm.statement.table_numbers import BOUNDARY, CHIP_TABLES, PERMUTING, SHARED, TableNumber, name_of


class ShardKind(IntEnum):
    """The kinds of statements and shards by their tables with preprocessed columns."""

    FIRST = 0  # a statement with all numbers, or the first shard of a sharded one
    SHORT = 1  # a statement with a sparse range table
    OTHER = 2  # any other shard


@dataclass(frozen=True)
class TableRule:
    """When a shard has a table."""

    number: TableNumber
    first: bool = False  # of the initial and final state, which a run has once: in shard 0 only
    several: bool = False  # a shard may have it several times
    required: tuple[ShardKind, ...] = ()  # shards that have it; the program's data only if there are any
    exits: bool = False  # the shard in which the run ends has it
    needs: TableNumber | None = None
    excludes: TableNumber | None = None
    rule: str = ""  # of docs/refusals.md, about `exits`, `needs` or `excludes`
    wide: int = 0  # rows of a permutation, in the tables for many permutations
    narrow: int = 0  # rows of a permutation, in the tables for few


_EVERY, _WHOLE = tuple(ShardKind), (ShardKind.FIRST, ShardKind.SHORT)
_NUMBERED = ShardKind.FIRST, ShardKind.OTHER
# In the order of the checks.
TABLE_RULES = (
    TableRule(TableNumber.PROGRAM, required=_EVERY),
    TableRule(TableNumber.REGISTERS, first=True, required=_WHOLE),
    TableRule(TableNumber.IMAGE, first=True, required=_WHOLE),
    TableRule(TableNumber.ZERO, first=True),
    TableRule(TableNumber.INPUT, first=True),
    TableRule(TableNumber.OUTPUT, first=True),
    TableRule(TableNumber.ZERO_ABOVE, first=True),
    TableRule(TableNumber.BUMP, several=True),
    TableRule(TableNumber.NUMBERS, required=_NUMBERED, excludes=TableNumber.SPARSE_RANGE, rule="shape.numbers"),
    TableRule(TableNumber.SPARSE_RANGE, several=True),
    TableRule(TableNumber.POWERS, required=_EVERY),
    TableRule(TableNumber.COMMON, several=True, exits=True, rule="shape.exit"),
    TableRule(TableNumber.RARE, several=True),
    TableRule(TableNumber.STATED_INPUT, first=True, excludes=TableNumber.INPUT, rule="shape.input"),
    TableRule(TableNumber.ZERO_BETWEEN, first=True, needs=TableNumber.STATED_INPUT, rule="shape.zero_between"),
    TableRule(TableNumber.KECCAK_ROUNDS, several=True, wide=keccak_rounds.ROWS),
    TableRule(TableNumber.KECCAK_PLANES, several=True, wide=keccak_planes.ROWS),
    TableRule(TableNumber.KECCAK_CLASSES, several=True, narrow=keccak_classes.ROWS),
    TableRule(TableNumber.KECCAK_LIMBS, several=True, narrow=keccak_limbs.ROWS),
    TableRule(TableNumber.KECCAK_DIGITS),
)
# Tables that a shard may have several times, beside the tables of chips.
SEVERAL = frozenset(rule.number for rule in TABLE_RULES if rule.several)
# The rows of a permutation in the tables that have each call's: a statement has the wide tables or the narrow ones.
WIDE_TABLES: Mapping[int, int] = MappingProxyType({rule.number: rule.wide for rule in TABLE_RULES if rule.wide})
NARROW_TABLES: Mapping[int, int] = MappingProxyType({rule.number: rule.narrow for rule in TABLE_RULES if rule.narrow})
ROWS_OF_CALL: Mapping[int, int] = MappingProxyType({**WIDE_TABLES, **NARROW_TABLES})
CALL_TABLES = frozenset(number for number, table in CHIP_TABLES.items() if table.chip in PERMUTING)

_OF_FIRST_SHARD = frozenset({BOUNDARY, *(rule.number for rule in TABLE_RULES if rule.first)})
_TABLE_NUMBERS = frozenset(map(int, TableNumber))
_OF_CALLS = [frozenset({TableNumber.KECCAK_DIGITS, *tables}) for tables in (WIDE_TABLES, NARROW_TABLES)]


def preprocessed(kind: ShardKind, data: bool) -> tuple[TableNumber, ...]:
    """Return the tables with preprocessed columns, in order; ``data``: whether the program brings any."""
    required = {rule.number for rule in TABLE_RULES if kind in rule.required}
    return tuple(sorted(required if data else required - {TableNumber.IMAGE}))


def check_numbers(shards: Sequence[Sequence[int]], data: bool) -> None:
    """Raise ValueError unless an execution may have these tables beside the boundary, which is in the first shard.

    The rule, in the order of the checks: tables of the initial and final state are in the first shard only; numbers are
    known and rising; only tables of chips and of ``SEVERAL`` repeat; each shard satisfies TABLE_RULES; Keccak-f calls
    and their three tables, wide or narrow, are present together; a chip proves at least one cycle, and the tables of a
    chip have the same number of lanes.

    Args:
        shards: Numbers of each shard's tables, without the boundary.
        data: Whether the program brings any.

    Raises:
        ValueError: If no execution has these tables.
    """
    for index, numbers in enumerate(shards):
        with naming(index, len(shards)):
            misplaced = next((number for number in numbers if index and number in _OF_FIRST_SHARD), None)
            if misplaced is not None:
                raise RuleError("shape.first_shard", f"table {name_of(misplaced)} is allowed in shard 0 only")
            _check_order(numbers)
            whole = ShardKind.SHORT if TableNumber.SPARSE_RANGE in numbers else ShardKind.FIRST
            required = preprocessed(ShardKind.OTHER if index else whole, data)
            _check_rules(frozenset(numbers), required, exits=index == len(shards) - 1)
            _check_chips(frozenset(numbers))


def _check_order(numbers: Sequence[int]) -> None:
    unknown = next((number for number in numbers if number not in CHIP_TABLES and number not in _TABLE_NUMBERS), None)
    if unknown is not None:
        raise RuleError("shape.unknown", f"unknown table number {unknown}")
    if list(numbers) != sorted(numbers):
        raise RuleError("shape.order", "tables are not sorted by number")
    repeated = next((a for a, b in pairwise(numbers) if a == b and a in _TABLE_NUMBERS - SEVERAL), None)
    if repeated is not None:
        raise RuleError("shape.twice", f"table {name_of(repeated)} appears twice")


def _check_rules(present: frozenset[int], required: Sequence[int], exits: bool) -> None:
    missing = min(set(required) - present, default=None)
    if missing is not None:
        raise RuleError("shape.missing", f"the required table {name_of(missing)} is missing")
    for rule in TABLE_RULES:
        name, there = name_of(rule.number), rule.number in present
        if exits and rule.exits and not there:
            raise RuleError(rule.rule, f"table {name}, which proves the exit, is missing")
        if there and rule.needs is not None and rule.needs not in present:
            raise RuleError(rule.rule, f"{name} requires {name_of(rule.needs)}")
        if there and rule.excludes in present:
            first, second = map(name_of, sorted((rule.number, rule.excludes)))
            raise RuleError(rule.rule, f"{first} and {second} exclude each other")


def _check_chips(present: frozenset[int]) -> None:
    of_calls = present & frozenset().union(*_OF_CALLS)
    if of_calls not in ([frozenset()] if CALL_TABLES.isdisjoint(present) else _OF_CALLS):
        either = " or ".join(", ".join(map(name_of, sorted(tables))) for tables in _OF_CALLS)
        raise RuleError("shape.keccak", f"{' or '.join(PERMUTING)} must be present together with {either}")
    chips = [CHIP_TABLES[number].chip for number in sorted(present - _TABLE_NUMBERS)]
    if not chips and SHARED.keys().isdisjoint(present):
        raise RuleError("shape.no_cycle", "no table proves a cycle")
    mixed = next((a for a, b in pairwise(chips) if a == b), None)
    if mixed is not None:
        raise RuleError("shape.lanes", f"chip {mixed} has tables of different numbers of lanes")


@contextmanager
def naming(index: int, shards: int) -> Iterator[None]:
    """Prefix errors with the number of the shard, if there are several."""
    try:
        yield
    except RuleError as error:
        raise RuleError(error.rule, f"shard {index}: {error}" if shards > 1 else str(error)) from None
