"""What the tables of all instructions share: a lane executes one instruction, a row has one or several lanes."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar, Protocol

from graphprover.air import Air, Bus, Expr, TableBuilder
from graphprover.vm.tables.buses import VM, Tag, message
from graphprover.vm.tables.clock import SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY, time_of
from graphprover.vm.tables.limbs import PER_HALF

Word = tuple[Any, Any]  # a value of 64 bits: two expressions or integers of 32

BASE = ("on", "clk", "pc")  # 1 in a lane that executes; the cycle, from 1 on; where the instruction stands
A = ("a_at", "a_t", "a_lo", "a_hi")  # rs1: where, when it was accessed last, its value
A32 = ("a_at", "a_t", "a_lo")  # rs1 with hi = 0
B = ("b_at", "b_t", "b_lo", "b_hi")  # rs2
D = ("d_at", "d_t", "old_lo", "old_hi")  # rd, and its value before
M = ("m_t", "m_lo", "m_hi")  # a word of memory, and its value before


# Messages of a row of one lane from which on four share a fraction column: two quotient chunks more, and three columns
# less at least. In rows of more lanes, which are many, the wider quotient would take longer than it is worth.
MANY_MESSAGES = 20


def paired(flag: Expr) -> Expr:
    """0 where ``flag`` is 0 or 1, and nowhere else.

    Degree 3, so that the quotient has two chunks; then two messages share a fraction column, which is worth it.
    """
    return shared(flag, 2)


def shared(flag: Expr, messages: int) -> Expr:
    """The same of degree ``messages`` + 1, a power of two and 1, so that as many messages share a fraction column."""
    return flag**messages * (flag - 1)


class Stating(Protocol):
    """What a lane states on: a table, or its part of one that chips share. As in `TableBuilder`."""

    def __getitem__(self, name: str) -> Any: ...

    def every_row(self, zero: Any, label: str | None = None) -> None: ...

    def boolean(self, flag: Expr, label: str | None = None) -> None: ...

    def send(self, bus: Bus, fields: Iterable[Any], multiplicity: Any, *, weight: int | None) -> None: ...

    def receive(self, bus: Bus, fields: Iterable[Any], multiplicity: Any, *, weight: int | None) -> None: ...

    def lookup(self, bus: Bus, fields: Iterable[Any], multiplicity: Any, *, weight: int | None) -> None: ...


class Lane:
    """The cells of one lane as attributes, and the statements that chips share."""

    def __init__(self, t: Stating, step: "Step", lane: int) -> None:
        self._t = t
        self._chip_number = step.chip_number
        self._in_place = step.in_place
        self._before: Word = (0, 0)  # of rs1, where rd takes its place
        self._registers = {"d": 0, "a": 0, "b": 0}  # type: dict[str, Any]
        self._cells = {name: t[name][lane] for name in step.names}

    def __getattr__(self, name: str) -> Any:
        try:
            return self._cells[name]
        except KeyError:
            raise AttributeError(name) from None

    # Constraints

    def zero(self, expression: Expr, label: str) -> None:
        """``expression`` is 0, in idle lanes too."""
        self._t.every_row(expression, label)

    def boolean(self, expression: Expr, label: str) -> None:
        """``expression`` is 0 or 1."""
        self._t.boolean(expression, label)

    # Lookups

    def look(self, tag: Tag, *fields: Any) -> None:
        """The message is in the table of its tag."""
        self._t.lookup(VM, message(tag, *fields), self.on, weight=1)

    def half(self, x: Any) -> None:
        """``x`` has 16 bits."""
        self.look(Tag.HALF, x)

    def word(self, low: Any, x: Any) -> None:
        """``x`` has 32 bits, the lower 16 of which are the cell ``low``."""
        self.half(low)
        self.half((x - low) * PER_HALF)

    def sign(self, low: Any, x: Any, bit: Any) -> None:
        """``x`` has 32 bits, the lower 16 of which are the cell ``low`` and the highest one ``bit``."""
        self.half(low)
        self.look(Tag.SIGN, (x - low) * PER_HALF, bit)

    # Accesses

    def access(self, at: Any, before: Any, slot: int, old: Word, new: Word) -> None:
        """At ``slot`` of this cycle the value at an address turns from ``old`` into ``new``."""
        now = time_of(self.clk, slot)
        self._t.receive(VM, message(Tag.ACCESS, at, before, *old), self.on, weight=1)
        self._t.send(VM, message(Tag.ACCESS, at, now, *new), self.on, weight=1)
        self.half(now - before - 1)

    def read_a(self, value: Word | None = None) -> Word:
        """The value of rs1: the cells, or the one given."""
        value = value or (self.a_lo, self.a_hi)
        self._registers["a"] = self.a_at
        if self._in_place:
            self._before = value
        else:
            self.access(self.a_at, self.a_t, SLOT_A, value, value)
        return value

    def read_b(self, value: Word | None = None) -> Word:
        """The value of rs2: the cells, or the one given."""
        value = value or (self.b_lo, self.b_hi)
        self._registers["b"] = self.b_at
        self.access(self.b_at, self.b_t, SLOT_B, value, value)
        return value

    def write(self, value: Word) -> None:
        """rd turns into ``value``, both parts of which have 32 bits; in place, rs1 does, in one access."""
        if self._in_place:
            self._registers["d"] = self.a_at
            self.access(self.a_at, self.a_t, SLOT_D, self._before, value)
        else:
            self._registers["d"] = self.d_at
            self.access(self.d_at, self.d_t, SLOT_D, (self.old_lo, self.old_hi), value)

    def memory(self, address: Any, old: Word, new: Word) -> None:
        """The word at ``address`` turns from ``old`` into ``new``."""
        self.access(address, self.m_t, SLOT_MEMORY, old, new)

    def ask(self, bus: Bus, fields: list[Any]) -> None:
        """Sends a message on another bus."""
        self._t.send(bus, fields, self.on, weight=1)

    def answer(self, bus: Bus, fields: list[Any]) -> None:
        """Receives a message on another bus."""
        self._t.receive(bus, fields, self.on, weight=1)

    # Control

    def go(self, following: Any = None, imm: Any = 0, imm2: Any = 0, stated: Any = None) -> None:
        """This is an instruction of the program, and the one at ``following`` (by default the next) comes after it.

        ``stated``: the next pc in the program's entry, where that is not ``following``.
        """
        following = self.pc + 4 if following is None else following
        self._t.send(VM, message(Tag.STATE, self.clk + 1, following), self.on, weight=1)
        self.begin(following if stated is None else stated, imm, imm2)

    def begin(self, following: Any, imm: Any = 0, imm2: Any = 0) -> None:
        """This is an instruction of the program, with ``following`` in its entry, and its turn has come."""
        self._t.receive(VM, message(Tag.STATE, self.clk, self.pc), self.on, weight=1)
        registers = self._registers.values()
        self.look(Tag.PROGRAM, self._chip_number, self.pc, following, *registers, imm, imm2)

    def halt(self, code: Word) -> None:
        """This is the last cycle."""
        self._t.send(VM, message(Tag.HALT, self.clk, *code), self.on, weight=1)


class Executed(Protocol):
    """Executed instructions, as a chip sees those that it might prove: one value each, in arrays of some device.

    All are uint64 but where an operation gives flags; numbers that are not bounded here are mod 2^64.
    """

    arrays: Any  # the module of the arrays: NumPy, or CuPy
    a: Any  # the value of rs1, of a7 for ecall
    b: Any  # of rs2, of a0 for ecall
    c: Any  # what is written to rd
    imm: Any  # of the program's entry, field elements
    imm2: Any
    offset: Any  # the instruction's own immediate

    @property
    def address(self) -> Any:
        """Of a load or store, in bytes."""

    @property
    def old(self) -> Any:
        """The (first) word of memory before."""

    @property
    def new(self) -> Any:
        """And after, of a store."""

    @property
    def old2(self) -> Any:
        """The second word of memory before."""

    @property
    def new2(self) -> Any:
        """And after."""

    def words(self, name: str) -> Any:
        """``old`` or ``new`` of the words of a host call, (words, instructions)."""

    def inverse_of_difference(self, x: Any, y: Any) -> Any:
        """1 / (x - y) in the field, 0 where they are equal."""

    def signed(self, x: Any, y: Any, shift: Any) -> Any:
        """(x - y) * 2^shift in the field, where the magnitude is below 2^63."""


class Step(Air):
    """A chip of instructions: one lane executes one of them.

    A subclass lists the ``cells`` of a lane and says in ``rule`` what holds in it. Idle lanes are zero everywhere.
    """

    cells: ClassVar[tuple[str, ...]] = ()  # beside BASE
    chip_number: int = 0  # its number in the program table
    in_place: bool = False  # whether rd is rs1, and one access at SLOT_D serves both

    def __init__(self, lanes: int = 1) -> None:
        self.lanes = lanes

    @property
    def specs(self) -> tuple[str, ...]:
        """The cells of a lane."""
        return (*BASE, *(spec for spec in self.cells if not (self.in_place and spec in D)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(spec.partition("[")[0] for spec in self.specs)

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """All lanes' cells."""
        return tuple(_laned(spec, self.lanes) for spec in self.specs)

    def rule(self, c: Lane) -> None:
        """States what one lane means."""
        raise NotImplementedError

    def fits(self, r: Executed) -> Any:
        """Which of the executed instructions ``r`` this chip can prove: a mask, or True for all."""
        return True

    def witness(self, r: Executed) -> dict[str, Any]:
        """The cells of the executed instructions ``r`` that do not follow from their names (see ``traces.chips``).

        By name, an array for each cell; a list of them, or of such lists, where there are several of one name.
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
