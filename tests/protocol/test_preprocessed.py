"""The commitment to preprocessed columns against sums, products and a complete tree."""

import random

import numpy as np
import pytest

from graphprover.field import P, root_of_unity
from graphprover.protocol import backend, preprocessed
from graphprover.protocol.preprocessed import low_degree_extension, ntt, powers, preprocessed_cap, preprocessed_caps
from tests.hashes import BOTH
from tests.naive_device import NaiveDevice, bit_reversed, extended
from tests.protocol import vectors


def trace(rng: random.Random, width: int, log_height: int) -> np.ndarray:
    cells = [[rng.choice((0, 1, P - 1, rng.randrange(P))) for _ in range(1 << log_height)] for _ in range(width)]
    return np.array(cells, dtype=np.uint64)


@pytest.mark.parametrize("count", [1, 2, 3, 8, 13])
def test_powers(count: int) -> None:
    assert powers(7, count).tolist() == [pow(7, i, P) for i in range(count)]


@pytest.mark.parametrize("log_size", range(6))
def test_ntt_is_the_fourier_sum(log_size: int) -> None:
    columns = trace(random.Random(log_size), 2, log_size)
    root, size = root_of_unity(log_size), 1 << log_size
    for column, values in zip(columns.tolist(), ntt(columns, root).tolist(), strict=True):
        sums = [sum(c * pow(root, i * k, P) for k, c in enumerate(column)) % P for i in range(size)]
        assert values == bit_reversed(sums)


@pytest.mark.parametrize(("log_height", "log_blowup"), [(0, 1), (1, 2), (3, 1), (4, 3)])
def test_extension_interpolates(log_height: int, log_blowup: int) -> None:
    columns = trace(random.Random(log_height), 3, log_height)
    assert low_degree_extension(columns, log_blowup).tolist() == [
        extended(column, 1, log_blowup) for column in columns.tolist()
    ]


@pytest.mark.parametrize("hash", BOTH)
@pytest.mark.parametrize("cap_height", [0, 1, 2, 9])
@pytest.mark.parametrize("log_heights", [[3], [0], [2, 4, 2], [1, 5, 3]])
def test_cap_is_that_of_the_tree_built_in_full(
    log_heights: list[int], hash: str, cap_height: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(cap_height)
    traces = [trace(rng, rng.randint(1, 4), log) for log in log_heights]
    device = NaiveDevice()
    tree = device.merkle_tree(device.extend(traces, 1), cap_height, hash)
    monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    assert preprocessed_cap(traces, 1, cap_height, hash) == device.cap(tree)


@pytest.mark.parametrize("hash", BOTH)
@pytest.mark.parametrize("log_blowup", [1, 3])
def test_cap_is_that_of_the_kernels(hash: str, log_blowup: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns are transformed in one block and in several."""
    rng = np.random.default_rng(log_blowup)
    traces = [rng.integers(0, P, (3, 1 << log), dtype=np.uint64) for log in (6, 12, 14)]
    monkeypatch.setattr(preprocessed, "WORTH_LOADING", 0)
    monkeypatch.delenv(backend.NUMPY_ONLY, raising=False)
    before = backend.used.copy()
    cap = preprocessed_cap(traces, log_blowup, 2, hash)
    assert set(backend.used - before) == {"kernels"}
    monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    before = backend.used.copy()
    assert preprocessed_cap(traces, log_blowup, 2, hash) == cap
    assert set(backend.used - before) == {"NumPy"}


@pytest.mark.parametrize("kernels", [False, True])
@pytest.mark.parametrize("hash", BOTH)
@pytest.mark.parametrize("cap_height", [0, 2, 9])
def test_caps_of_several_statements_and_rates(
    cap_height: int, hash: str, kernels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is the cap of its statement alone, though statements share traces, layers and their tallest ones or not."""
    rng, device = random.Random(cap_height), NaiveDevice()
    traces = [trace(rng, rng.randint(1, 4), log) for log in (4, 3, 4, 0, 2)]
    statements = [[traces[i] for i in chosen] for chosen in ((0, 1, 3), (0, 3), (1, 4), (0, 1, 3, 4), (0, 1, 2))]
    monkeypatch.setattr(preprocessed, "WORTH_LOADING", 0 if kernels else 1 << 60)
    monkeypatch.delenv(backend.NUMPY_ONLY, raising=False)
    if not kernels:
        monkeypatch.setenv(backend.NUMPY_ONLY, "1")
    found = preprocessed_caps(statements, (3, 1), cap_height, hash)
    assert found == [
        {
            log_blowup: device.cap(device.merkle_tree(device.extend(own, log_blowup), cap_height, hash))
            for log_blowup in (3, 1)
        }
        for own in statements
    ]


def test_cap_is_plonky3s() -> None:
    """The vector's commitment is in its transcript, after the main commitment and the public values."""
    vector = vectors.load("counter")
    assert vector.cap is not None
    first_absorbed = vectors.transcript("counter")[1]
    assert first_absorbed.endswith(vector.cap[0].hex())
