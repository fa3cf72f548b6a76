"""The files that the loader accepts, and the reasons for which it refuses others."""

import struct
import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.vm.program.elf import MAX_ZERO_BYTES, ElfError, load_elf
from graphprover.vm.program.io import INPUT_BASE
from graphprover.vm.program.isa import Instruction, Op
from tests.call_counts import count_calls
from tests.vm.assemble import CODE, DATA, PAGE, R, Segment, W, X, elf, leave, words

TEXT = Segment(CODE, words(leave()), X)
IDENT = b"\x7fELF\2\1\1".ljust(16, b"\0")


def ident(place: int, value: int) -> bytes:
    return IDENT[:place] + bytes([value]) + IDENT[place + 1 :]


def dynamic(*entries: tuple[int, int]) -> bytes:
    """Return a dynamic section."""
    return b"".join(struct.pack("<QQ", *entry) for entry in entries)


def test_an_image() -> None:
    image = load_elf(elf([TEXT, Segment(DATA + 4, b"12345678", zeros=100)]))
    assert (image.entry, image.code_base, image.code_end) == (CODE, CODE, CODE + 12)
    assert image.code.tobytes() == TEXT.data
    assert image.addresses.tolist() == [DATA, DATA + 8]
    assert image.values.astype("<u8").tobytes() == b"\0\0\0\0" + b"12345678" + b"\0\0\0\0"
    assert image.zero_base == DATA + 16  # the zeros behind are memory like any other


def test_readable_code_is_data_too() -> None:
    image = load_elf(elf([Segment(CODE, TEXT.data, R | X)]))
    assert image.addresses.tolist() == [CODE, CODE + 8]
    assert image.values.astype("<u8").tobytes() == TEXT.data + bytes(4)
    assert image.zero_base == CODE + 16


def test_zeros_below_contents_are_words() -> None:
    image = load_elf(
        elf([TEXT, Segment(DATA, b"x", zeros=20), Segment(DATA + PAGE, b"y"), Segment(0x8000, b"", zeros=9)])
    )
    expected = [0x8000, 0x8008, DATA, DATA + 8, DATA + 16, DATA + PAGE]
    assert image.addresses.tolist() == expected
    assert image.values.tolist() == [0, 0, ord("x"), 0, 0, ord("y")]


def test_neighbours_may_share_a_word() -> None:
    image = load_elf(elf([TEXT, Segment(DATA, b"abc", align=1), Segment(DATA + 3, b"def", R, align=1)]))
    assert image.addresses.tolist() == [DATA]
    assert image.values.astype("<u8").tobytes() == b"abcdef\0\0"


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (b"", "^no ELF file, but an empty file"),
        (b"#!/bin/sh\n", "^no ELF file, but a script: take the ELF file"),
        (b"int main(void)\n{\n}\n", "^no ELF file, but text: .* compile with -march=rv64im"),
        (b"!<arch>\n/", "^no ELF file, but an archive of object files .* link a program"),
        (b"graphprover key\x05", "^no ELF file, but a proof or key of graphprover"),
        (bytes(100), "^no ELF file$"),
        (elf([TEXT])[:50], "header is cut off"),
        (elf([TEXT], ident=ident(4, 1)), "not a 64-bit ELF file, but for RV32: compile with -march=rv64im"),
        (elf([TEXT], ident=ident(5, 2)), "not a little-endian"),
        (elf([TEXT], machine=62), r"for x86-64 \(machine 62\), not for RISC-V: compile with -march=rv64im"),
        (elf([TEXT], machine=5), "for machine 5, not for RISC-V"),
        (elf([TEXT], machine=62, ident=ident(4, 1)), "for x86-64"),
        (elf([TEXT], type=1), r"an object file \(ET_REL\), not linked: link it with -lzkvm"),
        (elf([TEXT], type=3), r"position-independent executable \(ET_DYN\): link with -static -no-pie"),
        (elf([TEXT], type=4), "a core dump"),
        (elf([TEXT], type=9), "of type 9, not an executable"),
        (elf([TEXT], flags=3), "floating-point registers"),
        (elf([TEXT], flags=4), "floating-point registers"),
        (elf([TEXT], flags=8), "RV64E"),
        (elf([TEXT], phentsize=32), "entries of 32 bytes in the table of segments"),
        (elf([TEXT], phoff=1 << 40), "table of segments is cut off"),
        (elf([TEXT], phoff=PAGE), "table of segments is cut off"),
        (elf([TEXT], phnum=65535), "65,535 segments; 64 at most"),
        (elf([]), "0 executable segments"),
        (elf([Segment(DATA, b"x")]), "0 executable segments"),
        (elf([TEXT, Segment(DATA, TEXT.data, X)]), "2 executable segments"),
        (elf([Segment(CODE, TEXT.data, R | W | X)]), "both executable and writable"),
        (elf([Segment(CODE + 2, TEXT.data, X)], CODE + 4), "does not begin at a multiple of 4: compile all of it"),
        (elf([Segment(CODE, TEXT.data, X, zeros=MAX_ZERO_BYTES + 1)]), "4,194,305 bytes of executable .* no contents"),
        (elf([Segment(CODE, TEXT.data, R | X, zeros=1 << 30)]), "1,073,741,824 bytes of executable .* no contents"),
        (elf([TEXT], entry=DATA), "entry 0x400000 is outside the code"),
        (elf([TEXT], entry=CODE + 12), "outside the code"),
        (elf([TEXT], entry=CODE + 2), "entry 0x10002 is not aligned"),
        (elf([TEXT, Segment(CODE + 12, b"1234")]), "shares a word of 8 bytes with the code"),
        (
            elf([Segment(CODE, TEXT.data + b"x", R | X), Segment(CODE + 14, b"y")]),
            "shares a word of 4 bytes with the c",
        ),
        (elf([TEXT, Segment(CODE + 8, b"1234")]), "overlap"),
        (elf([TEXT, Segment(DATA, bytes(10)), Segment(DATA + 9, b"x")]), "overlap"),
        (elf([TEXT, Segment(DATA, b"x", zeros=PAGE), Segment(DATA + PAGE, b"x")]), "overlap"),
        (elf([TEXT, Segment(1 << 32, b"x")]), "does not end below 2.32"),
        (elf([TEXT, Segment((1 << 64) - PAGE, b"x")]), "does not end below 2.32"),
        (elf([TEXT, Segment(DATA, b"x", zeros=1 << 63)]), "does not end below 2.32"),
        (elf([TEXT, Segment(INPUT_BASE, b"x")]), "below 0x80000000, where the input lies"),
        (elf([TEXT, Segment(DATA, b"x", zeros=1 << 29), Segment(0x70000000, b"x")]), "more than 268,435,456"),
        (elf([TEXT, Segment(DATA, b"x", align=3)]), "no power of two"),
        (elf([TEXT, Segment(DATA + 16, b"x", align=1 << 16)]), "misaligned"),
        (elf([TEXT, Segment(DATA, dynamic((5, 0x400000), (1, 1)), kind=2)]), "with shared libraries: link with -stat"),
        (elf([TEXT, Segment(DATA, dynamic((7, 0x400000), (8, 24)), kind=2)]), "with relocations at the start"),
        (elf([TEXT, Segment(DATA, dynamic((2, 24)), kind=2)]), "with relocations at the start"),
        (elf([TEXT, Segment(DATA, b"/lib/ld.so", kind=3)]), "dynamically linked, for an interpreter"),
        (elf([TEXT, Segment(DATA, b"x", kind=7)]), "thread-local data 0x400000..0x400001 is in no segment"),
        (elf([TEXT, Segment(DATA, b"1234")])[:-1], "cut off"),
    ],
)
def test_refused(file: bytes, reason: str) -> None:
    with pytest.raises(ElfError, match=reason):
        load_elf(file)


C_NOP = 0x00010001  # twice
RVC = 1
NOP = Instruction(Op.ADDI)
JALR = Instruction(Op.JALR)


@pytest.mark.parametrize(
    ("code", "address"),
    [
        ([C_NOP], CODE),
        ([NOP, NOP, C_NOP], CODE + 8),
        ([Instruction(Op.JAL, imm=8), 0, C_NOP], CODE + 8),
        ([Instruction(Op.JAL, 1, imm=8), 0, C_NOP], CODE + 8),  # a call's target is code
        ([Instruction(Op.BEQ, imm=8), JALR, C_NOP], CODE + 8),
        ([Instruction(Op.BEQ, imm=8), C_NOP, JALR], CODE + 4),
        ([Instruction(Op.BEQ, imm=8), C_NOP, C_NOP], CODE + 4),
        ([Instruction(Op.JAL, imm=6), NOP], CODE + 6),
        ([NOP, Instruction(Op.BEQ, imm=-2)], CODE + 2),
    ],
)
def test_compressed_instructions_are_refused(code: Sequence[Instruction | int], address: int) -> None:
    file = elf([Segment(CODE, words(code), X)], flags=RVC)
    with pytest.raises(
        ElfError, match=f"^compressed instruction at {address:#x}: compile all of it with -march=rv64im$"
    ):
        load_elf(file)


@pytest.mark.parametrize(
    "code",
    [
        leave(),
        [*leave(), C_NOP],  # behind the exit: data
        [Instruction(Op.JAL, imm=8), C_NOP, JALR],  # data between
        [Instruction(Op.JAL, 1, imm=8), C_NOP, JALR],  # behind a call that may not return
        [JALR, C_NOP],
        [0, C_NOP],
        [0xC0002573, C_NOP],  # no instruction of this machine
        [Instruction(Op.JAL, imm=0), C_NOP],
        [Instruction(Op.JAL, imm=-4), C_NOP],
    ],
)
def test_the_flag_alone_is_no_compressed_instruction(code: Sequence[Instruction | int]) -> None:
    """Accept the flag alone: a toolchain sets it for its own output and for the C library that it links."""
    file = elf([Segment(CODE, words(code), X)], flags=RVC)
    assert load_elf(file).code.tobytes() == words(code)


def test_looking_for_compressed_instructions_ends() -> None:
    nops = words([NOP]) * (1 << 20)
    end = words([C_NOP])
    some, more = (elf([Segment(CODE, code + end, X)], flags=RVC) for code in (nops[: 1 << 20], nops))
    assert count_calls(lambda: load_elf(more)) == count_calls(lambda: load_elf(some))


def compact(segments: Sequence[Segment], contents: bytes) -> bytes:
    """Return an ELF file whose segments all have the same contents, directly after its headers."""
    at, size = 64 + 56 * len(segments), len(contents)
    table = (
        struct.pack("<IIQQQQQQ", segment.kind, segment.flags, at, segment.address, 0, size, size + segment.zeros, 1)
        for segment in segments
    )
    return b"".join([elf([], phnum=len(segments))[:64], *table, contents])


def cost(file: bytes) -> tuple[int, int, str]:
    """Return the calls and the peak memory in bytes of reading a file, and the reason if it is refused."""
    reason = ""

    def load() -> None:
        nonlocal reason
        try:
            load_elf(file)
        except ElfError as error:
            reason = str(error)

    calls = count_calls(load)
    tracemalloc.start()
    load()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return calls, peak, reason


HUNDRED = 100 << 20
HOSTILE = {
    "zeros made explicit": (
        compact(
            [Segment(CODE, b"", X), Segment(DATA, b"", zeros=HUNDRED), Segment(DATA + 2 * HUNDRED, b"")], TEXT.data
        ),
        "bytes of zeros below contents are more than 4,194,304",
    ),
    "the same contents many times": (
        compact([Segment(CODE + (number << 24), b"", R if number else X) for number in range(60)], bytes(4 << 20)),
        "segments share contents",
    ),
    "many headers": (
        compact([Segment(CODE + 4 * number, b"", R) for number in range(65535)], b""),
        "64 at most are taken",
    ),
    "many headers that are passed over": (
        compact([Segment(0, b"", kind=4) for _ in range(65535)], b""),
        "64 at most are taken",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_refused_file_costs_no_more_than_an_honest_one_of_its_size(name: str) -> None:
    """Take at most three times the calls, and 3,000 more; 50 for each of the 64 accepted segments; and 64 MiB."""
    file, why = HOSTILE[name]
    honest = elf([TEXT, Segment(DATA, b"")])
    honest = elf([TEXT, Segment(DATA, bytes(max(len(file) - len(honest), 1)))])
    calls, peak, reason = cost(file)
    honest_calls, honest_peak, accepted = cost(honest)
    assert why in reason and not accepted
    assert calls <= 3 * honest_calls + 3000 and peak <= honest_peak + (64 << 20)


def test_zeros_below_contents_that_are_taken_cost_little() -> None:
    file = compact(
        [Segment(CODE, b"", X), Segment(DATA, b"", zeros=MAX_ZERO_BYTES - 100), Segment(2 * DATA, b"")], TEXT.data
    )
    assert len(file) == 64 + 3 * 56 + 12
    _, peak, reason = cost(file)
    assert not reason and peak < 64 << 20


def test_contents_longer_than_memory() -> None:
    file = bytearray(elf([TEXT]))
    file[64 + 40] = 1  # p_memsz
    with pytest.raises(ElfError, match="12 bytes of contents for 1 bytes"):
        load_elf(bytes(file))


SECTION = dynamic((5, 0), (7, 0), (8, 0), (0, 0), (1, 1))  # behind its end: not read
FLOAT = "uses floating-point registers"
STANDARD = {  # a file that the rules of the zkVM standards accept, and why it is refused here
    "headers in falling order": (elf([Segment(DATA, b"12345678"), TEXT]), ""),
    "OS ABI of GNU": (elf([TEXT], ident=ident(7, 3)), ""),
    "OS ABI standalone": (elf([TEXT], ident=ident(7, 255)), ""),
    "version of the ABI": (elf([TEXT], ident=ident(8, 1)), ""),
    "padding of the identification": (elf([TEXT], ident=ident(12, 7)), ""),
    "version in the identification": (elf([TEXT], ident=ident(6, 0)), ""),
    "version": (elf([TEXT], version=0), ""),
    "size of the header": (elf([TEXT], ehsize=0), ""),
    "flag of compressed instructions": (elf([TEXT], flags=1), ""),
    "flag of total store order": (elf([TEXT], flags=0x10), ""),
    "flags of a vendor": (elf([TEXT], flags=0xFF000000), ""),
    "flag of single floats": (elf([TEXT], flags=2), FLOAT),
    "flag of double floats": (elf([TEXT], flags=4), FLOAT),
    "sections beyond the file": (elf([TEXT], shoff=1 << 40, shnum=5), ""),
    "nothing": (elf([TEXT, Segment(5, b"", kind=0, zeros=9)]), ""),
    "note": (elf([TEXT, Segment(1 << 63, b"", kind=4, zeros=1 << 63)]), ""),
    "headers": (elf([TEXT, Segment(0, b"", kind=6)]), ""),
    "shared library": (elf([TEXT, Segment(0, b"", kind=5)]), ""),
    "stack": (elf([TEXT, Segment(0, b"", kind=0x6474E551)]), ""),
    "stack traces": (elf([TEXT, Segment(DATA, b"x", kind=0x6474E554)]), ""),
    "attributes": (elf([TEXT, Segment(0, b"", kind=0x70000003)]), ""),
    "type of an operating system": (elf([TEXT, Segment(0, b"", kind=0x60000001)]), ""),
    "type of OpenBSD": (elf([TEXT, Segment(0, b"", kind=0x65A3DBE6)]), ""),
    "unknown type": (elf([TEXT, Segment(0, b"", kind=0x12345)]), ""),
    "empty dynamic section": (elf([TEXT, Segment(0, b"", kind=2)]), ""),
    "dynamic section without use": (elf([TEXT, Segment(DATA, SECTION, kind=2)]), ""),
    "long dynamic section": (elf([TEXT, Segment(DATA, 9 * dynamic((5, 0)) * 4096, kind=2)]), ""),
    "empty segment at the end of memory": (elf([TEXT, Segment((1 << 64) - 1, b"", X, align=1)]), ""),
    "empty segment, writable and executable": (elf([TEXT, Segment(CODE, b"", R | W | X)]), ""),
    "flags of an operating system": (elf([TEXT, Segment(DATA, b"x", R | W | 0x0FF00000)]), ""),
    "flags of a processor": (elf([TEXT, Segment(DATA, b"x", 0xF0000000)]), ""),
    "code with flags of an operating system": (elf([Segment(CODE, TEXT.data, X | 0x00100000)]), ""),
    "no alignment": (elf([Segment(CODE, TEXT.data, X, align=0)]), ""),
    "data below the code": (elf([TEXT, Segment(CODE - PAGE, b"x", R)]), ""),
    "one byte behind the code": (elf([Segment(CODE, TEXT.data + b"x", X)]), ""),
    "zeros behind the code": (elf([Segment(CODE, TEXT.data, X, zeros=17)]), ""),
    "two segments of code": (elf([TEXT, Segment(DATA, TEXT.data, X)]), "2 executable segments; a program has one"),
    "code below the input": (elf([Segment(INPUT_BASE - 12, TEXT.data, X)], INPUT_BASE - 12), ""),
    "code above the input": (elf([Segment(INPUT_BASE, TEXT.data, X)], INPUT_BASE), "where the input lies"),
    "64 segments": (elf([TEXT, *(Segment(DATA + PAGE * number, b"x") for number in range(63))]), ""),
    "65 segments": (elf([TEXT, *(Segment(DATA + PAGE * number, b"x") for number in range(64))]), "64 at most"),
    "bytes behind the file": (elf([TEXT]) + bytes(99), ""),
}


@pytest.mark.parametrize("name", STANDARD)
def test_files_of_the_standard(name: str) -> None:
    """Accept what the zkVM standards accept, but for the restrictions that docs/standards.md lists."""
    file, reason = STANDARD[name]
    if reason:
        with pytest.raises(ElfError, match=reason):
            load_elf(file)
    else:
        image = load_elf(file)
        assert image.code.tobytes().startswith(TEXT.data) and image.entry == image.code_base


@pytest.mark.parametrize("tail", [b"", b"a", b"ab", b"abc", b"abcd", b"abcde"])
@pytest.mark.parametrize("zeros", [0, 1, 2, 3, 4, 9])
@pytest.mark.parametrize("flags", [X, R | X])
def test_the_tail_of_code(tail: bytes, zeros: int, flags: int) -> None:
    """Fill code up with zeros to a multiple of 4; what is readable is words of data, too."""
    image = load_elf(elf([Segment(CODE, TEXT.data + tail, flags, zeros=zeros)]))
    contents = TEXT.data + tail + bytes(zeros)
    padded = contents + bytes(-len(contents) % 8)
    assert image.code.tobytes() == padded[: -(-len(contents) // 4) * 4]
    assert image.zero_base == CODE + len(padded)
    assert image.values.astype("<u8").tobytes() == (padded if flags & R else b"")
    assert image.addresses.tolist() == (list(range(CODE, CODE + len(padded), 8)) if flags & R else [])


@given(st.lists(st.tuples(st.integers(0, 64 + 2 * 56 - 1), st.integers(0, 255)), min_size=1, max_size=4))
@settings(max_examples=300)
def test_damaged_headers_give_an_image_or_an_error(changes: list[tuple[int, int]]) -> None:
    file = bytearray(elf([TEXT, Segment(DATA, b"12345678", zeros=8)]))
    for place, value in changes:
        file[place] = value
    try:
        image = load_elf(bytes(file))
    except ElfError:
        return
    assert image.code_base <= image.entry < image.code_end <= image.zero_base <= INPUT_BASE
    assert (np.diff(image.addresses.astype(np.int64)) > 0).all() and (image.addresses < image.zero_base).all()
