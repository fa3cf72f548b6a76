"""The function of a guest at an address; no file causes an error."""

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.vm.program.elf import load_elf, program_hash
from graphprover.vm.program.symbols import MAX_NAME, function_at
from tests.vm.assemble import ABSOLUTE, CODE, FUNCTION, LABEL, OBJECT, TEXT, Segment, X, elf, leave, with_symbols, words

GUESTS = Path(__file__).parents[3] / "examples/guests"
SYMBOLS = [
    (b"_start", CODE, 0, LABEL, TEXT),
    (b"$x", CODE + 8, 0, LABEL, TEXT),
    (b".L1", CODE + 8, 0, LABEL, TEXT),
    (b"also_main", CODE + 16, 0, LABEL, TEXT),
    (b"main", CODE + 16, 16, FUNCTION, TEXT),
    (b"data", CODE + 20, 8, OBJECT, TEXT),
    (b"constant", CODE + 20, 0, LABEL, ABSOLUTE),
    (b"elsewhere", CODE + 20, 0, FUNCTION, 0),
    (b"", CODE + 24, 0, LABEL, TEXT),
    (b"\x1b[31mred \xff" + b"x" * 300, CODE + 64, 0, FUNCTION, TEXT),
]


@pytest.mark.parametrize(
    ("offset", "found"),
    [
        (-4, None),
        (0, "_start"),
        (12, "_start+0xc"),
        (16, "main"),
        (28, "main+0xc"),
        (32, None),  # behind main's end, in no function
        (64, "?[31mred??" + "x" * (MAX_NAME - 10)),
    ],
)
def test_the_nearest_function(offset: int, found: str | None) -> None:
    assert function_at(with_symbols(SYMBOLS, words(leave())), CODE + offset) == found


def test_a_file_without_symbols() -> None:
    for file in (b"", elf([Segment(CODE, words(leave()), X)]), with_symbols([], words(leave()))):
        assert function_at(file, CODE) is None


@pytest.mark.parametrize("name", sorted(file.stem for file in GUESTS.glob("*.elf")))
def test_the_examples_have_symbols_that_are_no_part_of_the_program(name: str) -> None:
    file = (GUESTS / f"{name}.elf").read_bytes()
    image = load_elf(file)
    assert function_at(file, image.entry) == "_start"
    functions = {str(function_at(file, pc)).partition("+")[0] for pc in range(image.code_base, image.code_end, 4)}
    assert {"_start", "main", "read_input", "write_output"} <= functions and "None" not in functions
    stripped = file[:40] + bytes(8) + file[48:58] + bytes(6) + file[64:]  # no table of sections
    assert function_at(stripped, image.entry) is None
    assert program_hash(load_elf(stripped)) == program_hash(image)


FILE = with_symbols(SYMBOLS, words(leave()))


@given(
    st.lists(st.tuples(st.integers(0, len(FILE) - 1), st.integers(0, 255)), max_size=8),
    st.integers(0, len(FILE)),
    st.integers(0, 2**64 - 1) | st.integers(CODE, CODE + 100),
)
@settings(max_examples=500, deadline=None)
def test_no_file_makes_trouble(edits: list[tuple[int, int]], cut: int, address: int) -> None:
    file = bytearray(FILE)
    for at, value in edits:
        file[-at] = value  # counted from the end, so that the table of sections is hit often
    for changed in (bytes(file), bytes(file[:cut]), bytes(file[:64])):
        found = function_at(changed, address)
        assert found is None or (found.isascii() and found.isprintable() and len(found) < MAX_NAME + 20)


@given(st.binary(min_size=192, max_size=192), st.integers(0, 2**64 - 1))
@settings(max_examples=500, deadline=None)
def test_no_table_of_sections_makes_trouble(sections: bytes, address: int) -> None:
    function_at(FILE[:-192] + sections, address)
    # the same with a table of symbols, and with its offsets and sizes limited to the file
    kind = sections[:68] + struct.pack("<I", 2) + sections[72:]
    function_at(FILE[:-192] + kind, address)
