"""LogUp columns: fractions from denominators and multiplicities, and their running sum.

Source: ``generate_permutation`` in p3-lookup/src/logup.rs; the argument is Haböck's (eprint 2022/1530). Each fraction
m / d is (m / norm) * adjugate with base norms, which are inverted together for a block of rows and all tuples.
"""

from collections.abc import Sequence

import numpy as np

from graphprover.air.bytecode import lookup_bytecode
from graphprover.field import EXTENSION_DEGREE, Ext
from graphprover.kernels.constant_planes import constants
from graphprover.kernels.cpu import bytecode, domain, pages, simd
from graphprover.kernels.cpu.field import add
from graphprover.kernels.cpu.inverse import adjugate, invert
from graphprover.kernels.cpu.parallel import Threads, split_rows
from graphprover.kernels.operands import Operands
from graphprover.runtime.numba_cache import njit

_WORDS = 2048  # norms that are inverted together: with the adjugates they stay in the second cache
_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@njit(nogil=True, cache=True)
def _block(denominators, multiplicities, start, groups, columns, place, rows, block, cofactors, norms, prefix):
    """``rows`` rows, a multiple of 8, from row ``start`` of the tuples to row ``place`` of the columns.

    -1, or the index tuple * block + row of a zero denominator.
    """
    height, width = denominators.shape[1], columns.shape[1]
    tuples = len(multiplicities)
    room = cofactors.shape[1]
    for t in range(tuples):
        for i in range(rows, block):
            norms[t * block + i] = _ONE
        for i in range(0, rows, simd.WIDTH):
            x = simd.load_rows(denominators, 3 * t * height + start + i, height, 3)
            c0, c1, c2, norm = adjugate(x)
            # A multiplicity of zero makes the fraction zero, whatever the denominator.
            absent = simd.equal(simd.load(multiplicities, t * height + start + i), _ZERO)
            simd.store(norms, t * block + i, simd.select(absent, _ONE, norm))
            simd.store_rows(cofactors, t * block + i, room, (c0, c1, c2))
    zero = invert(norms, prefix, tuples * block)
    if zero >= 0:
        return zero
    for i in range(0, rows, simd.WIDTH):
        sum_ = (simd.splat(_ZERO), simd.splat(_ZERO), simd.splat(_ZERO))
        t = 0
        for j in range(len(groups)):
            fraction = (simd.splat(_ZERO), simd.splat(_ZERO), simd.splat(_ZERO))
            for _ in range(groups[j]):
                factor = simd.mul(simd.load(multiplicities, t * height + start + i), simd.load(norms, t * block + i))
                summand = simd.ext_scale(simd.load_rows(cofactors, t * block + i, room, 3), factor)
                fraction = simd.ext_add(fraction, summand)
                t += 1
            fraction = simd.ext_canonical(fraction)
            simd.store_rows(columns, 3 * (j + 1) * width + place + i, width, fraction)
            sum_ = simd.ext_add(sum_, fraction)
        simd.store_rows(columns, place + i, width, simd.ext_canonical(sum_))
    return -1


@njit(nogil=True, cache=True)
def _fractions(denominators, multiplicities, offset, groups, columns, first, last):
    """(-1, -1), or the tuple and the row of a zero denominator."""
    tuples = len(multiplicities)
    block = max(_WORDS // tuples // simd.WIDTH, 1) * simd.WIDTH
    room = (tuples * block + 31) // 32 * 32  # what ``invert`` asks for
    cofactors = np.empty((3, room), dtype=np.uint64)
    norms = np.empty(room, dtype=np.uint64)
    prefix = np.empty(room, dtype=np.uint64)
    some = np.empty((3 * tuples, simd.WIDTH), dtype=np.uint64)
    counts = np.empty((tuples, simd.WIDTH), dtype=np.uint64)
    out = np.empty((len(columns), simd.WIDTH), dtype=np.uint64)
    start = first
    while start < last:
        rows = min(block, last - start)
        direct = rows >= simd.WIDTH
        if direct:
            rows -= rows % simd.WIDTH
            sources, targets, place = (denominators, multiplicities, start - offset), columns, start
        else:
            # Vectors would reach beyond the last row: the few rows that are left go through a copy.
            for i in range(simd.WIDTH):
                for k in range(3 * tuples):
                    some[k, i] = denominators[k, start - offset + i] if i < rows else _ZERO
                for k in range(tuples):
                    counts[k, i] = multiplicities[k, start - offset + i] if i < rows else _ZERO
            sources, targets, place = (some, counts, 0), out, 0
        vectors = rows if direct else simd.WIDTH
        zero = _block(*sources, groups, targets, place, vectors, block, cofactors, norms, prefix)
        if zero >= 0:
            return zero // block, start + zero % block
        if not direct:
            for k in range(len(columns)):
                for i in range(rows):
                    columns[k, start + i] = out[k, i]
        start += rows
    return -1, -1


@njit(nogil=True, cache=True)
def _accumulate(columns):
    a, b, c = _ZERO, _ZERO, _ZERO
    for row in range(columns.shape[1]):
        x, y, z = columns[0, row], columns[1, row], columns[2, row]
        columns[0, row], columns[1, row], columns[2, row] = a, b, c
        a, b, c = add(a, x), add(b, y), add(c, z)
    return a, b, c


def fractions(
    denominators: np.ndarray,
    multiplicities: np.ndarray,
    groups: Sequence[int],
    columns: np.ndarray,
    first: int,
    last: int,
    offset: int = 0,
) -> None:
    """Fraction columns 1 .. k for rows [first, last), and in column 0 their sum in the row, for ``accumulate``.

    ``denominators`` is (3D, m) and ``multiplicities`` (D, m) for D tuples, as the lookup bytecode gives them, from row
    ``offset`` on, so that they need not be kept for all rows at a time; ``groups`` holds the number of tuples of each
    of the k fraction columns and sums to D; ``columns`` is (3(k + 1), n). All are C-contiguous uint64. If the
    multiplicity is 0, so is the fraction. Raises ZeroDivisionError, naming tuple and row, for a zero denominator with
    another multiplicity, and ValueError for shapes that do not agree.
    """
    tuples, rows = sum(groups), denominators.shape[1]
    expected = (3 * tuples, rows), (tuples, rows), (EXTENSION_DEGREE * (len(groups) + 1), columns.shape[1])
    fits = 0 <= offset <= first <= last <= min(columns.shape[1], offset + rows)
    if (denominators.shape, multiplicities.shape, columns.shape) != expected or not fits:
        shapes = denominators.shape, multiplicities.shape, columns.shape
        raise ValueError(f"rows {first} to {last} of {tuples} tuples in {len(groups)} columns do not fit {shapes}")
    counts = np.array(groups, dtype=np.int64)
    index, row = _fractions(denominators, multiplicities, offset, counts, columns, first, last)
    if index >= 0:
        raise ZeroDivisionError(f"the denominator of tuple {index} is zero in row {row}")


def accumulate(columns: np.ndarray) -> Ext:
    """Turn column 0 of ``columns``, (3(k + 1), n), from sums by row into the sum of the rows before; the whole sum."""
    a, b, c = _accumulate(columns)
    return int(a), int(b), int(c)


def lookup_columns(threads: Threads, tables: Sequence[Operands], tau: Ext) -> list[tuple[np.ndarray, Ext]]:
    """For each table the accumulator and fraction columns (3(k + 1), n) of its trace, and the sum of all fractions.

    The traces are (columns, n) in natural order. Raises ZeroDivisionError as `fractions`.
    """
    return [_lookup_columns(threads, table, tau) for table in tables]


def _lookup_columns(threads: Threads, table: Operands, tau: Ext) -> tuple[np.ndarray, Ext]:
    rows = table.main.shape[1]
    lowered = lookup_bytecode(table.air)
    words = constants(lowered, table.public_values, table.prefixes, tau)
    groups = [len(lookup.tuples) for lookup in table.air.lookups]
    matrices = (table.main, table.preprocessed, None, domain.indicators(rows))
    columns = pages.empty((table.air.permutation_width, rows))

    def piece(first: int, last: int) -> None:
        denominators = np.empty((3 * sum(groups), last - first), dtype=np.uint64)
        multiplicities = np.empty((sum(groups), last - first), dtype=np.uint64)
        targets = (denominators, multiplicities)
        bytecode.evaluate(lowered, words, matrices, targets, rows.bit_length() - 1, False, first, last, first)
        fractions(denominators, multiplicities, groups, columns, first, last, first)

    split_rows(threads, piece, rows)
    return columns, accumulate(columns)
