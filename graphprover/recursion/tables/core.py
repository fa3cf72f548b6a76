"""A small processor over extension elements: one instruction a row.

Memory is written once: it is a function from addresses to extension elements that the prover chooses, and an
instruction states a relation of up to four of its cells, the operands a, b, c and d. So there is no difference between
reading and writing. Operands are at the frame pointer plus a constant of the instruction; d can be at the address a_0
plus the constant instead (`indirect`), and a gate has both d and b at addresses from memory. Here f is the frame
pointer, k and l are constants of the instruction, x_i is coordinate i of x, and one row does one of these:

- *arithmetic*, for instructions without another flag: c = [multiply] a b + k a + [add] d + l. With `indirect` and
  without `add`, c_1 = c_2 = 0, too: c is in the base field.
- `jump`: c = 1 - a b, a c_0 = 0 and c_1 = c_2 = 0, so c is 1 if a is 0, else 0; the next instruction is l further if c
  is 1. The cell b is the inverse of a, or anything if a is 0.
- `call`: a = (address of the instruction after this one, f, 0); the next instruction is at l. The frame pointer becomes
  f + k, or b_0 with `multiply`.
- `back`: the next instruction is at a_0, with the frame pointer a_1.
- `row`: the table `row` has a chunk of an opened row at the place a = (tree, layer, index), of the kind k, with b =
  (counter, first address, end address) and the sums c and d.
- `cap`: provides the digest at a place a, whose words are b, c, and the first two coordinates of d, as often as it is
  looked up. The count is in the row, not in memory: a program could not show that a cell is in the base field.
- `gate`: c = l d b + k b + (1 - l) d, with d at the address a_0 and b at the address a_1, plus their constants. So it
  is a product d b, a sum d + b or a difference d - b of cells that memory names.
- `halt`: nothing follows.

Why a run does what its program says:

- *Order.* The first row is on, at instruction 0 and with the frame pointer 1. A row that is on and does not halt is
  followed by one that is on, at the instruction and with the frame pointer that it gives. The last row is off or halts.
  So the run halts.
- *Instructions* are looked up by their address, all flags as one number. Flags are 0 or 1, so their number determines
  them.
- *Frames* may overlap: memory is a function, so all relations hold for the values of cells, in whatever frames they are
  named. A prover gains nothing from a frame at another place. Memory, an instruction and a frame pointer determine all
  that follows, so a run that halts has no step twice. So each call finds its own instruction and frame in the first
  cell of a frame, and returns to them.
- *Flags.* The program is fixed, so its author answers for combinations of flags: `indirect` is a flag of arithmetic
  instructions alone. A gate with it would have its d at another address, and a request could not have any c.
- *Addresses from memory* are elements of the base field: coordinates of a cell. A lookup is at an address of the table
  `memory`, so the value of an operand is the one of the cell at a_0 or a_1 plus the constant, whatever number that is.
- *Gates.* A row with `gate` looks up all four operands, and its relation is the only one of arithmetic that is on: it
  determines c from l, k, d and b.
- *Free cells.* A cell that instructions do not determine is free for the prover: an inverse, a frame's address, sums of
  rows before they are looked up. Programs must constrain them.
"""

from typing import Any

from graphprover.air import Air, Expr, TableBuilder
from graphprover.air.columns import Columns
from graphprover.air.linear import linear
from graphprover.field import EXTENSION_DEGREE
from graphprover.recursion.tables.buses import MACHINE, MEMORY, Tag, message

OPERANDS = ("a", "b", "c", "d")
FLAGS = ("multiply", "add", "indirect", "jump", "call", "back", "row", "cap", "gate", "halt")
FIRST_FRAME = 1  # the frame pointer of the first row


class Core(Air):
    """The steps of one run, then rows that are off."""

    columns = (
        "on",
        "pc",  # address of the instruction
        "frame",
        *FLAGS,
        "k",
        "l",
        "offset[4]",  # of the operands
        "at_b",  # the address of b
        "at_d",  # the address of d
        "asked",  # lookups of the digest of a cap
        *(f"{name}[3]" for name in OPERANDS),
    )

    def define(self, t: TableBuilder) -> None:
        self._order(t)
        self._instruction(t)
        self._operands(t)
        self._arithmetic(t)
        self._gates(t)
        self._jumps(t)
        self._requests(t)

    @staticmethod
    def _order(t: TableBuilder) -> None:
        n = t.next
        t.boolean(t.on, "a row is on or off")
        t.first_row(t.on - 1, "a run has a first step")
        t.first_row(t.pc, "a run begins with instruction 0")
        t.first_row(t.frame - FIRST_FRAME, "a run begins with the first frame")
        t.transition(n.on * (1 - t.on), "rows that are off are the last")
        t.transition((t.on - t.halt) * (1 - n.on), "a run goes on until it halts")
        t.transition(t.halt * n.on, "nothing follows after a halt")
        t.last_row(t.on - t.halt, "a run halts")

    @staticmethod
    def _instruction(t: TableBuilder) -> None:
        for name in FLAGS:
            t.boolean(t[name], "a flag")
            t.every_row((1 - t.on) * t[name], "rows that are off do nothing")
        flags = linear([(1 << i, t[name]) for i, name in enumerate(FLAGS)])
        t.lookup(MACHINE, message(Tag.STEP, t.pc, flags, t.k, t.l, *t.offset), t.on, weight=1)

    @staticmethod
    def _operands(t: TableBuilder) -> None:
        t.every_row(t.at_b - t.frame - t.offset[1] - t.gate * (t.a[1] - t.frame), "the address of b")
        from_memory = t.indirect + t.gate
        t.every_row(t.at_d - t.frame - t.offset[3] - from_memory * (t.a[0] - t.frame), "the address of d")
        addresses = [t.frame + t.offset[0], t.at_b, t.frame + t.offset[2], t.at_d]
        for name, address, used in zip(OPERANDS, addresses, uses_of(t), strict=True):
            t.lookup(MEMORY, [address, *t[name]], used, weight=4)

    @staticmethod
    def _arithmetic(t: TableBuilder) -> None:
        other = linear([(1, t[name]) for name in ("jump", "call", "back", "row", "cap", "gate", "halt")])
        for i, product in enumerate(_product(t.a, t.b)):
            value = t.multiply * product + t.k * t.a[i] + t.add * t.d[i]
            value = value + t.l if i == 0 else value
            t.every_row((t.on - other) * (t.c[i] - value), "c = a b + k a + d + l")
        for cell in t.c[1:]:
            t.every_row(t.indirect * (1 - t.add) * cell, "c is in the base field")

    @staticmethod
    def _gates(t: TableBuilder) -> None:
        for i, product in enumerate(_product(t.d, t.b)):
            value = t.l * product + t.k * t.b[i] + (1 - t.l) * t.d[i]
            t.every_row(t.gate * (t.c[i] - value), "a gate has c = l d b + k b + (1 - l) d")

    @staticmethod
    def _jumps(t: TableBuilder) -> None:
        n = t.next
        for i, product in enumerate(_product(t.a, t.b)):
            t.every_row(t.jump * (t.c[i] + product - int(i == 0)), "a jump has c = 1 - a b")
            t.every_row(t.jump * (t.a[i] * t.c[0]), "a jump has a = 0 or c = 0")
        for cell in t.c[1:]:  # else b could give them any value if a is not 0
            t.every_row(t.jump * cell, "a jump has c in the base field")
        for cell, value in zip(t.a, (t.pc + 1, t.frame, 0), strict=True):
            t.every_row(t.call * (cell - value), "a call notes the instruction and the frame after it")
        back = t.back
        pc = t.pc + 1 + t.jump * t.c[0] * t.l + t.call * (t.l - t.pc - 1) + back * (t.a[0] - t.pc - 1)
        t.transition(n.on * (n.pc - pc), "the next instruction")
        frame = t.frame + t.call * (t.k + t.multiply * (t.b[0] - t.frame)) + back * (t.a[1] - t.frame)
        t.transition(n.on * (n.frame - frame), "the next frame")

    @staticmethod
    def _requests(t: TableBuilder) -> None:
        t.lookup(MACHINE, message(Tag.ROW, *t.a, t.k, *t.b, *t.c, *t.d), t.row, weight=1)
        words = *t.b, *t.c, *t.d[:2]
        t.every_row((1 - t.cap) * t.asked, "only caps are looked up")
        t.provide(MACHINE, message(Tag.PLACE, *t.a, *words), t.asked)


def uses_of(row: Any) -> list[Any]:
    """Return how often a row looks up each operand."""
    names = (("on",), ("multiply", "jump", "row", "cap", "gate"), ("on",), ("add", "row", "cap", "gate"))
    found = []
    for used in names:
        total = row[used[0]]
        for name in used[1:]:
            total = total + row[name]
        found.append(total)
    return found


def _product(a: list[Expr], b: list[Expr]) -> list[Expr]:
    """Return the coordinates of a product: X^3 = X + 1."""
    c3 = a[1] * b[2] + a[2] * b[1]
    c4 = a[2] * b[2]
    return [a[0] * b[0] + c3, a[0] * b[1] + a[1] * b[0] + c3 + c4, a[0] * b[2] + a[1] * b[1] + a[2] * b[0] + c4]


assert len(OPERANDS) == EXTENSION_DEGREE + 1
_COLUMNS = Columns(Core.columns)
WIDTH = _COLUMNS.width
FIRST_COLUMNS = {name: family.offset for name, family in _COLUMNS.families.items()}
