"""Tables that chips share: a row executes one instruction of one chip.

A chip that proves few instructions would add its own columns, lookups and quotient to every query of a proof. Here it
adds a flag. The table has as many cells and messages as the largest of its chips: in a row with a flag of 1 they are
that chip's cells, and its rule holds of them; a row without a flag is idle. So every constraint of a rule is multiplied
by its chip's flag, and an element of a message is the sum of each chip's element times its flag.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from graphprover.air import Air, Bus, Expr, TableBuilder
from graphprover.air.columns import Columns
from graphprover.vm.tables.buses import VM
from graphprover.vm.tables.step import BASE, Lane, Step

_OWN = ("clk", "pc")  # cells that all chips share


@dataclass(frozen=True, eq=False)
class ChipMessage:
    """A message of a chip."""

    sent: bool  # or received
    elements: tuple[Any, ...]  # expressions and integers

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Return a key that equal messages share."""
        return tuple(_key(element) for element in self.elements)

    @cached_property
    def tag(self) -> int:
        """Return the tag: the first element that is not 0."""
        return next(x for x in self.elements if not isinstance(x, int) or x)


@dataclass(frozen=True, eq=False)
class Slot:
    """A message of the table: at most one message of each chip."""

    sent: bool
    said: list[tuple[Expr, ChipMessage]] = field(default_factory=list)  # with the chip's flag
    keys: set[tuple[object, ...]] = field(default_factory=set)  # keys of these messages
    tags: set[int] = field(default_factory=set)

    def take(self, flag: Expr, said: ChipMessage) -> None:
        """Add a chip's message."""
        self.said.append((flag, said))
        self.keys.add(said.key)
        self.tags.add(said.tag)


class SharedPart:
    """A lane's constraints and messages as one chip of a table: they hold if the flag is 1."""

    def __init__(self, t: TableBuilder, flag: Expr, cells: Mapping[str, Any]) -> None:
        self._t, self.flag, self._cells = t, flag, cells
        self.said: list[ChipMessage] = []

    def __getitem__(self, name: str) -> tuple[Any, ...]:
        return (self._cells[name],)

    def every_row(self, zero: Any, label: str | None = None) -> None:
        """Constrain ``zero`` to 0 in this chip's rows."""
        self._t.every_row(self.flag * zero, label)

    def boolean(self, flag: Expr, label: str | None = None) -> None:
        """Constrain ``flag`` to 0 or 1 in this chip's rows."""
        self.every_row(flag * (flag - 1), label)

    def send(self, bus: Bus, fields: Iterable[Any], multiplicity: Any, *, weight: int | None) -> None:
        """Send a message once from this chip's rows."""
        self._say(bus, ChipMessage(True, tuple(fields)), multiplicity, weight)

    lookup = send

    def receive(self, bus: Bus, fields: Iterable[Any], multiplicity: Any, *, weight: int | None) -> None:
        """Receive a message once in this chip's rows."""
        self._say(bus, ChipMessage(False, tuple(fields)), multiplicity, weight)

    def _say(self, bus: Bus, said: ChipMessage, multiplicity: Any, weight: int | None) -> None:
        assert bus == VM and multiplicity == weight == 1
        self.said.append(said)


class Mixed(Air):
    """A table that these chips share."""

    def __init__(self, name: str, steps: Sequence[Step]) -> None:
        self.name, self.steps = name, tuple(steps)

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the cells of all chips, each chip's flag, and the shared cells."""
        return (*_OWN, f"is[{len(self.steps)}]", f"cell[{self.width}]")

    @cached_property
    def width(self) -> int:
        """Return the number of shared cells: the most that a chip needs."""
        return max(len(_cells(step)) for step in self.steps)

    @cached_property
    def places(self) -> Mapping[str, Mapping[str, int]]:
        """Return by chip the index of the shared cell for each of its own.

        Cells of one name share a cell if that leaves room: elements that are then equal for all chips take no flags.
        """
        known: dict[str, int] = {}
        found = {}
        for step in sorted(self.steps, key=lambda step: (-len(_cells(step)), step.name)):
            own: dict[str, int] = {}
            for name in _cells(step):
                if name in known and known[name] not in own.values():
                    own[name] = known[name]
            free = iter(sorted({*range(self.width)} - {*own.values()}))
            own |= {name: next(free) for name in _cells(step) if name not in own}
            known = own | known
            found[step.name] = own
        return found

    @cached_property
    def columns_of(self) -> Mapping[str, tuple[int, ...]]:
        """Return by chip the column here of each column of its own table, of one lane."""
        before, found = len(_OWN), {}
        for number, step in enumerate(self.steps):
            own = {"on": before + number, **{name: i for i, name in enumerate(_OWN)}}
            own |= {name: before + len(self.steps) + place for name, place in self.places[step.name].items()}
            found[step.name] = tuple(own[name] for name in _columns(step.specs).names)
        return found

    def define(self, t: TableBuilder) -> None:
        parts = [SharedPart(t, flag, self._named(t, step)) for flag, step in zip(t["is"], self.steps, strict=True)]
        for part, step in zip(parts, self.steps, strict=True):
            t.boolean(part.flag, f"a row is {step.name} or not")
            step.rule(Lane(part, step, 0))
        t.boolean(_sum(part.flag for part in parts), "a row is of one chip or of none")
        for slot in _slots(parts):
            say = t.send if slot.sent else t.receive
            say(VM, _elements(slot), _sum(flag for flag, _ in slot.said), weight=1)

    def _named(self, t: TableBuilder, step: Step) -> dict[str, Any]:
        """Return the cells of a chip by name; the chip is always on, since everything is multiplied by its flag."""
        columns, places = _columns(step.specs), self.places[step.name]
        own: dict[str, Any] = {"on": 1, **{name: t[name] for name in _OWN}}
        own |= {name: t.cell[place] for name, place in places.items()}
        return {name: family.symbols(lambda i: own[columns.names[i]]) for name, family in columns.families.items()}


@lru_cache(maxsize=1024)
def _columns(specs: tuple[str, ...]) -> Columns:
    return Columns(specs)


def _cells(step: Step) -> list[str]:
    """Return the names of a chip's cells without the cells of all chips."""
    return [name for name in _columns(step.specs).names if name not in BASE]


def _slots(parts: Iterable[SharedPart]) -> list[Slot]:
    """Return the fewest slots: a chip's message goes to a slot with the same message, or else with one of its kind."""
    slots: list[Slot] = []
    for part in parts:
        free, left = list(slots), part.said
        for fits in (_same, _of_one_kind, _any):
            later = []
            for said in left:
                slot = next((slot for slot in free if slot.sent == said.sent and fits(slot, said)), None)
                if slot is None:
                    later.append(said)
                else:
                    free.remove(slot)
                    slot.take(part.flag, said)
            left = later
        for said in left:
            slots.append(Slot(said.sent))
            slots[-1].take(part.flag, said)
    return slots


def _same(slot: Slot, said: ChipMessage) -> bool:
    return said.key in slot.keys


def _of_one_kind(slot: Slot, said: ChipMessage) -> bool:
    return said.tag in slot.tags


def _any(slot: Slot, said: ChipMessage) -> bool:
    return True


def _elements(slot: Slot) -> Iterator[Any]:
    """Return the elements of a slot's message: the element common to its chips, or the sum of flags times elements."""
    flags = [flag for flag, _ in slot.said]
    for elements in zip(*(said.elements for _, said in slot.said), strict=True):
        of_element: dict[object, tuple[Any, list[Expr]]] = {}
        for flag, element in zip(flags, elements, strict=True):
            of_element.setdefault(_key(element), (element, []))[1].append(flag)
        if len(of_element) == 1:
            yield elements[0]
        else:
            yield _sum(_sum(own) * element for element, own in of_element.values())


def _key(element: Any) -> object:
    """Return a key that is equal for equal expressions of a table, which are one node, and for equal integers."""
    return ("node", element.index) if isinstance(element, Expr) else element


def _sum(terms: Iterable[Expr]) -> Any:
    first, *others = terms
    for term in others:
        first = first + term
    return first
