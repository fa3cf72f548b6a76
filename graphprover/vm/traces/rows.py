"""The cycles that a table proves, column by column, on whatever device."""

from functools import cached_property
from typing import Any

import numpy as np

from graphprover.device import Array, Device
from graphprover.field import array_sub
from graphprover.vm.clock import FAR, SLOT_MEMORY, clock_of, time_of
from graphprover.vm.kernels import permuted
from graphprover.vm.tables.keccak_f import WORDS
from graphprover.vm.traces.accesses import Access
from graphprover.vm.traces.run import Run

TIMES = {"a_t": "t_a", "b_t": "t_b", "d_t": "t_d"}  # cells and columns of the time of a register's access before


class Rows:
    """Implements `Executed`: some cycles of a run, by a slice or an array of their places in its order.

    Every attribute has one uint64 for each: ``a``, ``b``, ``c``, ``d``, ``t_a``, ... are columns of the cycles, ``pc``,
    ``a_at``, ``imm``, ... of the program.
    """

    def __init__(self, device: Device, run: Run, chosen: Any) -> None:
        self.device, self.arrays = device, device.arrays
        self._run, self._cycles = run, run.cycles.order[chosen]
        self._entries, self._at = run.cycles.entry[self._cycles], run.cycles.at[self._cycles]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._run.program:
            value = self._run.program[name][self._entries]
        else:
            value = getattr(self._run.cycles, name)[self._cycles]
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
    def address(self) -> Array:
        """Of a load or store, in bytes."""
        return self.a + self.offset

    @property
    def word(self) -> Array:
        """The address of the (first) word of memory."""
        return self.address & ~np.uint64(7)

    @cached_property
    def old(self) -> Array:
        """The (first) word of memory before."""
        return self._run.old[self._at]

    @cached_property
    def new(self) -> Array:
        """And after, of a store."""
        return self._run.cycles.new[self._at]

    @property
    def old2(self) -> Array:
        """The second word of memory before."""
        return self._run.old[self._at + 1]

    @property
    def new2(self) -> Array:
        """And after, of a store."""
        return self._run.cycles.new[self._at + 1]

    def words(self, name: str) -> Array:
        """``old`` or ``new`` of the words of a host call, (words, cycles)."""
        words = self.arrays.stack([self._run.old[self._at + i] for i in range(WORDS)])
        return words if name == "old" else permuted(self.device, words)

    def inverse_of_difference(self, x: Array, y: Array) -> Array:
        """1 / (x - y) in the field, 0 where they are equal."""
        return self.device.inverse(array_sub(x, y))

    def signed(self, x: Array, y: Array, shift: Array) -> Array:
        """(x - y) * 2^shift in the field, where the magnitude is below 2^63."""
        return array_sub(x << shift, y << shift)

    def before(self, access: Access) -> Array:
        """When the value of an access was accessed before."""
        if access.cell in TIMES:
            return getattr(self, TIMES[access.cell])
        clock = self._run.clock[self._at + self._place(access)].astype(np.uint64)
        return self.arrays.where(clock > 0, time_of(clock, SLOT_MEMORY), np.uint64(0))

    def accessed(self, access: Access) -> tuple[Array, Array]:
        """Where an access is, and the value there before it."""
        if access.cell not in TIMES:
            place = self._place(access)
            base = self.b if access.cell == "word_t" else self.word
            return base + np.uint64(8 * place), self._run.old[self._at + place]
        register = access.cell[0]
        return getattr(self, f"{register}_at"), getattr(self, register)

    @staticmethod
    def _place(access: Access) -> int:
        """Which of the words of its cycle an access of memory is of."""
        return 1 if access.cell == "m2_t" else access.number

    def recent(self, access: Access) -> Array:
        """The time of the access before, or where that is too long ago, of a bump right before this one."""
        t, now = self.before(access), self.now + access.slot
        return self.arrays.where(now - t > FAR, now - 1, t)
