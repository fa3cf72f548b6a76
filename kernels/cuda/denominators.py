"""1 / (z - x) over the points x of domains (``denominators.cuh``), of which several operations make something."""

from collections.abc import Sequence

import cupy
import numpy as np

from graphprover.field import GENERATOR, Ext, P
from graphprover.kernels.cuda import domain
from graphprover.kernels.cuda.launch import blocks_for, empty_arrays, kernels_of, launch
from graphprover.kernels.cuda.multi_table import ITEMS, batched
from graphprover.kernels.cuda.tape import taped

THREADS, ELEMENTS = 256, 8  # as in denominators.cuh
_POINT = 6  # words of a point with its factor, as in denominators.cuh


def over_points(file: str, kernel: str, domains: Sequence[tuple[int, Ext, Ext]]) -> list[cupy.ndarray]:
    """Return a kernel's function of 1 / (z - x) for all x of 7 * K (``denominators.cuh``): uint64 (3, |K|) for each
    domain.

    ``domains`` are log2 of the order of K, z and a factor. Raises ZeroDivisionError if z is one of the x.
    """
    if not domains:
        return []
    log_sizes = []
    for log_size, point, _ in domains:
        _require_outside(point, log_size)
        log_sizes.append(log_size)
    return taped(_over_points, file, kernel, log_sizes, words=_points(domains))


def _over_points(file: str, kernel: str, log_sizes: Sequence[int], points: Sequence[np.ndarray]) -> list[cupy.ndarray]:
    """Return the function over domains of these sizes; ``points`` has the words of the points of each launch."""
    targets = empty_arrays((3, 1 << log_size) for log_size in log_sizes)
    tables = domain.points(max(log_sizes))
    items = [
        ([target.data.ptr, 1 << log_size], blocks_for(1 << log_size, THREADS * ELEMENTS))
        for log_size, target in zip(log_sizes, targets, strict=True)
    ]
    for (described, count, blocks), of_launch in zip(batched(items), points, strict=True):
        launch(kernels_of(file), kernel, blocks, THREADS, described, of_launch, count, *tables)
    return targets


def _points(domains: Sequence[tuple[int, Ext, Ext]]) -> list[np.ndarray]:
    """Return the points and factors as words, for one launch after another."""
    words = [word for _, point, factor in domains for word in (*point, *factor)]
    launches = -(-len(domains) // ITEMS)
    points = np.zeros(launches * ITEMS * _POINT, dtype=np.uint64)
    points[: len(words)] = np.array(words, dtype=np.uint64)
    return list(points.reshape(launches, -1))


def _require_outside(point: Ext, log_size: int) -> None:
    """Raise ZeroDivisionError for a point of 7 * K, K of order 2^log_size: 1 / (point - x) would not exist."""
    if point[1] == point[2] == 0 and pow(point[0], 1 << log_size, P) == pow(GENERATOR, 1 << log_size, P):
        raise ZeroDivisionError(f"the opening point {point[0]} is one of the domain's 2^{log_size}")
