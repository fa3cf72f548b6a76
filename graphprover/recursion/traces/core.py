"""The traces of `core`, `memory` and `program`, from the steps of a run."""

from dataclasses import dataclass

import numpy as np

from graphprover.device import Array, Device
from graphprover.field import P
from graphprover.recursion.kernels import count_numbers
from graphprover.recursion.tables.core import FIRST_COLUMNS, FLAGS, OPERANDS, WIDTH

_ALWAYS = ("a", "c")  # operands that every step looks up
_USES = {  # flags of steps that look up others
    "b": ("multiply", "jump", "row", "cap", "gate"),
    "d": ("add", "row", "cap", "gate"),
}


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a run: arrays of one device."""

    fields: Array  # of each instruction, uint64 (7, instructions): flags, k, l, the offsets of four operands
    pcs: Array  # address of each step's instruction, uint32 (steps,)
    frames: Array  # frame pointer of each step, uint32 (steps,)
    asked: Array  # lookups of the digest of each step with a cap, uint32 (steps,); 0 of other steps
    cells: Array  # contents of memory, uint64 (3, cells)


def core_trace(device: Device, steps: Steps, *, rows: int) -> Array:
    """Return the trace of `Core`."""
    arrays, count = device.arrays, len(steps.pcs)
    main = arrays.zeros((WIDTH, rows), dtype=np.uint64)
    fields, addresses, used = _decoded(steps)
    column, own = FIRST_COLUMNS, main[:, :count]
    own[column["on"]], own[column["pc"]], own[column["frame"]] = 1, steps.pcs, steps.frames
    for i, name in enumerate(FLAGS):
        own[column[name]] = _flag(fields, i)
    own[column["k"]], own[column["l"]] = fields[1], fields[2]
    own[column["offset"] : column["offset"] + len(OPERANDS)] = fields[3:]
    own[column["at_b"]], own[column["at_d"]], own[column["asked"]] = addresses["b"], addresses["d"], steps.asked
    for name in OPERANDS:
        values = steps.cells[:, addresses[name] * used[name]]
        own[column[name] : column[name] + 3] = values * used[name]
    return main


def memory_trace(device: Device, steps: Steps, others: Array | None, *, rows: int) -> Array:
    """Return the trace of `Memory`; ``others``: lookups of each cell by other tables than `Core`, uint64 (cells,)."""
    size = steps.cells.shape[1]
    main = device.arrays.zeros((5, rows), dtype=np.uint64)
    main[0] = device.arrays.arange(rows, dtype=np.uint64)
    main[1:4, :size] = steps.cells
    asked = main[4]
    if others is not None:
        asked[: len(others)] = others
    _, addresses, used = _decoded(steps)
    for name in OPERANDS:
        # Operands that are not used count for a cell beyond memory.
        counted = addresses[name] * used[name] + np.uint64(size) * (1 - used[name])
        counts = device.arrays.zeros(size + 1, dtype=np.uint64)
        count_numbers(device, counted.astype(np.uint32), counts)
        asked[:size] += counts[:size]
    return main


def program_trace(device: Device, steps: Steps, *, rows: int) -> Array:
    """Return the trace of `Program`: the steps of each instruction."""
    counts = device.arrays.zeros((1, rows), dtype=np.uint64)
    count_numbers(device, steps.pcs, counts[0])
    return counts


def _decoded(steps: Steps) -> tuple[Array, dict[str, Array], dict[str, Array]]:
    """Return for each step its instruction's fields, the addresses of its operands, and whether it uses them."""
    fields = steps.fields[:, steps.pcs]
    frames = steps.frames.astype(np.uint64)
    addresses = {name: frames + fields[3 + i] for i, name in enumerate(OPERANDS)}
    gate, indirect = (_flag(fields, FLAGS.index(name)) for name in ("gate", "indirect"))
    for name, coordinate, from_memory in (("b", 1, gate), ("d", 0, indirect | gate)):
        base = steps.cells[coordinate, addresses["a"]] * from_memory + frames * (1 - from_memory)
        offset = fields[3 + OPERANDS.index(name)]
        addresses[name] = base + offset - (offset >> np.uint64(63)) * np.uint64(P)  # it can be negative
    used = dict.fromkeys(_ALWAYS, frames * 0 + 1)
    for name, flags in _USES.items():
        total = frames * 0
        for flag in flags:
            total = total | _flag(fields, FLAGS.index(flag))
        used[name] = total
    return fields, addresses, used


def _flag(fields: Array, number: int) -> Array:
    return fields[0] >> np.uint64(number) & np.uint64(1)
