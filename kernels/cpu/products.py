"""Products of many elements, for the verifier: `graphprover.protocol.arrays` has their twins in NumPy."""

from graphprover.compiled import njit
from graphprover.kernels.cpu.field import ext_mul, mul


@njit(nogil=True, cache=True)
def multiply(a, b):
    """a *= b for contiguous vectors of canonical words."""
    for i in range(len(a)):
        a[i] = mul(a[i], b[i])


@njit(nogil=True, cache=True)
def ext_multiply(a, b):
    """a *= b for contiguous arrays (3, n) of extension elements."""
    for i in range(a.shape[1]):
        a[0, i], a[1, i], a[2, i] = ext_mul((a[0, i], a[1, i], a[2, i]), (b[0, i], b[1, i], b[2, i]))
