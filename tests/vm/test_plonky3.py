"""Plonky3 accepts our proofs of guests, whatever tables they need, and not for another output."""

from dataclasses import replace
from pathlib import Path

import pytest

from graphprover.programs import load
from graphprover.vm.machine import Part
from tests.interop import plonky3
from tests.interop.case import Case
from tests.interop.tables import PLAIN

GUESTS = Path(__file__).parents[2] / "examples/guests"


@pytest.mark.parametrize("guest", ["fib_iterative", "sha256", "keccak", "json", "quicksort", "matrix"])
def test_plonky3_accepts_guests(guest: str, tmp_path: Path) -> None:
    program = load(str(GUESTS / f"{guest}.elf"))
    data = b"\7" if guest == "fib_iterative" else b'["number", 123]\n'
    case = Case(PLAIN, program.statement_for(data))
    path, payload = tmp_path / "statement.json", tmp_path / "payload"
    tables = list(case.statement.tables)
    plonky3.write_statement(path, PLAIN, tables, case.binding)
    payload.write_bytes(case.prove())
    assert plonky3.verify(path, payload) is None

    first = list(tables[0].public_values or ())
    if Part.OUTPUT in first[3:]:
        changed = 1 + first[3:].index(Part.OUTPUT)
        values = list(tables[changed].public_values or ())
        values[2] ^= 1
    else:
        changed, values = 0, [first[0], first[1] ^ 1, *first[2:]]
    tables[changed] = replace(tables[changed], public_values=values)
    plonky3.write_statement(path, PLAIN, tables, case.binding)
    assert plonky3.verify(path, payload) is not None
