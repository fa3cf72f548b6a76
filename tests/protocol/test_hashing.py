"""Hashes of many messages together against one at a time, by NumPy and by the prover's kernels."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.protocol import backend, hashing
from graphprover.protocol.hashing import keccak256, keccak256_groups, keccak256_rows, permutations

# Lengths around the ends of blocks, and enough messages for joint permutations.
SHAPES = [(1, 0), (3, 4), (0, 8), (900, 8), (800, 16), (300, 17), (700, 18), (1200, 33), (1, 34), (5, 300)]


def groups(seed: int) -> list[np.ndarray]:
    random_ = np.random.default_rng(seed)
    return [random_.integers(0, 2**64, shape, dtype=np.uint64) for shape in SHAPES]


def one_by_one(rows: np.ndarray) -> list[str]:
    return [keccak256(row.astype("<u8").tobytes()).hex() for row in rows]


def in_hexadecimal(digests: np.ndarray) -> list[str]:
    assert digests.dtype == np.uint64 and digests.shape[1:] == (4,)
    return [digest.astype("<u8").tobytes().hex() for digest in digests]


@pytest.mark.parametrize("by", ["NumPy", "kernels"])
def test_groups_of_messages(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "NumPy":
        monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    else:
        monkeypatch.setattr(backend, "WORTH_LOADING", 0)
        monkeypatch.delenv(backend.NUMPY_ONLY, raising=False)
    before = backend.used.copy()
    messages = groups(1)
    for rows, digests in zip(messages, keccak256_groups(messages), strict=True):
        assert in_hexadecimal(digests) == one_by_one(rows)
    work = sum(len(rows) * permutations(rows.shape[1]) for rows in messages)
    assert backend.used - before == {by: work}


def test_states_are_permuted_together_where_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise this file would only compare pycryptodome with itself."""
    monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    permuted = []
    permute = hashing._States.permute

    def noted(states: hashing._States) -> None:
        permuted.append(states.words.shape[1])
        permute(states)

    monkeypatch.setattr(hashing._States, "permute", noted)
    keccak256_groups(groups(2))
    assert sum(permuted) >= 900 + 800 + 2 * (300 + 700 + 1200)


@pytest.mark.parametrize("count", [1, 2, 17, 1024, 4096, 4097, 9000])
def test_every_lane_is_a_message(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    monkeypatch.setattr(hashing, "_TOGETHER", 0.0)
    rows = np.random.default_rng(count).integers(0, 2**64, (count, 8), dtype=np.uint64)
    assert in_hexadecimal(keccak256_rows(rows)) == one_by_one(rows)


@given(st.integers(0, 60), st.integers(1, 5), st.integers(0, 2**32))
def test_messages_of_any_length(words: int, count: int, seed: int) -> None:
    rows = np.frombuffer(random.Random(seed).randbytes(8 * words * count), dtype="<u8").reshape(count, words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(backend.NUMPY_ONLY, "1")
        patch.setattr(hashing, "_MESSAGE", 1e9)  # always jointly
        assert in_hexadecimal(keccak256_rows(rows)) == one_by_one(rows)


def test_the_kernels_are_taken_where_they_are_loaded_or_worth_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(backend.NUMPY_ONLY, raising=False)
    monkeypatch.setattr(backend, "KERNELS", "graphprover.kernels.cpu.keccak_of_nobody")
    monkeypatch.setattr(backend, "used", Counter())
    assert not backend.compiled(backend.WORTH_LOADING - 1)
    assert backend.compiled(backend.WORTH_LOADING)
    backend.used["NumPy"] += 1
    assert backend.compiled(backend.WORTH_LOADING - 1) and not backend.loaded()
    monkeypatch.setattr(backend, "find_spec", lambda name: None)
    assert not backend.compiled(backend.WORTH_LOADING)
    monkeypatch.setattr(backend, "KERNELS", "graphprover.protocol.hashing")
    assert backend.compiled(1)
    monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    assert not backend.compiled(backend.WORTH_LOADING)
