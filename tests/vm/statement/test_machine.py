"""machine.json and docs/machine.md describe the machine that this program proves."""

import gzip
import json
from pathlib import Path

import pytest

from graphprover.vm.program.io import INPUT_BASE, MEMORY_END, OUTPUT_BASE
from graphprover.vm.statement.key import Key
from graphprover.vm.statement.machine import descriptions, machine_json
from graphprover.vm.statement.table_numbers import TableNumber
from graphprover.vm.statement.version import MACHINE_DIGEST
from tests.protocol.section_11 import canonical
from tests.vm.statement import spec_tables as spec
from tests.vm.statement.spec_shape import lanes_of_words

FILE = Path(__file__).parents[3] / "docs" / "machine.json.gz"  # written by tests/vectors/make.py


def test_the_file_is_current_and_hashes_to_the_digest_in_keys() -> None:
    text = gzip.decompress(FILE.read_bytes()).decode()
    assert text == machine_json()
    assert spec.digest(json.loads(text)) == MACHINE_DIGEST


@pytest.mark.parametrize("entry", [0, 4, 0x10000])
@pytest.mark.parametrize("tables", [1, 22])
def test_the_boundary(entry: int, tables: int) -> None:
    air = _program(entry, 0x20000).air(0, 1 + tables, 0).describe()
    assert canonical(spec.boundary(entry, tables)) == air.canonical_bytes


@pytest.mark.parametrize("zero_base", [8, 16, 0x10008, 0x20000, INPUT_BASE])
@pytest.mark.parametrize("words", [0, 1, 5, 1000])
def test_zero_memory(zero_base: int, words: int) -> None:
    program = _program(4, zero_base)
    for number, start, end in (
        (TableNumber.ZERO, zero_base, INPUT_BASE),
        (TableNumber.ZERO_ABOVE, OUTPUT_BASE + 8 * max(words, 1), MEMORY_END),
        (TableNumber.ZERO_BETWEEN, INPUT_BASE + 8 * words, OUTPUT_BASE),
    ):
        air = program.air(number, 2, words, words).describe()
        assert canonical(spec.zero_memory(start, end)) == air.canonical_bytes


@pytest.mark.parametrize("words", [1, 2, 3, 7, 32, 33, 150])
@pytest.mark.parametrize("number", [TableNumber.OUTPUT, TableNumber.STATED_INPUT])
def test_public_words(number: TableNumber, words: int) -> None:
    air = _program(4, 8).air(number, 2, words, words).describe()
    lanes = lanes_of_words(number, words, words)
    assert canonical(spec.public_words(number, words, lanes)) == air.canonical_bytes


def test_all_other_tables_are_the_same_for_every_program() -> None:
    program = _program(0x10000, 0x20000)
    for number, air in descriptions():
        if number not in (0, 4, 6, 7, 14, 15):
            assert program.air(number, 30, 5, 7).describe().canonical_bytes == air.canonical_bytes


def _program(entry: int, zero_base: int) -> Key:
    return Key(entry, zero_base, 8, 8, bytes(32), {})
