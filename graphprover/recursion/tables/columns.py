"""Columns of the table `machine`. Their meaning depends on the row's kind.

A row is a step of the processor (steps.py), a part of a segment of an opened row (segments.py), or a node of a Merkle
tree (nodes.py). Each of these modules has a view: a function that names the cells of a row of its kind. One table of
few columns is cheaper than three: each query of a proof opens a whole row of each table.

| cells | step | quarter of a block | end of a segment | node |
|---|---|---|---|---|
| `flag` | flags of the instruction | kind, `begin`, `last`, `root`, `absent` | kind, `absent` | the first one: `join` |
| `asked` | lookups of a cap's digest | | lookups of the chunk | lookups of both children |
| `cell` | the operands a, b, c, d | weights of two words; of a parent place, span | place, span | place, right child |
| `at` | addresses of the operands | addresses of the weights | address after the last word | left child |
| `sum` | | weighted sums so far | weighted sums | left child |
| `half` | k, l, offsets of b and d | two words | digest | digest |
| `number` | address of the instruction | call of the block | call of the block | index of the left child |
| `counter` | frame pointer | counter of the chunk | counter of the chunk | |
| `base` | | address of the first word | address of the first word | |
| `address`, `value`, `looked_up` | a cell of memory, whatever the row is (machine.py) | | | |
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
    # Cells by kind, as above.
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
