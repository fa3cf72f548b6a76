"""The cycles of a table, column by column, on any device."""

from functools import cached_property
from typing import Any

import numpy as np

from graphprover.device import Array, Device
from graphprover.field import array_sub
from graphprover.vm.accelerators.keccak.kernels import permuted
from graphprover.vm.accelerators.keccak.permutation import WORDS
from graphprover.vm.tables.clock import FAR, clock_of
from graphprover.vm.traces.executing import Executing
from graphprover.vm.traces.run import ReplayedRange


class CycleRows(Executing):
    """Some cycles of a run as arrays, by a slice or an array of their positions in its order."""

    def __init__(self, device: Device, run: ReplayedRange, chosen: Any) -> None:
        self.device, self.arrays = device, device.arrays
        self._run, self._cycles = run, run.cycles.order[chosen]

    @cached_property
    def _entries(self) -> Array:
        return self._run.cycles.entry[self._cycles]

    @cached_property
    def _at(self) -> Array:
        return self._run.cycles.at[self._cycles]

    def column(self, name: str) -> Array:
        if name in self._run.program:
            return self._run.program[name][self._entries]
        return getattr(self._run.cycles, name)[self._cycles]

    @cached_property
    def clk(self) -> Array:
        return self._cycles.astype(np.uint64) + np.uint64(clock_of(self._run.start))

    def of_access(self, name: str, place: int) -> Array:
        source = self._run.cycles.new if name == "new" else getattr(self._run, name)
        return source[self._at + place].astype(np.uint64, copy=False)

    def words(self, name: str) -> Array:
        """Return the words of a host call as an array (words, cycles)."""
        words = self.stacked("old", 0, WORDS)
        return words if name == "old" else permuted(self.device, words)

    def stacked(self, name: str, first: int, count: int) -> Array:
        """Return some accesses of each cycle as an array (count, cycles); see ``of_access``."""
        return self.arrays.stack([self.of_access(name, first + i) for i in range(count)])

    def inverse_of_difference(self, x: Array, y: Array) -> Array:
        return self.device.inverse(array_sub(x, y))

    def signed(self, x: Array, y: Array, shift: Array) -> Array:
        return array_sub(x << shift, y << shift)

    def not_late(self, before: Array, now: Array) -> Array:
        return self.arrays.where(now - before > FAR, now - 1, before)
