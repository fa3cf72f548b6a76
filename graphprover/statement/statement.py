"""Statements: tables, their public values, and for the prover their traces."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from graphprover.air import Air
from graphprover.air.description import AirDescription
from graphprover.field import P
from graphprover.proof.proof import MAX_TABLES, check_label
from graphprover.protocol.hashing import HASHES
from graphprover.protocol.layout import Layout
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.preprocessed import preprocessed_cap
from graphprover.protocol.transcript import RELEASE
from graphprover.runtime.arguments import expect, given
from graphprover.runtime.display.notebook import html, quoted, short
from graphprover.statement.trace_task import TraceTask, make

if TYPE_CHECKING:
    from graphprover.vm.statement.claim import Claim

BINDING_MAGIC = b"graphprover statement 2"

_PREPROCESSED: WeakKeyDictionary[Air, np.ndarray] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """One table of a statement."""

    air: Air  # what every row satisfies
    public_values: Sequence[int] | None = None  # None: whatever the proof states, which `Verdict` then reports
    # The trace, uint64 (columns, rows), or how a device makes it; unused by the verifier.
    main: np.ndarray | TraceTask | None = None

    def __post_init__(self) -> None:
        if isinstance(self.air, type):
            raise TypeError(f"{self.air.__name__} is a class: give an object of it, Table({self.air.__name__}(), ...)")
        expect(self.air, Air, "Table: the first argument", "give an Air, whose rows the table has")
        if isinstance(self.main, list | tuple):
            object.__setattr__(self, "main", _matrix(self.main, self.air.name))
        elif self.main is not None and not hasattr(self.main, "shape"):
            raise TypeError(f"table {self.air.name}: the trace is {given(self.main)}: give an array (columns, rows)")
        if self.public_values is None:
            return
        try:
            values = tuple(map(index, self.public_values))
        except TypeError as error:
            raise TypeError(f"table {self.air.name}: {_no_integers(self.public_values)}") from error
        for place, value in enumerate(values):
            if not 0 <= value < P:
                raise ValueError(
                    f"table {self.air.name}: public value {place} is {value}, not in 0..p - 1, p = 2^64 - 2^32 + 1"
                )
        object.__setattr__(self, "public_values", values)

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        values = "any" if self.public_values is None else short(", ".join(map(str, self.public_values)) or "none")
        return html(self._title, {"public values": values})

    @property
    def _title(self) -> str:
        return f"Table {quoted(self.air.name)}: {f'{self.size} (columns × rows)' if self.size else 'no trace'}"

    @property
    def size(self) -> str:
        """The columns and rows of the trace, as text; empty without one."""
        return " × ".join(f"{size:,}" for size in getattr(self.main, "shape", ()))

    @cached_property
    def preprocessed(self) -> np.ndarray | None:
        """The preprocessed columns, uint64 (columns, rows), or None; raises ValueError when they are malformed.

        They are made once for all tables of one `Air`. ValueError also if an earlier table of it had others.
        """
        if not self.air.describe().preprocessed_width:
            return None
        columns = _PREPROCESSED.get(self.air)
        if columns is not None:
            self.check_columns()
            return columns
        columns = self._columns()
        if not self.air.immutable:
            columns = columns.copy()  # the array may be part of another one, which can be written
        columns.flags.writeable = False
        _PREPROCESSED[self.air] = columns
        return columns

    def check_columns(self) -> None:
        """Check that the preprocessed columns are the first ones that the `Air` gave.

        Raises:
            ValueError: if `Air.preprocessed_trace` gives others now.
        """
        kept = _PREPROCESSED.get(self.air)
        if kept is None or self.air.immutable:
            return
        if not np.array_equal(kept, self._columns()):
            raise ValueError(
                f"table {self.air.name}: preprocessed_trace() gives other columns than before: make a new Air for them"
            )

    def _columns(self) -> np.ndarray:
        width = self.air.describe().preprocessed_width
        return as_columns(self.air.preprocessed_trace(), width, f"preprocessed columns of table {self.air.name}")


def _matrix(rows: Sequence[Any], name: str) -> np.ndarray:
    """Return the columns of a trace that are lists as an array."""
    try:
        return np.asarray(rows)
    except ValueError as error:
        raise ValueError(f"table {name}: the trace is a list of columns of different lengths") from error


def _no_integers(values: Any) -> str:
    """Return the words about public values that are not all integers."""
    if getattr(values, "ndim", 1) > 1:
        return "the public values are a matrix, not a sequence of integers: the trace is the third argument"
    if not isinstance(values, Iterable):
        return f"the public values are {given(values)}, not a sequence of integers"
    place, value = next((place, value) for place, value in enumerate(values) if not _is_integer(value))
    return f"public value {place} is {value!r}, not an integer"


def _is_integer(value: Any) -> bool:
    try:
        index(value)
    except TypeError:
        return False
    return True


@dataclass(frozen=True, eq=False, repr=False)
class BlankTable(Table):
    """A table with preprocessed columns known by their commitment only: shown as zeros, without memory."""

    rows: int = 0  # of the preprocessed columns, if there are any

    @cached_property
    def preprocessed(self) -> np.ndarray | None:
        width = self.air.describe().preprocessed_width
        return np.broadcast_to(np.uint64(0), (width, self.rows)) if width else None


@dataclass(frozen=True, eq=False)
class Statement:
    """Tables proved together; their buses balance over all of them.

    Raises ValueError without tables, with more of them than a proof can count, or for a label it cannot carry.
    """

    tables: tuple[Table, ...]
    label: str = ""  # a name for people, carried by the proof and bound by it; a verifier need not use the same
    _caps: dict[tuple[int, int, str], tuple[bytes, ...]] = field(init=False, repr=False)  # commitments made so far

    heads: ClassVar[int] = 0  # tables of each shard before its own

    def __init__(self, tables: Sequence[Table], label: str = "") -> None:
        if isinstance(tables, Table):
            raise TypeError("a statement has a sequence of tables: Statement([Table(...)])")
        if not isinstance(tables, Iterable):
            raise TypeError(f"Statement: the tables are {given(tables)}: give a sequence of Table")
        expect(label, str, "Statement: the label", "give text")
        object.__setattr__(self, "tables", tuple(tables))
        for place, table in enumerate(self.tables):
            expect(table, Table, f"Statement: table {place}", "give a Table(air, public_values, trace)")
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "_caps", {})
        if not 1 <= len(self.tables) <= MAX_TABLES:
            raise ValueError(f"a statement has 1 to {MAX_TABLES} tables, not {len(self.tables)}")
        check_label(label)

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [("table", "trace: columns × rows", "public values")]
        for table in self.tables:
            values = "any" if table.public_values is None else len(table.public_values)
            rows.append((short(table.air.name), table.size or "none", values))
        return html(self._title, {}, rows)

    @property
    def _title(self) -> str:
        tables = len(self.tables)
        label = f" {quoted(self.label)}" if self.label else ""
        return f"Statement{label} of {tables} table{'s' * (tables != 1)}"

    @property
    def statements(self) -> "tuple[Statement]":
        """The statement of each shard: this one, as `ShardedStatement.statements` of several shards."""
        return (self,)

    @cached_property
    def descriptions(self) -> tuple[AirDescription, ...]:
        """The traced description of each table."""
        return tuple(table.air.describe() for table in self.tables)

    def preprocessed_cap(self, parameters: Parameters) -> tuple[bytes, ...] | None:
        """Return the commitment to all preprocessed columns in a proof with these parameters, as `commit`."""
        return self.commit(parameters.log_blowup, parameters.cap_height, parameters.hash)

    def claim_of(self, public_values: Sequence[Sequence[int]]) -> "Claim | None":
        """Return the claim of a proof with these public values, if this is about a guest; None here."""
        return None

    def commit(self, log_blowup: int, cap_height: int, hash: str) -> tuple[bytes, ...] | None:
        """Return the commitment to all preprocessed columns, computed once; None without any.

        Args:
            log_blowup: The log2 of the blowup of the low-degree extension.
            cap_height: The height of the Merkle cap.
            hash: The hash of the tree.

        Raises:
            ValueError: for malformed columns, and for other ones than before (`Table.check_columns`).
        """
        for table in self.tables:
            table.check_columns()
        traces = [table.preprocessed for table in self.tables if table.preprocessed is not None]
        of_tree = log_blowup, cap_height, hash
        if traces and of_tree not in self._caps:
            self._caps[of_tree] = preprocessed_cap(traces, *of_tree)
        return self._caps.get(of_tree)


def with_traces(statement: Statement, device: Any = None) -> Statement:
    """Return the statement with every trace task replaced by its trace, made by a device or all threads of the CPU."""
    if not any(isinstance(table.main, TraceTask) for table in statement.tables):
        return statement
    # Here, because nothing else needs a device.
    from graphprover.device.choose import device_for

    device, made = device or device_for("cpu"), dict[TraceTask, Any]()
    tables = [
        replace(table, main=make(device, table.main, made)) if isinstance(table.main, TraceTask) else table
        for table in statement.tables
    ]
    return Statement(tables, statement.label)


def as_columns(array: Any, width: int, what: str) -> np.ndarray:
    """Return an array as contiguous uint64 (columns, rows) of field elements; raises ValueError for any other array."""
    columns = np.asarray(array)
    if columns.ndim != 2 or columns.shape[0] != width:
        other = "; transpose it" if columns.shape[1:] == (width,) else ""
        raise ValueError(f"{what}: shape {columns.shape}; expected ({width} columns, rows){other}")
    rows = columns.shape[1]
    if rows == 0 or rows & (rows - 1):
        raise ValueError(f"{what}: {rows} rows; the number of rows must be a power of two")
    if columns.dtype != np.uint64:
        if columns.dtype.kind not in "iub":
            raise ValueError(f"{what}: dtype {columns.dtype} is the problem; use uint64 words below p")
        if columns.dtype.kind == "i" and (columns < 0).any():
            raise ValueError(f"{what}: dtype {columns.dtype} with values outside the field; use uint64 words below p")
        columns = columns.astype(np.uint64)
    if columns.max() >= np.uint64(P):
        column, row = np.argwhere(columns >= np.uint64(P))[0]
        raise ValueError(f"{what}: column {column}, row {row} is not below p = 2^64 - 2^32 + 1")
    return np.ascontiguousarray(columns)


@lru_cache(maxsize=1024)
def description_digest(air: AirDescription, hash: str) -> bytes:
    """Return the digest of a table's canonical bytes; every table of a machine has its digest computed once."""
    return HASHES[hash].digest(air.canonical_bytes)


def binding_digest(layout: Layout, label: str, preprocessed: Sequence[bytes] | None) -> bytes:
    """Return the 32 bytes that the transcript starts from.

    They bind format, release, label, parameters, tables and preprocessed commitment.

    Plonky3 binds none of them, so the challenger's initial state does.
    """
    return _binding_digest(layout, label, None if preprocessed is None else tuple(preprocessed))


@lru_cache(maxsize=16)
def _binding_digest(layout: Layout, label: str, preprocessed: tuple[bytes, ...] | None) -> bytes:
    name = label.encode()
    parts = [BINDING_MAGIC, RELEASE.encode(), bytes([len(name)]), name]
    parts += [layout.parameters.to_bytes(), len(layout.tables).to_bytes(4, "little")]
    parts += [description_digest(air, layout.parameters.hash) for air in layout.tables]
    cap = b"" if preprocessed is None else b"".join(preprocessed)
    return HASHES[layout.parameters.hash].digest(b"".join([*parts, len(cap).to_bytes(4, "little"), cap]))
