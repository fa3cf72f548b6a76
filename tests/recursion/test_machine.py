"""Each constraint and each cell of `machine` counts, in rows of every kind."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphprover.air.evaluate import evaluate
from graphprover.field import EXTENSION_DEGREE, P
from graphprover.recursion.tables.buses import HALVES, MACHINE, MEMORY, MessageTag
from graphprover.recursion.tables.nodes import node_of
from graphprover.recursion.tables.segments import POINTS, WORDS, part_of
from graphprover.recursion.tables.steps import FLAGS, USES, step_of
from graphprover.statement.cells import cells_per_row
from graphprover.statement.check import check
from graphprover.statement.statement import Statement
from tests.recursion import opened, test_nodes, test_steps
from tests.recursion.machines import TABLE, main_of, with_main
from tests.slow import slow_after

# Honest statements, with the view of the rows that they are for.
HONEST: dict[str, tuple[Callable[[], Statement], Callable[[Any], Any]]] = {
    "steps": (test_steps.statement, step_of),
    "segments": (opened.statement, part_of),
    "nodes": (lambda: test_nodes.honest(test_nodes.opened())[1], node_of),
}
TABLE_NAMES = TABLE.describe().main_names


def test_costs() -> None:
    """Pin the counts, as docs/recursion.md has them."""
    found = TABLE.describe()
    assert (found.main_width, len(found.lookups), found.log_quotient_chunks, cells_per_row(found)) == (58, 6, 2, 91)
    assert sum(len(lookup.tuples) for lookup in found.lookups) == 8 + 4 + 1 + 4
    text = (Path(__file__).parents[2] / "docs/recursion.md").read_text()
    assert "| `machine` | a step, two opened words or a node; a cell of memory | 58 | 0 | 6 | 4 | 91 a row |" in text


@cache
def honest(name: str) -> np.ndarray:
    """Return the trace of an honest statement."""
    return main_of(HONEST[name][0]())


def named(main: np.ndarray, view: Callable[[Any], Any]) -> dict[str, np.ndarray]:
    """Return the columns of a trace, by their names in a view and in the table."""

    def flat(name: str, cells: Any) -> Iterator[tuple[str, np.ndarray]]:
        if isinstance(cells, np.ndarray) and cells.ndim == 1:
            yield name, cells
        else:
            for i, cell in enumerate(cells):
                yield from flat(f"{name}[{i}]", cell)

    rows = TABLE.view(main)
    return dict(entry for of in (rows, view(rows)) for name, cells in vars(of).items() for entry in flat(name, cells))


FIRST, SECOND, THIRD = "quarter[0]", "quarter[1]", "quarter[2]"
Change = tuple[str, int, Sequence[int]]  # a column, the value that it gets, and the rows that get it, from a row on


@dataclass(frozen=True)
class Edit:
    """Another trace than an honest one."""

    statement: str  # the honest trace, by the name of its statement
    where: Mapping[str, int]  # the values of columns in the rows of which one is edited
    number: int  # of this row among them
    changes: Sequence[Change]
    rows: int | None = None  # the first rows of the trace, if not all of them

    @property
    def main(self) -> np.ndarray:
        """The edited trace."""
        main = honest(self.statement)[:, : self.rows].copy()
        columns = named(main, HONEST[self.statement][1])
        found = [main[0] >= 0, *(columns[name] == of for name, of in self.where.items())]
        row = int(np.flatnonzero(np.all(found, axis=0))[self.number])
        for column, value, offsets in self.changes:
            columns[column][[row + offset for offset in offsets]] = value % P
        return main


def one(statement: str, where: Mapping[str, int], number: int, column: str, value: int) -> Edit:
    """Return an edit of one cell."""
    return Edit(statement, where, number, [(column, value, [0])])


def cells(statement: str, where: Mapping[str, int], number: int, columns: Iterable[str], value: int) -> list[Edit]:
    """Return an edit of each of some cells of a row."""
    return [one(statement, where, number, column, value) for column in columns]


def several(statement: str, where: Mapping[str, int], number: int, *changes: tuple[str, int]) -> Edit:
    """Return an edit of several cells of a row."""
    return Edit(statement, where, number, [(column, value, [0]) for column, value in changes])


COORDINATES = range(EXTENSION_DEGREE)
BY_POINT = [f"[{point}][{k}]" for point in range(POINTS) for k in COORDINATES]
BLOCK, SEGMENT = range(4), range(5)  # rows of a block, and of a segment of one
OF_PLACE = [f"{name}[{k}]" for name in ("place", "span") for k in COORDINATES]
THREE_BLOCKS = range(13)  # rows of a segment
A_READ_SEGMENT = {FIRST: 1, "begin": 1, "read": 1}
# For each constraint, in their order by label, an edit that this one alone refuses; None for one that other constraints
# imply: `REDUNDANT` has the reason.
REFUSED: Mapping[str, Sequence[Edit | None]] = {
    "a flag": [
        *[None] * 5,
        one("steps", {}, 0, "inner", -1),
        several("nodes", {}, 0, ("whole", -1), ("flag[3]", 1), ("half[1]", 1), ("cell[2][0]", 1)),
        one("steps", {}, 0, "node", -1),
        *cells("steps", {}, -1, [f"flag[{i}]" for i in range(len(FLAGS))], 2),
    ],
    "a row is of one kind or of none": [one("steps", {}, 0, "node", 1)],
    "a run has a first step": [one("nodes", {}, 0, "step", 0)],
    "a run begins with instruction 0": [one("nodes", {}, 0, "number", 1)],
    "a run begins with the first frame": [
        several("nodes", {}, 0, ("counter", 2), ("half[2]", 0), ("at[1]", 2), ("half[3]", 0), ("at[3]", 2))
    ],
    "steps are the first rows": [several("nodes", {}, -1, ("step", 1), ("flag[9]", 1), ("number", 1))],
    "a run goes on until it halts": [one("nodes", {}, 0, "flag[9]", 0)],
    "a run halts": [Edit("steps", {}, 0, [], rows=1)],
    "the address of b": [one("steps", {"gate": 1}, 0, "at[1]", 1)],
    "the address of d": [one("steps", {"add": 1}, 0, "at[3]", 1)],
    "c = a b + k a + d + l": cells("steps", {"add": 1}, 0, [f"c[{k}]" for k in COORDINATES], 7),
    "c is in the base field": [
        several("steps", {"indirect": 1, "add": 0, "k": 1}, 0, (f"a[{k}]", 7), (f"c[{k}]", 7)) for k in (1, 2)
    ],
    "a gate has c = l d b + k b + (1 - l) d": cells("steps", {"gate": 1}, 0, [f"c[{k}]" for k in COORDINATES], 7),
    "a jump has c = 1 - a b": cells("steps", {"jump": 1}, 0, [f"b[{k}]" for k in COORDINATES], 7),
    "a jump has a = 0 or c = 0": cells("steps", {"jump": 1}, 1, [f"a[{k}]" for k in COORDINATES], 7),
    "a jump has c in the base field": [
        several("steps", {"jump": 1, "a[0]": 3}, 0, (f"b[{k}]", 1), (f"c[{k}]", -3)) for k in (1, 2)
    ],
    "a call notes the instruction and the frame after it": cells(
        "steps", {"call": 1}, 0, [f"a[{k}]" for k in COORDINATES], 7
    ),
    "the next instruction": [one("steps", {"on": 1}, 3, "pc", 77)],
    "the next frame": [one("steps", {"call": 1}, 0, "k", 7)],
    "quarters follow each other": [
        one("segments", {FIRST: 1, "begin": 1}, 1, FIRST, 0),
        Edit("segments", {SECOND: 1, "parent": 1}, -1, [(THIRD, 0, [1]), ("quarter[3]", 0, [2]), ("whole", 0, [3])]),
        Edit("segments", {THIRD: 1, "parent": 1}, -1, [("quarter[3]", 0, [1]), ("whole", 0, [2])]),
    ],
    "blocks of a segment follow each other": [one("segments", {FIRST: 1, "begin": 1}, 1, "begin", 0)],
    "a row ends after its last block": [one("segments", {"whole": 1}, -1, "whole", 0)],
    "another segment ends after its last block": [one("segments", {"inner": 1, "parent": 1}, 0, "inner", 0)],
    "the table ends after a segment": [
        several("segments", {}, -1, (FIRST, 1), ("begin", 1), ("read", 1), *((f"at[{i}]", i) for i in range(1, 4)))
    ],
    "a segment has one kind": [Edit("segments", A_READ_SEGMENT, 0, [("read", 0, THREE_BLOCKS)])],
    "the rows of a segment have one kind": [
        *[None] * 4,
        one("segments", {SECOND: 1}, 0, "counter", 17),
        one("segments", {SECOND: 1}, 0, "base", 17),
    ],
    "calls have consecutive numbers": [one("segments", {SECOND: 1}, 0, "number", 17)],
    "the first word is at the base": [Edit("segments", {FIRST: 1, "begin": 1}, 0, [("base", 16, SEGMENT)])],
    "addresses follow each other": [one("segments", {"whole": 1}, 0, "at[0]", 17)],
    "addresses of a row": cells("segments", {SECOND: 1}, 2, ["at[1]", "at[2]", "at[3]"], 17),
    "the quarters of a block agree": [
        one("segments", {SECOND: 1, "last": 0}, 0, "last", 1),
        one("segments", {SECOND: 1, "last": 1, "root": 0}, 0, "root", 1),
    ],
    "a block and its end have one length": [
        one("segments", {THIRD: 1, "weighted": 1, "last": 1, "absent[0]": 0}, 0, "absent[0]", 1)
    ],
    "a row ends with a last block": [Edit("segments", {FIRST: 1, "last": 0}, 0, [("root", 1, BLOCK)])],
    "only a segment's last block can be short": [Edit("segments", {FIRST: 1, "last": 0}, 0, [("absent[0]", 1, BLOCK)])],
    "a parent has one block": [
        Edit(
            "segments",
            A_READ_SEGMENT,
            0,
            [
                ("read", 0, THREE_BLOCKS),
                ("parent", 1, THREE_BLOCKS),
                *((name, 0, THREE_BLOCKS) for name in OF_PLACE),
                ("asked", 0, [12]),
            ],
        )
    ],
    "a parent is not short": [Edit("segments", {FIRST: 1, "parent": 1}, 0, [("absent[2]", 1, SEGMENT)])],
    "a parent has the counter 0": [Edit("segments", {FIRST: 1, "parent": 1}, 0, [("counter", 1, SEGMENT)])],
    "a sum begins": cells("segments", {"begin": 1, "weighted": 1}, 1, [f"weight[0]{at}" for at in BY_POINT], 5),
    "a sum goes on": cells("segments", {SECOND: 1, "weighted": 1}, 5, [f"weight[0]{at}" for at in BY_POINT], 5),
    "only weighted words have sums": cells("segments", {"whole": 1, "read": 1}, 0, [f"sum{at}" for at in BY_POINT], 5),
    "a word that is read": cells(
        "segments",
        {FIRST: 1, "read": 1},
        0,
        [f"weight[{word}][0][{k}]" for word in range(WORDS) for k in COORDINATES],
        5,
    ),
    "a word that is split": cells(
        "segments",
        {FIRST: 1, "split": 1},
        0,
        [f"weight[{word}][1][{k}]" for word in range(WORDS) for k in COORDINATES],
        5,
    ),
    "the rows of a parent have one place and span": cells("segments", {SECOND: 1, "parent": 1}, 0, OF_PLACE, 17),
    "the span of a chunk": cells("segments", {"inner": 1, "weighted": 1}, 0, [f"span[{k}]" for k in COORDINATES], 5),
    "a row begins with chunk 0": [
        Edit("segments", {FIRST: 1, "begin": 1}, 0, [("counter", 1, SEGMENT), ("span[0]", 1, [4])])
    ],
    "a message that can be looked up": cells("steps", {}, 0, ["asked[0]", "asked[1]"], 1),
    "the index of the left child": [one("nodes", {"on": 1}, 0, "left_index", 1)],
    "addresses of memory begin with 0": [Edit("nodes", {}, 0, [("address", 1, [0])], rows=1)],
    "addresses of memory follow each other": [one("steps", {}, 3, "address", 17)],
}
# Constraints that others imply, by their labels and numbers.
SUM_OF_KINDS = "the kinds of each row of a segment add up to 1, so one is carried if the other three are"
REDUNDANT: Mapping[tuple[str, int], str] = {
    ("a flag", 0): "the first row is a step; the row after a step is one or none by `halt`, which is 0 or 1; the row "
    "after another row is none",
    ("a flag", 1): "`quarter[0]` is the next row's `quarter[1]`; in the last row it is minus the sum of the others, "
    "which begins no segment there, since only the first address of a segment is its base",
    ("a flag", 2): "`quarter[1]` is `quarter[0]` of the row before, and in the first row `quarter[2]` of the next one",
    ("a flag", 3): "`quarter[2]` is `quarter[1]` of the row before, and in the first row `quarter[3]` of the next one",
    ("a flag", 4): "`quarter[3]` is `quarter[2]` of the row before; after the first row it is a begin or an end",
    **{("the rows of a segment have one kind", i): SUM_OF_KINDS for i in range(4)},
}


def refusing(main: np.ndarray) -> set[tuple[str, int]]:
    """Return the constraints that a trace does not satisfy, by their labels and their numbers among equal labels."""
    numbers, found = Counter[str](), set()
    for label, zero in zip(TABLE.describe().constraint_labels, evaluated(main), strict=False):
        if zero.any():
            found.add((label, numbers[label]))
        numbers[label] += 1
    return found


def test_constraints() -> None:
    """Pin their number: a constraint less is no other table's constraint more."""
    labels = Counter(TABLE.describe().constraint_labels)
    assert labels == {label: len(edits) for label, edits in REFUSED.items()}
    assert labels.total() == 121
    assert {(label, i) for label, of in REFUSED.items() for i, edit in enumerate(of) if edit is None} == set(REDUNDANT)


@pytest.mark.parametrize("label", REFUSED)
def test_each_constraint_alone_refuses_a_trace(label: str) -> None:
    for number, edit in enumerate(REFUSED[label]):
        if edit is not None:
            assert refusing(edit.main) == {(label, number)}


@pytest.mark.parametrize("kind", ["weighted", "split", "parent"])
def test_a_row_of_another_kind_in_a_segment_is_refused(kind: str) -> None:
    """By the constraints that each kind is carried, of which any one could be missing."""
    label, names = "the rows of a segment have one kind", ("weighted", "read", "split", "parent")
    edit = several("segments", {"whole": 1, "read": 1}, 0, ("read", 0), (kind, 1), ("asked", 0))
    assert refusing(edit.main) == {(label, names.index("read")), (label, names.index(kind))}


@pytest.mark.parametrize("statement", HONEST)
def test_honest_traces(statement: str) -> None:
    assert refusing(honest(statement)) == set()
    assert check(HONEST[statement][0]()) == []


def evaluated(main: np.ndarray) -> list[np.ndarray]:
    """Return the values of all constraints, multiplicities and fields of messages of a trace."""
    description = TABLE.describe()
    roots = list(description.constraints)
    for interaction in description.globals:
        roots += [interaction.tuples[0].multiplicity, *interaction.tuples[0].fields]
    ((_, values),) = evaluate(description, main, None, (), roots)
    return values


def noticed(main: np.ndarray, honest: list[np.ndarray], memory: np.ndarray, program: np.ndarray) -> np.ndarray:
    """Return for each row whether a constraint fails, a lookup finds nothing, or a message is not the honest one.

    Counts of lookups are of no help, so it is as if the prover had adapted them.
    """
    description, values = TABLE.describe(), evaluated(main)
    at = len(description.constraints)
    bad = np.any([zero != 0 for zero in values[:at]], axis=0)
    for interaction in description.globals:
        end = at + 1 + len(interaction.tuples[0].fields)
        (count, *fields), (honest_count, *honest_fields) = values[at:end], honest[at:end]
        if interaction.bus == HALVES.name:
            wrong = fields[0] >= 2**16
        else:
            wrong = np.any([a != b for a, b in zip(fields, honest_fields, strict=True)], axis=0)
        if interaction.bus == MEMORY.name and (count == honest_count).all() and interaction.tuples[0].weight:
            wrong = _differs(memory, fields[0], fields[1:])
        if interaction.bus == MACHINE.name:
            is_step = (main[0] == 1) & (fields[-9] == MessageTag.STEP) & (honest_fields[-9] == MessageTag.STEP)
            wrong = np.where(is_step, _differs(program, fields[-8], fields[-7:]), wrong)
        bad |= (count != honest_count) | (count != 0) & wrong
        at = end
    return bad


def _differs(table: np.ndarray, number: np.ndarray, fields: list[np.ndarray]) -> np.ndarray:
    """Return whether a table does not have these fields in the column of a number."""
    place = np.minimum(number, np.uint64(table.shape[1] - 1)).astype(np.int64)
    return (number != place) | np.any(table[:, place] != np.stack(fields), axis=0)


# Columns that nothing reads in a row, by its kind.
NO_CELLS = ("cell", "at", "sum", "half", "number", "counter", "base")
UNREAD = {
    "off": NO_CELLS,
    "step": ("sum", "half[4]", "half[5]", "half[6]", "half[7]", "base"),
    "node": ("cell[3][2]", "sum[1][1]", "sum[1][2]", "counter", "base"),
    "end": ("cell[2]", "cell[3]", "at[1]", "at[2]", "at[3]"),
    "weighted": (),
    "read": ("cell[1]", "cell[3]", "sum"),
    "split": ("cell[0]", "cell[2]", "sum"),
    "parent": ("cell[2]", "cell[3]", "sum"),
}
# Flags that nothing reads, so 1 instead of 0 passes.
UNREAD_FLAGS = {"off": range(10), "node": range(1, 10), "end": range(4, 7)}


def kind_of(row: dict[str, int]) -> str:
    if row["step"] or row["node"]:
        return "step" if row["step"] else "node"
    if row["inner"] or row["whole"]:
        return "end"
    quarters = any(row[f"quarter[{i}]"] for i in range(4))
    return (
        next(name for i, name in enumerate(("weighted", "read", "split", "parent")) if row[f"flag[{i}]"])
        if (quarters)
        else "off"
    )


def unread(row: dict[str, int], name: str, change: int) -> bool:
    """Return whether nothing reads a cell of the honest trace."""
    kind = kind_of(row)
    if name.startswith("flag"):
        number = int(name[5:-1])
        # A first quarter has `begin`.
        flags = {*UNREAD_FLAGS.get(kind, ()), *({4} if kind in _WORDS and not row["quarter[0]"] else ())}
        return number in flags and change == 1
    if name.startswith("value"):
        return row["looked_up"] == 0
    if kind == "step" and name.startswith("cell"):
        operand = "abcd"[int(name[5])]
        return operand in USES and not any(row[f"flag[{FLAGS.index(flag)}]"] for flag in USES[operand])
    return any(name == of or name.startswith(f"{of}[") for of in UNREAD[kind])


_WORDS = ("weighted", "read", "split", "parent")


@pytest.mark.parametrize("change", slow_after(1, [1, P - 1, 2**32]))
@pytest.mark.parametrize("statement", HONEST)
def test_every_cell_counts(statement: str, change: int) -> None:
    """Change one cell at a time."""
    made, main = HONEST[statement][0](), honest(statement)
    right, memory = evaluated(main), main[TABLE_NAMES.index("value[0]") :][:3]
    fixed = next(own.air for own in made.tables if own.air.name == "fixed").preprocessed_trace()[5:]
    assert not noticed(main, right, memory, fixed).any()
    rows = [dict(zip(TABLE_NAMES, column, strict=True)) for column in main.T.tolist()]
    for column, name in enumerate(TABLE_NAMES):
        for first in range(3):  # rows that are 3 apart: a row notices one change at most, its own or its successor's
            other = main.copy()
            other[column, first::3] = (other[column, first::3].astype(object) + change) % P
            bad = noticed(other, right, memory, fixed)
            for row in range(first, len(rows), 3):
                assert (bad[row] or bad[row - 1]) != unread(rows[row], name, change), (name, row)


def users_of_memory(main: np.ndarray) -> Mapping[int, Sequence[tuple[int, int]]]:
    """Return the lookups of each address: numbers of the operand and of the row."""
    values, at = evaluated(main), len(TABLE.describe().constraints)
    found, operand = defaultdict[int, list[tuple[int, int]]](list), 0
    for interaction in TABLE.describe().globals:
        if interaction.bus == MEMORY.name and interaction.tuples[0].weight:
            for row in np.flatnonzero(values[at]):
                found[int(values[at + 1][row])].append((operand, int(row)))
            operand += 1
        at += 1 + len(interaction.tuples[0].fields)
    return found


def apart(users: Mapping[int, Sequence[tuple[int, int]]]) -> list[list[int]]:
    """Return the addresses in groups, of which each row and its successor look up one at most."""
    groups: list[tuple[set[int], list[int]]] = []
    for address, lookups in users.items():
        rows = {row + k for _, row in lookups for k in (-1, 0, 1)}
        taken, group = next((of for of in groups if not of[0] & rows), (set[int](), list[int]()))
        if not group:
            groups.append((taken, group))
        taken |= rows
        group.append(address)
    return [group for _, group in groups]


@pytest.mark.parametrize("coordinate", COORDINATES)
@pytest.mark.parametrize("statement", ["steps", "segments"])
def test_every_coordinate_of_memory_counts(statement: str, coordinate: int) -> None:
    """Change it in memory and wherever it is looked up, so that lookups of memory do not notice it."""
    main = honest(statement)
    users, right, at = users_of_memory(main), evaluated(main), len(TABLE.describe().constraints)
    for group in apart(users):
        other = main.copy()
        rows = TABLE.view(other)
        for address in group:
            changed = [rows.value[coordinate][address : address + 1]]
            changed += [rows.cell[operand][coordinate][row : row + 1] for operand, row in users[address]]
            for cell in changed:
                cell[0] = (int(cell[0]) + 7) % P
        values = evaluated(other)
        bad = np.any([zero != 0 for zero in values[:at]], axis=0)
        first = at
        for interaction in TABLE.describe().globals:
            end = first + 1 + len(interaction.tuples[0].fields)
            if interaction.bus == MACHINE.name:  # to the program, or about a row or a digest of another table
                wrong = np.any([a != b for a, b in zip(values[first:end], right[first:end], strict=True)], axis=0)
                bad |= (values[first] != 0) & wrong
            first = end
        for address in group:
            noticed = any(bad[row] or bad[row - 1] for _, row in users[address])
            assert noticed != all(means_nothing(main, *use) for use in users[address]), address


def means_nothing(main: np.ndarray, operand: int, row: int) -> bool:
    """Return whether an operand is free: the weight of a word that is 0, the inverse of 0, or a call's c."""
    if main[0][row]:
        of = step_of(TABLE.view(main))
        inverse = operand == 1 and of.jump[row] and not any(cell[row] for cell in of.a)
        return bool(inverse or (operand == 2 and of.call[row]))
    part = part_of(TABLE.view(main))
    return bool(part.weighted[row]) and not any(half[row] for half in part.half[4 * (operand // POINTS) :][:4])


def test_other_counts_are_found() -> None:
    for name in ("looked_up", "asked[0]"):
        for statement in ("steps", "segments"):
            main = honest(statement).copy()
            column = main[TABLE_NAMES.index(name)]
            column[np.flatnonzero(column)[0]] += np.uint64(1)
            assert check(with_main(HONEST[statement][0](), main))
