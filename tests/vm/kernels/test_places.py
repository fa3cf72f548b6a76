"""Parts of columns copied into a trace, against a copy of each cell."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.vm.kernels import place_columns
from graphprover.vm.kernels.places import COLUMN, FROM_COLUMN, FROM_ROW, MOVE_WORDS, ROW, ROWS, SOURCE
from tests.naive_device import NaiveDevice

CASES = [(1, 1, 1), (1, 3, 64), (3, 7, 200), (12, 40, 1024), (2, 5, 70_001)]

Case = tuple[list[np.ndarray], np.ndarray, tuple[int, int]]


def case(sources: int, columns: int, rows: int) -> Case:
    """Return traces, moves of parts of them, each to rows of its own, and the shape of the destination."""
    rng = np.random.default_rng(rows)
    traces = [rng.integers(0, 1 << 63, (columns, rng.integers(1, rows + 1)), dtype=np.uint64) for _ in range(sources)]
    moves, first = [], 0
    for number, trace in enumerate(traces):
        start = int(rng.integers(trace.shape[1]))
        count = int(rng.integers(1, trace.shape[1] - start + 1))
        places = rng.permutation(columns + 2)[:columns].tolist()
        moves += [(number, own, start, place, first, count) for own, place in enumerate(places)]
        first += count
    return traces, np.array(moves, dtype=np.uint64), (columns + 2, first + 3)


def placed(device: Any, found: Case) -> np.ndarray:
    """Return a device's result of the moves into zeros."""
    traces, moves, shape = found
    main = np.zeros(shape, dtype=np.uint64)
    place_columns(device, traces, moves, main)
    return main


@pytest.mark.parametrize("size", CASES)
def test_pieces_go_where_they_should(size: tuple[int, int, int]) -> None:
    found = case(*size)
    np.testing.assert_array_equal(placed(CpuDevice(1), found), placed(NaiveDevice(), found))


@pytest.mark.parametrize("word", [SOURCE, FROM_COLUMN, FROM_ROW, COLUMN, ROW, ROWS])
def test_what_is_not_there_is_refused(word: int) -> None:
    traces, moves, shape = case(2, 3, 20)
    limits = {
        SOURCE: 2,
        FROM_COLUMN: 3,
        FROM_ROW: traces[0].shape[1] + 1,
        COLUMN: 5,
        ROW: shape[1] + 1,
        ROWS: 2**64 - 1,
    }
    moves[0, word] = limits[word]
    with pytest.raises(ValueError, match="a move"):
        place_columns(CpuDevice(1), traces, moves, np.zeros(shape, dtype=np.uint64))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda traces, moves, main: (traces, moves[:, : MOVE_WORDS - 1], main),
        lambda traces, moves, main: (traces, moves.astype(np.int64), main),
        lambda traces, moves, main: ([traces[0].T, traces[1]], moves, main),
        lambda traces, moves, main: (traces, moves, main.astype(np.int64)),
    ],
)
def test_other_arrays_are_refused(spoil: Callable[..., Any]) -> None:
    traces, moves, shape = case(2, 3, 20)
    with pytest.raises(ValueError, match=r"moves are|a trace is contiguous"):
        place_columns(CpuDevice(1), *spoil(traces, moves, np.zeros(shape, dtype=np.uint64)))
