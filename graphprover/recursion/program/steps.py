"""The steps of a run: a function for each instruction, which finds the values of its unknown cells or checks them."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from graphprover.field import ZERO, Ext, P, ext_add, ext_inv, ext_mul, ext_scale, ext_sub
from graphprover.recursion.tables.steps import FLAGS

Memory = dict[int, Ext]
# Takes a frame pointer; returns the next instruction and the next frame pointer, or None for a step to the instruction
# after this one in the same frame.
Step = Callable[[int], tuple[int, int] | None]
HALTED = -1  # the next instruction after a halt
_inverse = lru_cache(maxsize=1 << 16)(ext_inv)  # both runs of a program need the same ones


class Contradiction(Exception):
    """A relation of the program does not hold."""


class Decoded(NamedTuple):
    """An instruction: its address, and its numbers with their signs."""

    pc: int
    flags: frozenset[str]
    k: int
    l: int  # noqa: E741 (as in tables/steps.py)
    a: int
    b: int
    c: int
    d: int


def decoded(pc: int, fields: Sequence[int]) -> Decoded:
    """Return an instruction from its fields, in the order of `Fixed`'s columns."""
    flags = frozenset(name for i, name in enumerate(FLAGS) if fields[0] >> i & 1)
    return Decoded(pc, flags, *(number - P * (number > P // 2) for number in fields[1:]))


def put(memory: Memory, address: int, value: Ext) -> None:
    """Set a cell; raises Contradiction if it has another value."""
    if memory.setdefault(address, value) != value:
        raise Contradiction(f"cell {address} is {memory[address]}, not {value}")


def step_of(memory: Memory, of: Decoded) -> Step:
    """Return the step of an instruction for which a run needs only memory: not `row` or `cap`.

    A step raises KeyError for an unknown cell.
    """
    if "jump" in of.flags:
        return _jump(memory, of)
    if "call" in of.flags:
        return _call(memory, of)
    if "back" in of.flags:
        return lambda frame: memory[frame + of.a][:2]
    if "halt" in of.flags:
        return lambda frame: (HALTED, frame)
    if "gate" in of.flags:
        return _gate(memory, of)
    if "indirect" in of.flags and "add" not in of.flags:
        return _in_base_field(memory, of)
    if of.flags == {"add", "indirect"} and not of.k and not of.l:
        return _move(memory, of)
    if not of.flags and not of.k:
        return _constant(memory, of)
    return _relation(memory, of)


def _jump(memory: Memory, of: Decoded) -> Step:
    following, target = of.pc + 1, (of.pc + 1 + of.l) % P
    _, _, _, _, a, b, c, _ = of

    def step(frame: int) -> tuple[int, int]:
        value = memory[frame + a]
        if value == ZERO:
            memory.setdefault(frame + b, ZERO)
            put(memory, frame + c, (1, 0, 0))
            return target, frame
        put(memory, frame + b, _inverse(value))
        put(memory, frame + c, ZERO)
        return following, frame

    return step


def _call(memory: Memory, of: Decoded) -> Step:
    following, (_, flags, k, target, a, b, _, _) = of.pc + 1, of
    by_cell = "multiply" in flags

    def step(frame: int) -> tuple[int, int]:
        put(memory, frame + a, (following, frame, 0))
        return target, memory[frame + b][0] if by_cell else frame + k

    return step


def _move(memory: Memory, of: Decoded) -> Step:
    """Return the step of c = d, of which one can be unknown, with d at a place that a cell has."""
    _, _, _, _, a, _, c, d = of

    def step(frame: int) -> None:
        here, there = frame + c, memory[frame + a][0] + d
        value = memory.get(here)
        if value is None:
            memory[here] = memory[there]
        elif memory.setdefault(there, value) != value:
            raise Contradiction(f"{value} is not {memory[there]}, the cell {there}")

    return step


def _gate(memory: Memory, of: Decoded) -> Step:
    """Return the step of c = l d b + k b + (1 - l) d, of which c can be unknown."""
    _, _, k, l, a, b, c, d = of  # noqa: E741

    def step(frame: int) -> None:
        at_d, at_b, _ = memory[frame + a]
        first, second = memory[at_d + d], memory[at_b + b]
        product = ext_scale(ext_mul(first, second), l % P) if l else ZERO
        put(memory, frame + c, ext_add(product, ext_add(ext_scale(second, k % P), ext_scale(first, (1 - l) % P))))

    return step


def _in_base_field(memory: Memory, of: Decoded) -> Step:
    """Return the step of an arithmetic instruction whose c is in the base field."""
    relation, c = _relation(memory, of), of.c

    def step(frame: int) -> None:
        relation(frame)
        if any(memory[frame + c][1:]):
            raise Contradiction(f"{memory[frame + c]} is not in the base field")

    return step


def _constant(memory: Memory, of: Decoded) -> Step:
    value, a, c = (of.l % P, 0, 0), of.a, of.c

    def step(frame: int) -> None:
        put(memory, frame + c, value)
        memory.setdefault(frame + a, ZERO)  # looked up though it does not count

    return step


def _relation(memory: Memory, of: Decoded) -> Step:
    """Return the step of c = [multiply] a b + k a + [add] d + l, of which one cell can be unknown, but not a."""
    value_of, a, c = _value(memory, of), of.a, of.c
    reads_a = _reads_a(of)

    def step(frame: int) -> None:
        try:
            value = value_of(frame)
        except KeyError:
            _solve(memory, of, frame, value_of)
            return
        if memory.setdefault(frame + c, value) != value:
            raise Contradiction(f"{memory[frame + c]} is not {value}")
        if not reads_a:
            memory.setdefault(frame + a, ZERO)  # as for constants

    return step


def _value(memory: Memory, of: Decoded) -> Callable[[int], Ext]:
    """Return the function that gives the value of c."""
    _, flags, k, l, a, b, _, d = of  # noqa: E741
    add, indirect, reads_a = "add" in flags, "indirect" in flags, _reads_a(of)

    def linear(frame: int) -> Ext:
        a0, a1, a2 = memory[frame + a] if reads_a else ZERO
        if not add:
            return (k * a0 + l) % P, k * a1 % P, k * a2 % P
        d0, d1, d2 = memory[(a0 if indirect else frame) + d]
        return (k * a0 + d0 + l) % P, (k * a1 + d1) % P, (k * a2 + d2) % P

    def product(frame: int) -> Ext:
        a0, a1, a2 = memory[frame + a]
        b0, b1, b2 = memory[frame + b]
        d0, d1, d2 = memory[(a0 if indirect else frame) + d] if add else ZERO
        c3, c4 = a1 * b2 + a2 * b1, a2 * b2
        return (
            (a0 * b0 + c3 + k * a0 + d0 + l) % P,
            (a0 * b1 + a1 * b0 + c3 + c4 + k * a1 + d1) % P,
            (a0 * b2 + a1 * b1 + a2 * b0 + c4 + k * a2 + d2) % P,
        )

    return product if "multiply" in flags else linear


def _reads_a(of: Decoded) -> bool:
    return bool(of.k) or "multiply" in of.flags or "indirect" in of.flags


def _solve(memory: Memory, of: Decoded, frame: int, value_of: Callable[[int], Ext]) -> None:
    """Find b or d from the other cells; raises KeyError if more of them are unknown."""
    a, b, c = frame + of.a, frame + of.b, frame + of.c
    first = memory[a] if _reads_a(of) else ZERO
    d = (first[0] if "indirect" in of.flags else frame) + of.d
    unknown = [*([b] if "multiply" in of.flags else []), *([d] if "add" in of.flags else []), c]
    unknown = [address for address in unknown if address not in memory]
    if len(unknown) > 1:
        raise KeyError(*unknown)
    memory[unknown[0]] = ZERO
    rest = ext_sub(memory[c], value_of(frame))
    if unknown[0] == d and "add" in of.flags:
        memory[d] = rest
    elif first == ZERO:
        raise Contradiction("a division by 0")
    else:
        memory[b] = ext_mul(rest, _inverse(first))
    if not _reads_a(of):
        memory.setdefault(a, ZERO)
