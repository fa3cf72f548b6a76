"""The call that absorbs a block of Keccak's sponge: 17 words are xored into a state, which is then permuted.

A call takes five rows, a plane of the state each: the five words with one y. ``within[k]`` is 1 in the rows 0 to k, so
the flag of a row is the difference of two neighbours. A row accesses its words of the state and reads its words of the
block. It sends the plane with the block xored in to the permutation's tables and receives the plane after the
permutation, as `call.KeccakCall` does for all planes in a row. All rows of a call have its clock.

With bytes, x ^ y = x + y - 2 (x & y). The lookups of x & y show that all three are bytes. The block has no words for
the last three words of row 3 and for row 4: there its bytes are 0. The planes after the permutation have limbs of 32
bits, by the permutation's tables.

The block is read at SLOT_B, and the state is accessed at SLOT_MEMORY. So both may overlap: the block is as it was
before the call.
"""

from itertools import pairwise
from typing import Any

from graphprover.air import Expr, TableBuilder
from graphprover.vm.accelerators.host_call import Accelerator, Cuda, HostCall, Operand
from graphprover.vm.accelerators.keccak.permutation import WORDS
from graphprover.vm.accelerators.keccak.planes import PERMUTATION, PLANES, PlaneTag, plane_limbs
from graphprover.vm.accelerators.table import CallBuilder, CallTable
from graphprover.vm.program.isa import A0, A1, A7
from graphprover.vm.tables.buses import VM, Tag, message
from graphprover.vm.tables.clock import SLOT_A, SLOT_B, SLOT_MEMORY
from graphprover.vm.tables.logic import from_bytes

KECCAK_ABSORB = 1034  # the words at a1 are xored into the first of the state at a0, then Keccak-f[1600] permutes it
RATE_WORDS = 17  # that a sponge absorbs before each permutation
HOST_CALL = HostCall(KECCAK_ABSORB, "keccak_absorb", (Operand(1, RATE_WORDS, SLOT_B), Operand(0, WORDS, SLOT_MEMORY)))
PLANE_WORDS = 5
LAST_READ = RATE_WORDS // PLANE_WORDS  # the last row that reads words of the block
READ_THERE = RATE_WORDS % PLANE_WORDS


class Absorb(CallTable):
    """Calls that absorb a block, five rows each."""

    name, host_calls = "keccak_absorb", (HOST_CALL,)
    cells = (
        "on",
        f"within[{PLANES - 1}]",
        "clk",
        "state",  # the address of the state, and of the block
        "block",
        "register",  # what rows 0, 1 and 2 read of a7, a1 and a0
        "t_pc",  # in rows 0, 1 and 2 the time before of this register, in row 3 the instruction's address
        f"old[{PLANE_WORDS}][8]",  # bytes of the state's words before
        f"added[{PLANE_WORDS}][8]",  # bytes of the block's words
        f"both[{PLANE_WORDS}][8]",  # the bits that are 1 in both
        f"new[{PLANE_WORDS}][2]",  # limbs of the state's words after
        f"old_t[{PLANE_WORDS}]",  # times before of the words
        f"added_t[{PLANE_WORDS}]",
    )

    def calls(self, t: CallBuilder) -> None:
        rows = _rows(t.t)
        self._rows(t.t, rows)
        self._messages(t, rows)

    @staticmethod
    def _rows(t: TableBuilder, rows: list[Expr]) -> None:
        n = t.next
        t.boolean(rows[0], "a row is the first or not")
        for row, following in zip(rows, _rows(n)[1:], strict=False):
            t.every_row(following - row, "rows follow each other")
        ongoing = t.within[-1]
        for now, following in ((t.clk, n.clk), (t.state, n.state), (t.block, n.block)):
            t.every_row(ongoing * (following - now), "the rows of a call are of one cycle and its operands")
        value = rows[0] * KECCAK_ABSORB + rows[1] * t.block + rows[2] * t.state
        t.every_row(value - t.within[2] * t.register, "the registers hold the number and the addresses")
        for word, added in enumerate(t.added):
            for limb in (added[:4], added[4:]):
                t.every_row((1 - _read(t, word)) * from_bytes(limb), "words that are not read are 0")

    @staticmethod
    def _messages(row: CallBuilder, rows: list[Expr]) -> None:
        t = row.t
        plane = sum((k * flag for k, flag in enumerate(rows[2:], 2)), rows[1])
        before, after = [], []
        for i in range(PLANE_WORDS):
            for old, added, both in zip(t.old[i], t.added[i], t.both[i], strict=True):
                t.lookup(VM, message(Tag.AND, old, added, both), t.on, weight=1)
            x, y, both = ((from_bytes(of[i][:4]), from_bytes(of[i][4:])) for of in (t.old, t.added, t.both))
            offset = 8 * PLANE_WORDS * plane + 8 * i
            row.access(t.block + offset, t.added_t[i], SLOT_B, y, y, _read(t, i))
            row.access(t.state + offset, t.old_t[i], SLOT_MEMORY, x, t.new[i], t.on)
            before.append([one + other - 2 * common for one, other, common in zip(x, y, both, strict=True)])
            after.append(t.new[i])
        t.send(PERMUTATION, plane_limbs(PlaneTag.ASK, t.clk, plane, before), t.on, weight=1)
        t.receive(PERMUTATION, plane_limbs(PlaneTag.ANSWER, t.clk, plane, after), t.on, weight=1)
        register = A7 * rows[0] + A1 * rows[1] + A0 * rows[2]
        slot = SLOT_A + (SLOT_B - SLOT_A) * rows[2]
        row.register(register, t.t_pc, slot, t.register, t.within[2])
        row.instruction(t.t_pc, rows[3])


def _rows(t: Any) -> list[Expr]:
    """Return the flag of each row of a call."""
    within = [*t.within, t.on]
    return [within[0], *(to - before for before, to in pairwise(within))]


def _read(t: TableBuilder, word: int) -> Expr:
    """Return whether a row reads the block's word for this word of its plane."""
    found: Expr = t.within[LAST_READ if word < READ_THERE else LAST_READ - 1]
    return found


ABSORB = Accelerator(
    (HOST_CALL,),
    Absorb,
    "keccak.absorb_cpu",
    rows=PLANES,
    cuda=Cuda("keccak/absorb.cu", {"RATE_WORDS": RATE_WORDS, "WORDS": WORDS, "PLANE_WORDS": PLANE_WORDS}),
    permutes=True,
)
