"""Malformed statements are refused at construction, and every part of a statement is bound."""

import gc
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from graphprover import check, prove, verify
from graphprover.air import Air
from graphprover.field import P
from graphprover.protocol.layout import make_layout
from graphprover.statement.statement import Statement, Table, as_columns, binding_digest
from tests.interop.plonky3 import log_height
from tests.interop.tables import PLAIN, Bytes, Counter, counter, fibonacci, limbs, squares


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros(4, np.uint64), r"shape \(4,\); expected \(2 columns, rows\)"),
        (np.zeros((3, 4), np.uint64), r"shape \(3, 4\)"),
        (np.zeros((2, 4, 1), np.uint64), "shape"),
        (np.zeros((2, 0), np.uint64), "0 rows; the number of rows must be a power of two"),
        (np.zeros((2, 3), np.uint64), "3 rows"),
        (np.zeros((2, 4)), "dtype float64"),
        (np.zeros((2, 4), object), "dtype object"),
        (np.array([[0, 1], [2, -1]]), "dtype int64 with values outside the field"),
        (np.array([[0, 1], [2, P]], np.uint64), "column 1, row 1 is not below p"),
        (np.array([[2**64 - 1, 1], [2, 3]], np.uint64), "column 0, row 0 is not below p"),
    ],
)
def test_what_is_no_trace(array: np.ndarray, reason: str) -> None:
    with pytest.raises(ValueError, match=f"the trace: .*{reason}"):
        as_columns(array, 2, "the trace")


@pytest.mark.parametrize("dtype", [np.uint64, np.int64, np.uint8, np.int32, bool])
def test_integers_of_all_kinds_are_taken(dtype: type) -> None:
    columns = as_columns(np.array([[0, 1], [1, 0]], dtype), 2, "the trace")
    assert columns.dtype == np.uint64 and columns.tolist() == [[0, 1], [1, 0]]


def test_columns_are_contiguous() -> None:
    array = np.arange(16, dtype=np.uint64).reshape(8, 2).T
    columns = as_columns(array, 2, "the trace")
    assert columns.flags.c_contiguous and (columns == array).all()
    assert as_columns(np.array([[P - 1]], np.uint64), 1, "the trace")[0, 0] == P - 1


@pytest.mark.parametrize("value", [-1, P, 2**64])
def test_public_values_are_field_elements(value: int) -> None:
    with pytest.raises(ValueError, match=r"table fibonacci: public value \d is -?\d+, not in"):
        replace(fibonacci(4), public_values=(1, value, 3))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 1.5, 2], "public value 1 is 1.5, not an integer"),
        ([None, 1, 2], "public value 0 is None, not an integer"),
        ("12", "public value 0 is '1', not an integer"),
        (5, "the public values are 5, not a sequence of integers"),
    ],
)
def test_a_public_value_that_is_no_integer_is_named(values: Any, words: str) -> None:
    with pytest.raises(TypeError) as raised:
        replace(fibonacci(4), public_values=values)
    assert str(raised.value) == f"table fibonacci: {words}"


def test_mistakes_in_statements() -> None:
    table = fibonacci(4)
    with pytest.raises(TypeError, match=r"Fibonacci is a class: give an object of it, Table\(Fibonacci\(\), \.\.\.\)"):
        Table(type(table.air), [1, 2, 3])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a statement has a sequence of tables: Statement\(\[Table"):
        Statement(table)  # type: ignore[arg-type]


def test_a_trace_may_be_a_list() -> None:
    table = fibonacci(4)
    assert isinstance(table.main, np.ndarray)
    listed = replace(table, main=table.main.tolist())
    assert np.array_equal(listed.main, table.main) and check(Statement([listed])) == []


def test_public_values_may_be_numpys() -> None:
    table = replace(fibonacci(4), public_values=list(np.array([1, 2, P - 1], np.uint64)))
    assert table.public_values == (1, 2, P - 1) and table.public_values is not None
    assert all(type(value) is int for value in table.public_values)
    with pytest.raises(TypeError):
        replace(fibonacci(4), public_values=(1.0, 2, 3))  # type: ignore[arg-type]


def test_a_statement_that_no_proof_can_carry() -> None:
    with pytest.raises(ValueError, match="1 to 65535 tables, not 0"):
        Statement([])
    with pytest.raises(ValueError, match="not 65536"):
        Statement([fibonacci(1)] * 2**16)
    with pytest.raises(ValueError, match="the label has 256 bytes"):
        Statement([fibonacci(1)], "x" * 256)
    assert Statement([fibonacci(1)], "x" * 255).label == "x" * 255


class Malformed(Air):
    columns = ("a",)
    preprocessed = ("b",)

    def define(self, t: Any) -> None:
        t.every_row(t.a - t.b)

    def preprocessed_trace(self) -> np.ndarray:
        return np.zeros((1, 3), np.uint64)


def test_preprocessed_columns_are_checked() -> None:
    with pytest.raises(ValueError, match="preprocessed columns of table malformed: 3 rows"):
        Statement([Table(Malformed())]).commit(1, 0, "keccak")


def test_preprocessed_columns_cannot_change_under_their_commitment() -> None:
    columns = Table(Bytes()).preprocessed
    assert columns is not None
    with pytest.raises(ValueError, match="read-only"):
        columns[0, 0] = 1


class Settable(Air):
    columns = ("a",)
    preprocessed = ("b",)
    asked = 0

    def __init__(self) -> None:
        self.values = np.arange(16, dtype=np.uint64)[None]

    def define(self, t: Any) -> None:
        t.every_row(t.a - t.b)

    def preprocessed_trace(self) -> np.ndarray:
        self.asked += 1
        return self.values[:, :8]


CHANGES: dict[str, Callable[[Settable], None]] = {
    "another array": lambda air: setattr(air, "values", air.values + np.uint64(1)),
    "in place": lambda air: np.copyto(air.values, 7),
    "another height": lambda air: setattr(air, "values", np.zeros((1, 4), dtype=np.uint64)),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("anew", [False, True], ids=["the same statement", "another one"])
def test_columns_that_change_are_refused(change: str, anew: bool) -> None:
    """Refuse a proof if the columns changed after construction."""
    air = Settable()
    statement = Statement([Table(air, (), air.values[:, :8].copy())])
    proof = prove(statement, security=0)
    assert verify(proof, statement, security=0)
    CHANGES[change](air)
    with pytest.raises(ValueError, match=r"^table settable: preprocessed_trace\(\) gives other columns than before"):
        verify(proof, Statement([Table(air)]) if anew else statement, security=0)
    if anew:
        with pytest.raises(ValueError, match="make a new Air"):
            prove(Statement([Table(air, (), air.values[:, :8].copy())]), security=0)


def test_columns_of_a_table_that_says_so_are_asked_for_once() -> None:
    air = Settable()
    air.immutable = True
    for _ in range(3):
        Statement([Table(air)]).commit(1, 0, "keccak")
    assert air.asked == 1


def test_commitments_are_kept_with_their_statement_and_not_longer() -> None:
    statement = Statement([counter(8)])
    cap = statement.commit(1, 0, "keccak")
    assert cap is not None and statement.commit(1, 0, "keccak") is cap
    assert statement.commit(1, 0, "blake3") != cap
    assert statement.commit(2, 0, "keccak") != cap != statement.commit(1, 1, "keccak")
    assert Statement([fibonacci(8)]).commit(1, 0, "keccak") is None
    gone = weakref.ref(statement)
    del statement
    gc.collect()
    assert gone() is None


def binding(tables: list[Table], label: str = "", **changed: Any) -> bytes:
    statement = Statement(tables)
    log_heights = [log_height(table) for table in tables]
    layout = make_layout(statement.descriptions, log_heights, replace(PLAIN, **changed))
    return binding_digest(layout, label, statement.preprocessed_cap(layout.parameters))


def test_the_binding_is_of_label_parameters_tables_and_preprocessed_columns() -> None:
    class Skewed(Counter):
        def preprocessed_trace(self) -> np.ndarray:
            return super().preprocessed_trace() + np.uint64(1)

    table = counter(16)
    others = [
        binding([table]),
        binding([table], "label"),
        binding([replace(table, air=Skewed(16))]),
        binding([table, table]),
        binding([fibonacci(16)]),
        binding([*squares(8, 8)]),
        binding([*squares(8, 8)][::-1]),
        binding([*limbs(4)]),
        *(binding([table], **{field: getattr(PLAIN, field) + 1}) for field in PLAIN.RANGES),
        binding([table], hash="blake3"),
    ]
    assert len(set(others)) == len(others)


def test_the_binding_is_not_of_table_names_traces_and_public_values() -> None:
    class Renamed(Counter):
        name = "another"
        columns = ("total",)
        preprocessed = ("amount",)

        def define(self, t: Any) -> None:
            t.first_row(t.total)
            t.transition(t.next.total - t.total - t.next.amount)

    assert binding([counter(16)]) == binding([replace(counter(16), air=Renamed(16))])
    assert binding([fibonacci(16)]) == binding(
        [replace(fibonacci(16), public_values=(1, 2, 3), main=np.zeros((2, 16)))]
    )
