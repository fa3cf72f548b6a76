"""The counters of a profile, updated in the interpreter's loop: compiled.

Every instruction counts for its *entry*, a row of the program table: this instruction as one chip proves it (see
traces/ways.py).

An access that comes more than FAR after the one before takes a bump. Bumps are counted by entry, too. Only the end of a
run tells whether entries of in-place chips (``IN_PLACE``) are dropped. They are counted as if they were: accesses that
are late at SLOT_D, but not at SLOT_A of the other chip, are counted with the next entry, the other chip's, which has no
other counts.
"""

from typing import Any, NamedTuple

import numpy as np

from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.host_call import SLOT_FURTHER
from graphprover.vm.accelerators.registry import ACCESS_OF, FURTHER_OF, WORDS_OF
from graphprover.vm.executor.record import NO_REGISTER, REGISTERS
from graphprover.vm.profile.calls import LINKS, Calls, move
from graphprover.vm.program.isa import A1, Instructions, Op
from graphprover.vm.statement.table_numbers import IN_PLACE
from graphprover.vm.statement.version import CHIP_NUMBERS
from graphprover.vm.tables.clock import FAR, SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY, clock_of, time_of
from graphprover.vm.tables.entries import Entries
from graphprover.vm.traces.ways import CALL, WAYS, kinds, laid_out, outcomes_by_way

_JUMP = 1  # the lowest bit of a step, below its entry: it may be a call or a return

_NEVER = 1 << 62  # the time of a missing access: no access comes late after it

_U = np.uint64
_I = np.int64
_clock_of, _time_of = njit(nogil=True)(clock_of), njit(nogil=True)(time_of)


class Counters(NamedTuple):
    """The arrays of a profile's counts, changed in place."""

    calls: Calls
    steps: np.ndarray  # int64, see `steps_of`
    in_place: np.ndarray  # bool (entries,)
    room: int  # most counters of nodes, except for nodes below calls.ELSEWHERE
    counts: np.ndarray  # int64 (counters,), executions of each entry, by node
    late: np.ndarray  # int64 (counters,), late accesses of them
    registers: np.ndarray  # int64 (34,), times of the last accesses
    pool: np.ndarray  # int64, times of the pool's words


def steps_of(code: Instructions, program: Entries) -> np.ndarray:
    """Return for each instruction and each of its ways twice the entry, and _JUMP: int64, see ``ways.laid_out``.

    If no chip fits, as for an access with a base from 2^32 on, it is the first entry.
    """
    outcomes = np.maximum(outcomes_by_way(program.forms), 0) << 1
    calls = kinds(np.array([form.op for form in program.forms], dtype=np.uint8)) == CALL
    links, back = (np.isin(np.arange(REGISTERS), LINKS)[register] for register in (code.rd, code.rs1))
    jump = (code.op == Op.JAL) & links | (code.op == Op.JALR) & (links | back)
    own = (program.first[:-1] << 1) + _JUMP * jump

    def of(chosen: Any, ways: int) -> np.ndarray:
        steps: np.ndarray = outcomes[:, :ways].take(program.form[chosen], axis=0)
        steps += own[chosen, None]
        return steps

    return laid_out(calls[program.form], of)


@njit(nogil=True, cache=True, forceinline=True)
def count_instruction(counters, here, op, rd, rs1, rs2, way, late, index, following, sp, cycle):
    """Count an instruction in the node ``here`` (`calls.place`); return the node of the next one.

    ``late``: its late accesses of memory.
    """
    start, first, size = here
    steps, lates, times = counters.steps, counters.late, counters.registers
    place = _U(WAYS * index)
    if op == Op.ECALL:
        place = _U(steps[place])
    step = steps[place + _U(way)]
    entry = step >> 1
    at = _U(start + entry)
    counters.counts[at] += 1
    t_d, t_a, t_b = _access(times, rd, rs1, rs2, cycle)
    if _maybe_late(t_d, t_a, t_b, cycle):
        late += _late_registers(lates, counters.in_place, at, entry, rd, rs1, rs2, t_d, t_a, t_b, cycle)
    if late != 0:
        lates[at] += late
    jump = step & _JUMP != 0
    if jump or _U(following - first) >= size:
        return move(counters.calls, jump, _I(rd), index, following, _I(sp), counters.room)
    return here


@njit(nogil=True, cache=True, forceinline=True)
def _access(times, rd, rs1, rs2, cycle):
    """Access registers: return the time of each previous access, and the latest one."""
    t_d, t_a, t_b = times[rd], times[rs1], times[rs2]
    now = _time_of(_clock_of(cycle))
    times[rs1] = now + SLOT_A
    times[rs2] = now + SLOT_B
    times[rd] = now + SLOT_D
    times[NO_REGISTER] = _NEVER
    return t_d, t_a, t_b


@njit(nogil=True, cache=True, forceinline=True)
def _maybe_late(t_d, t_a, t_b, cycle):
    """Return whether an access of a register may come late, after these times."""
    return _time_of(_clock_of(cycle), SLOT_D) - min(t_d, t_a, t_b) > FAR


@njit(nogil=True, cache=True)
def _late_registers(late, in_place, at, entry, rd, rs1, rs2, t_d, t_a, t_b, cycle):
    """Return how many accesses come late, by the instruction of an entry with the counter ``at``."""
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
def touch(times, place, cycle, slot=SLOT_MEMORY):
    """Access a word of the pool; return 1 if that comes late."""
    now = _time_of(_clock_of(cycle), slot)
    late = _I(now - times[_U(place)] > FAR)
    times[_U(place)] = now
    return late


@njit(nogil=True, cache=True)
def touch_of_call(counters, listed, places, cycle):
    """Access the words and further registers of a host call; return how many accesses come late."""
    late = 0
    for k in range(WORDS_OF[listed]):
        late += touch(counters.pool, places[k], cycle, ACCESS_OF[listed, k, 2])
    for k in range(A1, A1 + FURTHER_OF[listed]):
        late += touch(counters.registers, k, cycle, SLOT_FURTHER)
    return late


def in_place_chips() -> np.ndarray:
    """Return which numbers of chips are in place: bool, up to the largest number."""
    found = np.zeros(max(CHIP_NUMBERS.values()) + 1, dtype=bool)
    for name, number in CHIP_NUMBERS.items():
        found[number] = name.endswith(IN_PLACE)
    return found


def start(calls: Calls, steps: np.ndarray, in_place: np.ndarray, room: int, words: int) -> Counters:
    """Return the counters for a pool of this size; see `Counters`. The system allocates memory as it is written."""
    counts, late = np.zeros((2, room + len(in_place)), dtype=np.int64)
    registers = np.zeros(NO_REGISTER + 1, dtype=np.int64)
    registers[NO_REGISTER] = _NEVER
    return Counters(calls, steps, in_place, room, counts, late, registers, np.zeros(words, dtype=np.int64))
