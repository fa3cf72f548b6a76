"""The identity at the out-of-domain point against polynomials that are interpolated completely."""

import random

import pytest

from graphprover.air.description import AirDescription
from graphprover.field import (
    GENERATOR,
    ONE,
    ZERO,
    Ext,
    P,
    ext,
    ext_add,
    ext_inv,
    ext_mul,
    ext_pow,
    ext_scale,
    ext_sub,
    ext_sum,
    inv,
    root_of_unity,
)
from graphprover.protocol import arrays, backend
from graphprover.protocol.constraints import (
    chunk_weights,
    fold_constraints,
    join_coordinates,
    join_quotients,
    selectors_at,
    selectors_of,
)
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import TableOpenings, exts_to_words, words_to_exts
from tests import naive_constraints as naive
from tests.naive_device import interpolate, points
from tests.random_statements import random_statement


def random_ext(rng: random.Random) -> Ext:
    return (rng.randrange(P), rng.randrange(P), rng.randrange(P))


def evaluate(coefficients: list[Ext], point: Ext) -> Ext:
    value = ZERO
    for coefficient in reversed(coefficients):
        value = ext_add(ext_mul(value, point), coefficient)
    return value


@pytest.mark.parametrize("log_height", [0, 1, 3])
@pytest.mark.parametrize("log_chunks", [0, 1, 2, 3])
def test_quotient_is_the_polynomial_through_its_chunks(log_height: int, log_chunks: int) -> None:
    rng = random.Random(log_height * 4 + log_chunks)
    height, chunks = 1 << log_height, 1 << log_chunks
    quotient = [random_ext(rng) for _ in range(height * chunks)]  # coefficients
    zeta = random_ext(rng)
    values = [evaluate(quotient, ext(x)) for x in points(GENERATOR, log_height + log_chunks)]
    shift = root_of_unity(log_height + log_chunks)
    opened = []
    for chunk in range(chunks):
        # On 7·h^chunk·H, each coordinate a polynomial over the base field, opened at zeta.
        own = values[chunk::chunks]
        coset = GENERATOR * pow(shift, chunk, P) % P
        coordinates = [interpolate([value[i] for value in own], coset) for i in range(3)]
        opened.append([evaluate([ext(c) for c in column], zeta) for column in coordinates])
    assert naive.join_quotient(log_height, opened, zeta) == evaluate(quotient, zeta)
    weights = chunk_weights(log_height, log_chunks, zeta)
    parts = [ext_mul(weight, naive.join_coordinates(of)[0]) for weight, of in zip(weights, opened, strict=True)]
    assert ext_sum(parts) == evaluate(quotient, zeta)


def test_coordinates_are_joined_by_powers_of_x() -> None:
    rng = random.Random(0)
    a, b, c = (random_ext(rng) for _ in range(3))
    x = (0, 1, 0)
    joined = ext_add(a, ext_mul(x, ext_add(b, ext_mul(x, c))))
    assert naive.join_coordinates([a, b, c]) == [joined]
    assert join_coordinates(arrays.exts([a, b, c, a, b, c])).T.tolist() == [list(joined)] * 2
    assert join_coordinates(arrays.exts([])).shape == (3, 0)


def openings_of(rng: random.Random, air: AirDescription) -> TableOpenings:
    """Return arbitrary values."""

    def words(count: int) -> bytes:
        return exts_to_words([random_ext(rng) for _ in range(count)])

    return TableOpenings(
        main=words(air.main_width),
        main_next=words(air.main_width) if air.main_next else None,
        preprocessed=words(air.preprocessed_width) if air.preprocessed_width else None,
        preprocessed_next=words(air.preprocessed_width) if air.preprocessed_next else None,
        quotient=tuple(words(3) for _ in range(1 << air.log_quotient_chunks)),
        permutation=words(air.permutation_width),
        permutation_next=words(air.permutation_width),
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("by", ["NumPy", "kernels"])
def test_all_tables_at_once_are_each_by_itself(seed: int, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(backend.NUMPY_ONLY, raising=False)
    if by == "NumPy":
        monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    rng = random.Random(seed)
    parameters, statement = random_statement(seed, tables=1 + seed % 4, interactions=seed % 6)
    airs, public = statement.descriptions, [table.public_values or () for table in statement.tables]
    log_heights = tuple(table.main.shape[1].bit_length() - 1 for table in statement.tables)
    layout = Layout(airs, log_heights, parameters, shard=False)
    openings = [openings_of(rng, air) for air in airs]
    terminals = [random_ext(rng) if air.lookups else None for air in airs]
    prefixes = [[random_ext(rng) for _ in air.lookups] for air in airs]
    zeta, tau, alpha = (random_ext(rng) for _ in range(3))
    selectors = selectors_of(layout, zeta)
    folded = fold_constraints(layout, openings, public, terminals, selectors, prefixes, tau, alpha).T.tolist()
    quotients = join_quotients(layout, openings, zeta).T.tolist()
    for table, (air, opened) in enumerate(zip(airs, openings, strict=True)):
        assert selectors[table] == selectors_at(log_heights[table], zeta)
        at = naive.Evaluations(
            main=words_to_exts(opened.main),
            main_next=words_to_exts(opened.main_next or bytes(24 * air.main_width)),
            preprocessed=words_to_exts(opened.preprocessed or b""),
            preprocessed_next=words_to_exts(opened.preprocessed_next or bytes(24 * air.preprocessed_width)),
            permutation=naive.join_coordinates(words_to_exts(opened.permutation)),
            permutation_next=naive.join_coordinates(words_to_exts(opened.permutation_next)),
            public_values=public[table],
            terminal=terminals[table],
        )
        expected = naive.fold_constraints(air, at, selectors[table], prefixes[table], tau, alpha)
        assert tuple(folded[table]) == expected
        chunks = [words_to_exts(chunk) for chunk in opened.quotient]
        assert tuple(quotients[table]) == naive.join_quotient(log_heights[table], chunks, zeta)


@pytest.mark.parametrize("log_height", [0, 1, 2, 5])
def test_selectors_are_multiples_of_lagrange_polynomials(log_height: int) -> None:
    """first and last are unnormalised: n, and n/g, on their row; transition is zero only on the last row."""
    rng = random.Random(log_height)
    height, root, zeta = 1 << log_height, root_of_unity(log_height), random_ext(rng)
    selectors = selectors_at(log_height, zeta)
    # The sum of powers of x·a^-1 is n at x = a and zero elsewhere on H.
    sums = [
        [ext_pow(ext_scale(zeta, inv(pow(root, row, P))), power) for power in range(height)] for row in (0, height - 1)
    ]
    first, last = (ZERO, ZERO)
    for a, b in zip(*sums, strict=True):
        first, last = ext_add(first, a), ext_add(last, b)
    assert selectors.first == first
    assert selectors.last == ext_scale(last, root)
    assert selectors.transition == ext_sub(zeta, ext(inv(root)))
    assert selectors.vanishing == ext_sub(ext_pow(zeta, height), ONE)
    assert ext_mul(selectors.last, selectors.transition) == selectors.vanishing
    assert ext_inv(selectors.transition) != ZERO


def test_a_point_of_the_trace_domain_has_no_selectors() -> None:
    for row in range(8):
        with pytest.raises(VerificationError, match="trace domain"):
            selectors_at(3, ext(pow(root_of_unity(3), row, P)))
    selectors_at(3, ext(GENERATOR))
