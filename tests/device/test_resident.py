"""Data that stays on a worker: Dask knows its size, and can move, spill and drop it."""

import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from dask.sizeof import sizeof
from distributed import Client
from distributed.spill import SpillBuffer

from graphprover.device import CpuDevice
from graphprover.device.resident import Resident, resident
from tests.cluster.processes import present, workers

WORDS = 1 << 17


def made(seed: int) -> Resident:
    return resident(CpuDevice(1), arrays(seed))


def arrays(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 1 << 60, shape, dtype=np.uint64) for shape in ((3, WORDS), (0, 5), (7,))]


def read(kept: Resident) -> tuple[int, list[np.ndarray], bool]:
    """Return the reading process, the contents, and whether the device is this process's device."""
    return os.getpid(), list(kept.arrays), kept.device is pickle.loads(pickle.dumps(CpuDevice(1)))


def same(found: list[np.ndarray], seed: int) -> bool:
    return all(map(np.array_equal, found, arrays(seed)))


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with workers(2) as client:
        yield client


def test_a_worker_has_what_another_has_made(client: Client) -> None:
    here, there = present(client)
    kept = client.submit(made, 5, workers=[here], pure=False)
    process, found, _ = client.submit(read, kept, workers=[here]).result()
    assert same(found, 5)
    elsewhere, found, own = client.submit(read, kept, workers=[there], pure=False).result()
    assert elsewhere != process and same(found, 5) and own, "it is on the device of the worker that reads it"
    assert 24 * WORDS <= client.nbytes(summary=False)[kept.key] <= 24 * WORDS + 1000
    assert len(client.who_has(kept)[kept.key]) == 2
    key = kept.key
    del kept
    while key in client.nbytes(summary=False):  # until the scheduler knows that it is unused
        pass


def test_spilled_and_read_again(tmp_path: Path) -> None:
    buffer = SpillBuffer(str(tmp_path), target=32 * WORDS)
    for seed in range(3):
        buffer[f"kept-{seed}"] = made(seed)
    assert len(buffer.slow) == 2 and len(buffer.fast) == 1, "there is room for one"
    assert all(same(list(buffer[f"kept-{seed}"].arrays), seed) for seed in range(3))


def test_its_size_is_that_of_its_arrays() -> None:
    kept = made(1)
    assert kept.nbytes == 24 * WORDS + 56
    assert kept.nbytes <= sizeof(kept) <= kept.nbytes + 100
