"""Runs of programs: the values of all cells, and the steps.

A run takes the instructions one by one. An instruction with one unknown cell gives its value, an instruction without
any is checked. Free cells have hints. A run that ends is a proof that the relations hold; in another one the first
relation that does not hold is an error.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graphprover.field import ZERO, Ext, P, ext_add, ext_inv, ext_mul, ext_scale, ext_sub
from graphprover.recursion.program.assembler import Linked
from graphprover.recursion.tables.core import FIRST_FRAME, FLAGS

_REGION = 1 << 32  # addresses of a region of memory in the first run
MOST_STEPS = 1 << 24

Rows = Callable[["Run", Ext, int, Ext], tuple[Ext, Ext]]  # the sums of a chunk at a place, of a kind, with a span
Asked = Callable[[Ext], int]  # how often the digest at a place is looked up


class Contradiction(Exception):
    """A relation of the program does not hold."""


@dataclass(frozen=True, eq=False)
class Trace:
    """The steps of a run, and memory after it."""

    pcs: np.ndarray  # address of each step's instruction, uint32 (steps,)
    frames: np.ndarray  # frame pointer of each step, uint32 (steps,)
    cells: np.ndarray  # uint64 (3, cells)


class Run:
    """One run; hints read it."""

    def __init__(
        self, linked: Linked, inputs: Mapping[int, Ext], rows: Rows | None, asked: Asked | None, bases: Sequence[int]
    ) -> None:
        self.memory: dict[int, Ext] = dict(inputs)
        self.frame = FIRST_FRAME
        self.steps: list[tuple[int, int]] = []
        self.regions = 0
        self._linked, self._rows, self._asked, self._bases = linked, rows, asked, bases
        self._names = [_decoded(int(flags)) for flags in linked.fields[0]]
        self._numbers = linked.fields[1:].T.tolist()

    def allocate(self) -> int:
        """Return the address of a new region of memory."""
        self.regions += 1
        return self._bases[self.regions] if self._bases else self.regions * _REGION

    def asked(self, place: Ext) -> int:
        """Return how often the digest at a place is looked up."""
        assert self._asked is not None, "a run of a program with caps gets it"
        return self._asked(place)

    def __getitem__(self, address: int) -> Ext:
        return self.memory[address]

    def put(self, address: int, value: Ext) -> None:
        """Set a cell; raises Contradiction if it has another value."""
        if self.memory.setdefault(address, value) != value:
            raise Contradiction(f"cell {address} is {self.memory[address]}, not {value}")

    def take_steps(self) -> None:
        """Run until the program halts.

        Raises:
            Contradiction: A relation does not hold.
            ValueError: Two cells of an instruction are unknown.
        """
        pc = 0
        while len(self.steps) < MOST_STEPS:
            self.steps.append((pc, self.frame))
            for offset, hint in self._linked.hints.get(pc, ()):
                self.put(self.frame + offset, hint(self))
            try:
                following = self._step(pc)
            except Contradiction as error:
                raise Contradiction(f"{self._linked.sources[pc]}: {error}") from None
            if following is None:
                return
            pc = following
        raise Contradiction(f"the program takes more than {MOST_STEPS:,} steps")

    def _step(self, pc: int) -> int | None:
        names, frame = self._names[pc], self.frame
        k, constant, *offsets = self._numbers[pc]
        a, b, c, d = ((frame + offset) % P for offset in offsets)
        if "jump" in names:
            return self._jump(pc, constant, a, b, c)
        if "call" in names:
            self.put(a, (pc + 1, frame, 0))
            self.frame = self.memory[b][0] if "multiply" in names else (frame + k) % P
            return int(constant)
        if "back" in names:
            to, self.frame, _ = self.memory[a]
            return to
        if "row" in names:
            assert self._rows is not None, "a run of a program with rows gets them"
            for address, value in zip((c, d), self._rows(self, self.memory[a], k, self.memory[b]), strict=True):
                self.put(address, value)
        elif "cap" in names:
            pass
        elif "halt" in names:
            return None
        else:
            if "indirect" in names:
                d = (self.memory[a][0] + offsets[3]) % P
            self._relate(names, k, constant, a, b, c, d)
        return pc + 1

    def _jump(self, pc: int, distance: int, a: int, b: int, c: int) -> int:
        value = self.memory[a]
        is_zero = value == ZERO
        self.put(b, ZERO if is_zero else ext_inv(value))
        self.put(c, (int(is_zero), 0, 0))
        return (pc + 1 + distance * is_zero) % P

    def _relate(self, names: frozenset[str], k: int, constant: int, a: int, b: int, c: int, d: int) -> None:
        """Solve c = [multiply] a b + k a + [add] d + constant for the unknown cell, or check it."""
        memory, multiply, add = self.memory, "multiply" in names, "add" in names
        used = {c, *([a] if multiply or k or "indirect" in names else []), *([b] * multiply), *([d] * add)}
        unknown = [address for address in used if address not in memory]
        if len(unknown) > 1:
            raise ValueError(f"cells {unknown} are unknown")
        if unknown and unknown[0] == c and c not in (a, b, d)[: 1 + 2 * multiply]:
            memory[c] = self._value(multiply, add, k, constant, a, b, d)
        elif unknown and add and unknown[0] == d and d not in (a, c):
            memory[d] = ZERO
            memory[d] = ext_sub(memory[c], self._value(multiply, add, k, constant, a, b, d))
        elif unknown and multiply and unknown[0] == b and b not in (a, c, d):
            memory[b] = ZERO
            rest = ext_sub(memory[c], self._value(multiply, add, k, constant, a, b, d))
            if memory[a] == ZERO:
                raise Contradiction("a division by 0")
            memory[b] = ext_mul(rest, ext_inv(memory[a]))
        elif unknown and unknown[0] == c == a and not multiply and not k:
            memory[c] = (constant, 0, 0)
        elif unknown:
            raise ValueError(f"cell {unknown[0]} is unknown in more than one place")
        memory.setdefault(a, ZERO)  # looked up though it does not count
        value = self._value(multiply, add, k, constant, a, b, d)
        if memory[c] != value:
            raise Contradiction(f"{memory[c]} is not {value}")

    def _value(self, multiply: bool, add: bool, k: int, constant: int, a: int, b: int, d: int) -> Ext:
        memory = self.memory
        value = ext_add(ext_scale(memory.get(a, ZERO), k), (constant, 0, 0)) if k else (constant, 0, 0)
        if multiply:
            value = ext_add(value, ext_mul(memory[a], memory[b]))
        return ext_add(value, memory[d]) if add else value


def _decoded(flags: int) -> frozenset[str]:
    return frozenset(name for i, name in enumerate(FLAGS) if flags >> i & 1)


def run(linked: Linked, inputs: Mapping[int, Ext], rows: Rows | None = None, asked: Asked | None = None) -> Trace:
    """Run a program twice: the second time, its regions of memory follow each other.

    Args:
        linked: The program.
        inputs: Cells of the first frame by their addresses.
        rows: The sums of opened rows.
        asked: Lookups of digests of caps.

    Raises:
        Contradiction: A relation of the program does not hold.
    """
    first = Run(linked, inputs, rows, asked, ())
    first.take_steps()
    ends = [0] * (first.regions + 1)
    for address in first.memory:
        region, place = divmod(address, _REGION)
        ends[region] = max(ends[region], place + 1)
    bases = np.cumsum([0, *ends])[:-1].tolist()
    again = Run(linked, inputs, rows, asked, bases)
    again.take_steps()
    cells = np.zeros((3, sum(ends)), dtype=np.uint64)
    for address, value in again.memory.items():
        cells[:, address] = value
    steps = np.array(again.steps, dtype=np.uint32).reshape(-1, 2)
    return Trace(steps[:, 0].copy(), steps[:, 1].copy(), cells)
