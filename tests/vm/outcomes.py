"""The outcomes of each instruction of a program, computed one by one."""

from graphprover.vm.executor.record import registers_accessed
from graphprover.vm.program.isa import ILLEGAL, Instruction, Op
from graphprover.vm.statement.statement import Machine
from graphprover.vm.tables.chips import Outcome, outcomes

OPS = tuple(Op)


def outcomes_of(machine: Machine) -> list[list[Outcome]]:
    """Return the outcomes of each instruction word; none for an illegal one."""
    decoded = machine.instructions
    used = registers_accessed(decoded)
    columns = (decoded.op, decoded.rd, decoded.rs1, decoded.rs2, decoded.imm)
    fields = zip(*(column.tolist() for column in columns), strict=True)
    registers = zip(used.d.tolist(), used.a.tolist(), used.b.tolist(), strict=True)
    found = []
    for i, ((op, rd, rs1, rs2, imm), accessed) in enumerate(zip(fields, registers, strict=True)):
        pc = machine.image.code_base + 4 * i
        found.append([] if op == ILLEGAL else outcomes(Instruction(OPS[op], rd, rs1, rs2, imm, pc), accessed))
    return found
