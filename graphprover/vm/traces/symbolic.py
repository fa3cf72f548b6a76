"""The cycles of a table as symbols, and the arrays behind these symbols."""

from types import SimpleNamespace
from typing import Any

from graphprover.device import Array, Device
from graphprover.vm.accelerators.keccak.permutation import WORDS
from graphprover.vm.kernels.lanes import LOG_SOURCES, Code, Op, Sources
from graphprover.vm.kernels.tape import FIRST_NARROW, NARROW, ROW_WORDS, WIDE
from graphprover.vm.traces.executing import Executing
from graphprover.vm.traces.formulas import Formulas, Symbol
from graphprover.vm.traces.rows import CycleRows
from graphprover.vm.traces.run import ReplayedRange

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


def sources(run: ReplayedRange) -> Sources:
    """Return the arrays of a run that lanes read; a lane's word in the arrays of lanes is its cycle's in the order."""
    found: dict[str, Array] = {_ORDER: run.cycles.order}
    found |= {name: getattr(run.cycles, name).reshape(-1) for name in _BY_CYCLE}
    found |= {name: getattr(run if name in ("old", "time") else run.cycles, name) for name in _BY_ACCESS}
    found |= {name: run.program[name] for name in _BY_ENTRY}
    return Sources({_NAMES.index(name): array for name, array in found.items()})


def with_permuted(device: Device, run: ReplayedRange, own: Sources, first: int, last: int) -> Sources:
    """Return sources with the words after the calls of the cycles first..last of the run's order, from their lane 0 on.

    The order has these cycles alone.
    """
    after = CycleRows(device, run, slice(first, last)).words("new")
    permuted = {_PERMUTED + i: after[i] for i in range(WORDS)}
    return Sources({**own.arrays, _NAMES.index(_ORDER): run.cycles.order[first:last], **permuted})


def reads_permuted(code: Code) -> bool:
    """Return whether code reads the words after calls."""
    return any(number >= _PERMUTED for number in code.loads)
