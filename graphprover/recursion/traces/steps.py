"""The rows of steps in a trace of `machine`, from the steps of a run, and their lookups of memory."""

from dataclasses import dataclass

import numpy as np

from graphprover.device import Array, Device
from graphprover.field import EXTENSION_DEGREE, P
from graphprover.recursion.kernels import count_numbers
from graphprover.recursion.tables.steps import COLUMNS, FLAGS, OPERANDS, USES


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a run: arrays of one device."""

    fields: Array  # of each instruction, uint64 (7, instructions): flags, k, l, the offsets of four operands
    pcs: Array  # address of each step's instruction, uint32 (steps,)
    frames: Array  # frame pointer of each step, uint32 (steps,)
    asked: Array  # lookups of the digest of each step with a cap, uint32 (steps,); 0 of other steps
    cells: Array  # contents of memory, uint64 (3, cells)


def fill_steps(main: Array, steps: Steps) -> None:
    """Write the steps into the first rows of a trace of `machine`, which are zeros before."""
    own, of = main[:, : len(steps.pcs)], COLUMNS
    fields, addresses, used = _decoded(steps)
    own[of.on], own[of.pc], own[of.frame], own[of.asked] = 1, steps.pcs, steps.frames, steps.asked
    for i, name in enumerate(FLAGS):
        own[getattr(of, name)] = _flag(fields, i)
    own[of.k], own[of.l], own[of.offset_b], own[of.offset_d] = fields[1], fields[2], fields[4], fields[6]
    for at, name in zip(of.at, OPERANDS, strict=True):
        first = getattr(of, name)[0]
        own[at] = addresses[name]
        own[first : first + EXTENSION_DEGREE] = steps.cells[:, addresses[name] * used[name]] * used[name]


def count_operands(device: Device, steps: Steps, counts: Array) -> None:
    """Add to ``counts``, uint64 (cells,), how often the steps look up each cell of memory."""
    size = steps.cells.shape[1]
    _, addresses, used = _decoded(steps)
    for name in OPERANDS:
        # Operands that are not used count for a cell beyond memory.
        counted = addresses[name] * used[name] + np.uint64(size) * (1 - used[name])
        own = device.arrays.zeros(size + 1, dtype=np.uint64)
        count_numbers(device, counted.astype(np.uint32), own)
        counts += own[:size]


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
    used = dict.fromkeys(OPERANDS, frames * 0 + 1)
    for name, flags in USES.items():
        total = frames * 0
        for flag in flags:
            total = total | _flag(fields, FLAGS.index(flag))
        used[name] = total
    return fields, addresses, used


def _flag(fields: Array, number: int) -> Array:
    return fields[0] >> np.uint64(number) & np.uint64(1)
