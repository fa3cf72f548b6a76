"""The function of a guest at an address; no file causes an error."""

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.vm.program.elf import load_elf, program_hash
from graphprover.vm.program.symbols import MAX_NAME, demangled, function_at
from tests.vm.assemble import ABSOLUTE, CODE, FUNCTION, LABEL, OBJECT, TEXT, Segment, X, elf, leave, with_symbols, words

GUESTS = Path(__file__).parents[3] / "examples/guests"
PARTS = ["N", "I", "E", "S_", "S0_", "B_", "B0_", "T", "1a", "C1a", "17h0123456789abcdef", "$LT$", "u3abc", "P", "F"]
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


@pytest.mark.parametrize("name", sorted(file.stem for file in GUESTS.glob("*.c")))
def test_the_examples_have_symbols_that_are_no_part_of_the_program(name: str) -> None:
    file = (GUESTS / f"{name}.elf").read_bytes()
    image = load_elf(file)
    assert function_at(file, image.entry) == "_start"
    functions = {str(function_at(file, pc)).partition("+")[0] for pc in range(image.code_base, image.code_end, 4)}
    assert {"_start", "main", "read_input", "write_output"} <= functions and "None" not in functions
    stripped = file[:40] + bytes(8) + file[48:58] + bytes(6) + file[64:]  # no table of sections
    assert function_at(stripped, image.entry) is None
    assert program_hash(load_elf(stripped)) == program_hash(image)


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("main", "main"),
        ("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write"),
        ("_ZN32_$LT$T$u20$as$u20$a..b..Into$GT$4into17h0123456789abcdefE", "<T as a::b::Into>::into"),
        ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
        ("_RINvNtC3std3mem8align_ofjEC3foo", "std::mem::align_of::<usize>"),
        ("_RNCNvC4main4main0B3_", "main::main::{closure#0}"),
        ("_RNvC1au7caf_dma", "a::caf?"),  # codespell:ignore caf
        ("_ZN3foo3barEv", "foo::bar"),
        ("_ZNK3foo3barEv", "foo::bar"),
        ("_ZN3fooIiE3barEv", "foo<int>::bar"),
        ("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back"),
        ("_ZN3foo3barEi.constprop.0", "foo::bar"),
        ("_ZN", "_ZN"),
        ("_R", "_R"),
        ("_Read", "_Read"),
        ("?foo@@", "?foo@@"),
        ("$sfoo", "$sfoo"),
        ("_ZN9999999999999999999E", "_ZN9999999999999999999E"),
        ("_ZN4main", "_ZN4main"),
    ],
)
def test_names_as_the_source_has_them(mangled: str, name: str) -> None:
    assert demangled(mangled) == name


@given(st.sampled_from(["_R", "_ZN", "_Z1f"]), st.lists(st.sampled_from(PARTS), max_size=400))
@settings(max_examples=500, deadline=None)
def test_no_name_makes_trouble(start: str, parts: list[str]) -> None:
    """Also names that stand for gigabytes of text: each part of some names is twice the part before."""
    found = demangled((start + "".join(parts))[:2000])
    assert found.isascii() and found.isprintable() and len(found) < 2 << 20


def test_a_name_that_stands_for_gigabytes_of_text_stays() -> None:
    """Each argument of this C++ name is twice the argument before."""

    def arguments(number: int) -> str:
        return "_ZN1CI1AIiiE1BIS1_S1_E" + "".join(f"S2_IS{last:X}_S{last:X}_E" for last in range(3, number)) + "E1fEv"

    a, b = "A<int, int>", "B<A<int, int>, A<int, int> >"
    assert demangled(arguments(4)) == f"C<{a}, {b}, B<{b}, {b} > >::f"
    assert demangled(arguments(16)) == arguments(16)


def test_faults_have_names_of_the_source() -> None:
    file = with_symbols([(b"_RNvC5guest4main", CODE, 0, LABEL, TEXT)], words(leave()))
    assert function_at(file, CODE + 8) == "guest::main+0x8"


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
