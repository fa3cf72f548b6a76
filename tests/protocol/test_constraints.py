"""The identity at the out-of-domain point against polynomials that are interpolated in full."""

import random

import pytest

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
    inv,
    root_of_unity,
)
from graphprover.protocol.constraints import join_coordinates, join_quotient, selectors_at
from graphprover.protocol.errors import VerificationError
from tests.naive_device import interpolate, points


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
    assert join_quotient(log_height, opened, zeta) == evaluate(quotient, zeta)


def test_coordinates_are_joined_by_powers_of_x() -> None:
    rng = random.Random(0)
    a, b, c = (random_ext(rng) for _ in range(3))
    x = (0, 1, 0)
    assert join_coordinates([a, b, c]) == [ext_add(a, ext_mul(x, ext_add(b, ext_mul(x, c))))]
    assert join_coordinates([ext(4), ext(5), ext(6), ext(7), ext(8), ext(9)]) == [(4, 5, 6), (7, 8, 9)]
    assert join_coordinates([]) == []


@pytest.mark.parametrize("log_height", [0, 1, 2, 5])
def test_selectors_are_multiples_of_lagrange_polynomials(log_height: int) -> None:
    """first and last are unnormalised: n, and n/g, on their row; transition is zero on the last row alone."""
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
