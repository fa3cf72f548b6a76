"""The program: one row for each way in which an instruction can go. Each executed instruction is looked up here."""

from collections.abc import Sequence

import numpy as np

from graphprover.air import Air, TableBuilder
from graphprover.vm.tables.buses import VM, Tag, message

FIELDS = ("chip", "pc", "following", "d", "a", "b", "imm", "imm2")


class ProgramTable(Air):
    """The program table, with ``entries``: uint64 (8 fields, entries); rows without an entry are zero, and chip 0 is
    none.
    """

    name = "program"
    preprocessed = FIELDS
    immutable = True
    columns = ("count",)

    def __init__(self, entries: np.ndarray, rows: int) -> None:
        self.entries, self.rows = entries, rows

    def preprocessed_trace(self) -> np.ndarray:
        trace = np.zeros((len(FIELDS), self.rows), dtype=np.uint64)
        trace[:, : self.entries.shape[1]] = self.entries
        return trace

    def define(self, t: TableBuilder) -> None:
        fields: Sequence[object] = [t[name] for name in FIELDS]
        t.provide(VM, message(Tag.PROGRAM, *fields), t.count)
