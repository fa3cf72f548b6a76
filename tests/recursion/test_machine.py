"""Each constraint and each cell of `machine` counts, in rows of every kind."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphprover.air.evaluate import evaluate
from graphprover.field import P
from graphprover.recursion.tables.buses import HALVES, MACHINE, MEMORY, Tag
from graphprover.recursion.tables.nodes import node_of
from graphprover.recursion.tables.segments import part_of
from graphprover.recursion.tables.steps import FLAGS, USES, step_of
from graphprover.statement.cells import cells_per_row
from graphprover.statement.check import check
from graphprover.statement.statement import Statement
from tests.recursion import opened, test_nodes, test_steps
from tests.recursion.machines import TABLE, main_of, with_main

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


# For each constraint, by its label, an edit that it refuses: the honest statement, the rows by the values of columns,
# one of these rows, and the column with the value that it has there.
FIRST, SECOND, THIRD = "quarter[0]", "quarter[1]", "quarter[2]"
REFUSED: dict[str, tuple[str, dict[str, int], int, str, int]] = {
    "a flag": ("steps", {"jump": 1}, 0, "jump", 2),
    "a row is of one kind or of none": ("steps", {"on": 1}, 0, "node", 1),
    "a run has a first step": ("steps", {}, 0, "on", 0),
    "a run begins with instruction 0": ("steps", {}, 0, "pc", 1),
    "a run begins with the first frame": ("steps", {}, 0, "frame", 2),
    "steps are the first rows": ("steps", {"on": 1}, 3, "on", 0),
    "a run goes on until it halts": ("steps", {"halt": 1}, 0, "halt", 0),
    "a run halts": ("steps", {}, -1, "on", 1),
    "the address of b": ("steps", {"gate": 1}, 0, "at[1]", 1),
    "the address of d": ("steps", {"add": 1}, 0, "at[3]", 1),
    "c = a b + k a + d + l": ("steps", {"add": 1}, 0, "c[1]", 7),
    "c is in the base field": ("steps", {"indirect": 1, "add": 0}, 0, "c[1]", 7),
    "a gate has c = l d b + k b + (1 - l) d": ("steps", {"gate": 1}, 0, "c[1]", 7),
    "a jump has c = 1 - a b": ("steps", {"jump": 1}, 0, "c[1]", 7),
    "a jump has a = 0 or c = 0": ("steps", {"jump": 1}, 0, "c[0]", 7),
    "a jump has c in the base field": ("steps", {"jump": 1}, 0, "c[1]", 7),
    "a call notes the instruction and the frame after it": ("steps", {"call": 1}, 0, "a[0]", 7),
    "the next instruction": ("steps", {"on": 1}, 4, "pc", 7),
    "the next frame": ("steps", {"on": 1}, 4, "frame", 7),
    "quarters follow each other": ("segments", {SECOND: 1}, 0, SECOND, 0),
    "blocks of a segment follow each other": ("segments", {"begin": 1}, 3, "begin", 0),
    "a row ends after its last block": ("segments", {"whole": 1}, 0, "whole", 0),
    "another segment ends after its last block": ("segments", {"inner": 1}, 0, "inner", 0),
    "the table ends after a segment": ("segments", {}, -1, FIRST, 1),
    "a segment has one kind": ("segments", {FIRST: 1, "read": 1}, 0, "weighted", 1),
    "the rows of a segment have one kind": ("segments", {SECOND: 1}, 0, "base", 17),
    "calls have consecutive numbers": ("segments", {SECOND: 1}, 0, "number", 17),
    "the first word is at the base": ("segments", {"begin": 1}, 2, "at[0]", 17),
    "addresses follow each other": ("segments", {SECOND: 1}, 2, "at[0]", 17),
    "addresses of a row": ("segments", {SECOND: 1}, 2, "at[2]", 17),
    "the quarters of a block agree": ("segments", {SECOND: 1, "last": 0}, 0, "last", 1),
    "a block and its end have one length": ("segments", {THIRD: 1, "absent[0]": 0}, 0, "absent[0]", 1),
    "a row ends with a last block": ("segments", {FIRST: 1, "last": 0}, 0, "root", 1),
    "only a segment's last block can be short": ("segments", {FIRST: 1, "last": 0}, 0, "absent[0]", 1),
    "a parent has one block": ("segments", {FIRST: 1, "parent": 1}, 0, "last", 0),
    "a parent is not short": ("segments", {FIRST: 1, "parent": 1}, 0, "absent[2]", 1),
    "a parent has the counter 0": ("segments", {FIRST: 1, "parent": 1}, 0, "counter", 1),
    "a sum begins": ("segments", {"begin": 1, "weighted": 1}, 1, "sum[0][0]", 5),
    "a sum goes on": ("segments", {SECOND: 1, "weighted": 1}, 1, "sum[1][2]", 5),
    "only weighted words have sums": ("segments", {"whole": 1, "read": 1}, 0, "sum[0][0]", 5),
    "a word that is read": ("segments", {FIRST: 1, "read": 1}, 0, "half[0]", 5),
    "a word that is split": ("segments", {FIRST: 1, "split": 1}, 0, "half[0]", 5),
    "the rows of a parent have one place and span": ("segments", {SECOND: 1, "parent": 1}, 0, "place[2]", 17),
    "the span of a chunk": ("segments", {"whole": 1, "weighted": 1}, 0, "span[1]", 5),
    "a row begins with chunk 0": ("segments", {"whole": 1}, 0, "span[0]", 3),
    "a message that can be looked up": ("segments", {"whole": 1, "parent": 1}, 0, "asked", 1),
    "the index of the left child": ("nodes", {"on": 1}, 0, "left_index", 1),
    "addresses of memory begin with 0": ("steps", {}, 0, "address", 1),
    "addresses of memory follow each other": ("steps", {}, 3, "address", 17),
}


def labels(main: np.ndarray) -> set[str]:
    """Return the labels of the constraints that a trace does not satisfy."""
    named = TABLE.describe().constraint_labels
    return {label for label, zero in zip(named, evaluated(main), strict=False) if zero.any()}


def test_every_constraint_refuses_a_trace() -> None:
    assert set(TABLE.describe().constraint_labels) == set(REFUSED)
    for label, (statement, values, number, column, value) in REFUSED.items():
        main = honest(statement).copy()
        columns = named(main, HONEST[statement][1])
        rows = np.flatnonzero(np.all([main[0] >= 0, *(columns[name] == of for name, of in values.items())], axis=0))
        columns[column][rows[number]] = value
        assert label in labels(main), label


@pytest.mark.parametrize("statement", HONEST)
def test_honest_traces(statement: str) -> None:
    assert labels(honest(statement)) == set()
    assert check(HONEST[statement][0]()) == []


def test_each_of_many_constraints_refuses_a_trace() -> None:
    """Of constraints with one label: by flag, column, word and coordinate."""
    rng, failing = np.random.default_rng(4), set()
    description = TABLE.describe()
    for statement in HONEST:
        for _ in range(60):
            main = honest(statement)
            main = np.where(rng.random(main.shape) < 0.05, main + np.uint64(1), main)
            failing |= {i for i, zero in enumerate(evaluated(main)[: len(description.constraints)]) if zero.any()}
    assert failing == set(range(len(description.constraints)))


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
            is_step = (main[0] == 1) & (fields[-9] == Tag.STEP) & (honest_fields[-9] == Tag.STEP)
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


@pytest.mark.parametrize("change", [1, P - 1, 2**32])
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


def test_other_counts_are_found() -> None:
    for name in ("looked_up", "asked[0]"):
        for statement in ("steps", "segments"):
            main = honest(statement).copy()
            column = main[TABLE_NAMES.index(name)]
            column[np.flatnonzero(column)[0]] += np.uint64(1)
            assert check(with_main(HONEST[statement][0](), main))
