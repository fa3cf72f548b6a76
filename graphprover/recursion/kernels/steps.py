"""Steps of a run: the format of cpu/steps.py and cuda/steps.cu."""

from dataclasses import dataclass

from graphprover.device import Array
from graphprover.field import EXTENSION_DEGREE
from graphprover.recursion.kernels.arrays import require_array
from graphprover.recursion.tables.columns import WIDTH
from graphprover.recursion.tables.fixed import FIELDS
from graphprover.recursion.tables.steps import FLAGS, USES


@dataclass(frozen=True, eq=False)
class RunSteps:
    """The steps of a run: contiguous arrays of one device.

    All addresses of operands that a step looks up are of memory, and so is the address of a.
    """

    fields: Array  # of each instruction, uint64 (7, instructions): flags, k, l, the offsets of four operands
    pcs: Array  # address of each step's instruction, uint32 (steps,)
    frames: Array  # frame pointer of each step, uint32 (steps,)
    asked: Array  # lookups of the digest of each step with a cap, uint32 (steps,); 0 of other steps
    cells: Array  # contents of memory, uint64 (3, cells)

    def require(self) -> None:
        """Raise ValueError for other arrays."""
        steps = len(self.pcs)
        shapes: dict[str, tuple[tuple[int | str, ...], str]] = {
            "fields": ((FIELDS, "instructions"), "uint64"),
            "pcs": ((steps,), "uint32"),
            "frames": ((steps,), "uint32"),
            "asked": ((steps,), "uint32"),
            "cells": ((EXTENSION_DEGREE, "cells"), "uint64"),
        }
        for name, (shape, dtype) in shapes.items():
            require_array(f"{name} of {steps} steps are", getattr(self, name), shape, dtype)

    def require_rows(self, main: Array) -> None:
        """Raise ValueError for other arrays, and for steps that do not fit the trace ``main``."""
        self.require()
        require_array("a trace is", main, (WIDTH, "rows"))
        if len(self.pcs) > main.shape[1]:
            raise ValueError(f"{len(self.pcs)} steps do not fit {main.shape[1]} rows")


def _bits_of(*names: str) -> int:
    """Return the number of flags."""
    return sum(1 << FLAGS.index(name) for name in names)


USES_B, USES_D = (_bits_of(*USES[name]) for name in ("b", "d"))  # flags of steps that look up the operand
GATE, FROM_MEMORY = _bits_of("gate"), _bits_of("gate", "indirect")  # flags of steps with b, and with d, from memory
