"""The tables of a statement that proofs are accepted: the same for proofs of all statements, but for a digest.

A verifier imports this module, which needs no compiler.
"""

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from graphprover.air import Air
from graphprover.air.described import described
from graphprover.recursion.head.heads import Heads
from graphprover.recursion.head.words import LIST_PLACE
from graphprover.recursion.tables.blake3 import Blake3
from graphprover.recursion.tables.fixed import FIELDS, Fixed
from graphprover.recursion.tables.fixed import ROWS as FIXED_ROWS
from graphprover.recursion.tables.machine import RecursionMachine
from graphprover.recursion.tables.merged import Merged
from graphprover.recursion.tables.places import ROWS as ROWS_OF_CALL

if TYPE_CHECKING:
    from graphprover.recursion.program.assembler import Linked

# Here, because a prover that verifies its proof describes them once.
_BLAKE3, _MACHINE = described("blake3 of a layer", Blake3()), described("machine of a layer", RecursionMachine())

MERGED_LOG_ROWS = range(FIXED_ROWS.bit_length() - 1, 23)  # log2 of the rows of a merged layer

_HEIGHTS_STEP = 2  # between the binary logarithms of heights, so that folds by four meet them


@cache
def layer_tables(program: "Linked | None") -> dict[str, Air]:
    """Return all tables by name, in the order of the statement.

    Args:
        program: The verifier's program; None if the preprocessed columns are known by their commitment only.
    """
    return {"blake3": _BLAKE3, "machine": _MACHINE, "fixed": _fixed(program)}


@cache
def merged_table(program: "Linked | None", log_rows: int) -> Air:
    """Return all tables side by side as one.

    Args:
        program: As in `layer_tables`.
        log_rows: log2 of the rows, of `MERGED_LOG_ROWS`.
    """
    return described("merged layer", Merged((_BLAKE3, _MACHINE), _fixed(program), 1 << log_rows), Merged.side_by_side)


def possible_tables() -> tuple[Air, ...]:
    """Return all tables that a layer may have, for descriptions that have nothing to do with a program or a height."""
    return *layer_tables(None).values(), merged_table(None, MERGED_LOG_ROWS[0])


def _fixed(program: "Linked | None") -> Fixed:
    return Fixed(np.zeros((FIELDS, 0), dtype=np.uint64) if program is None else program.fields, LIST_PLACE)


def stated_values(heads: Heads) -> list[int]:
    """Return the public values of `fixed`, or of the merged table: the words of the digest of the list of heads."""
    numbers: list[int] = np.frombuffer(heads.digest, dtype="<u4").tolist()
    return numbers


def layer_rows(compressions: int, machine_rows: int) -> dict[str, int]:
    """Return the rows of `blake3` and of `machine`.

    Each further height of a proof costs a fold with its paths, and joins in all trees. So `machine` has the height of
    `blake3` if it needs that one or half of it. Otherwise its height is 2^16, 2^18 and so on: the height of `fixed`
    is 2^16.

    Args:
        compressions: The calls of `blake3`.
        machine_rows: The rows that `machine` needs.
    """
    blake3, machine = (_power(count) for count in (ROWS_OF_CALL * compressions, machine_rows))
    if machine <= blake3 <= 2 * machine:
        machine = blake3
    else:
        above = max(0, (machine // FIXED_ROWS).bit_length() - 1)
        machine = FIXED_ROWS << -(-above // _HEIGHTS_STEP) * _HEIGHTS_STEP
    return {"blake3": blake3, "machine": machine}


def merged_log_rows(compressions: int, machine_rows: int) -> int:
    """Return log2 of the rows of the merged table; arguments are as for `layer_rows`.

    Raises:
        ValueError: They are more than a layer of one table has.
    """
    rows = max(FIXED_ROWS, *(_power(count) for count in (ROWS_OF_CALL * compressions, machine_rows)))
    log_rows = rows.bit_length() - 1
    if log_rows not in MERGED_LOG_ROWS:
        raise ValueError(f"a merged layer has at most 2^{MERGED_LOG_ROWS[-1]} rows, and this one needs 2^{log_rows}")
    return log_rows


def _power(count: int) -> int:
    """Return the least power of two that is not below a number, at least 1."""
    return 1 << max(0, count - 1).bit_length()
