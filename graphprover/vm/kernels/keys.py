"""What the rows of a trace ask for, as the kernels that count it read it: cpu/counting.py and cuda/counting.cu."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

# The words of a key, in order, and of a term.
TERMS_END, CONSTANT, FLAG, FIRST, NUMBERS = range(5)
KEY_WORDS = 5
COLUMN, WEIGHT = range(2)
TERM_WORDS = 2


@dataclass(frozen=True, eq=False)
class Keys:
    """Keys: each a sum mod p of cells with constant weights. A key that is no number is not counted."""

    # uint64 (keys, KEY_WORDS): how many of the terms there are up to the key's last one; the constant of its sum; the
    # column whose cell is not 0 where a row asks, or the number of columns where every row does; the place of the
    # number 0 among all counts; how many numbers there are.
    keys: np.ndarray
    terms: np.ndarray  # uint64 (terms, TERM_WORDS): the column of a cell, and its weight

    @cached_property
    def size(self) -> int:
        """Counts up to the last number that any key can be."""
        return max((first + numbers for first, numbers in self.keys[:, [FIRST, NUMBERS]].tolist()), default=0)

    @cached_property
    def columns(self) -> int:
        """How many columns a trace has at least; raises ValueError for terms that are not there."""
        ends = [0, *self.keys[:, TERMS_END].tolist()]
        if sorted(ends) != ends or ends[-1] > len(self.terms):
            raise ValueError("a key has terms that are not there")
        return max([0, *(1 + column for column in self.terms[:, COLUMN].tolist()), *self.keys[:, FLAG].tolist()])

    def require(self, columns: int, size: int) -> None:
        """Raises ValueError for keys that read a column or count in a place that is not there."""
        if self.columns > columns:
            raise ValueError("a key reads columns that are not there")
        if self.size > size:
            raise ValueError(f"a key counts beyond {size} numbers")
