"""Programs made of instructions, for this machine and for QEMU."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.vm.program.elf import Image, load_elf
from graphprover.vm.program.io import EXIT, OUTPUT_BASE
from graphprover.vm.program.isa import A0, A7, Instruction, Op, encode

CODE, DATA = 0x10000, 0x400000
R, W, X = 4, 2, 1
PAGE = 4096
LINUX_WRITE = 64
LABEL, OBJECT, FUNCTION = 0, 1, 2  # kinds of symbols
TEXT, ABSOLUTE = 1, 0xFFF1  # their sections
SHNUM_AT = 60  # of the ELF header


@dataclass(frozen=True)
class Segment:
    address: int
    data: bytes
    flags: int = R | W
    zeros: int = 0  # behind the data
    kind: int = 1
    align: int = PAGE


def elf(segments: Sequence[Segment], entry: int = CODE, **header: int | bytes) -> bytes:
    """Return an ELF file; ``header`` replaces fields of its header."""
    fields: dict[str, int | bytes] = {
        "ident": b"\x7fELF\2\1\1".ljust(16, b"\0"),
        "type": 2,
        "machine": 243,
        "version": 1,
        "entry": entry,
        "phoff": 64,
        "shoff": 0,
        "flags": 0,
        "ehsize": 64,
        "phentsize": 56,
        "phnum": len(segments),
        "shentsize": 64,
        "shnum": 0,
        "shstrndx": 0,
    }
    fields.update(header)
    table, contents = b"", b""
    start = -(-(64 + 56 * len(segments)) // PAGE) * PAGE
    for segment in segments:
        contents = contents.ljust(-(-len(contents) // PAGE) * PAGE, b"\0") + bytes(segment.address % PAGE)
        at = start + len(contents)
        size = len(segment.data)
        words = (
            segment.kind,
            segment.flags,
            at,
            segment.address,
            segment.address,
            size,
            size + segment.zeros,
            segment.align,
        )
        table += struct.pack("<IIQQQQQQ", *words)
        contents += segment.data
    return (struct.pack("<16sHHIQQQIHHHHHH", *fields.values()) + table).ljust(start, b"\0") + contents


def words(code: Sequence[Instruction | int]) -> bytes:
    return b"".join(struct.pack("<I", word if isinstance(word, int) else encode(word)) for word in code)


def li(rd: int, value: int) -> list[Instruction]:
    """Put a constant of 64 bits into a register."""
    value = (value + 2**63) % 2**64 - 2**63
    if -2048 <= value < 2048:
        return [Instruction(Op.ADDI, rd, imm=value)]
    low = (value + 2048) % 4096 - 2048
    if -(2**31) <= value < 2**31 - 2048:
        return [Instruction(Op.LUI, rd, imm=value - low), Instruction(Op.ADDIW, rd, rd, imm=low)]
    above = li(rd, (value - low) >> 12)
    return [*above, Instruction(Op.SLLI, rd, rd, imm=12), Instruction(Op.ADDI, rd, rd, imm=low)]


def leave(code: int = 0) -> list[Instruction]:
    return [*li(A0, code), *li(A7, EXIT), Instruction(Op.ECALL)]


def image(code: Sequence[Instruction | int], data: bytes = b"", entry: int = CODE) -> Image:
    """Return a program with execute-only code and ``data`` at DATA."""
    return load_elf(elf([Segment(CODE, words(code), X), *([Segment(DATA, data)] if data else [])], entry))


def put_out(body: Sequence[Instruction], data: bytes, length: int) -> tuple[Image, bytes]:
    """Return a program for this machine and an ELF file for Linux that output the ``length`` bytes at OUTPUT_BASE + 8.

    The body writes these bytes; both run it at the same addresses.
    """
    setup = li(5, OUTPUT_BASE) + li(6, length) + [Instruction(Op.SD, rs1=5, rs2=6)]
    here = image([*body, *setup, *leave()], data)
    write = [*li(A0, 1), Instruction(Op.ADDI, 11, 5, imm=8), Instruction(Op.ADDI, 12, 6), *li(A7, LINUX_WRITE)]
    there = [*body, *setup, *write, Instruction(Op.ECALL), *leave()]
    room = Segment(OUTPUT_BASE, b"", zeros=-(-(length + 8) // PAGE) * PAGE)
    return here, elf([Segment(CODE, words(there), R | X), Segment(DATA, data), room])


def with_symbols(symbols: list[tuple[bytes, int, int, int, int]], code: bytes) -> bytes:
    """Return an ELF file with code and symbols: name, value, size, kind, section."""
    file = elf([Segment(CODE, code, X)])
    names, table = b"\0", bytes(24)
    for name, value, size, kind, section in symbols:
        table += struct.pack("<IBBHQQ", len(names), 0x10 | kind, 0, section, value, size)
        names += name + b"\0"
    at = len(file)
    sections = [
        bytes(64),
        struct.pack("<IIQQQQIIQQ", 0, 2, 0, 0, at, len(table), 2, 1, 8, 24),
        struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, at + len(table), len(names), 0, 0, 1, 0),
    ]
    start = at + len(table) + len(names)
    file = file[:40] + struct.pack("<Q", start) + file[48:SHNUM_AT] + struct.pack("<H", 3) + file[SHNUM_AT + 2 :]
    return file + table + names + b"".join(sections)
