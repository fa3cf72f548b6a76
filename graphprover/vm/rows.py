"""What the cells of a family's table follow from: the cycles that it proves, by columns, on whatever device."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from graphprover.device import Array, Device
from graphprover.field import array_sub
from graphprover.vm.clock import FAR, SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY
from graphprover.vm.kernels import fill_lanes
from graphprover.vm.kernels.lanes import Cell, Kind, Lanes
from graphprover.vm.machine import Machine
from graphprover.vm.record import Call, Record
from graphprover.vm.tables.host import LANES as WORDS
from graphprover.vm.tables.program import FIELDS
from graphprover.vm.tables.step import Step

CYCLE_COLUMNS = ("a", "b", "c", "t_a", "t_b", "t_d", "address", "old", "new", "t_m")  # of the record that rows read
TIMES = {"a_t": "t_a", "b_t": "t_b", "d_t": "t_d", "m_t": "t_m"}  # cells and columns of the time of the access before


@dataclass(frozen=True, eq=False)
class Run:
    """An execution as arrays of one device, uint64 unless it says more."""

    cycles: Mapping[str, Array]  # CYCLE_COLUMNS of the record
    crossings: Mapping[str, Array]  # columns of ``Crossings``
    calls: Mapping[str, Array]  # cycle, uint32 (calls,); old, new and t, (words, calls)
    program: Mapping[str, Array]  # columns of the program table; offset: the instruction's own immediate mod 2^64
    order: Array  # uint32, the cycles, family by family
    entries: Array  # uint32, the row of the program table that each of them meets


def run_of(machine: Machine, record: Record, order: np.ndarray, entries: np.ndarray) -> Run:
    """The run on the host."""
    immediates = machine.code.imm.view(np.uint64)
    names = (f"{name}_at" if name in "dab" else name for name in FIELDS)
    program = dict(zip(names, np.ascontiguousarray(machine.entries), strict=True))
    program["offset"] = np.repeat(immediates, [len(way) for way in machine.outcomes])
    return Run(
        {name: getattr(record, name) for name in CYCLE_COLUMNS},
        {name: getattr(record.crossings, name) for name in ("cycle", "old", "new", "t")},
        _calls(record.calls),
        program,
        order,
        entries,
    )


def _calls(calls: tuple[Call, ...]) -> dict[str, np.ndarray]:
    """Host calls that changed memory, each the words of a Keccak-f."""
    words = {
        name: np.array([getattr(call, name) for call in calls], np.uint64).reshape(len(calls), WORDS).T
        for name in ("old", "new", "t")
    }
    return {"cycle": np.array([call.cycle for call in calls], np.uint32), **words}


def load_run(device: Device, *, run: Run) -> Run:
    """The run where a device's traces are made."""

    def loaded(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: device.load(each) for name, each in value.items()}
        return device.load(value)

    return Run(*(loaded(getattr(run, each.name)) for each in fields(run)))


class _Host:
    arrays = np


HOST: Any = _Host()  # what ``Rows`` needs of a device to look at the record before there is one


class Rows:
    """Some cycles and their entries of the program table, both uint32; every attribute has one uint64 for each.

    ``a``, ``b``, ``c``, ``address``, ... are columns of the record, ``pc``, ``a_at``, ``imm``, ... of the program.
    """

    def __init__(self, device: Device, run: Run, cycles: Array, entries: Array) -> None:
        self.device, self.arrays = device, device.arrays
        self._run, self._cycles, self._entries = run, cycles, entries

    def __getattr__(self, name: str) -> Any:
        if name in self._run.cycles:
            value = self._run.cycles[name][self._cycles]
        elif name in self._run.program:
            value = self._run.program[name][self._entries]
        else:
            raise AttributeError(name)
        setattr(self, name, value)
        return value

    @cached_property
    def clk(self) -> Array:
        return self._cycles.astype(np.uint64) + np.uint64(1)

    @cached_property
    def now(self) -> Array:
        """When slot 0 is."""
        return 4 * self.clk

    @cached_property
    def crossing(self) -> Array:
        """The number of the crossing."""
        return self.arrays.searchsorted(self._run.crossings["cycle"], self._cycles)

    @property
    def old2(self) -> Array:
        """The second word before."""
        return self._run.crossings["old"][self.crossing]

    @property
    def new2(self) -> Array:
        """And after."""
        return self._run.crossings["new"][self.crossing]

    @cached_property
    def call(self) -> Array:
        """The number of the host call."""
        return self.arrays.searchsorted(self._run.calls["cycle"], self._cycles)

    def words(self, name: str) -> Array:
        """``old``, ``new`` or ``t`` of the words of a host call, (words, cycles)."""
        return self._run.calls[name][:, self.call]

    def inverse_of_difference(self, x: Array, y: Array) -> Array:
        """1 / (x - y) in the field, 0 where they are equal."""
        return self.device.inverse(array_sub(x, y))

    def signed(self, x: Array, y: Array, shift: Array) -> Array:
        """(x - y) * 2^shift in the field, where the magnitude is below 2^63."""
        return array_sub(x << shift, y << shift)

    @cached_property
    def old_d(self) -> Array:
        """The value of rd before: what the access at t_d left there."""
        where, columns, t = self.arrays.where, self._run.cycles, self.t_d
        cycle, slot = (t >> 2).astype(np.int64) - 1, t & 3  # -1 where there was none
        value = where(slot == SLOT_D, columns["c"][cycle], columns["a"][cycle])
        value = where(slot == SLOT_B, columns["b"][cycle], value)
        return where(t == 0, np.uint64(0), value)

    @property
    def word(self) -> Array:
        """The address of the (first) word of memory."""
        return self.address & ~np.uint64(7)

    def before(self, cell: str, i: int) -> Array:
        """When the value of an access was accessed before."""
        match cell:
            case "m2_t":
                return self._run.crossings["t"][self.crossing]
            case "word_t":
                return self.words("t")[i]
        return getattr(self, TIMES[cell])

    def accessed(self, cell: str, i: int) -> tuple[Array, Array]:
        """Where an access is, and the value there before it."""
        match cell:
            case "d_t":
                return self.d_at, self.old_d
            case "m_t":
                return self.word, self.old
            case "m2_t":
                return self.word + np.uint64(8), self.old2
            case "word_t":
                return self.b + 8 * i, self.words("old")[i]
        return getattr(self, f"{cell[0]}_at"), getattr(self, cell[0])

    def recent(self, cell: str, i: int, slot: int) -> Array:
        """The time of the access before, or where that is too long ago, of a bump right before this one."""
        t, now = self.before(cell, i), self.now + slot
        return self.arrays.where(now - t > FAR, now - 1, t)

    def cells(self, step: Step) -> dict[str, Any]:
        """The cells of the family that are no copies."""
        cells = step.witness(self)
        for cell, i, slot in accesses(step):
            if cell == "m2_t":
                cells[cell] = self.recent(cell, i, slot)
            if cell == "word_t":
                cells[cell] = [*cells.get(cell, ()), self.recent(cell, i, slot)]
        return cells


def accesses(step: Step) -> list[tuple[str, int, int]]:
    """What a lane accesses, in order: the cell with the time before, its number among those of its name, the slot."""
    slots = {
        "a_t": SLOT_D if step.in_place else SLOT_A,
        "b_t": SLOT_B,
        "d_t": SLOT_D,
        "m_t": SLOT_MEMORY,
        "m2_t": SLOT_MEMORY,
    }
    names = step.names
    found = [(cell, 0, slot) for cell, slot in slots.items() if cell in names]
    return found + [("word_t", i, SLOT_MEMORY) for i in range(WORDS if "word_t" in names else 0)]


def write_step(device: Device, run: Run, step: Step, trace: Array, cycles: Array, entries: Array) -> None:
    """Writes the lanes that execute these cycles, lane by lane, to the trace of a family, which is 0."""
    columns = step.view(trace)
    count = len(cycles)
    copied = {
        name: Cell(getattr(columns, name).reshape(-1)[:count], *what)
        for name, what in _copies(run, step).items()
        if name in step.names
    }
    values = [run.cycles[name] for name in ("a", "b", "c")]
    fill_lanes(device, list(copied.values()), Lanes(cycles, entries, values))
    rest = {name: view for name, view in vars(columns).items() if name not in copied}

    def piece(first: int, last: int) -> None:
        rows = Rows(device, run, cycles[first:last], entries[first:last])
        write_cells(rest, rows.cells(step), first, last)

    if rest:
        device.split_rows(piece, count)


def _copies(run: Run, step: Step) -> dict[str, tuple[Any, ...]]:
    """What cells are that follow from their names; a family has some of them."""
    cells: dict[str, tuple[Any, ...]] = {"on": (Kind.ONE,), "clk": (Kind.CLOCK,)}
    for name in ("pc", "a_at", "b_at", "d_at", "imm", "imm2", "following"):
        cells[name] = Kind.ENTRY, run.program[name]
    for cell, _, slot in accesses(step):
        if cell in TIMES:
            cells[cell] = Kind.RECENT, run.cycles[TIMES[cell]], slot
    for name, source in (("a", "a"), ("b", "b"), ("m", "old")):
        cells[f"{name}_lo"] = Kind.LOW, run.cycles[source]
        cells[f"{name}_hi"] = Kind.HIGH, run.cycles[source]
    return cells | {"old_lo": (Kind.OLD_LOW, run.cycles["t_d"]), "old_hi": (Kind.OLD_HIGH, run.cycles["t_d"])}


def write_cells(columns: Mapping[str, Array], cells: Mapping[str, Any], first: int, last: int) -> None:
    """Writes cells of the lanes first..last, counted lane by lane, to their columns."""
    for name, view in columns.items():
        _write(view, cells[name], first, last)


def _write(view: Array, values: Any, first: int, last: int) -> None:
    """Writes one cell's values to its columns, (lanes, [members,] rows)."""
    if isinstance(values, tuple | list):
        for i, each in enumerate(values):
            _write(view[:, i], each, first, last)
        return
    if view.flags.c_contiguous:
        view.reshape(-1)[first:last] = values
        return
    height = view.shape[1]
    for lane in range(first // height, -(-last // height)):
        start, stop = max(first, lane * height), min(last, (lane + 1) * height)
        part = values[start - first : stop - first] if values.ndim else values
        view[lane, start - lane * height : stop - lane * height] = part
