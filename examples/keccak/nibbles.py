"""All pairs of 4-bit numbers with their exclusive or: a lookup of a triple proves the three ranges and the xor."""

import numpy as np

from graphprover.air import Air, Bus, TableBuilder

XOR = Bus("xor")  # (a, b, a xor b)


class Nibbles(Air):
    """The 256 triples, preprocessed and so known to the verifier."""

    preprocessed = ("left", "right", "xor")
    columns = ("count",)  # number of lookups of the row

    def preprocessed_trace(self) -> np.ndarray:
        left, right = np.divmod(np.arange(256, dtype=np.uint64), np.uint64(16))
        return np.stack([left, right, left ^ right])

    def define(self, t: TableBuilder) -> None:
        t.provide(XOR, [t.left, t.right, t.xor], t.count)


def trace(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the main trace if these pairs are looked up: uint64 arrays of one shape."""
    pairs = (left * np.uint64(16) + right).astype(np.int64).ravel()
    return np.bincount(pairs, minlength=256).astype(np.uint64)[None]
