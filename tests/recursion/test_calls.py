"""Devices make the calls that hash opened rows and nodes as plain Python does."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import blake3
import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.field import P
from graphprover.recursion.kernels import hash_segments
from graphprover.recursion.kernels.compressions import empty_calls
from graphprover.recursion.kernels.segments import RowSegments, SegmentKind
from graphprover.recursion.openings import OpenedRows
from graphprover.recursion.traces.machine import calls_of
from graphprover.recursion.traces.nodes import Nodes
from graphprover.recursion.witness.hashes import RowGroup, segments_of_rows
from tests.recursion.machines import no_nodes, no_segments
from tests.recursion.naive import Call, compressions, node_call
from tests.recursion.naive_segments import Segment, segments_of

# Groups of rows and their words; each case also has nodes, or none.
CASES: Mapping[str, tuple[Sequence[tuple[int, int]], int]] = {
    "a word": ([(1, 1)], 0),
    "a row of each shape": ([(1, words) for words in (1, 7, 8, 24, 127, 128, 129, 200, 300, 1000)], 3),
    "rows without parents": ([(70, 7), (33, 24), (5, 128), (70, 8)], 1),
    "rows with parents": ([(31, 129), (2, 1000), (3, 300), (7, 200)], 70),
    "a row of many chunks": ([(1, 4864)], 0),
    "chunks after parents": ([(2, 300), (40, 1), (1, 512), (1, 640), (3, 129)], 2),
    "nodes alone": ([], 5),
    "nothing": ([], 0),
}


def groups(case: str) -> list[RowGroup]:
    """Return rows of a case; their memory means nothing here."""
    rng = np.random.default_rng(1)
    found = []
    for i, (rows, width) in enumerate(CASES[case][0]):
        words = rng.integers(0, P, (rows, width), dtype=np.uint64)
        words[0, 0], words[-1, -1] = 0, P - 1
        indices, zeros = np.arange(rows, dtype=np.uint64), np.zeros(rows, dtype=np.uint32)
        found.append(RowGroup(OpenedRows(i, 3, indices, words, None), zeros, zeros))
    return found


def segments(case: str) -> RowSegments:
    """Return the segments of a case, on the host."""
    found = groups(case)
    return segments_of_rows(found) if found else no_segments()


def nodes(case: str) -> Nodes:
    """Return nodes with any children."""
    count = CASES[case][1]
    children = np.random.default_rng(2).integers(0, 2**32, (count, 16), dtype=np.uint32)
    none = {name: np.zeros((count, *array.shape[1:]), dtype=array.dtype) for name, array in vars(no_nodes()).items()}
    return Nodes(**none | {"children": children})


@cache
def naive(case: str) -> tuple[Segment, ...]:
    found: list[Segment] = []
    for group in groups(case):
        for words in group.opened.words.tolist():
            found += segments_of((0, 0, 0), [SegmentKind.READ], 0, words, 0, 0)
    return tuple(found)


def on_device(arrays: Any, device: Any) -> Any:
    """Return a dataclass of arrays on a device."""
    return type(arrays)(**{name: device.load(array) for name, array in vars(arrays).items()})


def made(case: str, device: Any) -> list[Any]:
    """Return all arrays that a device makes of a case."""
    calls, there, digests = calls_of(device, on_device(segments(case), device), on_device(nodes(case), device))
    return [*vars(calls).values(), *vars(there).values(), digests]


@pytest.mark.parametrize("case", CASES)
def test_calls(case: str) -> None:
    of_nodes = [node_call(children.tobytes()) for children in nodes(case).children]
    expected: list[Call] = [call for segment in naive(case) for call in segment.calls] + of_nodes
    calls, found, digests = calls_of(CpuDevice(2), segments(case), nodes(case))
    for name, array in vars(compressions(expected)).items():
        np.testing.assert_array_equal(getattr(calls, name), array, name)
    blocks = len(expected) - len(of_nodes)
    np.testing.assert_array_equal(found.words.view(np.uint32), calls.blocks[:blocks])
    assert digests.tolist() == [segment.digest for segment in naive(case)]


@pytest.mark.parametrize("case", CASES)
def test_digests_of_rows_are_those_of_the_package(case: str) -> None:
    _, found, digests = calls_of(CpuDevice(1), segments(case), nodes(case))
    whole = digests[found.numbers[:, 0] & int(SegmentKind.WHOLE) != 0]
    rows = [row for group in groups(case) for row in group.opened.words]
    for digest, row in zip(whole, rows, strict=True):
        assert digest.tobytes() == blake3.blake3(row.tobytes()).digest()


def test_inputs_stay() -> None:
    """A trace task is pure: a device that loads no copy writes elsewhere, and the words of parents are zeros."""
    given = segments("rows with parents")
    before = {name: array.copy() for name, array in vars(given).items()}
    _, found, _ = calls_of(CpuDevice(1), given, no_nodes())
    for name, array in vars(given).items():
        np.testing.assert_array_equal(array, before[name], name)
    parents = given.numbers[given.owners, 0] & int(SegmentKind.PARENT) != 0
    assert parents.any() and not given.words[parents].any()
    np.testing.assert_array_equal(found.words[~parents], given.words[~parents])


def test_arrays_of_another_kind_are_refused() -> None:
    device, good = CpuDevice(1), segments("rows with parents")
    blocks, count = len(good.words), len(good.firsts)
    digests = np.empty((count, 8), dtype=np.uint32)
    calls = empty_calls(device, blocks)
    hash_segments(device, good, calls, digests)
    for name, array in vars(good).items():
        for wrong in (array[..., None], array.astype(np.int64), np.repeat(array, 2, axis=0)[::2]):
            with pytest.raises(ValueError, match=f"{name} of .* segments are"):
                hash_segments(device, replace(good, **{name: wrong}), calls, digests)
    for wrong in (digests[1:], digests.astype(np.uint64), digests[:, ::-1]):
        with pytest.raises(ValueError, match=f"digests of {count} segments are"):
            hash_segments(device, good, calls, wrong)
    for name, array in vars(calls).items():
        with pytest.raises(ValueError, match="calls are"):
            hash_segments(device, good, replace(calls, **{name: array.astype(np.uint64)}), digests)
    with pytest.raises(ValueError, match=f"{blocks} blocks of segments do not fit {blocks - 1} calls"):
        hash_segments(device, good, empty_calls(device, blocks - 1), digests)
