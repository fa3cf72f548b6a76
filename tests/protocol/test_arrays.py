"""The verifier's arithmetic on arrays, by NumPy and by the kernels, against Python's integers."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphprover.kernels.cpu.hashes  # noqa: F401 (so that the kernels are loaded)
from graphprover.field import Ext, P, ext_inv, ext_mul, ext_powers, inv
from graphprover.protocol import arrays, backend
from tests.test_field import EDGES, exts, nonzero, words


@pytest.fixture(scope="module", params=["NumPy", "kernels"], autouse=True)
def by(request: pytest.FixtureRequest) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(backend.NUMPY_ONLY, raising=False)
        if request.param == "NumPy":
            patch.setenv(backend.NUMPY_ONLY, "1")
        assert backend.loaded() == (request.param == "kernels")
        yield request.param


def test_products_at_all_pairs_of_edges() -> None:
    a, b = (np.array(edges, dtype=np.uint64) for edges in ([[word] for word in EDGES], EDGES))
    assert arrays.multiply(a, b).tolist() == [[x * y % P for y in EDGES] for x in EDGES]
    assert arrays.multiply(a[0, 0], b).shape == b.shape and arrays.multiply(b[:0], a[0]).shape == (0,)


@given(st.lists(st.lists(words, min_size=1, max_size=9), min_size=1, max_size=5))
def test_sums_of_runs(runs: list[list[int]]) -> None:
    starts = np.cumsum([0, *map(len, runs[:-1])])
    array = np.array([word for run in runs for word in run], dtype=np.uint64)
    both = arrays.sums(np.stack([array, array]), starts).tolist()
    assert both == [[sum(run) % P for run in runs]] * 2


@given(st.integers(0, 6), st.sampled_from([0, 1, 2, 511, 512, 513, 1100]), st.integers(0, 3), st.integers(0, 2**32))
def test_matrix_products(m: int, k: int, n: int, seed: int) -> None:
    random_ = np.random.default_rng(seed)
    a, b = (random_.choice(np.array(EDGES, dtype=np.uint64), shape) for shape in ((m, k), (k, n)))
    expected = [
        [sum(x * y for x, y in zip(row, column, strict=True)) % P for column in b.T.tolist()] for row in a.tolist()
    ]
    product = arrays.dot(a, b)
    assert product.shape == (m, n) and product.tolist() == expected


def test_a_matrix_product_of_the_largest_words() -> None:
    """All digits are maximal, in as many terms as one product has: the largest sum is exact in a float64."""
    for terms in (2048, arrays._TERMS, arrays._TERMS + 1):
        a = np.full((2, terms), P - 1, dtype=np.uint64)
        assert (arrays.dot(a, a.T) == terms).all()
    left = np.full((1, 4 * arrays._TERMS), 2**16 - 1, dtype=np.uint16)
    right = np.full((4 * arrays._TERMS, 1), 2**arrays._DIGIT_BITS - 1, dtype=np.float64)
    expected = 4 * arrays._TERMS * (2**16 - 1) * (2**arrays._DIGIT_BITS - 1)
    assert int(arrays._exact_product(left, right)[0, 0]) == expected < 2**53


@given(words, st.lists(st.integers(0, 2**40), min_size=1, max_size=10))
def test_powers_of_a_word(base: int, exponents: list[int]) -> None:
    assert arrays.powers_of(base, np.array(exponents)).tolist() == [pow(base, exponent, P) for exponent in exponents]


@given(st.lists(words.filter(bool), max_size=9))
def test_inverses_of_words(values: list[int]) -> None:
    array = np.array(values, dtype=np.uint64)
    assert arrays.inverses(array).tolist() == [inv(value) for value in values]
    with pytest.raises(ZeroDivisionError):
        arrays.inverses(np.append(array, np.uint64(0)))


@given(st.lists(st.tuples(exts, nonzero), min_size=1, max_size=9))
def test_arrays_of_extension_elements(pairs: list[tuple[Ext, Ext]]) -> None:
    left, right = (arrays.exts(elements) for elements in zip(*pairs, strict=True))
    products = [ext_mul(a, b) for a, b in pairs]
    assert list(zip(*arrays.ext_multiply(left, right).tolist(), strict=True)) == products
    apart = arrays.ext_multiply(left[:, :, None], right[:, None])
    assert (np.diagonal(apart, axis1=1, axis2=2) == arrays.ext_multiply(left, right)).all()
    assert list(zip(*arrays.ext_inverses(right).tolist(), strict=True)) == [ext_inv(b) for _, b in pairs]
    with pytest.raises(ZeroDivisionError):
        arrays.ext_inverses(np.append(right, np.zeros((3, 1), dtype=np.uint64), axis=1))


@given(exts, st.integers(1, 40))
def test_powers_as_an_array(a: Ext, count: int) -> None:
    assert list(zip(*arrays.ext_powers_of(a, count).tolist(), strict=True)) == ext_powers(a, count)
