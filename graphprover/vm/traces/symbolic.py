"""The cycles of a table as symbols, and the arrays behind these symbols."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from graphprover.device import Array, Device
from graphprover.vm.kernels.lanes import LOG_SOURCES, Op
from graphprover.vm.kernels.tape import FIRST_NARROW, NARROW, ROW_WORDS, WIDE
from graphprover.vm.tables.keccak_f import WORDS
from graphprover.vm.traces.executing import Executing
from graphprover.vm.traces.formulas import Formulas, Symbol
from graphprover.vm.traces.rows import Rows
from graphprover.vm.traces.run import Run

_ORDER = "order"  # the lane's cycle
_BY_CYCLE = ("rows", "halves")  # whose columns are read
_BY_ACCESS = ("old", "time", "new")
_BY_ENTRY = ("pc", "following", "a_at", "b_at", "d_at", "imm", "imm2", "offset")
_NAMES = (_ORDER, *_BY_CYCLE, *_BY_ACCESS, *_BY_ENTRY)  # sources, in the order of their numbers
_PERMUTED = len(_NAMES)  # number of the first word after a call


class Symbols(Executing):
    """Any cycle of a table, as symbols."""

    def __init__(self, formulas: Formulas) -> None:
        self._formulas = formulas
        self.arrays = SimpleNamespace(where=lambda condition, x, y: formulas.symbol(Op.SELECT, condition, x, y))

    def column(self, name: str) -> Symbol:
        if name in _BY_ENTRY:
            return self._at(Op.AT, name, self._by_cycle("entry"))
        return self._by_cycle(name)

    @property
    def clk(self) -> Symbol:
        return self._formulas.symbol(Op.CLOCK, immediate=_NAMES.index(_ORDER))

    def of_access(self, name: str, place: int) -> Symbol:
        return self._at(Op.AT, name, self._by_cycle("at"), place)

    def words(self, name: str) -> list[Symbol]:
        if name == "old":
            return [self.of_access("old", i) for i in range(WORDS)]
        return [self._formulas.symbol(Op.LANE, immediate=_PERMUTED + i) for i in range(WORDS)]

    def inverse_of_difference(self, x: Any, y: Any) -> Symbol:
        return self._formulas.symbol(Op.INVERSE, self._formulas.combine(Op.FIELD_SUB, x, y))

    def signed(self, x: Any, y: Any, shift: Any) -> Symbol:
        return self._formulas.combine(Op.FIELD_SUB, x << shift, y << shift)

    def not_late(self, before: Any, now: Any) -> Symbol:
        return self._formulas.symbol(Op.RECENT, before, now)

    def _by_cycle(self, name: str) -> Symbol:
        """Return a column of the lane's cycle."""
        first = self._formulas.symbol(Op.LANE_NARROW, immediate=_NAMES.index(_ORDER)) * ROW_WORDS
        if name in NARROW:
            return self._at(Op.AT_NARROW, "halves", 2 * first, FIRST_NARROW + NARROW.index(name))
        return self._at(Op.AT, "rows", first, WIDE.index(name))

    def _at(self, op: Op, name: str, place: Symbol, offset: int = 0) -> Symbol:
        return self._formulas.symbol(op, place, immediate=_NAMES.index(name) | offset << LOG_SOURCES)


def sources(device: Device, run: Run, first: int, last: int, numbers: Iterable[int]) -> dict[int, Array]:
    """Return the arrays of these numbers, for the cycles first..last of a run's order."""
    found = {}
    for number in numbers:
        if number >= _PERMUTED:
            continue
        name = _NAMES[number]
        if name == _ORDER:
            found[number] = run.cycles.order[first:last]
        elif name in _BY_CYCLE:
            found[number] = getattr(run.cycles, name).reshape(-1)
        elif name in _BY_ENTRY:
            found[number] = run.program[name]
        else:
            found[number] = getattr(run if name in ("old", "time") else run.cycles, name)
    if any(number >= _PERMUTED for number in numbers):
        after = Rows(device, run, slice(first, last)).words("new")
        found |= {_PERMUTED + i: after[i] for i in range(WORDS)}
    return found
