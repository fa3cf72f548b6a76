"""The verdict on a valid proof."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphprover.proof.mock import MOCK
from graphprover.protocol.security import Security
from graphprover.runtime.display.notebook import html

if TYPE_CHECKING:
    from graphprover.vm.statement.claim import Claim


@dataclass(frozen=True)
class Verdict:
    """The claim of a valid proof, and its security; of a sharded proof without the heads."""

    security: Security  # provable, round by round
    public_values: tuple[tuple[int, ...], ...]  # of each table
    log_heights: tuple[int, ...]  # log2 of each table's rows
    shards: int = 1  # that the proof is in
    claim: "Claim | None" = None  # of a guest's proof, as values; None for tables, whose claim is their public values
    mock: bool = False  # the proof is a mock, which proves nothing: ``security`` is what a proof would have

    @property
    def bits(self) -> float:
        """Provable security; 0 of a mock."""
        return 0.0 if self.mock else self.security.bits

    @property
    def summary(self) -> str:
        """Display text with the bits of security."""
        return f"none, {MOCK}" if self.mock else self.security.summary

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        tables = zip(self.log_heights, self.public_values, strict=True)
        rows = [(i, f"2^{log_height}", *_shown(values)) for i, (log_height, values) in enumerate(tables)]
        claim = self.claim.describe() if self.claim else {}
        return html(self._title, claim, [("table", "rows", "public values", "the first of them"), *rows])

    @property
    def _title(self) -> str:
        valid = "valid" if not self.mock else "accepted"
        return f"Verdict: {valid}, {f'{self.shards} shards, ' * (self.shards > 1)}{self.summary}"


def _shown(values: Sequence[int], most: int = 4) -> tuple[int, str]:
    """Return the number of a table's public values, and the first of them."""
    return len(values), ", ".join(map(str, values[:most])) + ", ..." * (len(values) > most)
