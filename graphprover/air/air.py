"""A table is a subclass of ``Air``: its columns, and a method that states what holds on its rows."""

import linecache
import os
import sys
from collections.abc import Iterable
from functools import cached_property, lru_cache
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from graphprover.air.bus import Bus, SymbolicMessage, provided, received, sent
from graphprover.air.columns import Columns
from graphprover.air.description import AirDescription, check_bus_widths, reachable
from graphprover.air.expression import (
    ADD,
    FIRST,
    LAST,
    MAIN,
    MUL,
    NEG,
    PREPROCESSED,
    PUBLIC,
    SUB,
    TRANSITION,
    Dag,
    Expr,
    Operand,
)
from graphprover.air.lookups import Interaction, Message


class Air:
    """One table.

    Columns and public values are names; ``"limb[4]"`` names a family of four, and ``t.limb[2]`` is one of it. Main and
    preprocessed columns share one namespace. A subclass may set the attributes below in its ``__init__`` instead.
    """

    name: str  # for people; the class's own name, in lower case, unless it is set
    columns: Iterable[str] = ()  # main columns
    preprocessed: Iterable[str] = ()  # preprocessed columns
    public_values: Iterable[str] = ()
    unread: Iterable[str] = ()  # names of these that nothing reads by intent, so that no warning tells of them
    immutable: bool = False  # `preprocessed_trace` reads nothing that can change, so it is not asked for again

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__.lower()

    def define(self, t: "TableBuilder") -> None:
        """States the constraints and interactions of the table on ``t``."""
        raise NotImplementedError(f"table {self.name!r} has no define(self, t)")

    def preprocessed_trace(self) -> np.ndarray:
        """The preprocessed columns: uint64 of shape (columns, rows), canonical. The main trace has as many rows.

        It is asked for once, and again by every verification of a statement with this table: other columns than the
        first are an error there, for commitments to those are kept. So it may not read state that changes: make a new
        `Air` for new columns.
        """
        raise NotImplementedError(f"table {self.name!r} has preprocessed columns but no preprocessed_trace(self)")

    def describe(self) -> AirDescription:
        """The table as the rest of the package sees it; ``define`` runs in the first call only.

        Raises ValueError for malformed or colliding column names, no column at all, and what ``define`` gets wrong.
        """
        if "_description" not in self.__dict__:
            self._description = TableBuilder(self).finish()
        return self._description

    def zeros(self, rows: int) -> tuple[np.ndarray, SimpleNamespace]:
        """A main trace of zeros, and its ``view``."""
        trace = np.zeros((self._columns.width, rows), dtype=np.uint64)
        return trace, self.view(trace)

    def view(self, trace: np.ndarray) -> SimpleNamespace:
        """Writable views into a main trace of shape (columns, rows): attribute ``limb`` of shape (4, rows) for the
        family ``limb[4]``. Raises ValueError for another number of columns."""
        return self._columns.view(trace)

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self.columns)


class Row:
    """The cells of one row, or the public values, by name: ``row.clk``, ``row.limb[2]``, ``row["clk"]``."""

    def __init__(self, title: str, table: str, dag: Dag, parts: Iterable[tuple[Columns, int, int]]) -> None:
        self._title = f"{title} of table {table!r}"
        self._cells: dict[str, Any] = {}
        for columns, op, offset in parts:
            for name, family in columns.families.items():
                if name in self._cells:
                    raise ValueError(f"{name!r} is both a main and a preprocessed column of table {table!r}")
                self._cells[name] = family.symbols(lambda i, op=op, offset=offset: dag.node(op, i, offset))  # type: ignore[misc]

    def __getitem__(self, name: str) -> Any:
        try:
            return self._cells[name]
        except KeyError:
            names = ", ".join(self._cells) or "none"
            raise AttributeError(f"{name!r} is not among the {self._title}: {names}") from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # ours, or Python asking for a protocol
            raise AttributeError(name)
        return self[name]


class TableBuilder(Row):
    """What ``define`` writes on: the cells of this row as attributes, ``next`` and ``public``, and the statements."""

    _RESERVED: ClassVar[frozenset[str]]

    def __init__(self, air: Air) -> None:
        self._air = air
        self._dag = dag = Dag(air.name)
        self._main = main = Columns(air.columns)
        self._preprocessed = preprocessed = Columns(air.preprocessed)
        self._public = public = Columns(air.public_values)
        if main.width == 0:
            raise ValueError(f"table {air.name!r} has no main column")
        clash = self._RESERVED & (main.families.keys() | preprocessed.families.keys())
        if clash:
            raise ValueError(f"table {air.name!r} cannot call a column {sorted(clash)[0]!r}: that is a method of t")
        super().__init__("columns", air.name, dag, [(main, MAIN, 0), (preprocessed, PREPROCESSED, 0)])
        self.next = Row("columns", air.name, dag, [(main, MAIN, 1), (preprocessed, PREPROCESSED, 1)])
        self.public = Row("public values", air.name, dag, [(public, PUBLIC, 0)])
        self._constraints: list[tuple[int, str]] = []
        self._locals: list[Interaction] = []
        self._globals: list[Interaction] = []

    def every_row(self, zero: Operand, label: str | None = None) -> None:
        """``zero`` is 0 on every row; the row after the last one is the first."""
        self._constrain(self._dag.lift(zero), label)

    def first_row(self, zero: Operand, label: str | None = None) -> None:
        """``zero`` is 0 on the first row. Adds 1 to the degree."""
        self._constrain(self._dag.node(FIRST) * zero, label)

    def last_row(self, zero: Operand, label: str | None = None) -> None:
        """``zero`` is 0 on the last row. Adds 1 to the degree."""
        self._constrain(self._dag.node(LAST) * zero, label)

    def transition(self, zero: Operand, label: str | None = None) -> None:
        """``zero`` is 0 on every row but the last."""
        self._constrain(self._dag.node(TRANSITION) * zero, label)

    def boolean(self, flag: Expr, label: str | None = None) -> None:
        """``flag`` is 0 or 1 on every row."""
        self._constrain(flag * (flag - 1), label)

    def send(
        self, bus: Bus, fields: Iterable[Operand], multiplicity: Operand = 1, *, weight: int | None = None
    ) -> None:
        """Sends a message. A multiplicity that is not a constant needs a ``weight``: a bound on its magnitude in every
        row, which the constraints must enforce."""
        self._put(bus, sent(fields, multiplicity, weight=weight))

    def receive(
        self, bus: Bus, fields: Iterable[Operand], multiplicity: Operand = 1, *, weight: int | None = None
    ) -> None:
        """Receives a message; ``weight`` as in ``send``."""
        self._put(bus, received(fields, multiplicity, weight=weight))

    def lookup(
        self, bus: Bus, fields: Iterable[Operand], multiplicity: Operand = 1, *, weight: int | None = None
    ) -> None:
        """Asks that the message is an entry of the table that some table provides on this bus; ``weight`` as in
        ``send``."""
        self._put(bus, sent(fields, multiplicity, weight=weight))

    def provide(self, bus: Bus, fields: Iterable[Operand], count: Operand) -> None:
        """Provides an entry of the bus's table, which is looked up ``count`` times over all tables."""
        self._put(bus, provided(fields, count))

    def local_lookup(self, *messages: SymbolicMessage, label: str | None = None) -> None:
        """Messages (``sent``, ``received``, ``provided``) that balance over the rows of this table alone."""
        tuples = tuple(self._message(message) for message in messages)
        widths = {len(t.fields) for t in tuples}
        if len(widths) != 1:
            raise ValueError(f"a local lookup needs messages of one width, not of widths {sorted(widths)}")
        self._locals.append(Interaction(None, tuples, label or _caller()))

    @property
    def message_count(self) -> int:
        """How many messages were stated so far."""
        return sum(len(interaction.tuples) for interaction in (*self._locals, *self._globals))

    def finish(self) -> AirDescription:
        """Runs ``define`` and describes what it stated."""
        self._air.define(self)
        interactions = (*self._locals, *self._globals)
        roots = [node for node, _ in self._constraints]
        for interaction in interactions:
            for t in interaction.tuples:
                roots += [*t.fields, t.multiplicity]
        order = reachable(self._dag.nodes, roots)
        new = {old: i for i, old in enumerate(order)}

        def renumbered(interaction: Interaction) -> Interaction:
            tuples = (
                Message(tuple(new[field] for field in t.fields), new[t.multiplicity], t.weight)
                for t in interaction.tuples
            )
            return Interaction(interaction.bus, tuple(tuples), interaction.label)

        nodes = []
        for old in order:
            op, a, b = self._dag.nodes[old]
            if op in (ADD, SUB, MUL):
                a, b = new[a], new[b]
            elif op == NEG:
                a = new[a]
            nodes.append((op, a, b))
        description = AirDescription(
            name=self._air.name,
            main_width=self._main.width,
            preprocessed_width=self._preprocessed.width,
            num_public_values=self._public.width,
            main_names=self._main.names,
            preprocessed_names=self._preprocessed.names,
            public_names=self._public.names,
            nodes=tuple(nodes),
            constraints=tuple(new[node] for node, _ in self._constraints),
            constraint_labels=tuple(label for _, label in self._constraints),
            locals=tuple(renumbered(i) for i in self._locals),
            globals=tuple(renumbered(i) for i in self._globals),
        )
        check_bus_widths([description])
        return description

    def _constrain(self, zero: Expr, label: str | None) -> None:
        self._constraints.append((zero.index, label or _caller()))

    def _message(self, message: SymbolicMessage) -> Message:
        return message.in_dag(self._dag)

    def _put(self, bus: Bus, message: SymbolicMessage) -> None:
        if not isinstance(bus, Bus):
            raise TypeError(f"expected a Bus, not {bus!r}")
        self._globals.append(Interaction(bus.name, (self._message(message),), _caller()))


TableBuilder._RESERVED = frozenset(name for name in (*vars(TableBuilder), "next", "public") if not name.startswith("_"))


def _caller() -> str:
    """The line of code outside of this module that called into it."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return _label(frame.f_code.co_filename, frame.f_lineno)


@lru_cache(maxsize=4096)  # a line in a loop, or of a class of many tables, is met again and again
def _label(path: str, line: int) -> str:
    place = f"{os.path.basename(os.path.dirname(path))}/{os.path.basename(path)}:{line}"
    return f"{place}: {linecache.getline(path, line).strip()}"
