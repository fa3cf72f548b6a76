"""Choice between NumPy and the prover's compiled kernels for the verifier's bulk work; the verdict is the same.

The kernels hash faster, but loading their compiler costs as much time as several 100,000 hashes with NumPy. Therefore
hashing uses the kernels if this process has loaded them already or has made so many calls of a hash that they are worth
loading (`graphprover.protocol.hashing.Hash`). Arithmetic on arrays uses the kernels only if they are loaded.
"""

import os
import sys
from collections import Counter
from importlib.util import find_spec

NUMPY_ONLY = "GRAPHPROVER_NUMPY_ONLY"  # environment variable; if set, kernels are not used
KERNELS = "graphprover.kernels.cpu.hashes"

used: Counter[str] = Counter()  # calls of a hash made by "NumPy" and by "kernels" in this process


def loaded() -> bool:
    """Return whether the kernels are loaded and allowed."""
    return KERNELS in sys.modules and NUMPY_ONLY not in os.environ


def compiled(calls: int, worth_loading: int) -> bool:
    """Return whether to hash with the kernels, loading them if necessary.

    Args:
        calls: permutations or compressions to do now; previous ones by NumPy in this process are added.
        worth_loading: calls for which it is worth loading them.
    """
    if NUMPY_ONLY in os.environ:
        return False
    worth = used["NumPy"] + calls >= worth_loading
    return KERNELS in sys.modules or (worth and find_spec("numba") is not None)
