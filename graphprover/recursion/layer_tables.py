"""The tables of a statement that a proof is accepted: the same for proofs of all statements, but for the head's digest.

A verifier imports this module, which needs no compiler.
"""

from functools import cache

import numpy as np

from graphprover.air import Air
from graphprover.recursion.head.fields import HEAD_PLACE
from graphprover.recursion.head.head import Head
from graphprover.recursion.program.verifier import verifier_program
from graphprover.recursion.tables.compress import Compress
from graphprover.recursion.tables.core import Core
from graphprover.recursion.tables.memory import Memory
from graphprover.recursion.tables.node import Node
from graphprover.recursion.tables.program import Program
from graphprover.recursion.tables.row import Row
from graphprover.recursion.tables.stated import PublicCap, rows_for
from graphprover.recursion.tables.xor import Xor

LEAST_LOG_ROWS = 14  # of all tables, the program's instructions included
HEIGHTS_STEP = 2  # between the heights of all tables but `compress`, so that folds by four meet them


@cache
def layer_tables() -> dict[str, Air]:
    """Return all tables by name, in the order of the statement."""
    return {
        "compress": Compress(),
        "xor": Xor(),
        "row": Row(),
        "node": Node(),
        "core": Core(),
        "memory": Memory(),
        "program": Program(_instructions()),
        "head": PublicCap(*HEAD_PLACE),
    }


def stated_values(head: Head) -> list[int]:
    """Return the public values of the table of the head: the words of the head's digest."""
    numbers: list[int] = np.frombuffer(head.digest, dtype="<u4").tolist()
    return numbers


def merged_rows(count: int) -> int:
    """Return the least height of a layer's table that has this number of rows.

    Each further height of a proof costs a fold with its paths, and joins in all trees. `compress` has its own height:
    most cells are there.
    """
    log_rows = rows_for(count).bit_length() - 1
    above = max(0, log_rows - LEAST_LOG_ROWS)
    return 1 << LEAST_LOG_ROWS + -(-above // HEIGHTS_STEP) * HEIGHTS_STEP


def _instructions() -> np.ndarray:
    """Return the fields of the program's instructions, uint64 (fields, rows)."""
    fields = verifier_program().fields
    return np.pad(fields, ((0, 0), (0, (1 << LEAST_LOG_ROWS) - fields.shape[1])))
