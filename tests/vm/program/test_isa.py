"""Decoder, encoder and disassembler, which share one table, against the assembler."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.vm.program.isa import (
    BRANCHES,
    FENCE,
    ILLEGAL,
    JUMP,
    LOADS,
    STORES,
    Instruction,
    Instructions,
    Op,
    decode,
    decode_all,
    disassemble,
    encode,
)

OPCODES = sorted({op.match & 0x7F for op in Op})
OBJDUMP = shutil.which("riscv64-unknown-elf-objdump")


@st.composite
def instructions(draw: st.DrawFn) -> Instruction:
    form = (op := draw(st.sampled_from(Op))).format
    rd, rs1, rs2 = (draw(st.integers(0, 31)) if has else 0 for has in (form.rd, form.rs1, form.rs2))
    step = form.immediate.step
    imm = step * draw(st.integers(form.immediate.low // step, form.immediate.high // step))
    return Instruction(op, rd, rs1, rs2, imm, 4 * draw(st.integers(0, 2**30 - 1)))


def words() -> st.SearchStrategy[int]:
    """Generate words, most of them with an opcode that exists."""
    likely = st.builds(lambda high, opcode: high << 7 | opcode, st.integers(0, 2**25 - 1), st.sampled_from(OPCODES))
    return likely | st.integers(0, 2**32 - 1)


def fields(code: Instructions, row: int) -> tuple[int, ...]:
    return tuple(int(column[row]) for column in (code.op, code.rd, code.rs1, code.rs2, code.imm))


def test_there_are_65_operations_and_no_word_is_two_of_them() -> None:
    assert len(Op) == 65
    for one in Op:
        assert one.match & ~one.format.mask == 0
        for other in Op:
            common = one.format.mask & other.format.mask
            assert one is other or one.match & common != other.match & common


@given(instructions())
def test_what_is_encoded_is_decoded(instruction: Instruction) -> None:
    assert decode(encode(instruction), instruction.pc) == instruction


@given(words())
def test_what_is_decoded_is_encoded(word: int) -> None:
    instruction = decode(word)
    if instruction and instruction.op.format is not FENCE:  # its reserved fields are dropped
        assert encode(instruction) == word


@given(st.lists(words(), max_size=50))
def test_arrays_are_decoded_like_single_words(many: list[int]) -> None:
    code = decode_all(np.array(many, dtype=np.uint32))
    for row, word in enumerate(many):
        one = decode(word)
        expected = (one.op, one.rd, one.rs1, one.rs2, one.imm) if one else (ILLEGAL, 0, 0, 0, 0)
        assert fields(code, row) == expected


@given(words())
def test_legality_by_the_manual(word: int) -> None:
    """Compare with the opcode map, written a second time by hand."""
    opcode, funct3, funct7 = word & 0x7F, word >> 12 & 7, word >> 25
    legal = {
        0x37: True,
        0x17: True,
        0x6F: True,
        0x67: funct3 == 0,
        0x63: funct3 not in (2, 3),
        0x03: funct3 != 7,
        0x23: funct3 < 4,
        0x13: funct3 not in (1, 5) or funct7 >> 1 == 0 or (funct3 == 5 and funct7 >> 1 == 16),
        0x1B: funct3 == 0 or (funct3 in (1, 5) and funct7 == 0) or (funct3 == 5 and funct7 == 32),
        0x33: funct7 in (0, 1) or (funct7 == 32 and funct3 in (0, 5)),
        0x3B: (funct7 == 0 and funct3 in (0, 1, 5))
        or (funct7 == 32 and funct3 in (0, 5))
        or (funct7 == 1 and funct3 in (0, 4, 5, 6, 7)),
        0x0F: funct3 == 0,
        0x73: word in (0x73, 0x100073),
    }
    assert (decode(word) is not None) == legal.get(opcode, False)


@pytest.mark.parametrize(
    ("instruction", "reason"),
    [
        (Instruction(Op.ADD, 32), "rd = 32"),
        (Instruction(Op.SD, rd=1), "rd = 1"),
        (Instruction(Op.ADDI, imm=2048), "imm = 2048"),
        (Instruction(Op.ADD, imm=1), "imm = 1"),
        (Instruction(Op.SLLIW, imm=32), "imm = 32"),
        (Instruction(Op.SLLI, imm=-1), "imm = -1"),
        (Instruction(Op.BEQ, imm=3), "imm = 3"),
        (Instruction(Op.LUI, imm=4095), "imm = 4095"),
        (Instruction(Op.JAL, imm=1 << 20), "imm = 1048576"),
    ],
)
def test_what_does_not_fit_is_not_encoded(instruction: Instruction, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        encode(instruction)


@pytest.mark.parametrize(
    ("word", "line"),
    [
        (0x00A50513, "addi a0, a0, 10"),
        (0xFE0518E3, "bne a0, zero, 0xff0"),
        (0x00853783, "ld a5, 8(a0)"),
        (0xFE112E23, "sw ra, -4(sp)"),
        (0x12345537, "lui a0, 0x12345"),
        (0xFFFFF517, "auipc a0, 0xfffff"),
        (0x008000EF, "jal ra, 0x1008"),
        (0x00008067, "jalr zero, 0(ra)"),
        (0x43F55513, "srai a0, a0, 63"),
        (0x00000073, "ecall"),
        (0x0FF0000F, "fence"),
        (0x00000001, ".word 0x00000001"),
    ],
)
def test_disassembly(word: int, line: str) -> None:
    assert disassemble(word, 0x1000) == line


@pytest.mark.skipif(not OBJDUMP, reason="no riscv64-unknown-elf-objdump")
def test_binutils_reads_the_same_instructions(tmp_path: Path) -> None:
    """Compare names and operands of one instruction of each operation."""
    assert OBJDUMP is not None
    sample = [
        Instruction(
            op,
            7 if op.format.rd else 0,
            8 if op.format.rs1 else 0,
            9 if op.format.rs2 else 0,
            {True: 0x1000, False: 8}[op.format.immediate.step == 0x1000] if op.format.immediate.high else 0,
            4 * place,
        )
        for place, op in enumerate(Op)
        if op is not Op.FENCE
    ]
    sample = [
        Instruction(instruction.op, instruction.rd, instruction.rs1, instruction.rs2, instruction.imm, 4 * i)
        for i, instruction in enumerate(sample)
    ]
    file = tmp_path / "code"
    file.write_bytes(b"".join(encode(instruction).to_bytes(4, "little") for instruction in sample))
    flags = ["-D", "-b", "binary", "-m", "riscv:rv64", "-M", "numeric,no-aliases"]
    listing = subprocess.run([OBJDUMP, *flags, file], capture_output=True, text=True, check=True).stdout
    lines = [line.split("\t")[2:] for line in listing.splitlines() if line.count("\t") >= 2]
    assert len(lines) == len(sample)
    for (name, *operands), instruction in zip(lines, sample, strict=True):
        assert name == instruction.op.name.lower()
        text = "".join(operands).split(" ")[0]
        for has, register in (
            (instruction.op.format.rd, "x7"),
            (instruction.op.format.rs1, "x8"),
            (instruction.op.format.rs2, "x9"),
        ):
            assert has == (register in text)
        if instruction.op in BRANCHES or instruction.op.format is JUMP:
            assert text.endswith(f"{instruction.pc + 8:x}")
        elif instruction.op in LOADS | STORES | {Op.JALR}:
            assert "8(x8)" in text
        elif instruction.op.format.immediate.high:
            assert text.endswith(("8", "0x8", "0x1"))
