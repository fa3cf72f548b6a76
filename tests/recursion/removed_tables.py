"""The tables of a layer without one constraint, message, or element of a message."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest

from graphprover.air import Air, Expr
from graphprover.air.air import run_definition
from graphprover.air.description import AirDescription
from graphprover.air.expression import CONST
from graphprover.air.lookups import Interaction
from graphprover.recursion.tables import machine
from graphprover.recursion.tables.slots import SlotMessage, Slots
from graphprover.statement.statement import Statement
from tests.recursion import test_blake3, test_machine
from tests.recursion.machines import BLAKE3_TABLE, TABLE
from tests.recursion.removals import Group, Removal
from tests.recursion.stating import FIXED

Change = Callable[[AirDescription], AirDescription]
KINDS = ("step", "segment", "node")
_ALONE = "test_each_constraint_alone_refuses_a_trace"


def described(air: type[Air], change: Change) -> Callable[[pytest.MonkeyPatch], None]:
    """Return the patch by which all tables of a class have another description."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        original, known = Air.describe, dict[int, tuple[AirDescription, AirDescription]]()

        def describe(self: Air) -> AirDescription:
            own = original(self)
            if id(own) not in known:
                known[id(own)] = own, change(own)
            return known[id(own)][1]

        def descriptions(self: Statement) -> tuple[AirDescription, ...]:
            return tuple(table.air.describe() for table in self.tables)

        patch.setattr(air, "describe", describe)
        patch.setattr(Statement, "descriptions", property(descriptions))

    return apply


def without(number: int, *, message: bool, element: int | None = None) -> Change:
    """Return the change that makes a constraint, the count of a message or an element of it 0."""

    def change(own: AirDescription) -> AirDescription:
        zero, own = len(own.nodes), replace(own, nodes=(*own.nodes, (CONST, 0, 0)))
        if not message:
            return replace(own, constraints=_replaced(own.constraints, number, zero))
        (entry,) = own.globals[number].tuples
        if element is None:
            entry = replace(entry, multiplicity=zero)
        else:
            entry = replace(entry, fields=_replaced(entry.fields, element, zero))
        changed = Interaction(own.globals[number].bus, (entry,), own.globals[number].label)
        return replace(own, globals=_replaced(own.globals, number, changed))

    return change


def _replaced(entries: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return *entries[:at], value, *entries[at + 1 :]


def removals() -> list[Removal]:
    """Return the removals of all tables."""
    found: list[Removal] = []
    for air in (TABLE, BLAKE3_TABLE, FIXED):
        own, name = air.describe(), air.name
        numbers = Counter[str]()
        for i, label in enumerate(own.constraint_labels):
            apply = described(type(air), without(i, message=False))
            found.append(Removal(named(name, label, numbers[label]), apply, f"{_ALONE}[{label}]"))
            numbers[label] += 1
        for i, interaction in enumerate(own.globals):
            message = f"{name}: message {i} on {interaction.bus}"
            found.append(Removal(message, described(type(air), without(i, message=True))))
            for k, node in enumerate(interaction.tuples[0].fields):
                if own.nodes[node] != (CONST, 0, 0):
                    apply = described(type(air), without(i, message=True, element=k))
                    found.append(Removal(f"{message}, element {k}", apply))
    return [*found, *_of_kinds()]


def named(table: str, label: str, number: int) -> str:
    """Return the name of a constraint by its label, and its number among equal labels."""
    return f"{table}: {label}, {number}"


def _of_kinds() -> Iterator[Removal]:
    """Yield the removals of messages of one kind of rows of `machine`, and of their elements."""
    for kind in KINDS:
        for slot, of_slot in vars(_slots(kind)).items():
            for number, said in enumerate(of_slot):
                name = f"machine: {slot} {number} of a {kind}"
                yield Removal(name, _said(kind, slot, number, None))
                for k, element in enumerate(said.message):
                    if isinstance(element, Expr) or element:
                        yield Removal(f"{name}, element {k}", _said(kind, slot, number, k))


def _slots(kind: str) -> Slots:
    found: list[Slots] = []
    original = getattr(machine, f"{kind}_messages")
    with mock.patch.object(machine, f"{kind}_messages", lambda t: found.append(original(t)) or found[-1]):
        run_definition(machine.RecursionMachine())
    return found[0]


def _said(kind: str, slot: str, number: int, element: int | None) -> Callable[[pytest.MonkeyPatch], None]:
    """Return the patch by which a message of a kind of rows is not there, or has 0 in the place of an element."""

    def change(own: AirDescription) -> AirDescription:
        original = getattr(machine, f"{kind}_messages")

        def messages(t: object) -> Slots:
            slots = original(t)
            said: Sequence[SlotMessage] = getattr(slots, slot)
            changed = [*said[:number], *said[number + 1 :]]
            if element is not None:
                other = [*said[number].message]
                other[element] = 0
                changed.insert(number, replace(said[number], message=other))
            return replace(slots, **{slot: tuple(changed)})

        with mock.patch.object(machine, f"{kind}_messages", messages):
            return run_definition(machine.RecursionMachine())

    return described(machine.RecursionMachine, change)


def redundant() -> dict[str, str]:
    """Return the reasons of constraints that others imply, or of which no trace is known that they alone refuse.

    The constraints of kinds are none: a test requires two of them to refuse the same trace, and notices either.
    """
    own = {"machine": test_machine.REDUNDANT, "blake3": test_blake3.REDUNDANT}
    reasons = {named(table, *key): reason for table, of in own.items() for key, reason in of.items()}
    return {name: reason for name, reason in reasons.items() if reason != test_machine.SUM_OF_KINDS}


_MACHINE, _BLAKE3 = "tests/recursion/test_machine.py", "tests/recursion/test_blake3.py"
TABLES = Group(
    [
        f"{_MACHINE}::test_honest_traces",
        f"{_BLAKE3}::test_honest_traces",
        f"{_BLAKE3}::test_messages_have_the_digests_of_blake3[65]",
        f"{_BLAKE3}::test_nodes_have_the_digest_of_blake3",
        f"{_BLAKE3}::test_idle_calls_say_nothing",
        f"{_MACHINE}::test_a_row_of_another_kind_in_a_segment_is_refused",
        f"{_MACHINE}::{_ALONE}",
        f"{_BLAKE3}::{_ALONE}",
        "tests/recursion/test_fixed.py::test_another_digest_place_or_count_is_found",
        "tests/recursion/test_fixed.py::test_only_the_first_row_has_lookups_of_the_digest",
        f"{_MACHINE}::test_every_coordinate_of_memory_counts",
        f"{_MACHINE}::test_other_counts_are_found",
        f"{_BLAKE3}::test_a_call_of_another_length_is_found",
        f"{_BLAKE3}::test_other_uses_are_found",
        f"{_BLAKE3}::test_other_inputs_are_found[parameters-1]",
        f"{_BLAKE3}::test_equal_numbers_are_found",
        "tests/recursion/test_opened.py::test_made_up_segments_are_found",
        "tests/recursion/test_nodes.py::test_forged_nodes_are_found",
        "tests/recursion/test_nodes.py::test_a_row_that_is_off_provides_nothing",
        "tests/recursion/test_steps.py::test_chunks_and_digests_are_the_ones_of_other_tables",
    ],
    removals,
    redundant,
)
