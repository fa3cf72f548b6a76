"""The bumps of accesses that come too late, against arrays over all cycles that make such an access."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from graphprover.device import CpuDevice, Device
from graphprover.vm.accelerators.host_call import MOST_FURTHER
from graphprover.vm.accelerators.registry import HOST_CALLS, MOST_WORDS
from graphprover.vm.kernels import fill_bumps
from graphprover.vm.kernels.bumps import Accessed
from graphprover.vm.kernels.tape import ACCESSES, WORD, A, Tape
from graphprover.vm.program.elf import Image
from graphprover.vm.program.isa import A1
from graphprover.vm.statement.shape import policy_at
from graphprover.vm.statement.statement import Machine
from graphprover.vm.tables.buses import REGISTER_BASE
from graphprover.vm.tables.clock import FAR, SLOT_MEMORY, clock_of
from graphprover.vm.tables.limbs import limbs, low_half
from graphprover.vm.traces.accesses import Access
from graphprover.vm.traces.bumps import bumps
from graphprover.vm.traces.executing import TIMES
from graphprover.vm.traces.partition import Late, Partition, partition
from graphprover.vm.traces.rows import CycleRows
from graphprover.vm.traces.run import ReplayedRange, load_run
from tests.vm.kernels.test_tape import tape_of
from tests.vm.programs import everything, set_policy, waiting_calls
from tests.vm.traces.test_cycle_ranges import far_accesses

PROGRAMS = {"everything": everything(), "far": far_accesses(), "calls": waiting_calls()}
CASES = [("everything", 1 << 28), ("calls", 1 << 28), ("everything", 1 << 14), ("far", 0)]


def case(program: Image, later: int) -> tuple[Machine, Tape, Partition]:
    """Return a whole run and its partition; its cycles start ``later`` cycles after the initial accesses."""
    machine = Machine(program)
    tape = tape_of(machine, 0, 1 << 40)
    tape = replace(tape, start=tape.start + later, first=tape.first + later, last=tape.last + later)
    with pytest.MonkeyPatch.context() as patch:
        set_policy(patch, in_place=0)  # so that chips whose rd is rs1 prove some
        return machine, tape, partition(machine, CpuDevice(1), tape, tape.last - tape.first, policy_at(None))


def made(device: Device, machine: Machine, tape: Tape, parted: Partition) -> np.ndarray:
    """Return the bumps by a device to which the tape is loaded."""
    arrays = {name: device.load(value) for name, value in vars(tape).items() if isinstance(value, np.ndarray)}
    run = load_run(device, replace(tape, **arrays), machine=machine, partition=parted)
    return device.fetch(bumps(device, run, late=parted.late))


def expected(machine: Machine, tape: Tape, parted: Partition) -> np.ndarray:
    run = load_run(CpuDevice(1), tape, machine=machine, partition=parted)
    # Calls of one chip may differ in length: more accesses, which the last one does not make.
    more = {name: np.append(getattr(run, name), np.zeros(MOST_WORDS, dtype=np.uint64)) for name in ("old", "time")}
    new = np.append(run.cycles.new, np.zeros(MOST_WORDS, dtype=np.uint64))
    run = replace(run, cycles=replace(run.cycles, new=new), **more)
    return np.concatenate([_late(run, late) for late in parted.late], axis=1)


def _late(run: ReplayedRange, late: Late) -> np.ndarray:
    rows = CycleRows(CpuDevice(1), run, slice(late.first, late.last))
    far = rows.now + late.access.slot - rows.before(late.access) > FAR
    (found,) = np.nonzero(far & _made(rows, late.access))
    assert len(found) == late.count
    rows = CycleRows(CpuDevice(1), run, late.first + found)
    at, value = _accessed(rows, late.access)
    before = rows.before(late.access)
    step = rows.now + late.access.slot - 2 - before
    return np.stack([at, before, *limbs(value), low_half(step), step >> 16])


def _made(rows: CycleRows, access: Access) -> np.ndarray:
    """Return which cycles make the access: calls of one chip may differ."""
    if access.cell == "further_t":
        calls = [call.number for call in HOST_CALLS if call.further > access.number]
    elif access.cell == "word_t":
        calls = [call.number for call in HOST_CALLS if len(call.accesses) > access.number]
    else:
        return np.ones(len(rows.now), dtype=bool)
    return np.isin(rows.a, calls)


def _accessed(rows: CycleRows, access: Access) -> tuple[np.ndarray, np.ndarray]:
    """Return the addresses of accesses, and the values before them."""
    if access.cell in TIMES:
        register = access.cell[0]
        return getattr(rows, f"{register}_at"), getattr(rows, register)
    if access.cell == "further_t":
        number = np.full(len(rows.now), REGISTER_BASE + A1 + access.number, dtype=np.uint64)
        return number, rows.of_access("new", access.number)
    if access.cell == "word_t":
        base = rows.b if access.pointer == 0 else rows.of_access("new", access.pointer - 1)
        return base + np.uint64(8 * access.offset), rows.of_access("old", access.number)
    place = 1 if access.cell == "m2_t" else 0
    return rows.word + 8 * place, rows.of_access("old", place)


@pytest.mark.parametrize(("program", "later"), CASES)
def test_bumps(program: str, later: int) -> None:
    found = case(PROGRAMS[program], later)
    assert len(found[-1].late) >= (20 if program == "everything" else 1)
    np.testing.assert_array_equal(made(CpuDevice(2), *found), expected(*found))


def test_all_accesses_are_among_these() -> None:
    found = {late.access.column for name, later in CASES for late in case(PROGRAMS[name], later)[-1].late}
    assert found == set(range(ACCESSES))


@pytest.mark.parametrize(
    "sought",
    [
        (1, 0, A, 0, 0, 0),
        (0, 1 << 40, A, 0, 0, 0),
        (0, 1, ACCESSES, 0, 0, 0),
        (0, 1, WORD, SLOT_MEMORY + 2, 0, 0),
        (0, 1, WORD, SLOT_MEMORY, MOST_FURTHER + 1, 0),
    ],
    ids=str,
)
def test_refuses_what_is_not_there(sought: Sequence[int]) -> None:
    machine, tape, parted = case(PROGRAMS["far"], 0)
    run = load_run(CpuDevice(1), tape, machine=machine, partition=parted)
    program = {name: run.program[name] for name in ("a_at", "b_at", "d_at", "offset")}
    accessed = Accessed(run.cycles, run.old, run.time, **program, first_clock=clock_of(run.start))
    with pytest.raises(ValueError, match=r"sought access"):
        fill_bumps(CpuDevice(1), accessed, np.array([sought], dtype=np.uint64), np.zeros((6, 1), dtype=np.uint64))
