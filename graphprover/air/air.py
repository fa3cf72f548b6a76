"""Definition of a table: a subclass of ``Air`` with its columns and a method that states constraints and messages."""

import linecache
import os
import sys
from collections.abc import Callable, Iterable
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
    """One table of a statement.

    Columns and public values are named by strings: ``"limb[4]"`` declares a family of four columns, and ``t.limb[2]``
    is its third column. Main and preprocessed columns share one namespace. A subclass sets the attributes below in its
    body or in ``__init__``.

    Attributes:
        name: display name; default: the class name in lower case.
        columns: names of the main columns.
        preprocessed: names of the preprocessed columns.
        public_values: names of the public values.
        unread: names of columns and public values that are unread by design; `graphprover.check` does not warn of them.
        immutable: true if `preprocessed_trace` reads no state that can change; verification then calls it only once.
    """

    name: str
    columns: Iterable[str] = ()
    preprocessed: Iterable[str] = ()
    public_values: Iterable[str] = ()
    unread: Iterable[str] = ()
    immutable: bool = False
    _cached: Callable[["Air"], AirDescription] | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__.lower()

    def define(self, t: "TableBuilder") -> None:
        """State the constraints and messages of the table by calling methods of ``t``."""
        raise NotImplementedError(f"table {self.name!r} has no define(self, t)")

    def preprocessed_trace(self) -> np.ndarray:
        """Return the preprocessed columns.

        Must be deterministic. Commitments to the columns are cached, and every verification of a statement with this
        table calls the method again (unless the table is ``immutable``): changed columns are an error. Create a new
        `Air` for new columns.

        Returns:
            Canonical uint64 array (columns, rows), with the same number of rows as the main trace.
        """
        raise NotImplementedError(f"table {self.name!r} has preprocessed columns but no preprocessed_trace(self)")

    def describe(self) -> AirDescription:
        """Return the description of this table that all other modules use; only the first call runs ``define``.

        Raises:
            ValueError: a column name is malformed or repeated, there is no main column, or ``define`` is inconsistent.
        """
        if "_description" not in self.__dict__:
            self._description = self._cached(self) if self._cached else run_definition(self)
        return self._description

    def describe_by(self, cached: Callable[["Air"], AirDescription]) -> None:
        """Have `describe` call ``cached``, which returns what `run_definition` has returned for an equal table."""
        self._cached = cached

    def zeros(self, rows: int) -> tuple[np.ndarray, SimpleNamespace]:
        """Return a main trace of zeros, uint64 (columns, ``rows``), and its `view`."""
        trace = np.zeros((self._columns.width, rows), dtype=np.uint64)
        return trace, self.view(trace)

    def view(self, trace: np.ndarray) -> SimpleNamespace:
        """Return writable views of a main trace, one attribute for each name in ``columns``.

        Args:
            trace: array (columns, rows).

        Returns:
            A namespace whose attribute ``limb`` has shape (4, rows) for the family ``limb[4]``, and (rows,) for a
            single column.

        Raises:
            ValueError: ``trace`` has a different number of columns.
        """
        return self._columns.view(trace)

    @cached_property
    def _columns(self) -> Columns:
        return _declared(self, "columns")


def _declared(air: Air, attribute: str) -> Columns:
    """Return the columns that an attribute of a table declares; raises ValueError, which names both."""
    names: Any = getattr(air, attribute)
    try:
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise ValueError(f'{names!r} is no sequence of names: write a tuple, as in ("value",)')
        return Columns(names)
    except ValueError as error:
        raise ValueError(f"table {air.name!r}: {attribute}: {error}") from error


def run_definition(air: Air) -> AirDescription:
    """Run ``define`` of a table and return its description; errors as of `Air.describe`."""
    return TableBuilder(air).finish()


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
        if name.startswith("_"):  # a private attribute, or a special method that Python looks up
            raise AttributeError(name)
        return self[name]


class TableBuilder(Row):
    """The argument of ``define``: cells of this row as attributes, ``next``, ``public``, and methods for statements.

    Constraints take an expression that is zero and an optional ``label``; default: the calling line of code.
    """

    _RESERVED: ClassVar[frozenset[str]]

    def __init__(self, air: Air) -> None:
        self._air = air
        self._dag = dag = Dag(air.name)
        self._main = main = _declared(air, "columns")
        self._preprocessed = preprocessed = _declared(air, "preprocessed")
        self._public = public = _declared(air, "public_values")
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
        """Constrain ``zero`` to be 0 on every row; the row after the last one is the first."""
        self._constrain(self._dag.lift(zero), label)

    def first_row(self, zero: Operand, label: str | None = None) -> None:
        """Constrain ``zero`` to be 0 on the first row. Adds 1 to the degree."""
        self._constrain(self._dag.node(FIRST) * zero, label)

    def last_row(self, zero: Operand, label: str | None = None) -> None:
        """Constrain ``zero`` to be 0 on the last row. Adds 1 to the degree."""
        self._constrain(self._dag.node(LAST) * zero, label)

    def transition(self, zero: Operand, label: str | None = None) -> None:
        """Constrain ``zero`` to be 0 on every row but the last."""
        self._constrain(self._dag.node(TRANSITION) * zero, label)

    def boolean(self, flag: Expr, label: str | None = None) -> None:
        """Constrain ``flag`` to be 0 or 1 on every row."""
        self._constrain(flag * (flag - 1), label)

    def send(
        self, bus: Bus, fields: Iterable[Operand], multiplicity: Operand = 1, *, weight: int | None = None
    ) -> None:
        """Send a message on ``bus`` from every row.

        Args:
            bus: the bus.
            fields: elements of the message.
            multiplicity: signed number of times that a row sends the message.
            weight: bound on the magnitude of ``multiplicity`` in every row, which the constraints must enforce;
                required unless ``multiplicity`` is a constant.

        Raises:
            TypeError: ``bus`` is not a `Bus`.
            ValueError: there is no field, or ``weight`` is missing, 0, too small or above 32 bits.
        """
        self._put(bus, sent(fields, multiplicity, weight=weight))

    def receive(
        self, bus: Bus, fields: Iterable[Operand], multiplicity: Operand = 1, *, weight: int | None = None
    ) -> None:
        """Receive a message on ``bus`` in every row; arguments and errors as in `send`."""
        self._put(bus, received(fields, multiplicity, weight=weight))

    def lookup(
        self, bus: Bus, fields: Iterable[Operand], multiplicity: Operand = 1, *, weight: int | None = None
    ) -> None:
        """Require that the message is an entry that some table provides on ``bus``; arguments and errors as in `send`.

        A lookup is a send; see `provide` for its counterpart.
        """
        self._put(bus, sent(fields, multiplicity, weight=weight))

    def provide(self, bus: Bus, fields: Iterable[Operand], count: Operand) -> None:
        """Provide an entry of the lookup table of ``bus``.

        Args:
            bus: the bus.
            fields: elements of the entry.
            count: number of lookups of this row's entry over all tables; it needs no weight.
        """
        self._put(bus, provided(fields, count))

    def local_lookup(self, *messages: SymbolicMessage, label: str | None = None) -> None:
        """Require that messages balance over the rows of this table alone.

        Args:
            messages: results of `sent`, `received` and `provided`, all with the same number of fields.
            label: name in diagnostics; default: the calling line of code.

        Raises:
            ValueError: there is no message, or the numbers of fields differ.
        """
        tuples = tuple(self._message(message) for message in messages)
        widths = {len(t.fields) for t in tuples}
        if len(widths) != 1:
            raise ValueError(f"a local lookup needs messages of one width, not of widths {sorted(widths)}")
        self._locals.append(Interaction(None, tuples, label or _caller()))

    @property
    def message_count(self) -> int:
        """Number of messages stated so far."""
        return sum(len(interaction.tuples) for interaction in (*self._locals, *self._globals))

    def finish(self) -> AirDescription:
        """Run ``define`` and return the description of its statements."""
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
    """Return the line of code outside this module that called into it."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    return _label(frame.f_code.co_filename, frame.f_lineno)


@lru_cache(maxsize=4096)  # loops, and classes with many tables, repeat the same line
def _label(path: str, line: int) -> str:
    place = f"{os.path.basename(os.path.dirname(path))}/{os.path.basename(path)}:{line}"
    return f"{place}: {linecache.getline(path, line).strip()}"
