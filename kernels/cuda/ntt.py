"""Low-degree extensions of many columns; the twin of ``graphprover.kernels.cpu.ntt``, which describes the tree.

Columns of up to 4096 words take one launch. Longer ones pass through memory for every four to twelve levels of the
tree: up from the leaves, in the coefficients' place (the first block of the target's row); at the root up and down in
one kernel, into all cosets; then down.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import attrgetter

import cupy
import numpy as np

from graphprover import field
from graphprover.kernels.cuda.launch import compiled, empty_arrays, launch, multiprocessors
from graphprover.kernels.cuda.multi_table import batched
from graphprover.kernels.cuda.sources import ntt as text_of
from graphprover.kernels.cuda.tape import taped
from graphprover.kernels.operands import Unextended

LOG_TILE = 12  # a transform of one tile has a kernel of its own
_LOG_SHORT = 8  # up to here a column keeps few threads busy
MAX_LOG_SIZE = 28
MAX_LOG_COSETS = 8
_LOG_TURNED = 3  # cosets that one launch turns into at most: shared memory has tables for each of them
MAX_LOG_CHUNKS = 4
THREADS = 256
MAX_THREADS = 1024  # of a block that transforms a column by itself
_BLOCKS_PER_MULTIPROCESSOR = 3
# Words of shared memory in ntt.cu.
TILE = 1 << LOG_TILE
BUFFER = TILE + TILE // 16  # of a tile with padding
RISES = 16
STRIDED = 16 * 16 + 16
# Bytes of shared memory, as laid out at the start of each kernel.
_WORD = 8
_SHARED_BOTTOM = _WORD * (BUFFER + 16 + 16 * 16 + TILE + 3 * RISES)
_SHARED_NATURAL = _WORD * (BUFFER + 16 * 16 + TILE)
_SHARED_STRIDED = _WORD * (TILE + 2 * RISES + STRIDED)


def _shared_turn(log_cosets: int) -> int:
    return _WORD * (2 * TILE + 4 * RISES + STRIDED * (1 + (1 << log_cosets)))


@dataclass(frozen=True)
class Pass:
    """One launch: some levels of the tree above blocks of 2^log_stride words."""

    levels: int
    log_stride: int


@dataclass(frozen=True)
class Passes:
    """The passes of a transform, root first."""

    top: Pass
    middle: tuple[Pass, ...]
    bottom: Pass


def _passes(log_size: int, bottom: int, top: int) -> Passes:
    """``bottom`` levels at the leaves, ``top`` at the root, and all between them eight or four at a time."""
    middle = []
    log_stride = bottom
    while log_stride < log_size - top:
        levels = 4 if (log_size - top - log_stride) % 8 else 8
        middle.append(Pass(levels, log_stride))
        log_stride += levels
    return Passes(Pass(top, log_size - top), tuple(reversed(middle)), Pass(bottom, 0))


def plan(log_size: int, natural: bool) -> Passes:
    """Return the passes of a transform of 2^log_size > 2^LOG_TILE words whose leaves are in natural or bit-reversed
    order.
    """
    if not LOG_TILE < log_size <= MAX_LOG_SIZE:
        raise ValueError(f"no transform of 2^{log_size} rows in passes")
    bottom = 9 + (log_size - 9) % 4
    top = 4 if log_size - bottom == 4 else 8
    if natural:
        bottom = 5 + (log_size - 5) % 4
    return _passes(log_size, bottom, top)


@cache
def _roots(device: int) -> cupy.ndarray:
    """w^i and w^(2^16 i), i < 2^16, for w of order 2^32."""
    table = np.ones((2, 1 << 16), dtype=np.uint64)
    for row in range(2):
        for log in range(16):
            factor = np.asarray(field.root_of_unity(32 - 16 * row - log), dtype=np.uint64)
            half = 1 << log
            table[row, half : 2 * half] = field.array_mul(table[row, :half], factor)
    roots = cupy.asarray(table)
    cupy.cuda.get_current_stream().synchronize()  # other streams will read it
    return roots


@cache
def _scale(log_size: int) -> int:
    """1/n, by which coefficients are multiplied."""
    return field.inv(1 << log_size)


def _launch(name: str, units: int, shared: int, *arguments: object) -> None:
    device = cupy.cuda.runtime.getDevice()
    blocks = min(units, multiprocessors(device) * _BLOCKS_PER_MULTIPROCESSOR)
    launch(compiled(text_of(name)), name, blocks, THREADS, *arguments, _roots(device), shared=shared)


def _log_rows(matrix: cupy.ndarray) -> int:
    """log2 of the rows of (columns, n), each contiguous, though others may lie between two of them."""
    rows = matrix.shape[-1]
    if matrix.ndim != 2 or matrix.dtype != np.uint64 or rows == 0 or rows & (rows - 1) or matrix.strides[1] != 8:
        raise ValueError(f"no transform of a {matrix.dtype} array of shape {matrix.shape}, strides {matrix.strides}")
    return rows.bit_length() - 1


@dataclass(frozen=True)
class _Extension:
    """One matrix on its way from a source to a target."""

    source: cupy.ndarray  # (columns, n c), a row contiguous
    target: cupy.ndarray  # (columns c, n 2^log_cosets)
    log_size: int  # of n
    log_chunks: int  # of c


def _whole(extensions: Sequence[_Extension], log_cosets: int, shift: int, natural: bool) -> None:
    """Transform columns of at most 2^LOG_TILE words, a thread block each, in one launch for short and one for long
    ones.
    """
    for least, most in ((0, _LOG_SHORT), (_LOG_SHORT + 1, LOG_TILE)):
        some = [extension for extension in extensions if least <= extension.log_size <= most]
        longest = max((extension.log_size for extension in some), default=0)
        items = [
            (
                [
                    extension.source.data.ptr, extension.source.strides[0] // _WORD,
                    extension.target.data.ptr, extension.target.shape[1],
                    len(extension.source), extension.log_size, extension.log_chunks, _scale(extension.log_size),
                ],
                len(extension.source) << (log_cosets + extension.log_chunks),
            )
            for extension in some
        ]  # fmt: skip
        for described, count, blocks in batched(items):
            launch(
                compiled(text_of("whole_columns")), "whole_columns", blocks,
                min(max(1 << longest >> 1, 32), MAX_THREADS),
                described, count, log_cosets, natural, shift, _roots(cupy.cuda.runtime.getDevice()),
                shared=_WORD * ((1 << longest) + LOG_TILE),
            )  # fmt: skip


def _down(target: cupy.ndarray, log_size: int, log_cosets: int, shift: int, passes: list[Pass]) -> None:
    """Run the passes of all cosets of all columns, in place."""
    columns, stride = target.shape
    units = columns << (log_size + log_cosets - LOG_TILE)
    for step in passes:
        if step.log_stride:
            _launch(
                f"down_{step.levels}",
                units,
                _SHARED_STRIDED,
                target,
                stride,
                columns,
                log_size,
                step.log_stride,
                log_cosets,
                shift,
            )
        else:
            _launch(
                f"down_bottom_{step.levels}",
                units,
                _SHARED_BOTTOM,
                target,
                stride,
                columns,
                log_size,
                log_cosets,
                shift,
            )


def ntt(data: cupy.ndarray, shift: int = 1) -> None:
    """Coefficients in natural order to evaluations on shift * H in bit-reversed order, in place: (columns, n).

    Raises ValueError for 2^LOG_TILE rows or fewer, which no extension transforms without their inverse.
    """
    log_size = _log_rows(data)
    passes = plan(log_size, natural=False)
    _down(data, log_size, 0, shift, [passes.top, *passes.middle, passes.bottom])


def coset_ldes(
    sources: Sequence[cupy.ndarray],
    log_chunks: Sequence[int],
    log_cosets: int,
    shift: int,
    bit_reversed_source: bool,
) -> list[cupy.ndarray]:
    """Return the polynomials given by evaluations, on 2^log_cosets times as many points.

    A source (columns, n c) holds for each column c = 2^log_chunks runs of n evaluations in bit-reversed order, run z
    on the coset h w^rev(z) H with w of order n c; or, without chunks, one of n in natural order on h H. The result,
    (columns c, n 2^log_cosets), has in row columns rev(z) + column that column's run z on the coset shift h K in
    bit-reversed order. Raises ValueError for other shapes, and above 2^28 rows, 256 cosets or
    16 chunks.
    """
    return taped(_coset_ldes, sources, log_chunks, log_cosets, shift, bit_reversed_source)


def _coset_ldes(
    sources: Sequence[cupy.ndarray],
    log_chunks: Sequence[int],
    log_cosets: int,
    shift: int,
    bit_reversed_source: bool,
) -> list[cupy.ndarray]:
    log_sizes = [_log_rows(source) - log for source, log in zip(sources, log_chunks, strict=True)]
    for source, log_size, log in zip(sources, log_sizes, log_chunks, strict=True):
        limits = 0 <= log_cosets <= MAX_LOG_COSETS and 0 <= log <= MAX_LOG_CHUNKS
        if log_size < 0 or not limits or (log and not bit_reversed_source):
            raise ValueError(f"no extension of {source.shape} from 2^{log} chunks to 2^{log_cosets} cosets")
    extensions = _extensions(sources, log_sizes, log_chunks, log_cosets)
    in_order = sorted(extensions, key=lambda extension: extension.target.data.ptr)
    for log_size, alike in groupby(in_order, key=attrgetter("log_size")):
        if log_size > LOG_TILE:
            _in_passes(list(alike), log_cosets, shift, bit_reversed_source)
    short = [extension for extension in in_order if extension.log_size <= LOG_TILE]
    _whole(short, log_cosets, shift, natural=not bit_reversed_source)
    return [extension.target for extension in extensions]


def extended(matrix: Unextended, columns: cupy.ndarray) -> cupy.ndarray:
    """Return the extension of some of a matrix's columns."""
    return coset_ldes([columns], [0], matrix.log_blowup, field.GENERATOR, bit_reversed_source=False)[0]


def _extensions(
    sources: Sequence[cupy.ndarray], log_sizes: Sequence[int], log_chunks: Sequence[int], log_cosets: int
) -> list[_Extension]:
    """Return the extensions with targets in one allocation, grouped by length, without chunks first."""
    numbers = sorted(range(len(sources)), key=lambda i: (log_sizes[i], log_chunks[i] > 0))
    shapes = [(len(sources[i]) << log_chunks[i], 1 << (log_sizes[i] + log_cosets)) for i in numbers]
    targets = dict(zip(numbers, empty_arrays(shapes), strict=True))
    return [_Extension(source, targets[i], log_sizes[i], log_chunks[i]) for i, source in enumerate(sources)]


def _in_passes(extensions: Sequence[_Extension], log_cosets: int, shift: int, bit_reversed_source: bool) -> None:
    """Transform columns of one length, more than 2^LOG_TILE words; columns that fit share each pass's launch."""
    log_size = extensions[0].log_size
    down = plan(log_size, natural=False)
    up = down if bit_reversed_source else plan(log_size, natural=True)
    for extension in extensions:
        source, target = extension.source, extension.target
        common = (source.data.ptr, source.strides[0] // 8, target, target.shape[1], len(source), log_size)
        units = len(source) << (log_size + extension.log_chunks - LOG_TILE)
        if bit_reversed_source:
            _launch(f"up_bottom_{up.bottom.levels}", units, _SHARED_BOTTOM, *common, extension.log_chunks)
        else:
            _launch(f"up_natural_{up.bottom.levels}", units, _SHARED_NATURAL, *common)
    whole = [extension for extension in extensions if not extension.log_chunks]
    if whole:
        _turn(_stacked(whole), log_size, 0, log_cosets, shift, up.middle, down.top)
    for extension in extensions:
        if extension.log_chunks:  # whose place depends on how many columns their own matrix has
            _turn(extension.target, log_size, extension.log_chunks, log_cosets, shift, up.middle, down.top)
    _down(_stacked(extensions), log_size, log_cosets, shift, [*down.middle, down.bottom])


def _stacked(extensions: Sequence[_Extension]) -> cupy.ndarray:
    """Targets that follow each other in memory, as one matrix."""
    first = extensions[0].target
    rows = sum(len(extension.target) for extension in extensions)
    return cupy.ndarray((rows, first.shape[1]), dtype=first.dtype, memptr=first.data)


def _turn(
    target: cupy.ndarray, log_size: int, log_chunks: int, log_cosets: int, shift: int, middle: Sequence[Pass], top: Pass
) -> None:
    """Run the other passes up, and those that turn into all cosets, in place."""
    rows, stride = target.shape
    columns = rows >> log_chunks
    units = columns << (log_size + log_chunks - LOG_TILE)
    common = (target, stride, columns, log_size)
    for step in reversed(middle):
        _launch(f"up_{step.levels}", units, _SHARED_STRIDED, *common, step.log_stride, log_chunks)
    log_turned = min(log_cosets, _LOG_TURNED)
    # The first coset is last, because it takes the place of the coefficients.
    for first in reversed(range(0, 1 << log_cosets, 1 << log_turned)):
        last = log_chunks, first, log_turned, shift, _scale(log_size)
        _launch(f"turn_{top.levels}", units, _shared_turn(log_turned), *common, *last)
