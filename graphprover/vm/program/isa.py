"""The instruction set RV64IM: one table from which words are decoded, encoded and disassembled.

The RISC-V Instruction Set Manual, volume I (unprivileged), chapters RV32I, RV64I and M. Every word that matches no row
of the table is illegal, including compressed instructions and CSR accesses.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np

_NAMES = "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6"
REGISTER_NAMES = tuple(_NAMES.split())
A0, A1, A7 = 10, 11, 17  # the first arguments of a host call, and its number


def _signed(value: Any, bits: int) -> Any:
    """Sign-extend the low ``bits`` of an integer or an int64 array."""
    sign = 1 << (bits - 1)
    return ((value & (2 * sign - 1)) ^ sign) - sign


@dataclass(frozen=True)
class Immediate:
    """The place of a format's immediate."""

    low: int  # smallest value
    high: int  # largest value
    step: int  # values are its multiples
    read: Callable[[Any], Any]  # word, or int64 array of words -> immediate
    write: Callable[[int], int]  # immediate -> the word's bits


_NONE = Immediate(0, 0, 1, lambda w: w & 0, lambda i: 0)
_I = Immediate(-(1 << 11), (1 << 11) - 1, 1, lambda w: _signed(w >> 20, 12), lambda i: (i & 0xFFF) << 20)
_S = Immediate(
    -(1 << 11),
    (1 << 11) - 1,
    1,
    lambda w: _signed(w >> 25 << 5 | (w >> 7 & 31), 12),
    lambda i: (i >> 5 & 0x7F) << 25 | (i & 31) << 7,
)
_B = Immediate(
    -(1 << 12),
    (1 << 12) - 2,
    2,
    lambda w: _signed((w >> 31 & 1) << 12 | (w >> 7 & 1) << 11 | (w >> 25 & 63) << 5 | (w >> 8 & 15) << 1, 13),
    lambda i: (i >> 12 & 1) << 31 | (i >> 5 & 63) << 25 | (i >> 1 & 15) << 8 | (i >> 11 & 1) << 7,
)
_U = Immediate(
    -(1 << 31), (1 << 31) - (1 << 12), 1 << 12, lambda w: _signed(w >> 12 << 12, 32), lambda i: i & 0xFFFFF000
)
_J = Immediate(
    -(1 << 20),
    (1 << 20) - 2,
    2,
    lambda w: _signed((w >> 31 & 1) << 20 | (w >> 12 & 0xFF) << 12 | (w >> 20 & 1) << 11 | (w >> 21 & 0x3FF) << 1, 21),
    lambda i: (i >> 20 & 1) << 31 | (i >> 1 & 0x3FF) << 21 | (i >> 11 & 1) << 20 | (i >> 12 & 0xFF) << 12,
)
_SHIFT64 = Immediate(0, 63, 1, lambda w: w >> 20 & 63, lambda i: i << 20)
_SHIFT32 = Immediate(0, 31, 1, lambda w: w >> 20 & 31, lambda i: i << 20)
_FENCE = Immediate(0, (1 << 12) - 1, 1, lambda w: w >> 20 & 0xFFF, lambda i: i << 20)


@dataclass(frozen=True)
class Format:
    """The meaning of a word's bits beside the operation."""

    mask: int  # bits that determine the operation
    rd: bool
    rs1: bool
    rs2: bool
    immediate: Immediate
    syntax: str  # operands, as a format string of rd, rs1, rs2, imm and target = pc + imm


_OPCODE, _FUNCT3, _FUNCT7, _FUNCT6 = 0x7F, 0x7000, 0xFE000000, 0xFC000000
R = Format(_OPCODE | _FUNCT3 | _FUNCT7, True, True, True, _NONE, "{rd}, {rs1}, {rs2}")
I = Format(_OPCODE | _FUNCT3, True, True, False, _I, "{rd}, {rs1}, {imm}")  # noqa: E741 (the manual's name)
SHIFT = Format(_OPCODE | _FUNCT3 | _FUNCT6, True, True, False, _SHIFT64, "{rd}, {rs1}, {imm}")
SHIFTW = Format(_OPCODE | _FUNCT3 | _FUNCT7, True, True, False, _SHIFT32, "{rd}, {rs1}, {imm}")
LOAD = Format(_OPCODE | _FUNCT3, True, True, False, _I, "{rd}, {imm}({rs1})")
STORE = Format(_OPCODE | _FUNCT3, False, True, True, _S, "{rs2}, {imm}({rs1})")
BRANCH = Format(_OPCODE | _FUNCT3, False, True, True, _B, "{rs1}, {rs2}, {target:#x}")
U = Format(_OPCODE, True, False, False, _U, "{rd}, {imm:#x}")
JUMP = Format(_OPCODE, True, False, False, _J, "{rd}, {target:#x}")
FENCE = Format(_OPCODE | _FUNCT3, False, False, False, _FENCE, "")  # rd and rs1 are reserved, to be ignored
SYSTEM = Format(0xFFFFFFFF, False, False, False, _NONE, "")


class Op(IntEnum):
    """Every operation: format, opcode, funct3, funct7 (the twelve bits above funct3's register for SYSTEM)."""

    format: Format
    match: int  # the bits under the format's mask

    def __new__(cls, form: Format, opcode: int, funct3: int = 0, funct7: int = 0) -> "Op":
        number = len(cls.__members__)
        op = int.__new__(cls, number)
        op._value_ = number
        op.format = form
        op.match = opcode | funct3 << 12 | funct7 << 25
        return op

    LUI = U, 0x37
    AUIPC = U, 0x17
    JAL = JUMP, 0x6F
    JALR = LOAD, 0x67, 0
    BEQ = BRANCH, 0x63, 0
    BNE = BRANCH, 0x63, 1
    BLT = BRANCH, 0x63, 4
    BGE = BRANCH, 0x63, 5
    BLTU = BRANCH, 0x63, 6
    BGEU = BRANCH, 0x63, 7
    LB = LOAD, 0x03, 0
    LH = LOAD, 0x03, 1
    LW = LOAD, 0x03, 2
    LD = LOAD, 0x03, 3
    LBU = LOAD, 0x03, 4
    LHU = LOAD, 0x03, 5
    LWU = LOAD, 0x03, 6
    SB = STORE, 0x23, 0
    SH = STORE, 0x23, 1
    SW = STORE, 0x23, 2
    SD = STORE, 0x23, 3
    ADDI = I, 0x13, 0
    SLTI = I, 0x13, 2
    SLTIU = I, 0x13, 3
    XORI = I, 0x13, 4
    ORI = I, 0x13, 6
    ANDI = I, 0x13, 7
    SLLI = SHIFT, 0x13, 1
    SRLI = SHIFT, 0x13, 5
    SRAI = SHIFT, 0x13, 5, 0x20
    ADD = R, 0x33, 0
    SUB = R, 0x33, 0, 0x20
    SLL = R, 0x33, 1
    SLT = R, 0x33, 2
    SLTU = R, 0x33, 3
    XOR = R, 0x33, 4
    SRL = R, 0x33, 5
    SRA = R, 0x33, 5, 0x20
    OR = R, 0x33, 6
    AND = R, 0x33, 7
    ADDIW = I, 0x1B, 0
    SLLIW = SHIFTW, 0x1B, 1
    SRLIW = SHIFTW, 0x1B, 5
    SRAIW = SHIFTW, 0x1B, 5, 0x20
    ADDW = R, 0x3B, 0
    SUBW = R, 0x3B, 0, 0x20
    SLLW = R, 0x3B, 1
    SRLW = R, 0x3B, 5
    SRAW = R, 0x3B, 5, 0x20
    FENCE = FENCE, 0x0F, 0
    ECALL = SYSTEM, 0x73
    EBREAK = SYSTEM, 0x100073
    MUL = R, 0x33, 0, 1
    MULH = R, 0x33, 1, 1
    MULHSU = R, 0x33, 2, 1
    MULHU = R, 0x33, 3, 1
    DIV = R, 0x33, 4, 1
    DIVU = R, 0x33, 5, 1
    REM = R, 0x33, 6, 1
    REMU = R, 0x33, 7, 1
    MULW = R, 0x3B, 0, 1
    DIVW = R, 0x3B, 4, 1
    DIVUW = R, 0x3B, 5, 1
    REMW = R, 0x3B, 6, 1
    REMUW = R, 0x3B, 7, 1


LOADS = frozenset({Op.LB, Op.LH, Op.LW, Op.LD, Op.LBU, Op.LHU, Op.LWU})
STORES = frozenset({Op.SB, Op.SH, Op.SW, Op.SD})
ACCESS_BYTES = {op: 1 << (op.match >> 12 & 3) for op in LOADS | STORES}  # funct3 ends with their log2
BRANCHES = frozenset({Op.BEQ, Op.BNE, Op.BLT, Op.BGE, Op.BLTU, Op.BGEU})
ILLEGAL = len(Op)  # no instruction, in `Instructions.op`
_SYSTEM_OPS = (Op.ECALL, Op.EBREAK)  # whole words
_IMMEDIATES = list(dict.fromkeys(op.format.immediate for op in Op))


@dataclass(frozen=True)
class Instruction:
    """One decoded instruction; fields that its format lacks are 0."""

    op: Op
    rd: int = 0
    rs1: int = 0
    rs2: int = 0
    imm: int = 0  # sign-extended
    pc: int = 0  # its address

    def __str__(self) -> str:
        """Return assembler text, with jumps' targets as addresses."""
        form = self.op.format
        operands = form.syntax.format(
            rd=REGISTER_NAMES[self.rd],
            rs1=REGISTER_NAMES[self.rs1],
            rs2=REGISTER_NAMES[self.rs2],
            imm=self.imm >> 12 & 0xFFFFF if form is U else self.imm,
            target=(self.pc + self.imm) % 2**64,
        )
        return f"{self.op.name.lower()} {operands}".rstrip()


@dataclass(frozen=True, eq=False)
class Instructions:
    """Decoded words, one entry a word; fields that a format lacks are 0."""

    op: np.ndarray  # uint8, an `Op` or ILLEGAL
    rd: np.ndarray  # uint8
    rs1: np.ndarray  # uint8
    rs2: np.ndarray  # uint8
    imm: np.ndarray  # int64, sign-extended


def decode(word: int, pc: int = 0) -> Instruction | None:
    """Return the instruction of a 32-bit word, or None if it is illegal."""
    for op in Op:
        form = op.format
        if word & form.mask == op.match:
            rd, rs1, rs2 = (
                word >> shift & 31 if has else 0 for has, shift in ((form.rd, 7), (form.rs1, 15), (form.rs2, 20))
            )
            return Instruction(op, rd, rs1, rs2, form.immediate.read(word), pc)
    return None


def decode_all(words: np.ndarray) -> Instructions:
    """Decode a uint32 array of words."""
    by_key, registers, immediates = _decoding()
    key = words >> np.uint32(25) << np.uint32(10)
    key |= words >> np.uint32(5) & np.uint32(_FUNCT3 >> 5)
    key |= words & np.uint32(_OPCODE)
    op = by_key.take(key)
    for system in _SYSTEM_OPS:
        op[words == np.uint32(system.match)] = system
    rd, rs1, rs2 = (
        (words >> np.uint32(shift)).astype(np.uint8) & mask.take(op)
        for shift, mask in zip((7, 15, 20), registers, strict=True)
    )
    imm, place = np.zeros(len(words), dtype=np.int64), immediates.take(op)
    for number, immediate in enumerate(_IMMEDIATES):
        rows = np.flatnonzero(place == number)
        imm[rows] = immediate.read(words[rows].astype(np.int64))
    return Instructions(op, rd, rs1, rs2, imm)


@cache
def _decoding() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return uint8 tables for decoding.

    Returns:
        The operation by funct7, funct3 and opcode, (2^17,), without the operations of SYSTEM; the bits of rd, rs1 and
        rs2 that an operation has, (3, operations); and the index of its immediate, (operations,).
    """
    by_key = np.full((1 << 7, 1 << 3, 1 << 7), ILLEGAL, dtype=np.uint8)
    for op in Op:
        if op not in _SYSTEM_OPS:
            mask, match = op.format.mask, op.match
            funct7 = [bits for bits in range(1 << 7) if (bits << 25) & mask == match & _FUNCT7]
            funct3 = [bits for bits in range(1 << 3) if (bits << 12) & mask == match & _FUNCT3]
            by_key[np.ix_(funct7, funct3, [match & _OPCODE])] = op
    forms = [op.format for op in Op] + [SYSTEM]  # the last one for ILLEGAL
    registers = np.array([[31 * getattr(form, name) for form in forms] for name in ("rd", "rs1", "rs2")], np.uint8)
    return by_key.ravel(), registers, np.array([_IMMEDIATES.index(form.immediate) for form in forms], np.uint8)


def encode(instruction: Instruction) -> int:
    """Return the word of an instruction; raise ValueError for a register or immediate that does not fit."""
    form = instruction.op.format
    immediate = form.immediate
    word = instruction.op.match
    for name, has, shift in (("rd", form.rd, 7), ("rs1", form.rs1, 15), ("rs2", form.rs2, 20)):
        register = getattr(instruction, name)
        if not 0 <= register < (32 if has else 1):
            raise ValueError(f"{instruction.op.name}: {name} = {register}")
        word |= register << shift
    if not immediate.low <= instruction.imm <= immediate.high or instruction.imm % immediate.step:
        raise ValueError(f"{instruction.op.name}: imm = {instruction.imm}")
    return word | immediate.write(instruction.imm)


def disassemble(word: int, pc: int) -> str:
    """Return one line: the instruction, or the word if it is illegal."""
    instruction = decode(word, pc)
    return str(instruction) if instruction else f".word {word:#010x}"
