"""Provable security: published figures, monotonicity, and the choice of parameters."""

import itertools
import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.air import Air, Bus
from graphprover.jobs.opening import load_packaged
from graphprover.protocol import security
from graphprover.protocol.joint import MOST_SHARDS
from graphprover.protocol.layout import make_layout
from graphprover.protocol.parameters import HASH_NAMES, LAYER_RATES, RATES, Parameters
from graphprover.protocol.security import (
    FIELD_BITS,
    LEAST_MULTIPLICITY,
    PROXIMITIES,
    UNIQUE,
    Shape,
    TableShape,
    agreement,
    analyse,
    choose,
    exceptional,
    folds,
    list_size,
    most_bits,
    separation_errors,
    shape_of,
)

# One table of 2^22 rows and 500 openings: the shape of the published figures.
PUBLISHED = Shape((TableShape(22, 100, 2, 500, 0, 250),), 0)
PLAIN = Parameters("keccak", 1, 100, 0, 3, 0, 0, 0, 0, 0, 20)

tables = st.builds(
    TableShape,
    log_height=st.integers(0, 28),
    constraints=st.integers(0, 5000),
    quotient_chunks=st.sampled_from([1, 2, 4, 8]),
    openings=st.integers(1, 5000),
    interactions=st.integers(0, 200),
    main_columns=st.integers(1, 2000),
)
shapes = st.builds(Shape, st.lists(tables, min_size=1, max_size=6).map(tuple), st.integers(0, 30))
pow_bits = st.integers(0, 32)
parameters = st.builds(
    Parameters,
    hash=st.sampled_from(HASH_NAMES),
    log_blowup=st.integers(1, 8),
    num_queries=st.integers(1, 400),
    log_final_poly_len=st.just(0),
    max_log_arity=st.integers(1, 6),
    cap_height=st.just(0),
    lookup_pow_bits=pow_bits,
    ood_pow_bits=pow_bits,
    batch_pow_bits=pow_bits,
    commit_pow_bits=pow_bits,
    query_pow_bits=pow_bits,
)


def fewest_queries(log_blowup: int, target: int, regime: str) -> int:
    """Return the queries for a level with 20 bits of grinding on queries only, by trial of all numbers."""

    def reaches(num_queries: int) -> bool:
        security = analyse(PUBLISHED, replace(PLAIN, log_blowup=log_blowup, num_queries=num_queries))
        return getattr(security, regime).bits >= target

    return next(n for n in range(1, 400) if reaches(n))


@pytest.mark.parametrize(
    ("regime", "target", "published"),
    [
        ("johnson", 100, (161, 81, 54)),
        ("johnson", 128, (221, 110, 73)),
        ("unique", 100, (193, 118, 97)),
        ("unique", 128, (261, 160, 131)),
    ],
)
def test_published_query_counts(regime, target, published):
    assert tuple(fewest_queries(r, target, regime) for r in (1, 2, 3)) == published


def test_chosen_query_counts():
    """Ten bits of grinding on the batching save up to three queries of the published numbers."""
    assert [choose(PUBLISHED, 128, r).num_queries for r in LAYER_RATES.values()] == [218, 109, 73, 55, 44, 37, 32, 28]
    assert [choose(PUBLISHED, 100, r).num_queries for r in (1, 2, 3)] == [161, 81, 54]


@pytest.mark.parametrize(
    ("bits", "queries"),
    [
        (0, [258, 129, 86, 65, 52, 43, 37, 33]),
        (20, [218, 109, 73, 55, 44, 37, 32, 28]),
        (24, [210, 105, 70, 53, 42, 35, 30, 27]),
        (28, [201, 101, 67, 51, 41, 34, 29, 26]),
        (30, [197, 99, 66, 50, 40, 33, 29, 25]),
    ],
)
def test_work_before_the_queries_replaces_queries(bits: int, queries: list[int]) -> None:
    """Each bit of work replaces two queries at rate 1/2, one at 1/4 and fewer below."""
    chosen = [choose(PUBLISHED, 128, r, pow_bits=bits) for r in LAYER_RATES.values()]
    assert [one.num_queries for one in chosen] == queries
    for one in chosen:
        assert one.query_pow_bits == bits and analyse(PUBLISHED, one).bits == 128


def test_one_set_of_queries_for_all_shapes_within_bounds() -> None:
    """All heights from 2^9 to 2^26, each with 32,768 openings: no smaller shape needs more queries."""
    bounds = Shape(tuple(TableShape(h, 100, 2, 32_768, 0, 16_384) for h in range(9, 27)), 0)
    for log_blowup, queries in zip(RATES.values(), (221, 110, 74, 55, 45, 37), strict=True):
        fixed = replace(PLAIN, log_blowup=log_blowup, num_queries=queries, log_final_poly_len=8, batch_pow_bits=10)
        assert analyse(bounds, fixed).bits == 128
        assert analyse(bounds, replace(fixed, num_queries=queries - 1)).bits < 128
        assert analyse(PUBLISHED, fixed).bits == 128


# ``fib_iterative`` over 1,000,004 cycles; tables of equal height are merged, which changes no round.
MILLION = Shape(
    (
        TableShape(17, 14, 2, 88, 18, 22),
        TableShape(16, 25, 2, 410, 82, 100),
        TableShape(15, 25, 2, 290, 60, 74),
        TableShape(12, 14, 2, 88, 18, 22),
        TableShape(11, 25, 2, 290, 60, 74),
        TableShape(9, 4, 1, 24, 1, 1),
        TableShape(7, 118, 4, 145, 18, 73),
        TableShape(6, 14, 2, 248, 26, 37),
    ),
    9,
)


def example(name: str) -> Shape:
    """Return the shape of a packaged example without input."""
    statement = load_packaged(name).record()
    log_heights = [table.main.shape[1].bit_length() - 1 for table in statement.tables if table.main is not None]
    return shape_of(statement.descriptions, log_heights, 1)


def bciks20(log_dimension: int, log_blowup: int, multiplicity: int) -> float:
    """Return ``exceptional`` by eprint 2020/654, section 6, beyond unique decoding."""
    if log_dimension == 0 or multiplicity == UNIQUE:
        return exceptional(log_dimension, log_blowup, multiplicity)
    points = 2.0 ** (log_dimension + log_blowup)
    return (multiplicity + 0.5) ** 7 * points**2 / (3 * 2.0 ** (-1.5 * log_blowup))


def as_printed(log_blowup: int, multiplicity: int) -> float:
    """Return ``agreement`` with the printed m of eprint 2025/2055, Theorem 4.2: the square root of rho over eta."""
    return agreement(log_blowup, multiplicity if multiplicity == UNIQUE else multiplicity / 2)


@pytest.mark.parametrize(
    ("shape", "unique", "by_bciks20", "printed", "below_tallest", "below_shortest"),
    [
        (MILLION, 110.1, 121.5, 127.6, 128.0, 123.5),
        (example("examples/fibonacci"), 110.1, 125.8, 128.0, 128.0, 128.0),
        (example("examples/memory"), 110.1, 126.4, 128.0, 127.3, 123.5),
    ],
    ids=["million cycles", "fibonacci", "memory"],
)
def test_bits_by_other_results(
    shape: Shape,
    unique: float,
    by_bciks20: float,
    printed: float,
    below_tallest: float,
    below_shortest: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The table of docs/security_figures.md: bits of parameters chosen for 128 bits at rate 1/2, by each result."""
    chosen = choose(shape)
    assert chosen.num_queries == 217

    def johnson(**changed: object) -> float:
        with monkeypatch.context() as patch:
            for name, other in changed.items():
                patch.setattr(security, name, other)
            security._analysed.cache_clear()
            bits = analyse(shape, chosen).johnson.bits
        security._analysed.cache_clear()
        return round(bits, 1)

    heights = [table.log_height for table in shape.tables]
    assert round(analyse(shape, chosen).unique.bits, 1) == unique
    assert johnson() == 128
    assert johnson(exceptional=bciks20) == by_bciks20
    assert johnson(agreement=as_printed) == printed
    assert johnson(MOST_MULTIPLICITY=2 ** max(heights) // 2 - 1) == below_tallest
    assert johnson(MOST_MULTIPLICITY=2 ** min(heights) // 2 - 1) == below_shortest


@pytest.mark.parametrize(("log_blowup", "unique"), [(1, 110.1), (2, 93.9), (3, 80.6), (4, 70.2), (5, 62.0), (6, 56.2)])
def test_bits_of_128_by_unique_decoding_alone(log_blowup: int, unique: float) -> None:
    chosen = choose(MILLION, 128, log_blowup)
    assert round(analyse(MILLION, chosen).by("unique").bits, 1) == unique
    assert analyse(MILLION, chosen).by("johnson").bits == 128


@pytest.mark.parametrize(
    ("log_blowup", "published"),
    [
        (1, (217, 219, 221, 223, 225, 230, 234, 239)),
        (2, (109, 110, 111, 112, 113, 115, 117, 119)),
        (3, (73, 73, 74, 75, 75, 77, 78, 80)),
        (4, (55, 55, 56, 56, 57, 58, 59, 60)),
        (5, (44, 44, 45, 45, 45, 46, 47, 48)),
        (6, (37, 37, 37, 38, 38, 39, 39, 40)),
    ],
)
def test_queries_of_shards(log_blowup: int, published: tuple[int, ...]) -> None:
    """The table of docs/security_figures.md for shards of a million cycles each."""
    counts = (1, 2, 4, 8, 16, 64, 256, 1024)
    assert tuple(choose([MILLION] * count, 128, log_blowup).num_queries for count in counts) == published


def separated(shape: Shape) -> Shape:
    """Return a proof by itself with the openings of a shard."""
    tables = [replace(table, openings=table.openings + table.main_columns) for table in shape.tables]
    return replace(shape, tables=tuple(tables))


@pytest.mark.parametrize("log_blowup", RATES.values())
@pytest.mark.parametrize("count", [2, 8, 64, MOST_SHARDS])
def test_shards_take_the_queries_of_one_and_the_logarithm_of_their_number(count: int, log_blowup: int) -> None:
    """At 100 bits, so that the level of one with log2 of the number more is below the bits of the hash."""
    for shape in (MILLION, PUBLISHED):
        alone = choose(separated(shape), 100 + math.log2(count), log_blowup).num_queries
        assert choose([shape] * count, 100, log_blowup).num_queries == alone


shards = st.lists(shapes, min_size=1, max_size=5).map(
    lambda drawn: [replace(shape, max_tuple_width=drawn[0].max_tuple_width) for shape in drawn]
)


@given(shapes, parameters)
def test_one_shard_is_a_proof_by_itself(shape: Shape, params: Parameters) -> None:
    assert analyse([shape], params) == analyse(shape, params)


@given(shards, parameters)
def test_rounds_of_shards(shapes: list[Shape], params: Parameters) -> None:
    """The sentences of docs/security.md, applied to the rounds of each shard."""
    loss, several = math.log2(len(shapes)), len(shapes) > 1
    for multiplicity in (UNIQUE, 3, 70):
        own = [separated(shape) if several else shape for shape in shapes]
        alone = [{r.name: r for r in security._rounds(Counter([shape]), params, multiplicity)} for shape in own]
        together = {r.name: r for r in security._rounds(Counter(shapes), params, multiplicity)}
        candidates = 1 if multiplicity == UNIQUE else (multiplicity + 0.5) * 2 ** (params.log_blowup / 2)
        if several:
            rows = max(2**t.log_height for shape in shapes for t in shape.tables)
            pairs = candidates * (candidates - 1) / 2
            expected = FIELD_BITS - math.log2(pairs * rows) - loss if pairs else math.inf
            assert together.pop("separation") == security.ChallengeError("separation", pytest.approx(expected), None, 0)
            candidates = 1
        assert together.keys() == {name for rounds in alone for name in rounds}
        fractions = sum(t.interactions * 2**t.log_height for shape in shapes for t in shape.tables)
        for name, found in together.items():
            assert found.pow_bits == next(rounds[name].pow_bits for rounds in alone if name in rounds)
            if name == "lookups" and fractions:
                errors = math.log2(fractions * (max(shapes[0].max_tuple_width, 1) + 1))
                errors += math.log2(candidates)
                assert found.bits == pytest.approx(max(FIELD_BITS - errors, 0) + params.lookup_pow_bits)
            elif name == "hash":
                assert found.bits == 128
            elif name != "lookups":
                worst = min(rounds[name].bits for rounds in alone if name in rounds)
                assert found.bits == pytest.approx(max(worst - loss, found.pow_bits))
            else:
                assert found.bits == math.inf


@given(shards, parameters)
def test_another_shard_never_raises_the_level(shapes: list[Shape], params: Parameters) -> None:
    """Except over one, whose candidates no separating point reduces."""
    assert analyse(shapes, params).bits <= analyse(shapes[1:] if len(shapes) > 2 else shapes, params).bits


@given(shards, st.integers(40, 110), st.integers(1, 6))
def test_parameters_for_shards_reach_the_level(shapes: list[Shape], target: int, log_blowup: int) -> None:
    try:
        chosen = choose(shapes, target, log_blowup)
    except ValueError:
        return
    assert analyse(shapes, chosen).bits >= target
    assert most_bits(chosen, len(shapes)) >= analyse(shapes, chosen).bits


def test_shapes_of_different_statements() -> None:
    with pytest.raises(ValueError, match="do not belong to the shards of one statement"):
        analyse([MILLION, replace(MILLION, max_tuple_width=3)], PLAIN)
    with pytest.raises(ValueError, match="0 shapes"):
        analyse([], PLAIN)


def test_thousands_of_shards_are_within_floating_point() -> None:
    few = choose([MILLION] * MOST_SHARDS, 100)
    assert analyse([MILLION] * MOST_SHARDS, few).regime.bits >= 100
    assert analyse([MILLION] * MOST_SHARDS, few).regime.multiplicity >= LEAST_MULTIPLICITY


def test_where_multiplicities_end_counts() -> None:
    """Exceptional challenges of tables of one row do not grow with m, so only the largest m limits the bits."""
    assert analyse(Shape((TableShape(0, 1, 1, 4, 0, 1),), 0), PLAIN).johnson.multiplicity == 1 << 16


def test_formulas_at_known_points():
    rho = 0.5
    assert agreement(1, UNIQUE) == 0.75
    assert agreement(2, 3) == pytest.approx(0.5 * (1 + 1 / 6))
    assert list_size(2, 10) == pytest.approx(10.5 * 2)
    assert exceptional(20, 1, UNIQUE) == 2.0**21
    expected = 2**21 * (2 * 10.5**5 + 3 * 10.5 * rho) / (3 * rho**1.5) + 10.5 / rho**0.5
    assert exceptional(20, 1, 10) == pytest.approx(expected)
    assert exceptional(0, 2, 10) == 6
    assert 192 - 1e-8 < FIELD_BITS < 192


@given(st.integers(1, 31), st.integers(1, 6), st.integers(3, 1 << 16))
def test_exceptional_covers_the_independent_johnson_bound(log_dimension, log_blowup, m):
    """8 N (m+1/2)^3 / (3 (k-1)/N) of eprint 2026/2056, Theorem 5.12, at the same radius, is below our count."""
    points, dimension = 2.0 ** (log_dimension + log_blowup), 2.0**log_dimension
    other = 8 * points * (m + 0.5) ** 3 / (3 * (dimension - 1) / points)
    assert other <= exceptional(log_dimension, log_blowup, m)


@given(st.integers(1, 6), st.integers(3, 1 << 16))
def test_list_size_covers_the_johnson_bound(log_blowup, multiplicity):
    rate, kappa = 2.0**-log_blowup, agreement(log_blowup, multiplicity)
    assert (kappa - rate) / (kappa**2 - rate) <= list_size(log_blowup, multiplicity)


def test_exceptional_constants_by_brute_force():
    """Over a small field, no line of words has more mutually exceptional points than the bound for constants."""
    p, points = 17, 4
    for seed in range(50):
        u, v = ([(seed * a + b * b + seed // 3) % p for b in range(points)] for a in (3, 7))
        bad = {
            z
            for z in range(p)
            for i in range(points)
            for j in range(i)
            if (u[i] + z * v[i] - u[j] - z * v[j]) % p == 0 and (u[i] != u[j] or v[i] != v[j])
        }
        assert len(bad) <= exceptional(0, 2, 3)


def test_separating_points_by_brute_force() -> None:
    """Over a small field, no word has more points at which two of its candidates agree than the bound.

    Candidates have degree at most n, the rows, and agree with a word on more than the fraction κ of N points.
    """
    p, rows, points, log_blowup, m = 17, 2, 16, 3, 20
    domain = [pow(3, i, p) for i in range(points)]
    polynomials = list(itertools.product(range(p), repeat=rows + 1))

    def at(polynomial: tuple[int, ...], x: int) -> int:
        return sum(c * x**i for i, c in enumerate(polynomial)) % p

    values = np.array([[at(polynomial, x) for x in domain] for polynomial in polynomials])
    everywhere = np.array([[at(polynomial, x) for x in range(p)] for polynomial in polynomials])
    rng, most = random.Random(5), 0
    for _ in range(100):
        mixed = values[[rng.randrange(len(polynomials)) for _ in range(3)]]
        word = np.array([mixed[rng.randrange(3), i] for i in range(points)])
        candidates = everywhere[(values == word).sum(axis=1) > points * agreement(log_blowup, m)]
        bad = {z for z in range(p) for one, other in itertools.combinations(candidates, 2) if one[z] == other[z]}
        found = len(candidates)
        assert len(bad) <= found * (found - 1) / 2 * rows
        assert found <= list_size(log_blowup, m)
        assert len(bad) <= separation_errors(Shape((TableShape(1, 1, 1, 1, 0, 1),), 0), log_blowup, m)
        most = max(most, len(bad))
    assert most > rows  # the words include some with several candidates


@pytest.mark.parametrize("log_blowup", LAYER_RATES.values())
def test_best_multiplicity_beats_all_others(log_blowup):
    params = replace(PLAIN, log_blowup=log_blowup, num_queries=250 // log_blowup)
    best = analyse(PUBLISHED, params).johnson.bits
    rounds = (security._rounds(Counter([PUBLISHED]), params, m) for m in range(3, 3000))
    assert best == max(min(challenge.bits for challenge in row) for row in rounds)


@given(shapes, parameters)
def test_never_raises_and_reports_the_minimum(shape, params):
    result = analyse(shape, params)
    assert 0 <= result.bits <= 128
    assert result.bits == max(min(r.bits for r in regime.rounds) for regime in (result.unique, result.johnson))
    assert result.binding in {r.name for r in result.regime.rounds if r.bits == result.bits}
    assert f"{result.bits:.1f} bits" in result.table()


@given(shapes, parameters, st.data())
def test_more_work_never_lowers_the_level(shape, params, data):
    field = data.draw(st.sampled_from([f for f in Parameters.RANGES if f.endswith("pow_bits")] + ["num_queries"]))
    more = replace(params, **{field: min(getattr(params, field) + 1, Parameters.RANGES[field][1])})
    assert analyse(shape, more).bits >= analyse(shape, params).bits


@given(shapes, parameters, st.data())
def test_a_larger_statement_never_raises_the_level(shape, params, data):
    """Except if a changed height merges two heights or adds a fold of smaller arity."""
    index = data.draw(st.integers(0, len(shape.tables) - 1))
    field = data.draw(st.sampled_from(["constraints", "quotient_chunks", "openings", "interactions"]))
    table = shape.tables[index]
    larger = replace(table, **{field: 2 * getattr(table, field) + 1})
    grown = replace(shape, tables=(*shape.tables[:index], larger, *shape.tables[index + 1 :]))
    assert analyse(grown, params).bits <= analyse(shape, params).bits
    wider = replace(shape, max_tuple_width=shape.max_tuple_width + 1)
    assert analyse(wider, params).bits <= analyse(shape, params).bits
    more = replace(shape, tables=(*shape.tables, table))
    assert analyse(more, params).bits <= analyse(shape, params).bits


@pytest.mark.parametrize("log_blowup", LAYER_RATES.values())
@pytest.mark.parametrize("params", [PLAIN, replace(PLAIN, num_queries=300), replace(PLAIN, max_log_arity=1)])
def test_a_taller_table_never_raises_the_level(params, log_blowup):
    levels = [
        analyse(Shape((TableShape(h, 50, 2, 300, 20, 150),), 5), replace(params, log_blowup=log_blowup)).bits
        for h in range(31)
    ]
    assert levels == sorted(levels, reverse=True)


@settings(max_examples=200)
@given(shapes, st.sampled_from([1, 30, 64, 80, 100, 120, 127.5, 128]), st.integers(1, 6))
def test_choice_reaches_the_target_with_the_fewest_queries(shape, target, log_blowup):
    chosen = choose(shape, target, log_blowup)
    assert chosen.log_blowup == log_blowup
    assert analyse(shape, chosen).bits >= target
    if chosen.num_queries > 1:
        fewer = replace(chosen, num_queries=chosen.num_queries - 1)
        assert analyse(shape, fewer).bits < target
        ground = {f: 10 for f in Parameters.RANGES if f.endswith("pow_bits")} | {"query_pow_bits": 20}
        assert analyse(shape, replace(fewer, **ground)).bits < target
    for field in ("lookup_pow_bits", "ood_pow_bits", "batch_pow_bits", "commit_pow_bits"):
        bits = getattr(chosen, field)
        assert bits <= 10
        # Every bit of grinding is necessary.
        assert bits == 0 or analyse(shape, replace(chosen, **{field: bits - 1})).bits < target
    shortest = min(table.log_height for table in shape.tables)
    assert chosen.log_final_poly_len == 0 or chosen.log_final_poly_len < shortest


@given(shapes, st.sampled_from([30, 80, 100, 128]), st.integers(1, 6))
def test_choice_by_unique_decoding_alone(shape: Shape, target: int, log_blowup: int) -> None:
    chosen = choose(shape, target, log_blowup, "unique")
    assert analyse(shape, chosen).unique.bits >= target
    assert chosen.num_queries >= choose(shape, target, log_blowup).num_queries
    fewer = replace(chosen, num_queries=max(chosen.num_queries - 1, 1))
    assert chosen.num_queries == 1 or analyse(shape, fewer).unique.bits < target


def test_queries_by_unique_decoding_alone() -> None:
    for shape in (PUBLISHED, MILLION):
        unique = [choose(shape, 128, r, "unique").num_queries for r in RATES.values()]
        assert unique == [261, 160, 131, 119, 114, 111]


def test_other_proximities_are_refused() -> None:
    for unknown in ("", "Unique", "capacity"):
        with pytest.raises(ValueError, match="choose johnson or unique"):
            choose(PUBLISHED, proximity=unknown)
        with pytest.raises(ValueError, match="choose johnson or unique"):
            analyse(PUBLISHED, PLAIN).by(unknown)


@given(shapes, parameters)
def test_a_level_by_proximity_is_that_of_its_analysis(shape: Shape, params: Parameters) -> None:
    result = analyse(shape, params)
    assert [result.by(proximity).bits for proximity in PROXIMITIES] == [result.bits, result.unique.bits]
    for bits in (result.bits, result.johnson.bits, result.unique.bits):
        assert f"{bits:.1f}" in result.summary and f"{bits:.1f}" in result.table().splitlines()[-1]


def test_a_proof_with_fewer_queries_is_below_the_level():
    chosen = choose(PUBLISHED)
    assert analyse(PUBLISHED, chosen).bits == 128
    for num_queries in (chosen.num_queries - 1, 100, 1):
        weaker = analyse(PUBLISHED, replace(chosen, num_queries=num_queries))
        assert weaker.bits < 128
        assert weaker.binding in ("queries", "batching")


def test_levels_above_the_hash_are_refused():
    with pytest.raises(ValueError, match="collisions of the hash"):
        choose(PUBLISHED, 129)


def test_unreachable_levels_name_what_binds():
    vast = Shape((TableShape(32, 10, 1, 1 << 80, 0, 1),), 0)
    with pytest.raises(ValueError, match=r"batching limits this shape to 8\d\.\d bits"):
        choose(vast)
    with pytest.raises(ValueError, match=r"by unique decoding: .* batching limits .*; ask for fewer bits or another"):
        choose(vast, proximity="unique")
    wide = Shape((TableShape(32, 10, 1, 10, 1 << 60, 7),), 5)
    with pytest.raises(ValueError, match=r"lookups limits this shape to 10\d\.\d bits"):
        choose(wide)


@pytest.mark.parametrize("log_heights", [(0,), (1,), (0, 0), (1, 0), (0, 20), (2, 1, 0)])
def test_tiny_tables(log_heights):
    shape = Shape(tuple(TableShape(h, 1, 1, 4, 0, 1) for h in log_heights), 0)
    chosen = choose(shape)
    assert chosen.log_final_poly_len == (1 if min(log_heights) == 2 else 0)
    assert analyse(shape, chosen).bits == 128


def test_a_final_polynomial_as_long_as_a_table_is_refused():
    for log_height in (3, 4):
        with pytest.raises(ValueError, match="final polynomial"):
            analyse(Shape((TableShape(log_height, 1, 1, 4, 0, 1),), 0), replace(PLAIN, log_final_poly_len=4))
    with pytest.raises(ValueError, match="at least one table"):
        Shape((), 0)


def test_joining_codewords_cost_a_degree():
    """A fold of arity 8 is a curve of degree 7, or 8 if a shorter table joins; no fold skips a table."""
    shape = Shape(tuple(TableShape(h, 1, 1, 4, 0, 1) for h in (10, 7, 6, 6, 0)), 0)
    assert list(folds(shape, PLAIN)) == [(7, 8), (6, 2), (3, 7), (0, 8)]


def test_an_analysis_tries_few_multiplicities(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verifier analyses every proof, with arbitrary parameters."""
    tried = []
    rounds = security._rounds

    def counted(shape: Shape, params: Parameters, multiplicity: int) -> tuple[security.ChallengeError, ...]:
        tried.append(multiplicity)
        return rounds(shape, params, multiplicity)

    monkeypatch.setattr(security, "_rounds", counted)
    analyse(MILLION, PLAIN)
    assert len(tried) <= 20


BUS = Bus("numbers")


class Squares(Air):
    """A table with two interactions, and a preprocessed column that is read on two rows."""

    name = "squares"
    columns = ("value", "square", "count")
    preprocessed = ("step",)

    def define(self, t):
        t.every_row(t.value * t.value - t.square)
        t.transition(t.next.step - t.step - 1)
        t.send(BUS, [t.value, t.square])
        t.provide(BUS, [t.step, t.square], t.count)


class Steps(Air):
    """A table without lookups that reads the next row of the main trace."""

    name = "steps"
    columns = ("value",)

    def define(self, t):
        t.transition(t.next.value - t.value - 1)


def test_shape_of_a_description():
    airs = (Squares().describe(), Steps().describe())
    chunks = 1 << airs[0].log_quotient_chunks
    pins = len(airs[0].lookups)
    shape = shape_of(airs, (4, 6), 1)
    assert shape == Shape(
        (
            TableShape(4, 2 + pins + 3, chunks, 3 + 2 * 1 + 3 * 2 * (pins + 1) + 3 * chunks, 2, 3),
            TableShape(6, 1, 1, 2 * 1 + 3 * 1, 0, 1),
        ),
        2,
    )
    with pytest.raises(ValueError):
        shape_of(airs, (4,), 1)


@pytest.mark.parametrize("shard", [False, True])
def test_shape_agrees_with_the_layout(shard: bool) -> None:
    """Openings at each height equal the powers of the batching challenge, and folds the folds of the proof."""
    airs, log_heights = (Squares().describe(), Steps().describe(), Squares().describe()), (9, 4, 9)
    for max_log_arity in range(1, 7):
        params = replace(PLAIN, max_log_arity=max_log_arity, log_final_poly_len=2)
        layout = make_layout(airs, log_heights, params, shard=shard)
        whole = shape_of(airs, log_heights, params.log_blowup)
        shape = separated(whole) if shard else whole
        powers: Counter[int] = Counter()
        for matrix in (matrix for r in layout.rounds for matrix in r.matrices):
            powers[matrix.log_rows - params.log_blowup] += matrix.width * len(matrix.points)
        openings: Counter[int] = Counter()
        for table in shape.tables:
            openings[table.log_height] += table.openings
        assert openings == powers
        left = [height - params.log_blowup for height in layout.folded_log_heights]
        assert [dimension for dimension, _ in folds(shape, params)] == left
        degrees = [(1 << a) - 1 + (h in log_heights) for a, h in zip(layout.fold_log_arities, left, strict=True)]
        assert [degree for _, degree in folds(shape, params)] == degrees


def test_table_marks_rounds_without_challenges():
    text = analyse(PUBLISHED, replace(PLAIN, num_queries=221)).table()
    lines = text.splitlines()
    assert lines[0].split() == ["round", "grinding", "unique", "decoding", "Johnson,", "m", "=", "71"]
    assert lines[1].split() == ["lookups", "-", "-", "-"]
    assert "queries         " in text
    assert math.isinf(analyse(PUBLISHED, PLAIN).unique.rounds[0].bits)
