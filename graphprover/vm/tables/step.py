"""The tables of instructions: a lane executes one instruction, a row has one or several lanes."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar, Protocol

from graphprover.air import Air, Bus, Expr, TableBuilder
from graphprover.vm.tables.buses import VM, Tag, message
from graphprover.vm.tables.clock import SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY, time_of
from graphprover.vm.tables.limbs import PER_HALF

Word = tuple[Any, Any]  # a value of 64 bits: two expressions or integers of 32

BASE = ("on", "clk", "pc")  # 1 in a lane that executes; the cycle, from 1 on; the address of the instruction
A = ("a_at", "a_t", "a_lo", "a_hi")  # rs1: its address, the time of its last access, its value
A32 = ("a_at", "a_t", "a_lo")  # rs1 with hi = 0
B = ("b_at", "b_t", "b_lo", "b_hi")  # rs2
D = ("d_at", "d_t", "old_lo", "old_hi")  # rd, and its value before
M = ("m_t", "m_lo", "m_hi")  # a word of memory, and its value before


# Messages of a row of one lane from which four share a fraction column: two quotient chunks more, and at least three
# columns less. Rows of more lanes are many, so the wider quotient would take more time than it saves.
MANY_MESSAGES = 20


def paired(flag: Expr) -> Expr:
    """Return an expression that is 0 only if ``flag`` is 0 or 1.

    Degree 3, so that the quotient has two chunks and two messages share a fraction column.
    """
    return shared(flag, 2)


def shared(flag: Expr, messages: int) -> Expr:
    """Return such an expression of degree ``messages`` + 1, a power of two plus 1, for sharing a fraction column."""
    return flag**messages * (flag - 1)


class Stating(Protocol):
    """The constraints and messages of a lane, in a table or in its part of a shared one; see `TableBuilder`."""

    def __getitem__(self, name: str) -> Any: ...

    def every_row(self, zero: Any, label: str | None = None) -> None: ...

    def boolean(self, flag: Expr, label: str | None = None) -> None: ...

    def send(self, bus: Bus, fields: Iterable[Any], multiplicity: Any, *, weight: int | None) -> None: ...

    def receive(self, bus: Bus, fields: Iterable[Any], multiplicity: Any, *, weight: int | None) -> None: ...

    def lookup(self, bus: Bus, fields: Iterable[Any], multiplicity: Any, *, weight: int | None) -> None: ...


class Lane:
    """The cells of one lane as attributes, and the constraints and messages that chips share."""

    def __init__(self, t: Stating, step: "Step", lane: int) -> None:
        self._t = t
        self._chip_number = step.chip_number
        self._in_place = step.in_place
        self._before: Word = (0, 0)  # value of rs1, if rd is in its place
        self._registers = {"d": 0, "a": 0, "b": 0}  # type: dict[str, Any]
        self._cells = {name: t[name][lane] for name in step.names}

    def __getattr__(self, name: str) -> Any:
        try:
            return self._cells[name]
        except KeyError:
            raise AttributeError(name) from None

    # Constraints

    def zero(self, expression: Expr, label: str) -> None:
        """Constrain ``expression`` to 0, in idle lanes too."""
        self._t.every_row(expression, label)

    def boolean(self, expression: Expr, label: str) -> None:
        """Constrain ``expression`` to 0 or 1."""
        self._t.boolean(expression, label)

    # Lookups

    def look(self, tag: Tag, *fields: Any) -> None:
        """Look up a message in the table of its tag."""
        self._t.lookup(VM, message(tag, *fields), self.on, weight=1)

    def half(self, x: Any) -> None:
        """Check that ``x`` has 16 bits."""
        self.look(Tag.HALF, x)

    def word(self, low: Any, x: Any) -> None:
        """Check that ``x`` has 32 bits; the cell ``low`` is its lower 16."""
        self.half(low)
        self.half((x - low) * PER_HALF)

    def sign(self, low: Any, x: Any, bit: Any) -> None:
        """Check that ``x`` has 32 bits; the cell ``low`` is its lower 16, the cell ``bit`` its highest one."""
        self.half(low)
        self.look(Tag.SIGN, (x - low) * PER_HALF, bit)

    # Accesses

    def access(self, at: Any, before: Any, slot: int, old: Word, new: Word) -> None:
        """Change the value at an address from ``old`` to ``new`` at ``slot`` of this cycle."""
        now = time_of(self.clk, slot)
        self._t.receive(VM, message(Tag.ACCESS, at, before, *old), self.on, weight=1)
        self._t.send(VM, message(Tag.ACCESS, at, now, *new), self.on, weight=1)
        self.half(now - before - 1)

    def read_a(self, value: Word | None = None) -> Word:
        """Read rs1: its value is the cells, or the one given."""
        value = value or (self.a_lo, self.a_hi)
        self._registers["a"] = self.a_at
        if self._in_place:
            self._before = value
        else:
            self.access(self.a_at, self.a_t, SLOT_A, value, value)
        return value

    def read_b(self, value: Word | None = None) -> Word:
        """Read rs2: its value is the cells, or the one given."""
        value = value or (self.b_lo, self.b_hi)
        self._registers["b"] = self.b_at
        self.access(self.b_at, self.b_t, SLOT_B, value, value)
        return value

    def write(self, value: Word) -> None:
        """Write ``value``, with parts of 32 bits, to rd; in place, this is also the access of rs1."""
        if self._in_place:
            self._registers["d"] = self.a_at
            self.access(self.a_at, self.a_t, SLOT_D, self._before, value)
        else:
            self._registers["d"] = self.d_at
            self.access(self.d_at, self.d_t, SLOT_D, (self.old_lo, self.old_hi), value)

    def memory(self, address: Any, old: Word, new: Word) -> None:
        """Change the word at ``address`` from ``old`` to ``new``."""
        self.access(address, self.m_t, SLOT_MEMORY, old, new)

    def ask(self, bus: Bus, fields: list[Any]) -> None:
        """Send a message on another bus."""
        self._t.send(bus, fields, self.on, weight=1)

    def answer(self, bus: Bus, fields: list[Any]) -> None:
        """Receive a message on another bus."""
        self._t.receive(bus, fields, self.on, weight=1)

    # Control

    def go(self, following: Any = None, imm: Any = 0, imm2: Any = 0, stated: Any = None) -> None:
        """State that this is an instruction of the program, followed by the one at ``following`` (by default the next).

        ``stated``: the next pc in the program's entry, if it is not ``following``.
        """
        following = self.pc + 4 if following is None else following
        self._t.send(VM, message(Tag.STATE, self.clk + 1, following), self.on, weight=1)
        self.begin(following if stated is None else stated, imm, imm2)

    def begin(self, following: Any, imm: Any = 0, imm2: Any = 0) -> None:
        """State that this is an instruction of the program, with ``following`` in its entry, and that its turn has
        come.
        """
        self._t.receive(VM, message(Tag.STATE, self.clk, self.pc), self.on, weight=1)
        registers = self._registers.values()
        self.look(Tag.PROGRAM, self._chip_number, self.pc, following, *registers, imm, imm2)

    def halt(self, code: Word) -> None:
        """State that this is the last cycle."""
        self._t.send(VM, message(Tag.HALT, self.clk, *code), self.on, weight=1)


class Executed(Protocol):
    """Executed instructions that a chip might prove, with one value each, in arrays of some device.

    All are uint64, except for flags of some operations; numbers without a stated bound are mod 2^64.
    """

    arrays: Any  # the module of the arrays: NumPy, or CuPy
    a: Any  # the value of rs1, of a7 for ecall
    b: Any  # the value of rs2, of a0 for ecall
    c: Any  # the value written to rd
    imm: Any  # of the program's entry, field elements
    imm2: Any
    offset: Any  # the instruction's own immediate

    @property
    def address(self) -> Any:
        """Return the address of a load or store, in bytes."""

    @property
    def old(self) -> Any:
        """Return the (first) word of memory before."""

    @property
    def new(self) -> Any:
        """Return the (first) word of memory after a store."""

    @property
    def old2(self) -> Any:
        """Return the second word of memory before."""

    @property
    def new2(self) -> Any:
        """Return the second word of memory after a store."""

    def words(self, name: str) -> Any:
        """Return ``old`` or ``new`` of the words of a host call, (words, instructions)."""

    def inverse_of_difference(self, x: Any, y: Any) -> Any:
        """Return 1 / (x - y) in the field, 0 if they are equal."""

    def signed(self, x: Any, y: Any, shift: Any) -> Any:
        """Return (x - y) * 2^shift in the field, for a magnitude below 2^63."""


class Step(Air):
    """A chip of instructions: one lane executes one of them.

    A subclass lists the ``cells`` of a lane and states its constraints in ``rule``. Idle lanes are zero everywhere.
    """

    cells: ClassVar[tuple[str, ...]] = ()  # beside BASE
    accessed: tuple[str, ...] = ()  # cells of times before of registers and words, if they are not named like them
    chip_number: int = 0  # its number in the program table
    in_place: bool = False  # rd is rs1, with one access at SLOT_D

    def __init__(self, lanes: int = 1) -> None:
        self.lanes = lanes

    @property
    def specs(self) -> tuple[str, ...]:
        """Return the cells of a lane."""
        return (*BASE, *(spec for spec in self.cells if not (self.in_place and spec in D)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of the cells."""
        return tuple(spec.partition("[")[0] for spec in self.specs)

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return all lanes' cells."""
        return tuple(_laned(spec, self.lanes) for spec in self.specs)

    def rule(self, c: Lane) -> None:
        """State the constraints and messages of one lane."""
        raise NotImplementedError

    def fits(self, r: Executed) -> Any:
        """Return which of the executed instructions ``r`` this chip can prove: a mask, or True for all."""
        return True

    def witness(self, r: Executed) -> dict[str, Any]:
        """Return the cells of the executed instructions ``r`` that do not follow from their names (see
        ``traces.chips``).

        By name, an array for each cell; a list of arrays, or of such lists, if several cells have one name.
        """
        return {}

    def define(self, t: TableBuilder) -> None:
        for lane in range(self.lanes):
            c = Lane(t, self, lane)
            self.rule(c)
            many = self.lanes == 1 and t.message_count >= MANY_MESSAGES
            c.zero(shared(c.on, 4 if many else 2), "a lane executes or not")


def _laned(spec: str, lanes: int) -> str:
    name, bracket, sizes = spec.partition("[")
    return f"{name}[{lanes}]{bracket}{sizes}"
