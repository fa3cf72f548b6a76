"""Replays a cycle range, interval by interval: counts its cycles, or writes them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graphprover.device import Device
from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.host_call import MOST_FURTHER, SLOT_FURTHER
from graphprover.vm.accelerators.registry import ACCESS_OF, FIRST_NUMBER, FURTHER_OF, WAY_OF, WORDS_OF
from graphprover.vm.executor.operations import SIZES, computed, decoded, loaded, placed, stored, stored_behind, taken
from graphprover.vm.executor.record import INTERVAL, NO_REGISTER, REGISTERS
from graphprover.vm.kernels import tape as columns
from graphprover.vm.kernels.tape import FURTHER, UNPROVED, UNREACHED, WORD, Cycles, Tape
from graphprover.vm.program.io import EXIT
from graphprover.vm.program.isa import A1, Op
from graphprover.vm.tables import clock
from graphprover.vm.tables.bump import REACH
from graphprover.vm.traces.ways import FAR_BASE, WAYS, way_of_place, way_of_shift, way_of_sum

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


@njit(nogil=True, cache=True, error_model="numpy")
def _replay(tape, code_base, start, first, last, steps, redirects, census, written, begin, end):
    """Replay the intervals begin to end. ``census`` and ``written``: one of them is None."""
    code, old, times = tape.code, tape.old, tape.time
    x = np.zeros(NO_REGISTER + 1, dtype=np.uint64)
    t = np.zeros(NO_REGISTER + 1, dtype=np.uint64)
    if census is not None:
        late, refused = census.late, census.refused
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
            a = x[rs1]
            b = x[rs2]
            c = _0
            following = index + 1
            way = 0
            accesses = further = 0
            if op <= Op.BGEU:
                if rd != _U(NO_REGISTER):
                    c = placed(op, imm, _U(code_base) + _U(4 * index))
                if op == Op.JALR:
                    following = _I((((a + imm) & ~_1) - _U(code_base)) >> _U(2))
                    way = int(a >> _LIMB_BITS != _0)
                elif op >= Op.JAL:
                    jumps = taken(op, a, b)
                    way = int(not jumps)
                    if jumps:
                        following = index + _I(imm)
            elif op <= Op.SD:
                address = a + imm
                size = SIZES[op - Op.LB]
                shift = _8 * (address & _7)
                crosses = (address & _7) + size > _8
                accesses = 1 + int(crosses)
                way = way_of_place(address, size)
                if a >> _LIMB_BITS != _0:
                    way = FAR_BASE
                if op < Op.SB:
                    value = old[at] >> shift
                    if crosses:
                        value |= old[at + _1] << (_64 - shift)
                    c = loaded(op, value)
                elif cycle >= first and written is not None:
                    written.new[at] = stored(old[at], b, size, shift)
                    if crosses:
                        written.new[at + _1] = stored_behind(old[at + _1], b, size, shift)
            elif op == Op.ECALL:
                if a != _U(EXIT):
                    listed = a - _U(FIRST_NUMBER)
                    accesses = WORDS_OF[listed]
                    further = FURTHER_OF[listed]
                    way = WAY_OF[listed]
                    if cycle >= first and written is not None:
                        for i in range(further):
                            written.new[at + _U(i)] = x[A1 + i]
                            written.new[at + _U(MOST_FURTHER + i)] = t[A1 + i]
            elif op != Op.FENCE:
                c = computed(op, a, b + imm)
                way = way_of_sum(a, b, c) if op == Op.ADDI or op == Op.ADD else way_of_shift(b)
            place_of_step = _U(WAYS * index)
            if op == Op.ECALL:
                place_of_step = steps[place_of_step]
            step = steps[place_of_step + _U(way)]
            if step != _NO_STEP:
                step += redirects[step >> _LIMB_BITS]
            now = _SLOTS * _U(cycle + 1)
            d = x[rd]
            x[rd] = c
            if census is not None:
                t_a, t_b, t_d = t[rs1], t[rs2], t[rd]
                t[rs1] = now + _A
                t[rs2] = now + _B
                t[rd] = now + _D
                t[NO_REGISTER] = _NEVER
                if cycle >= first:
                    if step == _NO_STEP:
                        refused[UNPROVED] = min(refused[UNPROVED], _U(cycle))
                    else:
                        group = step >> _LIMB_BITS
                        own[group] += np.uint32(1)
                        if _I(now + _D - min(t_a, t_b, t_d)) > _I(_FAR):
                            _count_registers(late, refused, group, rd, rs1, rs2, t_a, t_b, t_d, now, cycle)
                        if op == Op.ECALL:
                            for i in range(further):
                                column = _U(FURTHER + i)
                                _count_late(late, refused, group, column, now + _FURTHER, t[A1 + i], cycle)
                            for i in range(accesses):
                                then = now + _U(ACCESS_OF[a - _U(FIRST_NUMBER), i, 2])
                                _count_late(late, refused, group, _U(WORD + i), then, times[at + _U(i)], cycle)
                        else:
                            for i in range(accesses):
                                column = _U(_LATE_M + i)
                                _count_late(late, refused, group, column, now + _M, times[at + _U(i)], cycle)
            if written is not None:
                t_a = t[rs1]
                t[rs1] = now + _A
                t[NO_REGISTER] = _0
                t_b = t[rs2]
                t[rs2] = now + _B
                t[NO_REGISTER] = _0
                t_d = t[rd]
                t[rd] = now + _D
                t[NO_REGISTER] = _0
                if cycle >= first and step != _NO_STEP:
                    group = step >> _LIMB_BITS
                    place = _U(own[group])
                    own[group] += np.uint32(1)
                    own_cycle = _U(cycle - first)
                    written.order[place] = own_cycle
                    row = written.rows[own_cycle]
                    row[_ROW_A] = a
                    row[_ROW_B] = b
                    row[_ROW_C] = c
                    row[_ROW_D] = d
                    row[_ROW_T_A] = t_a
                    row[_ROW_T_B] = t_b
                    row[_ROW_T_D] = t_d
                    row[_ROW_LAST] = step & _ENTRY | (at if accesses else _0) << _LIMB_BITS
            for i in range(further):
                t[A1 + i] = now + _FURTHER
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
