"""Sharded statements: heads give each bus the same number in all shards, and every table is in one shard."""

from typing import Any

import numpy as np
import pytest

from graphprover.air import Air, Bus, received, sent
from graphprover.protocol.lookup import bus_numbers, max_tuple_width
from graphprover.statement.shards import Head, ShardedStatement, in_shards, shards_of
from graphprover.statement.statement import Statement, Table
from tests.random_statements import random_statement


class Chain(Air):
    """An AIR with buses of these names and widths, and local lookups of these numbers of elements, all balanced."""

    columns = ("x",)

    def __init__(self, *buses: tuple[str, int], local: tuple[int, ...] = ()) -> None:
        self.buses, self.local = buses, local

    def define(self, t: Any) -> None:
        t.every_row(t.x)
        for width in self.local:
            t.local_lookup(sent([t.x] * width), received([t.x] * width))
        for name, width in self.buses:
            t.send(Bus(name), [t.x] * width)


def numbers_by_name(shards: ShardedStatement) -> list[dict[str, set[int]]]:
    """Return the numbers of every bus of each shard, and of all local lookups under the empty name."""
    found = []
    for statement in shards.statements:
        found.append(dict[str, set[int]]())
        for air, numbers in zip(statement.descriptions, bus_numbers(statement.descriptions), strict=True):
            for lookup, number in zip(air.lookups, numbers, strict=True):
                found[-1].setdefault(lookup.bus or "", set()).add(number)
    return found


def check_heads(shards: ShardedStatement) -> None:
    """Check that each bus has one number, each local lookup its own, and messages one maximal width."""
    of_buses: dict[str, set[int]] = {}
    of_locals = []
    for statement, found in zip(shards.statements, numbers_by_name(shards), strict=True):
        local = found.pop("", set())
        assert len(local) == sum(len(air.locals) for air in statement.descriptions)
        of_locals += list(local)
        used = {i.bus for air in statement.descriptions[1:] for i in air.globals}
        for name, numbers in found.items():
            if not name.startswith("unused") or name in used:
                of_buses.setdefault(name, set()).update(numbers)
    assert all(len(numbers) == 1 for numbers in of_buses.values())
    everything = [*of_locals, *(number for numbers in of_buses.values() for number in numbers)]
    assert len(set(everything)) == len(everything)
    assert len({max_tuple_width(tuple(statement.descriptions)) for statement in shards.statements}) == 1


def dealt(*shards: list[Chain]) -> ShardedStatement:
    tables = [[Table(air) for air in shard] for shard in shards]
    return in_shards(tables, [list(range(len(shard))) for shard in shards], 1)


@pytest.mark.parametrize(
    "shards",
    [
        ([Chain(("x", 1), ("y", 2))], [Chain(("y", 2), ("x", 1))]),
        ([Chain(("x", 1))], [Chain(("y", 3))], [Chain(("z", 2))]),
        ([Chain(local=(1,))], [Chain(local=(1,))]),
        ([Chain(local=(4, 1)), Chain(("x", 2), local=(1,))], [Chain(("x", 2))], [Chain(("y", 3), local=(1, 1))]),
        ([Chain()], [Chain()]),
        ([Chain(("unused 0", 1), local=(2, 1))], [Chain(("unused 2", 1), local=(2, 1))], [Chain(local=(1,))]),
    ],
)
def test_heads(shards: tuple[list[Chain], ...]) -> None:
    check_heads(dealt(*shards))


def test_without_heads_they_would_differ() -> None:
    """Show that `check_heads` fails for shards without heads."""
    shards = dealt([Chain(("x", 1), ("y", 2))], [Chain(("y", 2))])
    bare = ShardedStatement(tuple(Statement(statement.tables[1:]) for statement in shards.statements))
    with pytest.raises(AssertionError):
        check_heads(bare)


@pytest.mark.parametrize("seed", range(30))
def test_heads_of_random_statements(seed: int) -> None:
    _, statement = random_statement(seed, tables=2 + seed % 5, interactions=seed)
    count = len(statement.tables)
    rng = np.random.default_rng(seed)
    cut = sorted(rng.choice(np.arange(1, count), size=int(rng.integers(1, count)), replace=False).tolist())
    order = rng.permutation(count).tolist()
    shares = [sorted(order[a:b]) for a, b in zip([0, *cut], [*cut, count], strict=True)]
    shards = shards_of(statement, shares)
    check_heads(shards)
    assert shards.shares == tuple(map(tuple, shares))
    assert shards.label == statement.label


def test_a_head_as_the_specification_has_it() -> None:
    """Follow docs/protocol.md, section 16."""
    head = Head([("a", 2), ("b", 1)], 3).describe()
    assert (head.main_width, head.preprocessed_width, head.num_public_values) == (1, 0, 3)
    assert head.nodes == ((1, 0, 0), (10, 0, 0))
    assert head.constraints == (0,)
    assert not head.locals
    messages = [(i.bus, i.tuples[0].fields, i.tuples[0].multiplicity, i.tuples[0].weight) for i in head.globals]
    assert messages == [("a", (0, 0), 1, 0), ("b", (0,), 1, 0)]


def test_lists_of_buses_as_the_specification_has_them() -> None:
    first, second = [Chain(("x", 1), local=(3,)), Chain(("y", 2))], [Chain(("unused 1", 2), ("x", 1), local=(1, 1))]
    buses = [statement.tables[0].air.buses for statement in dealt(first, second).statements]  # type: ignore[attr-defined]
    named = (("x", 1), ("y", 2), ("unused 1", 2))
    assert buses == [(*named, ("unused 0", 3)), (*named, ("unused 0", 3), ("unused 2", 3))]


def test_buses_of_two_widths() -> None:
    with pytest.raises(ValueError, match="bus 'x' carries tuples of 1 elements"):
        dealt([Chain(("x", 1))], [Chain(("x", 2))])


@pytest.mark.parametrize(
    ("shares", "reason"),
    [
        ([[0, 1, 2]], "2 to 1024 shards"),
        ([[0, 1], [1, 2]], "table 1 is in two shards"),
        ([[0], [2]], "table 1 is in no shard"),
        ([[0, 1], [2, 3]], "there is no table 3"),
        ([[0, 1], [2], []], "shard 2: it has one table or more"),
        ([[0], [2, 1]], "shard 1: .* in their order"),
        ([[0], [1, 1, 2]], "shard 1: .* in their order"),
        ([[0, 1], [2, 2**63]], "there is no table 9223372036854775808"),
        ([[-1, 0, 1], [2]], "there is no table -1"),
    ],
)
def test_every_table_is_in_one_shard(shares: list[list[int]], reason: str) -> None:
    statement = Statement([Table(Chain()), Table(Chain()), Table(Chain())])
    with pytest.raises(ValueError, match=reason):
        shards_of(statement, shares)
