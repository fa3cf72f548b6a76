"""The description of a host call, and of an accelerator: the chip that proves some host calls.

A host call is an ``ecall`` with its number in a7. Each operand is some words at the address in a register: a0, or one
of the further registers a1, a2, ... It leaves all registers unchanged. The accesses of one call are in the order of its
operands; two accesses at one slot must not be of the same word.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphprover.air.columns import Columns
from graphprover.vm.tables.clock import SLOT_A
from graphprover.vm.tables.step import Step

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


@dataclass(frozen=True, eq=False)
class Cuda:
    """The CUDA source of an accelerator's trace: a file of this folder with a kernel ``fill_<chip>``.

    ``sources.py`` defines the chip's rows and the first column of each name of its table, and times and registers.
    """

    file: str
    # Further constants of the file: numbers, lists of them, or expressions.
    defines: Mapping[str, int | str | Sequence[Any]] = field(default_factory=dict)
    parameters: Callable[[], tuple[np.ndarray | int, ...]] = tuple  # of the kernel, behind the calls
    thread_by_row: bool = False  # a block of threads by call, a thread by row; else a thread by call


@dataclass(frozen=True, eq=False)
class Accelerator:
    """A chip of host calls."""

    calls: tuple[HostCall, ...]  # which it proves
    table: Callable[..., Step]  # makes its table, by ``lanes``
    # The module of ``execute(number, words)``, compiled: it applies a call to the words of its accesses, in place, and
    # returns whether it has a result. If a call takes several rows, also of ``fill(device, calls, main)``, which writes
    # the rows of calls to a trace of zeros on the CPU.
    module: str
    rows: int = 1  # of a call
    cuda: Cuda | None = field(default=None, repr=False)  # None if a call takes one row: code for lanes writes it
    permutes: bool = False  # each call needs a permutation of Keccak-f

    @property
    def chip(self) -> str:
        """Return the name of the chip."""
        return self.calls[0].chip

    @cached_property
    def width(self) -> int:
        """Return the number of columns of its table."""
        return Columns(self.table(lanes=1).columns).width
