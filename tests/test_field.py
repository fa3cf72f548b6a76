"""The field against Python's integers, polynomials and definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.field import (
    GENERATOR,
    ONE,
    ROOT_OF_UNITY,
    TWO_ADICITY,
    ZERO,
    Ext,
    P,
    array_add,
    array_mul,
    array_reverse_bits,
    array_sub,
    ext,
    ext_add,
    ext_inv,
    ext_mul,
    ext_neg,
    ext_pow,
    ext_powers,
    ext_scale,
    ext_sub,
    ext_sum,
    inv,
    reverse_bits,
    root_of_unity,
)

# Words with changes of carries, borrows and the two halves.
EDGES = [0, 1, 2, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**32 + 1, 2**63, P - 2**32, P - 2**32 + 1, P - 2, P - 1]

words = st.one_of(st.sampled_from(EDGES), st.integers(0, P - 1))
exts = st.tuples(words, words, words)
nonzero = exts.filter(lambda a: a != ZERO)
vectors = st.lists(st.tuples(words, words), min_size=1, max_size=20)


def polynomial_product(a: Ext, b: Ext) -> Ext:
    """Return the product by schoolbook multiplication, then x^4 = x^2 + x and x^3 = x + 1."""
    c = [sum(a[i] * b[k - i] for i in range(3) if 0 <= k - i < 3) for k in range(5)]
    c[2], c[1] = c[2] + c[4], c[1] + c[4]
    c[1], c[0] = c[1] + c[3], c[0] + c[3]
    return (c[0] % P, c[1] % P, c[2] % P)


def test_constants() -> None:
    assert P == 2**64 - 2**32 + 1
    # 7 generates the multiplicative group: p - 1 = 2^32 · 3 · 5 · 17 · 257 · 65537.
    assert P - 1 == 2**32 * 3 * 5 * 17 * 257 * 65537
    assert all(pow(GENERATOR, (P - 1) // q, P) != 1 for q in (2, 3, 5, 17, 257, 65537))
    assert pow(GENERATOR, (P - 1) >> TWO_ADICITY, P) == ROOT_OF_UNITY


@pytest.mark.parametrize("log_order", range(TWO_ADICITY + 1))
def test_roots_of_unity(log_order: int) -> None:
    root = root_of_unity(log_order)
    assert pow(root, 1 << log_order, P) == 1
    assert log_order == 0 or pow(root, 1 << (log_order - 1), P) == P - 1


@pytest.mark.parametrize("log_order", [-1, 33])
def test_orders_without_a_root(log_order: int) -> None:
    with pytest.raises(ValueError, match="no root of unity"):
        root_of_unity(log_order)


@pytest.mark.parametrize("bits", range(8))
def test_reverse_bits(bits: int) -> None:
    for index in range(1 << bits):
        assert reverse_bits(index, bits) == (int(f"{index:0{bits}b}"[::-1], 2) if bits else 0)


@given(words)
def test_inverse(a: int) -> None:
    if a:
        assert a * inv(a) % P == 1
    else:
        with pytest.raises(ZeroDivisionError):
            inv(a)


def test_the_extension_is_a_field() -> None:
    """x^3 - x - 1 has no root: x^p is not x, and gcd(x^p - x, x^3 - x - 1) is 1 as the difference is invertible."""
    x = (0, 1, 0)
    assert ext_pow(x, 3) == ext_add(x, ONE)
    frobenius = ext_pow(x, P)
    assert frobenius != x and ext_mul(ext_inv(ext_sub(frobenius, x)), ext_sub(frobenius, x)) == ONE
    assert ext_pow(x, P**3) == x


@given(exts, exts, exts)
def test_extension_arithmetic(a: Ext, b: Ext, c: Ext) -> None:
    assert ext_mul(a, b) == polynomial_product(a, b) == ext_mul(b, a)
    assert ext_mul(a, ext_add(b, c)) == ext_add(ext_mul(a, b), ext_mul(a, c))
    assert ext_sub(ext_add(a, b), b) == a
    assert ext_add(a, ext_neg(a)) == ZERO
    assert ext_scale(a, b[0]) == ext_mul(a, ext(b[0]))
    assert ext_sum([a, b, c]) == ext_add(ext_add(a, b), c)
    assert ext_sum([]) == ZERO


@given(nonzero)
def test_extension_inverse(a: Ext) -> None:
    assert ext_mul(a, ext_inv(a)) == ONE


def test_zero_has_no_inverse() -> None:
    with pytest.raises(ZeroDivisionError):
        ext_inv(ZERO)


@given(exts, st.integers(0, 40))
def test_powers(a: Ext, count: int) -> None:
    power, powers = ONE, []
    for exponent in range(count):
        assert ext_pow(a, exponent) == power
        powers.append(power)
        power = ext_mul(power, a)
    assert ext_powers(a, count) == powers


def check_arrays(a: list[int], b: list[int]) -> None:
    left, right = np.array(a, dtype=np.uint64), np.array(b, dtype=np.uint64)
    assert array_add(left, right).tolist() == [(x + y) % P for x, y in zip(a, b, strict=True)]
    assert array_sub(left, right).tolist() == [(x - y) % P for x, y in zip(a, b, strict=True)]
    assert array_mul(left, right).tolist() == [x * y % P for x, y in zip(a, b, strict=True)]


def test_arrays_at_all_pairs_of_edges() -> None:
    pairs = [(a, b) for a in EDGES for b in EDGES]
    check_arrays([a for a, _ in pairs], [b for _, b in pairs])


@given(vectors)
def test_arrays(pairs: list[tuple[int, int]]) -> None:
    check_arrays([a for a, _ in pairs], [b for _, b in pairs])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("a", EDGES)
def test_words_wrap_around_in_silence(a: int) -> None:
    for b in EDGES:
        check_arrays([a], [b])


@pytest.mark.parametrize("bits", [0, 1, 5, 8, 9, 13, 16])
def test_reversed_bits_of_arrays(bits: int) -> None:
    indices = np.arange(1 << bits) + (5 << bits)  # the higher bits are ignored
    assert array_reverse_bits(indices, bits).tolist() == [reverse_bits(i, bits) for i in range(1 << bits)]
