"""Who does the verifier's bulk work: NumPy, or the prover's compiled kernels where they are at hand.

The verdict is the same. The kernels hash some thirty times as fast, but loading their compiler takes the time of some
hundred thousand hashes. So they are taken where this process has loaded them already, or for more work than that.
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
    """Whether the kernels shall do so much hashing."""
    if NUMPY_ONLY in os.environ:
        return False
    return KERNELS in sys.modules or (permutations >= WORTH_LOADING and find_spec("numba") is not None)
