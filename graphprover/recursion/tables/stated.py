"""The facts that a statement about openings gives: caps, contents of memory, and chunks of opened rows.

The verifier has their preprocessed columns from the statement, and the digest of `PublicCap` from its public values.
"""

import numpy as np

from graphprover.air import Air, TableBuilder
from graphprover.field import EXTENSION_DEGREE
from graphprover.recursion.tables.buses import MACHINE, MEMORY, Tag, message

CHUNK_ELEMENTS = 13  # of a message about a chunk


def rows_for(count: int) -> int:
    """Return the rows of a table that has this number of them, at least one."""
    return 1 << max(0, count - 1).bit_length()


class Stated(Air):
    """Facts, one a row; ``on`` is 0 in the rows after them."""

    columns = ("asked",)  # lookups of the fact

    def __init__(self, *facts: np.ndarray) -> None:
        """Take the columns of the facts in their order: uint64 (facts,) or (columns, facts)."""
        columns = np.concatenate([np.atleast_2d(fact) for fact in facts])
        count = columns.shape[1]
        self._trace = np.zeros((1 + len(columns), rows_for(count)), dtype=np.uint64)
        self._trace[0, :count] = 1
        self._trace[1:, :count] = columns

    @property
    def rows(self) -> int:
        return self._trace.shape[1]

    def preprocessed_trace(self) -> np.ndarray:
        return self._trace


class Caps(Stated):
    """Digests at places of Merkle trees."""

    preprocessed = ("on", "digest_place[3]", "digest[8]")

    def define(self, t: TableBuilder) -> None:
        t.provide(MACHINE, message(Tag.PLACE, *t.digest_place, *t.digest), t.on * t.asked)


class PublicCap(Air):
    """A digest of public values at one place of a Merkle tree, of which the verifying key is independent."""

    public_values = ("digest[8]",)
    columns = ("asked",)  # lookups of the digest, in the first row

    def __init__(self, tree: int, layer: int, index: int) -> None:
        """Take the place."""
        self._place = tree, layer, index

    def define(self, t: TableBuilder) -> None:
        t.transition(t.next.asked, "the first row has all lookups")
        t.provide(MACHINE, message(Tag.PLACE, *self._place, *t.public.digest), t.asked)


class Cells(Stated):
    """The contents of memory, from address 0 on."""

    preprocessed = ("on", "address", f"value[{EXTENSION_DEGREE}]")

    def define(self, t: TableBuilder) -> None:
        t.provide(MEMORY, [t.address, *t.value], t.on * t.asked)


class Chunks(Stated):
    """Chunks of opened rows, which are looked up once each."""

    preprocessed = ("on", f"element[{CHUNK_ELEMENTS}]")
    unread = ("asked",)

    def define(self, t: TableBuilder) -> None:
        t.lookup(MACHINE, message(Tag.ROW, *t.element), t.on, weight=1)
