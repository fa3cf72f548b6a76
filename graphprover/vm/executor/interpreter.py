"""The machine's inner loop, compiled: RV64IM and Zicclsm (misaligned loads and stores) on predecoded instructions.

Memory is a pool of pages of 512 words that are allocated when they are touched. ``pages`` gives for each of the 2^20
pages below 2^32 the index of its first word in the pool, 0 for none (the pool's first page is never used). The index is
negated if only some words of the page exist or some are code.

Registers: 0..31, SINK, and NO_REGISTER, which holds 0 and time 0.
"""

from typing import NamedTuple

import numpy as np

from graphprover.runtime.numba_cache import borrowed, call, njit
from graphprover.vm.accelerators.execute import change
from graphprover.vm.accelerators.host_call import SLOT_FURTHER
from graphprover.vm.accelerators.registry import ACCESS_OF, APART_OF, FIRST_NUMBER, FURTHER_OF, LISTED, WORDS_OF
from graphprover.vm.executor.faults import Fault
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
from graphprover.vm.executor.predecode import END
from graphprover.vm.executor.record import INTERVAL, LOG_INTERVAL, NO_REGISTER, REGISTERS
from graphprover.vm.profile.calls import enter
from graphprover.vm.profile.counters import count_instruction, touch, touch_of_call
from graphprover.vm.program.io import EXIT, MEMORY_END, RANDOM_SEED
from graphprover.vm.program.isa import A0, A1, ILLEGAL, Op
from graphprover.vm.tables.clock import SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY, clock_of, time_of
from graphprover.vm.traces.ways import way_of, way_of_call

PAGE_WORDS = 512
PAGE_BYTES = 8 * PAGE_WORDS
LOG_PAGE = 12
SEED_PAGE = RANDOM_SEED >> LOG_PAGE

RUNNING, EXITED, _AT_BLOCK, PRINTED, NEEDS_SEED = -1, -2, -3, -4, -5  # status beside the number of a fault
FAULTS = tuple(Fault)
_ILLEGAL_INSTRUCTION = FAULTS.index(Fault.ILLEGAL_INSTRUCTION)
_BREAKPOINT = FAULTS.index(Fault.BREAKPOINT)
_JUMP_OUTSIDE_CODE = FAULTS.index(Fault.JUMP_OUTSIDE_CODE)
_STORE_INTO_CODE = FAULTS.index(Fault.STORE_INTO_CODE)
_ADDRESS_TOO_LARGE = FAULTS.index(Fault.ADDRESS_TOO_LARGE)
_UNMAPPED_ADDRESS = FAULTS.index(Fault.UNMAPPED_ADDRESS)
_CYCLE_LIMIT = FAULTS.index(Fault.CYCLE_LIMIT)
_MEMORY_LIMIT = FAULTS.index(Fault.MEMORY_LIMIT)
_UNKNOWN_HOST_CALL = FAULTS.index(Fault.UNKNOWN_HOST_CALL)
_MISALIGNED_HOST_CALL = FAULTS.index(Fault.MISALIGNED_HOST_CALL)
_OVERLAPPING_OPERANDS = FAULTS.index(Fault.OVERLAPPING_OPERANDS)
_NO_RESULT = FAULTS.index(Fault.NO_RESULT)

SP = 2  # the stack pointer
_NEAR = 32  # instructions
_NEVER = 1 << 62

_U = np.uint64
_I = np.int64
_0, _1, _3, _7, _8, _64 = map(np.uint64, (0, 1, 3, 7, 8, 64))
_clock_of, _time_of = njit(nogil=True)(clock_of), njit(nogil=True)(time_of)


class State(NamedTuple):
    """Registers and position; changed in place."""

    registers: np.ndarray  # uint64 (34,)
    position: np.ndarray  # int64 (7,): see below
    visits: np.ndarray  # int64 (instructions + 2,): its running sum counts how often each instruction ran
    places: np.ndarray  # int64 (MOST_WORDS,), in the pool, of the words of a host call
    words: np.ndarray  # uint64 (MOST_WORDS,), which a host call accesses


# Next instruction; counts so far of cycles, misaligned accesses and accesses of recorded words; the first free page of
# the pool; the address of a faulty access; cycles so far in compiled blocks.
INSTRUCTION, CYCLE, MISALIGNED, ACCESSES, FREE, ADDRESS, IN_BLOCKS = range(7)


class Store(NamedTuple):
    """Memory."""

    pages: np.ndarray  # int64 (2^20,)
    pool: np.ndarray  # uint64, words
    owners: np.ndarray  # uint32, the page of 2^20 of each page of the pool
    there: np.ndarray  # bool: whether the words of the pool's pages up to ``zero_base``'s exist
    zero_base: int
    code_base: int
    code_end: int


class Tape(NamedTuple):
    """The record in progress: the arrays of `record.Record`, with room for the rest, and the times of all last
    accesses.
    """

    old: np.ndarray  # uint64
    time: np.ndarray  # uint64
    instruction: np.ndarray  # uint32, `Record.index`
    at: np.ndarray  # uint64
    values: np.ndarray  # uint64 (snapshots, REGISTERS)
    times: np.ndarray  # uint64 (snapshots, REGISTERS)
    registers: np.ndarray  # uint64 (34,), times of the last accesses
    pool: np.ndarray  # uint64, times of the last accesses of the words of the pool


class Blocks(NamedTuple):
    """Compiled blocks of the program (`native`)."""

    entries: np.ndarray  # int32 (instructions + 2,), not 0 if a block begins there
    address: int  # of the compiled function
    arguments: np.ndarray  # uint64, addresses of its data: `translate.ARGUMENTS`


@njit(nogil=True, cache=True)
def _take(store, state, word):
    """Return (status, place in the pool) of the aligned word at an address; a new page is allocated.

    The page of the random seed is the caller's of `run` to allocate.
    """
    page = word >> _U(LOG_PAGE)
    base = store.pages[page]
    offset = _I(word >> _3) % PAGE_WORDS
    if word < _U(store.zero_base):
        if base == 0 or (base < 0 and not store.there[offset - base]):
            return _UNMAPPED_ADDRESS, 0
    elif base == 0:
        if page == _U(SEED_PAGE):
            return NEEDS_SEED, 0
        free = state.position[FREE]
        if PAGE_WORDS * (free + 1) > len(store.pool):
            return _MEMORY_LIMIT, 0
        state.position[FREE] = free + 1
        store.owners[free] = page
        base = store.pages[page] = PAGE_WORDS * free
    return RUNNING, abs(base) + offset


@njit(nogil=True, cache=True)
def locate(store, state, address, size, write):
    """Return (status, i, j): places in the pool of the first and the last word that an access of ``size`` bytes
    touches.
    """
    if address > _U(MEMORY_END) - size:
        return _ADDRESS_TOO_LARGE, 0, 0
    if write and address < _U(store.code_end) and address + size > _U(store.code_base):
        return _STORE_INTO_CODE, 0, 0
    status, i = _take(store, state, address & ~_7)
    if status != RUNNING:
        return status, 0, 0
    status, j = _take(store, state, (address + size - _1) & ~_7)
    return status, i, j


@njit(nogil=True, cache=True, forceinline=True)
def _access(tape, n, place, old, cycle, slot):
    """Record the n-th access, to a word of the pool."""
    tape.old[_U(n)] = old
    tape.time[_U(n)] = tape.pool[_U(place)]
    tape.pool[_U(place)] = _U(_time_of(_clock_of(cycle), slot))


@njit(nogil=True, cache=True)
def _locate_call(store, state, listed):
    """Find and read the words of a host call; return the status. A fault's address is in ``state``."""
    x, accesses, places, words = state.registers, ACCESS_OF[listed], state.places, state.words
    base = place = 0
    for k in range(WORDS_OF[listed]):
        pointer, offset = accesses[k, 0], accesses[k, 1]
        word = x[A0 + pointer] + _8 * _U(offset)
        if offset != 0 and base > 0 and word & _U(PAGE_BYTES - 1):
            place += 1
        else:
            base = store.pages[word >> _U(LOG_PAGE)] if word < _U(MEMORY_END) else 0
            if base > 0:
                place = int(base + _I(word >> _3) % PAGE_WORDS)
            else:
                status, place, _ = locate(store, state, word, _8, pointer == 0)
                if status != RUNNING:
                    state.position[ADDRESS] = _I(x[A0 + pointer])
                    return status
        places[k] = place
        words[k] = store.pool[_U(place)]
    return RUNNING


@njit(nogil=True, cache=True)
def _result_of_call(store, state, number):
    """Find the result of a host call, `State.words`; return the status. A fault's address is in ``state``."""
    if number == _U(EXIT):
        return EXITED
    listed = number - _U(FIRST_NUMBER)
    size = WORDS_OF[listed] if listed < _U(LISTED) else 0
    if size == 0:
        return _UNKNOWN_HOST_CALL
    x, accesses = state.registers, ACCESS_OF[listed]
    for k in range(size):
        address = x[A0 + accesses[k, 0]]
        state.position[ADDRESS] = _I(address)
        if address & _7:
            return _MISALIGNED_HOST_CALL
    one, other, apart = APART_OF[listed, 0], APART_OF[listed, 1], APART_OF[listed, 2]
    if abs(_I(x[A0 + one] - x[A0 + other])) < apart:
        state.position[ADDRESS] = _I(x[A0 + other])
        return _OVERLAPPING_OPERANDS
    status = _locate_call(store, state, listed)
    if status == RUNNING and not change(number, state.words):
        state.position[ADDRESS] = _I(x[A0])
        return _NO_RESULT
    return status


@njit(nogil=True, cache=True)
def _call(store, state, tape, counters, number, access):
    """Execute a host call; ``access``: the number of its first access, and the cycle.

    Return the status, the number of recorded accesses, and of late ones for a profile.
    """
    status = _result_of_call(store, state, number)
    if status != RUNNING:
        return status, 0, 0
    n, cycle = access
    listed = number - _U(FIRST_NUMBER)
    size, accesses = WORDS_OF[listed], ACCESS_OF[listed]
    for k in range(size):
        place = state.places[k]
        if tape is not None:
            _access(tape, n + k, place, store.pool[_U(place)], cycle, accesses[k, 2])
        if accesses[k, 0] == 0:
            store.pool[_U(place)] = state.words[k]
    if tape is not None:
        for k in range(A1, A1 + FURTHER_OF[listed]):
            tape.registers[k] = _U(_time_of(_clock_of(cycle), SLOT_FURTHER))
    late = 0
    if counters is not None:
        late = touch_of_call(counters, listed, state.places, cycle)
    return RUNNING, size, late


@njit(nogil=True, cache=True, forceinline=True)
def _jump(op, a, b, imm, index, length, store, visits, entries):
    """Take a jump or branch: return the status, the next instruction, and whether it is the target."""
    if not taken(op, a, b):
        return RUNNING, index + 1, False
    following = target(op, a, imm, index, store.code_base)
    if following < 0 or following >= length:
        return _JUMP_OUTSIDE_CODE, index + 1, True
    visits[following] += 1
    visits[index + 1] -= 1
    return RUNNING if entries[following] == 0 else _AT_BLOCK, following, True


@njit(nogil=True, cache=True, forceinline=True)
def _find(store, state, address, size, write):
    """Return what `locate` does, without its checks if the access is to one word of an ordinary page."""
    base = 0
    if address < _U(MEMORY_END):
        base = store.pages[address >> _U(LOG_PAGE)]
    if base > 0 and (address & _7) + size <= _8:
        place = base + _I(address >> _3) % PAGE_WORDS
        return RUNNING, place, place
    status, i, j = locate(store, state, address, size, write)
    if status != RUNNING:
        state.position[ADDRESS] = _I(address)
    return status, i, j


@njit(nogil=True, cache=True, forceinline=True)
def _load_or_store(store, state, tape, counters, op, address, b, access):
    """Execute a load or store; ``access``: the number of its first access, and the cycle.

    Return the status, the loaded value, the number of recorded accesses, and of late ones for a profile.
    """
    n, cycle = access
    size, shift = SIZES[op - Op.LB], _8 * (address & _7)
    status, i, j = _find(store, state, address, size, op >= Op.SB)
    if status != RUNNING:
        return status, _0, 0, 0
    pool = store.pool
    c, old, far, crosses = _0, pool[i], pool[j], i != j
    if op < Op.SB:
        c = loaded(op, old >> shift | (far << (_64 - shift) if crosses else _0))
    else:
        pool[i] = stored(old, b, size, shift)
        if crosses:
            pool[j] = stored_behind(far, b, size, shift)
    recorded = late = 0
    if tape is not None:
        recorded = 1 + int(crosses)
        _access(tape, n, i, old, cycle, SLOT_MEMORY)
        if crosses:
            _access(tape, n + 1, j, far, cycle, SLOT_MEMORY)
    if counters is not None:
        late = touch(counters.pool, i, cycle)
        if crosses:
            late += touch(counters.pool, j, cycle)
    return RUNNING, c, recorded, late


@njit(nogil=True, cache=True, forceinline=True)
def _fault_of(op):
    """Return the fault of an operation that no program can execute; RUNNING of any other."""
    if op == Op.EBREAK:
        return _BREAKPOINT
    if op == ILLEGAL:
        return _ILLEGAL_INSTRUCTION
    return _JUMP_OUTSIDE_CODE if op == END else RUNNING


@njit(nogil=True, cache=True, forceinline=True)
def _note(tape, rd, rs1, rs2, cycle):
    """Note the time at which an instruction has accessed its registers."""
    now = _U(_time_of(_clock_of(cycle)))
    tape.registers[rs1] = now + _U(SLOT_A)
    tape.registers[rs2] = now + _U(SLOT_B)
    tape.registers[rd] = now + _U(SLOT_D)


@njit(nogil=True, cache=True, forceinline=True)
def _finish(code, visits, tape, index, cycle, count):
    """Account for an ended block, left before ``index`` with this number of instructions of an unfinished one."""
    visits[index - count] += 1
    visits[index] -= 1
    if tape is not None:
        for back in range(count, 0, -1):
            _, rd, rs1, rs2, _ = decoded(code[index - back])
            _note(tape, rd, rs1, rs2, cycle - back)


@njit(nogil=True, cache=True, forceinline=True)
def _to_block(entries, index):
    """Return how many instructions, at least one, precede the next start of a block; _NEVER for many."""
    for count in range(1, min(_NEAR, len(entries) - index)):
        if entries[index + count] != 0:
            return count
    return _NEVER


@njit(nogil=True, cache=True, forceinline=True)
def _resumed(position):
    """Return the next instruction, and the counts of cycles, misaligned and recorded accesses."""
    return position[INSTRUCTION], position[CYCLE], position[MISALIGNED], position[ACCESSES]


@njit(nogil=True, cache=True, forceinline=True)
def _stop(position, index, cycle, misaligned, accesses):
    """Write what `_resumed` returns."""
    position[INSTRUCTION], position[CYCLE] = index, cycle
    position[MISALIGNED], position[ACCESSES] = misaligned, accesses


@njit(nogil=True, cache=True, forceinline=True)
def _snapshot(tape, registers, index, cycle, accesses):
    n = cycle >> LOG_INTERVAL
    tape.instruction[n] = index
    tape.at[n] = accesses
    for register in range(REGISTERS):  # Numba takes 4 s to compile an assignment of slices
        tape.values[n, register] = registers[register]
        tape.times[n, register] = tape.registers[register]


@njit(nogil=True, cache=True, error_model="numpy")
def run(code, state, store, limit, tape, counters, blocks):
    """Execute until something is up to the caller; return the status.

    It is EXITED; the index in FAULTS of a fault; PRINTED, behind a DEBUG_PRINT; or NEEDS_SEED, before the first access
    to SEED_PAGE, which is to be allocated.

    ``code`` is `predecode`'s, with ``prints`` to return behind each DEBUG_PRINT; ``tape`` is None or a `Tape` with room
    until the limit; ``counters`` is None or the `Counters` of a profile, which sees no cycles of ``blocks``. Numba
    compiles each combination without the branches of the others: flags in place of None would cost a plain run 3 to
    56 % of its speed. A faulty instruction has changed neither registers nor the contents of memory.
    """
    code, state, store, blocks = borrowed(code), borrowed(state), borrowed(store), borrowed(blocks)
    # Other names, because Numba tells None only from arguments.
    record, profile = borrowed(tape), borrowed(counters)
    x, position, visits, entries = state.registers, state.position, state.visits, blocks.entries
    index, cycle, misaligned, accesses = _resumed(position)
    status, left = _CYCLE_LIMIT, -1
    visits[index] += 1
    if counters is not None:
        here = enter(profile.calls, index, profile.room)
    while status == _CYCLE_LIMIT and cycle < limit:
        end = stop = limit
        if tape is not None:
            end = stop = min(limit, cycle - cycle % INTERVAL + INTERVAL)
            if cycle % INTERVAL == 0:
                _snapshot(record, x, index, cycle, accesses)
        status = _AT_BLOCK
        if entries[index] == 0 or cycle == left:
            stop = min(end, cycle + _to_block(entries, index))
            status = RUNNING
        while status == RUNNING:
            if cycle >= stop:
                status = _CYCLE_LIMIT
                break
            op, rd, rs1, rs2, imm = decoded(code[index])
            a, b, c = x[rs1], x[rs2], _0
            following, jumps, late = index + 1, False, 0
            if op <= Op.BGEU:
                if rd != _U(NO_REGISTER):
                    c = placed(op, imm, _U(store.code_base) + _U(4 * index))
                if op >= Op.JAL:
                    status, following, jumps = _jump(op, a, b, imm, index, len(code) - 1, store, visits, entries)
            elif op <= Op.SD:
                address = a + imm
                access = accesses, cycle
                status, c, recorded, late = _load_or_store(store, state, record, profile, op, address, b, access)
                accesses += recorded
                misaligned += _I(status == RUNNING and (address & (SIZES[op - Op.LB] - _1)) != _0)
            elif op == Op.FENCE:
                status = RUNNING if imm == _0 else PRINTED
            elif op == Op.ECALL:
                status, recorded, late = _call(store, state, record, profile, a, (accesses, cycle))
                accesses += recorded
            elif op == Op.EBREAK or op >= ILLEGAL:
                status = _fault_of(op)
            else:
                c = computed(op, a, b + imm)
            if status >= 0 or status == NEEDS_SEED:
                break
            x[rd] = c
            if tape is not None:
                _note(record, rd, rs1, rs2, cycle)
            if counters is not None:
                way = way_of_call(a) if op == Op.ECALL else way_of(op, a, b, c, imm, jumps)
                here = count_instruction(profile, here, op, rd, rs1, rs2, way, late, index, following, x[SP], cycle)
            cycle += 1
            index = following
        if status == _AT_BLOCK:
            visits[index] -= 1
            _stop(position, index, cycle, misaligned, accesses)
            unfinished = call(blocks.address, _I(blocks.arguments.ctypes.data), end)
            position[IN_BLOCKS] += position[CYCLE] - cycle
            index, cycle, misaligned, accesses = _resumed(position)
            _finish(code, visits, record, index, cycle, unfinished)
            visits[index] += 1
            status, left = _CYCLE_LIMIT, cycle
    visits[index] -= 1
    _stop(position, index, cycle, misaligned, accesses)
    return status
