"""The traces of registers and memory: the first and last value of each word."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from graphprover.device import Array, Device
from graphprover.statement.trace_task import TraceTask
from graphprover.vm.executor.execute import Execution
from graphprover.vm.executor.record import Memory, Registers
from graphprover.vm.program.io import INPUT_BASE, MAX_INPUT_BYTES, MEMORY_END, OUTPUT_BASE
from graphprover.vm.statement.shape import MIN_ROWS, lowest, rows_for
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import TableNumber
from graphprover.vm.tables.limbs import halves, limbs, low_half
from graphprover.vm.tables.public_words import OutputMemory, PublicWords, StatedInput
from graphprover.vm.tables.state import InputMemory, Region

_FEW_ROWS = 1 << 10  # rows up to which a copy is faster than a GPU's thirty operations


def output_words(execution: Execution, memory: Memory) -> np.ndarray:
    """Return the words of the public output; none if the guest never touched it."""
    if OUTPUT_BASE not in memory.address:
        return np.zeros(0, dtype=np.uint64)
    words = np.zeros(1 + -(-len(execution.output) // 8), dtype=np.uint64)
    chosen = (memory.address >= OUTPUT_BASE) & (memory.address < OUTPUT_BASE + 8 * len(words))
    words[((memory.address[chosen] - OUTPUT_BASE) >> 3).astype(np.int64)] = memory.final[chosen]
    return words


def state_trace_tasks(
    machine: Machine,
    registers: Registers,
    memory: Memory,
    words: int,
    stated: np.ndarray,
    low_heights: Sequence[int],
) -> Iterator[tuple[int, TraceTask]]:
    """Return the tables of registers and memory that the execution needs, for an output of ``words`` words.

    ``stated``: the words of a stated input, uint64; empty without one. ``low_heights``: see `shape.Packing`.
    """
    yield TableNumber.REGISTERS, TraceTask("registers", register_file, {"registers": registers}, shape=(3, MIN_ROWS))
    borders = (
        (TableNumber.IMAGE, machine.zero_base),
        (TableNumber.ZERO, INPUT_BASE),
        (TableNumber.STATED_INPUT, INPUT_BASE + 8 * len(stated)),
        (TableNumber.ZERO_BETWEEN if len(stated) else TableNumber.INPUT, OUTPUT_BASE),
        (TableNumber.OUTPUT, OUTPUT_BASE + 8 * words),
        (TableNumber.ZERO_ABOVE, MEMORY_END),
    )
    start = 0
    for number, end in borders:
        stop = int(np.searchsorted(memory.address, end))
        inside = slice(start, stop)
        own = Memory(memory.address[inside], memory.initial[inside], memory.final[inside], memory.t[inside])
        start = stop
        count = len(own.address)
        if not count and not (
            (number == TableNumber.IMAGE and machine.data()) or (number == TableNumber.STATED_INPUT and len(stated))
        ):
            continue
        fixed: dict[str, Any] = {"memory": own}
        if number == TableNumber.IMAGE:
            image = machine.image
            fixed |= {"addresses": image.addresses, "values": image.values}
            yield number, TraceTask("image", image_memory, fixed, shape=(3, rows_for(len(image.addresses))))
            continue
        air = machine.air(number, 0, words, len(stated))
        if isinstance(air, PublicWords):
            rows = rows_for(air.rows)
        else:
            most = machine.rows(number, words, len(stated))[-1]
            rows = min(lowest(Region.needed(count), low_heights), rows_for(most))
        fixed["air"], shape = air, (air.describe().main_width, rows)
        if number == TableNumber.OUTPUT:
            yield number, TraceTask("output", output_memory, fixed, shape=shape)
        elif number == TableNumber.STATED_INPUT:
            yield number, TraceTask("stated_input", stated_input, fixed | {"stated": stated}, shape=shape)
        else:
            yield number, TraceTask(number.name.lower(), region_memory, fixed | {"rows": rows}, shape=shape)


# The host makes these traces of few words; a device makes only large regions.


def boundary(device: Device) -> Array:
    """Return the trace of the boundary."""
    trace = np.zeros((1, MIN_ROWS), dtype=np.uint64)
    trace[0, 0] = 1
    return device.load(trace)


def register_file(device: Device, *, registers: Registers) -> Array:
    """Return the trace of the register file."""
    trace = np.zeros((3, MIN_ROWS), dtype=np.uint64)
    trace[:, : len(registers.t)] = registers.t, *limbs(registers.value)
    return device.load(trace)


def image_memory(device: Device, *, addresses: np.ndarray, values: np.ndarray, memory: Memory) -> Array:
    """Return the trace of the program's data, of which ``memory`` was accessed."""
    trace = np.zeros((3, rows_for(len(addresses))), dtype=np.uint64)
    trace[1:, : len(values)] = limbs(values)
    at = np.searchsorted(addresses, memory.address)
    trace[:, at] = memory.t, *limbs(memory.final)
    return device.load(trace)


def output_memory(device: Device, *, air: OutputMemory, memory: Memory) -> Array:
    """Return the trace of the output."""
    trace, c = air.zeros(rows_for(air.rows))
    np.fill_diagonal(c.row, 1)
    c.t[:] = _placed(air, memory, memory.t)
    return device.load(trace)


def stated_input(device: Device, *, air: StatedInput, memory: Memory, stated: np.ndarray) -> Array:
    """Return the trace of a stated input, of which ``memory`` was accessed."""
    trace, c = air.zeros(rows_for(air.rows))
    np.fill_diagonal(c.row, 1)
    c.t[:] = _placed(air, memory, memory.t)
    c.lo[:], c.hi[:] = limbs(_placed(air, memory, memory.final, stated))
    return device.load(trace)


def _placed(air: PublicWords, memory: Memory, of_memory: np.ndarray, untouched: np.ndarray | int = 0) -> np.ndarray:
    """Return a value of each public word at its place in the table: an accessed word's, or else an untouched word's."""
    values = np.zeros((rows_for(air.rows), air.lanes), dtype=np.uint64)
    flat = values.reshape(-1)
    flat[: air.words] = untouched
    flat[((memory.address - np.uint64(air.base)) >> np.uint64(3)).astype(np.int64)] = of_memory
    return values.T


def region_memory(device: Device, *, air: Region, memory: Memory, rows: int) -> Array:
    """Return the trace of a region; for many words the device makes it."""
    if rows > _FEW_ROWS:
        return _region(device.arrays, device.load, air=air, memory=memory, rows=rows)
    return device.load(_region(np, np.asarray, air=air, memory=memory, rows=rows))


def _region(arrays: Any, load: Callable[[np.ndarray], Array], *, air: Region, memory: Memory, rows: int) -> Array:
    count = len(memory.address)
    trace = arrays.zeros((air.describe().main_width, rows), dtype=np.uint64)
    c = air.view(trace)
    # The input's first word, its length, is in the first row; in other regions that row is right before the region.
    has_length = isinstance(air, InputMemory)
    first = 0 if has_length and count and memory.address[0] == air.start else 1
    used = slice(first, first + count)
    c.on[used] = 1
    c.at[0] = air.start if has_length else air.start - 8
    c.at[used] = load(memory.address)
    c.at[first + count :] = air.end - 8
    gap = (c.at[1:] - c.at[:-1] >> np.uint64(3)) - c.on[1:]
    c.gap[0, 1:], c.gap[1, 1:] = low_half(gap), gap >> np.uint64(16)
    c.t[used] = load(memory.t)
    c.lo[used], c.hi[used] = limbs(load(memory.final))
    if has_length:
        for i, half in enumerate(halves(load(memory.initial))):
            c.initial[i, used] = half
        length = int(memory.initial[0]) if first == 0 and count else 0
        lacks = MAX_INPUT_BYTES - length % 2**32
        c.gap[0, 0], c.gap[1, 0] = low_half(lacks), lacks >> 16
    return trace
