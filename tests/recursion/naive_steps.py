"""The rows of steps in a trace of `machine` in Python integers, cell by cell."""

import numpy as np

from graphprover.field import P
from graphprover.recursion.tables.steps import FLAGS, step_of
from tests.recursion.machines import TABLE, height
from tests.recursion.running import Ran


def machine_trace(ran: Ran) -> np.ndarray:
    """Return the trace of a run, whose lookups are counted step by step."""
    size = ran.trace.cells.shape[1]
    rows = height(max(len(ran.trace.pcs), size))
    main, view = TABLE.zeros(rows)
    t = step_of(view)
    view.address[:] = range(rows)
    view.value[:, :size] = ran.trace.cells
    for address in ran.inputs:
        view.looked_up[address] += np.uint64(1)
    cells = [tuple(map(int, cell)) for cell in ran.trace.cells.T]
    for row, (pc, frame) in enumerate(zip(ran.trace.pcs.tolist(), ran.trace.frames.tolist(), strict=True)):
        number, k, constant, *offsets = map(int, ran.linked.fields[:, pc])
        flags = {name for i, name in enumerate(FLAGS) if number & 1 << i}
        t.on[row], t.pc[row], t.frame[row], t.k[row], t.l[row] = 1, pc, frame, k, constant
        for name in flags:
            getattr(t, name)[row] = 1
        t.offset_b[row], t.offset_d[row] = offsets[1], offsets[3]
        addresses = [(frame + offset) % P for offset in offsets]
        if "indirect" in flags:
            addresses[3] = (cells[addresses[0]][0] + offsets[3]) % P
        if "gate" in flags:
            addresses[1], addresses[3] = ((cells[addresses[0]][i] + offsets[o]) % P for i, o in ((1, 1), (0, 3)))
        t.at[:, row], t.asked[row] = addresses, ran.asked[row]
        used = (
            "a",
            "c",
            *("b" * bool(flags & {"multiply", "jump", "row", "cap", "gate"})),
            *("d" * bool(flags & {"add", "row", "cap", "gate"})),
        )
        for name, address in zip("abcd", addresses, strict=True):
            if name in used:
                getattr(t, name)[:, row] = cells[address]
                view.looked_up[address] += np.uint64(1)
    return main


def steps_of(ran: Ran) -> np.ndarray:
    """Return the steps of each instruction."""
    counts = np.zeros(2**16, dtype=np.uint64)
    np.add.at(counts, ran.trace.pcs, 1)
    return counts
