"""Check of traces against the statements of their tables, row by row and without a proof, with detailed findings."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.air.description import AirDescription, check_bus_widths, check_multiplicity_bound, reachable
from graphprover.air.evaluate import evaluate
from graphprover.air.expression import MAIN, PREPROCESSED, PUBLIC
from graphprover.field import P, array_add, array_mul

_SHOWN = 5  # reported unmatched messages of a bus, and reported sources of each message and direction


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


@dataclass
class _Traffic:
    """All messages of one bus: parallel lists, one entry for each table, interaction and block of rows."""

    title: str  # display name of the bus
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

    traffic: dict[object, _Traffic] = {}
    for table, title in zip(tables, titles, strict=True):
        found += _check_rows(table, title, traffic)
    for messages in traffic.values():
        found += _unbalanced(messages)
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


def _check_rows(
    table: Filled, title: str, traffic: dict[object, _Traffic]
) -> list[FailingConstraint | CountOverWeight]:
    """Return failing constraints and excess counts of one table by row, and add its messages to ``traffic``."""
    description = table.description
    messages = []
    for i, interaction in enumerate((*description.locals, *description.globals)):
        if interaction.bus is None:
            bus = traffic[title, i] = _Traffic(f"local lookup of table {title}, {interaction.label}", [], [], [], [])
        else:
            bus = traffic.setdefault(interaction.bus, _Traffic(f"bus {interaction.bus!r}", [], [], [], []))
        messages += [(bus, interaction.label, t) for t in interaction.tuples]
    roots = list(description.constraints)
    for _, _, t in messages:
        roots += [t.multiplicity, *t.fields]

    failing: dict[int, tuple[int, int]] = {}  # constraint -> first row, number of rows
    excess: dict[int, CountOverWeight] = {}
    for first, values in evaluate(description, table.main, table.preprocessed, table.public_values, roots):
        arrays = iter(values)
        for i, zero in zip(range(len(description.constraints)), arrays, strict=False):
            rows = np.flatnonzero(zero)
            if len(rows):
                row, count = failing.get(i, (first + int(rows[0]), 0))
                failing[i] = row, count + len(rows)
        for i, (bus, label, t) in enumerate(messages):
            counts = next(arrays)
            fields = [next(arrays) for _ in t.fields]
            rows = np.flatnonzero(counts)
            counts = counts[rows]
            if t.weight:
                over = np.flatnonzero(np.minimum(counts, np.uint64(P) - counts) > t.weight)
                if len(over) and i not in excess:
                    row, count = first + int(rows[over[0]]), _signed(int(counts[over[0]]))
                    excess[i] = CountOverWeight(title, label, row, count, t.weight)
            bus.fields.append(np.stack([field[rows] for field in fields]))
            bus.counts.append(counts)
            bus.rows.append(first + rows)
            bus.origins.append((title, label))

    found: list[FailingConstraint | CountOverWeight] = list(excess.values())
    for i, (row, count) in failing.items():
        cells = tuple(_cells(table, description.constraints[i], row))
        found.append(FailingConstraint(title, description.constraint_labels[i], row, count, cells))
    return sorted(found, key=lambda finding: finding.row)


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


def _unbalanced(traffic: _Traffic) -> Iterable[UnbalancedBus]:
    """Return the finding about one bus, or an empty list if it balances."""
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

    return [UnbalancedBus(traffic.title, tuple(unmatched(members) for members in groups[:_SHOWN]), len(groups))]


def _segment_sums(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the sums mod p of the segments of ``values`` that begin at ``starts``."""
    low = np.add.reduceat(values & np.uint64(0xFFFFFFFF), starts)
    high = np.add.reduceat(values >> np.uint64(32), starts)
    return array_add(array_mul(high, np.array([1 << 32], dtype=np.uint64)), low % np.uint64(P))


def _signed(value: int) -> int:
    """Return a field element as the integer of least magnitude."""
    return value - P if value > P // 2 else value
