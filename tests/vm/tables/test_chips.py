"""Lane code from symbolic execution of chips gives the same words as the chips on arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from graphprover.device import Array, CpuDevice
from graphprover.vm.executor.execute import execute
from graphprover.vm.kernels.lanes import IMMEDIATE, Code, Op
from graphprover.vm.statement.shape import LANES, policy_at, rows_for
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import ROWS_OF_CHIP
from graphprover.vm.tables.chips import CHIPS, IN_PLACE
from graphprover.vm.traces.assemble import StoredCell, assemble
from graphprover.vm.traces.chips import ChipPart, ChipTrace, cells_of, chip_traces, code_of
from graphprover.vm.traces.formulas import Formulas, Symbol
from graphprover.vm.traces.partition import partition
from graphprover.vm.traces.rows import CycleRows
from graphprover.vm.traces.run import load_run, load_tape
from tests.vm.programs import everything, sharing_rows
from tests.vm.traces.test_cycle_ranges import far_accesses


@pytest.mark.parametrize("name", ["everything", "far"])
def test_code_computes_what_witnesses_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sharing_rows(monkeypatch, 1)  # narrow chips then prove all instructions that they can
    program = everything(6, 2) if name == "everything" else far_accesses()
    device, machine = CpuDevice(2), Machine(program)
    execution = execute(program, b"some input", record=True)
    assert execution.record is not None
    cycles, proved = execution.cycles, set()
    for cycle_range in (range(cycles), range(cycles // 3, cycles)):
        tape = load_tape(device, machine=machine, record=execution.record, cycle_range=cycle_range)
        parted = partition(machine, device, tape, cycles, policy_at(None))
        run = load_run(device, tape, machine=machine, partition=parted)
        for chip, (first, last) in parted.shares.items():
            proved.add(chip.removesuffix(IN_PLACE))
            if chip in ROWS_OF_CHIP:  # test_calls.py has their traces
                continue
            for lanes in LANES:
                step, height = CHIPS[chip](lanes), rows_for(-(-(last - first) // lanes))
                table = ChipTrace(step.describe().main_width, height, (ChipPart(step, first, last),))
                (made,) = chip_traces(device, run, tables=[table])
                expected = np.zeros_like(made)
                cells = cells_of(step, CycleRows(device, run, slice(first, last)))
                write_cells(vars(step.view(expected)), cells, 0, last - first)
                np.testing.assert_array_equal(made, expected, err_msg=f"{chip} with {lanes} lanes")
    assert name == "far" or proved == {chip.removesuffix(IN_PLACE) for chip in CHIPS}


def write_cells(columns: Mapping[str, Array], cells: Mapping[str, Any], first: int, last: int) -> None:
    """Write cells of the lanes first..last, counted lane by lane, to their columns."""
    for name, view in columns.items():
        _write(view, cells[name], first, last)


def _write(view: Array, values: Any, first: int, last: int) -> None:
    """Write one cell's values to its columns, (lanes, [members,] rows)."""
    if isinstance(values, tuple | list):
        for i, member in enumerate(values):
            _write(view[:, i], member, first, last)
        return
    if view.flags.c_contiguous:
        view.reshape(-1)[first:last] = values
        return
    height = view.shape[1]
    for lane in range(first // height, -(-last // height)):
        start, stop = max(first, lane * height), min(last, (lane + 1) * height)
        piece = values[start - first : stop - first] if values.ndim else values
        view[lane, start - lane * height : stop - lane * height] = piece


def operations(code: Code) -> list[tuple[Op, int, int, int, int]]:
    return [(Op(word & 255), *(word >> 8 * i & 255 for i in (1, 2, 3)), x) for word, x in code.words.tolist()]


def assembled(formulas: Formulas, *values: Symbol) -> list[tuple[Op, int, int, int, int]]:
    """Return the code of cells in the columns 0, 1, ..."""
    return operations(assemble(formulas, [StoredCell(x.number, i, 0) for i, x in enumerate(values)], 1))


def test_a_part_is_a_store() -> None:
    formulas = Formulas()
    x = formulas.symbol(Op.LANE, immediate=4)
    assert assembled(formulas, x & 0xFFFF, x >> 16 & 0xFF, x >> 63, x & 6) == [
        (Op.LANE, 0, 0, IMMEDIATE, 4),
        (Op.STORE, 0, 0, 48, 0),
        (Op.STORE, 16, 0, 56, 1),
        (Op.STORE, 63, 0, 0, 2),
        (Op.AND, 1, 0, IMMEDIATE, 6),
        (Op.STORE, 0, 1, 0, 3),
    ]


def test_registers_are_used_again_but_not_at_once() -> None:
    formulas = Formulas()
    x, y = (formulas.symbol(Op.LANE, immediate=i) for i in range(2))
    total = x + y
    assert assembled(formulas, total * total + 1) == [
        (Op.LANE, 0, 0, IMMEDIATE, 0),
        (Op.LANE, 1, 0, IMMEDIATE, 1),
        (Op.ADD, 2, 0, 1, 0),
        (Op.MUL, 0, 2, 2, 0),
        (Op.ADD, 1, 0, IMMEDIATE, 1),
        (Op.STORE, 0, 1, 0, 0),
    ]


def test_formulas_are_there_once_and_integers_on_the_right() -> None:
    formulas = Formulas()
    x = formulas.symbol(Op.LANE)
    assert (x + 1).number == (1 + x).number == (np.uint64(1) + x).number == (x + (2**64 + 1)).number
    assert (x + 0).number == (x * 1).number == (x >> np.uint64(0)).number == (x & 2**64 - 1).number == x.number
    assert (1 - x).number != (x - 1).number and (x // 32).number == (x >> 5).number
    assert formulas.nodes[(~(x == 3)).number].op == Op.XOR
    with pytest.raises(TypeError, match="complement"):
        _ = ~x
    with pytest.raises(TypeError, match="no value"):
        bool(x == 3)


def test_code_is_small() -> None:
    """Use few registers, so that a GPU's multiprocessors hold many lanes."""
    chips = CHIPS.keys() - ROWS_OF_CHIP.keys()
    assert max(code_of(chip, lanes).registers for chip in chips for lanes in LANES) < 32
