"""The traces of host calls on a CPU: the shared part of all accelerators, compiled."""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import numpy as np

from graphprover.device import Device
from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.host_call import MOST_FURTHER, Accelerator
from graphprover.vm.accelerators.integers.size import OFFSET, SIGN
from graphprover.vm.accelerators.kernels import CallArrays
from graphprover.vm.kernels import tape
from graphprover.vm.tables import clock

_U = np.uint64
_FAR, _1, _16, _32 = map(np.uint64, (clock.FAR, 1, 16, 32))
HALF_MASK, LIMB_MASK = np.uint64(2**16 - 1), np.uint64(2**32 - 1)
A, T_A, T_B = (tape.WIDE.index(name) for name in ("a", "t_a", "t_b"))
B = tape.WIDE.index("b")
LAST = tape.ROW_WORDS - 1


class CompiledCalls(NamedTuple):
    """The arrays of `CallArrays`, for Numba."""

    order: np.ndarray
    rows: np.ndarray
    old: np.ndarray
    time: np.ndarray
    new: np.ndarray
    pc: np.ndarray


def fill_calls(device: Device, accelerator: Accelerator, calls: CallArrays, main: np.ndarray) -> None:
    """Write the rows of calls; see ``kernels.fill_calls``."""
    import_module(f"{__package__}.{accelerator.module}").fill(device, accelerator.table(lanes=1), calls, main)


def arrays_of(calls: CallArrays) -> CompiledCalls:
    """Return the arrays of calls."""
    return CompiledCalls(calls.order, calls.rows, calls.old, calls.time, calls.new, calls.pc)


def by_call(device: Device, calls: CallArrays, function: Callable[[int, int], None]) -> None:
    """Call ``function(first, last)`` over all calls, in parallel."""
    device.split_rows(function, len(calls.order))


@njit(nogil=True, cache=True)
def recent(before, now):
    """Return the time of the access before, or if it is too long ago, of a bump right before ``now``."""
    return now - _1 if now - before > _FAR else before


@njit(nogil=True, cache=True)
def further(calls, at, register):
    """Return the value of a further register of the call with the first access ``at``, and the time before."""
    return calls.new[at + _U(register)], calls.new[at + _U(MOST_FURTHER + register)]


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
def write_rows(cells, i, main):
    """Write the rows of the i-th call, (rows, columns), to a trace."""
    rows, columns = cells.shape
    for column in range(columns):
        for r in range(rows):
            main[column, rows * i + r] = cells[r, column]
