"""Chains of sums with powers of one element, on the host."""

from graphprover.kernels.cpu.field import ext_add, ext_mul
from graphprover.runtime.numba_cache import njit


@njit(nogil=True, cache=True)
def chain_sums(values, factor, sums):
    """Write the sum of each value and the factor times the sum after it.

    Args:
        values: uint64 (3, n).
        factor: uint64 (3,).
        sums: uint64 (3, n + 1): the last sum is given, all others are written.
    """
    last = values.shape[1]
    by = factor[0], factor[1], factor[2]
    total = sums[0, last], sums[1, last], sums[2, last]
    for i in range(last - 1, -1, -1):
        total = ext_add(ext_mul(total, by), (values[0, i], values[1, i], values[2, i]))
        sums[0, i], sums[1, i], sums[2, i] = total
