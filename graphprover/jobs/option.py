"""A row of a table of options: the name, the values, the commands that take it, and its effect."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from graphprover.protocol.level import one_of

SHOWN = 60  # characters of a value in a message

_MOST_NUMBER = (1 << 64) - 1


class UnreadableText(ValueError):
    """A text on the command line is no value of an option; the message says why."""


@dataclass(frozen=True)
class Values:
    """The values of an option."""

    type: Any  # in Python and JSON
    words: str  # a noun phrase for messages and documents
    fit: Callable[[Any], bool]
    read: Callable[[str], Any] = int  # of a text on the command line; raises ValueError, or `UnreadableText`
    metavar: str | None = None
    choices: tuple[Any, ...] = ()  # all values, if they are few
    typed: str = ""  # the words for a text on the command line, if they are others


@dataclass(frozen=True)
class Option:
    """An option. Texts name other options as the command line does: `jobs.options.in_keys` translates them."""

    name: str  # in Python, files and requests; with hyphens on the command line
    values: Values
    group: str
    where: tuple[str, ...]
    help: str  # sentences
    default: Any = None  # None: depends on the proof
    without: str = ""  # the text about the default, if `default` is not enough
    bare: Any = None  # the value of the option on the command line without a value
    guests: bool = False  # for guests only
    excludes: str = ""  # the name of an option that cannot be given beside this one

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def usual(self) -> str:
        """The text about the default; empty for an option that only changes something if it is given."""
        return self.without or ("" if self.default is None or self.default is False else str(self.default))


def is_a(types: Any, value: Any) -> bool:
    """Return whether a value has one of these types; a boolean is no number."""
    return isinstance(value, types) and not isinstance(value, bool)


def whole(words: str, metavar: str = "N", least: int = 1, most: int = _MOST_NUMBER, base: int = 10) -> Values:
    """Return the values that are whole numbers in a range; ``base``: of texts, 0 for any prefix."""
    return Values(
        int, words, lambda value: is_a(int, value) and least <= value <= most, lambda text: int(text, base), metavar
    )


def positive(words: str, metavar: str, most: float = math.inf) -> Values:
    """Return the values that are positive numbers, at most ``most``."""
    return Values(
        float, words, lambda value: is_a(int | float, value) and 0 < value <= most and value < math.inf, float, metavar
    )


def choice(type: Any, choices: Collection[Any]) -> Values:
    """Return the values that are one of a few."""
    return Values(
        type, one_of(choices), lambda value: is_a(type, value) and value in choices, type, None, tuple(choices)
    )


def text(words: str, metavar: str) -> Values:
    """Return the values that are texts, but not empty."""
    return Values(str, words, lambda value: isinstance(value, str) and bool(value), str, metavar)


YES = Values(bool, "true or false", lambda value: isinstance(value, bool))


def wrong_value(option: Option, value: Any) -> str | None:
    """Return the error message for a value of an option in a file or a request; None for a valid one."""
    return None if option.values.fit(value) else f"{option.name}: {shown(value)} is not {option.values.words}"


def shown(value: Any) -> str:
    """Return a short text for a value of a file or a request."""
    if isinstance(value, str):
        return repr(value) if len(value) <= SHOWN else f"{value[:SHOWN]!r}..."
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a number of {value.bit_length():,} bits"
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "an array"
    return str(value)  # also dates and times
