"""Loops of compiled blocks: their blocks and registers, and runs of random programs, as the interpreter runs them."""

import random
from collections.abc import Iterable

import pytest

from graphprover.vm.executor import native
from graphprover.vm.executor.execute import Execution
from graphprover.vm.executor.faults import GuestFault
from graphprover.vm.executor.interpreter import PAGE_BYTES
from graphprover.vm.executor.loops import Flow, Loop, loops_of
from graphprover.vm.executor.predecode import predecode
from graphprover.vm.executor.translate import Code, translated
from graphprover.vm.program.elf import Image
from graphprover.vm.program.io import OUTPUT_BASE
from graphprover.vm.program.isa import Instruction, Op
from tests.slow import slow_after
from tests.vm.assemble import image, leave, li
from tests.vm.conftest import all_compiled
from tests.vm.executor.test_native import by, loop, same

LEFT, AT, TO, FEW = 5, 6, 7, (8, 9, 10, 11, 12)  # registers: instructions to run, memory, jumps, and all others
ALIKE = (Op.ADD, Op.SUB, Op.XOR, Op.AND, Op.OR, Op.SLTU, Op.MUL, Op.SRL, Op.ADDW)
LOADS = {Op.LB: Op.SB, Op.LHU: Op.SH, Op.LW: Op.SW, Op.LD: Op.SD}
BRANCHES = (Op.BEQ, Op.BNE, Op.BLT, Op.BGEU)
BLOCK = 12  # instructions of each block of a random program


def flows(targets: dict[int, Iterable[int]]) -> dict[int, Flow]:
    """Return blocks that read the register of their start, and write the next one."""
    return {start: Flow(frozenset(to), frozenset({start}), frozenset({start + 1})) for start, to in targets.items()}


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        ({1: [2], 2: [3], 3: []}, []),
        ({1: [1]}, [{1}]),
        ({1: [2], 2: [2, 3], 3: [9]}, [{2}]),
        ({1: [2], 2: [3], 3: [1]}, [{1, 2, 3}]),
        ({1: [2], 2: [3, 5], 3: [3, 4], 4: [2], 5: []}, [{2, 3, 4}]),  # one in another
        ({1: [2], 2: [1, 3], 3: [4], 4: [3]}, [{1, 2}, {3, 4}]),
        ({5: [1], 1: [7], 7: [3], 3: [5, 1]}, [{1, 3, 5, 7}]),  # a long way round
    ],
)
def test_blocks_that_lead_to_each_other_are_a_loop(targets: dict[int, list[int]], expected: list[set[int]]) -> None:
    numbers = {start: 10 * start for start in targets}
    loops = loops_of(flows(targets), numbers)
    own = [
        Loop(
            10 * min(starts),
            frozenset(starts),
            tuple(sorted(starts | {start + 1 for start in starts})),
            tuple(sorted(start + 1 for start in starts)),
        )
        for starts in expected
    ]
    assert loops == {start: one for one in own for start in one.starts}


@pytest.mark.parametrize("record", [False, True])
def test_a_loop_has_its_registers_in_variables(record: bool) -> None:
    turns = loop(native.OFTEN, Instruction(Op.ADD, 9, 9, LEFT), Instruction(Op.LD, 10, AT), Instruction(Op.ADD, 3, 4))
    program = image([*turns, *leave()])
    code = Code(predecode(program.instructions).tolist(), program.code_base, program.code_end)
    (block, *_) = [one for one in all_compiled(program, record=record).native.blocks if one.end - one.start == 5]
    text = translated(code, [block], record=record)
    assert all(f"%x{register} = alloca i64" in text for register in (9, LEFT, 10, AT, 3, 4))
    body = text[text.index("b0:") : text.index("enter0:")]
    assert "%registers" not in body
    assert translated(code, [], record=record).count("alloca") == 3  # the variables of all loops


def random_program(seed: int) -> Image:
    """Return a program of blocks that lead to random blocks, by branches and jumps, until it has run enough.

    Its accesses go to two pages, of which the second is not there at first; a few are misaligned.
    """
    some = random.Random(seed)
    number = some.randint(2, 14)
    start = [*li(LEFT, some.randint(50, 3_000)), *li(AT, OUTPUT_BASE + PAGE_BYTES - 64)]
    start += [one for register in FEW for one in li(register, some.randrange(1 << 20))]
    end = len(start) + number * BLOCK

    def body() -> Instruction:
        if some.random() < 0.3:
            load = some.choice(list(LOADS))
            imm = 8 * some.randrange(16) + some.choice([0, 0, 0, 1, 4, 7])
            if some.random() < 0.5:
                return Instruction(load, some.choice(FEW), AT, imm=imm)
            return Instruction(LOADS[load], rs1=AT, rs2=some.choice(FEW), imm=imm)
        return Instruction(some.choice(ALIKE), some.choice((0, *FEW)), some.choice(FEW), some.choice((0, *FEW)))

    code = list(start)
    for _ in range(number):
        at = len(code)
        code += [Instruction(Op.ADDI, LEFT, LEFT, imm=-1), Instruction(Op.BEQ, rs1=LEFT, imm=4 * (end - at - 1))]
        kind = some.choice(["branch", "branch", "jump", "register", "through"])
        target = len(start) + BLOCK * some.randrange(number)
        code += [body() for _ in range(BLOCK - 2 - {"branch": 1, "jump": 1, "register": 3, "through": 0}[kind])]
        away = 4 * (target - len(code))
        if kind == "branch":
            code.append(Instruction(some.choice(BRANCHES), rs1=some.choice(FEW), rs2=some.choice(FEW), imm=away))
        elif kind == "jump":
            code.append(Instruction(Op.JAL, some.choice((0, *FEW)), imm=away))
        elif kind == "register":
            code += [Instruction(Op.AUIPC, TO), Instruction(Op.ADDI, TO, TO, imm=away)]
            code.append(Instruction(Op.JALR, some.choice((0, TO, *FEW)), TO))
    assert len(code) == end
    return image([*code, *leave()])


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("seed", slow_after(10, range(40)))
def test_random_programs_run_as_by_the_interpreter(seed: int, record: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    program = random_program(seed)
    expected = by(native.Translation, monkeypatch, program, record=record)
    monkeypatch.setattr(native, "PIECE", random.Random(seed).choice([30, 256]))  # also loops through several pieces
    found = by(all_compiled, monkeypatch, program, record=record)
    assert same(found, expected)
    assert found.in_blocks > 0.5 * found.cycles

    def ended(translation: object, cycles: int) -> Execution | tuple[object, ...]:
        try:
            return by(translation, monkeypatch, program, record=record, max_cycles=cycles)
        except GuestFault as fault:
            return fault.fault, fault.pc, fault.cycles, fault.output

    for cycles in random.Random(seed).sample(range(1, expected.cycles), min(5, expected.cycles - 1)):
        assert ended(all_compiled, cycles) == ended(native.Translation, cycles)


@pytest.mark.parametrize("record", [False, True])
def test_a_fault_in_a_loop_leaves_its_registers(record: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go on after each first access to a page, which the interpreter makes, until an address is too large."""
    body = [Instruction(Op.SD, rs1=AT, rs2=LEFT), Instruction(Op.ADD, AT, AT, 9), Instruction(Op.ADD, 10, 10, AT)]
    program = image([*li(AT, OUTPUT_BASE), *li(9, 1 << 22), *loop(1 << 11, *body), *leave()])
    faults = []
    for translation in (native.Translation, all_compiled):
        with pytest.raises(GuestFault) as caught:
            by(translation, monkeypatch, program, record=record)
        faults.append((str(caught.value), caught.value.cycles))
    assert faults[0] == faults[1] and "at or above 2^32" in faults[0][0] and faults[0][1] > 200
