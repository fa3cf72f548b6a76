"""The nodes of Merkle trees, one a row of `machine`: the paths of all queries, each node once.

A row with a node looks up the node's digest at its place, and provides its children at theirs, as often as they are
asked for. So it asks its parent and answers for its children: two paths that meet share the rows from there on. The
digests of caps are provided by steps, or by the table `fixed`.

A place is (tree, layer, index). Children are one layer below their node i, and there are two kinds of nodes:

- of two nodes of the layer below, which have the indices 2 i and 2 i + 1;
- a *join* of a node, which keeps the index i, and of the digest of a row, which has the index i + 2^33.

The number `tree` of a node is 2 `tree` + `join`, with the number `tree` of its children. So it has the joins from the
node down in its low bits, and above them the number of the tree.

Why a digest that is looked up is in the tree:

- A lookup counts 1, and there are fewer than p of them. So a message that is looked up is provided with a count that is
  not 0, by a table of caps or by another node.
- A row that provides a child with such a count is on: it looks up its own digest, one layer above, and `blake3` has
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

Words of children have no range here. A child with a word of 2^32 or more answers no lookup of a digest that `blake3`
or a statement has made.
"""

from dataclasses import dataclass
from typing import Any

from graphprover.air import TableBuilder
from graphprover.field import inv
from graphprover.recursion.tables.buses import MessageTag, message
from graphprover.recursion.tables.columns import NUMBERS
from graphprover.recursion.tables.slots import SlotMessage, Slots

JOINED = 1 << 33  # the index of the digest of row 0 that joins
_WORDS = 8  # of a digest


@dataclass(frozen=True)
class NodeRow:
    """The cells of a row with a node."""

    on: Any
    join: Any  # 1 if the right child is the digest of a row that joins
    left_index: Any  # of the left child
    place: Any  # tree, layer, index
    digest: Any
    left: Any
    right: Any
    asked: Any  # lookups of the left and of the right child


def node_of(row: Any) -> NodeRow:
    """Return the cells of a row of `machine` with a node."""
    place, *others = row.cell
    right = [cell for other in others for cell in other][:_WORDS]
    left = [*row.at, *row.sum[0], row.sum[1][0]]
    return NodeRow(row.node, row.flag[0], row.number, place, row.half, left, right, row.asked)


def define_nodes(t: TableBuilder) -> None:
    """State the rules of rows with nodes."""
    of = node_of(t)
    index = of.place[2]
    t.every_row(of.on * (of.left_index - 2 * index + of.join * index), "the index of the left child")


def node_messages(t: TableBuilder) -> Slots:
    """Return the messages of a row with a node."""
    of = node_of(t)
    tree, layer, _ = of.place
    below = inv(2) * (tree - of.join), layer + 1
    right_index = of.left_index + 1 + (JOINED - 1) * of.join
    return Slots(
        answers=(SlotMessage(of.on, -1, message(MessageTag.NODE, *of.left, *of.right, *of.digest)),),
        asks=(SlotMessage(of.on, 1, message(MessageTag.PLACE, *of.place, *of.digest)),),
        first=(SlotMessage(of.on, 1, message(MessageTag.PLACE, *below, of.left_index, *of.left)),),
        second=(SlotMessage(of.on, 1, message(MessageTag.PLACE, *below, right_index, *of.right)),),
    )


COLUMNS = node_of(NUMBERS)
