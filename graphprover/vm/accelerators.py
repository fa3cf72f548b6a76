"""Host calls that work on memory: each changes a fixed number of words at the address in a0, a multiple of 8.

To add one: its number in io.py, its function here, its C declaration in examples/guests/sdk, and its table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from graphprover.kernels.cpu import keccak, simd
from graphprover.vm.io import KECCAK_F


@dataclass(frozen=True)
class Accelerator:
    """One host call."""

    name: str
    words: int  # how many it reads and writes
    function: Callable[[np.ndarray], np.ndarray]  # uint64 (words,), before -> after


def _keccak_f(words: np.ndarray) -> np.ndarray:
    states = np.zeros((25, simd.LANES), dtype=np.uint64)
    states[:, 0] = words
    keccak.permute(states)
    return states[:, 0].copy()


ACCELERATORS: Mapping[int, Accelerator] = MappingProxyType({KECCAK_F: Accelerator("keccak_f", 25, _keccak_f)})
