"""Tables from which kernels make the points of evaluation domains and the factors of FRI folds with one product each.

In bit-reversed order both are products over the bits of an index, so that a fine table of the lowest bits and a coarse
one of the others say everything (``domain.cuh``), and the tables of a small domain are the beginning of a larger one's.
"""

from collections.abc import Sequence
from functools import cache

import cupy
import numpy as np

from graphprover import field
from graphprover.field import Ext, P
from graphprover.kernels.cuda.batch import batched
from graphprover.kernels.cuda.module import blocks_for, launch, load, together

FINE = 12  # bits of the fine table, as in domain.cuh
THREADS, ELEMENTS = 256, 8  # as in denominators.cuh

Tables = tuple[cupy.ndarray, cupy.ndarray]  # fine and coarse, uint64


def points(log_size: int) -> Tables:
    """Of the coset 7 * K, K of order up to 2^log_size."""
    return _points(log_size, cupy.cuda.runtime.getDevice())


def require_outside(point: Ext, log_size: int) -> None:
    """Raises ZeroDivisionError for a point of 7 * K, K of order 2^log_size: 1 / (point - x) is asked for."""
    if point[1] == point[2] == 0 and pow(point[0], 1 << log_size, P) == pow(field.GENERATOR, 1 << log_size, P):
        raise ZeroDivisionError(f"the opening point {point[0]} is one of the domain's 2^{log_size}")


def fold_factors(log_size: int) -> Tables:
    """Of 1 / (2 g^rev(i)) for codewords of up to 2^log_size elements, as ``fold_factors`` in kernels/cpu/domain.py."""
    return _fold_factors(log_size, cupy.cuda.runtime.getDevice())


def over_points(file: str, kernel: str, domains: Sequence[tuple[int, Ext, Ext]]) -> list[cupy.ndarray]:
    """What a kernel makes of 1 / (z - x) for all x of 7 * K (``denominators.cuh``): uint64 (3, |K|) for each domain.

    ``domains`` are log2 of the order of K, z and a factor. Raises ZeroDivisionError where z is one of the x.
    """
    for log_size, point, _ in domains:
        require_outside(point, log_size)
    targets = together((3, 1 << log_size) for log_size, _, _ in domains)
    tables = points(max(log_size for log_size, _, _ in domains))
    items = [
        ([*point, *factor, target.data.ptr, 1 << log_size], blocks_for(1 << log_size, THREADS * ELEMENTS))
        for (log_size, point, factor), target in zip(domains, targets, strict=True)
    ]
    for described, count, blocks in batched(items):
        launch(load(file), kernel, blocks, THREADS, described, count, *tables)
    return targets


@cache
def _points(log_size: int, device: int) -> Tables:
    return _tables(field.GENERATOR, [field.root_of_unity(k + 1) for k in range(log_size)])


@cache
def _fold_factors(log_size: int, device: int) -> Tables:
    return _tables(field.inv(2), [field.inv(field.root_of_unity(k + 2)) for k in range(log_size - 1)])


def products(start: int, roots: Sequence[int]) -> np.ndarray:
    """start times the product of the ``roots`` whose bits are set in i: uint64 (2^len(roots),)."""
    table = np.array([start], dtype=np.uint64)
    for root in roots:
        table = np.concatenate([table, field.array_mul(table, np.full_like(table, root))])
    return table


def _tables(start: int, roots: Sequence[int]) -> Tables:
    fine, coarse = cupy.asarray(products(start, roots[:FINE])), cupy.asarray(products(1, roots[FINE:]))
    cupy.cuda.get_current_stream().synchronize()  # other streams will read them
    return fine, coarse
