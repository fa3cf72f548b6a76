"""A table's lookup program (`graphprover.air.bytecode.lookup_bytecode`) in parts, for the interpreter of a GPU.

All denominators and multiplicities of a row would not fit the memory that a block's threads share. A part computes
those of a few fraction columns; the interpreter reduces them to fractions before it runs the next part. Values that
several parts need are computed in each of them.

No CPU twin: a CPU has room for the whole program.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from graphprover.air.bytecode import Bytecode, Opcode

COLUMNS = 4  # most of a part, as in bytecode.cu
TUPLES = 8  # most of a part of several columns

_ONE_PLANE = (Opcode.MUL, Opcode.SCALE, Opcode.SUB_BASE)  # read one plane b


class Part(NamedTuple):
    """The program of some fraction columns."""

    program: Bytecode  # with the constants and inputs of the whole one; its outputs are of these columns' tuples alone
    first: int  # column
    groups: tuple[int, ...]  # the number of tuples of each column


@lru_cache(maxsize=256)
def parts_of(bytecode: Bytecode, groups: tuple[int, ...]) -> list[Part]:
    """Return a lookup program in parts; ``groups`` is the number of tuples of each fraction column."""
    parts, tuples, first = list[Part](), sum(groups), 0
    while first < len(groups):
        end = first + 1
        while end < min(first + COLUMNS, len(groups)) and sum(groups[first : end + 1]) <= TUPLES:
            end += 1
        t, last = sum(groups[:first]), sum(groups[:end])
        outputs = [*range(3 * t, 3 * last), *range(3 * tuples + t, 3 * tuples + last)]
        parts.append(Part(_part(bytecode, outputs), first, groups[first:end]))
        first = end
    return parts


def _part(bytecode: Bytecode, outputs: Sequence[int]) -> Bytecode:
    """Return the program that computes some of the outputs, and no other value than they need."""
    first = bytecode.constant_planes + len(bytecode.inputs)  # of the planes that instructions write
    wanted = [first + output for output in outputs]
    live, kept = set(wanted), []
    for instruction in bytecode.instructions[::-1].tolist():
        written = range(instruction[2], instruction[2] + instruction[1])
        if live.isdisjoint(written):
            continue
        live.difference_update(written)
        live.update(plane for plane in _read(bytecode, instruction) if plane >= first)
        kept.append(instruction)
    used = {d + i for _, width, d, *_ in kept for i in range(width)}
    others = sorted(used.difference(wanted))  # in this order the planes of an extension value stay together
    place = np.arange(first + bytecode.outputs + bytecode.registers, dtype=np.int32)
    place[[*wanted, *others]] = np.arange(first, first + len(wanted) + len(others))

    instructions = np.array(kept[::-1], dtype=np.int32).reshape(-1, 6)
    linear = instructions[:, 0] == Opcode.LINEAR
    terms = [np.arange(b, b + count) for b, count in instructions[linear][:, 4:].tolist()]
    chosen = bytecode.terms[np.concatenate([np.empty(0, dtype=np.int64), *terms])]
    instructions[:, 2:4] = place[instructions[:, 2:4]]
    instructions[~linear, 4] = place[instructions[~linear, 4]]
    ends = np.cumsum(instructions[linear, 5])
    instructions[linear, 4] = ends - instructions[linear, 5]
    return replace(bytecode, instructions=instructions, terms=place[chosen], outputs=len(wanted), registers=len(others))


def _read(bytecode: Bytecode, instruction: Sequence[int]) -> Iterator[int]:
    """Yield the planes that an instruction reads."""
    op, width, _, a, b, count = instruction
    yield from range(a, a + width)
    if op == Opcode.LINEAR:
        yield from bytecode.terms[b : b + count, 0].tolist()  # weights are constants
    else:
        yield from range(b, b + (1 if op in _ONE_PLANE else width))


def planes(parts: Iterable[Part]) -> int:
    """Return the number of planes of a thread that runs these parts one after the other."""
    return max((part.program.outputs + part.program.registers for part in parts), default=0)


def joined(parts: Iterable[Part]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the instructions and terms of all parts, the parts and the tuples of each column, as bytecode.cu has them.

    A part is its first instruction, the end, its first column, the number of columns, and that of their tuples.
    """
    instructions, terms, described, groups = [], [], [], list[int]()
    first = first_term = 0
    for program, column, own in parts:
        moved = program.instructions.copy()
        moved[moved[:, 0] == Opcode.LINEAR, 4] += first_term
        instructions.append(moved)
        terms.append(program.terms)
        described.append([first, first + len(moved), column, len(own), sum(own)])
        groups += own
        first, first_term = first + len(moved), first_term + len(program.terms)
    numbers = np.array(described, dtype=np.uint64), np.array(groups, dtype=np.uint64)
    return np.concatenate(instructions), np.concatenate(terms), *numbers
