"""Check of traces against the statements of their tables, row by row and without a proof, with detailed findings.

Whether the buses balance is checked by a hash of each message. Only the messages of a bus that does not balance are
collected, sorted and named.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graphprover.air.description import AirDescription, check_bus_widths, check_multiplicity_bound, reachable
from graphprover.air.evaluate import evaluate
from graphprover.air.expression import MAIN, PREPROCESSED, PUBLIC
from graphprover.field import P, array_add, array_mul

_SHOWN = 5  # reported unmatched messages of a bus, and reported sources of each message and direction
_HALF = np.uint64(32)  # bits
_LARGE = 1 << 32  # a count: that of fewer than 2^31 messages is below 2^63


@dataclass(frozen=True)
class Filled:
    """A table with its traces: canonical uint64 (columns, rows), the number of rows being a power of two."""

    description: AirDescription
    public_values: Sequence[int]
    main: np.ndarray
    preprocessed: np.ndarray | None


class _Found:
    """A finding, which lists show as one line and ``print`` in full."""

    def __repr__(self) -> str:
        return f"<{'; '.join(line.strip() for line in str(self).splitlines())}>"


@dataclass(frozen=True, repr=False)
class Malformed(_Found):
    """Traces or public values whose shapes do not fit the tables."""

    where: str  # name of a table, or "statement"
    reason: str

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True, repr=False)
class FailingConstraint(_Found):
    """A constraint that is not zero on some row."""

    table: str
    label: str  # label of the constraint, or its line of code
    row: int  # first failing row
    rows: int  # number of failing rows
    cells: tuple[tuple[str, int], ...]  # names and values of the cells that the constraint reads in that row

    def __str__(self) -> str:
        others = f" and on {self.rows - 1} more" if self.rows > 1 else ""
        cells = "".join(f"\n    {name} = {value}" for name, value in self.cells)
        return f"{self.table}: constraint fails on row {self.row}{others}\n  {self.label}{cells}"


@dataclass(frozen=True, repr=False)
class CountOverWeight(_Found):
    """A message count above its declared weight, which invalidates the bound that rules out wrapped counts."""

    table: str
    label: str  # line of code that emits the message
    row: int  # first such row
    count: int  # signed
    weight: int

    def __str__(self) -> str:
        return f"{self.table}: count {self.count} exceeds weight {self.weight} on row {self.row}\n  {self.label}"


@dataclass(frozen=True)
class BusSource:
    """One row that puts a message on a bus."""

    table: str
    label: str  # line of code that emits the message
    row: int
    count: int  # signed: positive if sent, negative if received or provided

    def __str__(self) -> str:
        verb = "sent" if self.count > 0 else "received"
        times = "" if abs(self.count) == 1 else f" {abs(self.count)} times"
        return f"{verb}{times} by table {self.table} row {self.row}: {self.label}"


@dataclass(frozen=True)
class Unmatched:
    """A message sent and received unequally often."""

    fields: tuple[int, ...]
    sent: int
    received: int
    sources: tuple[BusSource, ...]  # first few senders, then first few receivers

    def __str__(self) -> str:
        lines = "".join(f"\n      {source}" for source in self.sources)
        return f"{list(self.fields)}: sent {self.sent}, received {self.received}{lines}"


@dataclass(frozen=True, repr=False)
class UnbalancedBus(_Found):
    """A bus, or a local lookup, with unmatched messages."""

    bus: str
    messages: tuple[Unmatched, ...]  # first few
    total: int  # number of unmatched messages

    def __str__(self) -> str:
        lines = "".join(f"\n    {message}" for message in self.messages)
        more = f"\n    and {self.total - len(self.messages)} more" if self.total > len(self.messages) else ""
        return f"{self.bus}: {self.total} unmatched messages{lines}{more}"


Finding = Malformed | FailingConstraint | CountOverWeight | UnbalancedBus


class _Bus(NamedTuple):
    """A bus, or a local lookup."""

    title: str  # name for people
    first: int = 0  # number of the first message of a local lookup in its table: lookups may have the same title


@dataclass
class _Traffic:
    """All messages of one bus: parallel lists, one entry for each table, interaction and block of rows."""

    fields: list[np.ndarray]  # each (width, messages)
    counts: list[np.ndarray]
    rows: list[np.ndarray]
    origins: list[tuple[str, str]]  # (table, label)


def findings(tables: Sequence[Filled]) -> list[Finding]:
    """Return all defects of these tables: malformed values, failing constraints, excess counts, unbalanced buses.

    Returns:
        The findings, sorted by row within a table; an empty list if all constraints hold and every bus balances.
        Malformed values are reported alone, because rows and buses cannot be checked then.
    """
    descriptions = [table.description for table in tables]
    titles = _titles(descriptions)
    found: list[Finding] = [
        Malformed(title, reason) for table, title in zip(tables, titles, strict=True) for reason in _malformed(table)
    ]
    if found:
        return found
    try:
        check_bus_widths(descriptions)
        check_multiplicity_bound(descriptions, [table.main.shape[1] for table in tables])
    except ValueError as error:
        return [Malformed("statement", str(error))]

    balance = _Balance()
    for table, title in zip(tables, titles, strict=True):
        found += _check_rows(table, title, balance)
    traffic = {bus: _Traffic([], [], [], []) for bus in balance.doubtful()}
    for table, title in zip(tables, titles, strict=True) if traffic else ():
        _collect(table, title, traffic)
    for bus, messages in traffic.items():
        found += _unbalanced(bus, messages)
    return found


def _titles(descriptions: Sequence[AirDescription]) -> list[str]:
    """Return the names of the tables; tables with the same name get their index in the statement as a suffix."""
    names = [description.name for description in descriptions]
    return [name if names.count(name) == 1 else f"{name}#{i}" for i, name in enumerate(names)]


def _malformed(table: Filled) -> Iterator[str]:
    """Yield the reasons why the shapes of one table's values are wrong."""
    rows, expected = table.main.shape[1], table.description.num_public_values
    if table.preprocessed is not None and table.preprocessed.shape[1] != rows:
        yield f"the main trace has {rows} rows, the preprocessed one {table.preprocessed.shape[1]}"
    if len(table.public_values) != expected:
        yield f"expected {expected} public values, not {len(table.public_values)}"


@dataclass(frozen=True)
class _Messages:
    """The messages of one kind that a table puts on a bus."""

    bus: _Bus
    label: str  # line of code that emits the messages
    multiplicity: int  # node
    fields: tuple[int, ...]  # nodes
    weight: int


def _messages(description: AirDescription, title: str) -> list[_Messages]:
    """Return the messages of a table in order of emission."""
    found: list[_Messages] = []
    for interaction in (*description.locals, *description.globals):
        label, bus = interaction.label, _Bus(f"bus {interaction.bus!r}")
        if interaction.bus is None:
            bus = _Bus(f"local lookup of table {title}, {label}", len(found))
        found += [_Messages(bus, label, t.multiplicity, tuple(t.fields), t.weight) for t in interaction.tuples]
    return found


def _check_rows(table: Filled, title: str, balance: "_Balance") -> list[FailingConstraint | CountOverWeight]:
    """Return failing constraints and excess counts of one table by row, and add its messages to the balance."""
    description = table.description
    messages = _messages(description, title)
    roots = list(description.constraints)
    for one in messages:
        roots += [one.multiplicity, *one.fields]

    failing: dict[int, tuple[int, int]] = {}  # constraint -> first row, number of rows
    excess: dict[int, CountOverWeight] = {}
    for first, values in evaluate(description, table.main, table.preprocessed, table.public_values, roots):
        arrays = iter(values)
        for i, zero in zip(range(len(description.constraints)), arrays, strict=False):
            rows = np.flatnonzero(zero)
            if len(rows):
                row, count = failing.get(i, (first + int(rows[0]), 0))
                failing[i] = row, count + len(rows)
        for i, one in enumerate(messages):
            counts, fields = next(arrays), [next(arrays) for _ in one.fields]
            if one.weight and i not in excess:
                over = np.flatnonzero(np.minimum(counts, np.uint64(P) - counts) > one.weight)
                if len(over):
                    row, count = first + int(over[0]), _signed(int(counts[over[0]]))
                    excess[i] = CountOverWeight(title, one.label, row, count, one.weight)
            balance.add(one.bus, counts, fields)

    found: list[FailingConstraint | CountOverWeight] = list(excess.values())
    for i, (row, count) in failing.items():
        cells = tuple(_cells(table, description.constraints[i], row))
        found.append(FailingConstraint(title, description.constraint_labels[i], row, count, cells))
    return sorted(found, key=lambda finding: finding.row)


class _Balance:
    """For each bus the sum, mod 2^64, of the count of each message times its hash. It is 0 if the bus balances.

    Of messages that do not match, it is 0 about as seldom as a sum of random numbers: once in 2^64. They were not
    chosen to fool the hash, which is another one for each balance.
    """

    def __init__(self) -> None:
        self._start, self._factor, self._last = (np.uint64(secrets.randbits(64) | 1) for _ in range(3))
        self._sums: dict[_Bus, int] = {}
        self._large: set[_Bus] = set()  # with counts whose sum mod p may not be 0 if the one mod 2^64 is

    def add(self, bus: _Bus, counts: np.ndarray, fields: Sequence[np.ndarray]) -> None:
        """Add messages, given as an array of counts and one for each field."""
        negative = np.uint64(P) - counts
        if np.minimum(counts, negative).max() > _LARGE:
            self._large.add(bus)
        signed = np.where(counts < negative, counts, -negative)  # mod 2^64
        signed *= self._hash(fields)
        self._sums[bus] = (self._sums.get(bus, 0) + int(signed.sum())) % (1 << 64)

    def doubtful(self) -> list[_Bus]:
        """Return the buses that perhaps do not balance, in order of their first messages."""
        return [bus for bus, total in self._sums.items() if total or bus in self._large]

    def _hash(self, fields: Sequence[np.ndarray]) -> np.ndarray:
        found: np.ndarray = np.full(len(fields[0]), self._start)
        for field in (*fields, self._last):
            found ^= field
            found ^= found >> _HALF
            found *= self._factor
        found ^= found >> _HALF
        return found


def _collect(table: Filled, title: str, traffic: dict[_Bus, _Traffic]) -> None:
    """Add the messages of a table to the traffic of the buses that it has."""
    messages = [one for one in _messages(table.description, title) if one.bus in traffic]
    roots = [node for one in messages for node in (one.multiplicity, *one.fields)]
    for first, values in evaluate(table.description, table.main, table.preprocessed, table.public_values, roots):
        arrays = iter(values)
        for one in messages:
            counts, fields = next(arrays), [next(arrays) for _ in one.fields]
            rows, bus = np.flatnonzero(counts), traffic[one.bus]
            bus.fields.append(np.stack([field[rows] for field in fields]))
            bus.counts.append(counts[rows])
            bus.rows.append(first + rows)
            bus.origins.append((title, one.label))


def _cells(table: Filled, constraint: int, row: int) -> Iterator[tuple[str, int]]:
    """Yield the name and the value of each cell that a constraint reads on a row."""
    description = table.description
    for node in reachable(description.nodes, [constraint]):
        op, a, offset = description.nodes[node]
        at = (row + offset) % table.main.shape[1]
        if op == MAIN:
            yield "next " * offset + description.main_names[a], int(table.main[a, at])
        elif op == PREPROCESSED:
            assert table.preprocessed is not None
            yield "next " * offset + description.preprocessed_names[a], int(table.preprocessed[a, at])
        elif op == PUBLIC:
            yield "public " + description.public_names[a], int(table.public_values[a])


def _unbalanced(bus: _Bus, traffic: _Traffic) -> Iterable[UnbalancedBus]:
    """Return the finding about one bus, or an empty list if it balances: also if only the counts mod p do."""
    fields = np.concatenate(traffic.fields, axis=1)
    counts = np.concatenate(traffic.counts)
    rows = np.concatenate(traffic.rows)
    origins = np.repeat(np.arange(len(traffic.origins)), [len(part) for part in traffic.rows])
    if not len(counts):
        return []
    order = np.lexsort(fields)  # stable: equal messages stay in order of emission
    ordered = fields[:, order]
    starts = np.concatenate([[0], 1 + np.flatnonzero((ordered[:, 1:] != ordered[:, :-1]).any(axis=0))])
    sums = _segment_sums(counts[order], starts)
    bounds = np.append(starts, len(order))
    groups = [order[bounds[i] : bounds[i + 1]] for i in np.flatnonzero(sums)]
    if not groups:
        return []
    groups.sort(key=lambda members: int(members[0]))

    def unmatched(members: np.ndarray) -> Unmatched:
        signed = [_signed(int(count)) for count in counts[members]]
        sides: tuple[list[BusSource], list[BusSource]] = ([], [])
        for member, count in zip(members, signed, strict=True):
            side = sides[count < 0]
            if len(side) < _SHOWN:
                table, label = traffic.origins[origins[member]]
                side.append(BusSource(table, label, int(rows[member]), count))
        sent, received = sum(c for c in signed if c > 0), -sum(c for c in signed if c < 0)
        message = tuple(int(value) for value in fields[:, members[0]])
        return Unmatched(message, sent, received, (*sides[0], *sides[1]))

    return [UnbalancedBus(bus.title, tuple(unmatched(members) for members in groups[:_SHOWN]), len(groups))]


def _segment_sums(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the sums mod p of the segments of ``values`` that begin at ``starts``."""
    low = np.add.reduceat(values & np.uint64(0xFFFFFFFF), starts)
    high = np.add.reduceat(values >> np.uint64(32), starts)
    return array_add(array_mul(high, np.array([1 << 32], dtype=np.uint64)), low % np.uint64(P))


def _signed(value: int) -> int:
    """Return a field element as the integer of least magnitude."""
    return value - P if value > P // 2 else value
