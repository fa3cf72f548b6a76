"""The state of a run between two cycles, with which it can go on in another thread or process."""

from dataclasses import dataclass

import numpy as np

from graphprover.vm.executor.execute import Running
from graphprover.vm.executor.faults import Fault
from graphprover.vm.executor.interpreter import CYCLE, FREE, INSTRUCTION, PAGE_WORDS


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The state before a cycle, with which a run can go on in another process."""

    cycle: int
    instruction: int
    registers: np.ndarray  # uint64 (34,)
    owners: np.ndarray  # uint32 (pages,), the page of 2^20 of each page of the pool
    words: np.ndarray  # uint64 (pages PAGE_WORDS,), of the pool

    @property
    def nbytes(self) -> int:
        """Return the bytes of memory."""
        return self.words.nbytes + self.owners.nbytes


def snapshot_of(run: Running) -> Snapshot:
    """Return the state of a run between two slices."""
    position, end = run.state.position, run.pages + 1
    return Snapshot(
        int(position[CYCLE]),
        int(position[INSTRUCTION]),
        run.state.registers.copy(),
        run.store.owners[1:end].copy(),
        run.store.pool[PAGE_WORDS : PAGE_WORDS * end].copy(),
    )


def restore(run: Running, snapshot: Snapshot) -> None:
    """Go on from a snapshot of the same run, in a run that has not begun or has passed some other cycles.

    Pages have the same places in all runs of a program on an input, because they are allocated in the order of the run.
    """
    position, store, pages = run.state.position, run.store, len(snapshot.owners)
    if PAGE_WORDS * (pages + 1) > len(store.pool):
        raise run.guest_fault(Fault.MEMORY_LIMIT)
    added, removed = np.arange(run.pages, pages), slice(pages + 1, run.pages + 1)
    store.pages[store.owners[removed]] = 0
    store.pool[PAGE_WORDS * removed.start : PAGE_WORDS * removed.stop] = 0
    position[CYCLE], position[INSTRUCTION], position[FREE] = snapshot.cycle, snapshot.instruction, pages + 1
    run.state.registers[:] = snapshot.registers
    store.owners[1 : pages + 1] = snapshot.owners
    store.pool[PAGE_WORDS : PAGE_WORDS * (pages + 1)] = snapshot.words
    store.pages[snapshot.owners[added]] = PAGE_WORDS * (added + 1)
