"""The tables that proofs of a program can have, before it runs."""

from collections.abc import Iterator

from graphprover.air.description import AirDescription
from graphprover.vm.accelerators.registry import HOST_CALLS
from graphprover.vm.program.isa import Op
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import CALL_CHIPS, CHIP_TABLES, PERMUTING, SHARED, TableNumber
from graphprover.vm.statement.table_rules import ROWS_OF_CALL, ShardKind
from graphprover.vm.statement.version import CHIP_NUMBERS


def chips_of(machine: Machine) -> set[str]:
    """Return the chips that are likely to prove the program's instructions.

    Any ecall may be any host call. The program makes the calls whose numbers it loads as constants.
    """
    own = {number for form in machine.program_entries.forms for number in form.chips}
    code = machine.instructions
    constants = set(code.imm[(code.op == Op.ADDI) & (code.rs1 == 0)].tolist())
    called = {call.chip for call in HOST_CALLS if call.number in constants}
    return {name for name, number in CHIP_NUMBERS.items() if number in own} - (set(CALL_CHIPS) - called)


def possible_tables(machine: Machine, chips: set[str] | None = None) -> Iterator[AirDescription]:
    """Return the tables of a program's proofs, with these chips or its own; the most common tables come first.

    Output and stated input are left out: their columns depend on the number of words.
    """
    chips = chips_of(machine) if chips is None else chips
    others = {*TableNumber} - {TableNumber.OUTPUT, TableNumber.STATED_INPUT}
    others -= {TableNumber.IMAGE} - set(machine.preprocessed(ShardKind.FIRST))
    if chips.isdisjoint(PERMUTING):
        others -= {*ROWS_OF_CALL, TableNumber.KECCAK_DIGITS}
    others -= {number for number, sharing in SHARED.items() if chips.isdisjoint(sharing)}
    tables = sorted((table.lanes, table.chip, n) for n, table in CHIP_TABLES.items() if table.chip in chips)
    for number in (0, *sorted(others), *(number for *_, number in tables)):
        yield machine.air(number, tables=2, output_words=0).describe()


def shared_tables(machine: Machine) -> Iterator[AirDescription]:
    """Return the shared tables that the program's runs are likely to have; every proof has one of them.

    All programs have the chips of words that cross a boundary, and few runs use them.
    """
    chips = {name for name in chips_of(machine) if not name.endswith("_crossing")}
    for number, sharing in SHARED.items():
        if not chips.isdisjoint(sharing):
            yield machine.air(number, tables=2, output_words=0).describe()
