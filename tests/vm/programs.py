"""Programs that use every chip of tables."""

import random
import struct
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphprover.air.columns import Columns
from graphprover.statement.statement import Table
from graphprover.vm.accelerators.integers.fp2 import FP2_BLS12_381, FP2_BN254
from graphprover.vm.accelerators.integers.modular import MODULAR, MODULAR_384, MODULAR_384_QUOTIENT, MODULAR_QUOTIENT
from graphprover.vm.accelerators.integers.point import POINT
from graphprover.vm.accelerators.keccak.absorb import KECCAK_ABSORB
from graphprover.vm.accelerators.keccak.call import KECCAK_F
from graphprover.vm.accelerators.sha256.table import SHA256
from graphprover.vm.program.elf import Image
from graphprover.vm.program.io import OUTPUT_BASE
from graphprover.vm.program.isa import A0, A7, BRANCHES, LOADS, SHIFT, SHIFTW, STORES, I, Instruction, Op
from graphprover.vm.statement import shape
from graphprover.vm.tables.mixed import Mixed
from tests.vm.assemble import CODE, DATA, image, leave, li
from tests.vm.calls import Call

EDGES = [0, 1, 2, 31, 63, 64, 0x7FFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**32, 2**63 - 1, 2**63, 2**64 - 1]
EDGES += [2**64 - 2**31, 2**64 - 2**31 - 1, 0xFFFFFFFF00000000, 0x80000000FFFFFFFF, 2**64 - 64]
REGISTER_OPS = [op for op in Op if op.format.rd and op.format.rs2]
IMMEDIATE_OPS = [op for op in Op if op.format in (I, SHIFT, SHIFTW)]
X, Y, D, HERE, LINK = 10, 11, 12, 13, 1  # registers


def set_policy(patch: pytest.MonkeyPatch, **bounds: Any) -> None:
    """Change thresholds of the default layout policy."""
    patch.setattr(shape, "DEFAULT", replace(shape.DEFAULT, **bounds))


def sharing_rows(patch: pytest.MonkeyPatch, lanes: int) -> None:
    """Give every chip a table of its own with ``lanes`` lanes at any height; with several lanes, in-place chips too."""
    never = 1 << 60
    two, four = 1 if lanes > 1 else never, 1 if lanes == 4 else never
    set_policy(patch, in_place=two, own_table=1, own_table_long=2, two_lanes=two, four_lanes=four)


def cells_of_chip(table: Table, chip: str) -> SimpleNamespace:
    """Return writable views of a chip's single cells in the trace of a table that it shares, (1, its rows)."""
    assert isinstance(table.air, Mixed) and isinstance(table.main, np.ndarray)
    (step,) = (step for step in table.air.steps if step.name == chip)
    columns = dict(zip(Columns(step.specs).names, table.air.columns_of[chip], strict=True))
    rows = np.flatnonzero(table.main[columns["on"]])
    own = slice(int(rows[0]), int(rows[-1]) + 1)
    return SimpleNamespace(**{name: table.main[column : column + 1, own] for name, column in columns.items()})


def operand(rng: random.Random) -> int:
    """Return an edge case, or a number of any length."""
    return rng.choice(EDGES) if rng.random() < 0.6 else rng.getrandbits(64) >> rng.choice((0, 0, 16, 32, 40, 58))


def operations(x: int, y: int, rng: random.Random, turn: int) -> list[Instruction]:
    """Return every operation on registers that hold x and y, and on immediates."""
    code = [*li(X, x), *li(Y, y)]
    for op in REGISTER_OPS:
        code += [Instruction(op, D, X, Y), Instruction(Op.ADDI, D, X), Instruction(op, D, D, Y)]
    for op in IMMEDIATE_OPS:
        low, high = op.format.immediate.low, op.format.immediate.high
        imms = (
            [low, high, -1, 0, rng.randint(low, high)] if low else [(16 * turn + rng.choice((0, 1, 15))) % (high + 1)]
        )
        imm = imms[turn % len(imms)]
        code += [Instruction(op, D, X, imm=imm), Instruction(Op.ADDI, D, X), Instruction(op, D, D, imm=imm)]
    code += [Instruction(Op.ADDI, D, D, imm=rng.choice((-2048, -1, 5))), Instruction(Op.ADDI, D, D)]
    code += [Instruction(Op.ADDI, X, X, imm=-1), Instruction(Op.ADDI, X, X, imm=1)]
    code += [Instruction(Op.ADD, D, D, D), Instruction(Op.ADD, 0, X, Y), Instruction(Op.ADD, D, 0, X)]
    code += [Instruction(Op.LUI, D, imm=y % 2**19 << 12), Instruction(Op.AUIPC, D, imm=-(y % 2**19) << 12)]
    return code


def branches() -> list[Instruction]:
    """Return every branch on X, Y and x0; taken or not, the same instruction comes next."""
    pairs = ((X, Y), (X, X), (X, 0), (0, X))
    return [Instruction(op, rs1=a, rs2=b, imm=4) for op in sorted(BRANCHES) for a, b in pairs]


def accesses(start: int) -> list[Instruction]:
    """Return every load and store around an address."""
    code = li(HERE, start + 32)
    for op in sorted(LOADS | STORES):
        offsets = range(-9, 9) if op in (Op.LW, Op.SH, Op.SW) else (-9, -8, -4, -2, -1, 0, 3, 5, 7)
        for offset in offsets:
            if op in STORES:
                code.append(Instruction(op, rs1=HERE, rs2=Y, imm=offset))
            else:
                code += [Instruction(op, D, HERE, imm=offset), Instruction(Op.ADDI, D, HERE)]
                code.append(Instruction(op, D, D, imm=offset))
    return [*code, Instruction(Op.LB, 0, HERE)]


def jumps(start: int) -> list[Instruction]:
    """Return jumps of every kind, each to the instruction after it; ``start`` is their address."""
    code = [Instruction(Op.JAL, LINK, imm=4), Instruction(Op.JAL, imm=4), Instruction(Op.FENCE)]
    for link, odd in ((LINK, 0), (0, 1), (HERE, 1)):
        here = li(HERE, start)
        target = start + 4 * (len(code) + len(here) + 1)
        code += [*here, Instruction(Op.JALR, link, HERE, imm=target - start + odd)]
    return code


# Behind the data of `everything`: numbers a, b, m, c, room for r and q, and two points of any curve's prime. Then
# a, b, m, c and room for r and q of 384 bits, which are elements of Fp2 as well.
NUMBERS = b"".join(x.to_bytes(32, "little") for x in (3, 5, 1 << 200, 9, 0, 0, 1, 2, 3, 4))
_AT = range(1024, 1024 + len(NUMBERS), 32)
WIDE_NUMBERS = b"".join(x.to_bytes(48, "little") for x in (3, 5, 1 << 200, 9, 0, 0))
_WIDE = range(1024 + len(NUMBERS), 1024 + len(NUMBERS) + len(WIDE_NUMBERS), 48)
CALLS = (
    Call(MODULAR, (_AT[4], *_AT[:4])),
    Call(MODULAR_QUOTIENT, (_AT[4], *_AT[:4])),
    Call(POINT, (_AT[6], _AT[8])),
    Call(POINT + 3, (_AT[8],)),
    Call(KECCAK_ABSORB, (0, 200)),
    Call(SHA256, (_AT[4], _AT[0])),
    Call(MODULAR_384, (_WIDE[4], *_WIDE[:4])),
    Call(MODULAR_384_QUOTIENT, (_WIDE[4], *_WIDE[:4])),
    Call(FP2_BN254, (_WIDE[4], *_WIDE[:3])),
    Call(FP2_BLS12_381, (_WIDE[4], *_WIDE[:3])),
)


def everything(pairs: int = 8, seed: int = 0) -> Image:
    """Return a program that uses every chip, on ``pairs`` pairs of operands."""
    rng = random.Random(seed)
    code: list[Instruction] = []
    for i in range(pairs):
        x, y = operand(rng) if i else 0, operand(rng) if i > 4 else 16 * i + 5
        code += [*operations(x, y, rng, i), *branches(), *li(X, x), *accesses(DATA + 512)]
    code += jumps(CODE + 4 * len(code))
    code += [*li(A0, DATA), *li(A7, KECCAK_F), Instruction(Op.ECALL)]
    code += [line for call in CALLS for line in call.code()]
    code += [*li(X, OUTPUT_BASE), *li(Y, 8), Instruction(Op.SD, rs1=X, rs2=Y), Instruction(Op.SD, rs1=X, rs2=D, imm=8)]
    data = struct.pack("<128Q", *(rng.getrandbits(64) for _ in range(128)))
    return image([*code, *leave(7)], data + NUMBERS + WIDE_NUMBERS)


def waiting_calls() -> Image:
    """Return a program with host calls whose further registers were accessed in an earlier interval."""
    wait = [*li(X, 1200), Instruction(Op.ADDI, X, X, imm=-1), Instruction(Op.BNE, rs1=X, imm=-4)]
    modular = Call(MODULAR_QUOTIENT, tuple(at - 1024 for at in CALLS[1].at)).code()
    point = Call(POINT, tuple(at - 1024 for at in CALLS[2].at)).code()
    double = Call(POINT + 3, tuple(at - 1024 for at in CALLS[3].at)).code()
    address = len(li(A0, DATA))
    late = [*modular[address:-2], *wait, *modular[:address], *modular[-2:]]
    return image([*late, *point[address:-2], *wait, *point[:address], *point[-2:], *double, *leave()], NUMBERS)
