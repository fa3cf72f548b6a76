"""Errors about the arguments of functions: the argument, its value and the remedy."""

from os import PathLike
from typing import Any

from graphprover.runtime.display.notebook import short


def expect(value: Any, kinds: type | tuple[type, ...], argument: str, expected: str) -> None:
    """Check the type of an argument.

    Args:
        value: The argument's value.
        kinds: The types that it may have.
        argument: The argument, as in ``prove: the statement``.
        expected: The remedy, as in ``give a Statement``.

    Raises:
        TypeError: The value has another type.
    """
    if not isinstance(value, kinds):
        raise TypeError(f"{argument} is {given(value)}: {expected}")


def given(value: Any) -> str:
    """Return a value of a wrong type in words: short ones themselves, of others the type."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None or isinstance(value, bool | int | float | str | bytes | PathLike):
        return short(repr(value))
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
