"""The checks of the verifier's program, by the attacks that kill the mutations without them.

A key names a Python function of the program, a method of the assembler, and a function of the program.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.recursion import adversaries
from tests.recursion.adversaries import Attack, Base
from tests.recursion.sites import at

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Family:
    """Attacks of one kind."""

    attacks: Callable[[Base], Iterator[Attack]]
    base: str
    kills: Sequence[tuple[Key, slice]]  # the instructions of these keys that it kills

    @property
    def instructions(self) -> set[int]:
        """The addresses of the instructions that it kills."""
        return {pc for key, part in self.kills for pc in at(*key)[part]}


_ALL = slice(None)
FAMILIES: Mapping[str, Family] = {
    "addresses of frames": Family(
        adversaries.frame_attacks,
        "work",
        [((code, "go/require_base", ""), _ALL) for code in ("copy", "_fill_run", "_locate")],
    ),
    "bits": Family(
        adversaries.bit_attacks,
        "work",
        [
            (("_reversed", "require_bit", "reversed"), _ALL),
            (("_reversed", "add", "reversed"), slice(32)),
            (("_reversed", "require_equal", "reversed"), _ALL),
            (("bits_of", "require_bit", "query"), _ALL),
            (("bits_of", "add", "query"), _ALL),
            (("bits_of", "require_equal", "query"), _ALL),
        ],
    ),
    "coordinates of numbers of a digest": Family(
        adversaries.base_attacks, "another fold", [(("provided_digest", "require_base", "squeeze"), slice(7))]
    ),
    "numbers of a digest": Family(
        adversaries.digest_attacks,
        "another fold",
        [
            (key, _ALL)
            for function in ("squeeze", "provide caps", "child")
            for key in (
                ("provided_digest", "cap", function),
                ("provided_digest", "multiply_add", function),
                ("<genexpr>", "multiply_add", function),
            )
        ],
    ),
    "roots": Family(
        adversaries.root_attacks,
        "another fold",
        [(("digest_words", method, "provide caps"), _ALL) for method in ("add", "store")],
    ),
    "digests of heads": Family(
        adversaries.head_attacks,
        "another fold",
        [(("digest_words", method, "child"), _ALL) for method in ("add", "store")],
    ),
    "values and point of a shard": Family(
        adversaries.shard_attacks,
        "a shard with a query",
        [(("copy", "store", "copy a run"), _ALL), (("_separate", "divide", "transcript"), _ALL)],
    ),
    "terminals, opened values and coefficients": Family(
        adversaries.number_attacks,
        "work",
        [(("turn", "require", "zeros"), _ALL), (("_query", "require_equal", "query"), _ALL)],
    ),
    "checks that are read": Family(adversaries.zero_attacks, "work", [(("turn", "load", "zeros"), slice(1, 2))]),
    "groups of folds by 8 and 4, and works": Family(
        adversaries.group_attacks,
        "work",
        [
            (("_fold", "store", "fold by 8"), slice(1)),
            (("_fold", "store", "fold by 4"), slice(1)),
            (("_grind", "require_equal", "finish"), _ALL),
        ],
    ),
    "groups of a fold by 2, and samples": Family(
        adversaries.group_attacks,
        "another fold",
        [(("_fold", "store", "fold by 2"), slice(1)), (("_challenge", "divide", "challenge"), _ALL)],
    ),
    "inverses": Family(adversaries.inverse_attacks, "work", []),
    "gates": Family(adversaries.gate_attacks, "work", []),
    "gates of another layout": Family(adversaries.gate_attacks, "heights", []),
}
GATES = ("inverses", "gates", "gates of another layout")  # that kill the mutations of all gates together


@dataclass(frozen=True)
class Equivalent:
    """Mutations that accept nothing more than the program."""

    key: Key
    part: slice  # of the key's instructions
    reason: str  # the other check that refuses the same

    @property
    def instructions(self) -> Sequence[int]:
        """The addresses of the instructions."""
        return at(*self.key)[self.part]


EQUIVALENT = (
    Equivalent(
        ("provided_digest", "require_base", "squeeze"),
        slice(7, 8),
        "number 7 of a digest is the sum of its bits in the last digest, whose first sample it is; in all others it "
        "makes a word of the next message with number 6, which is in the base field",
    ),
    Equivalent(
        ("provided_digest", "require_base", "provide caps"),
        _ALL,
        "numbers 2 i and 2 i + 1 make a word of a message, which is in the base field, so the check of one is enough",
    ),
    Equivalent(
        ("provided_digest", "require_base", "child"),
        _ALL,
        "numbers 2 i and 2 i + 1 make a word of the list, which is in the base field",
    ),
    *(
        Equivalent(
            ("_fold", "require_base", f"fold by {by}"),
            _ALL,
            "the span of a frame at h + u X + w X^2 has the counter u + w, and w addresses too few, but the only chunk "
            "of a group has the counter 0 and all of them: so u = w = 0",
        )
        for by in (2, 4, 8)
    ),
)


def equivalent() -> set[int]:
    """Return the addresses of instructions whose mutations accept nothing more."""
    return {pc for own in EQUIVALENT for pc in own.instructions}
