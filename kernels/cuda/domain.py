"""Tables from which kernels make the points of evaluation domains and the factors of FRI folds with one product each.

In bit-reversed order both are products over the bits of an index, so that a fine table of the lowest bits and a coarse
one of the others say everything (``domain.cuh``), and the tables of a small domain are the beginning of a larger one's.
"""

from functools import cache

import cupy

from graphprover.kernels import domain
from graphprover.kernels.domain import Products

FINE = 12  # bits of the fine table, as in domain.cuh

PointTables = tuple[cupy.ndarray, cupy.ndarray]  # fine and coarse, uint64


def points(log_size: int) -> PointTables:
    """Of the coset 7 * K, K of order up to 2^log_size."""
    return _points(log_size, cupy.cuda.runtime.getDevice())


def fold_factors(log_size: int) -> PointTables:
    """Of 1 / (2 g^rev(i)) for codewords of up to 2^log_size elements."""
    return _fold_factors(log_size, cupy.cuda.runtime.getDevice())


@cache
def _points(log_size: int, device: int) -> PointTables:
    return _tables(domain.points(log_size))


@cache
def _fold_factors(log_size: int, device: int) -> PointTables:
    return _tables(domain.fold_factors(log_size))


def _tables(products: Products) -> PointTables:
    fine = Products(products.start, products.roots[:FINE]).table()
    coarse = Products(1, products.roots[FINE:]).table()
    tables = cupy.asarray(fine), cupy.asarray(coarse)
    cupy.cuda.get_current_stream().synchronize()  # other streams will read them
    return tables
