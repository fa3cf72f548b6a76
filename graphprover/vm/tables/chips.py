"""The chips of instructions, and the chips that can prove an instruction of a program."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from types import MappingProxyType

from graphprover.air.described import described
from graphprover.field import P
from graphprover.vm.accelerators.registry import ACCELERATORS
from graphprover.vm.executor.record import NO_REGISTER
from graphprover.vm.program.isa import ACCESS_BYTES, BRANCHES, LOADS, STORES, Instruction, Op
from graphprover.vm.statement.table_numbers import CALL_CHIPS, IN_PLACE
from graphprover.vm.statement.version import CHIP_NUMBERS
from graphprover.vm.tables import arithmetic, compare, halt, load_store, logic, moves, multiply, shifts, unaligned
from graphprover.vm.tables.buses import REGISTER_BASE
from graphprover.vm.tables.compare import FLIP
from graphprover.vm.tables.limbs import LIMB_BITS, WORD_MASK, limbs
from graphprover.vm.tables.step import Step

SIGNED_LOADS = (Op.LB, Op.LH, Op.LW)


def _chips() -> dict[str, Callable[[int], Step]]:
    """Return every chip by name, as a function of its number of lanes."""
    made: dict[str, Callable[..., Step]] = {
        "goto": moves.Goto,
        "touch": moves.Touch,
        "constant": moves.Constant,
        "move": moves.Move,
        "jal": moves.Jal,
        "jalr": moves.Jalr,
        "return": moves.Return,
        "addi": arithmetic.Addi,
        "addi_narrow": arithmetic.AddiNarrow,
        "add": arithmetic.Add,
        "add_narrow": arithmetic.AddNarrow,
        "sub": arithmetic.Sub,
        "addiw": arithmetic.Addiw,
        "addw": arithmetic.Addw,
        "subw": arithmetic.Subw,
        "equal": compare.Equal,
        "unequal": compare.Unequal,
        "zero": compare.Zero,
        "nonzero": compare.Nonzero,
        "negative": partial(compare.Sign, True),
        "nonnegative": partial(compare.Sign, False),
        "ltu": partial(compare.Order, False, True),
        "geu": partial(compare.Order, False, False),
        "lt": partial(compare.Order, True, True),
        "ge": partial(compare.Order, True, False),
        "sltu": partial(compare.SetLess, False, False),
        "slt": partial(compare.SetLess, True, False),
        "sltiu": partial(compare.SetLess, False, True),
        "slti": partial(compare.SetLess, True, True),
        "mul": multiply.Multiply,
        "mulw": multiply.MultiplyWord,
        "mulh": partial(multiply.MultiplyHigh, True, True),
        "mulhsu": partial(multiply.MultiplyHigh, True, False),
        "mulhu": partial(multiply.MultiplyHigh, False, False),
        "ld": load_store.LoadDouble,
        "lw": partial(load_store.LoadWord, True),
        "lwu": partial(load_store.LoadWord, False),
        "lh": partial(load_store.LoadHalf, True),
        "lhu": partial(load_store.LoadHalf, False),
        "lb": partial(load_store.LoadByte, True),
        "lbu": partial(load_store.LoadByte, False),
        "sd": load_store.StoreDouble,
        "sw": load_store.StoreWord,
        "sh": load_store.StoreHalf,
        "sb": load_store.StoreByte,
        "halt": halt.Halt,
        **{accelerator.chip: accelerator.table for accelerator in ACCELERATORS},
    }
    for kind in logic.SUM:
        made[kind] = partial(logic.Logic, kind)
        made[f"{kind}i_positive"] = partial(logic.LogicImmediate, kind, False)
        made[f"{kind}i_negative"] = partial(logic.LogicImmediate, kind, True)
    for kind in ("sll", "srl", "sra"):
        for word in (False, True):
            for w in range(2 if word else 4):
                for register in (False, True):
                    name = _shift(kind, word, register, w)
                    made[name] = partial(shifts.Shift, kind, w, register, word)
    for op in (Op.DIV, Op.DIVU, Op.REM, Op.REMU, Op.DIVW, Op.DIVUW, Op.REMW, Op.REMUW):
        name = op.name.lower()
        made[name] = partial(multiply.Divide, "u" not in name, "rem" in name, name[-1] == "w")
    for op, size in ACCESS_BYTES.items():
        for crossing in (False, True):
            if size == 1 or (size == 8 and not crossing):
                continue
            name = f"{op.name.lower()}_{'crossing' if crossing else 'unaligned'}"
            if op in STORES:
                made[name] = partial(unaligned.UnalignedStore, size, crossing)
            else:
                made[name] = partial(unaligned.UnalignedLoad, size, op in SIGNED_LOADS, crossing)
    for name, make in list(made.items()):
        if {"a_at", "d_at"} <= set(make().cells):
            made[name + IN_PLACE] = make
    return {name: partial(_numbered, name, make) for name, make in made.items()}


def _shift(kind: str, word: bool, register: bool, w: int) -> str:
    return f"{kind}{'' if register else 'i'}{'w' if word else ''}_{w}"


def _numbered(name: str, make: Callable[..., Step], lanes: int) -> Step:
    step = make(lanes=lanes)
    step.name, step.chip_number, step.in_place = name, CHIP_NUMBERS[name], name.endswith(IN_PLACE)
    return step


CHIPS: Mapping[str, Callable[[int], Step]] = MappingProxyType(_chips())


@cache
def chip_table(name: str, lanes: int = 1) -> Step:
    """Return the table of a chip, described once in a process."""
    return described(f"{name} {lanes}", CHIPS[name](lanes))


@dataclass(frozen=True)
class Outcome:
    """One entry of the program table: an instruction as one chip proves it."""

    chip: str
    pc: int
    following: int  # the next pc; 0 if the chip computes it or there is none
    d: int  # addresses of registers, 0 for none
    a: int
    b: int
    imm: int  # field elements
    imm2: int


def outcomes(i: Instruction, registers: tuple[int, int, int]) -> list[Outcome]:
    """Return all ways an instruction can go, the cheapest first; one without a condition of its own last.

    ``registers``: the registers it accesses as rd, rs1 and rs2 (see ``record.registers_accessed``). An ebreak has no
    outcome, and neither has a jump below address 0: the executor faults on both, and no pc of a program is negative.
    """
    found = [outcome for outcome in _outcomes(i, registers) if outcome.following >= 0]
    d, a, b = registers
    if d == NO_REGISTER or d != a or a == b:
        return found
    return [kind for outcome in found for kind in (replace(outcome, chip=outcome.chip + IN_PLACE), outcome)]


def _outcomes(i: Instruction, registers: tuple[int, int, int]) -> list[Outcome]:
    """Return all ways an instruction can go, with separate accesses of rs1 and rd."""
    d, a, b = (0 if register == NO_REGISTER else REGISTER_BASE + register for register in registers)
    following = i.pc + 4

    def to(chip: str, imm: int = 0, imm2: int = 0, following: int = following) -> Outcome:
        return Outcome(chip, i.pc, following, d, a, b, imm % P, imm2 % P)

    def branch(taken: str, otherwise: str) -> list[Outcome]:
        return [to(taken, following=i.pc + i.imm), to(otherwise)]

    op, name = i.op, i.op.name.lower()
    if op in BRANCHES:
        return _branch(i, branch, to, compared=registers[2] != NO_REGISTER)
    if op == Op.JAL:
        return [to("jal" if d else "goto", following=i.pc + i.imm)]
    if op == Op.JALR:
        return [to("jalr" if d else "return", i.imm, following=0)]
    if op == Op.ECALL:
        return [to("halt", following=0), *map(to, CALL_CHIPS)]
    if op == Op.EBREAK:
        return []
    if op in LOADS | STORES:
        size = ACCESS_BYTES[op]
        others = [] if size == 1 else [f"{name}_unaligned", f"{name}_crossing"][size == 8 :]
        return [to(chip, i.imm) for chip in (name, *others)]
    if not d:
        return [to("goto")]
    if op in (Op.LUI, Op.AUIPC) or (op == Op.ADDI and not a):
        value = i.imm + (i.pc if op == Op.AUIPC else 0)
        return [to("constant", *limbs(value & WORD_MASK))]
    if op == Op.ADDI and i.imm == 0:
        return [to("move")]
    if op == Op.ADDI:
        return [to("addi_narrow", i.imm), to("addi", i.imm)]
    if op == Op.ADD:
        return [to("add_narrow"), to("add")]
    if op in (Op.ANDI, Op.ORI, Op.XORI):
        return [to(f"{name}_{'negative' if i.imm < 0 else 'positive'}", i.imm & 255, i.imm >> 8 & 255)]
    if op in (Op.SLTI, Op.SLTIU):
        value = i.imm + (FLIP << LIMB_BITS) * (op == Op.SLTI)
        return [to(name, *limbs(value & WORD_MASK))]
    if name.startswith(("sll", "srl", "sra")):
        kind, word = name[:3], name.endswith("w")
        if b:
            return [to(_shift(kind, word, True, w)) for w in range(2 if word else 4)]
        return [to(_shift(kind, word, False, i.imm // 16), shifts.power_of(i.imm % 16, kind != "sll"))]
    if op == Op.ADDIW:
        return [to(name, i.imm)]
    return [to(name)]


def _branch(
    i: Instruction, branch: Callable[[str, str], list[Outcome]], to: Callable[..., Outcome], compared: bool
) -> list[Outcome]:
    """Return the outcomes of a branch on rs1 and rs2, or on rs1 and 0 unless ``compared``."""
    if compared:
        chips = {
            Op.BEQ: ("equal", "unequal"),
            Op.BNE: ("unequal", "equal"),
            Op.BLT: ("lt", "ge"),
            Op.BGE: ("ge", "lt"),
            Op.BLTU: ("ltu", "geu"),
            Op.BGEU: ("geu", "ltu"),
        }
        return branch(*chips[i.op])
    if i.op == Op.BLTU:
        return [to("touch")]
    if i.op == Op.BGEU:
        return [to("touch", following=i.pc + i.imm)]
    zero = {
        Op.BEQ: ("zero", "nonzero"),
        Op.BNE: ("nonzero", "zero"),
        Op.BLT: ("negative", "nonnegative"),
        Op.BGE: ("nonnegative", "negative"),
    }
    return branch(*zero[i.op])
