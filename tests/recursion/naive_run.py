"""Runs of programs in plain Python, instruction by instruction: the reference of compiled runs.

An instruction with one unknown cell gives its value, an instruction without any is checked. Free cells have hints. Here
errors say what does not hold.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from graphprover.field import ZERO, Ext, P, ext_add, ext_inv, ext_mul, ext_scale, ext_sub
from graphprover.protocol.blake3 import CHUNK_WORDS
from graphprover.recursion.head.words import SHIFT
from graphprover.recursion.openings import OpenedRows
from graphprover.recursion.program.assembler import HOME, HintKind, Linked
from graphprover.recursion.tables.segments import READ, SPLIT
from graphprover.recursion.tables.steps import FIRST_FRAME, FLAGS
from graphprover.recursion.witness import run as runs
from graphprover.recursion.witness.run import Contradiction, Trace
from graphprover.recursion.witness.run_data import RunData

_REGION = 1 << 32  # addresses of a region of memory in the first run
Rows = Callable[["Run", Ext, int, Ext], tuple[Ext, Ext]]  # the sums of a chunk at a place, of a kind, with a span
Memory = dict[int, Ext]
# Takes a frame pointer; returns the next instruction and the next frame pointer, or None for a step to the instruction
# after this one in the same frame.
Step = Callable[[int], tuple[int, int] | None]
HALTED = -1  # the next instruction after a halt
_inverse = lru_cache(maxsize=1 << 16)(ext_inv)  # both runs of a program need the same ones


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


class Run:
    """One run."""

    def __init__(
        self,
        linked: Linked,
        inputs: Mapping[int, Ext],
        rows: Rows | None,
        digests: Mapping[Ext, Sequence[int]],
        bases: Sequence[int],
    ) -> None:
        # Loops of the first function carry its home, which nothing uses.
        self.memory: dict[int, Ext] = {FIRST_FRAME + HOME: ZERO, **inputs}
        self.pcs: list[int] = []
        self.frames: list[int] = []
        self.regions = 0
        self._digests = digests
        self._linked, self._rows, self._bases = linked, rows, bases
        self._steps = [self._step(decoded(pc, fields)) for pc, fields in enumerate(linked.fields.T.tolist())]

    def allocate(self) -> int:
        """Return the address of a new region of memory."""
        self.regions += 1
        return self._bases[self.regions] if self._bases else self.regions * _REGION

    def __getitem__(self, address: int) -> Ext:
        return self.memory[address]

    def put(self, address: int, value: Ext) -> None:
        """Set a cell; raises Contradiction if it has another value."""
        put(self.memory, address, value)

    def take_steps(self) -> None:
        """Run until the program halts.

        Raises:
            Contradiction: A relation does not hold.
            ValueError: Two cells of an instruction are unknown.
        """
        pc, frame = 0, FIRST_FRAME
        hints, firsts = self._linked.hints.tolist(), self._linked.first_hints.tolist()
        steps, pcs, frames = self._steps, self.pcs, self.frames
        try:
            for _ in range(runs.MOST_STEPS):
                pcs.append(pc)
                frames.append(frame)
                for offset, *hint in hints[firsts[pc] : firsts[pc + 1]]:
                    self.put(frame + offset, self._hinted(frame, *hint))
                to = steps[pc](frame)
                if to is None:
                    pc += 1
                elif to[0] == HALTED:
                    return
                else:
                    pc, frame = to
        except Contradiction as error:
            raise Contradiction(f"{self._linked.sources[pc]}: {error}") from None
        except KeyError as error:
            raise ValueError(f"{self._linked.sources[pc]}: unknown cells: {error}") from error
        raise Contradiction(f"the program takes more than {runs.MOST_STEPS:,} steps")

    def _hinted(self, frame: int, kind: int, a: int, b: int, number: int) -> Ext:
        """Return the value of a hint."""
        if kind == HintKind.ALLOCATE:
            return self.allocate(), 0, 0
        if kind == HintKind.BACK:
            return number, frame, 0
        first = self.memory[frame + a]
        if kind == HintKind.BIT:
            return first[0] >> number & 1, 0, 0
        if kind == HintKind.DIGEST:
            return self._digests[first][number], 0, 0
        divisor = self.memory[frame + b][0]
        if not divisor:
            raise Contradiction("a division by 0")
        return first[0] // divisor, 0, 0

    def _step(self, of: Decoded) -> Step:
        if "row" in of.flags:
            return self._row(of)
        if "cap" in of.flags:
            return lambda frame: None
        return step_of(self.memory, of)

    def _row(self, of: Decoded) -> Step:
        assert self._rows is not None, "a run of a program with rows gets them"
        rows, memory = self._rows, self.memory

        def step(frame: int) -> None:
            sums = rows(self, memory[frame + of.a], of.k, memory[frame + of.b])
            for offset, value in zip((of.c, of.d), sums, strict=True):
                put(memory, frame + offset, value)

        return step


def run(
    linked: Linked,
    inputs: Mapping[int, Ext],
    rows: Rows | None = None,
    digests: Mapping[Ext, Sequence[int]] = MappingProxyType({}),
) -> Trace:
    """Run a program twice: the second time, its regions of memory follow each other.

    Args:
        linked: The program.
        inputs: Cells of the first frame by their addresses.
        rows: The sums of opened rows.
        digests: Digests by their places, for hints: 8 words each.

    Raises:
        Contradiction: A relation of the program does not hold.
        ValueError: Two cells of an instruction are unknown, or an address is in no region of memory.
    """
    first = Run(linked, inputs, rows, digests, ())
    first.take_steps()
    bases = _bases(first)
    again = Run(linked, inputs, rows, digests, bases)
    again.take_steps()
    cells = np.zeros((bases[-1], 3), dtype=np.uint64)
    cells[list(again.memory)] = np.array(list(again.memory.values()), dtype=np.uint64)
    pcs, frames = (np.array(numbers, dtype=np.uint32) for numbers in (again.pcs, again.frames))
    return Trace(pcs, frames, np.ascontiguousarray(cells.T))


def _bases(run: Run) -> list[int]:
    """Return the first addresses of the regions of a first run, one after another, and the address after them."""
    if min(run.memory) < 0 or max(run.memory) >= (run.regions + 1) * _REGION:
        raise ValueError(f"address {min(run.memory)} or {max(run.memory)} is in no region of memory")
    addresses = np.array(list(run.memory), dtype=np.uint64)
    ends = np.zeros(run.regions + 1, dtype=np.int64)
    np.maximum.at(ends, (addresses // _REGION).astype(np.int64), (addresses % _REGION).astype(np.int64) + 1)
    return [0, *np.cumsum(ends).tolist()]


def run_by_python(linked: Linked, data: RunData) -> Trace:
    """Run a program with its data."""
    cells: dict[int, Ext] = dict(zip(data.addresses.tolist(), map(tuple, data.values.tolist()), strict=True))
    digests: dict[Ext, list[int]] = dict(zip(map(tuple, data.places.tolist()), data.digests.tolist(), strict=True))
    return run(linked, cells, answers(data.rows), digests)


def answers(rows: Sequence[OpenedRows]) -> Rows:
    """Return the function that gives a run the sums of weighted rows, and puts words of other rows into memory."""
    words = {tuple(place): own for of in rows for place, own in zip(of.places.tolist(), of.words.tolist(), strict=True)}
    known: dict[tuple[Ext, Ext], tuple[Ext, Ext]] = {}  # by place and span: both runs have the same weights there

    def answer(run: Run, place: Ext, kind: int, span: Ext) -> tuple[Ext, Ext]:
        counter, base, end = span
        own = words.get(place, [])[CHUNK_WORDS * counter : CHUNK_WORDS * (counter + 1)]
        if not own or end != base + SHIFT * len(own):
            raise Contradiction(f"no chunk of {(end - base) // SHIFT} words at {place}")
        if kind == READ:
            for i, word in enumerate(own):
                run.put(base + SHIFT * i, (word % P, 0, 0))
            return ZERO, ZERO
        if kind == SPLIT:
            for i, word in enumerate(own):
                run.put(base + SHIFT * i + 1, (word & 0xFFFFFFFF, word >> 32, 0))
            return ZERO, ZERO
        if (place, span) not in known:
            first, second = (_sum([run[base + SHIFT * i + point] for i in range(len(own))], own) for point in range(2))
            known[place, span] = first, second
        return known[place, span]

    return answer


def _sum(weights: Sequence[Ext], words: Sequence[int]) -> Ext:
    a, b, c = (sum(weight[k] * word for weight, word in zip(weights, words, strict=True)) % P for k in range(3))
    return a, b, c
