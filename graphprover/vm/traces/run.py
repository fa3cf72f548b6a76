"""An execution, or a window of it, as arrays of one device: what the traces of families are made from."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from graphprover.device import Array, Device
from graphprover.vm.record import Call, Record
from graphprover.vm.statement import Machine
from graphprover.vm.tables.keccak_f import WORDS
from graphprover.vm.tables.program import FIELDS
from graphprover.vm.windows import BEGINNING, Held

CYCLE_COLUMNS = ("a", "b", "c", "t_a", "t_b", "t_d", "address", "old", "new", "t_m")  # of the record that rows read


@dataclass(frozen=True, eq=False)
class Run:
    """A window of an execution, most often all of it, as arrays of one device, uint64 unless it says more.

    Its cycles are counted from its first.
    """

    start: int  # the window's first cycle in the run
    cycles: Mapping[str, Array]  # CYCLE_COLUMNS of the record
    crossings: Mapping[str, Array]  # columns of ``Crossings``
    calls: Mapping[str, Array]  # cycle, uint32 (calls,); old, new and t, (words, calls)
    program: Mapping[str, Array]  # columns of the program table; offset: the instruction's own immediate mod 2^64
    order: Array  # uint32, the cycles, family by family
    entries: Array  # uint32, the row of the program table that each of them meets
    held: Mapping[str, Array]  # columns of ``Held``


def run_of(machine: Machine, record: Record, start: int = 0, held: Held = BEGINNING) -> Run:
    """The run on the host, before its cycles have an order; a window's, by its own record, first cycle and ``held``."""
    immediates = machine.instructions.imm.view(np.uint64)
    names = (f"{name}_at" if name in "dab" else name for name in FIELDS)
    program = dict(zip(names, np.ascontiguousarray(machine.entries), strict=True))
    program["offset"] = np.repeat(immediates, [len(outcomes) for outcomes in machine.outcomes])
    return Run(
        start,
        {name: getattr(record, name) for name in CYCLE_COLUMNS},
        {name: getattr(record.crossings, name) for name in ("cycle", "old", "new", "t")},
        _calls(record.calls),
        program,
        order=np.zeros(0, dtype=np.uint32),
        entries=np.zeros(0, dtype=np.uint32),
        held=vars(held),
    )


def _calls(calls: tuple[Call, ...]) -> dict[str, np.ndarray]:
    """Host calls that changed memory, each the words of a Keccak-f."""
    words = {
        name: np.array([getattr(call, name) for call in calls], np.uint64).reshape(len(calls), WORDS).T
        for name in ("old", "new", "t")
    }
    return {"cycle": np.array([call.cycle for call in calls], np.uint32), **words}


def load_run(device: Device, *, run: Run) -> Run:
    """The run on a device."""

    def loaded(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: device.load(column) for name, column in value.items()}
        return value if isinstance(value, int) else device.load(value)

    return Run(*(loaded(getattr(run, field.name)) for field in fields(run)))
