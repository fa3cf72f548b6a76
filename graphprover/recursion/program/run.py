"""Runs of programs: the values of all cells, and the steps.

A run takes the instructions one by one. An instruction with one unknown cell gives its value, an instruction without
any is checked. Free cells have hints. A run that ends is a proof that the relations hold; in another one the first
relation that does not hold is an error.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from graphprover.field import ZERO, Ext, P
from graphprover.recursion.program.assembler import HOME, Linked
from graphprover.recursion.program.hints import HintKind
from graphprover.recursion.program.steps import HALTED, Contradiction, Decoded, Step, decoded, put, step_of
from graphprover.recursion.tables.steps import FIRST_FRAME, FLAGS

_REGION = 1 << 32  # addresses of a region of memory in the first run
MOST_STEPS = 1 << 24

Rows = Callable[["Run", Ext, int, Ext], tuple[Ext, Ext]]  # the sums of a chunk at a place, of a kind, with a span


@dataclass(frozen=True, eq=False)
class Trace:
    """The steps of a run, and memory after it."""

    pcs: np.ndarray  # address of each step's instruction, uint32 (steps,)
    frames: np.ndarray  # frame pointer of each step, uint32 (steps,)
    cells: np.ndarray  # uint64 (3, cells)


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
            for _ in range(MOST_STEPS):
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
        raise Contradiction(f"the program takes more than {MOST_STEPS:,} steps")

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


def requests(linked: Linked, trace: Trace, flag: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the steps with a flag, and the operands a and b of each, uint64 (3, steps)."""
    flagged = linked.fields[0] & np.uint64(1 << FLAGS.index(flag)) != 0
    steps = np.flatnonzero(np.take(flagged, trace.pcs))
    offsets = linked.fields[3:5, trace.pcs[steps]]
    first, second = (trace.cells[:, (trace.frames[steps] + offset) % np.uint64(P)] for offset in offsets)
    return steps, first, second


def _bases(run: Run) -> list[int]:
    """Return the first addresses of the regions of a first run, one after another, and the address after them."""
    if min(run.memory) < 0 or max(run.memory) >= (run.regions + 1) * _REGION:
        raise ValueError(f"address {min(run.memory)} or {max(run.memory)} is in no region of memory")
    addresses = np.array(list(run.memory), dtype=np.uint64)
    ends = np.zeros(run.regions + 1, dtype=np.int64)
    np.maximum.at(ends, (addresses // _REGION).astype(np.int64), (addresses % _REGION).astype(np.int64) + 1)
    return [0, *np.cumsum(ends).tolist()]
