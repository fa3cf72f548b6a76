"""Memory: one extension element for each address, written once, and facts about it.

The table has consecutive addresses from 0 on, so there is one value for each address.
"""

from graphprover.air import Air, TableBuilder
from graphprover.field import EXTENSION_DEGREE
from graphprover.recursion.tables.buses import MEMORY


class Memory(Air):
    """The value of each address, and the number of its lookups."""

    columns = ("address", f"value[{EXTENSION_DEGREE}]", "asked")

    def define(self, t: TableBuilder) -> None:
        t.first_row(t.address, "addresses begin with 0")
        t.transition(t.next.address - t.address - 1, "addresses follow each other")
        t.provide(MEMORY, [t.address, *t.value], t.asked)
