"""The shape of a proof, derived from the statement alone: every matrix, opening, fold and query.

Prover, verifier, planner and parser read the same `Layout`; no length is read from a proof. Specification:
docs/protocol.md, sections 3 and 4.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from functools import cached_property, lru_cache

from graphprover.air.degree import at_rate
from graphprover.air.description import AirDescription, check_bus_widths, check_multiplicity_bound
from graphprover.air.lookups import check_weights
from graphprover.field import EXTENSION_DEGREE, TWO_ADICITY
from graphprover.protocol.errors import RuleError, by_rule
from graphprover.protocol.folding import fold_log_arities
from graphprover.protocol.parameters import Parameters
from graphprover.runtime.display.notebook import html

MAIN, QUOTIENT, PREPROCESSED, PERMUTATION = "main", "quotient", "preprocessed", "permutation"


class Point(IntEnum):
    """A point at which the columns of a matrix are opened, in transcript order."""

    ZETA = 0
    NEXT = 1  # zeta times the generator of the trace domain: the next row
    SEPARATING = 2  # a shard's own point, drawn before the joint challenges


@dataclass(frozen=True)
class Matrix:
    """One committed matrix: base columns over 7·K in bit-reversed order."""

    table: int  # index of its table
    chunk: int  # index of its quotient chunk; 0 in other rounds
    width: int  # base columns
    log_rows: int  # log2 of the rows of its low-degree extension
    points: tuple[Point, ...]  # at which its columns are opened, in order
    offset: int  # power of the batching challenge at its first column, among all openings of its height


@dataclass(frozen=True)
class CommittedRound:
    """The matrices under one commitment, in commitment order."""

    name: str  # main, quotient, preprocessed or permutation
    matrices: tuple[Matrix, ...]

    @cached_property
    def log_rows(self) -> int:
        """log2 of the leaves of its tree."""
        return max(matrix.log_rows for matrix in self.matrices)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Words in a row of each matrix."""
        return tuple(matrix.width for matrix in self.matrices)


@dataclass(frozen=True)
class Layout:
    """The shape of a proof; create it by `make_layout`, which validates it."""

    tables: tuple[AirDescription, ...]  # with the degrees of this rate (`graphprover.air.degree`)
    log_heights: tuple[int, ...]  # log2 of each table's rows
    parameters: Parameters
    shard: bool  # one of several shards, whose main columns are also opened at its separating point

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        rows: list[Sequence[object]] = [("table", "rows", "columns", "preprocessed", "lookups", "quotient chunks")]
        for air, log_height in zip(self.tables, self.log_heights, strict=True):
            chunks = 1 << air.log_quotient_chunks
            row = air.name, f"2^{log_height}", air.main_width, air.preprocessed_width, len(air.lookups), chunks
            rows.append(row)
        return html(self._title, asdict(self.parameters), rows)

    @property
    def _title(self) -> str:
        tables, rate = len(self.tables), f"1/{1 << self.parameters.log_blowup}"
        tallest = f"up to 2^{max(self.log_heights)} rows"
        return f"Layout of {tables} table{'s' * (tables != 1)} of {tallest} at rate {rate}"

    @cached_property
    def log_chunks(self) -> tuple[int, ...]:
        """log2 of the number of quotient chunks of each table."""
        return tuple(air.log_quotient_chunks for air in self.tables)

    @cached_property
    def lookup_tables(self) -> tuple[int, ...]:
        """Indices of the tables with at least one lookup, which commit permutation columns and a terminal."""
        return tuple(i for i, air in enumerate(self.tables) if air.lookups)

    @cached_property
    def preprocessed_tables(self) -> tuple[int, ...]:
        """Indices of the tables with preprocessed columns."""
        return tuple(i for i, air in enumerate(self.tables) if air.preprocessed_width)

    @cached_property
    def rounds(self) -> tuple[CommittedRound, ...]:
        """The commitments in the order they are opened: main, quotient, preprocessed?, permutation?."""
        used: dict[int, int] = {}

        def matrix(table: int, width: int, reads_next: bool, chunk: int = 0, separated: bool = False) -> Matrix:
            log_rows = self.log_heights[table] + self.parameters.log_blowup
            points = (Point.ZETA, *[Point.NEXT] * reads_next, *[Point.SEPARATING] * separated)
            offset = used.get(log_rows, 0)
            used[log_rows] = offset + width * len(points)
            return Matrix(table, chunk, width, log_rows, points, offset)

        airs = self.tables
        main = tuple(matrix(i, air.main_width, air.main_next, separated=self.shard) for i, air in enumerate(airs))
        quotient = tuple(
            matrix(i, EXTENSION_DEGREE, False, chunk)
            for i in range(len(airs))
            for chunk in range(1 << self.log_chunks[i])
        )
        preprocessed = tuple(
            matrix(i, airs[i].preprocessed_width, airs[i].preprocessed_next) for i in self.preprocessed_tables
        )
        permutation = tuple(matrix(i, airs[i].permutation_width, True) for i in self.lookup_tables)
        rounds = {MAIN: main, QUOTIENT: quotient, PREPROCESSED: preprocessed, PERMUTATION: permutation}
        return tuple(CommittedRound(name, matrices) for name, matrices in rounds.items() if matrices)

    def round(self, name: str) -> CommittedRound | None:
        """Return the round of this name, or None if the proof has none."""
        return next((round_ for round_ in self.rounds if round_.name == name), None)

    @cached_property
    def fri_log_heights(self) -> tuple[int, ...]:
        """log2 of the lengths of FRI's input codewords, tallest first; one for each distinct table height."""
        return tuple(sorted({h + self.parameters.log_blowup for h in self.log_heights}, reverse=True))

    @cached_property
    def log_max_rows(self) -> int:
        """log2 of the tallest codeword: the width of a query index."""
        return self.fri_log_heights[0]

    @cached_property
    def fold_log_arities(self) -> tuple[int, ...]:
        """log2 of each fold's arity."""
        return fold_log_arities(self.log_heights, self.parameters)

    @cached_property
    def folded_log_heights(self) -> tuple[int, ...]:
        """log2 of the codeword's length after each fold, which is also the number of leaves of the fold's tree."""
        heights, height = [], self.log_max_rows
        for log_arity in self.fold_log_arities:
            height -= log_arity
            heights.append(height)
        return tuple(heights)

    def cap_log_size(self, log_rows: int) -> int:
        """Return log2 of the number of digests in the cap of a tree of 2^log_rows leaves."""
        return min(self.parameters.cap_height, log_rows)


def make_layout(
    tables: Sequence[AirDescription], log_heights: Sequence[int], parameters: Parameters, *, shard: bool = False
) -> Layout:
    """Return the layout of a proof of these tables.

    Args:
        tables: descriptions of the tables, with any degrees.
        log_heights: log2 of each table's rows.
        parameters: parameters of the proof.
        shard: whether the proof is one of several shards.

    Raises:
        ValueError: the statement has no proof under these parameters (docs/protocol.md, section 3), with the reason.
    """
    packed = tuple(at_rate(air, parameters.log_blowup) for air in tables)
    return _layout(packed, tuple(log_heights), parameters, shard)


@lru_cache(maxsize=16)  # a layout is much smaller than a proof
def _layout(
    tables: tuple[AirDescription, ...], log_heights: tuple[int, ...], parameters: Parameters, shard: bool
) -> Layout:
    if not tables:
        raise RuleError("layout.tables", "a statement needs at least one table")
    for air, log_height in zip(tables, log_heights, strict=True):
        tallest = TWO_ADICITY - max(parameters.log_blowup, air.log_quotient_chunks)
        if not 0 <= log_height <= tallest:
            raise RuleError(
                "layout.height", f"table {air.name}: 2^{log_height} rows; the field allows at most 2^{tallest} here"
            )
        # Plonky3's final polynomial must be shorter than every trace, unless it is a constant.
        if parameters.log_final_poly_len and log_height <= parameters.log_final_poly_len:
            raise RuleError(
                "layout.final_polynomial",
                f"table {air.name}: 2^{log_height} rows, but a final polynomial of 2^{parameters.log_final_poly_len} "
                "coefficients requires more: lower log_final_poly_len",
            )
        # Digests above the cap are not hashed, so a matrix injected there would not be authenticated.
        if log_height + parameters.log_blowup < parameters.cap_height:
            raise RuleError(
                "layout.cap",
                f"table {air.name}: its 2^{log_height} rows are injected above a cap of 2^{parameters.cap_height} "
                "digests: lower cap_height",
            )
    with by_rule("layout.buses"):
        check_bus_widths(tables)
    with by_rule("layout.weights"):
        for air in tables:
            check_weights(air.lookups)
    with by_rule("layout.counts"):
        check_multiplicity_bound(tables, [1 << log_height for log_height in log_heights])
    return Layout(tables, log_heights, parameters, shard)
