"""The traces of registers and memory: how each word begins and ends."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphprover.device import Array, Device
from graphprover.recipe import Recipe
from graphprover.vm.execute import Execution
from graphprover.vm.io import INPUT_BASE, MAX_INPUT_BYTES, MEMORY_END, OUTPUT_BASE
from graphprover.vm.machine import Machine
from graphprover.vm.parts import Part
from graphprover.vm.record import Memory, Registers
from graphprover.vm.shape import MIN_ROWS, rows_for
from graphprover.vm.tables.state import STATED_LANES, InputMemory, Region, StatedInput
from graphprover.vm.tables.step import ONES


def output_words(execution: Execution, memory: Memory) -> np.ndarray:
    """The words of the public output; none if the guest never touched it."""
    if OUTPUT_BASE not in memory.address:
        return np.zeros(0, dtype=np.uint64)
    words = np.zeros(1 + -(-len(execution.output) // 8), dtype=np.uint64)
    chosen = (memory.address >= OUTPUT_BASE) & (memory.address < OUTPUT_BASE + 8 * len(words))
    words[((memory.address[chosen] - OUTPUT_BASE) >> 3).astype(np.int64)] = memory.final[chosen]
    return words


def state_recipes(
    machine: Machine, registers: Registers, memory: Memory, words: int, stated: np.ndarray
) -> Iterator[tuple[int, Recipe]]:
    """The tables of registers and memory that the execution needs, where ``words`` are put out.

    ``stated``: the words of a stated input, uint64; none where none is.
    """
    yield Part.REGISTERS, Recipe("registers", register_file, {"registers": registers}, shape=(3, MIN_ROWS))
    borders = (
        (Part.IMAGE, machine.zero_base),
        (Part.ZERO, INPUT_BASE),
        (Part.STATED_INPUT, INPUT_BASE + 8 * len(stated)),
        (Part.ZERO_BETWEEN if len(stated) else Part.INPUT, OUTPUT_BASE),
        (Part.OUTPUT, OUTPUT_BASE + 8 * words),
        (Part.ZERO_ABOVE, MEMORY_END),
    )
    start = 0
    for part, end in borders:
        stop = int(np.searchsorted(memory.address, end))
        some = Memory(*(each[start:stop] for each in (memory.address, memory.initial, memory.final, memory.t)))
        start = stop
        count = len(some.address)
        if not count and not (part in machine.fixed or (part == Part.STATED_INPUT and len(stated))):
            continue
        fixed: dict[str, Any] = {"memory": some}
        if part == Part.IMAGE:
            image = machine.image
            fixed |= {"addresses": image.addresses, "values": image.values}
            yield part, Recipe("image", image_memory, fixed, shape=(3, rows_for(len(image.addresses))))
            continue
        if part == Part.OUTPUT:
            yield part, Recipe("output", output_memory, fixed | {"words": words}, shape=(1 + words, MIN_ROWS))
            continue
        air = machine.air(part, 0, words, len(stated))
        if part == Part.STATED_INPUT:
            shape = (air.describe().main_width, rows_for(-(-len(stated) // STATED_LANES)))
            yield part, Recipe("stated_input", stated_input, fixed | {"air": air, "stated": stated}, shape=shape)
        else:
            shape = (air.describe().main_width, rows_for(Region.needed(count)))
            yield part, Recipe(part.name.lower(), region, fixed | {"air": air, "rows": shape[1]}, shape=shape)


# Few words, so that the host makes these traces.


def register_file(device: Device, *, registers: Registers) -> Array:
    """The trace of the register file."""
    trace = np.zeros((3, MIN_ROWS), dtype=np.uint64)
    trace[:, : len(registers.t)] = registers.t, registers.value & ONES, registers.value >> 32
    return device.load(trace)


def image_memory(device: Device, *, addresses: np.ndarray, values: np.ndarray, memory: Memory) -> Array:
    """The trace of what the program brings, of which ``memory`` was accessed."""
    trace = np.zeros((3, rows_for(len(addresses))), dtype=np.uint64)
    trace[1:, : len(values)] = values & ONES, values >> 32
    at = np.searchsorted(addresses, memory.address)
    trace[:, at] = memory.t, memory.final & ONES, memory.final >> 32
    return device.load(trace)


def output_memory(device: Device, *, memory: Memory, words: int) -> Array:
    """The trace of the output."""
    trace = np.zeros((1 + words, MIN_ROWS), dtype=np.uint64)
    trace[0, 0] = 1
    trace[1 + ((memory.address - OUTPUT_BASE) >> 3).astype(np.int64), 0] = memory.t
    return device.load(trace)


def stated_input(device: Device, *, air: StatedInput, memory: Memory, stated: np.ndarray) -> Array:
    """The trace of a stated input, of which ``memory`` was accessed."""
    times, last = np.zeros(len(stated), dtype=np.uint64), stated.copy()
    number = ((memory.address - np.uint64(INPUT_BASE)) >> np.uint64(3)).astype(np.int64)
    times[number], last[number] = memory.t, memory.final
    row, lane = np.divmod(np.arange(len(stated)), STATED_LANES)
    trace, c = air.zeros(rows_for(-(-len(stated) // STATED_LANES)))
    c.row[row, row] = 1
    c.t[lane, row], c.lo[lane, row], c.hi[lane, row] = times, last & ONES, last >> np.uint64(32)
    return device.load(trace)


def region(device: Device, *, air: Region, memory: Memory, rows: int) -> Array:
    """The trace of a region."""
    count = len(memory.address)
    trace, c = air.zeros(rows)
    # The input's first word, its length, is in the first row; elsewhere that is right before the region.
    has_length = isinstance(air, InputMemory)
    first = 0 if has_length and count and memory.address[0] == air.start else 1
    used = slice(first, first + count)
    c.on[used] = 1
    c.at[0] = air.start if has_length else air.start - 8
    c.at[used] = memory.address
    c.at[first + count :] = air.end - 8
    gap = (np.diff(c.at) >> np.uint64(3)) - c.on[1:]
    c.gap[:, 1:] = gap & 0xFFFF, gap >> np.uint64(16)
    c.t[used], c.lo[used], c.hi[used] = memory.t, memory.final & ONES, memory.final >> 32
    if has_length:
        for i in range(4):
            c.initial[i, used] = memory.initial >> np.uint64(16 * i) & np.uint64(0xFFFF)
        lacks = MAX_INPUT_BYTES - int(c.initial[0, 0]) - (int(c.initial[1, 0]) << 16)
        c.gap[:, 0] = lacks & 0xFFFF, lacks >> 16
    return device.load(trace)
