"""The accesses of a chip's lanes, and their slots in the cycle."""

from dataclasses import dataclass
from functools import lru_cache

from graphprover.vm.accelerators.host_call import SLOT_FURTHER
from graphprover.vm.accelerators.registry import calls_of
from graphprover.vm.kernels.tape import A_IN_PLACE, FURTHER, M2, WORD, A, B, D, M
from graphprover.vm.tables.clock import SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY
from graphprover.vm.tables.step import Step

_SLOTS = {"a_t": SLOT_A, "b_t": SLOT_B, "d_t": SLOT_D, "m_t": SLOT_MEMORY, "m2_t": SLOT_MEMORY}
_COLUMNS = {"a_t": A, "b_t": B, "d_t": D, "m_t": M, "m2_t": M2}


@dataclass(frozen=True)
class Access:
    """An access that a lane makes."""

    cell: str  # cells with the time of the access before
    number: int  # index among the accesses of its kind
    slot: int  # slot in the cycle
    column: int  # column that counts the late ones of these accesses (``kernels/tape.py``)
    pointer: int = 0  # of a word of a host call: the register with its operand's address, 0 for a0
    offset: int = 0  # of such a word there, in words


@lru_cache(maxsize=256)
def accesses_of(step: Step) -> tuple[Access, ...]:
    """Return a lane's accesses, in order."""
    cells = (*step.names, *step.accessed)
    found = [Access(cell, 0, slot, _COLUMNS[cell]) for cell, slot in _SLOTS.items() if cell in cells]
    if step.in_place:
        found = [Access("a_t", 0, SLOT_D, A_IN_PLACE) if access.cell == "a_t" else access for access in found]
    calls = calls_of(step.name)
    if not calls:
        return tuple(found)
    longest = max(calls, key=lambda call: len(call.accesses))
    further = max(call.further for call in calls)
    found += [Access("further_t", i, SLOT_FURTHER, FURTHER + i) for i in range(further)]
    words = enumerate(longest.accesses)
    found += [Access("word_t", i, slot, WORD + i, pointer, offset) for i, (pointer, offset, slot) in words]
    return tuple(found)
