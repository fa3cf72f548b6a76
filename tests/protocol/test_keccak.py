"""Keccak-256 of many messages by joint permutations in NumPy."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.protocol import keccak
from tests.protocol.test_hashing import groups, in_hexadecimal, one_by_one


def test_states_are_permuted_together_if_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise these tests would only compare pycryptodome with itself."""
    permuted = []
    permute = keccak._States.permute

    def noted(states: keccak._States) -> None:
        permuted.append(states.words.shape[1])
        permute(states)

    monkeypatch.setattr(keccak._States, "permute", noted)
    keccak.hash_groups(groups(2))
    assert sum(permuted) >= 900 + 800 + 2 * (300 + 700 + 1200)


@pytest.mark.parametrize("count", [1, 2, 17, 1024, 4096, 4097, 9000])
def test_every_lane_is_a_message(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keccak, "_TOGETHER", 0.0)
    rows = np.random.default_rng(count).integers(0, 2**64, (count, 8), dtype=np.uint64)
    assert in_hexadecimal(keccak.hash_groups([rows])[0]) == one_by_one("keccak", rows)


@given(st.integers(0, 60), st.integers(1, 5), st.integers(0, 2**32))
def test_messages_of_any_length(words: int, count: int, seed: int) -> None:
    rows = np.frombuffer(random.Random(seed).randbytes(8 * words * count), dtype="<u8").reshape(count, words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keccak, "_MESSAGE", 1e9)  # always jointly
        assert in_hexadecimal(keccak.hash_groups([rows])[0]) == one_by_one("keccak", rows)
