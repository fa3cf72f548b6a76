"""Memory: one extension element for each address, written once, and facts about it.

Each row of `machine` has the cell at the row's number. So there is one value for each address.
"""

from graphprover.air import TableBuilder
from graphprover.recursion.tables.buses import MEMORY
from graphprover.recursion.tables.columns import NUMBERS


def define_memory(t: TableBuilder) -> None:
    """State the rules of memory: the value of each address, and the number of its lookups."""
    t.first_row(t.address, "addresses of memory begin with 0")
    t.transition(t.next.address - t.address - 1, "addresses of memory follow each other")
    t.provide(MEMORY, [t.address, *t.value], t.looked_up)


ADDRESS, VALUE, LOOKED_UP = NUMBERS.address, NUMBERS.value[0], NUMBERS.looked_up
