"""Values of columns at points of the extension (``opening.cu``); the definitions stand in kernels/cpu/opening.py."""

from collections.abc import Sequence

import cupy

from graphprover import field
from graphprover.field import GENERATOR, Ext, P
from graphprover.kernels.cuda import domain
from graphprover.kernels.cuda.inverse import ELEMENTS
from graphprover.kernels.cuda.module import blocks_for, launch, load

THREADS, TILE, COLUMNS, WARP = 256, 2048, 32, 32  # as in opening.cu
_WORD = 8


def interpolation_weights(log_rows: int, point: Ext) -> cupy.ndarray:
    """uint64 (3, n) for n = 2^log_rows: p(point) is the sum of weights[:, i] p(x_i) over 7 H in bit-reversed order.

    Raises ZeroDivisionError for a point of 7 H.
    """
    domain.require_outside(point, log_rows)
    rows = 1 << log_rows
    power = pow(GENERATOR, rows, P)
    vanishing = field.ext_sub(field.ext_pow(point, rows), field.ext(power))
    factor = field.ext_scale(vanishing, field.inv(rows * power))
    target = cupy.empty((3, rows), dtype=cupy.uint64)
    blocks = blocks_for(rows, THREADS * ELEMENTS)
    tables = domain.points(log_rows)
    launch(load("opening.cu"), "weights", blocks, THREADS, *tables, *point, *factor, target, rows)
    return target


def evaluate(matrix: cupy.ndarray, weights: Sequence[cupy.ndarray]) -> list[tuple[Ext, ...]]:
    """The values of all columns at the points of some weights, on the host; otherwise as `weighted_sums`."""
    values = weighted_sums(matrix, weights).get().tolist()
    return [tuple(zip(*coordinates, strict=True)) for coordinates in values]


def weighted_sums(matrix: cupy.ndarray, weights: Sequence[cupy.ndarray]) -> cupy.ndarray:
    """The values of all columns at the points of some weights: uint64 (points, 3, columns).

    ``matrix`` is (columns, rows) with at least n rows, of which the first n = 7 H are read; each of ``weights`` is
    (3, n), of one n. Points are taken two at a time, so that they share the reading of the matrix. Raises ValueError
    for shapes that do not agree.
    """
    width, height = matrix.shape
    shapes = {each.shape for each in weights}
    if len(shapes) != 1 or weights[0].shape[0] != 3 or weights[0].shape[1] > height:
        raise ValueError(f"weights of shapes {shapes} do not fit a matrix of {matrix.shape}")
    n = weights[0].shape[1]
    tiles = blocks_for(n, TILE)
    target = cupy.empty((len(weights), 3, width), dtype=cupy.uint64)
    module = load("opening.cu")
    for i in range(0, len(weights), 2):
        pair = weights[i : i + 2]
        sums = 3 * len(pair)
        partial = cupy.empty((width, sums, tiles), dtype=cupy.uint64)
        grid = (tiles, blocks_for(width, COLUMNS))
        name = f"partial_sums_{len(pair)}"
        launch(module, name, grid, THREADS, matrix, width, height, *pair, n, partial, shared=sums * TILE * _WORD)
        blocks = blocks_for(width * sums * WARP, THREADS)
        launch(module, "add_tiles", blocks, THREADS, partial, tiles, width, sums, target[i : i + 2])
    return target
