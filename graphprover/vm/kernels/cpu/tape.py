"""Replays a cycle range, interval by interval: counts its cycles, or writes them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graphprover.device import Device
from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.host_call import MOST_FURTHER, SLOT_FURTHER
from graphprover.vm.accelerators.registry import ACCESS_OF, FIRST_NUMBER, FURTHER_OF, WORDS_OF
from graphprover.vm.executor.operations import (
    SIZES,
    computed,
    decoded,
    loaded,
    placed,
    stored,
    stored_behind,
    taken,
    target,
)
from graphprover.vm.executor.record import INTERVAL, NO_REGISTER, REGISTERS
from graphprover.vm.kernels import tape as columns
from graphprover.vm.kernels.tape import FURTHER, UNPROVED, UNREACHED, WORD, Cycles, Tape
from graphprover.vm.program.io import EXIT
from graphprover.vm.program.isa import A1, Op
from graphprover.vm.tables import clock
from graphprover.vm.tables.bump import REACH
from graphprover.vm.traces.ways import WAYS, way_of, way_of_call

_U = np.uint64
_I = np.int64
# Kernels compute in uint64, which Numba keeps only among numbers of that type.
_0, _1, _7, _8, _64 = map(np.uint64, (0, 1, 7, 8, 64))
_A, _B, _M, _D = map(np.uint64, (clock.SLOT_A, clock.SLOT_B, clock.SLOT_MEMORY, clock.SLOT_D))
_SLOTS, _FAR, _REACH, _LIMB_BITS = map(np.uint64, (clock.SLOTS, clock.FAR, REACH, 32))
_FURTHER = np.uint64(SLOT_FURTHER)
_NO_STEP, _ENTRY = np.uint64(columns.NO_STEP), np.uint64(2**32 - 1)
_NEVER = 1 << 62  # the time of a missing access: no access comes late after it
_LATE_A, _LATE_IN_PLACE, _LATE_B, _LATE_D, _LATE_M = (
    columns.A, columns.A_IN_PLACE, columns.B, columns.D, columns.M,
)  # fmt: skip
_ROW_A, _ROW_B, _ROW_C, _ROW_D, _ROW_T_A, _ROW_T_B, _ROW_T_D, _ROW_LAST = range(columns.ROW_WORDS)


class _Census(NamedTuple):
    """The arrays of counts."""

    counts: np.ndarray
    late: np.ndarray
    refused: np.ndarray


class _Places(NamedTuple):
    """The arrays of written cycles, and their places."""

    places: np.ndarray
    order: np.ndarray
    rows: np.ndarray
    new: np.ndarray


class _Tape(NamedTuple):
    """The arrays of `Tape`, for Numba."""

    code: np.ndarray
    old: np.ndarray
    time: np.ndarray
    instruction: np.ndarray
    at: np.ndarray
    values: np.ndarray
    times: np.ndarray


@njit(nogil=True, cache=True, forceinline=True)
def _count_late(late, refused, group, column, now, before, cycle):
    """Count an access that comes late."""
    if _I(now - before) > _I(_FAR):
        late[group, column] += _1
        if now - before - _1 > _REACH:
            refused[UNREACHED] = min(refused[UNREACHED], _U(cycle))


@njit(nogil=True, cache=True)
def _count_registers(late, refused, group, rd, rs1, rs2, t_a, t_b, t_d, now, cycle):
    """Count the late accesses of registers."""
    _count_late(late, refused, group, _LATE_A, now + _A, t_a, cycle)
    in_place = now + _D
    if _I(in_place - t_a) > _I(_FAR):
        late[group, _LATE_IN_PLACE] += _1
        if rd == rs1 and in_place - t_a - _1 > _REACH:
            refused[UNREACHED] = min(refused[UNREACHED], _U(cycle))
    if rs2 != rs1:
        _count_late(late, refused, group, _LATE_B, now + _B, t_b, cycle)
    if rd != rs1 and rd != rs2:
        _count_late(late, refused, group, _LATE_D, now + _D, t_d, cycle)


@njit(nogil=True, cache=True, forceinline=True)
def _count(census, own, tape, t, registers, step, op, a, at, accesses, further, cycle, counts):
    """Access registers in a cycle, and count it and its late accesses if it is in the range."""
    rd, rs1, rs2 = registers
    now = _SLOTS * _U(cycle + 1)
    t_a, t_b, t_d = t[rs1], t[rs2], t[rd]
    t[rs1] = now + _A
    t[rs2] = now + _B
    t[rd] = now + _D
    t[NO_REGISTER] = _NEVER
    if not counts:
        return
    late, refused, times = census.late, census.refused, tape.time
    if step == _NO_STEP:
        refused[UNPROVED] = min(refused[UNPROVED], _U(cycle))
        return
    group = step >> _LIMB_BITS
    own[group] += np.uint32(1)
    if _I(now + _D - min(t_a, t_b, t_d)) > _I(_FAR):
        _count_registers(late, refused, group, rd, rs1, rs2, t_a, t_b, t_d, now, cycle)
    if op == Op.ECALL:
        for i in range(further):
            _count_late(late, refused, group, _U(FURTHER + i), now + _FURTHER, t[A1 + i], cycle)
        for i in range(accesses):
            then = now + _U(ACCESS_OF[a - _U(FIRST_NUMBER), i, 2])
            _count_late(late, refused, group, _U(WORD + i), then, times[at + _U(i)], cycle)
    else:
        for i in range(accesses):
            _count_late(late, refused, group, _U(_LATE_M + i), now + _M, times[at + _U(i)], cycle)


@njit(nogil=True, cache=True, forceinline=True)
def _access(t, register, time):
    """Access a register; return the time of the access before, 0 of a missing one."""
    before = t[register]
    t[register] = time
    t[NO_REGISTER] = _0
    return before


@njit(nogil=True, cache=True, forceinline=True)
def _write(written, own, x, t, registers, step, values, at, accesses, further, cycle, first):
    """Access registers in a cycle, and write it if it is in the range."""
    rd, rs1, rs2 = registers
    now = _SLOTS * _U(cycle + 1)
    t_a = _access(t, rs1, now + _A)
    t_b = _access(t, rs2, now + _B)
    t_d = _access(t, rd, now + _D)
    if cycle < first:
        return
    for i in range(further):
        written.new[at + _U(i)] = x[A1 + i]
        written.new[at + _U(MOST_FURTHER + i)] = t[A1 + i]
    if step == _NO_STEP:
        return
    group = step >> _LIMB_BITS
    place = _U(own[group])
    own[group] += np.uint32(1)
    own_cycle = _U(cycle - first)
    written.order[place] = own_cycle
    row = written.rows[own_cycle]
    row[_ROW_A], row[_ROW_B], row[_ROW_C], row[_ROW_D] = values
    row[_ROW_T_A] = t_a
    row[_ROW_T_B] = t_b
    row[_ROW_T_D] = t_d
    row[_ROW_LAST] = step & _ENTRY | (at if accesses else _0) << _LIMB_BITS


@njit(nogil=True, cache=True, forceinline=True)
def _load_or_store(old, written, at, op, address, b, writes):
    """Return the loaded value and the number of accesses, and write the new words of a store if that is asked."""
    size, shift = SIZES[op - Op.LB], _8 * (address & _7)
    crosses = (address & _7) + size > _8
    c = _0
    if op < Op.SB:
        c = loaded(op, old[at] >> shift | (old[at + _1] << (_64 - shift) if crosses else _0))
    elif writes and written is not None:
        written.new[at] = stored(old[at], b, size, shift)
        if crosses:
            written.new[at + _1] = stored_behind(old[at + _1], b, size, shift)
    return c, 1 + int(crosses)


@njit(nogil=True, cache=True, forceinline=True)
def _step(steps, redirects, op, index, way):
    """Return the step of an instruction that goes a way."""
    place = _U(WAYS * index)
    if op == Op.ECALL:
        place = steps[place]
    step = steps[place + _U(way)]
    return step if step == _NO_STEP else step + redirects[step >> _LIMB_BITS]


@njit(nogil=True, cache=True, error_model="numpy")
def _replay(tape, code_base, start, first, last, steps, redirects, census, written, begin, end):
    """Replay the intervals begin to end. ``census`` and ``written``: one of them is None."""
    code, old = tape.code, tape.old
    x = np.zeros(NO_REGISTER + 1, dtype=np.uint64)
    t = np.zeros(NO_REGISTER + 1, dtype=np.uint64)
    if census is not None:
        groups = len(census.counts)
        t[NO_REGISTER] = _NEVER
    if written is not None:
        groups = len(written.places)
    own = np.zeros(groups, dtype=np.uint32)
    for k in range(begin, end):
        for i in range(REGISTERS):
            x[i] = tape.values[k, i]
            t[i] = tape.times[k, i]
        index = _I(tape.instruction[k])
        at = _U(tape.at[k])
        if written is not None:
            for i in range(groups):
                own[i] = written.places[i, k]
        stop = min(start + (k + 1) * INTERVAL, last)
        for cycle in range(start + k * INTERVAL, stop):
            op, rd, rs1, rs2, imm = decoded(code[_U(index)])
            registers = rd, rs1, rs2
            a, b, c = x[rs1], x[rs2], _0
            following, jumps = index + 1, False
            accesses = further = way = 0
            if op <= Op.BGEU:
                if rd != _U(NO_REGISTER):
                    c = placed(op, imm, _U(code_base) + _U(4 * index))
                if op >= Op.JAL:
                    jumps = taken(op, a, b)
                    if jumps:
                        following = target(op, a, imm, index, code_base)
            elif op <= Op.SD:
                c, accesses = _load_or_store(old, written, at, op, a + imm, b, cycle >= first)
            elif op == Op.ECALL:
                way = way_of_call(a)
                if a != _U(EXIT):
                    accesses = WORDS_OF[a - _U(FIRST_NUMBER)]
                    further = FURTHER_OF[a - _U(FIRST_NUMBER)]
            elif op != Op.FENCE:
                c = computed(op, a, b + imm)
            if op != Op.ECALL:
                way = way_of(op, a, b, c, imm, jumps)
            step = _step(steps, redirects, op, index, way)
            d = x[rd]
            x[rd] = c
            if census is not None:
                _count(census, own, tape, t, registers, step, op, a, at, accesses, further, cycle, cycle >= first)
            if written is not None:
                _write(written, own, x, t, registers, step, (a, b, c, d), at, accesses, further, cycle, first)
            for i in range(further):
                t[A1 + i] = _SLOTS * _U(cycle + 1) + _FURTHER
            at += _U(accesses)
            index = following
        if census is not None:
            for i in range(groups):
                if own[i] != 0:
                    census.counts[i, k] += own[i]
                    own[i] = 0


def _split(device: Device, tape: Tape, function: Callable[[int, int], None]) -> None:
    """Call ``function(begin, end)`` over all intervals, each in the row range of its first cycle."""

    def piece(first: int, last: int) -> None:
        begin, end = (-(-bound // INTERVAL) for bound in (first, last))
        if begin < end:
            function(begin, end)

    device.split_rows(piece, tape.last - tape.start)


def _arguments(tape: Tape, *steps: np.ndarray) -> tuple[object, ...]:
    arrays = _Tape(tape.code, tape.old, tape.time, tape.index, tape.at, tape.values, tape.times)
    return arrays, tape.code_base, tape.start, tape.first, tape.last, *steps


def census(
    device: Device,
    tape: Tape,
    steps: np.ndarray,
    redirects: np.ndarray,
    counts: np.ndarray,
    late: np.ndarray,
    refused: np.ndarray,
) -> None:
    """Count cycles; see ``graphprover.vm.kernels.census``."""
    arguments = _arguments(tape, steps, redirects)
    # Row ranges that run in parallel count separately. A range takes arrays that no other one uses, or new ones.
    free = [_Census(counts, late, refused)]
    made: list[_Census] = []

    def piece(begin: int, end: int) -> None:
        try:
            own = free.pop()
        except IndexError:
            own = _Census(counts, np.zeros_like(late), np.full_like(refused, columns.NO_STEP))
            made.append(own)
        _replay(*arguments, own, None, begin, end)
        free.append(own)

    _split(device, tape, piece)
    for own in made:
        np.add(late, own.late, out=late)
        np.minimum(refused, own.refused, out=refused)


def replay(
    device: Device, tape: Tape, steps: np.ndarray, redirects: np.ndarray, places: np.ndarray, cycles: Cycles
) -> None:
    """Write cycles; see ``graphprover.vm.kernels.replay``."""
    arguments = _arguments(tape, steps, redirects)
    written = _Places(places, **vars(cycles))

    def piece(begin: int, end: int) -> None:
        _replay(*arguments, None, written, begin, end)

    _split(device, tape, piece)
