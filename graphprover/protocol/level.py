"""The requested level of a proof, from which its parameters follow."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from graphprover.air.description import AirDescription
from graphprover.protocol.parameters import DEFAULT_HASH, HASH_NAMES, LAYER_RATES, RATES, Parameters
from graphprover.protocol.security import JOHNSON_PROXIMITY, QUERY_POW_BITS, choose, shape_of

MOST_POW_BITS = 30  # of the proof of work before the queries: each bit doubles its time
# Of compressed proofs, of the base and of the layer. A base of 73 queries would often need twice the compressions of
# one of 70, as numbers of rows are powers of two.
COMPRESSED_POW_BITS = 24
LAYER_RATE = 8  # of a layer, 1/8 by default: a lower rate saves few bytes for twice the time


def one_of(values: Iterable[object]) -> str:
    """Return two or more values as text: "a, b or c"."""
    *others, last = map(str, values)
    return f"{', '.join(others)} or {last}"


def default_pow_bits(compressed: bool) -> int:
    """Return the default of `Level.pow_bits`, for a proof or for the base and the layer of a compressed proof."""
    return COMPRESSED_POW_BITS if compressed else QUERY_POW_BITS


def rates_text(rates: Iterable[int]) -> str:
    """Return rates as text."""
    return one_of(f"1/{rate}" for rate in rates)


@dataclass(frozen=True)
class Level:
    """The security of a proof, and how its size is traded against its cost.

    Raises ValueError for a rate, hash or proof of work that is not offered.
    """

    security: float = 128  # provable bits
    rate: int | None = None  # the rate is 1/rate; None: chosen by the size of the statement
    proximity: str = JOHNSON_PROXIMITY  # of `security.PROXIMITIES`
    hash: str = DEFAULT_HASH  # of `HASH_NAMES`
    pow_bits: int = QUERY_POW_BITS  # of the proof of work before the queries

    OFFERED: ClassVar[Mapping[int, int]] = RATES  # rates, as in `RATES`

    def __post_init__(self) -> None:
        if self.rate not in (None, *self.OFFERED):
            raise ValueError(f"rate 1/{self.rate}: choose {rates_text(self.OFFERED)}")
        if self.hash not in HASH_NAMES:
            raise ValueError(f"hash {self.hash!r}: choose {one_of(HASH_NAMES)}")
        if type(self.pow_bits) is not int or not 0 <= self.pow_bits <= MOST_POW_BITS:
            raise ValueError(f"{self.pow_bits!r} bits of proof of work: choose a number from 0 to {MOST_POW_BITS}")

    def of_layer(self, **changes: Any) -> "LayerLevel":
        """Return this level for a layer, with other values of some fields; a level without a rate needs one."""
        return LayerLevel(**{**vars(self), **changes})

    def parameters(
        self, shards: Iterable[tuple[Sequence[AirDescription], Sequence[int]]], default_rate: int
    ) -> Parameters:
        """Return the parameters of a proof with these shards.

        Args:
            shards: The tables of each shard, and log2 of the rows of each table.
            default_rate: N of the rate 1/N if the level leaves it open.

        Raises:
            ValueError: No parameters reach the level.
        """
        log_blowup = self.OFFERED[self.rate or default_rate]
        shapes = [shape_of(tables, log_heights, log_blowup) for tables, log_heights in shards]
        return choose(shapes, self.security, log_blowup, self.proximity, self.hash, self.pow_bits)


@dataclass(frozen=True)
class LayerLevel(Level):
    """The level of a layer, which has a rate: also lower ones than other proofs."""

    rate: int = LAYER_RATE  # the rate is 1/rate
    # Whether the layer is one table (docs/recursion.md, "Merged layers"), if the key has a commitment of its height.
    merged: bool = False

    OFFERED: ClassVar[Mapping[int, int]] = LAYER_RATES
