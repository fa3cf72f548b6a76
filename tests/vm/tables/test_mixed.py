"""A row of a table that chips share has the same constraints and messages as a row of the chip's own table, and so has
a lane of a table with several lanes.

So the results of tests/vm/mutation.py for chips of one lane also hold in these tables. Rows are compared at random
cells, on which two polynomials of low degree that are not the same differ.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from graphprover.air import Air
from graphprover.air.description import AirDescription
from graphprover.air.evaluate import evaluate
from graphprover.field import P
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import (
    CALL_CHIPS,
    EXIT,
    IN_PLACE,
    LANES,
    NARROW,
    ROWS_OF_CHIP,
    SHARED,
    TableNumber,
)
from graphprover.vm.tables.chips import CHIPS
from graphprover.vm.tables.mixed import Mixed
from tests.slow import slow_after
from tests.vm.assemble import image, leave

ROWS = 8  # of each chip


def table(number: TableNumber) -> Mixed:
    found = Machine(image(leave())).air(number, 0, 0)
    assert isinstance(found, Mixed)
    return found


def said(air: Air, rows: np.ndarray) -> tuple[list[list[int]], list[Counter[tuple[object, ...]]]]:
    """Return the values of constraints that are not 0 in all rows, in order; and the messages of each row."""
    description = air.describe()
    messages = [(i.bus, i.tuples[0]) for i in description.globals]
    roots = [*description.constraints, *(n for _, m in messages for n in (m.multiplicity, *m.fields))]
    blocks = [block for _, block in evaluate(description, rows, None, [], roots)]
    values = iter([np.concatenate(parts) for parts in zip(*blocks, strict=True)])
    constraints = [next(values).tolist() for _ in description.constraints]
    found: list[Counter[tuple[object, ...]]] = [Counter() for _ in range(rows.shape[1])]
    for bus, message in messages:
        numbers = np.array([next(values) for _ in (message.multiplicity, *message.fields)]).T.tolist()
        for row, (multiplicity, *fields) in zip(found, numbers, strict=True):
            row.update([(bus, multiplicity, *fields)] * (multiplicity != 0))
    return sorted(value for value in constraints if any(value)), found


@pytest.mark.parametrize(("number", "chip"), [(n, chip) for n, chips in SHARED.items() for chip in chips])
def test_a_row_says_what_its_chip_says(number: TableNumber, chip: str) -> None:
    mixed, own = table(number), CHIPS[chip](1)
    rng = np.random.default_rng(1)
    rows = rng.integers(0, P, (own.describe().main_width, ROWS), dtype=np.uint64)
    rows[own.describe().main_names.index("on[0]")] = 1
    shared = rng.integers(0, P, (mixed.describe().main_width, ROWS), dtype=np.uint64)  # also the chip's absent cells
    shared[[i for i, name in enumerate(mixed.describe().main_names) if name.startswith("is[")]] = 0
    shared[list(mixed.columns_of[chip])] = rows

    constraints, messages = said(own, rows)
    assert said(mixed, shared) == (constraints, messages)
    assert len(constraints) == len(own.describe().constraints) - 1  # but that it executes or not
    assert len(messages[0]) == len(own.describe().globals)


@pytest.mark.parametrize("number", SHARED)
def test_an_idle_row_says_nothing(number: TableNumber) -> None:
    """Send no message and violate no constraint, with any cells."""
    air = table(number)
    rows = np.random.default_rng(1).integers(0, P, (air.describe().main_width, ROWS), dtype=np.uint64)
    rows[[i for i, name in enumerate(air.describe().main_names) if name.startswith("is[")]] = 0
    assert said(air, rows) == ([], [Counter()] * ROWS)


@pytest.mark.parametrize("number", SHARED)
def test_flags_are_bits_and_at_most_one_is_set(number: TableNumber) -> None:
    """Require each constraint of the flags: some rows are noticed by it alone."""
    air, one = table(number), "a row is of one chip or of none"
    description = air.describe()
    flags = {label: node for label, node in labelled(description) if "a row is" in label}
    first, steps = description.main_names.index("is[0]"), air.steps
    cases = [
        case
        for i in range(len(steps))
        for other in [(i + 1) % len(steps)]
        for case in ([(i, 1)], [(i, 1), (other, 1)], [(i, P - 1), (other, 2)])
    ]
    rows = np.zeros((description.main_width, len(cases)), dtype=np.uint64)
    for row, case in enumerate(cases):
        for flag, value in case:
            rows[first + flag, row] = value
    blocks = [block for _, block in evaluate(description, rows, None, [], [*flags.values()])]
    values = dict(zip(flags, map(np.concatenate, zip(*blocks, strict=True)), strict=True))
    noticed = [{label for label in flags if values[label][row]} for row in range(len(cases))]
    for step, set_, both, odd in zip(steps, noticed[::3], noticed[1::3], noticed[2::3], strict=True):
        assert set_ == set() and both == {one}
        assert odd >= {f"a row is {step.name} or not"} and one not in odd


def labelled(description: AirDescription) -> Iterator[tuple[str, int]]:
    """Yield the label and the node of each constraint."""
    return zip(description.constraint_labels, description.constraints, strict=True)


def test_every_chip_has_a_table() -> None:
    """Share a table among all chips except dropped ones and those of calls, whose rows are wide or several."""
    shared = [chip for chips in SHARED.values() for chip in chips]
    assert len(shared) == len(set(shared)) and EXIT in SHARED[TableNumber.COMMON]
    alone = {chip for chip in CHIPS if chip.endswith((IN_PLACE, NARROW))} | set(CALL_CHIPS)
    assert set(shared) == CHIPS.keys() - alone


def test_sizes() -> None:
    """Pin the cells, messages and degree of a row of each."""
    found = {n.name: table(n).describe() for n in SHARED}
    assert {name: (a.main_width, len(a.lookups), a.log_quotient_chunks) for name, a in found.items()} == {
        "COMMON": (73, 9, 2),
        "RARE": (122, 19, 2),
    }


@pytest.mark.parametrize("lanes", slow_after(1, LANES[1:]))
def test_a_lane_says_what_a_row_of_one_lane_says(lanes: int) -> None:
    """Compare each lane, beside idle ones, with the chip of one lane."""
    rng = np.random.default_rng(2)
    for chip in CHIPS.keys() - ROWS_OF_CHIP.keys():
        own, several = CHIPS[chip](1), CHIPS[chip](lanes)
        rows = rng.integers(0, P, (own.describe().main_width, ROWS), dtype=np.uint64)
        rows[own.describe().main_names.index("on[0]")] = [*[1] * (ROWS - 1), 2]  # 2: no lane executes twice
        constraints, messages = said(own, rows)
        places = {name: i for i, name in enumerate(several.describe().main_names)}
        for lane in range(lanes):
            many = np.zeros((len(places), ROWS), dtype=np.uint64)
            many[[places[name.replace("[0]", f"[{lane}]", 1)] for name in own.describe().main_names]] = rows
            of_lane, told = said(several, many)
            assert told == messages and len(of_lane) == len(constraints), chip
            assert [x for x in of_lane if any(x[:-1])] == [x for x in constraints if any(x[:-1])], chip
