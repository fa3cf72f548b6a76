"""The traces of calls on integers on a CPU: their parts, and the carries and quotients of identities, compiled."""

import numpy as np

from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.integers.size import OFFSET, SIGN

_U = np.uint64
_1, _16, _32 = map(np.uint64, (1, 16, 32))
HALF_MASK, LIMB_MASK = np.uint64(2**16 - 1), np.uint64(2**32 - 1)


@njit(nogil=True, cache=True)
def limbs(words, first, found):
    """Write the limbs of the words from ``first`` on."""
    for i in range(len(found) // 2):
        found[2 * i] = words[first + i] & LIMB_MASK
        found[2 * i + 1] = words[first + i] >> _32


@njit(nogil=True, cache=True)
def halve(limbs, found):
    """Write the halves of limbs, as signed numbers."""
    for i in range(len(limbs)):
        found[2 * i] = np.int64(limbs[i] & HALF_MASK)
        found[2 * i + 1] = np.int64(limbs[i] >> _16)


@njit(nogil=True, cache=True)
def product(u, v, limb):
    """Return the limb, before carries, of the product of two numbers of signed halves; see `table.product`."""
    return _convolution(u, v, 2 * limb) + (_convolution(u, v, 2 * limb + 1) << 16)


@njit(nogil=True, cache=True)
def _convolution(u, v, place):
    """Return the sum of the products of halves whose places add up to ``place``."""
    total = np.int64(0)
    for i in range(max(0, place - len(v) + 1), min(place + 1, len(u))):
        total += u[i] * v[place - i]
    return total


@njit(nogil=True, cache=True)
def put_carry(row, low, high, carry):
    """Write a carry to two cells."""
    row[low] = _U(carry + OFFSET) & HALF_MASK
    row[high] = _U(carry + OFFSET) >> _16


@njit(nogil=True, cache=True)
def put_multiple(sums, prime, inverse, row, q, sign, low, high):
    """Write the quotient of a multiple of a prime, and the carries, to columns from ``q``, ... on.

    A limb of the quotient follows from the limb of the multiple, as its product with the prime's lowest limb cancels it
    mod 2^32 (Hensel's division). ``sums``: the limbs of the multiple, before carries; ``prime``: its limbs.
    """
    count = len(prime)
    of_prime, of_q = np.empty(2 * count, dtype=np.int64), np.zeros(2 * count, dtype=np.int64)
    halve(prime, of_prime)
    carry, above = np.int64(0), np.int64(0)
    for i in range(2 * count):
        total = sums[i] + carry - product(of_q, of_prime, i)
        digit = _U(total) * inverse & LIMB_MASK
        if i < count:
            lower, upper = np.int64(digit & HALF_MASK), np.int64(digit >> _16)
            of_q[2 * i], of_q[2 * i + 1] = lower, upper
            total -= lower * of_prime[0] + ((lower * of_prime[1] + upper * of_prime[0]) << 16)
        else:
            if i == count:
                above = np.int64(digit) - (np.int64(digit >> _U(31)) << 32)
            total -= above * np.int64(prime[i - count])
        carry = total >> 32
        if i < 2 * count - 1:
            put_carry(row, low + i, high + i, carry)
    for i in range(2 * count):
        row[q + i] = of_q[i]
    row[sign] = above + SIGN


@njit(nogil=True, cache=True)
def put_below(x, bound, flags, parts):
    """Write the check of x < bound: the flag of the highest limb that differs, and what x lacks there."""
    top = len(x) - 1
    while top > 0 and x[top] == bound[top]:
        top -= 1
    missing = bound[top] - x[top] - _1
    flags[top] = _1
    parts[0], parts[1] = missing & HALF_MASK, missing >> _16


@njit(nogil=True, cache=True)
def limb_sums(terms, numbers, sums):
    """Write the limbs, before carries, of a polynomial; ``terms``: `identities.Terms`.

    ``numbers``: the limbs of all integers, uint64 (integers, limbs); the lowest limb of a constant is signed.
    """
    count, size = numbers.shape[1], len(terms.factors)
    factors, other = np.empty((size, 2 * count), dtype=np.int64), np.empty(2 * count, dtype=np.int64)
    for k in range(size):
        halve(numbers[terms.factors[k, 0]], factors[k])
        if terms.factors[k, 1] >= 0:
            halve(numbers[terms.factors[k, 1]], other)
            factors[k] -= other
    sums[:] = 0
    for k in range(len(terms.products)):  # the inner loops take no slices, which count references
        weight, u, v = terms.products[k, 0], factors[terms.products[k, 1]], factors[terms.products[k, 2]]
        for i in range(2 * count):
            sums[i] += weight * product(u, v, i)
    for k in range(len(terms.others)):
        weight, number, first = terms.others[k, 0], numbers[terms.others[k, 1]], terms.others[k, 2]
        for i in range(count):
            sums[first + i] += weight * np.int64(number[i])


@njit(nogil=True, cache=True)
def put_integers(places, numbers, cells):
    """Write integers to their cells; ``places``: `identities.Places`, ``numbers``: as of `limb_sums`."""
    count = numbers.shape[1]
    for k in range(len(places.halves)):
        number, row, column = numbers[places.halves[k, 0]], places.halves[k, 1], places.halves[k, 2]
        for i in range(count):
            cells[row, column + 2 * i], cells[row, column + 2 * i + 1] = number[i] & HALF_MASK, number[i] >> _16
    for k in range(len(places.limbs)):
        number, row, column = numbers[places.limbs[k, 0]], places.limbs[k, 1], places.limbs[k, 2]
        for i in range(count):
            cells[row, column + i] = number[i]
