"""Column names: ``"limb[4]"`` declares a family of 4 columns, ``"state[5][5]"`` one of 25 in row-major order."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

_SPEC = re.compile(r"([A-Za-z][A-Za-z0-9_]*)((?:\[[1-9][0-9]*\])*)")


@dataclass(frozen=True)
class Family:
    """One declared name: a single column or an indexed family of columns."""

    name: str
    offset: int  # index of the first column
    shape: tuple[int, ...]  # () for a single column

    def symbols(self, symbol: Callable[[int], Any]) -> Any:
        """Return ``symbol(column)`` for a single column, and nested tuples of symbols for a family."""

        def level(first: int, shape: tuple[int, ...]) -> Any:
            if not shape:
                return symbol(first)
            step = prod(shape[1:])
            return tuple(level(first + i * step, shape[1:]) for i in range(shape[0]))

        return level(self.offset, self.shape)


class Columns:
    """The columns declared by a list of specs, in order. Raises ValueError for a malformed or repeated name."""

    def __init__(self, specs: Iterable[str]) -> None:
        self.families: dict[str, Family] = {}
        self.width = 0
        for spec in specs:
            match = _SPEC.fullmatch(spec) if isinstance(spec, str) else None
            if match is None:
                raise ValueError(f"{spec!r} is no column: write a name, or name[4], or name[5][5] for a family")
            name, shape = match[1], tuple(int(size) for size in re.findall(r"[0-9]+", match[2]))
            if name in self.families:
                raise ValueError(f"two columns are called {name!r}")
            self.families[name] = Family(name, self.width, shape)
            self.width += prod(shape)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each column: ``limb[0]``, ``limb[1]``, ..."""
        return tuple(
            family.name + "".join(f"[{i}]" for i in index)
            for family in self.families.values()
            for index in product(*map(range, family.shape))
        )

    def view(self, matrix: np.ndarray) -> SimpleNamespace:
        """Return writable views of a (columns, rows) matrix: attribute ``name`` of shape (*family shape, rows).

        Raises:
            ValueError: the matrix has a different number of columns.
        """
        if matrix.ndim != 2 or matrix.shape[0] != self.width:
            raise ValueError(f"expected a matrix of {self.width} columns, not one of shape {matrix.shape}")
        views = {}
        for family in self.families.values():
            block = matrix[family.offset : family.offset + prod(family.shape)]
            views[family.name] = block.reshape(*family.shape, matrix.shape[1])
        return SimpleNamespace(**views)
