"""The record of an execution for the tables that prove it: small, with everything else replayed from it.

clock.py defines the times of accesses. Memory is accessed in aligned words of 8 bytes.

Registers: x0 is register 0, never written. A load to x0 writes to register SINK instead. `registers_accessed` gives an
instruction's other accesses: none if it has no effect, and no x0 if the instruction's chip needs none.
"""

from dataclasses import dataclass

import numpy as np

from graphprover.vm.program.isa import A0, A7, BRANCHES, LOADS, Instructions, Op

SINK = 32  # takes values loaded to x0
NO_REGISTER = 33  # in `AccessedRegisters`
REGISTERS = 33  # with SINK

LOG_INTERVAL = 10
INTERVAL = 1 << LOG_INTERVAL  # cycles between snapshots; each interval is replayed independently

_READS_A, _READS_B, _WRITES, _EFFECT, _LOAD, _BRANCH, _LI, _CALL = (1 << bit for bit in range(8))


def _traits(op: Op) -> int:
    """Return the bits of an operation: its use of registers, and whether it has an effect without rd."""
    form = op.format
    found = {_READS_A: form.rs1, _READS_B: form.rs2, _WRITES: form.rd, _LOAD: op in LOADS, _BRANCH: op in BRANCHES}
    found |= {_LI: op == Op.ADDI, _CALL: op == Op.ECALL}
    found[_EFFECT] = not form.rd or op in LOADS or op in (Op.JAL, Op.JALR)
    return sum(bit for bit, has in found.items() if has)


_TRAITS = np.array([*map(_traits, Op), 0], dtype=np.uint8)  # one table, because a lookup takes longer than the rest


@dataclass(frozen=True, eq=False)
class AccessedRegisters:
    """The registers that each instruction accesses: uint8 arrays, NO_REGISTER for none."""

    a: np.ndarray  # read at SLOT_A
    b: np.ndarray  # read at SLOT_B
    d: np.ndarray  # written at SLOT_D


def registers_accessed(instructions: Instructions) -> AccessedRegisters:
    """Return the registers that each instruction accesses.

    An instruction that can only change rd and has rd = x0 (or fence) accesses nothing; jumps without a return address
    write nothing; addi of x0 (li) and a branch on rs2 = x0 do not read x0; ecall reads a7 and a0.
    """
    traits, none = _TRAITS.take(instructions.op), np.uint8(NO_REGISTER)
    named = instructions.rd > 0
    effect = (traits & _EFFECT > 0) | named
    reads_a = (traits & _READS_A > 0) & effect & ((traits & _LI == 0) | (instructions.rs1 > 0))
    reads_b = (traits & _READS_B > 0) & effect & ((traits & _BRANCH == 0) | (instructions.rs2 > 0))
    a, b = np.where(reads_a, instructions.rs1, none), np.where(reads_b, instructions.rs2, none)
    d = np.where((traits & _WRITES > 0) & named, instructions.rd, none)
    d[(traits & _LOAD > 0) & ~named] = SINK
    calls = traits & _CALL > 0
    a[calls], b[calls] = A7, A0
    return AccessedRegisters(a, b, d)


@dataclass(frozen=True, eq=False)
class Registers:
    """The registers 0..32 at the end."""

    value: np.ndarray  # uint64 (33,)
    t: np.ndarray  # uint64 (33,), time of the last access


@dataclass(frozen=True, eq=False)
class Memory:
    """The accessed words, by rising address."""

    address: np.ndarray  # uint64, multiples of 8
    initial: np.ndarray  # uint64
    final: np.ndarray  # uint64
    t: np.ndarray  # uint64, time of the last access


@dataclass(frozen=True, eq=False)
class Record:
    """The record of a run, without data that replaying the program gives, and the state at the end.

    Accesses are to memory, in order: one of a load or store, two if it crosses a word's end, lower word first, and one
    for each word of a host call. A snapshot is taken before every INTERVAL-th cycle, from the first on.
    """

    cycles: int
    old: np.ndarray  # uint64 (accesses,), the word before
    time: np.ndarray  # uint64 (accesses,), of the word's previous access; 0 for none
    index: np.ndarray  # uint32 (snapshots,), the next instruction: (pc - code_base) / 4
    at: np.ndarray  # uint64 (snapshots,), accesses so far
    values: np.ndarray  # uint64 (snapshots, 33), the registers 0..32
    times: np.ndarray  # uint64 (snapshots, 33), times of their last accesses; 0 for none
    registers: Registers
    memory: Memory

    @property
    def streams(self) -> tuple[np.ndarray, ...]:
        """Return the arrays that grow with the cycles."""
        return self.old, self.time, self.index, self.at, self.values, self.times
