"""How often the rows of a trace ask for each number (``counting.cu``); kernels/cpu/counting.py says what keys are."""

import cupy
import numpy as np

from graphprover.kernels.cuda.module import blocks_for, launch, load

_THREADS = 256


def count_keys(main: cupy.ndarray, keys: np.ndarray, terms: np.ndarray, counts: cupy.ndarray) -> None:
    """Adds what the rows of a trace (columns, rows) ask for to ``counts``; ``keys`` and ``terms`` are the host's."""
    columns, rows = main.shape
    words = cupy.asarray(np.concatenate([keys.reshape(-1), terms.reshape(-1)]))
    launch(
        load("counting.cu"), "count_keys", (blocks_for(rows, _THREADS), len(keys)), _THREADS,
        main, columns, rows, words[: keys.size], words[keys.size :], counts,
    )  # fmt: skip
