"""The tables of host calls that take several rows a call.

All rows of a call have the flag ``on`` and its clock. A call's rows follow each other without a gap, so a constraint
sees a row and the next one. The constraints also hold around the table's end: the row behind the last is the first.
"""

from collections.abc import Sequence
from typing import Any

from graphprover.air import Expr, TableBuilder
from graphprover.air.columns import Columns
from graphprover.air.linear import linear
from graphprover.vm.accelerators.host_call import HostCall
from graphprover.vm.program.isa import A0, A7
from graphprover.vm.tables.buses import REGISTER_BASE, VM, Tag, message
from graphprover.vm.tables.clock import time_of
from graphprover.vm.tables.limbs import HALF
from graphprover.vm.tables.step import Executed, Step, shared

SHARING = 4  # messages of a fraction column: degree 5, four quotient chunks


class CallTable(Step):
    """A chip whose calls take several rows; a subclass has the ``cells`` and states constraints in ``calls``."""

    host_calls: tuple[HostCall, ...]  # which the chip proves
    accessed = ("a_t", "b_t")

    def __init__(self, lanes: int = 1) -> None:
        if lanes != 1:
            raise ValueError("a host call of several rows has one lane")
        super().__init__(lanes)

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the columns."""
        return self.cells

    def calls(self, t: "CallBuilder") -> None:
        """State the constraints and messages of a row."""
        raise NotImplementedError

    def fits(self, r: Executed) -> Any:
        found = False
        for call in self.host_calls:
            found = found | (r.a == call.number)
        return found

    def define(self, t: TableBuilder) -> None:
        t.every_row(shared(t.on, SHARING), "a row is of a call or not")
        self.calls(CallBuilder(t, self.chip_number))


class CallBuilder:
    """The messages of a row, which has the cells ``on`` and ``clk``."""

    def __init__(self, t: TableBuilder, chip_number: int) -> None:
        self.t = t
        self._chip_number = chip_number

    def half(self, x: Expr, times: Expr | None = None) -> None:
        """Check that ``x`` has 16 bits."""
        self.t.lookup(VM, message(Tag.HALF, x), self.t.on if times is None else times, weight=1)

    def bytes(self, cells: Sequence[Expr]) -> None:
        """Check that cells have 8 bits each; their number is even."""
        for low, high in zip(cells[::2], cells[1::2], strict=True):
            self.t.lookup(VM, message(Tag.BYTES, low, high), self.t.on, weight=1)

    def access(self, at: Any, before: Expr, slot: Any, old: Sequence[Any], new: Sequence[Any], times: Expr) -> None:
        """Change a value from ``old`` to ``new`` at ``slot`` of the call's cycle, in rows with ``times``."""
        self.exchange(at, before, slot, old, new, times)
        self.recent(before, slot, times)

    def exchange(self, at: Any, before: Expr, slot: Any, old: Sequence[Any], new: Sequence[Any], times: Expr) -> None:
        """Do the same as `access`, without the check that the access before is recent; see `recent`."""
        now = time_of(self.t.clk, slot)
        self.t.receive(VM, message(Tag.ACCESS, at, before, *old), times, weight=1)
        self.t.send(VM, message(Tag.ACCESS, at, now, *new), times, weight=1)

    def recent(self, before: Expr, slot: Any, times: Expr) -> None:
        """Check that a time is before ``slot`` of the call's cycle, and recent."""
        self.half(time_of(self.t.clk, slot) - before - 1, times)

    def register(self, number: Any, before: Expr, slot: Any, value: Any, times: Expr) -> None:
        """Read a register, whose value is below 2^32."""
        self.exchange_register(number, before, slot, value, times)
        self.recent(before, slot, times)

    def exchange_register(self, number: Any, before: Expr, slot: Any, value: Any, times: Expr) -> None:
        """Do the same as `register`, without the check that the access before is recent; see `recent`."""
        self.exchange(REGISTER_BASE + number, before, slot, (value, 0), (value, 0), times)

    def instruction(self, pc: Expr, times: Expr) -> None:
        """State that this is an ecall of the program, and that its turn has come."""
        clk, following = self.t.clk, pc + 4
        self.t.receive(VM, message(Tag.STATE, clk, pc), times, weight=1)
        self.t.send(VM, message(Tag.STATE, clk + 1, following), times, weight=1)
        registers = 0, REGISTER_BASE + A7, REGISTER_BASE + A0
        program = message(Tag.PROGRAM, self._chip_number, pc, following, *registers, 0, 0)
        self.t.lookup(VM, program, times, weight=1)


def two_rows(t: TableBuilder) -> None:
    """State that each call has two rows of one cycle; the flag ``first`` is 1 in the first one."""
    n = t.next
    t.boolean(t.first, "a row is the first or not")
    t.every_row(n.on - n.first - t.first, "the second row follows the first")
    t.every_row(t.first * (n.clk - t.clk), "both rows are of one cycle")


def columns_of(table: CallTable) -> dict[str, int]:
    """Return the first column of each name of a table."""
    return {name: family.offset for name, family in Columns(table.cells).families.items()}


def limbs_of(halves: Sequence[Expr]) -> list[Expr]:
    """Return the limbs of halves."""
    return [linear(((1, low), (HALF, high))) for low, high in zip(halves[::2], halves[1::2], strict=True)]


def product(u: Sequence[Any], v: Sequence[Any], limb: int) -> Any:
    """Return one of the n limbs, before carries, of the product of two numbers of n halves."""
    total: Any = 0
    for place, weight in ((2 * limb, 1), (2 * limb + 1, HALF)):
        part: Any = 0
        for i in range(max(0, place - len(v) + 1), min(place + 1, len(u))):
            part = part + u[i] * v[place - i]
        total = total + part * weight
    return total


def check_below(
    t: TableBuilder,
    gate: Expr,
    active: Expr,
    x: Sequence[Expr],
    bound: Sequence[Any],
    flags: Sequence[Expr],
    difference: Expr,
) -> None:
    """State in rows with ``gate`` that the number ``x`` is below ``bound``, both limbs of 32 bits, if ``active`` is 1.

    A flag shows the highest limb in which they differ; there ``difference`` + 1, of 32 bits, is what x lacks. If
    ``active`` is 0 there is no flag and nothing is stated.
    """
    equal, found = active, 0  # equal: 1 above the flagged limb
    for flag, of_x, of_bound in zip(reversed(flags), reversed(x), reversed(bound), strict=True):
        t.every_row(gate * flag * (flag - 1), "a flag of a limb")
        equal = equal - flag
        t.every_row(gate * equal * (of_bound - of_x), "limbs above the flagged one are equal")
        found = found + flag * (of_bound - of_x)
    t.every_row(gate * equal, "one limb is flagged")
    t.every_row(gate * (found - active - difference), "the flagged limb is smaller")
