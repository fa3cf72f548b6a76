"""A sharded statement: some of the tables each, and lookup challenges and the balance of all buses in common.

Every shard begins with a small table, its head. It sends nothing; it is there so that buses have the same numbers and
fingerprints in all shards, and to say which tables the shard has.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count, islice, pairwise
from typing import Any, ClassVar

import numpy as np

from graphprover.air import Air, Bus, TableBuilder, check_bus_widths
from graphprover.air.description import AirDescription
from graphprover.protocol.errors import RuleError
from graphprover.protocol.joint import check_count
from graphprover.protocol.lookup import max_tuple_width
from graphprover.runtime.arguments import expect
from graphprover.statement.statement import Statement, Table

MAX_HEAD_ROWS = 512  # more than any final polynomial that `choose` takes has coefficients


class Head(Air):
    """The first table of a shard: a column of zeros, which as many messages as there are buses are multiplied by."""

    name = "head"
    columns = ("none",)
    unread = ("tables",)

    def __init__(self, buses: Sequence[tuple[str, int]], tables: int) -> None:
        """``buses``: name and width of each, in the order of their numbers; ``tables``: how many the shard has."""
        self.buses = tuple(buses)
        self.public_values = (f"tables[{tables}]",)

    def define(self, t: TableBuilder) -> None:
        """Provide zeros on every bus, zero times."""
        t.every_row(t.none)
        for name, width in self.buses:
            t.provide(Bus(name), [t.none] * width, t.none)


@dataclass(frozen=True, eq=False)
class ShardedStatement:
    """A sharded statement. Made by `shards_of` or `in_shards`, which give every shard its head."""

    statements: tuple[Statement, ...]  # one a shard, its head first; all have one label

    heads: ClassVar[int] = 1  # tables of each shard before its own

    @property
    def label(self) -> str:
        """The name for people that all shards carry."""
        return self.statements[0].label

    @property
    def shares(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the tables of each shard, which its head states."""
        return tuple(tuple(statement.tables[0].public_values or ()) for statement in self.statements)


def shards_of(statement: Statement, shares: Sequence[Sequence[int]]) -> ShardedStatement:
    """Return the statement with its tables assigned to shards.

    Args:
        statement: The statement.
        shares: The indices of each shard's tables, rising.

    Raises:
        ValueError: unless every table is in exactly one shard, and for fewer than two shards or an empty one.
    """
    check_count(len(shares))
    for index, share in enumerate(shares):
        if not share or any(low >= high for low, high in pairwise(share)):
            raise RuleError("shards.tables", f"shard {index}: it has one table or more, in their order")
    dealt = Counter(table for share in shares for table in share)
    for table in dealt:
        if not 0 <= table < len(statement.tables):
            raise RuleError("shards.tables", f"there is no table {table}: the statement has {len(statement.tables)}")
    for table in range(len(statement.tables)):
        if dealt[table] != 1:
            raise RuleError("shards.tables", f"table {table} is in {'two shards' if dealt[table] else 'no shard'}")
    heights = [table.main.shape[1] for table in statement.tables if table.main is not None]
    rows = min([*heights, MAX_HEAD_ROWS])  # so low that its final polynomial is no shorter for the head
    return in_shards([[statement.tables[i] for i in share] for share in shares], shares, rows, statement.label)


def in_shards(
    tables: Sequence[Sequence[Table]],
    numbers: Sequence[Sequence[int]],
    rows: int,
    label: str = "",
    make: Callable[[Sequence[Table], str], Statement] = Statement,
) -> ShardedStatement:
    """Return a sharded statement of these tables, each shard with its head.

    Args:
        tables: The tables of each shard.
        numbers: The numbers that each shard's head states, one a table.
        rows: The rows of each head's trace.
        label: The label of all shards.
        make: Makes the statement of a shard from its tables and label.

    Raises:
        ValueError: for fewer than two shards, and if a bus carries tuples of two widths.
    """
    check_count(len(tables))
    descriptions = [[table.air.describe() for table in shard] for shard in tables]
    statements = []
    for shard, stated, buses in zip(tables, numbers, _buses(descriptions), strict=True):
        head = Table(Head(buses, len(shard)), stated, np.zeros((1, rows), dtype=np.uint64))
        statements.append(make([head, *shard], label))
    return ShardedStatement(tuple(statements))


def _buses(shards: Sequence[Sequence[AirDescription]]) -> list[list[tuple[str, int]]]:
    """Return name and width of the buses of each shard's head, in the order of their numbers.

    The buses of all shards come first, by first appearance. Then comes an unused bus for each local lookup of the
    earlier shards, which takes its number: otherwise local lookups of two shards would share a number, and one could
    balance the other. One more is added if no bus is as wide as the widest tuple, on which all fingerprints depend.
    """
    airs = [air for shard in shards for air in shard]
    check_bus_widths(airs)
    widths: dict[str, int] = {}
    for air in airs:
        for lookup in air.lookups:
            if lookup.bus is not None:
                widths.setdefault(lookup.bus, len(lookup.tuples[0].fields))
    widest = max_tuple_width(tuple(airs))
    unused, heads = int(widest not in widths.values()), []
    for shard in shards:
        names = islice((name for i in count() if (name := f"unused {i}") not in widths), unused)
        heads.append([*widths.items(), *((name, widest) for name in names)])
        unused += sum(len(air.locals) for air in shard)
    return heads


def expect_statement(statement: Any, function: str) -> None:
    """Raise TypeError if the argument of a function is no statement."""
    expected = "give Statement([table])" if isinstance(statement, Table) else "give a Statement"
    expect(statement, (Statement, ShardedStatement), f"{function}: the statement", expected)
