"""Warnings name all columns and public values that no constraint or message reads, and nothing else."""

import logging
from pathlib import Path

import numpy as np
import pytest

from graphprover import Statement, Table, check, prove
from graphprover.air import Air, Bus, TableBuilder
from graphprover.air.unread import unread
from graphprover.examples import fibonacci, keccak, memory
from graphprover.vm.program.elf import load_elf
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import TableNumber, lanes_of
from graphprover.vm.tables.chips import CHIPS
from graphprover.vm.tables.state import Boundary

BUS = Bus("bus")
GUEST = Path(__file__).parents[2] / "examples/guests/json.elf"


class Careless(Air):
    """A table in which a constraint, a message's field and its multiplicity read half of the names."""

    columns = ("used", "field", "times", "lost", "limb[2]")
    preprocessed = ("kept", "gone")
    public_values = ("first", "last", "many[7]")

    def preprocessed_trace(self) -> np.ndarray:
        return np.zeros((2, 4), dtype=np.uint64)

    def define(self, t: TableBuilder) -> None:
        t.first_row(t.used - t.public.first)
        t.transition(t.next.limb[1])
        t.receive(BUS, [t.field + t.kept], t.times, weight=1)
        t.used * t.lost * t.public.last  # an expression in no constraint


class Silent(Air):
    columns = ("a",)

    def define(self, t: TableBuilder) -> None:
        t.send(BUS, [t.a])


def reasons(*airs: Air) -> list[str]:
    return [str(found) for found in unread(airs)]


def test_what_nothing_reads_is_named() -> None:
    assert reasons(Careless(), Careless()) == [
        "table careless: no constraint and no message reads columns lost, limb[0]",
        "table careless: no constraint and no message reads preprocessed column gone",
        "table careless: no constraint and no message reads public values "
        "last, many[0], many[1], many[2], many[3] and 3 more",
    ]


def test_what_is_declared_is_not_named() -> None:
    class Careful(Careless):
        unread = ("lost", "limb", "gone", "many")

    assert reasons(Careful()) == ["table careful: no constraint and no message reads public value last"]


def test_a_table_without_a_constraint() -> None:
    """There is no warning if its rows are preprocessed, and so part of the statement."""
    assert reasons(Silent()) == ["table silent: it has no constraint"]
    assert reasons(memory.Memory()) == []


def test_the_tables_of_machine_and_examples_read_all_they_have() -> None:
    machine = Machine(load_elf(GUEST.read_bytes()))
    parts = [machine.air(number, tables=30, output_words=5, input_words=3) for number in (0, *TableNumber)]
    chips = [chip(lanes) for name, chip in CHIPS.items() for lanes in lanes_of(name)]
    assert reasons(*parts, *chips, *fibonacci.tables(), *keccak.tables(), *memory.tables()) == []
    assert Boundary.unread == ("shape",)  # it identifies the verified tables


def test_check_and_prove_warn(caplog: pytest.LogCaptureFixture) -> None:
    class Loose(Air):
        columns = ("n",)
        public_values = ("claim",)

        def define(self, t: TableBuilder) -> None:
            t.transition(t.next.n - t.n - 1)

    statement = Statement([Table(Loose(), [5], np.arange(8, dtype=np.uint64).reshape(1, 8))])
    expected = "graphprover: warning: table loose: no constraint and no message reads public value claim"
    assert check(statement) == []
    assert caplog.messages == [expected] and caplog.records[0].levelno == logging.WARNING
    caplog.clear()
    prove(statement, security=40)
    assert caplog.messages == [expected]
