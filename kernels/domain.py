"""Number theory of evaluation domains, for the kernels of every device.

Domains are cosets 7 K of two-adic subgroups in bit-reversed order. Their points are products over the bits of the
index, so the points of a small domain are a prefix of a larger one's.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from graphprover import field
from graphprover.field import GENERATOR, Ext, P
from graphprover.kernels.cpu.field import ext_mul, ext_scale, inverse, mul, sub
from graphprover.runtime.numba_cache import njit

_GENERATOR = np.uint64(GENERATOR)


class Products(NamedTuple):
    """A vector of 2^len(roots) words: element i is ``start`` times those ``roots`` whose bits are set in i."""

    start: int
    roots: Sequence[int]  # of the lowest bit first

    def table(self) -> np.ndarray:
        """Return the vector: uint64."""
        words = np.array([self.start], dtype=np.uint64)
        for root in self.roots:
            words = np.concatenate([words, field.array_mul(words, np.full_like(words, root))])
        return words


def coset(shift: int, log_size: int) -> Products:
    """Return the points shift * w^rev(i) for the generator w of the subgroup of order 2^log_size."""
    # Bit k of i is bit log_size - 1 - k of rev(i) and stands for a factor of order 2^(k + 1).
    return Products(shift, [field.root_of_unity(k + 1) for k in range(log_size)])


def points(log_size: int) -> Products:
    """Return the coset 7 * K, K of order 2^log_size."""
    return coset(GENERATOR, log_size)


def fold_factors(log_size: int) -> Products:
    """Return 1 / (2 g^rev(i)) for folding codewords of up to 2^log_size elements: 2^(log_size - 1) of them.

    g generates the subgroup of order 2^log_size and rev reverses log_size - 1 bits. A shorter codeword's factors are a
    prefix. Raises ValueError for log_size 0: a single element does not fold.
    """
    if log_size < 1:
        raise ValueError("a codeword of one element does not fold")
    # rev is over one bit less than the order has, so that bit k stands for a factor of order 2^(k + 2).
    return Products(field.inv(2), [field.inv(field.root_of_unity(k + 2)) for k in range(log_size - 1)])


def run_shift(log_rows: int, run: int, log_runs: int) -> int:
    """Return s for which run ``run`` of a domain's 2^log_runs, of 2^log_rows points each, is the coset 7 s H."""
    return pow(field.root_of_unity(log_rows + log_runs), field.reverse_bits(run, log_runs), P)


def reversed_indices(log_size: int, arrays: Any) -> Any:
    """Return the index with reversed bits of each index below 2^log_size, as an array of this module of arrays."""
    indices = arrays.zeros(1, dtype=np.int64)
    for _ in range(log_size):
        indices = arrays.concatenate([2 * indices, 2 * indices + 1])
    return indices


@lru_cache(maxsize=64)
def vanishing(log_rows: int, log_chunks: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Z(x) = x^n - 1 on each of the quotient domain's 2^log_chunks runs of n = 2^log_rows points, and 1 / Z:
    uint64.
    """
    # x^n is constant on each run; the runs' x^n are points of the smaller coset 7^n * <w_chunks>.
    powers = coset(pow(GENERATOR, 1 << log_rows, P), log_chunks).table()
    values = field.array_sub(powers, np.ones_like(powers))
    return values, np.array([field.inv(word) for word in values.tolist()], dtype=np.uint64)


def last_point(log_rows: int) -> int:
    """Return 1 / g, the point of the last row of a trace of 2^log_rows rows."""
    return field.inv(field.root_of_unity(log_rows))


def interpolation_factors(domains: Sequence[tuple[int, Ext]]) -> list[Ext]:
    """Return (z^n - 7^n) / (n 7^n) for each (log2 of n, point z): the common factor of all weights x / (z - x) of an
    interpolation.
    """
    factors = np.array([point for _, point in domains], dtype=np.uint64).reshape(-1, 3)
    _to_factors(np.array([log_rows for log_rows, _ in domains], dtype=np.int64), factors)
    return [(a, b, c) for a, b, c in factors.tolist()]


@njit(nogil=True, cache=True)
def _to_factors(log_rows, points):
    """Replace points, uint64 (n, 3), by the factors of their interpolations."""
    for i in range(len(points)):
        value, shift = (points[i, 0], points[i, 1], points[i, 2]), _GENERATOR
        for _ in range(log_rows[i]):
            value, shift = ext_mul(value, value), mul(shift, shift)
        scale = inverse(mul(np.uint64(1 << log_rows[i]), shift))
        points[i, 0], points[i, 1], points[i, 2] = ext_scale((sub(value[0], shift), value[1], value[2]), scale)
