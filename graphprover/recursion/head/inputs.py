"""The cells that the gates of a proof read."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.protocol.layout import Layout
from graphprover.recursion.head.gates import Gates
from graphprover.recursion.head.words import ELEMENT_CELLS

ELEMENT_OFFSET = 1  # from the address of its first word to the element


@dataclass(frozen=True)
class GateInputs:
    """The addresses of all cells that the gates of a proof read.

    The cells of `joined_quotient`, `joined_permutation` and `suffixes` follow each other.
    """

    opened: int  # value i in the order of the transcript is at opened + 6 i + 1
    joined_quotient: int  # a + b x + c x^2 of each three opened values of the quotient round, in their order
    joined_permutation: int  # the same of the permutation round
    public_values: Sequence[Sequence[int]]  # of each table
    terminals: int  # terminal i of the tables with lookups is at terminals + 6 i + 1
    sigma: int  # the constant term of the lookups' denominators
    tau: int  # combines the elements of a tuple
    alpha: int  # folds the constraints
    zeta: int  # the out-of-domain point
    gamma: int  # batches the openings
    separating: int  # the separating point of a shard
    total: int  # the sum of the terminals of a shard
    suffixes: int  # S_i (batching.py), one more than there are opened values


def check_shape(layout: Layout) -> None:
    """Refuse layouts for which there are no gates.

    Raises:
        ValueError: The layout has no lookups, or a table of one row.
    """
    if not layout.lookup_tables:
        raise ValueError("no table has lookups: let a table send or look up something, or verify the proof itself")
    for air, log_height in zip(layout.tables, layout.log_heights, strict=True):
        if not log_height:
            raise ValueError(f"table {air.name} has one row: give it at least two")


def element_at(gates: Gates, base: int, index: int) -> int:
    """Return an element of the transcript's words that begin at a base address."""
    return gates.at(base + ELEMENT_CELLS * index + ELEMENT_OFFSET)
