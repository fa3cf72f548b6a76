"""The counts and columns of a tape's cycles by the kernels, against their definition in the order of time."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.vm.accelerators.host_call import MOST_FURTHER, SLOT_FURTHER
from graphprover.vm.accelerators.registry import HOST_CALLS, MOST_WORDS
from graphprover.vm.executor.execute import execute
from graphprover.vm.executor.record import INTERVAL, NO_REGISTER, registers_accessed
from graphprover.vm.kernels import census, tape
from graphprover.vm.kernels import replay as replay_cycles
from graphprover.vm.kernels.tape import ACCESSES, NO_STEP, UNPROVED, UNREACHED, Cycles, Tape, empty_cycles
from graphprover.vm.program.elf import Image
from graphprover.vm.program.isa import ACCESS_BYTES, Instruction, Op
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.version import CHIP_NUMBERS
from graphprover.vm.tables.bump import REACH
from graphprover.vm.tables.chips import CHIPS
from graphprover.vm.tables.clock import FAR, SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY, clock_of, time_of
from graphprover.vm.traces.partition import groups_of
from graphprover.vm.traces.rows import CycleRows
from graphprover.vm.traces.run import ReplayedRange, load_tape, program_columns
from graphprover.vm.traces.ways import CALL_WAYS
from tests.vm.assemble import image, leave, li
from tests.vm.programs import D, X, everything, waiting_calls
from tests.vm.traces.test_cycle_ranges import far_accesses

NAMES = {number: name for name, number in CHIP_NUMBERS.items()}
DROPPED = frozenset(number for number, name in NAMES.items() if name.endswith("_in_place"))


@dataclass(frozen=True, eq=False)
class Case:
    """A cycle range of a run and the expected results of a device."""

    tape: Tape
    steps: np.ndarray
    redirects: np.ndarray
    counts: np.ndarray
    late: np.ndarray
    refused: np.ndarray
    cycles: Cycles

    @property
    def places(self) -> np.ndarray:
        """Return the position of the first cycle of each group in each interval."""
        return (np.cumsum(self.counts.ravel()).reshape(self.counts.shape) - self.counts).astype(np.uint32)


def case(
    program: Image,
    first: int,
    last: int,
    *,
    later: int = 0,
    times: int | None = None,
    dropped: frozenset[int] = frozenset(),
) -> Case:
    """Return the case of the cycles from ``first`` to ``last`` at most, shifted by ``later`` from earlier accesses.

    ``times``: of the last accesses of all registers, if not their own.
    """
    machine = Machine(program)
    taped = tape_of(machine, first, last)
    taped = replace(taped, start=taped.start + later, first=taped.first + later, last=taped.last + later)
    if times is not None:
        taped = replace(taped, times=np.full_like(taped.times, times))
    groups = groups_of(machine)
    steps, redirects = groups.steps, groups.redirects(dropped)

    cycles = empty_cycles(CpuDevice(1), taped.last - taped.first, len(taped.old))
    starts = np.maximum(taped.start + INTERVAL * np.arange(len(taped.index)), taped.first) - taped.first
    of_one_group = steps & np.uint64(2**32 - 1), np.zeros(1, dtype=np.uint64)
    replay_cycles(CpuDevice(1), taped, *of_one_group, starts[None].astype(np.uint32), cycles)
    assert (cycles.order == np.arange(len(cycles.order))).all()
    run = ReplayedRange(taped.first, cycles, taped.old, taped.time, program_columns(CpuDevice(1), machine))
    instruction = machine.program_entries.instruction[cycles.entry]
    entries = _entries(machine, run, instruction, dropped)
    group = groups.of(entries)
    cycles.entry[:] = entries
    counts = np.zeros((len(groups.chip), len(taped.index)), dtype=np.uint32)
    np.add.at(counts, (group, (taped.first + cycles.order - taped.start) // INTERVAL), 1)
    late, refused = _late(machine, run, instruction, group, len(counts))
    order = np.argsort(group, kind="stable").astype(np.uint32)
    return Case(taped, steps, redirects, counts, late, refused, replace(cycles, order=order))


def tape_of(machine: Machine, first: int, last: int) -> Tape:
    """Return the tape of the cycles from ``first`` to ``last`` at most."""
    execution = execute(machine.image, b"some input", record=True)
    assert execution.record is not None
    cycle_range = range(first, min(last, execution.cycles))
    return load_tape(CpuDevice(1), machine=machine, record=execution.record, cycle_range=cycle_range)


def _entries(machine: Machine, run: ReplayedRange, instruction: np.ndarray, dropped: frozenset[int]) -> np.ndarray:
    """Return the first entry of each cycle's instruction whose chip can prove it."""
    chips = machine.chip_of_entry
    rows = CycleRows(CpuDevice(1), run, slice(None))
    fits = {
        number: np.broadcast_to(CHIPS[NAMES[number]](1).fits(rows), instruction.shape)
        for number in set(chips.tolist()) - dropped
    }
    found = np.full(len(instruction), -1)
    for outcome in reversed(range(CALL_WAYS)):
        entry = machine.program_entries.first[instruction] + outcome
        entry = np.where(entry < machine.program_entries.first[instruction + 1], entry, -1)
        for number, fitting in fits.items():
            found = np.where((entry >= 0) & (chips[entry] == number) & fitting, entry, found)
    assert (found == run.cycles.entry).all() or dropped
    return found


def _late(
    machine: Machine, run: ReplayedRange, instruction: np.ndarray, group: np.ndarray, groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of late accesses, and the first cycle with an access that is too late."""
    cycles, used = run.cycles, registers_accessed(machine.instructions)
    now = time_of(clock_of(run.start + cycles.order.astype(np.int64)))
    found: list[tuple[int, int, np.ndarray, Any]] = []
    for column, slot, numbers, before in (
        (tape.A, SLOT_A, used.a, cycles.t_a),
        (tape.A_IN_PLACE, SLOT_D, used.a, cycles.t_a),
        (tape.B, SLOT_B, used.b, cycles.t_b),
        (tape.D, SLOT_D, used.d, cycles.t_d),
    ):
        found.append((column, slot, numbers[instruction] != NO_REGISTER, before))
    op = machine.instructions.op[instruction]
    size = np.zeros(len(op), dtype=np.int64)
    address = cycles.a + machine.instructions.imm.view(np.uint64)[instruction]
    for access, length in ACCESS_BYTES.items():
        size[op == access] = 1 + (address[op == access] % 8 + length > 8)
    padded, new = (np.append(of, np.zeros(MOST_WORDS, dtype=np.uint64)) for of in (run.time, cycles.new))
    for k in range(2):
        found.append((tape.M + k, SLOT_MEMORY, size > k, padded[cycles.at + k]))
    for call in HOST_CALLS:
        calling = (op == Op.ECALL) & (cycles.a == call.number)
        for k in range(call.further):
            found.append((tape.FURTHER + k, SLOT_FURTHER, calling, new[cycles.at + MOST_FURTHER + k]))
        for k, (_, _, slot) in enumerate(call.accesses):
            found.append((tape.WORD + k, slot, calling, padded[cycles.at + k]))
    late, refused = np.zeros((groups, ACCESSES), dtype=np.uint64), np.full(2, NO_STEP, dtype=np.uint64)
    for column, slot, accessed, before in found:
        distance = now + slot - np.asarray(before).astype(np.int64)
        np.add.at(late[:, column], group[accessed & (distance > FAR)], np.uint64(1))
        too_far = accessed & (distance - 1 > REACH)
        if column == tape.A_IN_PLACE:
            too_far &= used.d[instruction] == used.a[instruction]
        if too_far.any():
            far = cycles.order[too_far].astype(np.uint64) + np.uint64(run.start)
            refused[UNREACHED] = min([int(refused[UNREACHED]), *far.tolist()])
    return late, refused


def counted(device: Any, expected: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a device's counts of cycles, its counts of late accesses added to 1 each, and the refused cycles."""
    there = loaded(device, expected.tape)
    counts = device.load(np.zeros_like(expected.counts))
    late = device.load(np.ones_like(expected.late))
    refused = device.load(np.full(2, NO_STEP, dtype=np.uint64))
    census(device, there, device.load(expected.steps), device.load(expected.redirects), counts, late, refused)
    return counts, late, refused


def written(device: Any, expected: Case) -> Cycles:
    """Return the cycles that a device writes."""
    there = loaded(device, expected.tape)
    cycles = empty_cycles(device, len(expected.cycles.order), len(expected.tape.old))
    steps = device.load(expected.steps), device.load(expected.redirects)
    replay_cycles(device, there, *steps, device.load(expected.places), cycles)
    return cycles


def loaded(device: Any, here: Tape) -> Tape:
    """Load the tape to a device."""
    return Tape(**{name: value if isinstance(value, int) else device.load(value) for name, value in vars(here).items()})


def repeated(one: Case, intervals: int) -> Case:
    """Return a case of repeated whole intervals, counted and written by the CPU."""
    taped = one.tape
    turns = -(-intervals // len(taped.index))
    columns = {name: np.tile(getattr(taped, name), turns) for name in ("old", "time", "index")}
    columns |= {name: np.tile(getattr(taped, name), (turns, 1)) for name in ("values", "times")}
    at = taped.at + len(taped.old) * np.arange(turns, dtype=np.uint32)[:, None]
    long = replace(taped, **columns, at=at.ravel(), last=taped.start + turns * (taped.last - taped.start))
    counts, late, refused = counted(CpuDevice(2), replace(one, tape=long, counts=np.tile(one.counts, turns)))
    found = replace(one, tape=long, counts=counts, late=late - np.uint64(1), refused=refused)
    room = empty_cycles(CpuDevice(2), long.last - long.first, len(long.old))
    return replace(found, cycles=written(CpuDevice(2), replace(found, cycles=room)))


PROGRAMS = {"everything": everything(6, 2), "far": far_accesses(), "calls": waiting_calls()}
CYCLE_RANGES = [(0, 1 << 20), (0, 1), (1023, 1024), (1024, 2048), (900, 1000), (1000, 1001), (700, 2100), (33, 1 << 20)]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cycle_range", CYCLE_RANGES, ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_cycle_ranges(program: str, cycle_range: tuple[int, int], threads: int) -> None:
    expected = case(PROGRAMS[program], *cycle_range)
    counts, late, refused = counted(CpuDevice(threads), expected)
    np.testing.assert_array_equal(counts, expected.counts)
    np.testing.assert_array_equal(late - np.uint64(1), expected.late)
    np.testing.assert_array_equal(refused, expected.refused)
    assert (refused == NO_STEP).all()
    cycles = written(CpuDevice(threads), expected)
    for name in Cycles.__annotations__:
        np.testing.assert_array_equal(getattr(cycles, name), getattr(expected.cycles, name), err_msg=name)
    if program == "far" and cycle_range[1] > 1 << 15:
        assert late[:, [tape.A, tape.A_IN_PLACE, tape.M, tape.M2]].sum(axis=0).min() > len(late)


def test_late_words_of_a_host_call() -> None:
    """Count every access whose last one was before a much later cycle range as late, in each column for some cycle."""
    total = np.zeros(ACCESSES, dtype=np.uint64)
    for name in ("everything", "calls"):
        expected = case(PROGRAMS[name], 0, 1 << 20, later=1 << 28)
        np.testing.assert_array_equal(counted(CpuDevice(2), expected)[1] - np.uint64(1), expected.late)
        total += expected.late.sum(axis=0)
    assert (total > 0).all()


def test_what_no_bump_reaches() -> None:
    """Refuse some accesses to registers last accessed about REACH before; others are just in time."""
    start, found = 1 << 31, set()
    for more in range(6):
        times = time_of(clock_of(start)) - REACH + 8 * more
        expected = case(PROGRAMS["everything"], 0, 100, later=start, times=times)
        refused = counted(CpuDevice(1), expected)[2]
        np.testing.assert_array_equal(refused, expected.refused)
        assert refused[UNPROVED] == NO_STEP
        found.add(int(refused[UNREACHED]))
    assert len(found) > 2
    np.testing.assert_array_equal(counted(CpuDevice(2), expected)[2], expected.refused)


def test_what_no_table_proves() -> None:
    """Report the first of two cycles with a base at 2^32, and neither count nor write either."""
    far = li(X, 2**32)
    machine = Machine(image([*far, *2 * [Instruction(Op.LD, D, X, imm=-8)], *leave()]))
    taped = tape_of(machine, 0, 100)
    groups = groups_of(machine)
    steps, shape = (groups.steps, groups.redirects(frozenset())), (len(groups.chip), ACCESSES)
    counts, late = np.zeros((len(groups.chip), 1), dtype=np.uint32), np.zeros(shape, dtype=np.uint64)
    refused = np.full(2, NO_STEP, dtype=np.uint64)
    census(CpuDevice(1), taped, *steps, counts, late, refused)
    assert refused.tolist() == [len(far), NO_STEP] and counts.sum() == taped.last - 2
    cycles = empty_cycles(CpuDevice(1), taped.last, len(taped.old))
    replay_cycles(CpuDevice(1), taped, *steps, (np.cumsum(counts)[:, None] - counts).astype("u4"), cycles)
    assert sorted(cycles.order[: taped.last - 2].tolist()) == sorted({*range(taped.last)} - {len(far), len(far) + 1})


def test_repeated_cycle_ranges() -> None:
    """Advance clocks while the times repeat, so that more and more accesses are late."""
    one = case(PROGRAMS["everything"], 0, 2048)
    many = repeated(one, 31)
    assert (many.counts.sum(axis=1) == 16 * one.counts.sum(axis=1)).all()
    np.testing.assert_array_equal(np.sort(many.cycles.a), np.repeat(np.sort(one.cycles.a), 16))


def test_chips_that_are_left_out() -> None:
    """Assign cycles to other chips if no chip with rd = rs1 has a table."""
    expected = case(PROGRAMS["everything"], 0, 1 << 20, dropped=DROPPED)
    np.testing.assert_array_equal(counted(CpuDevice(1), expected)[0], expected.counts)
    left_out = np.isin(groups_of(Machine(PROGRAMS["everything"])).chip, list(DROPPED))
    assert left_out.any() and not expected.counts[left_out].any()
    assert case(PROGRAMS["everything"], 0, 1 << 20).counts[left_out].any()
    cycles = written(CpuDevice(1), expected)
    for name in Cycles.__annotations__:
        np.testing.assert_array_equal(getattr(cycles, name), getattr(expected.cycles, name), err_msg=name)


def test_tapes_that_are_none() -> None:
    expected = case(PROGRAMS["everything"], 700, 2100)
    for wrong in (
        {"start": 1},
        {"first": 1024},
        {"last": 700},
        {"last": 4000},
        {"values": expected.tape.values[1:]},
        {"at": expected.tape.at[:1]},
    ):
        with pytest.raises(ValueError, match=r"snapshots|no cycle range"):
            counted(CpuDevice(1), replace(expected, tape=replace(expected.tape, **wrong)))
