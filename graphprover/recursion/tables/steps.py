"""A small processor over extension elements: one instruction a row of `machine`.

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
- `row`: there is a segment with a chunk of an opened row at the place a = (tree, layer, index), of the kind k, with b =
  (counter, first address, end address) and the sums c and d.
- `cap`: provides the digest at a place a, whose words are b, c, and the first two coordinates of d, as often as it is
  looked up. The count is in the row, not in memory: a program could not show that a cell is in the base field.
- `gate`: c = l d b + k b + (1 - l) d, with d at the address a_0 and b at the address a_1, plus their constants. So it
  is a product d b, a sum d + b or a difference d - b of cells that memory names.
- `halt`: nothing follows.

Why a run does what its program says:

- *Order.* The first row is a step, at instruction 0 and with the frame pointer 1. A step that does not halt is followed
  by one at the instruction and with the frame pointer that it gives. The last row is no step or halts. So the run
  halts. No other row is followed by a step.
- *Instructions* are looked up by their address, all flags as one number. Flags are 0 or 1, so their number determines
  them.
- *Frames* may overlap: memory is a function, so all relations hold for the values of cells, in whatever frames they are
  named. A prover gains nothing from a frame at another place. Memory, an instruction and a frame pointer determine all
  that follows, so a run that halts has no step twice. So each call finds its own instruction and frame in the first
  cell of a frame, and returns to them.
- *Flags.* The program is fixed, so its author answers for combinations of flags: `indirect` is a flag of arithmetic
  instructions alone. A gate with it would have its d at another address, and a request could not have any c.
- *Addresses from memory* are elements of the base field: coordinates of a cell. A lookup is at an address of memory,
  so the value of an operand is the one of the cell at a_0 or a_1 plus the constant, whatever number that is.
- *Gates.* A row with `gate` looks up all four operands, and its relation is the only one of arithmetic that is on: it
  determines c from l, k, d and b.
- *Free cells.* A cell that instructions do not determine is free for the prover: an inverse, a frame's address, sums of
  rows before they are looked up. Programs must constrain them.
"""

from dataclasses import dataclass
from typing import Any

from graphprover.air import Expr, TableBuilder
from graphprover.air.linear import linear
from graphprover.field import EXTENSION_DEGREE
from graphprover.recursion.tables.buses import MessageTag, message
from graphprover.recursion.tables.columns import NUMBERS
from graphprover.recursion.tables.slots import SlotMessage, Slots

OPERANDS = ("a", "b", "c", "d")
FLAGS = ("multiply", "add", "indirect", "jump", "call", "back", "row", "cap", "gate", "halt")
FIRST_FRAME = 1  # the frame pointer of the first row
USES = {"b": ("multiply", "jump", "row", "cap", "gate"), "d": ("add", "row", "cap", "gate")}
"""The flags of steps that look up an operand. Each step looks up the others, a and c."""
MOST_LOOKUPS = 5  # of a cell by a row


@dataclass(frozen=True)
class StepRow:
    """The cells of a row with a step."""

    on: Any
    pc: Any  # address of the instruction
    frame: Any
    multiply: Any
    add: Any
    indirect: Any
    jump: Any
    call: Any
    back: Any
    row: Any
    cap: Any
    gate: Any
    halt: Any
    k: Any
    l: Any  # noqa: E741
    offset_b: Any
    offset_d: Any
    at: Any  # the address of each operand; the offsets of a and c are their addresses minus the frame pointer
    a: Any
    b: Any
    c: Any
    d: Any
    asked: Any  # lookups of the digest of a cap


def step_of(row: Any) -> StepRow:
    """Return the cells of a row of `machine` with a step."""
    k, l, offset_b, offset_d = row.half[:4]  # noqa: E741
    a, b, c, d = row.cell
    return StepRow(
        on=row.step,
        pc=row.number,
        frame=row.counter,
        **dict(zip(FLAGS, row.flag, strict=True)),
        k=k,
        l=l,
        offset_b=offset_b,
        offset_d=offset_d,
        at=row.at,
        a=a,
        b=b,
        c=c,
        d=d,
        asked=row.asked[0],
    )


def define_steps(t: TableBuilder) -> None:
    """State the rules of steps."""
    of, n = step_of(t), step_of(t.next)
    _order(t, of, n)
    _addresses(t, of)
    _arithmetic(t, of)
    _gates(t, of)
    _jumps(t, of, n)


def _order(t: TableBuilder, of: StepRow, n: StepRow) -> None:
    t.first_row(of.on - 1, "a run has a first step")
    t.first_row(of.pc, "a run begins with instruction 0")
    t.first_row(of.frame - FIRST_FRAME, "a run begins with the first frame")
    t.transition(n.on * (1 - of.on), "steps are the first rows")
    t.transition(of.on * (n.on + of.halt - 1), "a run goes on until it halts")
    t.last_row(of.on * (1 - of.halt), "a run halts")


def _addresses(t: TableBuilder, of: StepRow) -> None:
    _, at_b, _, at_d = of.at
    t.every_row(of.on * (at_b - of.frame - of.offset_b - of.gate * (of.a[1] - of.frame)), "the address of b")
    from_memory = of.indirect + of.gate
    t.every_row(of.on * (at_d - of.frame - of.offset_d - from_memory * (of.a[0] - of.frame)), "the address of d")


def _arithmetic(t: TableBuilder, of: StepRow) -> None:
    other = of.jump + of.call + of.back + of.row + of.cap + of.gate + of.halt
    for i, product in enumerate(_product(of.a, of.b)):
        value = of.multiply * product + of.k * of.a[i] + of.add * of.d[i]
        value = value + of.l if i == 0 else value
        t.every_row(of.on * (1 - other) * (of.c[i] - value), "c = a b + k a + d + l")
    for cell in of.c[1:]:
        t.every_row(of.on * of.indirect * (1 - of.add) * cell, "c is in the base field")


def _gates(t: TableBuilder, of: StepRow) -> None:
    for i, product in enumerate(_product(of.d, of.b)):
        value = of.l * product + of.k * of.b[i] + (1 - of.l) * of.d[i]
        t.every_row(of.on * of.gate * (of.c[i] - value), "a gate has c = l d b + k b + (1 - l) d")


def _jumps(t: TableBuilder, of: StepRow, n: StepRow) -> None:
    jump = of.on * of.jump
    for i, product in enumerate(_product(of.a, of.b)):
        t.every_row(jump * (of.c[i] + product - int(i == 0)), "a jump has c = 1 - a b")
        t.every_row(jump * (of.a[i] * of.c[0]), "a jump has a = 0 or c = 0")
    for cell in of.c[1:]:  # else b could give them any value if a is not 0
        t.every_row(jump * cell, "a jump has c in the base field")
    for cell, value in zip(of.a, (of.pc + 1, of.frame, 0), strict=True):
        t.every_row(of.on * of.call * (cell - value), "a call notes the instruction and the frame after it")
    pc = of.pc + 1 + of.jump * of.c[0] * of.l + of.call * (of.l - of.pc - 1) + of.back * (of.a[0] - of.pc - 1)
    t.transition(n.on * (n.pc - pc), "the next instruction")
    frame = of.frame + of.call * (of.k + of.multiply * (of.b[0] - of.frame)) + of.back * (of.a[1] - of.frame)
    t.transition(n.on * (n.frame - frame), "the next frame")


def lookups_of_operands(t: TableBuilder) -> list[Expr]:
    """Return how often a step looks up each operand."""
    of = step_of(t)
    return [
        of.on * linear([(1, getattr(of, flag)) for flag in USES[name]]) if name in USES else of.on for name in OPERANDS
    ]


def step_messages(t: TableBuilder) -> Slots:
    """Return the messages of a step."""
    of = step_of(t)
    flags = linear([(1 << i, getattr(of, name)) for i, name in enumerate(FLAGS)])
    at_a, _, at_c, _ = of.at
    offsets = at_a - of.frame, of.offset_b, at_c - of.frame, of.offset_d
    return Slots(
        answers=(SlotMessage(of.on, 1, message(MessageTag.STEP, of.pc, flags, of.k, of.l, *offsets)),),
        asks=(SlotMessage(of.on, of.row, message(MessageTag.ROW, *of.a, of.k, *of.b, *of.c, *of.d)),),
        first=(SlotMessage(of.on, of.cap, message(MessageTag.PLACE, *of.a, *of.b, *of.c, *of.d[:2])),),
    )


def _product(a: list[Expr], b: list[Expr]) -> list[Expr]:
    """Return the coordinates of a product: X^3 = X + 1."""
    c3 = a[1] * b[2] + a[2] * b[1]
    c4 = a[2] * b[2]
    return [a[0] * b[0] + c3, a[0] * b[1] + a[1] * b[0] + c3 + c4, a[0] * b[2] + a[1] * b[1] + a[2] * b[0] + c4]


assert len(OPERANDS) == EXTENSION_DEGREE + 1
COLUMNS = step_of(NUMBERS)
