"""Random arrays of words, including edge cases, and extension columns as tuples."""

from collections.abc import Sequence

import numpy as np

from tests.naive import EDGES, Ext, P


def random_words(seed: int, *shape: int) -> np.ndarray:
    """Return random canonical words, 20 % of them edge cases."""
    rng = np.random.default_rng(seed)
    edges = np.array(EDGES, dtype=np.uint64)[rng.integers(0, len(EDGES), shape)]
    return np.where(rng.random(shape) < 0.2, edges, rng.integers(0, P, shape, dtype=np.uint64))


def elements(planar: np.ndarray) -> list[Ext]:
    """Convert (3, n) to n tuples."""
    return [tuple(words) for words in planar.T.tolist()]


def planar(values: Sequence[Ext]) -> np.ndarray:
    """Convert n tuples to (3, n)."""
    return np.array(values, dtype=np.uint64).reshape(-1, 3).T.copy()
