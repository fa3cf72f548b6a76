"""The heads of proofs without one record of a list, or with a lower number of things to check."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from graphprover.recursion.head import heads
from graphprover.recursion.head.head import ProofHead, _template, _Words
from graphprover.recursion.head.words import SHIFT, FoldWord, HeadWord, MessageWord
from tests.recursion import layered, test_other_data
from tests.recursion.removals import Group, Removal

LISTS = (
    HeadWord.COPIES,
    HeadWord.REPEATS,
    HeadWord.ZEROS,
    HeadWord.TREES,
    HeadWord.HEIGHTS,
    HeadWord.FILLS,
    HeadWord.FOLDS,
)
# Numbers of things that the program does.
NUMBERS = (
    HeadWord.READ_CHUNKS,
    HeadWord.PRODUCTS,
    HeadWord.SUMS,
    HeadWord.DIFFERENCES,
    HeadWord.PACKS,
    HeadWord.OPENED,
    HeadWord.TERMINALS,
    HeadWord.POLYNOMIAL,
    HeadWord.STREAM,
    HeadWord.CHAIN,
    HeadWord.QUOTIENT_JOINS,
    HeadWord.PERMUTATION_JOINS,
    HeadWord.QUERIES,
    HeadWord.COEFFICIENTS,
)
_FOLD_WORDS = len(MessageWord) + len(FoldWord)
_FIRST = {
    HeadWord.COPIES: "test_every_word_counts",
    HeadWord.REPEATS: "with a query-16",
    HeadWord.ZEROS: "test_every_check_counts",
    HeadWord.FILLS: "test_every_weight_counts",
}


def removals() -> list[Removal]:
    """Return the removals, of the records that a head of the tests has."""
    lengths, found = _lengths(), list[Removal]()
    for number in LISTS:
        for i in range(lengths[number]):
            first = _FIRST.get(number, "test_honest_data_are_accepted")
            found.append(Removal(f"{number.name}: record {i}", partial(_without_record, number, i), first))
    for number in NUMBERS:
        found.append(Removal(f"{number.name}: one less", partial(_one_less, number)))
    for message in (HeadWord.MAIN, HeadWord.QUOTIENT, HeadWord.OPENINGS, HeadWord.LAST, HeadWord.FOLDS):
        found.append(Removal(f"{message.name}: work", partial(_without_work, message), "test_every_work_counts"))
    return found


def _lengths() -> dict[HeadWord, int]:
    """Return the most records of each list, of all heads."""
    found = dict.fromkeys(LISTS, 0)
    original = _Words._put_list

    def noted(self: _Words, number: HeadWord, at: HeadWord, records: Sequence[Sequence[int]]) -> None:
        found[number] = max(found[number], len(records))
        original(self, number, at, records)

    with pytest.MonkeyPatch.context() as patch:
        clear()
        patch.setattr(_Words, "_put_list", noted)
        for name in test_other_data.PROOFS:
            assert test_other_data.proof_of(name).head
    clear()
    return found


def _without_record(of: HeadWord, which: int, patch: pytest.MonkeyPatch) -> None:
    original = _Words._put_list

    def without(self: _Words, number: HeadWord, at: HeadWord, records: Sequence[Sequence[int]]) -> None:
        kept = [record for i, record in enumerate(records) if number != of or i != which]
        original(self, number, at, kept)

    patch.setattr(_Words, "_put_list", without)


def _one_less(of: HeadWord, patch: pytest.MonkeyPatch) -> None:
    def less(head: ProofHead, words: np.ndarray) -> None:
        words[of] -= min(words[of], np.uint64(1))

    _with_words(less, patch)


def _without_work(message: HeadWord, patch: pytest.MonkeyPatch) -> None:
    """Have the program take any digest for one with the work after a message, or after the messages of all folds."""

    def without(head: ProofHead, words: np.ndarray) -> None:
        if message != HeadWord.FOLDS:
            words[message + MessageWord.FACTOR] = 1
            return
        first = (int(words[HeadWord.FOLDS_AT]) - head.start.at) // SHIFT
        records = words[first:][: int(words[HeadWord.FOLDS]) * _FOLD_WORDS].reshape(-1, _FOLD_WORDS)
        records[:, MessageWord.FACTOR] = 1

    _with_words(without, patch)


def _with_words(edit: Callable[[ProofHead, np.ndarray], None], patch: pytest.MonkeyPatch) -> None:
    """Give all heads other words."""
    original = heads.head_of

    def other(*given: Any) -> ProofHead:
        head = original(*given)
        words = head.words.copy()
        edit(head, words)
        return replace(head, words=words)

    patch.setattr(heads, "head_of", other)


def clear() -> None:
    """Forget heads, and everything that is made of them."""
    _template.cache_clear()
    test_other_data.honest.cache_clear()
    layered.layer.cache_clear()


def redundant() -> dict[str, str]:
    """Return the removals that accept nothing more."""
    return {}


_TESTS = "tests/recursion/test_other_data.py"
HEAD = Group(
    [f"{_TESTS}::test_honest_data_are_accepted", f"{_TESTS}::test_every_gate_counts", _TESTS],
    removals,
    redundant,
    clear,
)
