"""The traces of registers and memory: how each word begins and ends."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from graphprover.device import Array, Device
from graphprover.statement.trace_task import TraceTask
from graphprover.vm.executor.execute import Execution
from graphprover.vm.executor.record import Memory, Registers
from graphprover.vm.program.io import INPUT_BASE, MAX_INPUT_BYTES, MEMORY_END, OUTPUT_BASE
from graphprover.vm.statement.shape import MIN_ROWS, rows_for
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import TableNumber
from graphprover.vm.tables.limbs import halves, limbs, low_half
from graphprover.vm.tables.public_words import OutputMemory, PublicWords, StatedInput
from graphprover.vm.tables.state import InputMemory, Region

_FEW_ROWS = 1 << 10  # a GPU takes longer for its thirty operations than for the copy


def output_words(execution: Execution, memory: Memory) -> np.ndarray:
    """The words of the public output; none if the guest never touched it."""
    if OUTPUT_BASE not in memory.address:
        return np.zeros(0, dtype=np.uint64)
    words = np.zeros(1 + -(-len(execution.output) // 8), dtype=np.uint64)
    chosen = (memory.address >= OUTPUT_BASE) & (memory.address < OUTPUT_BASE + 8 * len(words))
    words[((memory.address[chosen] - OUTPUT_BASE) >> 3).astype(np.int64)] = memory.final[chosen]
    return words


def state_trace_tasks(
    machine: Machine, registers: Registers, memory: Memory, words: int, stated: np.ndarray
) -> Iterator[tuple[int, TraceTask]]:
    """The tables of registers and memory that the execution needs, where ``words`` are put out.

    ``stated``: the words of a stated input, uint64; none where none is.
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
        rows = rows_for(air.rows if isinstance(air, PublicWords) else Region.needed(count))
        fixed["air"], shape = air, (air.describe().main_width, rows)
        if number == TableNumber.OUTPUT:
            yield number, TraceTask("output", output_memory, fixed, shape=shape)
        elif number == TableNumber.STATED_INPUT:
            yield number, TraceTask("stated_input", stated_input, fixed | {"stated": stated}, shape=shape)
        else:
            yield number, TraceTask(number.name.lower(), region_memory, fixed | {"rows": rows}, shape=shape)


# Few words, so that the host makes these traces, but for those of a region.


def boundary(device: Device) -> Array:
    """The trace of the boundary."""
    trace = np.zeros((1, MIN_ROWS), dtype=np.uint64)
    trace[0, 0] = 1
    return device.load(trace)


def register_file(device: Device, *, registers: Registers) -> Array:
    """The trace of the register file."""
    trace = np.zeros((3, MIN_ROWS), dtype=np.uint64)
    trace[:, : len(registers.t)] = registers.t, *limbs(registers.value)
    return device.load(trace)


def image_memory(device: Device, *, addresses: np.ndarray, values: np.ndarray, memory: Memory) -> Array:
    """The trace of what the program brings, of which ``memory`` was accessed."""
    trace = np.zeros((3, rows_for(len(addresses))), dtype=np.uint64)
    trace[1:, : len(values)] = limbs(values)
    at = np.searchsorted(addresses, memory.address)
    trace[:, at] = memory.t, *limbs(memory.final)
    return device.load(trace)


def output_memory(device: Device, *, air: OutputMemory, memory: Memory) -> Array:
    """The trace of the output."""
    trace, c = air.zeros(rows_for(air.rows))
    np.fill_diagonal(c.row, 1)
    c.t[:] = _placed(air, memory, memory.t)
    return device.load(trace)


def stated_input(device: Device, *, air: StatedInput, memory: Memory, stated: np.ndarray) -> Array:
    """The trace of a stated input, of which ``memory`` was accessed."""
    trace, c = air.zeros(rows_for(air.rows))
    np.fill_diagonal(c.row, 1)
    c.t[:] = _placed(air, memory, memory.t)
    c.lo[:], c.hi[:] = limbs(_placed(air, memory, memory.final, stated))
    return device.load(trace)


def _placed(air: PublicWords, memory: Memory, of_memory: np.ndarray, untouched: np.ndarray | int = 0) -> np.ndarray:
    """A value of each public word where the table has it: that of what was accessed, or of an untouched word."""
    values = np.zeros((rows_for(air.rows), air.lanes), dtype=np.uint64)
    flat = values.reshape(-1)
    flat[: air.words] = untouched
    flat[((memory.address - np.uint64(air.base)) >> np.uint64(3)).astype(np.int64)] = of_memory
    return values.T


def region_memory(device: Device, *, air: Region, memory: Memory, rows: int) -> Array:
    """The trace of a region: of one of many words by the device."""
    if rows > _FEW_ROWS:
        return _region(device.arrays, device.load, air=air, memory=memory, rows=rows)
    return device.load(_region(np, np.asarray, air=air, memory=memory, rows=rows))


def _region(arrays: Any, load: Callable[[np.ndarray], Array], *, air: Region, memory: Memory, rows: int) -> Array:
    count = len(memory.address)
    trace = arrays.zeros((air.describe().main_width, rows), dtype=np.uint64)
    c = air.view(trace)
    # The input's first word, its length, is in the first row; elsewhere that is right before the region.
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
