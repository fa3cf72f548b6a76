"""What a run counts for its profile, in the interpreter's loop: compiled.

Every instruction counts for its *entry*, a row of the program table: this instruction as one family proves it. Which of
its entries that is depends on little of what it did, its *way*, a number below WAYS. `entries_by_way` asks the families
themselves which entry proves which way.

An access that comes more than FAR after the one before takes a bump. These are counted with the entry, too. Whether
entries of families whose rd is rs1 (``families.IN_PLACE``) are worth their table is known at the end only. They are
counted as if they were; the accesses that are late at SLOT_D, but not at SLOT_A where the other family has them, are
counted with the entry behind, that of the other family, which is never counted otherwise.
"""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from graphprover.compiled import njit
from graphprover.vm.clock import FAR, SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY, clock_of, time_of
from graphprover.vm.families import FAMILIES, IN_PLACE
from graphprover.vm.io import EXIT, KECCAK_F
from graphprover.vm.isa import ACCESS_BYTES, ILLEGAL, Instructions, Op
from graphprover.vm.profile.calls import LINKS, Calls
from graphprover.vm.record import NO_REGISTER
from graphprover.vm.version import FAMILY_NUMBERS

WAYS = 4

FLAGS = 2  # bits of a step below its entry:
JUMP, OTHER = 1, 2  # it may be a call or a return; its way is told by `way_of_others`

# What the way of an instruction depends on: nothing; how registers compare, as equal, signed or unsigned; where an
# access of 1, 2, 4 or 8 bytes lies; whether upper halves are those of the sum; the amount of a shift; the number of a
# host call.
_NOTHING, _EQUAL, _UNEQUAL, _LESS, _NOT_LESS, _BELOW, _NOT_BELOW = range(7)
_PLACE, _SUM, _SHIFT, _SHIFT_WORD, _CALL = 7, 11, 12, 13, 14
_NEVER = 1 << 62  # the time of what is not accessed: no access comes late after it

_U = np.uint64
_I = np.int64
_clock_of, _time_of = njit(nogil=True)(clock_of), njit(nogil=True)(time_of)


class Counters(NamedTuple):
    """Changed in place."""

    calls: Calls
    steps: np.ndarray  # int64 (WAYS instructions,), see `steps_of`
    in_place: np.ndarray  # bool (entries,)
    room: int  # counters that nodes may be given, but for those below calls.ELSEWHERE
    counts: np.ndarray  # int64 (counters,), how often each entry was executed, by node
    late: np.ndarray  # int64 (counters,), and how many of its accesses came late
    registers: np.ndarray  # int64 (34,), times of the last accesses
    pool: np.ndarray  # int64, those of the words of the pool
    of_call: np.ndarray  # int64 (1,): late accesses of a host call


def kinds(code: Instructions) -> np.ndarray:
    """What the way of each instruction depends on, uint8."""
    found = np.full(ILLEGAL + 1, _NOTHING, dtype=np.uint8)
    found[Op.BEQ : Op.BGEU + 1] = _EQUAL, _UNEQUAL, _LESS, _NOT_LESS, _BELOW, _NOT_BELOW
    found[[Op.ADDI, Op.ADD]] = _SUM
    found[[Op.SLL, Op.SRL, Op.SRA]] = _SHIFT
    found[[Op.SLLW, Op.SRLW, Op.SRAW]] = _SHIFT_WORD
    found[Op.ECALL] = _CALL
    for op, size in ACCESS_BYTES.items():
        found[op] = _PLACE + size.bit_length() - 1
    return found[code.op]


def steps_of(code: Instructions, first: np.ndarray, families: np.ndarray) -> np.ndarray:
    """For each instruction and each of its ways the entry, with FLAGS below: int64 (WAYS instructions,).

    ``first`` (instructions + 1,): of the entries of each instruction; ``families`` (entries,): their numbers.
    """
    kind = kinds(code)
    other = (kind >= _SHIFT) & (np.diff(first) > 1)
    links, back = np.isin(code.rd, LINKS), np.isin(code.rs1, LINKS)
    jump = (code.op == Op.JAL) & links | (code.op == Op.JALR) & (links | back)
    entries = entries_by_way(kind, first, families)
    return (entries << FLAGS | (JUMP * jump + OTHER * other)[:, None]).ravel()


def entries_by_way(kind: np.ndarray, first: np.ndarray, families: np.ndarray) -> np.ndarray:
    """The entry of each instruction for each way, int64 (instructions, WAYS).

    ``kind`` (instructions,); ``first`` (instructions + 1,) of the entries of each instruction; ``families`` (entries,)
    their numbers. Where no family fits, as for an access with a base from 2^32 on, it is the first entry.
    """
    names = {number: name for name, number in FAMILY_NUMBERS.items()}
    counts = np.diff(first)
    found = np.repeat(first[:-1, None], WAYS, axis=1)
    for outcome in reversed(range(int(counts.max(initial=0)))):
        (some,) = (counts > outcome).nonzero()
        numbers = families[first[some] + outcome].astype(np.int64)
        pairs, which = np.unique(numbers << 8 | kind[some], return_inverse=True)
        fits = np.array([_fits(names[pair >> 8], pair & 255) for pair in pairs.tolist()], dtype=bool).reshape(-1, WAYS)
        found[some] = np.where(fits[which], (first[some] + outcome)[:, None], found[some])
    return found


def _fits(family: str, kind: int) -> np.ndarray:
    """Which ways of a kind a family proves, by an example of each: bool (WAYS,)."""
    zero, one, minus = 0, 1, 2**64 - 1
    a, b, c, address = [[zero] * WAYS for _ in range(4)]
    if kind in (_EQUAL, _UNEQUAL):
        a = [zero, one, one, one]
    elif kind in (_LESS, _NOT_LESS):
        a = [minus, zero, zero, zero]
    elif kind in (_BELOW, _NOT_BELOW):
        b = [one, zero, zero, zero]
    elif kind == _SUM:
        c = [zero, *[1 << 32] * 3]
    elif kind in (_SHIFT, _SHIFT_WORD):
        b = [0, 16, 32, 48]
    elif kind == _CALL:
        a = [EXIT, *[KECCAK_F] * 3]
    elif _PLACE < kind < _SUM:
        size = 1 << (kind - _PLACE)
        address = [0, size // 2, 8 - size // 2, 8 - size // 2]
    if kind in (_UNEQUAL, _NOT_LESS, _NOT_BELOW):
        a, b = ([column[1], *column[:1] * 3] for column in (a, b))
    columns = (np.array(column, dtype=np.uint64) for column in (a, b, c, address))
    example = SimpleNamespace(**dict(zip(("a", "b", "c", "address"), columns, strict=True)))
    return np.broadcast_to(FAMILIES[family](1).fits(example), WAYS)


@njit(nogil=True, cache=True, forceinline=True)
def way_of_place(address, size):
    """Of an access."""
    return _I((address & (size - _U(1))) != _U(0)) + _I((address & _U(7)) + size > _U(8))


@njit(nogil=True, cache=True, forceinline=True)
def way_of_sum(a, b, c):
    """Of add and addi."""
    return _I((a ^ c) >> _U(32) != _U(0) or b >> _U(32) != _U(0))


@njit(nogil=True, cache=True, forceinline=True)
def way_of_others(op, a, b):
    """Of shifts by registers, and of host calls."""
    if op == Op.ECALL:
        return _I(a != _U(EXIT))
    if op == Op.SLL or op == Op.SRL or op == Op.SRA:
        return _I(b >> _U(4) & _U(3))
    return _I(b >> _U(4) & _U(1))


@njit(nogil=True, cache=True, forceinline=True)
def access(times, rd, rs1, rs2, cycle):
    """Registers are accessed: gives when each, and any of them, was accessed before."""
    t_d, t_a, t_b = times[rd], times[rs1], times[rs2]
    now = _time_of(_clock_of(cycle))
    times[rs1] = now + SLOT_A
    times[rs2] = now + SLOT_B
    times[rd] = now + SLOT_D
    times[NO_REGISTER] = _NEVER
    return t_d, t_a, t_b


@njit(nogil=True, cache=True, forceinline=True)
def maybe_late(t_d, t_a, t_b, cycle):
    """Whether an access of a register may come late, after these times."""
    return _time_of(_clock_of(cycle), SLOT_D) - min(t_d, t_a, t_b) > FAR


@njit(nogil=True, cache=True)
def late_registers(late, in_place, at, entry, rd, rs1, rs2, t_d, t_a, t_b, cycle):
    """How many do come late, by the instruction of an entry whose counter is ``at``."""
    now = _time_of(_clock_of(cycle))
    found = _I(now + SLOT_A - t_a > FAR)
    if found == 0 and in_place[entry] and now + SLOT_D - t_a > FAR:
        late[at + 1] += 1
    if rs2 != rs1:
        found += _I(now + SLOT_B - t_b > FAR)
    if rd != rs1 and rd != rs2:
        found += _I(now + SLOT_D - t_d > FAR)
    return found


@njit(nogil=True, cache=True, forceinline=True)
def touch(times, place, cycle):
    """A word of the pool is accessed: 1 where that comes late."""
    now = _time_of(_clock_of(cycle), SLOT_MEMORY)
    late = _I(now - times[_U(place)] > FAR)
    times[_U(place)] = now
    return late


@njit(nogil=True, cache=True)
def touch_of_call(counters, word, place, value, cycle):
    """A host call is about to change a word, which holds ``value``, the ``word``-th of its words."""
    counters.of_call[0] += touch(counters.pool, place, cycle)


@njit(nogil=True, cache=True)
def late_of_call(counters):
    """How many words of the host call came late."""
    late = counters.of_call[0]
    counters.of_call[0] = 0
    return late


def in_place_families() -> np.ndarray:
    """Which numbers of families are of those whose rd is rs1: bool, up to the largest number."""
    found = np.zeros(max(FAMILY_NUMBERS.values()) + 1, dtype=bool)
    for name, number in FAMILY_NUMBERS.items():
        found[number] = name.endswith(IN_PLACE)
    return found


def start(calls: Calls, steps: np.ndarray, in_place: np.ndarray, room: int, words: int) -> Counters:
    """Before a run, for a pool of so many words; see `Counters`. Memory is taken as it is written."""
    counts, late = np.zeros((2, room + len(in_place)), dtype=np.int64)
    registers = np.zeros(NO_REGISTER + 1, dtype=np.int64)
    registers[NO_REGISTER] = _NEVER
    pool, of_call = np.zeros(words, dtype=np.int64), np.zeros(1, dtype=np.int64)
    return Counters(calls, steps, in_place, room, counts, late, registers, pool, of_call)
