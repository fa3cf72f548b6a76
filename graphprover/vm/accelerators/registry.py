"""All accelerators, and their host calls as arrays for compiled code. README.md tells how to add one."""

from itertools import combinations

import numpy as np

from graphprover.vm.accelerators.host_call import Accelerator, HostCall
from graphprover.vm.accelerators.integers.fp2 import FP2
from graphprover.vm.accelerators.integers.modular import MODULAR_256, MODULAR_WIDE
from graphprover.vm.accelerators.integers.point import POINTS
from graphprover.vm.accelerators.keccak.absorb import ABSORB
from graphprover.vm.accelerators.keccak.call import PERMUTE
from graphprover.vm.accelerators.sha256.table import COMPRESS

# Their order is the order of the ways of an ecall and of its entries in the program table, so keys depend on it.
ACCELERATORS: tuple[Accelerator, ...] = (PERMUTE, MODULAR_256, POINTS, ABSORB, COMPRESS, MODULAR_WIDE, *FP2)
BY_CHIP = {accelerator.chip: accelerator for accelerator in ACCELERATORS}
HOST_CALLS = tuple(sorted((call for one in ACCELERATORS for call in one.calls), key=lambda call: call.number))
MOST_WORDS = max(len(call.accesses) for call in HOST_CALLS)


def calls_of(chip: str) -> tuple[HostCall, ...]:
    """Return the host calls that a chip proves."""
    return BY_CHIP[chip].calls if chip in BY_CHIP else ()


# The calls for compiled code: arrays by number - FIRST_NUMBER, of LISTED numbers.
FIRST_NUMBER = min(call.number for call in HOST_CALLS)
LISTED = max(call.number for call in HOST_CALLS) - FIRST_NUMBER + 1
WORDS_OF = np.zeros(LISTED, dtype=np.int64)  # accesses of memory; 0 for an unknown number
FURTHER_OF = np.zeros(LISTED, dtype=np.int64)  # further registers
WAY_OF = np.zeros(LISTED, dtype=np.int64)  # ``traces.ways``: 1 + the accelerator's index; 0 is the exit's
ACCESS_OF = np.zeros((LISTED, MOST_WORDS, 3), dtype=np.int64)  # pointer, offset and slot of each access
# The pointers of two operands of one slot, and the bytes of each: they must not overlap. All 0 for none.
APART_OF = np.zeros((LISTED, 3), dtype=np.int64)
for _call in HOST_CALLS:
    _row = _call.number - FIRST_NUMBER
    WORDS_OF[_row], FURTHER_OF[_row] = len(_call.accesses), _call.further
    WAY_OF[_row] = 1 + list(BY_CHIP).index(_call.chip)
    ACCESS_OF[_row, : len(_call.accesses)] = _call.accesses
    for _one, _other in combinations(_call.operands, 2):
        if _one.slot == _other.slot:
            assert _one.words == _other.words and not APART_OF[_row].any()
            APART_OF[_row] = _one.pointer, _other.pointer, 8 * _one.words
