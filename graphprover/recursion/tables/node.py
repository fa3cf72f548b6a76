"""The nodes of Merkle trees, one a row: the paths of all queries, each node once.

A row with a node looks up the node's digest at its place, and provides its children at theirs, as often as they are
asked for. So it asks its parent and answers for its children: two paths that meet share the rows from there on. The
digests of caps are provided by another table, which has them from a statement.

A place is (tree, layer, index). Children are one layer below their node i, and there are two kinds of nodes:

- of two nodes of the layer below, which have the indices 2 i and 2 i + 1;
- a *join* of a node, which keeps the index i, and of the digest of a row, which has the index i + 2^33.

The number `tree` of a node is 2 `tree` + `join`, with the number `tree` of its children. So it has the joins from the
node down in its low bits, and above them the number of the tree.

Why a digest that is looked up is in the tree:

- A lookup counts 1, and there are fewer than p of them. So a message that is looked up is provided with a count that is
  not 0, by a table of caps or by a row of this table.
- A row that provides a child with such a count is on: it looks up its own digest, one layer above, and `compress` has
  hashed both children to it.
- Going up, layers fall by 1, so no node stands on itself: the way ends at a cap.
- *Trees and joins.* Let a tree have the number u at its lowest layer L, and let the way from a place there lead to a
  cap at the layer c. Then the cap's number is 2^(L - c) u plus the sum of join_i 2^i, over the L - c nodes of the way
  from the cap down, mod p. Users have u from 2^12 to 2^13 - 1, another one for each tree, and L up to 48
  (`graphprover.recursion.openings.places_of_tree`). So this sum is below 2^61, less than p. Its length in bits gives
  L - c, its highest 13 bits are u, and the other ones are the joins. So the cap is one of this tree, and its number
  fixes which nodes of the way are joins. The same holds for a row that joins further up: its own number is J + 2^k u
  with the k layers below it and their joins J < 2^k.
- *Indices.* Users have at most 31 layers of nodes without a join on a way from the root, and at most one join between
  two of them. So an index is s + 2^33 m mod p. The bits of s < 2^31 are the cap's index and the ways down at nodes
  without a join. The bits of m are the ways down at joins. The lowest layer has no join, so m is even there and below
  2^32 - 1; it is below 2^31 above. Two such indices of a layer are equal only if both numbers are: let d and e be their
  differences, |d| < 2^31 and |e| < 2^32 - 1. Then d + 2^33 e is 0 or +-p or +-2 p. Now p = 1 - 2^32 mod 2^33, which is
  no d, and 2 p = 2 + 2^33 (2^32 - 1), so d = +-2 and e is too large. So an index is one way from the cap.

Words of children have no range here. A child with a word of 2^32 or more answers no lookup of a digest that `compress`
or a statement has made.
"""

from graphprover.air import Air, TableBuilder
from graphprover.field import inv
from graphprover.recursion.tables.buses import MACHINE, Tag, message

JOINED = 1 << 33  # the index of the digest of row 0 that joins


class Node(Air):
    """Nodes with two children, in any order."""

    columns = (
        "on",
        "join",  # 1 if the right child is the digest of a row that joins
        "left_index",  # of the left child
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
        t.boolean(t.join, "a row joins or not")
        for asked in t.asked:
            t.every_row((1 - t.on) * asked, "only a row that is on provides")
        t.every_row(t.left_index - 2 * t.index + t.join * t.index, "the index of the left child")
        t.lookup(MACHINE, message(Tag.PLACE, t.tree, t.layer, t.index, *t.digest), t.on, weight=1)
        below = inv(2) * (t.tree - t.join), t.layer + 1
        for side, child in enumerate((t.left, t.right)):
            index = t.left_index + side * (1 + (JOINED - 1) * t.join)
            t.provide(MACHINE, message(Tag.PLACE, *below, index, *child), t.asked[side])
        t.receive(MACHINE, message(Tag.NODE, *t.left, *t.right, *t.digest), t.on, weight=1)
