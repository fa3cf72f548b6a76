"""BLAKE3 by NumPy against the package, and against official test vectors, whose input byte i is i mod 251."""

import random

import blake3 as package
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.protocol import blake3
from graphprover.protocol.blake3 import calls, digest, hash_groups

# Official digests of inputs at the ends of blocks and of chunks.
KNOWN = {
    0: "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
    1024: "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
}
WORDS = [0, 1, 7, 8, 9, 15, 16, 17, 24, 25, 127, 128, 129, 136, 256, 257, 1024, 10_001]


def official(words: int) -> np.ndarray:
    """Return one message of the official inputs."""
    return np.frombuffer(bytes(i % 251 for i in range(8 * words)), dtype="<u8").reshape(1, words)


def one_by_one(rows: np.ndarray) -> list[str]:
    return [package.blake3(row.astype("<u8").tobytes()).hexdigest() for row in rows]


def in_hexadecimal(digests: np.ndarray) -> list[str]:
    assert digests.dtype == np.uint64 and digests.shape[1:] == (4,)
    return [digest.astype("<u8").tobytes().hex() for digest in digests]


@pytest.fixture(params=["one by one", "together"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(blake3, "_MESSAGE", 0.0 if request.param == "one by one" else 1e9)
    monkeypatch.setattr(blake3, "_BLOCK", 0.0)
    return request.param


@pytest.mark.parametrize("length", KNOWN)
def test_known_answers(way: str, length: int) -> None:
    message = official(length // 8)
    assert digest(message.tobytes()).hex() == KNOWN[length]
    (digests,) = hash_groups([np.repeat(message, 3, axis=0)])
    assert in_hexadecimal(digests) == [KNOWN[length]] * 3


@pytest.mark.parametrize("words", WORDS)
def test_ends_of_blocks_and_chunks(way: str, words: int) -> None:
    (digests,) = hash_groups([official(words)])
    assert in_hexadecimal(digests) == one_by_one(official(words))


def test_groups_of_messages(way: str) -> None:
    random_ = np.random.default_rng(1)
    shapes = [(1, 0), (3, 4), (0, 8), (900, 8), (5, 300), (800, 16), (2, 8)]
    groups = [random_.integers(0, 2**64, shape, dtype=np.uint64) for shape in shapes]
    for rows, digests in zip(groups, hash_groups(groups), strict=True):
        assert in_hexadecimal(digests) == one_by_one(rows)
    assert hash_groups([]) == []


@pytest.mark.parametrize("count", [1, 2, 17, 8192, 8193, 20_000])
def test_every_lane_is_a_message(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blake3, "_TOGETHER", 0.0)
    rows = np.random.default_rng(count).integers(0, 2**64, (count, 8), dtype=np.uint64)
    assert in_hexadecimal(hash_groups([rows])[0]) == one_by_one(rows)


@given(st.integers(0, 140), st.integers(1, 5), st.integers(0, 2**32))
def test_messages_of_any_length(words: int, count: int, seed: int) -> None:
    rows = np.frombuffer(random.Random(seed).randbytes(8 * words * count), dtype="<u8").reshape(count, words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blake3, "_MESSAGE", 1e9)  # together, if that can be
        assert in_hexadecimal(hash_groups([rows])[0]) == one_by_one(rows)


@pytest.mark.parametrize(
    ("words", "count", "together"), [(8, 500, 0), (8, 2000, 2000), (32, 10**5, 0), (129, 10**5, 0)]
)
def test_the_faster_way_is_taken(words: int, count: int, together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compressed = []

    def batched(rows: np.ndarray) -> np.ndarray:
        compressed.append(len(rows))
        return np.zeros((len(rows), 4), dtype=np.uint64)

    monkeypatch.setattr(blake3, "_batched", batched)
    monkeypatch.setattr(blake3, "one_by_one", lambda _, rows: np.zeros((len(rows), 4), dtype=np.uint64))
    hash_groups([np.zeros((count, words), dtype=np.uint64)])
    assert sum(compressed) == together


def test_calls() -> None:
    assert [calls(words) for words in (0, 1, 8, 9, 128, 129, 256, 257, 1024)] == [1, 1, 1, 2, 16, 18, 33, 35, 135]
