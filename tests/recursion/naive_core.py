"""The traces of `core`, `memory` and `program` in Python integers, cell by cell."""

import numpy as np

from graphprover.field import P
from graphprover.recursion.tables.core import FLAGS
from tests.recursion.running import CORE, Ran


def traces(ran: Ran) -> list[np.ndarray]:
    """Return the traces of a run, counting the lookups step by step."""
    core_rows, memory_rows, program_rows = ran.rows
    main, t = CORE.zeros(core_rows)
    memory = np.zeros((5, memory_rows), dtype=np.uint64)
    program = np.zeros((1, program_rows), dtype=np.uint64)
    memory[0] = range(memory_rows)
    memory[1:4, : ran.trace.cells.shape[1]] = ran.trace.cells
    for address in ran.inputs:
        memory[4, address] += np.uint64(1)
    cells = [tuple(map(int, cell)) for cell in ran.trace.cells.T]
    for row, (pc, frame) in enumerate(zip(ran.trace.pcs.tolist(), ran.trace.frames.tolist(), strict=True)):
        number, k, constant, *offsets = map(int, ran.linked.fields[:, pc])
        flags = {name for i, name in enumerate(FLAGS) if number & 1 << i}
        t.on[row], t.pc[row], t.frame[row], t.k[row], t.l[row] = 1, pc, frame, k, constant
        for name in flags:
            getattr(t, name)[row] = 1
        t.offset[:, row] = offsets
        addresses = [(frame + offset) % P for offset in offsets]
        if "indirect" in flags:
            addresses[3] = (cells[addresses[0]][0] + offsets[3]) % P
        if "gate" in flags:
            addresses[1], addresses[3] = ((cells[addresses[0]][i] + offsets[o]) % P for i, o in ((1, 1), (0, 3)))
        t.at_b[row], t.at_d[row], t.asked[row] = addresses[1], addresses[3], ran.asked[row]
        used = (
            "a",
            "c",
            *("b" * bool(flags & {"multiply", "jump", "row", "cap", "gate"})),
            *("d" * bool(flags & {"add", "row", "cap", "gate"})),
        )
        for name, address in zip("abcd", addresses, strict=True):
            if name in used:
                getattr(t, name)[:, row] = cells[address]
                memory[4, address] += np.uint64(1)
        program[0, pc] += np.uint64(1)
    return [main, memory, program]
