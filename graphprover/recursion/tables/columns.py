"""The columns of the table `machine`, which mean other things in rows of each kind.

A row is a step of the processor (steps.py), a part of a segment of an opened row (segments.py), or a node of a Merkle
tree (nodes.py). Each of these modules has a view: a function that names the cells of a row of its kind. One table of
few columns is cheaper than three: each query of a proof opens a whole row of each table. Beside all of them, each row
has a cell of memory (memory.py).
"""

from types import SimpleNamespace

from graphprover.air.columns import Columns

KINDS = ("step", "quarter", "inner", "whole", "node")
SPECS = (
    # The kind of a row: at most one is 1.
    "step",
    "quarter[4]",  # of a block of a segment, in their order
    "inner",  # the end of a segment whose digest is a chaining value
    "whole",  # the end of a segment whose digest is the opened row's
    "node",
    # Cells by kind.
    "flag[10]",  # each is 0 or 1
    "asked[2]",  # lookups of two messages that the row provides
    "cell[4][3]",
    "at[4]",
    "sum[2][3]",
    "half[8]",
    "number",
    "counter",
    "base",
    # A cell of memory.
    "address",
    "value[3]",
    "looked_up",
)

_COLUMNS = Columns(SPECS)
WIDTH = _COLUMNS.width
NUMBERS = SimpleNamespace(**{name: family.symbols(lambda i: i) for name, family in _COLUMNS.families.items()})
"""The columns by name, as a row for the views."""
