"""The cycles that a table proves, column by column, on whatever device."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from graphprover.device import Array, Device
from graphprover.device.cpu import CpuDevice
from graphprover.field import array_sub
from graphprover.vm.clock import FAR, LOG_SLOTS, SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY, SLOTS, clock_of, time_of
from graphprover.vm.tables.keccak_f import WORDS
from graphprover.vm.tables.step import Step
from graphprover.vm.traces.run import Run

TIMES = {"a_t": "t_a", "b_t": "t_b", "d_t": "t_d", "m_t": "t_m"}  # cells and columns of the time of the access before


@dataclass(frozen=True)
class Access:
    """An access that a lane makes."""

    cell: str  # the cells that hold the time of the access before
    number: int  # of the one among them
    slot: int  # when in the cycle


def accesses_of(step: Step) -> list[Access]:
    """What a lane accesses, in order."""
    slots = {
        "a_t": SLOT_D if step.in_place else SLOT_A,
        "b_t": SLOT_B,
        "d_t": SLOT_D,
        "m_t": SLOT_MEMORY,
        "m2_t": SLOT_MEMORY,
    }
    names = step.names
    found = [Access(cell, 0, slot) for cell, slot in slots.items() if cell in names]
    return found + [Access("word_t", i, SLOT_MEMORY) for i in range(WORDS if "word_t" in names else 0)]


class Rows:
    """Implements `Executed`: some cycles and their entries of the program table, both uint32 arrays of the device.

    Every attribute has one uint64 for each: ``a``, ``b``, ``c``, ``address``, ... are columns of the record, ``pc``,
    ``a_at``, ``imm``, ... of the program.
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
        return self._cycles.astype(np.uint64) + np.uint64(clock_of(self._run.start))

    @cached_property
    def now(self) -> Array:
        """When slot 0 is."""
        return time_of(self.clk)

    @cached_property
    def crossing(self) -> Array:
        """The number of the crossing."""
        return self.arrays.searchsorted(self._run.crossings["cycle"], self._cycles)

    @property
    def old2(self) -> Array:
        """The second word of memory before."""
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
        arrays, columns, held, t = self.arrays, self._run.cycles, self._run.held, self.t_d
        cycle, slot = (t >> LOG_SLOTS).astype(np.int64) - clock_of(self._run.start), t & (SLOTS - 1)
        before = cycle < 0
        cycle = arrays.where(before, 0, cycle)
        value = arrays.where(slot == SLOT_D, columns["c"][cycle], columns["a"][cycle])
        value = arrays.where(slot == SLOT_B, columns["b"][cycle], value)
        place = arrays.minimum(arrays.searchsorted(held["t"], t), len(held["t"]) - 1)
        return arrays.where(before, held["value"][place], value)

    @property
    def word(self) -> Array:
        """The address of the (first) word of memory."""
        return self.address & ~np.uint64(7)

    def before(self, access: Access) -> Array:
        """When the value of an access was accessed before."""
        match access.cell:
            case "m2_t":
                return self._run.crossings["t"][self.crossing]
            case "word_t":
                return self.words("t")[access.number]
        return getattr(self, TIMES[access.cell])

    def accessed(self, access: Access) -> tuple[Array, Array]:
        """Where an access is, and the value there before it."""
        match access.cell:
            case "d_t":
                return self.d_at, self.old_d
            case "m_t":
                return self.word, self.old
            case "m2_t":
                return self.word + np.uint64(8), self.old2
            case "word_t":
                return self.b + 8 * access.number, self.words("old")[access.number]
        register = access.cell[0]
        return getattr(self, f"{register}_at"), getattr(self, register)

    def recent(self, access: Access) -> Array:
        """The time of the access before, or where that is too long ago, of a bump right before this one."""
        t, now = self.before(access), self.now + access.slot
        return self.arrays.where(now - t > FAR, now - 1, t)


def host_rows(run: Run, cycles: np.ndarray, entries: np.ndarray) -> Rows:
    """Rows of a run on the host, for what must be known before a device makes traces."""
    return Rows(_host(), run, cycles, entries)


@cache
def _host() -> Device:
    return CpuDevice(1)
