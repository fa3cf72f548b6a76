"""Who does the verifier's bulk work: NumPy, or the prover's compiled kernels where they are at hand.

The verdict is the same. The kernels hash some thirty times as fast, but loading their compiler takes the time of some
hundred thousand hashes. So they are taken where this process has loaded them already, or once it has had more work than
that. What else they do, products of arrays, they do where they are loaded.
"""

import os
import sys
from collections import Counter
from importlib.util import find_spec

NUMPY_ONLY = "GRAPHPROVER_NUMPY_ONLY"  # set in the environment, the kernels are left alone
KERNELS = "graphprover.kernels.cpu.keccak"
WORTH_LOADING = 600_000  # permutations of Keccak

used: Counter[str] = Counter()  # permutations made by "NumPy" and by "kernels" in this process


def loaded() -> bool:
    """Whether the kernels are at hand."""
    return KERNELS in sys.modules and NUMPY_ONLY not in os.environ


def compiled(permutations: int) -> bool:
    """Whether the kernels shall do so much hashing: with what NumPy has done before, it may be worth loading them."""
    if NUMPY_ONLY in os.environ:
        return False
    worth = used["NumPy"] + permutations >= WORTH_LOADING
    return KERNELS in sys.modules or (worth and find_spec("numba") is not None)
