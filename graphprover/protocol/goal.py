"""The goal of a compressed proof, for which the rates of its base and its layers are chosen."""

from dataclasses import dataclass
from math import inf

FAST_WORD, SMALL_WORD = "fast", "small"
SMALL_SECONDS = 60.0  # of the smallest proof if no time is given
GOALS_TEXT = f"{FAST_WORD}, {SMALL_WORD}, a time as 2.5s"


@dataclass(frozen=True)
class Goal:
    """The goal of a compressed proof: the fastest proof of a usual size, or the smallest one within a time."""

    seconds: float | None = None  # within which the proof is the smallest; None for the fastest proof
    pow_bits: int | None = None  # of all proofs of work before the queries, if they are asked for

    def __str__(self) -> str:
        if self.seconds is None:
            return FAST_WORD
        return SMALL_WORD if self.seconds == SMALL_SECONDS else f"{self.seconds:g}s"


def goal_of(word: str, pow_bits: int | None = None) -> Goal:
    """Return the goal that a word names; ``pow_bits``: as `Goal`.

    Raises:
        ValueError: It is none of the words.
    """
    if word in (FAST_WORD, SMALL_WORD):
        return Goal(None if word == FAST_WORD else SMALL_SECONDS, pow_bits)
    try:
        seconds = float(word.removesuffix("s")) if word.endswith("s") else 0.0
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < inf:
        raise ValueError(f"{word!r}: expected {GOALS_TEXT}")
    return Goal(seconds, pow_bits)
