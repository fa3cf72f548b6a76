"""Name patterns with placeholders, such as ``proofs/{input}-{number:03}.bin``, for the proofs of a batch.

A placeholder is one of `PLACES` in braces. ``{number:0WIDTH}`` adds leading zeros. ``{{`` and ``}}`` are literal
braces. `str.format` would also accept attributes, conversions, nested placeholders and widths of gigabytes.
"""

import re
from collections.abc import Mapping

PLACES = ("program", "number", "input", "name")
COUNTER = "number"  # the only placeholder with a width
MOST_DIGITS = 20

_SHOWN = 40  # characters of a placeholder in messages
_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_PLACE = re.compile(r"([a-z]+)(?::0([1-9][0-9]?))?")


class PatternError(ValueError):
    """An invalid pattern."""


def check_pattern(pattern: str) -> None:
    """Check the placeholders of a pattern.

    Args:
        pattern: The text with placeholders.

    Raises:
        PatternError: An unmatched brace, an unknown placeholder, or an invalid width.
    """
    fill(pattern, dict.fromkeys(PLACES, 0))


def fill(pattern: str, values: Mapping[str, str | int]) -> str:
    """Replace the placeholders of a pattern by values.

    Args:
        pattern: The text with placeholders.
        values: Values by placeholder name; the value of `COUNTER` is an integer.

    Returns:
        The text.

    Raises:
        PatternError: An error of `check_pattern`, or a placeholder without a value.
    """

    def filled(token: re.Match[str]) -> str:
        if token[0] in ("{{", "}}"):
            return token[0][0]
        if token[1] is None:
            raise PatternError(f"unmatched brace: write {token[0] * 2} for a literal brace")
        place = _PLACE.fullmatch(token[1])
        name, digits = (place[1], int(place[2] or 0)) if place else ("", 0)
        if name not in values or digits > MOST_DIGITS or (digits and name != COUNTER):
            there = ", ".join(f"{{{name}}}" for name in values)
            asked = token[0] if len(token[0]) <= _SHOWN else f"{token[0][:_SHOWN]}..."
            raise PatternError(
                f"unknown placeholder {asked}: use {there}, or {{{COUNTER}:03}} with at most {MOST_DIGITS} digits"
            )
        return f"{values[name]:0{digits}}" if digits else str(values[name])

    return _TOKEN.sub(filled, pattern)
