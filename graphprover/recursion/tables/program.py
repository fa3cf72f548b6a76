"""The program of `core`, in preprocessed columns: an instruction for each address."""

import numpy as np

from graphprover.air import Air, TableBuilder
from graphprover.recursion.tables.buses import MACHINE, Tag, message

FIELDS = 7  # of an instruction: its flags as one number, two constants, the offsets of four operands


class Program(Air):
    """The instructions from address 0 on, and the number of their steps."""

    preprocessed = ("address", f"field[{FIELDS}]")
    columns = ("steps",)

    def __init__(self, instructions: np.ndarray) -> None:
        """Take the fields of the instructions, uint64 (fields, rows), whose rows are a power of two."""
        rows = instructions.shape[1]
        self._trace = np.concatenate([np.arange(rows, dtype=np.uint64)[None], instructions])

    def preprocessed_trace(self) -> np.ndarray:
        return self._trace

    def define(self, t: TableBuilder) -> None:
        t.provide(MACHINE, message(Tag.STEP, t.address, *t.field), t.steps)
