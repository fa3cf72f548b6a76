"""Counts how often the rows of a trace look up each number, and cycles each entry (``counting.cu``)."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import cupy
import numpy as np

from graphprover.kernels.cuda.launch import blocks_for, compiled, launch
from graphprover.kernels.cuda.multi_table import batched
from graphprover.vm.kernels.cuda.sources import COUNT_KEYS, COUNT_PIECE, text
from graphprover.vm.kernels.keys import Keys

if TYPE_CHECKING:
    from graphprover.device.cuda import CudaDevice

_THREADS = 256


@lru_cache(maxsize=512)
def _on_device(keys: Keys, device: int) -> tuple[cupy.ndarray, cupy.ndarray]:
    """Return a table's keys and terms on a device."""
    words = cupy.asarray(np.concatenate([keys.keys.reshape(-1), keys.terms.reshape(-1)]))
    cupy.cuda.get_current_stream().synchronize()  # other streams will read them
    return words[: keys.keys.size], words[keys.keys.size :]


def count_keys(device: "CudaDevice", traces: Sequence[tuple[cupy.ndarray, Keys]], counts: cupy.ndarray) -> None:
    """Count lookups; see ``graphprover.vm.kernels.count_keys``."""
    with device.operation("count_keys"):
        items = []
        for main, keys in traces:
            there = [array.data.ptr for array in _on_device(keys, device.number)]
            words = [main.data.ptr, *there, *main.shape, main.strides[0] // main.itemsize]
            items.append((words, blocks_for(main.shape[1], COUNT_KEYS) * len(keys.keys)))
        for described, count, blocks in batched(items):
            launch(
                compiled(text("counting.cu"), "counting.cu"), "count_keys", blocks, _THREADS, described, count, counts
            )


def count_entries(device: "CudaDevice", entries: cupy.ndarray, counts: cupy.ndarray) -> None:
    """Count entries; see ``graphprover.vm.kernels.count_entries``."""
    with device.operation("count_entries"):
        launch(
            compiled(text("counting.cu"), "counting.cu"), "count_entries",
            blocks_for(len(entries), COUNT_PIECE), _THREADS,
            entries.data.ptr, entries.strides[0] // entries.itemsize, len(entries), counts,
        )  # fmt: skip
