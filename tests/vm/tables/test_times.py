"""Times of accesses in whole statements: a call that reads what comes later is refused, though all buses balance."""

import random

import numpy as np
import pytest

from graphprover.statement.check import check
from graphprover.statement.statement import Statement, Table, with_traces
from graphprover.vm.accelerators.integers.fp2 import ALL_FIELDS, FP2_BLS12_381, FP2_BN254
from graphprover.vm.accelerators.integers.modular import MODULAR_384_QUOTIENT, MODULAR_QUOTIENT
from graphprover.vm.accelerators.integers.point import POINT
from graphprover.vm.accelerators.keccak.absorb import KECCAK_ABSORB
from graphprover.vm.accelerators.keccak.call import KECCAK_F
from graphprover.vm.accelerators.sha256.table import SHA256
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.isa import Instruction, Op
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import ROWS_OF_CHIP
from graphprover.vm.traces.run_statement import statement_of_run
from tests.slow import slow_after
from tests.vm.assemble import image, leave
from tests.vm.calls import Call
from tests.vm.tables.call_forgeries import TIMES

RESULT = 1024  # its offset, behind the operands
CALLS = {
    "modular": Call(MODULAR_QUOTIENT, (RESULT, 0, 32, 64, 96)),
    "sha256": Call(SHA256, (RESULT, 0)),
    "keccak_call": Call(KECCAK_F, (RESULT,)),
    "keccak_absorb": Call(KECCAK_ABSORB, (RESULT, 0)),
    "point": Call(POINT + 4, (RESULT, 0)),
    "modular_384": Call(MODULAR_384_QUOTIENT, (RESULT, 0, 48, 96, 144)),
    "fp2_bn254": Call(FP2_BN254, (RESULT, 0, 64, 128)),
    "fp2_bls12_381": Call(FP2_BLS12_381, (RESULT, 0, 96, 192)),
}


def twice(name: str) -> tuple[Statement, int]:
    """Return the statement of a program that makes a call twice in a row, with traces, and the place of its table."""
    rng, (bn254, bls12_381) = random.Random(1), (field.p for field in ALL_FIELDS)
    size, prime = (48, bls12_381) if "381" in name or "384" in name else (32, bn254)
    operands, result = (
        b"".join(rng.randrange(prime).to_bytes(size, "little") for _ in range(RESULT // size)) for _ in range(2)
    )
    code = [*CALLS[name].code(), Instruction(Op.ECALL), *leave()]
    execution = execute(image(code, operands.ljust(RESULT, b"\1") + result), record=True)
    stated = with_traces(statement_of_run(Machine(execution.image), execution))
    return stated, [table.air.name for table in stated.tables].index(name)


@pytest.mark.parametrize("name", slow_after(1, CALLS))
def test_times_of_two_calls_are_not_exchanged(name: str) -> None:
    """Exchange the times of each access of two equal calls, as the prover of a stale value would."""
    stated, place = twice(name)
    assert not check(stated)
    table, rows = stated.tables[place], ROWS_OF_CHIP.get(name, 1)
    assert isinstance(table.main, np.ndarray)
    exchanged = 0
    for column, cell in enumerate(table.air.describe().main_names):
        for row in range(rows):
            one, other = table.main[column, row], table.main[column, rows + row]
            if cell.partition("[")[0] not in (*TIMES, "a_t", "b_t") or one == other:
                continue
            main = table.main.copy()
            main[column, [row, rows + row]] = other, one
            tables = [*stated.tables[:place], Table(table.air, table.public_values, main), *stated.tables[place + 1 :]]
            assert check(Statement(tables)), (cell, row)
            exchanged += 1
    assert exchanged > 8
