"""The device: its counts, its errors when memory is exhausted, pickling, and sharing between threads."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from graphprover.device.cpu import CpuDevice
from tests.kernels.words import random_words

pytestmark = pytest.mark.gpu


@pytest.fixture
def device():  # type: ignore[no-untyped-def]
    from graphprover.device import cuda

    return cuda.device(0)


def test_commitment_equals_the_cpus(device) -> None:  # type: ignore[no-untyped-def]
    device.usage.clear()
    cpu = CpuDevice(1)
    traces = [random_words(i, width, 1 << log) for i, (width, log) in enumerate([(5, 12), (3, 4), (20, 13), (1, 12)])]
    ours, theirs = device.extend([device.load(trace) for trace in traces], 1), cpu.extend(traces, 1)
    tree, expected = device.merkle_tree(ours, 2, "blake3"), cpu.merkle_tree(theirs, 2, "blake3")
    assert device.cap(tree) == cpu.cap(expected)
    numbers, indices = np.arange(4, 2 << 14), np.array([3, 1])
    (rows,), (nodes,) = device.gather([[(ours[2], indices), (ours[0], indices)]], [(tree, numbers)])
    (expected_rows,), (expected_nodes,) = cpu.gather(
        [[(theirs[2], indices), (theirs[0], indices)]], [(expected, numbers)]
    )
    np.testing.assert_array_equal(rows, expected_rows)
    np.testing.assert_array_equal(nodes, expected_nodes)
    assert device.usage["gather"].launches == 1
    codeword = random_words(9, 3, 1 << 12)
    folded, expected = device.fold_tree(device.load(codeword), 3, 1, "blake3"), cpu.fold_tree(codeword, 3, 1, "blake3")
    assert device.cap(folded) == cpu.cap(expected)


def test_counts_operations_and_launches(device) -> None:  # type: ignore[no-untyped-def]
    device.usage.clear()
    device.memory.reset()
    held = device.memory.held()
    matrix = device.load(random_words(1, 4, 1 << 12))
    [extension] = device.extend([matrix], 1)
    assert (device.usage["load"].launches, device.usage["extend"].launches) == (0, 1)
    assert extension.nbytes + matrix.nbytes <= device.memory.peak - held < extension.nbytes + matrix.nbytes + (4 << 20)
    assert device.load(extension) is extension


def test_large_uploads_pass_through_staging_unchanged(device) -> None:  # type: ignore[no-untyped-def]
    columns = random_words(1, 3, 1 << 22)  # 96 MiB: more than all staging buffers
    uploaded = device.load(columns)
    columns_before = columns.copy()
    columns[:] = 0
    with device.task():
        np.testing.assert_array_equal(uploaded.get(), columns_before)


def test_out_of_memory_names_bytes(device) -> None:  # type: ignore[no-untyped-def]
    import cupy

    with device.task(), pytest.raises(MemoryError, match=r"no 1,125,899,906,842,624 bytes .* bytes held"):
        cupy.empty(1 << 47, dtype=np.uint64)


def test_travels_as_its_number(device) -> None:  # type: ignore[no-untyped-def]
    assert pickle.loads(pickle.dumps(device)) is device


def test_threads_share_one_stream(device) -> None:  # type: ignore[no-untyped-def]
    traces = [random_words(i, 3, 1 << (6 + i % 9)) for i in range(48)]
    cpu = CpuDevice(1)

    def commit(trace: np.ndarray) -> tuple[bytes, ...]:
        with device.task():
            return device.cap(device.merkle_tree(device.extend([device.load(trace)], 1), 0, "keccak"))

    with ThreadPoolExecutor(6) as pool:
        caps = list(pool.map(commit, traces))
    assert caps == [cpu.cap(cpu.merkle_tree(cpu.extend([trace], 1), 0, "keccak")) for trace in traces]
