"""The interpreter against QEMU's user mode: the same programs, the same registers and memory."""

import os
import random
import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.vm.executor.execute import execute
from graphprover.vm.program.io import DEBUG_PRINT, OUTPUT_BASE
from graphprover.vm.program.isa import A0, A1, BRANCHES, LOADS, SHIFT, SHIFTW, STORES, I, Instruction, Op, U, decode
from tests.vm.assemble import CODE, DATA, li, put_out

QEMU = shutil.which("qemu-riscv64")
if not QEMU:
    if os.environ.get("GRAPHPROVER_REQUIRE_QEMU") == "1":
        raise RuntimeError("GRAPHPROVER_REQUIRE_QEMU=1, but there is no qemu-riscv64 (Debian: qemu-user)")
    pytest.skip("no qemu-riscv64 (Debian: qemu-user)", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("by")

EDGES = [0, 1, 2, 7, 31, 32, 63, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**63, 2**64 - 1]
EDGES += [2**64 - 2**31, 2**64 - 2**31 - 1, 0xFFFFFFFF00000000, 0x80000000FFFFFFFF, 2**64 - 64]
RANDOM = random.Random(5)
OPERANDS = EDGES + [RANDOM.getrandbits(64) >> RANDOM.choice((0, 0, 16, 32, 40)) for _ in range(21)]
REGISTER_OPS = [op for op in Op if op.format.rd and op.format.rs2]
IMMEDIATE_OPS = [op for op in Op if op.format in (I, SHIFT, SHIFTW)]

OUT, TABLE, OTHER, END = 9, 18, 19, 20  # registers: where results go, operands' table, a second place in it, its end


def compare(body: Sequence[Instruction], data: bytes, length: int, tmp_path: Path) -> list[int]:
    """Run the program on both machines and return the words of their output, which must be equal."""
    here, there = put_out([*li(OUT, OUTPUT_BASE + 8), *body], data, length)
    file = tmp_path / "program"
    file.write_bytes(there)
    file.chmod(0o755)
    assert QEMU is not None
    done = subprocess.run([QEMU, file], capture_output=True, check=True, timeout=600)
    assert len(done.stdout) == length
    expected = struct.unpack(f"<{length // 8}Q", done.stdout)
    got = struct.unpack(f"<{length // 8}Q", execute(here).output)
    differing = [place for place, (x, y) in enumerate(zip(expected, got, strict=True)) if x != y]
    assert not differing, f"word {differing[0]} of {len(got)}: {got[differing[0]]:#x}, not {expected[differing[0]]:#x}"
    return list(got)


def keep(*registers: int) -> list[Instruction]:
    """Append registers to the output."""
    stores = [Instruction(Op.SD, rs1=OUT, rs2=register, imm=8 * i) for i, register in enumerate(registers)]
    return [*stores, Instruction(Op.ADDI, OUT, OUT, imm=8 * len(registers))]


def for_each(place: int, body: Sequence[Instruction]) -> list[Instruction]:
    """Run ``body`` with register ``place`` at each operand of the table."""
    body = [Instruction(Op.ADDI, place, TABLE), *body, Instruction(Op.ADDI, place, place, imm=8)]
    return [*body, Instruction(Op.BNE, rs1=place, rs2=END, imm=-4 * (len(body) - 1))]


TABLES = [*li(TABLE, DATA), *li(END, DATA + 8 * len(OPERANDS))]
OPERAND_BYTES = struct.pack(f"<{len(OPERANDS)}Q", *OPERANDS)


def test_operations_on_two_registers(tmp_path: Path) -> None:
    body = []
    for op in REGISTER_OPS:
        inner = [Instruction(Op.LD, 11, OTHER), Instruction(op, 12, 10, 11), *keep(12)]
        body += for_each(21, [Instruction(Op.LD, 10, 21), *for_each(OTHER, inner)])
    results = len(REGISTER_OPS) * len(OPERANDS) ** 2
    assert len(set(compare([*TABLES, *body], OPERAND_BYTES, 8 * results, tmp_path))) > results // 10


def test_operations_on_a_register_and_an_immediate(tmp_path: Path) -> None:
    body, results = [], 0
    for op in IMMEDIATE_OPS:
        low, high = op.format.immediate.low, op.format.immediate.high
        for imm in sorted({low, -1, 0, 1, high // 2, high, *(RANDOM.randint(low, high) for _ in range(5))}):
            if low <= imm <= high:
                body += for_each(21, [Instruction(Op.LD, 10, 21), Instruction(op, 12, 10, imm=imm), *keep(12)])
                results += len(OPERANDS)
    assert len(set(compare([*TABLES, *body], OPERAND_BYTES, 8 * results, tmp_path))) > results // 10


def test_constants(tmp_path: Path) -> None:
    values = [0, 1, 2047, 0x7FFFF, -0x80000, -1, *(RANDOM.randint(-0x80000, 0x7FFFF) for _ in range(50))]
    body = [
        instruction
        for op in Op
        if op.format is U
        for value in values
        for instruction in [Instruction(op, 12, imm=value << 12), *keep(12)]
    ]
    assert len(set(compare(body, OPERAND_BYTES, 8 * 2 * len(values), tmp_path))) > len(values)


def test_branches(tmp_path: Path) -> None:
    body = []
    for op in sorted(BRANCHES):
        skip = [Instruction(Op.ADDI, 12, imm=1), Instruction(op, rs1=10, rs2=11, imm=8), Instruction(Op.ADDI, 12)]
        inner = [Instruction(Op.LD, 11, OTHER), *skip, *keep(12)]
        body += for_each(21, [Instruction(Op.LD, 10, 21), *for_each(OTHER, inner)])
    results = compare([*TABLES, *body], OPERAND_BYTES, 8 * len(BRANCHES) * len(OPERANDS) ** 2, tmp_path)
    assert set(results) == {0, 1}


def test_jumps_and_what_they_link(tmp_path: Path) -> None:
    start = CODE + 4 * len(li(OUT, OUTPUT_BASE + 8))
    body: list[Instruction] = []
    for link, offset in ((12, 0), (0, 0), (10, 0), (12, 1), (10, -1), (12, -2048), (10, 2047)):
        size = len(li(10, CODE))
        target = start + 4 * (len(body) + 1 + size + 2)
        body += [*li(12, 7), *li(10, target - offset + offset % 2)]  # a target's lowest bit is dropped
        body += [Instruction(Op.JALR, link, 10, imm=offset), Instruction(Op.EBREAK), *keep(10, 12)]
    for link in (12, 0):
        body += [*li(12, 7), Instruction(Op.JAL, link, imm=8), Instruction(Op.EBREAK), *keep(12)]
    assert len(compare(body, OPERAND_BYTES, 8 * 16, tmp_path)) == 16


@pytest.mark.parametrize("op", sorted(LOADS | STORES))
def test_loads_and_stores_at_every_alignment(op: Op, tmp_path: Path) -> None:
    """Allow misaligned accesses (Zicclsm) within a word, and across the end of a word and of a page."""
    first = DATA + 4096 - 16
    body = [*li(10, 0x8182838485868788)]
    for offset in range(24):
        body += li(11, first + offset)
        body += [Instruction(op, 12, 11)] if op in LOADS else [Instruction(op, rs1=11, rs2=10, imm=0)]
        body += keep(12) if op in LOADS else []
    body += li(11, first)
    for k in range(4):
        body += [Instruction(Op.LD, 13 + k, 11, imm=8 * k)]
    body += keep(13, 14, 15, 16)
    data = bytes(RANDOM.randrange(256) for _ in range(2 * 4096))
    compare(body, data, 8 * (4 + 24 * (op in LOADS)), tmp_path)


def test_showing_text_changes_no_register(tmp_path: Path) -> None:
    registers = [1, 2, *range(5, OUT), *range(10, 32)]
    values = [value for register in registers for value in li(register, RANDOM.getrandbits(64))]
    show = decode(DEBUG_PRINT)
    assert show
    body = [*values, *li(A0, DATA), *li(A1, 6), show, *li(A0, 8), show, *keep(*registers)]
    compare(body, OPERAND_BYTES, 8 * len(registers), tmp_path)
    here, _ = put_out([*li(OUT, OUTPUT_BASE + 8), *body], OPERAND_BYTES, 8 * len(registers))
    text: list[bytes] = []
    assert execute(here, debug=text.append).output == execute(here).output
    assert text[0] == OPERAND_BYTES[:6] and b"6 bytes at 0x8 are dropped" in text[-1]


SCRATCH = 8  # register: the middle of 4096 bytes of memory
COUNT = 7
FREE = [register for register in range(32) if register not in (OUT, SCRATCH, COUNT, 6)]
PLAIN = [op for op in Op if op.format.rd and op not in LOADS | {Op.JAL, Op.JALR}]


def random_block(rng: random.Random) -> tuple[list[Instruction], int]:
    """Return instructions whose results are all output, and the number of words of the output."""
    code: list[Instruction] = []
    results = 0
    for _ in range(12):
        a, b, d = (rng.choice(FREE) for _ in range(3))
        chance = rng.random()
        if chance < 0.3:
            op = rng.choice(sorted(LOADS | STORES))
            if rng.random() < 0.5:  # an address that depends on data
                code += [Instruction(Op.ANDI, 6, a, imm=1023), Instruction(Op.ADD, 6, 6, SCRATCH)]
                base, imm = 6, rng.randint(-1024, 1000)
            else:
                base, imm = SCRATCH, rng.randint(-2048, 2040)
            code += [Instruction(op, d, base, imm=imm) if op in LOADS else Instruction(op, 0, base, b, imm)]
        elif chance < 0.45:  # over the next instruction and its store, or not
            code += [Instruction(rng.choice(sorted(BRANCHES)), 0, a, b, imm=12)]
            code += [Instruction(Op.ADDI, d, a, imm=rng.randint(-2048, 2047)), Instruction(Op.SD, 0, SCRATCH, d)]
        elif chance < 0.5:
            code += [Instruction(Op.JAL, rng.choice((0, d)), imm=8), Instruction(Op.EBREAK)]
        else:
            op = rng.choice(PLAIN)
            immediate = op.format.immediate
            imm = rng.randint(immediate.low // immediate.step, immediate.high // immediate.step) * immediate.step
            code += [Instruction(op, d, a if op.format.rs1 else 0, b if op.format.rs2 else 0, imm)]
        code += keep(d)
        results += 1
    return code, results


def random_program(rng: random.Random, blocks: int, turns: int) -> tuple[list[Instruction], int]:
    """Return blocks that run ``turns`` times each, on registers with operands; and the bytes of the output."""
    body = li(SCRATCH, DATA + 2048)
    for register in FREE:
        body += li(register, rng.choice(OPERANDS)) if register else []
    results = 0
    for _ in range(blocks):
        block, count = random_block(rng)
        body += [*li(COUNT, turns), *block, Instruction(Op.ADDI, COUNT, COUNT, imm=-1)]
        body += [Instruction(Op.BNE, rs1=COUNT, imm=-4 * (len(block) + 1))]
        results += count * turns
    body += keep(*range(8)) + keep(*range(10, 32))
    body += [*li(11, DATA), *li(12, DATA + 4096)]  # the final contents of memory
    move = [Instruction(Op.LD, 10, 11), *keep(10), Instruction(Op.ADDI, 11, 11, imm=8)]
    body += [*move, Instruction(Op.BNE, rs1=11, rs2=12, imm=-4 * len(move))]
    return body, 8 * (results + 8 + 22 + 512)


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 3))
@settings(max_examples=10, deadline=None)
def test_random_programs(tmp_path_factory: pytest.TempPathFactory, seed: int, blocks: int, turns: int) -> None:
    rng = random.Random(seed)
    body, length = random_program(rng, blocks, turns)
    compare(body, rng.randbytes(4096), length, tmp_path_factory.mktemp("random"))


@pytest.mark.parametrize("blocks", [45, pytest.param(300, marks=pytest.mark.slow)])
def test_a_long_random_program(blocks: int, tmp_path: Path) -> None:
    rng = random.Random(2026)
    body, length = random_program(rng, blocks, 4)
    data = rng.randbytes(4096)
    compare(body, data, length, tmp_path)
    here, _ = put_out([*li(OUT, OUTPUT_BASE + 8), *body], data, length)
    execution = execute(here)
    assert execution.cycles > 100 * blocks
    assert set(Op) - set(execution.mix()) <= {Op.JALR, Op.FENCE, Op.EBREAK}
