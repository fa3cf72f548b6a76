"""The nodes of Merkle trees, one a row: the paths of all queries, each node once.

A row with a node looks up the node's digest at its place, and provides its children at theirs, as often as they are
asked for. So it asks its parent and answers for its children: two paths that meet share the rows from there on. The
digests of caps are provided by another table, which has them from a statement.

Why a digest that is looked up is in the tree:

- A lookup counts 1, and there are fewer than p of them. So a message that is looked up is provided with a count that is
  not 0, by a table of caps or by a row of this table.
- A row that provides a child with such a count is on: it looks up its own digest, one layer above, and `compress` has
  hashed both children to it.
- Going up, layers fall by 1, so no node stands on itself: the way ends at a cap. Indices follow from it: a child of
  node i is 2 i or 2 i + 1, so below layer 63 an index is the path from the cap.

Words of children have no range here. A child with a word of 2^32 or more answers no lookup of a digest that `compress`
or a statement has made.
"""

from graphprover.air import Air, TableBuilder
from graphprover.recursion.tables.buses import MACHINE, Tag, message


class Node(Air):
    """Nodes with two children, in any order."""

    columns = (
        "on",
        "tree",
        "layer",
        "index",
        "digest[8]",
        "left[8]",
        "right[8]",
        "asked[2]",  # lookups of the left and of the right child
    )

    def define(self, t: TableBuilder) -> None:
        t.boolean(t.on, "a row has a node or not")
        for asked in t.asked:
            t.every_row((1 - t.on) * asked, "only a row that is on provides")
        t.lookup(MACHINE, message(Tag.PLACE, t.tree, t.layer, t.index, *t.digest), t.on, weight=1)
        for side, child in enumerate((t.left, t.right)):
            place = t.tree, t.layer + 1, 2 * t.index + side
            t.provide(MACHINE, message(Tag.PLACE, *place, *child), t.asked[side])
        t.receive(MACHINE, message(Tag.NODE, *t.left, *t.right, *t.digest), t.on, weight=1)
