"""Compiles formulas of cells to code for lanes: `graphprover.vm.kernels.lanes`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphprover.vm.kernels.lanes import IMMEDIATE, Code, Op, encode
from graphprover.vm.traces.formulas import Formulas


@dataclass(frozen=True)
class StoredCell:
    """The destination of a formula's value."""

    number: int  # index of the formula's node
    column: int  # in the first lane of a row
    step: int  # columns from a lane's cell to the next lane's


@dataclass(frozen=True)
class _Step:
    """An instruction without registers yet: it has indices of nodes instead."""

    op: Op
    target: int | None
    reads: tuple[int, ...]
    immediate: int = 0
    shift: int = 0  # of STORE
    dropped: int = 0


def assemble(formulas: Formulas, cells: Sequence[StoredCell], lanes: int) -> Code:
    """Return code that computes these cells in order, each value right before its first use."""
    steps = list(_steps(formulas, cells))
    last = {number: i for i, step in enumerate(steps) for number in step.reads}
    registers: dict[int, int] = {}
    free: list[int] = []
    used = 0
    instructions: list[tuple[Op, int, int, int, int]] = []
    for i, step in enumerate(steps):
        reads = [registers[number] for number in step.reads]
        target = 0
        if step.target is not None:  # a register that is not read, so that no loop reads its own output
            if not free:
                free.append(used)
                used += 1
            free.sort(reverse=True)
            target = registers[step.target] = free.pop()
        free += {registers[number] for number in step.reads if last[number] == i}
        a = reads[0] if reads else 0
        b = reads[1] if len(reads) > 1 else IMMEDIATE
        if step.op == Op.STORE:
            instructions.append((Op.STORE, step.shift, a, step.dropped, step.immediate))
        else:
            instructions.append((step.op, target, a, b, reads[2] if step.op == Op.SELECT else step.immediate))
    return encode(instructions, used, lanes)


def _steps(formulas: Formulas, cells: Sequence[StoredCell]) -> Iterator[_Step]:
    made: set[int] = set()
    for cell in cells:
        number, shift, dropped = _part(formulas, cell.number)
        yield from _made(formulas, number, made)
        yield _Step(Op.STORE, None, (number,), cell.column | cell.step << 32, shift, dropped)


def _part(formulas: Formulas, number: int) -> tuple[int, int, int]:
    """Return a value as bits of another: its node, the bits dropped on the right and, of 64, on the left."""
    shift = dropped = 0
    op, operands, _ = formulas.nodes[number]
    if op == Op.AND:
        mask = formulas.constant(operands[1])
        if mask is not None and mask & (mask + 1) == 0 and mask:
            dropped = 64 - mask.bit_length()
            number = operands[0]
            op, operands, _ = formulas.nodes[number]
    if op == Op.RIGHT:
        by = formulas.constant(operands[1])
        if by is not None:
            shift, number = by, operands[0]
    return number, shift, dropped


def _made(formulas: Formulas, number: int, made: set[int]) -> Iterator[_Step]:
    """Return the instructions that compute a value, unless it is computed already."""
    if number in made:
        return
    made.add(number)
    op, operands, immediate = formulas.nodes[number]
    if len(operands) == 2 and (constant := formulas.constant(operands[1])) is not None:
        operands, immediate = operands[:1], constant
    for operand in operands:
        yield from _made(formulas, operand, made)
    yield _Step(op, number, operands, immediate)
