"""The constants of the kit's pairings against their derivation, and the facts on curves that its checks rely on."""

from math import gcd

import pytest
from py_ecc import optimized_bls12_381 as bls
from py_ecc import optimized_bn128 as bn

from tests.vm.curve_constants import RUNTIME, bls12_381, bn254, headers


@pytest.mark.parametrize("name", headers())
def test_the_headers_are_derived(name: str) -> None:
    """A changed constant is found here."""
    assert (RUNTIME / f"{name}.h").read_text() == headers()[name].render(f"{name.upper()}_H")


def test_the_parameters_give_the_curves() -> None:
    assert (bn254().p, bn254().r) == (bn.field_modulus, bn.curve_order)
    assert (bls12_381().p, bls12_381().r) == (bls.field_modulus, bls.curve_order)


def resultant(quadratic: tuple[int, int], other: list[int]) -> int:
    """Return the resultant of X^2 + s X + c, given as (s, c), and a polynomial: the norm of its remainder.

    The polynomial's factors come with the highest first.
    """
    s, c = quadratic
    high, low = 0, 0
    for factor in other:  # (high X + low) X + factor
        high, low = low - s * high, factor - c * high
    return low * low - s * low * high + c * high * high


def test_the_resultant() -> None:
    assert resultant((-3, 2), [1, -5]) == 12  # (1 - 5) (2 - 5)
    assert resultant((-3, 2), [1, 0, 1]) == 10


def test_the_relation_of_psi_decides_on_the_subgroup_of_bn254() -> None:
    """psi^2 - t psi + p = 0 on the twist.

    If (6 u + 2) + psi - psi^2 + psi^3 takes a point to 0, its order divides the resultant and the number of points: r.
    """
    curve = bn254()
    trace, u = curve.p + 1 - curve.r, curve.parameter
    relation = [1, -1, 1, 6 * u + 2]
    assert ((6 * u + 2) + curve.p - curve.p**2 + curve.p**3) % curve.r == 0
    assert gcd(resultant((-trace, curve.p), relation), curve.order) == curve.r


def test_the_relations_decide_on_the_subgroups_of_bls12_381() -> None:
    """On the twist psi = x, on the curve phi = -x^2 with phi^2 + phi + 1 = 0."""
    curve = bls12_381()
    trace, x = curve.p + 1 - curve.r, curve.parameter
    assert (x - curve.p) % curve.r == 0
    assert gcd(resultant((-trace, curve.p), [1, -x]), curve.order) == curve.r
    assert resultant((1, 1), [1, x * x]) == curve.r


def test_the_exponents_of_the_last_power() -> None:
    """Each is the last part of (p^12 - 1) / r times a number without the factor r."""
    for curve in (bn254(), bls12_381()):
        p, u = curve.p, curve.parameter
        last = (p**4 - p**2 + 1) // curve.r
        assert (p**4 - p**2 + 1) % curve.r == 0
        if curve.name == "bn254":
            c = [1 + 6 * u + 12 * u**2, 4 * u + 6 * u**2, 6 * u + 6 * u**2, -1 + 4 * u + 6 * u**2]
            exponent = sum((part + 12 * u**3) * p**i for i, part in enumerate(c))
        else:
            exponent = (u - 1) ** 2 * (u + p) * (u**2 + p**2 - 1) + 3
        factor, rest = divmod(exponent, last)
        assert rest == 0 and gcd(factor, curve.r) == 1
