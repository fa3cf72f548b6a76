"""A table's lookups or its quotient by the generated kernels, or interpreted: while these are compiled, or if they are
too large.

Selectors are computed on the fly.
"""

from collections.abc import Sequence
from functools import lru_cache

import cupy
import numpy as np

from graphprover.air.bytecode import Bytecode, Source
from graphprover.kernels import domain
from graphprover.kernels.cuda import generate, lookup_parts, warm
from graphprover.kernels.cuda.domain import points as point_tables
from graphprover.kernels.cuda.launch import (
    blocks_for,
    compiled,
    copied,
    count_interpreted,
    keep,
    kernels_of,
    launch,
    pointer_or_null,
)
from graphprover.kernels.cuda.source_cache import Program

_THREADS = 128  # most threads of an interpreting block
_SHARED = 48 << 10  # bytes of registers of an interpreting block, above which it gets fewer threads
_MAX_SHARED = 96 << 10
_WORD = 8
_WORTH_WAITING = 1 << 34  # steps of all rows, which the interpreter of an H200 takes 0.1 to 0.3 s for


def _passed(words: np.ndarray) -> np.ndarray | cupy.ndarray:
    """Return the argument of a table's generated kernels with ``words``, which are this proof's constants."""
    return words if generate.by_value(len(words)) else copied(words)[0]


def evaluate(
    program: Program,
    words: np.ndarray,
    matrices: Sequence[cupy.ndarray | None],
    target: cupy.ndarray,
    log_rows: int,
    log_chunks: int,
    run: int | None = None,
) -> None:
    """Run a quotient's program into ``target``, uint64 (3, 2^(log_rows + log_chunks)) on 7 K in bit-reversed order.

    ``words`` fills the bytecode's constants, followed by the constants of `of_chunks`. ``matrices`` are main,
    preprocessed and permutation, (columns, rows) with at least as many rows as the quotient; None if the bytecode does
    not read it. A program without texts is interpreted. With a ``run``, target and matrices have only that run of
    2^log_rows of the rows. Raises ValueError for too few rows or a missing matrix.
    """
    bytecode, size = program.bytecode, target.shape[1]
    for source, row in _last_rows(bytecode):
        array = matrices[source]
        if array is None or array.shape[0] <= row or array.shape[1] < size:
            raise ValueError(f"plane {row} with {size} rows is not in the {source.name.lower()} matrix")
    points = point_tables(log_rows + log_chunks)
    if run:
        points = _from_row(points, run << log_rows)
    late = _is_late(program, size) and _fits(_planes(bytecode), generate.WARP)
    if late:
        count_interpreted()
    if late or not program.texts:
        _interpret(bytecode, words, matrices, 1 << log_chunks, target, *points, log_rows, size)
        return
    columns = []
    for array in matrices:
        columns += [pointer_or_null(array), 0 if array is None else array.shape[1]]
    blocks = blocks_for(size, generate.THREADS)
    given = _passed(words)
    for text in program.texts:
        launch(
            compiled(text), "quotient", blocks, generate.THREADS,
            given, *columns, target, *points, log_rows, size,
        )  # fmt: skip


def evaluate_lookups(
    program: Program,
    groups: tuple[int, ...],
    words: np.ndarray,
    matrices: Sequence[cupy.ndarray | None],
    columns: cupy.ndarray,
    totals: cupy.ndarray,
    first_zero: cupy.ndarray,
) -> None:
    """Run the program of a table's lookups, which have ``groups`` tuples each.

    ``words`` fills the bytecode's constants; ``matrices`` are main and preprocessed, (columns, rows). Into ``columns``,
    (3(k + 1), rows), come each row's sum and the fractions; into ``totals``, (blocks, 3), the sums of blocks of rows.
    """
    rows = columns.shape[1]
    if _is_late(program, rows):
        parts = lookup_parts.parts_of(program.bytecode, groups)
        if _fits(lookup_parts.planes(parts), generate.THREADS):
            count_interpreted()
            _interpret_lookups(program.bytecode, groups, words, matrices, columns, totals, first_zero)
            return
    main, preprocessed = matrices
    given = _passed(words)
    for text in program.texts:
        launch(
            compiled(text), "lookups", len(totals), generate.THREADS, given,
            main, rows, pointer_or_null(preprocessed), rows, columns, totals, first_zero, rows,
        )  # fmt: skip


@lru_cache(maxsize=256)
def _last_rows(bytecode: Bytecode) -> list[tuple[Source, int]]:
    """Return the matrices that it reads, and the last plane that it reads of each."""
    last: dict[Source, int] = {}
    for matrix, row, _ in bytecode.inputs.tolist():
        last[Source(matrix)] = max(row, last.get(Source(matrix), 0))
    return [(source, row) for source, row in last.items() if source != Source.SELECTORS]


def _planes(bytecode: Bytecode) -> int:
    """Return the number of planes of a thread that runs a whole program."""
    return bytecode.outputs + bytecode.registers


def _fits(planes: int, threads: int) -> bool:
    """Whether the interpreter has room for this many planes of the threads of a block."""
    return planes * threads * _WORD <= _MAX_SHARED


def _is_late(program: Program, rows: int) -> bool:
    """Return whether another thread is still to compile a kernel, for longer than the interpreter takes."""
    bytecode = program.bytecode
    missing = [text for text in program.texts if not (compiled(text).loaded or compiled(text).error)]
    steps = rows * (len(bytecode.instructions) + len(bytecode.terms))
    return any(map(warm.expects, missing)) and steps <= _WORTH_WAITING


@lru_cache(maxsize=64)
def of_chunks(log_rows: int, log_chunks: int, first: int) -> np.ndarray:
    """Z = x^n - 1 on each chunk of rows from the ``first`` on, 1 / Z on each, and the trace's last point."""
    values = [np.roll(each, -first).tolist() for each in domain.vanishing(log_rows, log_chunks)]
    return np.array([*values[0], *values[1], domain.last_point(log_rows)], dtype=np.uint64)


def _from_row(points: tuple[cupy.ndarray, cupy.ndarray], row: int) -> tuple[cupy.ndarray, cupy.ndarray]:
    """Return the tables of a domain's points from a row on, which begins a power of two of rows that divides it."""
    fine, coarse = points
    return fine[row % len(fine) :], coarse[row // len(fine) :]


@lru_cache(maxsize=16)
def _on_device(bytecode: Bytecode, device: int) -> tuple[cupy.ndarray, cupy.ndarray]:
    """Its instructions and terms on a device, as words."""
    return _uploaded(bytecode.instructions, bytecode.terms)


@lru_cache(maxsize=64)
def _parts_on_device(bytecode: Bytecode, groups: tuple[int, ...], device: int) -> tuple[cupy.ndarray, ...]:
    """Return the arrays of `lookup_parts.joined` on a device, as words."""
    return _uploaded(*lookup_parts.joined(lookup_parts.parts_of(bytecode, groups)))


def _uploaded(*arrays: np.ndarray) -> tuple[cupy.ndarray, ...]:
    """Return copies on the device, as words."""
    there = tuple(cupy.asarray(array.reshape(-1).view(np.uint64)) for array in arrays)
    cupy.cuda.get_current_stream().synchronize()  # other streams will read them
    return there


def _inputs(bytecode: Bytecode, matrices: Sequence[cupy.ndarray | None]) -> np.ndarray:
    """Return the descriptions of a program's inputs, as words."""
    inputs = []
    for matrix, row, offset in bytecode.inputs.tolist():
        selector = matrix == Source.SELECTORS
        array = None if selector else matrices[matrix]
        plane = 0 if array is None else array.data.ptr + row * array.strides[0]
        inputs += [plane, offset, row if selector else 0]
    return np.array(inputs, dtype=np.uint64)


def _interpret(
    bytecode: Bytecode,
    words: np.ndarray,
    matrices: Sequence[cupy.ndarray | None],
    chunks: int,
    target: cupy.ndarray,
    *rest: object,
) -> None:
    """Enqueue the interpreter of a quotient. Raises ValueError for too many registers."""
    planes, threads = _planes(bytecode), _THREADS
    while threads > generate.WARP and planes * threads * _WORD > _SHARED:
        threads //= 2
    if not _fits(planes, threads):
        raise ValueError(f"bytecode of {planes} registers does not fit the device's shared memory")
    constants, described = copied(words, _inputs(bytecode, matrices))
    instructions, terms = _on_device(bytecode, cupy.cuda.runtime.getDevice())
    keep(instructions, terms)
    launch(
        kernels_of("bytecode.cu"), "interpret", blocks_for(target.shape[1], threads), threads,
        instructions, len(bytecode.instructions), terms, constants, bytecode.constant_planes,
        described, len(bytecode.inputs), chunks, target, *rest, shared=planes * threads * _WORD,
    )  # fmt: skip


def _interpret_lookups(
    bytecode: Bytecode,
    groups: tuple[int, ...],
    words: np.ndarray,
    matrices: Sequence[cupy.ndarray | None],
    columns: cupy.ndarray,
    *sums: cupy.ndarray,
) -> None:
    """Enqueue the interpreter of lookups."""
    constants, described = copied(words, _inputs(bytecode, matrices))
    instructions, terms, parts, counts = _parts_on_device(bytecode, groups, cupy.cuda.runtime.getDevice())
    keep(instructions, terms, parts, counts)
    of_parts = lookup_parts.parts_of(bytecode, groups)
    launch(
        kernels_of("bytecode.cu"), "interpret_lookups", blocks_for(columns.shape[1], generate.THREADS),
        generate.THREADS, instructions, terms, parts, len(of_parts), counts, constants, bytecode.constant_planes,
        described, len(bytecode.inputs), columns, *sums, columns.shape[1],
        shared=lookup_parts.planes(of_parts) * generate.THREADS * _WORD,
    )  # fmt: skip
