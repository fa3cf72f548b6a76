"""The executor: faults, limits, input and output, and the record against a replay in Python."""

import random
import re
import struct
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.vm.accelerators.host_call import MOST_FURTHER
from graphprover.vm.accelerators.integers.modular import MODULAR, MODULAR_384, MODULAR_QUOTIENT
from graphprover.vm.accelerators.integers.point import POINT
from graphprover.vm.accelerators.keccak.call import KECCAK_F
from graphprover.vm.accelerators.registry import HOST_CALLS
from graphprover.vm.executor import execute as executor
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.executor.faults import LAST_BYTES, Fault, GuestFault
from graphprover.vm.executor.record import SINK
from graphprover.vm.program.compressed import REMEDY
from graphprover.vm.program.elf import Image, load_elf
from graphprover.vm.program.io import EXIT, INPUT_BASE, MEMORY_END, OUTPUT_BASE
from graphprover.vm.program.isa import A0, A1, A7, BRANCHES, LOADS, STORES, Instruction, Op, decode_all
from graphprover.vm.statement.statement import Machine
from tests.vm.assemble import (
    CODE,
    DATA,
    FUNCTION,
    PAGE,
    TEXT,
    R,
    Segment,
    X,
    elf,
    image,
    leave,
    li,
    with_symbols,
    words,
)
from tests.vm.calls import Call, result_of
from tests.vm.in_time import in_time, instructions

pytestmark = pytest.mark.usefixtures("by")

NOP = Instruction(Op.ADDI)
T0, T1 = 5, 6


def memory(op: Op) -> Instruction:
    return Instruction(op, T1 if op in LOADS else 0, T0, 0 if op in LOADS else T1)


def load(address: int, op: Op = Op.LD) -> list[Instruction]:
    return [*li(T0, address), memory(op)]


def store(address: int, op: Op = Op.SD) -> list[Instruction]:
    return [*li(T0, address), memory(op)]


def call(number: int, argument: int) -> list[Instruction]:
    return [*li(A0, argument), *li(A7, number), Instruction(Op.ECALL)]


def on_ones(number: int, *at: int) -> list[Instruction]:
    """Return a call, after the first six words of the data become all ones."""
    ones = [Instruction(Op.SD, rs1=T0, rs2=T1, imm=8 * i) for i in range(6)]
    return [*li(T0, DATA), Instruction(Op.ADDI, T1, imm=-1), *ones, *Call(number, at).code()]


LONG = "the quotient has more than {} bits"
NO_SLOPE = "a coordinate is not below the prime, or the line through the points has no slope"
FAULTS: list[tuple[str, Sequence[Instruction | int], Fault, str, str]] = [
    ("zero word", [NOP, 0], Fault.ILLEGAL_INSTRUCTION, "", ".word 0x00000000"),
    ("compressed", [NOP, 0x00010001], Fault.COMPRESSED_INSTRUCTION, REMEDY, ".word 0x00010001"),
    ("ends in zeros", [NOP, 0x00010000], Fault.ILLEGAL_INSTRUCTION, "", ".word 0x00010000"),
    ("csr", [0xC0002573], Fault.ILLEGAL_INSTRUCTION, "", ".word 0xc0002573"),
    ("ebreak", [Instruction(Op.EBREAK)], Fault.BREAKPOINT, "", "ebreak"),
    ("jal", [Instruction(Op.JAL, imm=6)], Fault.MISALIGNED_JUMP, "to 0x10006", "jal zero, 0x10006"),
    ("branch", [Instruction(Op.BEQ, imm=2)], Fault.MISALIGNED_JUMP, "to 0x10002", "beq zero, zero, 0x10002"),
    ("jalr", [*li(1, CODE), Instruction(Op.JALR, 1, 1, imm=2)], Fault.MISALIGNED_JUMP, "to 0x10002", "jalr ra, 2(ra)"),
    ("jal out", [Instruction(Op.JAL, imm=-4)], Fault.JUMP_OUTSIDE_CODE, "to 0xfffc", "jal zero, 0xfffc"),
    ("far", [Instruction(Op.JAL, imm=4096)], Fault.JUMP_OUTSIDE_CODE, "to 0x11000", "jal zero, 0x11000"),
    ("branch out", [Instruction(Op.BGE, imm=8)], Fault.JUMP_OUTSIDE_CODE, "to 0x10008", "bge zero, zero, 0x10008"),
    (
        "jalr out",
        [Instruction(Op.JALR, imm=-4)],
        Fault.JUMP_OUTSIDE_CODE,
        "to 0xfffffffffffffffc",
        "jalr zero, -4(zero)",
    ),
    ("fall through", [NOP, NOP], Fault.JUMP_OUTSIDE_CODE, "to 0x10008", "addi zero, zero, 0"),
    ("store", store(CODE), Fault.STORE_INTO_CODE, "0x10000", "sd t1, 0(t0)"),
    ("store over the border", store(CODE - 1), Fault.STORE_INTO_CODE, "0xffff", "sd t1, 0(t0)"),
    ("load code", load(CODE), Fault.UNMAPPED_ADDRESS, "0x10000", "ld t1, 0(t0)"),
    ("null", load(0), Fault.NULL_POINTER, "address 0x0", "ld t1, 0(t0)"),
    ("null byte", store(8, Op.SB), Fault.NULL_POINTER, "address 0x8", "sb t1, 0(t0)"),
    ("end of the null page", load(4095), Fault.NULL_POINTER, "address 0xfff", "ld t1, 0(t0)"),
    ("behind the null page", load(4096), Fault.UNMAPPED_ADDRESS, "0x1000", "ld t1, 0(t0)"),
    ("call at null", call(KECCAK_F, 0), Fault.NULL_POINTER, "address 0x0", "ecall"),
    ("below data", load(DATA - 4), Fault.UNMAPPED_ADDRESS, "0x3ffffc", "ld t1, 0(t0)"),
    ("2^32", load(MEMORY_END), Fault.ADDRESS_TOO_LARGE, "0x100000000", "ld t1, 0(t0)"),
    ("over 2^32", load(MEMORY_END - 7), Fault.ADDRESS_TOO_LARGE, "0xfffffff9", "ld t1, 0(t0)"),
    ("last byte", store(2**64 - 1, Op.SB), Fault.ADDRESS_TOO_LARGE, "0xffffffffffffffff", "sb t1, 0(t0)"),
    ("unknown call", call(64, 1), Fault.UNKNOWN_HOST_CALL, "64", "ecall"),
    ("misaligned call", call(KECCAK_F, DATA + 4), Fault.MISALIGNED_HOST_CALL, "0x400004", "ecall"),
    ("call into nothing", call(KECCAK_F, DATA - 8), Fault.UNMAPPED_ADDRESS, "0x3ffff8", "ecall"),
    ("call into code", call(KECCAK_F, CODE - 96), Fault.UNMAPPED_ADDRESS, "0xffa0", "ecall"),
    ("misaligned operand", Call(MODULAR, (0, 32, 68, 96, 128)).code(), Fault.MISALIGNED_HOST_CALL, "0x400044", "ecall"),
    ("m on c", Call(MODULAR, (0, 32, 64, 96, 104)).code(), Fault.OVERLAPPING_OPERANDS, "0x400068", "ecall"),
    ("m on c, 384", Call(MODULAR_384, (0, 48, 96, 144, 184)).code(), Fault.OVERLAPPING_OPERANDS, "0x4000b8", "ecall"),
    ("point on point", Call(POINT, (0, 56)).code(), Fault.OVERLAPPING_OPERANDS, "0x400038", "ecall"),
    ("long quotient", on_ones(MODULAR, 256, 0, 0, 24, 64), Fault.NO_RESULT, LONG.format(256), "ecall"),
    ("long quotient, 384 bits", on_ones(MODULAR_384, 256, 0, 0, 40, 96), Fault.NO_RESULT, LONG.format(384), "ecall"),
    ("large coordinate", on_ones(POINT, 64, 0), Fault.NO_RESULT, NO_SLOPE, "ecall"),
    ("no slope", Call(POINT + 1, (0,)).code(), Fault.NO_RESULT, NO_SLOPE, "ecall"),
    ("call at the end", call(KECCAK_F, MEMORY_END - 192), Fault.ADDRESS_TOO_LARGE, "0xffffff40", "ecall"),
]


@pytest.mark.parametrize(
    ("body", "fault", "detail", "line"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS]
)
def test_faults_have_a_name_a_place_and_a_line(
    body: Sequence[Instruction | int], fault: Fault, detail: str, line: str
) -> None:
    at = next(i for i in reversed(range(len(body))) if fault is not Fault.BREAKPOINT or i == len(body) - 1)
    with pytest.raises(GuestFault) as caught:
        execute(image([*body], b"12345678"))
    found = caught.value
    assert (found.fault, found.detail, found.line) == (fault, detail, line)
    assert (found.pc, found.cycles) == (CODE + 4 * at, at)
    assert str(found).startswith(f"{fault} ") and f"at pc {CODE + 4 * at:#x}: {line} (after {at:,} cycles)" in str(
        found
    )


SP = 2
FLOOR = DATA + 4 * PAGE  # of a stack


def guarded(sp: int, address: int, contents: bytes = bytes(8), data: bytes = bytes(20)) -> GuestFault:
    """Return the fault of an access to a program with data, a gap, and ``contents`` below the stack."""
    code = words([*li(SP, sp), *load(address), *leave()])
    parts = [Segment(CODE, code, X), Segment(DATA, data), Segment(FLOOR, contents, zeros=PAGE)]
    with pytest.raises(GuestFault) as caught:
        execute(load_elf(elf([part for part in parts if part.data])))
    return caught.value


@pytest.mark.parametrize("address", [DATA + 24, FLOOR - 8, FLOOR - 1])
def test_a_stack_overflow_is_named(address: int) -> None:
    fault = guarded(FLOOR - 16, address)
    assert (fault.fault, fault.detail) == (Fault.STACK_OVERFLOW, f"address {address:#x}")
    assert str(fault).startswith(f"stack overflow (address {address:#x}) at pc")
    assert guarded(1, address).fault == guarded(FLOOR + 7, address).fault == Fault.STACK_OVERFLOW


def test_other_unmapped_memory_is_not_named_so() -> None:
    """Name no access while the stack is in place, none elsewhere, and none of a program without a guard."""
    healthy, below = FLOOR + PAGE, FLOOR - 16
    assert guarded(healthy, FLOOR - 8).fault == guarded(0, FLOOR - 8).fault == Fault.UNMAPPED_ADDRESS
    assert guarded(below, DATA - 8).fault == Fault.UNMAPPED_ADDRESS
    assert guarded(below, 0).fault == Fault.NULL_POINTER
    assert guarded(below, FLOOR - 8, contents=bytes(16)).fault == Fault.UNMAPPED_ADDRESS
    assert guarded(below, FLOOR - 8, data=bytes(3 * PAGE + 8)).fault == Fault.UNMAPPED_ADDRESS
    assert guarded(below, FLOOR - 8, data=bytes(3 * PAGE)).fault == Fault.STACK_OVERFLOW
    assert guarded(below, FLOOR - 8, data=b"").fault == Fault.STACK_OVERFLOW


def test_a_run_has_a_short_form() -> None:
    run = execute(image(leave()), b"abc", record=True)
    assert repr(run) == "Execution(cycles=3, exit_code=0, input=3 bytes, output=0 bytes, recorded=True)"


def test_a_branch_that_is_not_taken_may_lead_nowhere() -> None:
    assert execute(image([Instruction(Op.BNE, imm=2), Instruction(Op.BNE, imm=4094), *leave(7)])).exit_code == 7


def test_memory_from_the_end_of_the_contents_to_2_to_the_32() -> None:
    first = DATA + 8
    spots = [DATA, first, first + 2, INPUT_BASE - 8, INPUT_BASE + 3, OUTPUT_BASE - 1, MEMORY_END - 8]
    body = [instruction for spot in spots for instruction in [*load(spot), *store(spot)]]
    execution = execute(image([*body, *leave()], b"12345678"))
    assert execution.exit_code == 0
    assert execution.memory_bytes == PAGE * 6  # of INPUT_BASE's page three bytes more are touched


def test_a_page_with_code_and_data() -> None:
    """Distinguish the bytes of a page: unmapped ones below its data, and code."""
    code = [*load(CODE + 256, Op.LBU), *store(CODE + 264, Op.SB), *leave()]
    parts = [Segment(CODE, words(code), X), Segment(CODE + 256, b"123456789012345", zeros=8)]
    assert execute(load_elf(elf(parts))).cycles == len(code)
    for address, fault in ((CODE + 248, Fault.UNMAPPED_ADDRESS), (CODE + 4, Fault.STORE_INTO_CODE)):
        parts[0] = Segment(CODE, words([*store(address), *leave()]), X)
        with pytest.raises(GuestFault, match=str(fault)):
            execute(load_elf(elf(parts)))


def test_readable_code_can_be_loaded_and_not_stored() -> None:
    code = words([*load(CODE), *store(OUTPUT_BASE + 8), *li(T1, 8), *store(OUTPUT_BASE), *leave()])
    assert execute(load_elf(elf([Segment(CODE, code, R | X)]))).output == code[:8]
    with pytest.raises(GuestFault, match="store into code"):
        execute(load_elf(elf([Segment(CODE, words([*store(CODE), *leave()]), R | X)])))


@pytest.mark.parametrize("zeros", [0, 9])
def test_data_behind_the_code(zeros: int) -> None:
    """A segment of code may end anywhere: GNU ld puts constants there by default."""

    def shows(address: int) -> bytes:
        out = [*store(OUTPUT_BASE + 8), *li(T1, 1), *store(OUTPUT_BASE), *leave()]
        return words([*load(address, Op.LBU), *out])

    code = shows(CODE + len(shows(CODE + 100)) + 2)
    assert execute(load_elf(elf([Segment(CODE, code + b"\x7f<d", R | X, zeros=zeros)]))).output == b"d"
    for fault, flags, code in (
        ("illegal instruction", R | X, words([NOP])),  # then the data
        ("store into code", R | X, words(store(CODE + 14, Op.SB))),  # the last byte, or the first zero
        ("access to unmapped memory", X, words(load(CODE + 12, Op.LBU))),
    ):
        with pytest.raises(GuestFault, match=fault):
            execute(load_elf(elf([Segment(CODE, code + b"\x7f<d", flags, zeros=zeros)])))


def test_limits_are_exact() -> None:
    program = image([NOP] * 10 + leave())
    cycles = execute(program).cycles
    assert cycles == 13 and execute(program, max_cycles=13).cycles == 13
    with pytest.raises(GuestFault, match=r"cycle limit \(12\) at pc 0x10030: ecall \(after 12 cycles\)"):
        execute(program, max_cycles=12)
    pages = image([*load(2 * DATA), *load(3 * DATA), *leave()], b"1")
    needed = execute(pages).memory_bytes
    assert needed == 4 * PAGE  # data, input, and two more
    assert execute(pages, max_memory=needed).memory_bytes == needed
    with pytest.raises(GuestFault, match=r"memory limit \(12,288 bytes\) at pc 0x10014: ld t1, 0\(t0\)"):
        execute(pages, max_memory=needed - PAGE)
    with pytest.raises(GuestFault, match=r"less than program and input need\) at pc 0x10000"):
        execute(pages, bytes(2 * PAGE), max_memory=3 * PAGE)


def test_the_memory_limit_counts_the_output() -> None:
    claim = image([*li(T1, 100_000), *store(OUTPUT_BASE), *leave()])
    execution = execute(claim)
    assert execution.output == bytes(100_000)
    needed = execution.memory_bytes
    assert needed == 3 * PAGE + 100_000  # the end of the program, the input, the output's length; and the output
    assert execute(claim, max_memory=needed).output == execution.output
    with pytest.raises(
        GuestFault, match=r"memory limit \(112,287 bytes, with an output of 100,000\) at pc 0x1.*: ecall"
    ):
        execute(claim, max_memory=needed - 1)


def test_the_memory_limit_counts_the_record() -> None:
    program = image([NOP] * 1000 + leave())
    # A page: itself, times of 8 bytes for its words, and the words as listed, 4 each; and a snapshot.
    needed = 2 * (PAGE + PAGE + 4 * PAGE) + 4 + 8 + 2 * 33 * 8
    execution = execute(program, max_memory=needed, record=True)
    assert execution.record is not None and execution.memory_bytes == 2 * PAGE
    with pytest.raises(
        GuestFault, match=rf"a run of 1,003 cycles and its record take {needed:,}; allow more"
    ) as caught:
        execute(program, max_memory=needed - 1, record=True)
    assert (caught.value.fault, caught.value.pc) == (Fault.MEMORY_LIMIT, CODE + 4 * 1002)


TOUCHES = [  # a word of each of 10,000 pages
    *li(T0, OUTPUT_BASE + PAGE),
    *li(T1, OUTPUT_BASE + 10_001 * PAGE),
    Instruction(Op.SD, rs1=T0, rs2=T0),
    *li(7, PAGE),
    Instruction(Op.ADD, T0, T0, 7),
    Instruction(Op.BNE, rs1=T0, rs2=T1, imm=-16),
    *leave(),
]
CLAIMS = [*li(T1, 600 << 20), *store(OUTPUT_BASE), *leave()]

TAKEN = """
import sys
from graphprover.device.host_memory import most_resident
from graphprover.vm.program.elf import load_elf
from graphprover.vm.executor.execute import execute, prepare
from graphprover.vm.executor.faults import GuestFault
prepare()
code, limit, record = sys.stdin.buffer.read(), int(sys.argv[1]), sys.argv[2] == "True"
before = most_resident()
try:
    execute(load_elf(code), max_memory=limit, record=record)
except GuestFault as fault:
    print(fault.fault)
print(most_resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory of a process is exact on Linux only")
@pytest.mark.parametrize(
    ("code", "limit", "record", "fault"),
    [
        (CLAIMS, 640, False, None),
        (CLAIMS, 599, False, "memory limit"),
        (CLAIMS, 640, True, None),
        (TOUCHES, 41, False, None),
        (TOUCHES, 242, True, None),
    ],
    ids=["output", "refused output", "recorded output", "pages", "recorded pages"],
)
def test_the_limit_bounds_the_host(code: Sequence[Instruction], limit: int, record: bool, fault: str | None) -> None:
    """Grow the process by at most the limit and 64 MiB."""
    file = elf([Segment(CODE, words(code), X)])
    command = [sys.executable, "-c", TAKEN, str(limit << 20), str(record)]
    run = subprocess.run(command, input=file, cwd=Path(__file__).parents[3], capture_output=True, check=True)
    *faults, grown = run.stdout.decode().split("\n")[:-1]
    assert faults == ([fault] if fault else [])
    assert int(grown) <= (limit + 64) << 20, f"{int(grown) >> 20} MiB"


FEW_ADDRESSES = """
import resource, sys
from graphprover.device.host_memory import addresses_left
from graphprover.vm.program.elf import load_elf
from graphprover.vm.executor.execute import execute, half_of_memory, prepare
prepare(record=True)
image = load_elf(sys.stdin.buffer.read())
limit = 10**12
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
mapped = limit - addresses_left()
resource.setrlimit(resource.RLIMIT_AS, (mapped + int(sys.argv[1]),) * 2)
try:
    print(execute(image, record=True).exit_code, half_of_memory() >> 20)
    execute(image, record=True, max_memory=1 << 30)
except MemoryError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell what is mapped")
def test_addresses_are_no_more_than_their_limit_leaves() -> None:
    def lines(left: int) -> list[str]:
        command = [sys.executable, "-c", FEW_ADDRESSES, str(left)]
        file = elf([Segment(CODE, words(leave()), X)])
        run = subprocess.run(command, input=file, cwd=Path(__file__).parents[3], capture_output=True, check=True)
        return run.stdout.decode().splitlines()

    told = r"a run with a limit of [\d,]+ bytes needs [\d,]+ bytes of addresses, and the limit of addresses leaves "
    done, refused = lines(1 << 30)
    code, megabytes = map(int, done.split())
    assert code == 0 and 64 <= megabytes <= 128
    assert re.fullmatch(told + r"[\d,]+: raise it \(ulimit -v\), or lower --max-memory", refused)
    (refused,) = lines(1 << 20)
    assert re.match(told, refused)


def test_more_memory_than_there_is_may_be_allowed() -> None:
    assert execute(image(leave()), max_memory=1 << 60).exit_code == 0


def test_endless_loops_end() -> None:
    with pytest.raises(GuestFault, match="cycle limit"):
        execute(image([Instruction(Op.JAL)]), max_cycles=10**7)


@pytest.mark.parametrize("limit", [0, -1, 1 << 32])
def test_impossible_limits(limit: int) -> None:
    with pytest.raises(ValueError, match="limit of"):
        execute(image(leave()), max_cycles=limit)


def test_impossible_output() -> None:
    with pytest.raises(GuestFault, match=r"impossible output length \(1,073,741,825 bytes\) at pc 0x10024: ecall"):
        execute(image([*li(T1, (1 << 30) + 1), *store(OUTPUT_BASE), *leave()]))


@given(st.binary(max_size=40))
def test_input_is_there_and_output_is_what_lies_there(data: bytes) -> None:
    """Run a program that moves its input, words and length, to its output."""
    size = -(-len(data) // 8) + 1
    move = [
        instruction
        for k in range(size)
        for instruction in (Instruction(Op.LD, T0, 7, imm=8 * k), Instruction(Op.SD, rs1=8, rs2=T0, imm=8 * k))
    ]
    execution = execute(image([*li(7, INPUT_BASE), *li(8, OUTPUT_BASE), *move, *leave()]), data)
    assert execution.input == execution.output == data


@pytest.mark.parametrize("code", [0, 1, 255, 2**64 - 1])
def test_exit_codes_are_words(code: int) -> None:
    assert execute(image(leave(code))).exit_code == code


def test_misaligned_accesses_are_counted() -> None:
    spots = [DATA, DATA + 2, DATA + 4, DATA + 5, DATA + 8, DATA + 4095]
    ops = (Op.LB, Op.LHU, Op.LW, Op.SD)
    body = [instruction for spot in spots for op in ops for instruction in [*li(T0, spot), memory(op)]]
    expected = sum(spot % size > 0 for spot in spots for size in (2, 4, 8))
    assert execute(image([*body, *leave()], bytes(16))).misaligned == expected


def test_counts_are_of_each_instruction() -> None:
    loop = [*li(T0, 100), Instruction(Op.ADDI, T0, T0, imm=-1), Instruction(Op.BNE, rs1=T0, imm=-4), *leave()]
    execution = execute(image([*loop, NOP]))
    assert execution.counts.tolist() == [1, 100, 100, 1, 1, 1, 0]
    assert execution.mix() == {Op.ADDI: 103, Op.BNE: 100, Op.ECALL: 1}
    assert execution.cycles == 204 == execution.counts.sum()


def test_an_execution_without_a_record_is_the_same() -> None:
    program = random_image(random.Random(1))
    plain, recorded = execute(program), execute(program, record=True)
    assert plain.record is None and recorded.record is not None
    assert plain.cycles == recorded.cycles == recorded.record.cycles
    assert (plain.counts == recorded.counts).all() and plain.memory_bytes == recorded.memory_bytes
    machine = Machine(program)
    index = instructions(machine, in_time(machine, recorded))
    assert (np.bincount(index, minlength=len(plain.counts)) == plain.counts).all()


def random_image(rng: random.Random) -> Image:
    """Return a program of operations, misaligned loads and stores, branches and host calls on few registers and x0."""
    registers = [0, 0, 10, 11, 12]
    body = [*li(8, DATA + 2048)]
    for _ in range(60):
        op = rng.choice([*Op, *LOADS, *STORES, *BRANCHES])
        form = op.format
        a, b, d = (rng.choice(registers) for _ in range(3))
        step = form.immediate.step
        imm = step * rng.randint(form.immediate.low // step, form.immediate.high // step)
        if op in (Op.EBREAK, Op.JALR):
            continue
        if op is Op.ECALL:
            body += call(KECCAK_F, DATA + 8 * rng.randrange(400))
            at = [8 * rng.randrange(400) for _ in range(5)]
            if abs(at[3] - at[4]) >= 32:  # a + c by m cannot have a quotient that is too large
                body += [*li(7, DATA + at[2]), *[Instruction(Op.SD, rs1=7, rs2=0, imm=8 * i) for i in range(4)]]
                body += Call(MODULAR_QUOTIENT, tuple(at)).code()
        elif op in LOADS | STORES:
            a, imm = 8, rng.randint(-2048, 2000)
            body += [Instruction(op, d if form.rd else 0, a, b if form.rs2 else 0, imm)]
        elif op in BRANCHES | {Op.JAL}:
            body += [Instruction(op, d if form.rd else 0, a if form.rs1 else 0, b if form.rs2 else 0, 8), NOP]
        else:
            body += [Instruction(op, d if form.rd else 0, a if form.rs1 else 0, b if form.rs2 else 0, imm)]
    return image([*body, *leave()], rng.randbytes(4096))


Cells = dict[int, tuple[int, int]]  # place -> value and time of its last access


def replay(execution: Execution) -> None:
    """Follow every access of a replayed record in Python: each finds the value and time that the last one left."""
    program, record = execution.image, execution.record
    assert record is not None
    machine, code = Machine(program), decode_all(program.code)
    run = in_time(machine, execution)
    registers: Cells = dict.fromkeys(range(33), (0, 0))
    memory, touched = initial_memory(execution), set()
    words = list(zip(run.old.tolist(), run.time.tolist(), run.cycles.new.tolist(), strict=True))
    used = 0

    def access(cells: Cells, place: int, clock: int, slot: int, old: int, t: int, new: int) -> None:
        assert cells.get(place, (0, 0)) == (old, t)
        cells[place] = new, 4 * clock + slot

    index = instructions(machine, run).tolist()
    rows = zip(*(getattr(run.cycles, name).tolist() for name in FIELDS), strict=True)
    for cycle, (at, a, b, c, d, t_a, t_b, t_d) in enumerate(rows):
        following = index[cycle + 1] if cycle + 1 < len(index) else None
        clock = cycle + 1
        number = index[cycle]
        op = OPS[code.op[number]]
        rd, rs1, rs2 = int(code.rd[number]), int(code.rs1[number]), int(code.rs2[number])
        form = op.format
        reads_a, reads_b, writes = form.rs1, form.rs2, form.rd
        if op is Op.ECALL:
            reads_a, rs1, reads_b, rs2 = True, A7, True, A0
        if op in LOADS and rd == 0:
            rd = SINK
        elif rd == 0 and writes:
            writes = False
            if op not in (Op.JAL, Op.JALR):
                reads_a = reads_b = False
        reads_a = reads_a and not (op is Op.ADDI and rs1 == 0)
        reads_b = reads_b and not (op in BRANCHES and rs2 == 0)
        for reads, register, value, t, slot in ((reads_a, rs1, a, t_a, 0), (reads_b, rs2, b, t_b, 1)):
            if reads:
                access(registers, register, clock, slot, value, t, value)
            else:
                assert value == t == 0
        if op in LOADS | STORES:
            size = 1 << (op.match >> 12 & 3)
            address = (a + int(code.imm[number])) % 2**64
            assert at == used
            both_old = both_new = 0
            for k in range(1 + (address % 8 + size > 8)):
                old, t, new = words[at + k]
                new = new if op in STORES else old
                access(memory, (address & ~7) + 8 * k, clock, 2, old, t, new)
                touched.add((address & ~7) + 8 * k)
                both_old, both_new, used = both_old | old << 64 * k, both_new | new << 64 * k, used + 1
            shift, mask = 8 * (address % 8), 2 ** (8 * size) - 1
            if op in STORES:
                assert both_new == both_old & ~(mask << shift) | (b & mask) << shift
            else:
                value = both_old >> shift & mask
                if op in (Op.LB, Op.LH, Op.LW) and value >> (8 * size - 1):
                    value += 2**64 - mask - 1
                assert (both_new, c) == (both_old, value)
        elif op is Op.ECALL and a != EXIT:
            assert at == used
            (host_call,) = (one for one in HOST_CALLS if one.number == a)
            pointers = [b]
            for k in range(host_call.further):
                value, t = words[at + k][2], words[at + MOST_FURTHER + k][2]
                access(registers, A1 + k, clock, 0, value, t, value)
                pointers.append(value)
            before = [word[0] for word in words[at : at + len(host_call.accesses)]]
            after = result_of(host_call, before)
            for k, (pointer, offset, slot) in enumerate(host_call.accesses):
                place = pointers[pointer] + 8 * offset
                access(memory, place, clock, slot, before[k], words[at + k][1], after[k])
                touched.add(place)
            used += len(before)
        else:
            assert at == 0
        if writes:
            value, t = registers[rd]
            assert (value, t) == (d, t_d)
            registers[rd] = c, 4 * clock + 3
        else:
            assert c == d == t_d == 0
        if op not in BRANCHES | {Op.JAL, Op.JALR} and cycle + 1 < execution.cycles:
            assert following == number + 1
    assert used == len(words) and cycle + 1 == execution.cycles == record.cycles
    assert list(registers.values()) == list(
        zip(record.registers.value.tolist(), record.registers.t.tolist(), strict=True)
    )
    final = record.memory
    assert final.address.tolist() == sorted(touched)
    start = initial_memory(execution)
    for address, first, last, t in zip(*(column.tolist() for column in vars(final).values()), strict=True):
        assert start.get(address, (0, 0)) == (first, 0)
        assert memory[address] == (last, t)


OPS = list(Op)
FIELDS = ("at", "a", "b", "c", "d", "t_a", "t_b", "t_d")


def initial_memory(execution: Execution) -> Cells:
    inputs = struct.pack("<Q", len(execution.input)) + execution.input
    inputs += bytes(-len(inputs) % 8)
    memory = {INPUT_BASE + 8 * k: (word, 0) for k, (word,) in enumerate(struct.iter_unpack("<Q", inputs))}
    image = execution.image
    return memory | {a: (v, 0) for a, v in zip(image.addresses.tolist(), image.values.tolist(), strict=True)}


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_the_record_against_a_replay(seed: int) -> None:
    replay(execute(random_image(random.Random(seed)), b"input", record=True))


def putting_out(data: bytes, length: int, *, then: Sequence[Instruction | int]) -> list[Instruction | int]:
    """Return instructions that store ``data`` as the output, set its length to ``length`` bytes, and go on."""
    body: list[Instruction | int] = [*li(T0, OUTPUT_BASE), *li(T1, length), memory(Op.SD)]
    for at in range(0, len(data), 8):
        word = int.from_bytes(data[at : at + 8], "little")
        body += [*li(T0, OUTPUT_BASE + 8 + at), *li(T1, word), memory(Op.SD)]
    return [*body, *then]


def faulting(code: Sequence[Instruction | int], **limits: int) -> GuestFault:
    with pytest.raises(GuestFault) as caught:
        execute(image(code), **limits)
    return caught.value


def test_a_fault_tells_what_was_put_out_until_then() -> None:
    fault = faulting(putting_out(b"so far\n", 7, then=[0]))
    assert (fault.output, fault.function) == (b"so far\n", None)
    assert str(fault).endswith(r'cycles); output so far: text "so far\n" (7 bytes)')
    silent = faulting([0])
    assert silent.output == b"" and str(silent).endswith("(after 0 cycles)")


def test_a_fault_tells_the_end_of_a_long_output() -> None:
    text = b"".join(b"line %03d" % i for i in range(50))
    fault = faulting(putting_out(text, len(text), then=[Instruction(Op.EBREAK)]))
    assert fault.output == text
    message = str(fault)
    assert (
        f'end of the output of 400 bytes so far: text "{text[-LAST_BYTES:].decode()}" ({LAST_BYTES} bytes)' in message
    )


@pytest.mark.parametrize("length", [2**64 - 1, 2**30, 2**29])
def test_a_fault_passes_over_an_output_that_cannot_be(length: int) -> None:
    fault = faulting(putting_out(b"x", length, then=[0]), max_memory=1 << 20)
    assert (fault.fault, fault.output) == (Fault.ILLEGAL_INSTRUCTION, b"")


def test_a_run_that_passes_a_limit_tells_its_output_too() -> None:
    fault = faulting(putting_out(b"on and on", 9, then=[Instruction(Op.JAL)]), max_cycles=100)
    assert (fault.fault, fault.output) == (Fault.CYCLE_LIMIT, b"on and on")


def test_a_fault_names_the_function_where_the_file_has_symbols() -> None:
    code = words([NOP, NOP, 0])
    file = with_symbols([(b"main", CODE + 4, 8, FUNCTION, TEXT)], code)
    with pytest.raises(
        GuestFault, match=r"illegal instruction at pc 0x10008 in main\+0x4: \.word 0x00000000"
    ) as caught:
        execute(load_elf(file))
    assert caught.value.function == "main+0x4"


def test_slices_without_a_record_grow_while_they_are_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow slice is followed by one of SLICE cycles, so that signals do not wait."""
    now, ends = [0.0], list[int]()
    took = iter([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.005, 1.0, 0.0, 0.0])
    before = executor.Running._slice

    def seen(self: Any, end: int, *arguments: Any) -> int:
        ends.append(end)
        now[0] += next(took, 0.0)
        return before(self, end, *arguments)

    monkeypatch.setattr(executor, "SLICE", 100)
    monkeypatch.setattr(executor.Running, "_slice", seen)
    monkeypatch.setattr(executor.time, "perf_counter", lambda: now[0])
    turns = [*li(T0, 1 << 13), Instruction(Op.ADDI, T0, T0, imm=-1), Instruction(Op.BNE, rs1=T0, imm=-4)]
    program = image([*turns, *leave()])
    execute(program)
    slices = [(end - start) // 100 for start, end in pairwise([0, *ends])]
    assert slices[:10] == [1, 2, 4, 8, 16, 16, 16, 16, 1, 2]
    ends.clear()
    execute(program, record=True)
    assert {end - start for start, end in pairwise([0, *ends])} == {100}
