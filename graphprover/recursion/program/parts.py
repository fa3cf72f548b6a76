"""The parts that the functions of the verifier's program share."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.recursion.head.words import ELEMENT_CELLS, SHIFT, HeadWord
from graphprover.recursion.program.assembler import Assembler, FrameCell, Hint, HintKind, Routine
from graphprover.recursion.tables.steps import FIRST_FRAME

HIGH = 1 << 32
DIGEST_NUMBERS = 8


@dataclass(eq=False)
class VerifierParts:
    """The program so far."""

    program: Assembler
    x: int = 0  # address of the root that generates the extension
    x2: int = 0  # of its square
    both: int = 0  # of their sum

    def fixed(self, f: Routine, *addresses: int) -> list[FrameCell]:
        """Return cells of the first frame, by their addresses."""
        first = f.constant(FIRST_FRAME)
        return [f.load(first, address - FIRST_FRAME) for address in addresses]


def words(f: Routine, head: FrameCell, *fields: HeadWord) -> list[FrameCell]:
    """Return words of the head at an address."""
    return [f.load(head, SHIFT * field) for field in fields]


def argument(f: Routine, number: int) -> FrameCell:
    """Return an argument of a function after a loop, which has other frames."""
    return f.load(f.home, f.arguments[number].place)


def record(f: Routine, pointer: FrameCell, numbers: Sequence[int]) -> list[FrameCell]:
    """Return words of a record at an address."""
    return [f.load(pointer, SHIFT * number) for number in numbers]


def make_elements(f: Routine, x: FrameCell, count: int) -> None:
    """Make elements of three words each, which the frame begins with: element i is the cell 6 i + 1."""
    for i in range(count):
        first, _, second, between, third, _ = range(ELEMENT_CELLS * i, ELEMENT_CELLS * (i + 1))
        upper = f.multiply_add(f.data[third], x, f.data[second], to=f.data[between])
        f.multiply_add(upper, x, f.data[first], to=f.data[first + 1])


def digest_words(f: Routine, base: FrameCell, numbers: Sequence[FrameCell]) -> None:
    """Require the four words at an address to be a digest, given by its eight numbers of 32 bits."""
    for word in range(DIGEST_WORDS):
        f.store(base, SHIFT * word, f.add(numbers[2 * word + 1], numbers[2 * word], k=HIGH))


def provided_digest(f: Routine, parts: VerifierParts, place: FrameCell) -> list[FrameCell]:
    """Provide a digest at a place; return its eight numbers, which are base elements."""
    x, x2 = parts.fixed(f, parts.x, parts.x2)
    numbers = [f.hint(Hint(HintKind.DIGEST, place, number=k)) for k in range(DIGEST_NUMBERS)]
    for number in numbers:
        f.require_base(number)
    first, second = (f.multiply_add(numbers[i + 2], x2, f.multiply_add(numbers[i + 1], x, numbers[i])) for i in (0, 3))
    f.cap(place, (first, second, f.multiply_add(numbers[7], x, numbers[6])))
    return numbers
