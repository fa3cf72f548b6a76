"""The planes of a state, on their way from a caller's limbs to the chunks of `keccak_classes` and back.

They answer the same messages as `keccak_planes`. A plane takes 17 rows: one for each class from 15 down, and one with
the limbs. A row has the sums of its class, and limbs of the classes before it. The next row has twice these and the
bits of this class.
"""

from graphprover.air import Air, TableBuilder
from graphprover.air.columns import Columns
from graphprover.vm.accelerators.keccak.classes import CHUNKS, LAST, SUMS
from graphprover.vm.accelerators.keccak.classes import message as chunks_message
from graphprover.vm.accelerators.keccak.digits import CLASSES, DIGITS, Lookup
from graphprover.vm.accelerators.keccak.planes import MESSAGES, PERMUTATION, PLANES, PlaneTag, message
from graphprover.vm.tables.step import shared

PLANE_ROWS = CLASSES + 1
ROWS = 2 * PLANES * PLANE_ROWS  # of a permutation: its planes before and after


class KeccakLimbs(Air):
    """Blocks of 17 rows, a plane each, in any places; other rows are idle.

    A block is rows with ``on``, then one with ``ends``. The first of its rows is after a row without ``on``; so its
    class is 15 and its limbs are 0. Classes fall by one and are −1 in the last row, so a block has all 16 classes.
    """

    name = "keccak_limbs"
    columns = (
        "on",  # 1 in a row of a class
        "ends",  # 1 in a row with the limbs
        "after",  # 1 for a plane after the permutation
        "call",
        "plane",
        "of_class",
        "sum[5]",  # of chunks, by word
        "low[5]",  # the low limb of the classes before, divided by 2^(class + 1)
        "high[5]",
    )

    def define(self, t: TableBuilder) -> None:
        n = t.next
        t.every_row(shared(t.on, MESSAGES), "a row has a class or none")
        t.boolean(t.ends)
        t.boolean(t.after)
        t.every_row(t.on * (1 - n.on - n.ends), "after a class comes another, or the limbs")
        t.every_row((1 - t.on) * n.ends, "limbs are after a class")
        t.every_row(t.on * t.ends, "a row has a class or the limbs")
        begins = (1 - t.on) * n.on
        t.every_row(begins * (n.of_class - (CLASSES - 1)), "the first class")
        t.every_row(t.on * (n.of_class - t.of_class + 1), "classes fall")
        t.every_row(t.ends * (t.of_class + 1), "after the last class")
        for name in ("after", "call", "plane"):
            t.every_row(t.on * (n[name] - t[name]), "a block is of one plane")
        for name in ("low", "high"):
            for limb in n[name]:
                t.every_row(begins * limb, "no class before")
        for x in range(5):
            low, high = (n[name][x] - 2 * t[name][x] for name in ("low", "high"))
            t.lookup(DIGITS, [int(Lookup.HALVES), t.sum[x], low, high], t.on, weight=1)
        place = t.of_class + LAST * t.after
        t.receive(CHUNKS, chunks_message(SUMS + t.plane, t.call, place, t.sum), t.on, weight=1)
        limbs = [limb for word in zip(t.low, t.high, strict=True) for limb in word]
        fields = message(PlaneTag.ASK + t.after, t.call, t.plane, *limbs)
        t.receive(PERMUTATION, fields, t.ends * (1 - 2 * t.after), weight=1)


_COLUMNS = Columns(KeccakLimbs.columns)
WIDTH = _COLUMNS.width
FIRST_COLUMNS = {name: family.offset for name, family in _COLUMNS.families.items()}
