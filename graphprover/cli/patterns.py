"""Names with places, as ``proofs/{input}-{number:03}.bin``: how a batch file says what its proofs are called.

A place is one of `PLACES` in braces. ``{number:0WIDTH}`` puts zeros in front. ``{{`` and ``}}`` are braces themselves.
`str.format` takes more than that: attributes, conversions, nested places, and widths of gigabytes.
"""

import re
from collections.abc import Mapping

PLACES = ("program", "number", "input", "name")
COUNTER = "number"  # the only place that takes a width
MOST_DIGITS = 20

_SHOWN = 40  # characters of a place, in messages
_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_PLACE = re.compile(r"([a-z]+)(?::0([1-9][0-9]?))?")


class PatternError(ValueError):
    """A pattern that cannot be filled; says why."""


def check_pattern(pattern: str) -> None:
    """Check the places of a pattern.

    Args:
        pattern: the text with its places.

    Raises:
        PatternError: for a brace without its other, an unknown place, or a width that is not taken.
    """
    fill(pattern, dict.fromkeys(PLACES, 0))


def fill(pattern: str, values: Mapping[str, str | int]) -> str:
    """Put values into the places of a pattern.

    Args:
        pattern: the text with its places.
        values: by the names of places; `COUNTER` has a number.

    Returns:
        The text.

    Raises:
        PatternError: as `check_pattern`, and for a place without a value.
    """

    def filled(token: re.Match[str]) -> str:
        if token[0] in ("{{", "}}"):
            return token[0][0]
        if token[1] is None:
            raise PatternError(f"a brace without its other: write {token[0] * 2} for a brace itself")
        place = _PLACE.fullmatch(token[1])
        name, digits = (place[1], int(place[2] or 0)) if place else ("", 0)
        if name not in values or digits > MOST_DIGITS or (digits and name != COUNTER):
            there = ", ".join(f"{{{name}}}" for name in values)
            asked = token[0] if len(token[0]) <= _SHOWN else f"{token[0][:_SHOWN]}..."
            raise PatternError(
                f"no place {asked}: there are {there}, and {{{COUNTER}:03}} of up to {MOST_DIGITS} digits"
            )
        return f"{values[name]:0{digits}}" if digits else str(values[name])

    return _TOKEN.sub(filled, pattern)
