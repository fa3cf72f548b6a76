"""The lookups in a trace's rows, as the kernels that count them read them: cpu/counting.py and cuda/counting.cu."""

from collections.abc import Sequence
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
    """Keys: each a sum mod p of cells with constant weights. A key out of range is not counted."""

    # uint64 (keys, KEY_WORDS): the number of terms up to the key's last one; the constant of its sum; the column whose
    # cell is not 0 if a row looks up, or the number of columns if every row does; the index of the number 0 among all
    # counts; the number of numbers.
    keys: np.ndarray
    terms: np.ndarray  # uint64 (terms, TERM_WORDS): the column of a cell, and its weight

    @cached_property
    def size(self) -> int:
        """Return the number of counts, up to the last number of any key."""
        return max((first + numbers for first, numbers in self.keys[:, [FIRST, NUMBERS]].tolist()), default=0)

    @cached_property
    def columns(self) -> int:
        """Return the fewest columns of a trace; raise ValueError for terms out of range."""
        ends = [0, *self.keys[:, TERMS_END].tolist()]
        if sorted(ends) != ends or ends[-1] > len(self.terms):
            raise ValueError("a key has terms out of range")
        return max([0, *(1 + column for column in self.terms[:, COLUMN].tolist()), *self.keys[:, FLAG].tolist()])

    def within(self, columns: Sequence[int], width: int) -> "Keys":
        """Return the keys of a trace of ``width`` columns in which column i of this trace is ``columns[i]``."""
        places = np.array([*columns, width], dtype=np.uint64)  # the last one stands for no column
        keys, terms = self.keys.copy(), self.terms.copy()
        keys[:, FLAG], terms[:, COLUMN] = places[self.keys[:, FLAG]], places[self.terms[:, COLUMN]]
        return Keys(keys, terms)

    def require(self, columns: int, size: int) -> None:
        """Raise ValueError for keys with a column or count out of range."""
        if self.columns > columns:
            raise ValueError("a key reads columns out of range")
        if self.size > size:
            raise ValueError(f"a key counts beyond {size} numbers")
