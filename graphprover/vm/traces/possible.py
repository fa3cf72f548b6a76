"""The tables that proofs of a program can have, before it has run."""

from collections.abc import Iterator

import numpy as np

from graphprover.air.description import AirDescription
from graphprover.vm.statement.shape import KECCAK_CALL, Kind
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import FAMILY_TABLES, SHARED, TableNumber
from graphprover.vm.statement.version import FAMILY_NUMBERS


def families_of(machine: Machine) -> set[str]:
    """Those of the program's instructions."""
    own = set(np.unique(machine.family_of_entry).tolist())
    return {name for name, number in FAMILY_NUMBERS.items() if number in own}


def possible_tables(machine: Machine, families: set[str] | None = None) -> Iterator[AirDescription]:
    """The tables of a program's proofs, with these families or its own; those first that most of them have.

    Without output and stated input, whose tables have as many columns as words.
    """
    families = families_of(machine) if families is None else families
    others = {*TableNumber} - {TableNumber.OUTPUT, TableNumber.STATED_INPUT}
    others -= {TableNumber.IMAGE} - set(machine.preprocessed(Kind.FIRST))
    if KECCAK_CALL not in families:
        others -= {TableNumber.KECCAK_F, TableNumber.EVEN}
    others -= {number for number, sharing in SHARED.items() if families.isdisjoint(sharing)}
    tables = sorted((table.lanes, table.family, n) for n, table in FAMILY_TABLES.items() if table.family in families)
    for number in (0, *sorted(others), *(number for *_, number in tables)):
        yield machine.air(number, tables=2, output_words=0).describe()


def shared_tables(machine: Machine) -> Iterator[AirDescription]:
    """Those of them that families share and that the program's runs are likely to have; one is in every proof.

    All programs have the families of words that cross a boundary, and few runs do.
    """
    families = {name for name in families_of(machine) if not name.endswith("_crossing")}
    for number, sharing in SHARED.items():
        if not families.isdisjoint(sharing):
            yield machine.air(number, tables=2, output_words=0).describe()
