"""What an execution leaves behind for the tables that prove it.

When accesses happen says clock.py. Memory is accessed in aligned words of 8 bytes.

Registers: x0 is register 0, never written. A load to x0 writes to register SINK instead. What else an instruction
accesses is `registers_accessed`: nothing where it has no effect, and no x0 where an instruction's family needs none.
"""

from dataclasses import dataclass

import numpy as np

from graphprover.vm.isa import A0, A7, BRANCHES, LOADS, STORES, Instructions, Op

SINK = 32  # takes what is loaded to x0
NO_REGISTER = 33  # in `AccessedRegisters`

_WITH_EFFECT = LOADS | STORES | BRANCHES | {Op.JAL, Op.JALR, Op.ECALL, Op.EBREAK}


@dataclass(frozen=True, eq=False)
class AccessedRegisters:
    """The registers that each instruction accesses: uint8 arrays, NO_REGISTER for none."""

    a: np.ndarray  # read at SLOT_A
    b: np.ndarray  # read at SLOT_B
    d: np.ndarray  # written at SLOT_D


def registers_accessed(instructions: Instructions) -> AccessedRegisters:
    """The registers that each instruction accesses.

    An instruction that can only change rd and has rd = x0 (or fence) accesses nothing; jumps that keep no return
    address write nothing; addi of x0 (li) and a branch on rs2 = x0 do not read x0; ecall reads a7 and a0.
    """
    op, none = instructions.op, np.uint8(NO_REGISTER)
    forms = [operation.format for operation in Op]
    reads_a, reads_b, writes = (np.array([getattr(f, n) for f in forms] + [False]) for n in ("rs1", "rs2", "rd"))
    effect = ~writes[op] | (instructions.rd > 0) | _any(op, _WITH_EFFECT)
    a = np.where(reads_a[op] & effect & ~((op == Op.ADDI) & (instructions.rs1 == 0)), instructions.rs1, none)
    b = np.where(reads_b[op] & effect & ~(_any(op, BRANCHES) & (instructions.rs2 == 0)), instructions.rs2, none)
    d = np.where(writes[op] & (instructions.rd > 0), instructions.rd, none)
    d[_any(op, LOADS) & (instructions.rd == 0)] = SINK
    a[op == Op.ECALL], b[op == Op.ECALL] = A7, A0
    return AccessedRegisters(a, b, d)


def _any(op: np.ndarray, ops: frozenset[Op]) -> np.ndarray:
    return np.isin(op, [int(operation) for operation in ops])


@dataclass(frozen=True, eq=False)
class Crossings:
    """The second words of loads and stores that cross a word's end, by rising cycle: address + 8 & ~7."""

    cycle: np.ndarray  # uint32
    old: np.ndarray  # uint64, the word before
    new: np.ndarray  # uint64, the word after
    t: np.ndarray  # uint64, time of its previous access


@dataclass(frozen=True, eq=False)
class Call:
    """A host call that changed memory; exit changes none and is the last cycle."""

    cycle: int
    number: int  # a7
    address: int  # a0, a multiple of 8: the first word
    old: np.ndarray  # uint64, words before
    new: np.ndarray  # uint64, words after
    t: np.ndarray  # uint64, times of their previous accesses; all are accessed at SLOT_MEMORY of the cycle


@dataclass(frozen=True, eq=False)
class Registers:
    """The registers 0..32 at the end."""

    value: np.ndarray  # uint64 (33,)
    t: np.ndarray  # uint64 (33,), time of the last access


@dataclass(frozen=True, eq=False)
class Memory:
    """The words that were accessed, by rising address."""

    address: np.ndarray  # uint64, multiples of 8
    initial: np.ndarray  # uint64
    final: np.ndarray  # uint64
    t: np.ndarray  # uint64, time of the last access


@dataclass(frozen=True, eq=False)
class Record:
    """One entry a cycle, and the state at the end. Times are of the previous access, and 0 where there is none."""

    index: np.ndarray  # uint32, the instruction: (pc - code_base) / 4
    next: np.ndarray  # uint32, the next cycle's instruction; the last cycle's own
    a: np.ndarray  # uint64, value of rs1; of a7 for ecall; 0 where none is read
    b: np.ndarray  # uint64, value of rs2; of a0 for ecall; 0 where none is read
    c: np.ndarray  # uint64, value written to rd or SINK; 0 where none is written
    t_a: np.ndarray  # uint64
    t_b: np.ndarray  # uint64, rs1 = rs2: the access at SLOT_A
    t_d: np.ndarray  # uint64, rd = rs1 or rs2: the access at SLOT_A or SLOT_B
    address: np.ndarray  # uint64, of a load or store, in bytes; else 0
    old: np.ndarray  # uint64, the word at address & ~7 before
    new: np.ndarray  # uint64, the same word after; a load's old
    t_m: np.ndarray  # uint64, of that word
    crossings: Crossings
    calls: tuple[Call, ...]
    registers: Registers
    memory: Memory
