"""The recursion key: commitments to the preprocessed columns of a layer, which are the same for all compressed proofs.

A verifier has them from `layer_commitments.py`. To compute them takes seconds at low rates, and needs the verifier's
program. ``python scripts/recursion_key.py`` writes that module, and a test compares it.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING

from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import BLAKE3, Parameters
from graphprover.protocol.preprocessed import preprocessed_caps
from graphprover.protocol.proof import Cap
from graphprover.protocol.security import CAP_HEIGHT
from graphprover.recursion.head.heads import Heads
from graphprover.recursion.layer_tables import layer_tables, stated_values
from graphprover.recursion.tables.fixed import ROWS
from graphprover.statement.statement import BlankTable, Statement, Table
from graphprover.verifier.layer_commitments import COMMITMENTS

if TYPE_CHECKING:
    from graphprover.recursion.program.assembler import Linked


class LayerStatement(Statement):
    """The statement that proofs are accepted, with its preprocessed columns known by their commitment."""

    def __init__(self, heads: Heads | None = None) -> None:
        """Take the heads of the proofs; None leaves the public values open."""
        airs, values = layer_tables(None), None if heads is None else stated_values(heads)
        super().__init__([BlankTable(air, values if name == "fixed" else [], rows=ROWS) for name, air in airs.items()])

    def preprocessed_cap(self, parameters: Parameters) -> Cap:
        """Return the key's commitment; raise VerificationError if there is none."""
        hash, log_blowup, cap_height = parameters.hash, parameters.log_blowup, parameters.cap_height
        if hash != BLAKE3 or cap_height != CAP_HEIGHT or log_blowup not in COMMITMENTS:
            raise VerificationError(
                "compressed.commitment",
                f"there is no commitment for {hash} at rate 1/{1 << log_blowup} with cap height {cap_height}",
            )
        return (bytes.fromhex(COMMITMENTS[log_blowup]),)


def commitments(program: "Linked", log_blowups: Collection[int]) -> dict[int, str]:
    """Compute the commitments with the verifier's program: 64 hexadecimal digits, by log2 of the inverse rate."""
    columns = [Table(air).preprocessed for air in layer_tables(program).values()]
    (caps,) = preprocessed_caps([[own for own in columns if own is not None]], sorted(log_blowups), CAP_HEIGHT, BLAKE3)
    return {log_blowup: caps[log_blowup][0].hex() for log_blowup in sorted(log_blowups)}
