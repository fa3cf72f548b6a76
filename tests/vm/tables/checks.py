"""The checks of a table, each by its number: its constraints, and its lookups in tables that are the same for all runs.

A forged trace that exactly one check notices shows that the table needs this check: a table without it accepts the
trace. Labels do not show that, as one label stands for many constraints.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from graphprover.air.description import AirDescription, reachable
from graphprover.air.evaluate import evaluate
from graphprover.air.expression import CONST, MAIN
from graphprover.field import P
from graphprover.vm.accelerators.keccak.digits import BASE, DIGITS, NUMBERS, PLACES, Lookup, turned
from graphprover.vm.tables.buses import LOOKUPS, VM, Tag, tag_of

Told = Counter[tuple[object, ...]]  # messages to other tables, with how often they are sent less received


def names_of(air: AirDescription) -> list[str]:
    """Return a name for each check: constraints, then lookups. A label that several have is followed by a number."""
    labels = [re.sub(r"^\S+\.py:\d+: ", "", label) for label in air.constraint_labels]  # without a line of code's place
    labels += [_tag(air, number) for number in lookups_of(air)]
    seen: Counter[str] = Counter()
    found = []
    for label in labels:
        found.append(f"{label} #{seen[label]}" if labels.count(label) > 1 else label)
        seen[label] += 1
    return found


def lookups_of(air: AirDescription) -> list[int]:
    """Return the numbers of the interactions that are lookups in a fixed table."""
    return [number for number in range(len(air.globals)) if _tag(air, number)]


def _tag(air: AirDescription, number: int) -> str:
    """Return the name of a lookup's kind, or nothing."""
    interaction = air.globals[number]
    if interaction.tuples[0].weight == 0:  # provides answers
        return ""
    if interaction.bus == DIGITS.name:
        return "DIGITS"
    if interaction.bus != VM.name:
        return ""
    constants = [air.nodes[node][1] if air.nodes[node][0] == CONST else None for node in interaction.tuples[0].fields]
    tag = tag_of(constants)
    return tag.name if tag in LOOKUPS else ""


def judged(
    air: AirDescription,
    rows: np.ndarray,
    blocks: int = 1,
    most: int = 0,
    preprocessed: np.ndarray | None = None,
    public_values: Sequence[int] = (),
) -> tuple[np.ndarray, list[Told]]:
    """Return which check notices which block of rows, and the messages of blocks to other tables.

    Args:
        air: The table.
        rows: The blocks, of one size, one after the other; the row after the last one is the first.
        blocks: Their number.
        most: The most checks that notice a block whose messages are wanted.
        preprocessed: The preprocessed columns of these rows.
        public_values: The table's public values.

    Returns:
        bool (checks, blocks), and for each block its messages that are no lookups in a fixed table, or none.
    """
    messages = [interaction.tuples[0] for interaction in air.globals]
    roots = [*air.constraints, *(node for message in messages for node in (message.multiplicity, *message.fields))]
    parts = [values for _, values in evaluate(air, rows, preprocessed, public_values, roots)]
    values = iter(np.concatenate(part) for part in zip(*parts, strict=True))
    violated, others = [next(values) != 0 for _ in air.constraints], []
    for number, (interaction, message) in enumerate(zip(air.globals, messages, strict=True)):
        counts, fields = next(values), np.array([next(values) for _ in message.fields])
        if tag := _tag(air, number):
            violated.append((counts != 0) & ~member_of(tag, fields))
        else:
            others.append((interaction.bus, counts, fields))
    by_block = np.asarray(np.array(violated).reshape(len(violated), blocks, -1).any(axis=2))
    size = rows.shape[1] // blocks
    told: list[Told] = [Counter() for _ in range(blocks)]
    for block in np.flatnonzero(by_block.sum(axis=0) <= most):
        for bus, counts, fields in others:
            for row in range(size * block, size * block + size):
                if counts[row]:
                    told[block][bus, *fields[:, row].tolist()] += int(counts[row])
    return by_block, told


def noticed(air: AirDescription, rows: np.ndarray, blocks: int = 1) -> np.ndarray:
    """Return which check notices which block of rows, bool (checks, blocks); see `judged`."""
    return judged(air, rows, blocks)[0]


def noticed_windows(air: AirDescription, rows: np.ndarray, windows: int) -> np.ndarray:
    """Return which check notices which part of a trace, whose last row is only the next one of the row before."""
    by_row = noticed(air, rows, rows.shape[1])
    return np.asarray(by_row.reshape(len(by_row), windows, -1)[:, :, :-1].any(axis=2))


def changed_cells(air: AirDescription, main: np.ndarray, rows: Iterable[int], changes: Sequence[int]) -> np.ndarray:
    """Return which check notices which change of a cell alone, bool (checks, changes).

    Args:
        air: The table.
        main: An honest trace.
        rows: The rows with changed cells; each cell of a row is changed.
        changes: What is added to a cell.
    """
    found = []
    for row in rows:
        window = main[:, np.arange(row - 1, row + 2) % main.shape[1]]  # two rows whose checks read it
        many = np.tile(window, len(window) * len(changes))
        for column in range(len(window)):
            for j, change in enumerate(changes):
                at = 3 * (column * len(changes) + j) + 1
                many[column, at] = (int(many[column, at]) + change) % P
        found.append(noticed_windows(air, many, many.shape[1] // 3))
    return np.concatenate(found, axis=1)


def recency(air: AirDescription) -> set[int]:
    """Return the numbers of the checks that a time is before the cycle's: the lookups that read the cell ``clk``."""
    clk, found = (MAIN, air.main_names.index("clk"), 0), set()
    for check, number in enumerate(lookups_of(air), start=len(air.constraints)):
        if clk in (air.nodes[node] for node in reachable(air.nodes, air.globals[number].tuples[0].fields)):
            found.add(check)
    return found


def alone(violated: np.ndarray) -> np.ndarray:
    """Return which checks are the only one to notice some block."""
    return np.asarray(violated[:, violated.sum(axis=0) == 1].any(axis=1))


def member_of(tag: str, fields: np.ndarray) -> np.ndarray:
    """Return whether messages are in the table of a lookup."""
    return digits_member(fields) if tag == "DIGITS" else member(Tag[tag], fields)


def member(tag: Tag, fields: np.ndarray) -> np.ndarray:
    """Return whether messages are in the table of their tag, uint64 (elements, messages)."""
    a, b, c = fields[-3], fields[-2], fields[-1]
    if tag == Tag.HALF:
        return c < 1 << 16
    if tag == Tag.SIGN:
        return (b < 1 << 16) & (c == b >> np.uint64(15))
    if tag == Tag.BYTES:
        return (b < 256) & (c < 256)
    if tag == Tag.AND:
        return (a < 256) & (b < 256) & (c == a & b)
    power = np.uint64(1) << (b if tag == Tag.LEFT else np.uint64(16) - b).clip(0, 63)
    return (b < 16) & (c == power)


def digits_member(fields: np.ndarray) -> np.ndarray:
    """Return whether messages are in the table of numbers of four digits, uint64 (elements, messages)."""
    tag, number, left, right = fields
    digits = [number // np.uint64(BASE**place) % np.uint64(BASE) for place in range(PLACES)]
    first, second = ([digit >> np.uint64(bit) & np.uint64(1) for digit in digits] for bit in range(2))
    answers = {Lookup.SECOND + by: (turned(second, 0), turned(second, by)) for by in range(PLACES)}
    low, high = (second[i] + (second[i + 1] << np.uint64(16)) for i in (0, 2))
    answers[Lookup.HALVES] = low, high
    answers[Lookup.FIRST] = turned(first, 0), turned(first, 0)
    answers[Lookup.FIRST_TURNED_1] = turned(first, 0), turned(first, 1)
    right_answers = [(tag == of) & (left == one) & (right == other) for of, (one, other) in answers.items()]
    found: np.ndarray = (number < NUMBERS) & np.any(right_answers, axis=0)
    return found
