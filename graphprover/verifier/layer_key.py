"""The recursion key: commitments to the preprocessed columns of a layer, which are the same for all compressed proofs.

A verifier has them from `layer_commitments.py`. To compute them takes seconds at low rates, and needs the verifier's
program. ``python scripts/recursion_key.py`` writes that module, and a test compares it.

The table of a merged layer repeats the columns, so there is a commitment for each of its heights.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import BLAKE3, LAYER_RATES, Parameters
from graphprover.protocol.preprocessed import repeated_roots
from graphprover.protocol.proof import Cap
from graphprover.protocol.security import CAP_HEIGHT
from graphprover.recursion.head.heads import Heads
from graphprover.recursion.layer_tables import MERGED_LOG_ROWS, layer_tables, merged_table, stated_values
from graphprover.statement.statement import BlankTable, Statement
from graphprover.verifier.layer_commitments import COMMITMENTS

if TYPE_CHECKING:
    from graphprover.recursion.program.assembler import Linked

_MOST_LOG_ROWS = 25  # log2 of the rows of a codeword: twice as many take over 150 GB


class LayerStatement(Statement):
    """The statement that proofs are accepted, with its preprocessed columns known by their commitment."""

    def __init__(self, log_heights: Sequence[int], heads: Heads | None = None) -> None:
        """Take the layer's heights and the heads of its proofs.

        Args:
            log_heights: log2 of the rows of each table, as the layer's header states them. A single one is the merged
                table's.
            heads: The heads of the proofs; None leaves the public values open.
        """
        values = None if heads is None else stated_values(heads)
        merged = len(log_heights) == 1
        # Of the preprocessed columns; another height is refused as not theirs.
        self._log_rows = log_heights[0] if merged and log_heights[0] in MERGED_LOG_ROWS else MERGED_LOG_ROWS[0]
        airs = [merged_table(None, self._log_rows)] if merged else [*layer_tables(None).values()]
        of = [values if own.describe().num_public_values else [] for own in airs]
        rows = 1 << self._log_rows
        super().__init__([BlankTable(air, own, rows=rows) for air, own in zip(airs, of, strict=True)])

    def preprocessed_cap(self, parameters: Parameters) -> Cap:
        """Return the key's commitment; raise VerificationError if there is none."""
        hash, log_blowup, cap_height = parameters.hash, parameters.log_blowup, parameters.cap_height
        known = COMMITMENTS[self._log_rows]
        if hash != BLAKE3 or cap_height != CAP_HEIGHT or log_blowup not in known:
            raise VerificationError(
                "compressed.commitment",
                f"there is no commitment for {hash} at rate 1/{1 << log_blowup} with cap height {cap_height} and "
                f"2^{self._log_rows} rows",
            )
        return (bytes.fromhex(known[log_blowup]),)


def has_commitment(log_rows: int, rate: int) -> bool:
    """Return whether the key has the commitment of a merged layer with 2^log_rows rows at the rate 1/``rate``."""
    return LAYER_RATES[rate] in COMMITMENTS.get(log_rows, {})


def commitments(program: "Linked") -> dict[int, dict[int, str]]:
    """Compute the commitments with the verifier's program.

    Returns:
        64 hexadecimal digits, by log2 of the rows and log2 of the inverse rate.
    """
    columns, found = layer_tables(program)["fixed"].preprocessed_trace(), dict[int, dict[int, str]]()
    for log_repeats, log_rows in enumerate(MERGED_LOG_ROWS):
        log_blowups = [log_blowup for log_blowup in LAYER_RATES.values() if log_rows + log_blowup <= _MOST_LOG_ROWS]
        roots = repeated_roots(columns, log_repeats, log_blowups, BLAKE3)
        found[log_rows] = {log_blowup: root.hex() for log_blowup, root in roots.items()}
    return found
