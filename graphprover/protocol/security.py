"""Provable soundness of a proof, round by round, and the parameters that reach a level.

Every round of the interactive protocol has an error: the probability that its challenge helps a prover of a false
statement. After Fiat-Shamir an attacker can retry single rounds, so the level is the minimum over rounds of the round's
error in bits plus its grinding (round-by-round soundness: Block et al., eprint 2024/1553; grinding: ethSTARK, eprint
2021/582, section 5). Two analyses hold, unique decoding and the Johnson bound, and the better one counts.

An error is a count of bad challenges over the size of the extension field; the functions below give counts.
docs/security.md has the argument and its assumptions, docs/security_figures.md comparisons with other calculators.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import chain
from math import ceil, inf, log2, sqrt

from graphprover.air.degree import at_rate
from graphprover.air.description import AirDescription
from graphprover.field import EXTENSION_DEGREE, P
from graphprover.protocol.folding import fold_log_arities
from graphprover.protocol.parameters import DEFAULT_HASH, Parameters

FIELD_BITS = EXTENSION_DEGREE * log2(P)
HASH_BITS = 128.0  # collisions of a digest of 256 bits

UNIQUE = 0  # multiplicity m that denotes unique decoding
LEAST_MULTIPLICITY = 3  # minimum of the theorem for the Johnson regime
MOST_MULTIPLICITY = 1 << 16  # a larger m gains less than 0.01 bits for 1000 queries

# Proximity results that a level may use: all up to the Johnson radius, including unique decoding, or unique decoding
# alone.
JOHNSON_PROXIMITY, UNIQUE_PROXIMITY = "johnson", "unique"
PROXIMITIES = (JOHNSON_PROXIMITY, UNIQUE_PROXIMITY)

# Constants of `choose`. 2^20 hashes take a fraction of a second. 10 bits in the other rounds, up to 12 of them, are
# almost free; more bits would save only one or two further queries.
QUERY_POW_BITS = 20
OTHER_POW_BITS = 10
# The arity with the smallest proofs over realistic shapes, and the length beyond which another fold is cheaper than
# sending the final polynomial. Merkle paths are pruned, so a cap would only add bytes.
MAX_LOG_ARITY = 3
MAX_LOG_FINAL_POLY_LEN = 8
CAP_HEIGHT = 0
MARGIN = 1e-6  # bits above the target, because the rounding of logarithms differs between machines


@dataclass(frozen=True)
class TableShape:
    """The quantities of one table that determine the security of a proof."""

    log_height: int  # log2 of the rows
    constraints: int  # number, including one for each fraction column and three for the accumulator
    quotient_chunks: int  # every constraint has degree at most quotient_chunks + 1
    openings: int  # opened (column, point) pairs of a proof without shards; an extension column counts three times
    interactions: int  # tuples sent, received or looked up in one row
    main_columns: int  # which a shard opens at one more point


@dataclass(frozen=True)
class Shape:
    """The quantities of a statement that determine the security of a proof. Raises ValueError without tables."""

    tables: tuple[TableShape, ...]
    max_tuple_width: int  # elements of the widest tuple of any interaction; 0 without interactions

    def __post_init__(self) -> None:
        if not self.tables:
            raise ValueError("a proof needs at least one table")


@dataclass(frozen=True)
class ChallengeError:
    """One challenge of the protocol and its provable security."""

    name: str
    bits: float  # security including grinding; infinite if no challenge is bad
    pow_field: str | None  # field of Parameters with the grinding of this round
    pow_bits: int  # grinding


@dataclass(frozen=True)
class Regime:
    """The whole protocol analysed at one decoding radius."""

    multiplicity: int  # m of the Johnson regime; UNIQUE for unique decoding
    rounds: tuple[ChallengeError, ...]

    @property
    def name(self) -> str:
        """Display name."""
        return "unique decoding" if self.multiplicity == UNIQUE else f"Johnson, m = {self.multiplicity}"

    @property
    def binding(self) -> ChallengeError:
        """The weakest round."""
        return min(self.rounds, key=lambda challenge: challenge.bits)

    @property
    def bits(self) -> float:
        """Security in bits, determined by the weakest round."""
        return self.binding.bits


@dataclass(frozen=True)
class Security:
    """Provable security of a proof."""

    unique: Regime
    johnson: Regime  # at its best multiplicity

    @property
    def regime(self) -> Regime:
        """The better of the two analyses."""
        return max(self.unique, self.johnson, key=lambda regime: regime.bits)

    def by(self, proximity: str) -> Regime:
        """Return the better analysis that uses only these proximity results.

        Args:
            proximity: one of `PROXIMITIES`.

        Raises:
            ValueError: ``proximity`` is not one of them.
        """
        _check_proximity(proximity)
        return self.unique if proximity == UNIQUE_PROXIMITY else self.regime

    @property
    def bits(self) -> float:
        """Security in bits."""
        return self.regime.bits

    @property
    def binding(self) -> str:
        """Name of the round that limits the security."""
        return self.regime.binding.name

    @property
    def summary(self) -> str:
        """Display text with the bits of the proof and of both analyses."""
        return f"{self.bits:.1f} bits ({self.johnson.bits:.1f} by Johnson, {self.unique.bits:.1f} by unique decoding)"

    @property
    def rows(self) -> list[tuple[str, str, str, str]]:
        """Display table: the column names, then a row for each round with its grinding and its bits in both regimes."""

        def number(bits: float) -> str:
            return "-" if bits == inf else f"{bits:.1f}"

        rows = [("round", "grinding", self.unique.name, self.johnson.name)]
        for unique, johnson in zip(self.unique.rounds, self.johnson.rounds, strict=True):
            rows.append((unique.name, str(unique.pow_bits or "-"), number(unique.bits), number(johnson.bits)))
        return [*rows, ("all", "", number(self.unique.bits), number(self.johnson.bits))]

    @property
    def conclusion(self) -> str:
        """Display text that names the limiting round of each regime."""
        other = self.unique if self.regime is self.johnson else self.johnson
        return (
            f"{self.bits:.1f} bits, proven by {self.regime.name}, limited by {self.binding}; "
            f"{other.bits:.1f} by {other.name}, limited by {other.binding.name}"
        )

    def table(self) -> str:
        """Return `rows` and `conclusion` as text."""
        widths = [max(map(len, column)) for column in zip(*self.rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
            for row in self.rows
        ]
        return "\n".join([*lines, self.conclusion])


def _check_proximity(proximity: str) -> None:
    if proximity not in PROXIMITIES:
        raise ValueError(f"proximity {proximity!r}: choose {' or '.join(PROXIMITIES)}")


def shape_of(descriptions: Sequence[AirDescription], log_heights: Sequence[int], log_blowup: int) -> Shape:
    """Return the shape of a proof.

    Args:
        descriptions: descriptions of the tables.
        log_heights: log2 of each table's rows.
        log_blowup: log2 of the inverse rate, on which the degrees depend.

    Raises:
        ValueError: the arguments differ in length.
    """
    tables, widths = [], [0]
    for table, log_height in zip(descriptions, log_heights, strict=True):
        air = at_rate(table, log_blowup)
        pins = len(air.lookups)
        chunks = 1 << air.log_quotient_chunks
        openings = air.main_width * (1 + air.main_next) + air.preprocessed_width * (1 + air.preprocessed_next)
        openings += EXTENSION_DEGREE * chunks + 2 * air.permutation_width
        tuples = [message for lookup in air.lookups for message in lookup.tuples]
        widths += [len(message.fields) for message in tuples]
        constraints = len(air.constraints) + (pins + 3 if pins else 0)
        tables.append(TableShape(log_height, constraints, chunks, openings, len(tuples), air.main_width))
    return Shape(tuple(tables), max(widths))


def agreement(log_blowup: int, multiplicity: int) -> float:
    """Return κ, the largest fraction of points on which rejected words may agree with codewords.

    A query to any other point detects such a word. Unique decoding: (1 + ρ)/2. Johnson: √ρ (1 + 1/(2m)), a gap of
    η = √ρ/(2m) (BCHKS25, eprint 2025/2055, Theorem 1.5).
    """
    rate = 2.0**-log_blowup
    return (1 + rate) / 2 if multiplicity == UNIQUE else sqrt(rate) * (1 + 0.5 / multiplicity)


def list_size(log_blowup: int, multiplicity: int) -> float:
    """Return a bound on the number of traces consistent with a commitment: 1, or (m + 1/2)/√ρ (BCHKS25, section 4).

    It also bounds the *tuples* of codewords that agree with all committed words on a common fraction κ of the points,
    over all columns and heights together: lifted to the tallest domain, two tuples share at most a fraction ρ of the
    points (openings prove degree at most n), so the Johnson bound gives (κ - ρ)/(κ² - ρ) for any alphabet, which is
    smaller.
    """
    return 1.0 if multiplicity == UNIQUE else (multiplicity + 0.5) * sqrt(2.0**log_blowup)


def exceptional(log_dimension: int, log_blowup: int, multiplicity: int) -> float:
    """Return the number of exceptional challenges of a line of words, in a code of dimension 2^log_dimension.

    A challenge is exceptional if the line's word at the challenge agrees with a codeword on a large set of points on
    which the two words of the line do not both agree with codewords (mutual correlated agreement). A curve of degree d
    has at most d times that number. With N the length of the code:

    - Unique decoding: N (agreement: BCIKS20, eprint 2020/654, Theorem 6.1; mutual: WHIR, eprint 2024/1586, section 4).
    - Johnson: N (2(m+½)⁵ + 3(m+½)ρ) / (3ρ^{3/2}) + (m+½)/√ρ (BCHKS25, eprint 2025/2055, Theorems 4.2 and 4.6; m as in
      its Theorem 1.5, see docs/security.md).
    - Constants (dimension 1) at any radius: each pair of points coincides for one challenge, hence N(N-1)/2.
    """
    points = 2.0 ** (log_dimension + log_blowup)
    if log_dimension == 0:
        return points * (points - 1) / 2
    if multiplicity == UNIQUE:
        return points
    rate, m = 2.0**-log_blowup, multiplicity + 0.5
    return points * (2 * m**5 + 3 * m * rate) / (3 * rate**1.5) + m / sqrt(rate)


def separation_errors(shape: Shape, log_blowup: int, multiplicity: int) -> float:
    """Return the number of bad separating points of a shard (STIR, eprint 2024/390, section 4.3).

    A point is bad if two of the L candidates for the main columns (`list_size`) have the same values there, so that
    both agree with the values that the shard absorbs. Two candidates differ in some column. The difference of the two
    polynomials of this column has degree at most n, hence at most n zeros, for each of the L (L - 1) / 2 pairs.
    """
    candidates = list_size(log_blowup, multiplicity)
    return candidates * (candidates - 1) / 2 * max(2.0**table.log_height for table in shape.tables)


def lookup_errors(shape: Shape) -> float:
    """Return the number of bad (σ, τ), in units of the field size, for one trace whose buses do not balance.

    Source: Haböck, eprint 2022/1530. The sum over N fractions m / (σ - c(τ)), cleared of denominators, has total degree
    at most (N - 1) W in σ and τ, with W the number of elements of the widest tuple (the bus adds τ^W): Schwartz-Zippel.
    N more are bad because a denominator is zero and its fraction unconstrained.
    """
    fractions = sum(table.interactions * 2.0**table.log_height for table in shape.tables)
    return fractions * (max(shape.max_tuple_width, 1) + 1)


def constraint_errors(shape: Shape) -> float:
    """Return the number of bad α for one trace that violates a constraint (Haböck, eprint 2022/1216, Theorem 8).

    On a violated row, the sum of α^i times constraint i is a nonzero polynomial in α, of degree below the number of the
    table's constraints. Each table is checked separately and *all* must pass, so a single violated table decides.
    """
    return max(table.constraints for table in shape.tables)


def out_of_domain_errors(shape: Shape) -> float:
    """Return the number of bad ζ for one trace and quotient with a false identity (DEEP-ALI, eprint 2022/1216).

    Opened columns have degree at most n. Constraints, and the vanishing polynomial times the quotient recomposed from
    its chunks, have degree at most (chunks + 1) n. n more account for linear transition selectors and for ζ in the
    trace domain.
    """
    return max((table.quotient_chunks + 2) * 2.0**table.log_height for table in shape.tables)


def batching_errors(shape: Shape, log_blowup: int, multiplicity: int, sharded: bool) -> float:
    """Return the number of bad γ, which batches the openings (BCIKS20 Theorem 1.5, BCHKS25 section 4: curves).

    The k quotients of one height are summed with powers 0 … k - 1 of γ, a curve of degree k - 1. Every height starts at
    power 0 and has separate exceptional challenges. ``sharded``: the main columns are opened at a separating point.
    """
    openings: dict[int, int] = {}
    for table in shape.tables:
        opened = table.openings + table.main_columns * sharded
        openings[table.log_height] = openings.get(table.log_height, 0) + opened
    return sum((k - 1) * exceptional(height, log_blowup, multiplicity) for height, k in openings.items())


def folds(shape: Shape, parameters: Parameters) -> Iterator[tuple[int, int]]:
    """Yield, for each fold, log2 of the dimension after it and the degree of its curve.

    A fold of arity a is a curve of degree a - 1 in its challenge β. If shorter tables join, β^a times their codeword is
    added, and the degree is a.
    """
    log_heights = {table.log_height for table in shape.tables}
    log_dimension = max(log_heights)
    for log_arity in fold_log_arities(log_heights, parameters):
        log_dimension -= log_arity
        yield log_dimension, (1 << log_arity) - 1 + (log_dimension in log_heights)


def query_bits(num_queries: int, agreeing: float) -> float:
    """Return the bits of the queries, of which each misses with probability ``agreeing`` (BCIKS20, section 8)."""
    return -num_queries * log2(agreeing)


def most_bits(parameters: Parameters, shards: int = 1) -> float:
    """Return an upper bound on the bits of any proof with these parameters and number of shards: the query bits."""
    agreeing = min(agreement(parameters.log_blowup, UNIQUE), sqrt(2.0**-parameters.log_blowup))
    bits = max(query_bits(parameters.num_queries, agreeing) - log2(shards), 0.0)
    return min(bits + parameters.query_pow_bits, HASH_BITS)


def _rounds(shards: Counter[Shape], parameters: Parameters, multiplicity: int) -> tuple[ChallengeError, ...]:
    """Return all rounds at one decoding radius, queries and hash last.

    Any shard may fail, so each error is the error of the worst shard times the number of shards. The lookups are one
    round for all shards. There each shard has one candidate for its main columns, because its separating point comes
    before; a proof without shards has `list_size` candidates.
    """
    log_blowup, sharded = parameters.log_blowup, shards.total() > 1
    traces, count_bits = list_size(log_blowup, multiplicity), log2(shards.total())

    def challenge(name: str, errors: float, pow_field: str | None, lost_bits: float = count_bits) -> ChallengeError:
        pow_bits = getattr(parameters, pow_field) if pow_field else 0
        bits = max(FIELD_BITS - log2(errors) - lost_bits, 0.0) + pow_bits if errors else inf
        return ChallengeError(name, bits, pow_field, pow_bits)

    fractions = sum(alike * lookup_errors(shape) for shape, alike in shards.items())
    batching = max(batching_errors(shape, log_blowup, multiplicity, sharded) for shape in shards)
    rounds = []
    if sharded:
        separation = max(separation_errors(shape, log_blowup, multiplicity) for shape in shards)
        rounds.append(challenge("separation", separation, None))
    rounds += [
        challenge("lookups", fractions if sharded else traces * fractions, "lookup_pow_bits", 0.0),
        challenge("constraints", traces * max(constraint_errors(shape) for shape in shards), None),
        challenge("out of domain", traces * max(out_of_domain_errors(shape) for shape in shards), "ood_pow_bits"),
        challenge("batching", batching, "batch_pow_bits"),
    ]
    degrees: dict[int, int] = {}
    for log_dimension, degree in chain.from_iterable(folds(shape, parameters) for shape in shards):
        degrees[log_dimension] = max(degree, degrees.get(log_dimension, 0))
    for log_dimension in sorted(degrees, reverse=True):
        errors = degrees[log_dimension] * exceptional(log_dimension, log_blowup, multiplicity)
        rounds.append(challenge(f"fold to 2^{log_dimension + log_blowup}", errors, "commit_pow_bits"))
    bits = max(query_bits(parameters.num_queries, agreement(log_blowup, multiplicity)) - count_bits, 0.0)
    pow_bits = parameters.query_pow_bits
    rounds.append(ChallengeError("queries", bits + pow_bits, "query_pow_bits", pow_bits))
    rounds.append(ChallengeError("hash", HASH_BITS, None, 0))
    return tuple(rounds)


def _algebraic(rounds: Sequence[ChallengeError]) -> float:
    """Return the bits of the weakest round with a challenge in the field: all rounds except queries and hash."""
    return min(challenge.bits for challenge in rounds[:-2])


def _each(shape: Shape | Sequence[Shape]) -> tuple[Shape, ...]:
    """Return the shapes of all shards as a tuple; a single shape is one shard."""
    return (shape,) if isinstance(shape, Shape) else tuple(shape)


def _shards(shapes: Sequence[Shape]) -> Counter[Shape]:
    """Return the number of shards of each shape.

    Raises:
        ValueError: there is no shard, or the widest tuples differ, which heads rule out.
    """
    shards = Counter(shapes)
    if len({shard.max_tuple_width for shard in shards}) != 1:
        raise ValueError(f"{shards.total()} shapes do not belong to the shards of one statement")
    return shards


def _shortest(shards: Iterable[Shape]) -> int:
    """Return log2 of the rows of the shortest table."""
    return min(table.log_height for shape in shards for table in shape.tables)


def analyse(shape: Shape | Sequence[Shape], parameters: Parameters) -> Security:
    """Return the provable security of a proof.

    Args:
        shape: shape of the proof, or of each shard.
        parameters: parameters of the proof.

    Raises:
        ValueError: a table has no more rows than the final polynomial has coefficients, and that is not a constant.
    """
    return _analysed(_each(shape), parameters)


@lru_cache(maxsize=256)  # proofs of one program often have equal shapes
def _analysed(shapes: tuple[Shape, ...], parameters: Parameters) -> Security:
    shards = _shards(shapes)
    shortest = _shortest(shards)
    if 0 < parameters.log_final_poly_len >= shortest:
        raise ValueError(
            f"the final polynomial has 2^{parameters.log_final_poly_len} coefficients, but a table has "
            f"2^{shortest} rows: it must have more"
        )

    def johnson(multiplicity: int) -> Regime:
        return Regime(multiplicity, _rounds(shards, parameters, multiplicity))

    def excess(multiplicity: int) -> float:
        rounds = johnson(multiplicity).rounds
        return rounds[-2].bits - _algebraic(rounds)

    # With m, query bits increase and all others decrease: the best m is one of the two around the crossing.
    multiplicities = range(LEAST_MULTIPLICITY, MOST_MULTIPLICITY + 1)
    crossing = bisect_right(multiplicities, 0.0, key=excess)
    around = multiplicities[max(crossing - 1, 0) : crossing + 1]
    return Security(
        unique=Regime(UNIQUE, _rounds(shards, parameters, UNIQUE)),
        johnson=max(map(johnson, around), key=lambda regime: regime.bits),
    )


def choose(
    shape: Shape | Sequence[Shape],
    target_bits: float = 128,
    log_blowup: int = 1,
    proximity: str = JOHNSON_PROXIMITY,
    hash: str = DEFAULT_HASH,
    pow_bits: int = QUERY_POW_BITS,
) -> Parameters:
    """Return the parameters with the fewest queries that reach a security level.

    Queries have ``pow_bits`` of grinding, other rounds the minimum that the level needs, at most OTHER_POW_BITS.

    Args:
        shape: shape of the proof, or of each shard.
        target_bits: provable security in bits.
        log_blowup: log2 of the inverse rate.
        proximity: proximity results to use, one of `PROXIMITIES`.
        hash: `Parameters.hash`.
        pow_bits: grinding before the queries; each bit doubles its work, and saves two queries at rate 1/2, one at
            1/4, fewer below.

    Raises:
        ValueError: the hash, the field or 1000 queries limit the level below the target; the message names the limit.
    """
    return _chosen(_each(shape), target_bits, log_blowup, proximity, hash, pow_bits)


@lru_cache(maxsize=256)
def _chosen(
    shapes: tuple[Shape, ...], target_bits: float, log_blowup: int, proximity: str, hash: str, pow_bits: int
) -> Parameters:
    _check_proximity(proximity)
    if target_bits > HASH_BITS:
        raise ValueError(
            f"{target_bits} bits are out of reach: collisions of the hash limit every proof to {HASH_BITS:.0f} bits"
        )
    shards = _shards(shapes)
    most = Parameters(
        hash=hash,
        log_blowup=log_blowup,
        num_queries=Parameters.RANGES["num_queries"][1],
        log_final_poly_len=max(min(_shortest(shards) - 1, MAX_LOG_FINAL_POLY_LEN), 0),
        max_log_arity=MAX_LOG_ARITY,
        cap_height=CAP_HEIGHT,
        lookup_pow_bits=OTHER_POW_BITS,
        ood_pow_bits=OTHER_POW_BITS,
        batch_pow_bits=OTHER_POW_BITS,
        commit_pow_bits=OTHER_POW_BITS,
        query_pow_bits=pow_bits,
    )
    wanted = target_bits + MARGIN
    most_multiplicity = MOST_MULTIPLICITY if proximity == JOHNSON_PROXIMITY else 0
    multiplicities = range(LEAST_MULTIPLICITY, most_multiplicity + 1)

    def algebraic(multiplicity: int) -> float:
        return _algebraic(_rounds(shards, most, multiplicity))

    def queries(multiplicity: int) -> int:
        bits = wanted + log2(shards.total()) - pow_bits
        return max(ceil(bits / query_bits(1, agreement(log_blowup, multiplicity))), 1)

    # The largest multiplicity needs the fewest queries; the smallest one with equally few needs the least grinding.
    allowed = multiplicities[: bisect_right(multiplicities, -wanted, key=lambda m: -algebraic(m))]
    options = [UNIQUE] if algebraic(UNIQUE) >= wanted else []
    if allowed:
        options.append(allowed[bisect_left(allowed, -queries(allowed[-1]), key=lambda m: -queries(m))])
    options = [multiplicity for multiplicity in options if queries(multiplicity) <= most.num_queries]
    if not options:
        reachable = analyse(shapes, most).by(proximity)
        raise ValueError(
            f"{target_bits} bits are out of reach by {reachable.name}: with {most.num_queries} queries and all "
            f"grinding allowed, {reachable.binding.name} limits this shape to {reachable.bits:.1f} bits; "
            "ask for fewer bits or another rate"
        )
    multiplicity = min(options, key=queries)

    ground: dict[str, int] = {field: 0 for field in asdict(most) if field.endswith("pow_bits")} | {
        "query_pow_bits": pow_bits
    }
    for challenge in _rounds(shards, most, multiplicity)[:-2]:
        if challenge.pow_field:
            missing = ceil(wanted - (challenge.bits - challenge.pow_bits)) if challenge.bits < inf else 0
            ground[challenge.pow_field] = max(ground[challenge.pow_field], missing)
    return replace(most, num_queries=queries(multiplicity), **ground)  # type: ignore[arg-type]
