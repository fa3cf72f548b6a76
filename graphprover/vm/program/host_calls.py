"""The host calls that work on memory: their operands, and the slots of their accesses.

A host call is an ``ecall`` with its number in a7. Each operand is some words at the address in a register: a0, or one
of the further registers a1, a2, ... It leaves all registers unchanged. The accesses of one call are in the order of its
operands; two accesses at one slot must not be of the same word.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from graphprover.vm.program.fields import ALL_FIELDS, Field
from graphprover.vm.program.io import (
    KECCAK_ABSORB,
    KECCAK_F,
    MODULAR,
    MODULAR_384,
    MODULAR_384_QUOTIENT,
    MODULAR_QUOTIENT,
    POINT,
    SHA256,
)
from graphprover.vm.statement.table_numbers import CALL_CHIPS
from graphprover.vm.tables.clock import SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY
from graphprover.vm.tables.keccak_f import WORDS

NUMBER_WORDS = 4  # of an integer below 2^256
WIDE_WORDS = 6  # of an integer below 2^384
POINT_WORDS = 2 * NUMBER_WORDS  # of the coordinates x and y
CURVES = 3  # secp256k1, P-256, bn254
RATE_WORDS = 17  # that a sponge absorbs before each permutation
BLOCK_WORDS, STATE_WORDS = 8, 4  # of the compression of SHA-256
MOST_FURTHER = 4  # further registers of a call
SLOT_FURTHER = SLOT_A  # at which calls read them


@dataclass(frozen=True)
class Operand:
    """Some words of memory that a host call accesses."""

    pointer: int  # the register with their address: 0 is a0, k is the further register a<k>
    words: int
    slot: int  # of the accesses in the cycle


@dataclass(frozen=True)
class HostCall:
    """A host call."""

    number: int  # in a7
    chip: str  # proves it
    operands: tuple[Operand, ...]

    @property
    def further(self) -> int:
        """Return how many further registers the call reads."""
        return max(operand.pointer for operand in self.operands)

    @cached_property
    def accesses(self) -> list[tuple[int, int, int]]:
        """Return the pointer, the offset in words and the slot of each access, in order."""
        return [(operand.pointer, i, operand.slot) for operand in self.operands for i in range(operand.words)]


def _modular(number: int, chip: str, words: int, result_words: int) -> HostCall:
    a, b = Operand(1, words, SLOT_A), Operand(2, words, SLOT_B)
    m, c = (Operand(pointer, words, SLOT_MEMORY) for pointer in (3, 4))
    return HostCall(number, chip, (a, b, m, c, Operand(0, result_words, SLOT_D)))


def _points() -> list[HostCall]:
    first, second = (Operand(pointer, POINT_WORDS, SLOT_MEMORY) for pointer in (0, 1))
    operands = (first, second), (first,)
    return [HostCall(POINT + i, "point", operands[i % 2]) for i in range(2 * CURVES)]


def _fp2(field: Field) -> HostCall:
    slots = (1, SLOT_A), (2, SLOT_B), (3, SLOT_MEMORY), (0, SLOT_D)
    return HostCall(field.number, field.name, tuple(Operand(pointer, 2 * field.words, slot) for pointer, slot in slots))


HOST_CALLS = (
    HostCall(KECCAK_F, "keccak_call", (Operand(0, WORDS, SLOT_MEMORY),)),
    _modular(MODULAR, "modular", NUMBER_WORDS, NUMBER_WORDS),
    _modular(MODULAR_QUOTIENT, "modular", NUMBER_WORDS, 2 * NUMBER_WORDS),
    *_points(),
    HostCall(KECCAK_ABSORB, "keccak_absorb", (Operand(1, RATE_WORDS, SLOT_B), Operand(0, WORDS, SLOT_MEMORY))),
    HostCall(SHA256, "sha256", (Operand(1, BLOCK_WORDS, SLOT_MEMORY), Operand(0, STATE_WORDS, SLOT_D))),
    _modular(MODULAR_384, "modular_384", WIDE_WORDS, WIDE_WORDS),
    _modular(MODULAR_384_QUOTIENT, "modular_384", WIDE_WORDS, 2 * WIDE_WORDS),
    *map(_fp2, ALL_FIELDS),
)
MOST_WORDS = max(len(call.accesses) for call in HOST_CALLS)


def calls_of(chip: str) -> list[HostCall]:
    """Return the host calls that a chip proves."""
    return [call for call in HOST_CALLS if call.chip == chip]


# The calls for compiled code: arrays by number - FIRST_NUMBER, of LISTED numbers.
FIRST_NUMBER = min(call.number for call in HOST_CALLS)
LISTED = max(call.number for call in HOST_CALLS) - FIRST_NUMBER + 1
WORDS_OF = np.zeros(LISTED, dtype=np.int64)  # accesses of memory; 0 for an unknown number
FURTHER_OF = np.zeros(LISTED, dtype=np.int64)  # further registers
WAY_OF = np.zeros(LISTED, dtype=np.int64)  # ``traces.ways``: 0 is the exit's
ACCESS_OF = np.zeros((LISTED, MOST_WORDS, 3), dtype=np.int64)  # pointer, offset and slot of each access
# The pointers of two operands of one slot, and the bytes of each: they must not overlap. All 0 for none.
APART_OF = np.zeros((LISTED, 3), dtype=np.int64)
for _call in HOST_CALLS:
    _row = _call.number - FIRST_NUMBER
    WORDS_OF[_row], FURTHER_OF[_row] = len(_call.accesses), _call.further
    WAY_OF[_row] = 1 + CALL_CHIPS.index(_call.chip)
    ACCESS_OF[_row, : len(_call.accesses)] = _call.accesses
    for _one, _other in combinations(_call.operands, 2):
        if _one.slot == _other.slot:
            assert _one.words == _other.words and not APART_OF[_row].any()
            APART_OF[_row] = _one.pointer, _other.pointer, 8 * _one.words
