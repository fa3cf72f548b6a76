"""Programs for the steps of `machine`, written in Python.

A `Routine` has a method for each instruction. Its arguments and results are cells: numbers of a frame that a run
finds.

    program = Program()
    square = program.function("square", arguments=1, results=1)
    (x,) = square.arguments
    square.give_back([square.multiply(x, x)])
    main = program.function("main", arguments=1)
    (result,) = main.call(square, main.arguments)
    main.halt()
    linked = program.link(main)

*Frames.* The first cells of a function's frame are the place to return to, the address of the frame (`home`), its
arguments and its results. A loop has a frame for each turn, right after the one before. A turn writes the first cells
of the next one's frame, which are all that the loop carries: cells of frames before are out of reach.

*Frames over data.* The frame of a function can begin with cells that other tables or functions have written, so that
its instructions have them as operands. Such a function may be without arguments and results, and then a caller says
where its frame is.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum, auto

import numpy as np

from graphprover.field import P
from graphprover.recursion.tables.fixed import FIELDS
from graphprover.recursion.tables.steps import FLAGS, OPERANDS

_BITS = {name: 1 << i for i, name in enumerate(FLAGS)}
HOME, FIRST_ARGUMENT = 1, 2  # cells of a frame that has no data; the place to return to is the first one
HINT_NUMBERS = 5  # of a linked hint: offset of its cell, kind, offsets a and b, number
_OF_JUMP = 2  # cells of a jump: an inverse and a result


class HintKind(IntEnum):
    """The value of a cell; a and b are other cells, and each hint has a number."""

    ALLOCATE = auto()  # the address of a new region of memory
    BACK = auto()  # the number as an instruction to return to, and the frame pointer
    BIT = auto()  # the bit with this number of the base element a
    DIGEST = auto()  # the word with this number of the digest at the place a
    QUOTIENT = auto()  # the base element a over the base element b, rounded down


@dataclass(eq=False)
class _Frame:
    """The cells of a frame in their order."""

    cells: "list[FrameCell]" = field(default_factory=list)

    def cell(self) -> "FrameCell":
        """Return a new cell."""
        self.cells.append(FrameCell(self, len(self.cells)))
        return self.cells[-1]

    def hand_on(self, cell: "FrameCell", place: int) -> None:
        """Move a cell to a place of the next turn's frame."""
        self.cells.remove(cell)
        cell.place, cell.is_next = place, True
        for i, other in enumerate(self.cells):
            other.place = i


@dataclass(eq=False)
class FrameCell:
    """A number in a frame, or in the frame of the next turn of a loop."""

    frame: _Frame
    place: int
    is_next: bool = False

    @property
    def offset(self) -> int:
        """Return the distance to the frame pointer, if the frame is complete."""
        return self.place + len(self.frame.cells) * self.is_next


@dataclass(frozen=True, eq=False)
class Hint:
    """The value of a cell that is free for the prover; a run finds it right before an instruction."""

    kind: HintKind
    a: FrameCell | None = None
    b: FrameCell | None = None
    number: "int | Label" = 0

    def numbers(self, cell: FrameCell) -> tuple[int, ...]:
        """Return the numbers of the hint for a cell, as `Linked` has them."""
        a, b = (other.offset if other else 0 for other in (self.a, self.b))
        number = self.number.address if isinstance(self.number, Label) else self.number
        return cell.offset, self.kind, a, b, number


@dataclass(eq=False)
class UnlinkedInstruction:
    """An instruction before its numbers are known."""

    flags: tuple[str, ...]
    operands: Mapping[str, FrameCell]
    k: int | _Frame = 0  # of a frame: its size
    target: "Label | None" = None  # of a jump or a call
    constant: int = 0  # l of other instructions
    indirect: int = 0  # offset of an indirect d
    hints: Sequence[tuple[FrameCell, Hint]] = ()  # cells that a run finds before the instruction
    source: str = ""
    address: int = 0

    def fields(self) -> list[int]:
        """Return the numbers of the instruction in the order of `Fixed`'s columns."""
        flags = sum(_BITS[name] for name in self.flags)
        k = len(self.k.cells) if isinstance(self.k, _Frame) else self.k
        constant = self.constant
        if self.target is not None:
            constant = self.target.address - (self.address + 1) * ("jump" in self.flags)
        offsets = [self.operands[name].offset if name in self.operands else 0 for name in OPERANDS]
        if "indirect" in self.flags:
            offsets[3] = self.indirect
        return [number % P for number in (flags, k, constant, *offsets)]


@dataclass(eq=False)
class Label:
    """A place in a program."""

    address: int = -1


@dataclass(frozen=True, eq=False)
class Linked:
    """A program with all its numbers."""

    fields: np.ndarray  # of each instruction, uint64 (7, rows), as `graphprover.recursion.tables.fixed` takes them
    hints: np.ndarray  # int64 (hints, 5): `Hint.numbers` in the order of instructions
    first_hints: np.ndarray  # int64 (rows + 1,): the number of hints before each instruction
    sources: Sequence[str]  # of each instruction
    marks: Mapping[str, int]  # addresses of instructions, by name


class Assembler:
    """The functions of a program."""

    def __init__(self) -> None:
        self._functions: list[Routine] = []

    def function(self, name: str, arguments: int = 0, results: int = 0, data: int = 0) -> "Routine":
        """Return a new function, to which instructions are added; ``data``: cells of data before its own."""
        frame = _Frame()
        given = tuple(frame.cell() for _ in range(data))
        back, home, *cells = (frame.cell() for _ in range(FIRST_ARGUMENT + arguments + results))
        self._functions.append(Routine(name, frame, back, home, given, cells[:arguments], cells[arguments:]))
        return self._functions[-1]

    def function_over(self, name: str, data: int, back: int) -> "Routine":
        """Return a new function whose frame has data only; ``back``: the cell for the place to return to."""
        frame = _Frame()
        given = tuple(frame.cell() for _ in range(data))
        self._functions.append(Routine(name, frame, given[back], None, given, (), ()))
        return self._functions[-1]

    def link(self, main: "Routine") -> Linked:
        """Return the program that begins with ``main``.

        Raises:
            ValueError: A function does not end, or calls one of another program, or ``main`` does not halt. It has no
                place to give back to: a prover could choose one.
        """
        functions = [main, *(of for of in self._functions if of is not main)]
        instructions: list[UnlinkedInstruction] = []
        for function in functions:
            if not function.ended:
                raise ValueError(f"function {function.name} neither halts nor gives back")
            for instruction in function.instructions:
                instruction.address = len(instructions)
                instructions.append(instruction)
            for label, place in function.labels.items():
                label.address = len(instructions) - len(function.instructions) + place
        labels = {label for function in functions for label in function.labels}
        for instruction in instructions:
            if instruction.target is not None and instruction.target not in labels:
                raise ValueError(f"{instruction.source}: a call of a function of another program")
        if main.instructions[-1].flags != ("halt",):
            raise ValueError(f"function {main.name} is the first one and does not halt")
        fields = np.zeros((FIELDS, 1 << (len(instructions) - 1).bit_length()), dtype=np.uint64)
        fields[:, : len(instructions)] = np.array([one.fields() for one in instructions], dtype=np.uint64).T
        hints = [hint.numbers(cell) for one in instructions for cell, hint in one.hints]
        first_hints = np.full(fields.shape[1] + 1, len(hints), dtype=np.int64)
        first_hints[: len(instructions)] = np.cumsum([0, *(len(one.hints) for one in instructions)])[:-1]
        marks = {name: label.address for function in functions for name, label in function.marks.items()}
        return Linked(
            fields,
            np.array(hints, dtype=np.int64).reshape(-1, HINT_NUMBERS),
            first_hints,
            [one.source for one in instructions],
            marks,
        )


class Routine:
    """A function whose instructions are stated one after another."""

    def __init__(
        self,
        name: str,
        frame: _Frame,
        back: FrameCell,
        home: FrameCell | None,
        data: Sequence[FrameCell],
        arguments: Sequence[FrameCell],
        results: Sequence[FrameCell],
    ) -> None:
        self.name = name
        self.start = Label()
        self.instructions: list[UnlinkedInstruction] = []
        self.labels: dict[Label, int] = {self.start: 0}  # places of instructions
        self.marks: dict[str, Label] = {}
        self.ended = False
        self.data, self.arguments = tuple(data), tuple(arguments)
        self._first = self._frame = frame
        # Loops carry these cells: the home, and the turns that are left of loops around.
        self._kept = [] if home is None else [home]
        self._back, self._results = back, tuple(results)
        self._written = (back, *self._kept, *arguments)  # by callers
        self._constants: dict[tuple[_Frame, int], FrameCell] = {}
        self._hints: list[tuple[FrameCell, Hint]] = []
        self._made: set[FrameCell] = set()  # results of instructions, whose cells may be in the next frame

    # Numbers.

    def hint(self, value: Hint) -> FrameCell:
        """Return a cell that is free for the prover, and has this value in a run."""
        cell = self._frame.cell()
        self._hints.append((cell, value))
        return cell

    def advise(self, cell: FrameCell, value: Hint) -> None:
        """Let a run find the value of a cell that is free for the prover."""
        self._hints.append((cell, value))

    def constant(self, value: int) -> FrameCell:
        """Return a cell with a base element."""
        key = self._frame, value % P
        if key not in self._constants:
            cell = self._frame.cell()
            self._add((), {"a": cell, "c": cell}, constant=value)
            self._constants[key] = cell
        return self._constants[key]

    def linear(self, k: int, a: FrameCell, l: int = 0, to: FrameCell | None = None) -> FrameCell:  # noqa: E741 (as in tables/steps.py)
        """Return k a + l; ``to``: the cell that has it, here and in the next two methods."""
        return self._result((), {"a": a}, k, l, to=to)

    def add(self, a: FrameCell, d: FrameCell, k: int = 1, l: int = 0, to: FrameCell | None = None) -> FrameCell:  # noqa: E741
        """Return k a + d + l."""
        return self._result(("add",), {"a": a, "d": d}, k, l, to=to)

    def subtract(self, d: FrameCell, a: FrameCell) -> FrameCell:
        """Return d - a."""
        return self.add(a, d, -1)

    def multiply(self, a: FrameCell, b: FrameCell, k: int = 0, l: int = 0, to: FrameCell | None = None) -> FrameCell:  # noqa: E741
        """Return a b + k a + l."""
        return self._result(("multiply",), {"a": a, "b": b}, k, l, to=to)

    def multiply_add(self, a: FrameCell, b: FrameCell, d: FrameCell, to: FrameCell | None = None) -> FrameCell:
        """Return a b + d."""
        return self._result(("multiply", "add"), {"a": a, "b": b, "d": d}, to=to)

    def divide(self, c: FrameCell, a: FrameCell) -> FrameCell:
        """Return c / a; a run stops if a is 0."""
        inverse = self._frame.cell()
        self._add(("multiply",), {"a": a, "b": inverse, "c": self.constant(1)})
        return self.multiply(inverse, c)

    def require_equal(self, a: FrameCell, c: FrameCell) -> None:
        """Require two cells to be equal."""
        self._add((), {"a": a, "c": c}, 1)

    def require(self, a: FrameCell, value: int) -> None:
        """Require a cell to have a value."""
        self._add((), {"a": a, "c": a}, constant=value)

    def require_bit(self, a: FrameCell) -> None:
        """Require a cell to be 0 or 1."""
        self._add(("multiply",), {"a": a, "b": a, "c": a})

    def require_base(self, a: FrameCell) -> None:
        """Require a cell to be in the base field."""
        self._add(("indirect",), {"a": a, "c": a}, 1)

    def gate(self, a: FrameCell, c: FrameCell, k: int, l: int) -> None:  # noqa: E741
        """Require c = l d b + k b + (1 - l) d, with the cells d and b at the addresses a_0 and a_1."""
        self._add(("gate",), {"a": a, "c": c}, k, l)

    def is_zero(self, a: FrameCell) -> FrameCell:
        """Return 1 if a cell is 0, else 0."""
        return self._jump(a, Label(), goes=False)

    # Memory.

    def allocate(self) -> FrameCell:
        """Return the address of new memory of any size; it may be any address."""
        return self.hint(Hint(HintKind.ALLOCATE))

    def reserve(self, count: int) -> list[FrameCell]:
        """Return cells of the frame that no instruction has named yet."""
        return [self._frame.cell() for _ in range(count)]

    def unit(self) -> FrameCell:
        """Return the root X that generates the extension; in the first instructions of the first function only."""
        if self.instructions:
            raise ValueError("X is the first cell that a program finds")
        after, noted = Label(), self._frame.cell()
        self._add(("call",), {"a": noted}, target=after)
        self._put(after)
        return self.linear(1, noted, -1)  # 1 + X: the address of the next instruction, and the first frame

    def load(self, pointer: FrameCell, offset: int = 0) -> FrameCell:
        """Return the cell at an address plus an offset."""
        return self._result(("add", "indirect"), {"a": pointer}, indirect=offset)

    def store(self, pointer: FrameCell, offset: int, value: FrameCell) -> None:
        """Require the cell at an address plus an offset to have a value: the same as loading it."""
        self._add(("add", "indirect"), {"a": pointer, "c": value}, indirect=offset)

    # Control.

    @property
    def home(self) -> FrameCell:
        """The cell with the address of the function's first frame."""
        return self._kept[0]

    @property
    def size(self) -> int:
        """The number of cells of the frame so far."""
        return len(self._frame.cells)

    def mark(self, name: str) -> None:
        """Name the address of the next instruction."""
        self.marks[name] = Label()
        self._put(self.marks[name])

    def go(self, address: FrameCell, x: FrameCell) -> None:
        """Go to an instruction of this function by its address; ``x``: the root that generates the extension.

        A return goes to the first coordinate of a cell, with the frame in the second one. So the home must be in the
        base field: with other coordinates it would change the address.
        """
        self._require_first("a jump to an address")
        self.require_base(self.home)
        self._add(("back",), {"a": self.multiply_add(self.home, x, address)})

    def _require_first(self, what: str) -> None:
        if self._frame is not self._first:
            raise ValueError(f"{_source(self)}: {what} is in the first frame of a function, not after a loop")

    @contextmanager
    def unless_zero(self, a: FrameCell) -> Iterator[None]:
        """Run the block unless a cell is 0. The block's cells are out of reach after it, and it has no loops.

        Raises:
            ValueError: The block has a loop, or ends the function.
        """
        after, constants = Label(), dict(self._constants)
        self._jump(a, after)
        frame, first = self._frame, len(self._frame.cells)
        yield
        if self._frame is not frame:
            raise ValueError(f"{_source(self)}: a loop in a block that a run can leave out; call a function with it")
        if self.ended:
            raise ValueError(f"{_source(self)}: the function ends in a block that a run can leave out")
        self._constants = constants
        for cell in frame.cells[first:]:  # a prover could choose their values if it leaves out the block
            cell.frame = _Frame()
        self._put(after)

    def loop(
        self,
        turns: FrameCell,
        carried: Sequence[FrameCell],
        body: Callable[["Routine", Sequence[FrameCell]], Sequence[FrameCell]],
    ) -> tuple[FrameCell, ...]:
        """Run ``body`` a number of times.

        Args:
            turns: The number, which may be 0. A run without end has no proof.
            carried: The cells of the first turn, the only ones that are in reach.
            body: States one turn, and returns the cells of the next one, as many.

        Returns:
            The cells after the last turn. No other cells of before are in reach.
        """
        head, after = Label(), Label()
        kept = len(self._kept)
        self._enter((turns, *self._kept, *carried), head)
        self._put(head)
        left, *cells = self._begin(1 + kept + len(carried))
        self._kept = [*cells[:kept], left]
        self._jump(left, after)
        following = body(self, cells[kept:])
        if len(following) != len(carried):
            raise ValueError(f"a loop carries {len(carried)} cells, not {len(following)}")
        self._enter((self.linear(1, self._kept.pop(), -1), *self._kept, *following), head)
        self._put(after)
        # The frame of the turn that is not there, in which the jump has used two cells.
        _, *cells = self._begin(1 + kept + len(carried) + _OF_JUMP)
        self._kept = cells[:kept]
        return tuple(cells[kept:-_OF_JUMP])

    def call(self, function: "Routine", arguments: Sequence[FrameCell]) -> tuple[FrameCell, ...]:
        """Call a function, which has a new frame; return its results."""
        frame = self.allocate()
        self.call_over(function, frame, arguments)
        return tuple(self.load(frame, cell.place) for cell in function._results)

    def call_over(self, function: "Routine", frame: FrameCell, arguments: Sequence[FrameCell] = ()) -> None:
        """Call a function whose frame is at an address; its results stay there."""
        if len(arguments) != len(function.arguments):
            raise ValueError(f"{function.name} takes {len(function.arguments)} arguments, not {len(arguments)}")
        back, following = self._frame.cell(), Label()
        self._hints.append((back, Hint(HintKind.BACK, number=following)))
        home = [frame] * (len(function._written) - 1 - len(arguments))
        for own, cell in zip(function._written, (back, *home, *arguments), strict=True):
            self.store(frame, own.place, cell)
        call = UnlinkedInstruction(
            ("call", "multiply"), {"a": back, "b": frame}, target=function.start, source=_source(self)
        )
        self.instructions.append(call)
        self._put(following)

    def give_back(self, results: Sequence[FrameCell]) -> None:
        """End the function."""
        if len(results) != len(self._results):
            raise ValueError(f"{self.name} has {len(self._results)} results, not {len(results)}")
        if self._frame is self._first:
            for place, cell in zip(self._results, results, strict=True):
                self.require_equal(cell, place)
            self._add(("back",), {"a": self._back})
        else:
            for place, cell in zip(self._results, results, strict=True):
                self.store(self.home, place.place, cell)
            self._add(("back",), {"a": self.load(self.home, self._back.place)})
        self.ended = True

    def halt(self) -> None:
        """End the run."""
        self._add(("halt",), {})
        self.ended = True

    # Other tables.

    def row(self, place: FrameCell, kind: int, span: FrameCell) -> tuple[FrameCell, FrameCell]:
        """Return the sums of a chunk of an opened row.

        Args:
            place: Tree, layer and index.
            kind: 0 for weighted words, 1 for words that are read, 2 for words that are split.
            span: Counter of the chunk, its first address and its end address.
        """
        sums = self._frame.cell(), self._frame.cell()
        self._add(("row",), {"a": place, "b": span, "c": sums[0], "d": sums[1]}, kind)
        return sums

    def cap(self, place: FrameCell, words: tuple[FrameCell, FrameCell, FrameCell]) -> None:
        """Provide a digest at a place: eight words, three a cell; the last coordinate of the last cell is not read."""
        self._add(("cap",), dict(zip(OPERANDS, (place, *words), strict=True)))

    # Instructions.

    def _add(
        self,
        flags: tuple[str, ...],
        operands: Mapping[str, FrameCell],
        k: int | _Frame = 0,
        constant: int = 0,
        *,
        target: Label | None = None,
        indirect: int = 0,
    ) -> None:
        self._require_reach(operands.values())
        if self.ended:
            raise ValueError(f"function {self.name} has ended")
        hints, self._hints = self._hints, []
        self.instructions.append(
            UnlinkedInstruction(flags, operands, k, target, constant, indirect, tuple(hints), _source(self))
        )

    def _require_reach(self, cells: Iterable[FrameCell]) -> None:
        for cell in cells:
            if cell.frame is not self._frame:
                raise ValueError(f"{_source(self)}: a cell of another frame or of a block before; loops must carry it")

    def _result(
        self,
        flags: tuple[str, ...],
        operands: Mapping[str, FrameCell],
        k: int = 0,
        constant: int = 0,
        indirect: int = 0,
        to: FrameCell | None = None,
    ) -> FrameCell:
        result = to or self._frame.cell()
        self._add(flags, {**operands, "c": result}, k, constant, indirect=indirect)
        if to is None:
            self._made.add(result)
        return result

    def _jump(self, a: FrameCell, target: Label, *, goes: bool = True) -> FrameCell:
        """Go to a place if a cell is 0; return 1 if it is, else 0."""
        inverse, result = self._frame.cell(), self._frame.cell()
        if not goes:
            self.labels[target] = len(self.instructions) + 1
        self._add(("jump",), {"a": a, "b": inverse, "c": result}, target=target)
        return result

    def _put(self, label: Label) -> None:
        self.labels[label] = len(self.instructions)

    def _enter(self, cells: Sequence[FrameCell], head: Label) -> None:
        """Write the first cells of the next frame, and go there."""
        self._require_reach(cells)
        for place, cell in enumerate(cells):
            if cell in self._made:
                self._made.remove(cell)
                self._frame.hand_on(cell, place)
            else:
                self._add((), {"a": cell, "c": FrameCell(self._frame, place, is_next=True)}, 1)
        self._add(("call",), {"a": self._frame.cell()}, self._frame, target=head)

    def _begin(self, count: int) -> list[FrameCell]:
        """Begin a frame; return its first cells."""
        self._frame = _Frame()
        return [self._frame.cell() for _ in range(count)]


def _source(function: Routine) -> str:
    """Return the line of a program that called this module."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename in (__file__, _CONTEXTS) and frame.f_back is not None:
        frame = frame.f_back
    return f"{function.name}, line {frame.f_lineno} of {frame.f_code.co_filename.rsplit('/', 1)[-1]}"


_CONTEXTS = contextmanager.__code__.co_filename
