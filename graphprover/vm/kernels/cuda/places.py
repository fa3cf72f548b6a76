"""Copies parts of columns into a trace (``places.cu``)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import cupy
import numpy as np

from graphprover.kernels.cuda.launch import compiled, launch
from graphprover.vm.kernels.cuda.sources import text
from graphprover.vm.kernels.places import COLUMN, FROM_COLUMN, FROM_ROW, ROW, ROWS, SOURCE

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_THREADS = 128


def place_columns(device: "CudaDevice", sources: Sequence[cupy.ndarray], moves: np.ndarray, main: cupy.ndarray) -> None:
    """Copy parts of columns; see ``graphprover.vm.kernels.place_columns``."""
    number = moves[:, SOURCE].astype(np.int64)
    starts = np.array([source.data.ptr for source in sources], dtype=np.uint64)[number]
    heights = np.array([source.shape[1] for source in sources], dtype=np.uint64)[number]
    at = starts + np.uint64(main.itemsize) * (moves[:, FROM_COLUMN] * heights + moves[:, FROM_ROW])
    to = moves[:, COLUMN] * np.uint64(main.shape[1]) + moves[:, ROW]
    words = device.load(np.stack([at, to, moves[:, ROWS]], axis=1))
    with device.operation("place_columns"):
        launch(compiled(text("places.cu")), "place_columns", len(moves), _THREADS, words, main)
