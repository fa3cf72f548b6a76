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
        (b"", "no ELF file"),
        (b"#!/bin/sh\n", "no ELF file"),
        (elf([TEXT])[:50], "header is cut off"),
        (elf([TEXT], ident=ident(4, 1)), "not a 64-bit"),
        (elf([TEXT], ident=ident(5, 2)), "not a little-endian"),
        (elf([TEXT], ident=ident(6, 0)), "unknown version"),
        (elf([TEXT], ident=ident(7, 3)), "operating system"),
        (elf([TEXT], version=2), "unknown version"),
        (elf([TEXT], machine=62), "not for RISC-V .machine 62"),
        (elf([TEXT], type=3), "type 3 is no statically linked executable"),
        (elf([TEXT], type=1), "type 1 is no statically linked executable"),
        (elf([TEXT], flags=3), "floating-point registers"),
        (elf([TEXT], flags=17), "unknown flags 0x11"),
        (elf([TEXT], flags=4), "floating-point registers"),
        (elf([TEXT], flags=8), "RV64E"),
        (elf([TEXT], flags=16), "unknown flags 0x10"),
        (elf([TEXT], phentsize=32), "headers of unknown size"),
        (elf([TEXT], phoff=1 << 40), "table of segments is cut off"),
        (elf([TEXT], phoff=PAGE), "table of segments is cut off"),
        (elf([TEXT], phnum=65535), "65,535 segments; 64 at most"),
        (elf([]), "0 executable segments"),
        (elf([Segment(DATA, b"x")]), "0 executable segments"),
        (elf([TEXT, Segment(DATA, TEXT.data, X)]), "2 executable segments"),
        (elf([Segment(CODE, TEXT.data, R | W | X)]), "both executable and writable"),
        (elf([Segment(CODE + 2, TEXT.data, X)], CODE + 2), "not aligned to instructions"),
        (elf([Segment(CODE, TEXT.data[:-1], X)]), "not aligned to instructions"),
        (elf([Segment(CODE, TEXT.data, X, zeros=4)]), "part without contents"),
        (elf([TEXT], entry=DATA), "entry 0x400000 is outside the code"),
        (elf([TEXT], entry=CODE + 12), "outside the code"),
        (elf([TEXT], entry=CODE + 2), "entry 0x10002 is not aligned"),
        (elf([TEXT, Segment(CODE + 12, b"1234")]), "shares a word of 8 bytes with the code"),
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
        (elf([TEXT, Segment(DATA, b"x", flags=8 | R)]), "unknown flags 0xc"),
        (elf([TEXT, Segment(DATA, b"x", kind=2)]), "dynamically linked"),
        (elf([TEXT, Segment(DATA, b"/lib/ld.so", kind=3)]), "dynamically linked"),
        (elf([TEXT, Segment(DATA, b"x", kind=7)]), "thread-local data 0x400000..0x400001 is in no segment"),
        (elf([TEXT, Segment(DATA, b"x", kind=0x12345)]), "unknown type 0x12345"),
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


def test_notes_and_attributes_are_passed_over() -> None:
    others = [Segment(0, b"", kind=kind) for kind in (0, 4, 6, 0x6474E551, 0x70000003)]
    assert load_elf(elf([TEXT, *others, Segment(0, b"")])).entry == CODE


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
