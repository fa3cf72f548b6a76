"""Hashes of many messages together against one at a time, by NumPy and by the prover's kernels."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from graphprover.protocol import backend
from graphprover.protocol.hashing import HASHES, hash_groups, hash_rows
from graphprover.protocol.parameters import HASH_NAMES
from tests.hashes import BOTH, digest

# Lengths around the ends of blocks and chunks, and enough messages for joint permutations.
SHAPES = [(1, 0), (3, 4), (0, 8), (900, 8), (800, 16), (300, 17), (700, 18), (1200, 33), (1, 34), (5, 300)]

of_each_hash = pytest.mark.parametrize("hash", BOTH)


def groups(seed: int) -> list[np.ndarray]:
    random_ = np.random.default_rng(seed)
    return [random_.integers(0, 2**64, shape, dtype=np.uint64) for shape in SHAPES]


def one_by_one(hash: str, rows: np.ndarray) -> list[str]:
    return [digest(hash, row.astype("<u8").tobytes()).hex() for row in rows]


def in_hexadecimal(digests: np.ndarray) -> list[str]:
    assert digests.dtype == np.uint64 and digests.shape[1:] == (4,)
    return [found.astype("<u8").tobytes().hex() for found in digests]


def test_every_name_has_a_hash() -> None:
    assert tuple(HASHES) == HASH_NAMES == BOTH


@of_each_hash
@pytest.mark.parametrize("by", ["NumPy", "kernels"])
def test_groups_of_messages(hash: str, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "NumPy":
        monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    else:
        monkeypatch.setitem(HASHES, hash, replace(HASHES[hash], worth_loading=0))
        monkeypatch.delenv(backend.NUMPY_ONLY, raising=False)
    before = backend.used.copy()
    messages = groups(1)
    for rows, digests in zip(messages, hash_groups(hash, messages), strict=True):
        assert in_hexadecimal(digests) == one_by_one(hash, rows)
    work = sum(len(rows) * HASHES[hash].calls(rows.shape[1]) for rows in messages)
    assert backend.used - before == {by: work}


@of_each_hash
@pytest.mark.parametrize("count", [1, 2, 17, 1024, 4096, 4097, 9000])
def test_every_row_is_a_message(hash: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    rows = np.random.default_rng(count).integers(0, 2**64, (count, 8), dtype=np.uint64)
    assert in_hexadecimal(hash_rows(hash, rows)) == one_by_one(hash, rows)


def test_the_kernels_are_used_if_they_are_loaded_or_worth_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(backend.NUMPY_ONLY, raising=False)
    monkeypatch.setattr(backend, "KERNELS", "graphprover.kernels.cpu.hashes_of_nobody")
    monkeypatch.setattr(backend, "used", Counter())
    assert not backend.compiled(99, 100)
    assert backend.compiled(100, 100)
    backend.used["NumPy"] += 1
    assert backend.compiled(99, 100) and not backend.loaded()
    monkeypatch.setattr(backend, "find_spec", lambda name: None)
    assert not backend.compiled(100, 100)
    monkeypatch.setattr(backend, "KERNELS", "graphprover.protocol.hashing")
    assert backend.compiled(1, 100)
    monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    assert not backend.compiled(100, 100)
