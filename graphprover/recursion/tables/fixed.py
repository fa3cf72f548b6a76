"""The preprocessed columns of all layers, with xors of bytes and the program; and a public digest.

- The xors of all pairs of bytes, on three buses. A lookup of an xor also shows that x and y are bytes.
- All numbers of 16 bits.
- The program: an instruction for each address.
- The digest of the list of heads, from public values, so the verifying key is independent of it. It is at one place of
  a Merkle tree.
"""

import numpy as np

from graphprover.air import Air, TableBuilder
from graphprover.air.columns import Columns
from graphprover.recursion.tables.buses import HALVES, MACHINE, XOR, XOR_4, XOR_7, MessageTag, message

ROWS = 1 << 16  # of the table: row 256 x + y has the bytes x and y, and the instruction with this address
XORS = 3  # columns with counts of xors, the first ones
FIELDS = 7  # of an instruction: its flags as one number, two constants, the offsets of four operands


class Fixed(Air):
    """All pairs of bytes with their xor z, which are all numbers of 16 bits, and all instructions."""

    preprocessed = (
        "x",
        "y",
        "high_4",  # z >> 4
        "low_4",  # z & 15
        "high_7",  # z >> 7
        f"field[{FIELDS}]",
    )
    public_values = ("digest[8]",)
    columns = (
        # Lookups of the messages of a row.
        "count",
        "count_4",
        "count_7",
        "count_half",
        "steps",
        "asked",
    )
    immutable = True

    def __init__(self, instructions: np.ndarray, place: tuple[int, int, int]) -> None:
        """Take the program and the place of the digest.

        Args:
            instructions: The fields of the instructions, uint64 (7, instructions), at most 2^16 of them.
            place: Tree, layer and index.

        Raises:
            ValueError: The program is too long.
        """
        if instructions.shape[1] > ROWS:
            raise ValueError(f"a program has at most {ROWS:,} instructions, not {instructions.shape[1]:,}")
        self._instructions = instructions
        self._place = place

    def preprocessed_trace(self) -> np.ndarray:
        """Return the columns of `ROWS` rows."""
        pairs = np.arange(ROWS, dtype=np.uint64)
        x, y = pairs >> np.uint64(8), pairs & np.uint64(255)
        z = x ^ y
        xors = np.stack([x, y, z >> np.uint64(4), z & np.uint64(15), z >> np.uint64(7)])
        spare = ROWS - self._instructions.shape[1]
        return np.concatenate([xors, np.pad(self._instructions, ((0, 0), (0, spare)))])

    def define(self, t: TableBuilder) -> None:
        z, number = 16 * t.high_4 + t.low_4, 256 * t.x + t.y
        t.provide(XOR, [t.x, t.y, z], t.count)
        t.provide(XOR_4, [t.x, t.y, t.high_4, t.low_4], t.count_4)
        t.provide(XOR_7, [t.x, t.y, t.high_7, z - 128 * t.high_7], t.count_7)
        t.provide(HALVES, [number], t.count_half)
        t.provide(MACHINE, message(MessageTag.STEP, number, *t.field), t.steps)
        t.transition(t.next.asked, "the first row has all lookups of the digest")
        t.provide(MACHINE, message(MessageTag.PLACE, *self._place, *t.public.digest), t.asked)


_COLUMNS = Columns(Fixed.columns)
WIDTH = _COLUMNS.width
FIRST_COLUMNS = {name: family.offset for name, family in _COLUMNS.families.items()}
