"""Parameters of which only the first run by default."""

from collections.abc import Iterable
from typing import Any

import pytest


def slow_after(count: int, values: Iterable[Any]) -> list[Any]:
    """Return parameters of a test: the first ``count`` values, and the others with the marker ``slow``.

    Args:
        count: The number of values that run by default.
        values: One value each; a tuple is the values of several names.
    """
    return [
        value if index < count else pytest.param(*_several(value), marks=pytest.mark.slow)
        for index, value in enumerate(values)
    ]


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
