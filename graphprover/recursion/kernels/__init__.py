"""The kernels of the recursion machine: its traces on a CPU and on a GPU.

``cpu/`` and ``cuda/`` are twins: each has the functions below, for the devices of its kind. compressions.py,
segments.py and steps.py have the formats that both read.
"""

from typing import Any

from graphprover.device import Array, Device
from graphprover.device.twins import twin
from graphprover.recursion.kernels.arrays import require_array
from graphprover.recursion.kernels.compressions import Compressions
from graphprover.recursion.kernels.segments import RowSegments
from graphprover.recursion.kernels.steps import RunSteps
from graphprover.recursion.tables.blake3 import WIDTH
from graphprover.recursion.tables.fixed import ROWS as PAIRS
from graphprover.recursion.tables.fixed import XORS


def _twin(device: Device, module: str) -> Any:
    return twin({kind: f"graphprover.recursion.kernels.{kind}.{module}" for kind in ("cpu", "cuda")}, device)


def fill_blake3(device: Device, calls: Compressions, main: Array) -> None:
    """Write the trace of `Blake3`: the calls in their order, then idle calls.

    Args:
        device: The device of all arrays.
        calls: The calls.
        main: uint64 (columns, rows), contiguous. All of it is written.

    Raises:
        ValueError: For arrays of other kinds, and for calls that do not fit the rows.
    """
    calls.require(main.shape[-1])
    require_array("a trace is", main, (WIDTH, "rows"))
    _twin(device, "blake3").fill_blake3(device, calls, main)


def count_xors(device: Device, calls: Compressions, rows: int, counts: Array) -> None:
    """Add to ``counts`` how often the trace of these calls looks up each pair of bytes on each bus.

    Args:
        device: The device of all arrays.
        calls: The calls.
        rows: The rows of their trace, idle calls included.
        counts: uint64 (3, 2^16), contiguous: the first columns of `Fixed`.

    Raises:
        ValueError: For arrays of other kinds, and for calls that do not fit the rows.
    """
    calls.require(rows)
    require_array("counts are", counts, (XORS, PAIRS))
    _twin(device, "blake3").count_xors(device, calls, rows, counts)


def hash_segments(device: Device, segments: RowSegments, calls: Compressions, digests: Array) -> None:
    """Write the calls of all blocks of segments, and the digest of each segment.

    Args:
        device: The device of all arrays.
        segments: The segments. The words of parents are not read.
        calls: The calls, of which the first ones are written: values, blocks with the words of parents, parameters and
            uses.
        digests: uint32 (segments, 8), contiguous. All of it is written.

    Raises:
        ValueError: For arrays of other kinds, and for fewer calls than blocks.
    """
    segments.require_digests(digests)
    calls.require_arrays()
    if len(calls) < len(segments.words):
        raise ValueError(f"{len(segments.words)} blocks of segments do not fit {len(calls)} calls")
    _twin(device, "hashing").hash_segments(device, segments, calls, digests)


def fill_segments(device: Device, segments: RowSegments, digests: Array, cells: Array, main: Array, first: int) -> None:
    """Write the rows of segments in a trace of `machine`, in their order.

    Args:
        device: The device of all arrays.
        segments: The segments, with the words of parents; the memory cells of their words are in ``cells``.
        digests: uint32 (segments, 8), contiguous: the digest of each segment.
        cells: uint64 (3, cells), contiguous: the contents of memory.
        main: uint64 (columns, rows), contiguous; zeros in all rows of segments.
        first: The first row of segments.

    Raises:
        ValueError: For arrays of other kinds, and for segments that do not fit the rows.
    """
    segments.require_rows(digests, main, cells, first)
    _twin(device, "segments").fill_segments(device, segments, digests, cells, main, first)


def count_halves(device: Device, segments: RowSegments, counts: Array) -> None:
    """Add to ``counts`` how often the trace of these segments looks up each number of 16 bits.

    Args:
        device: The device of all arrays.
        segments: The segments, with the words of parents.
        counts: uint64 (2^16,), contiguous: the column `count_half` of `Fixed`.

    Raises:
        ValueError: For arrays of other kinds.
    """
    segments.require()
    require_array("counts of numbers of 16 bits are", counts, (PAIRS,))
    _twin(device, "segments").count_halves(device, segments, counts)


def count_cells(device: Device, segments: RowSegments, counts: Array) -> None:
    """Add to ``counts`` how often the trace of these segments looks up each cell of memory.

    Args:
        device: The device of all arrays.
        segments: The segments.
        counts: uint64 (cells,), contiguous.

    Raises:
        ValueError: For arrays of other kinds.
    """
    segments.require()
    require_array("counts are", counts, ("cells",))
    _twin(device, "segments").count_cells(device, segments, counts)


def fill_steps(device: Device, steps: RunSteps, main: Array) -> None:
    """Write the steps into the first rows of a trace of `machine`.

    Args:
        device: The device of all arrays.
        steps: The steps.
        main: uint64 (columns, rows), contiguous; zeros in all rows of steps.

    Raises:
        ValueError: For arrays of other kinds, and for steps that do not fit the rows.
    """
    steps.require_rows(main)
    _twin(device, "steps").fill_steps(device, steps, main)


def count_operands(device: Device, steps: RunSteps, counts: Array) -> None:
    """Add to ``counts`` how often the steps look up each cell of memory.

    Args:
        device: The device of all arrays.
        steps: The steps.
        counts: uint64 (cells,), contiguous.

    Raises:
        ValueError: For arrays of other kinds.
    """
    steps.require()
    require_array("counts are", counts, (steps.cells.shape[1],))
    _twin(device, "steps").count_operands(device, steps, counts)


def count_numbers(device: Device, numbers: Array, counts: Array) -> None:
    """Add to ``counts`` how often each number occurs.

    Args:
        device: The device of all arrays.
        numbers: uint32 (n,), contiguous, all of them below the size of ``counts``.
        counts: uint64, a contiguous vector.

    Raises:
        ValueError: For arrays of other kinds.
    """
    require_array("counts are", counts, ("n",))
    require_array("numbers are", numbers, ("n",), "uint32")
    _twin(device, "segments").count_numbers(device, numbers, counts)
