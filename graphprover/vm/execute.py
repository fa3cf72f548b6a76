"""Running a program: an Image and its input in, an Execution out, with or without the record for its tables."""

from dataclasses import dataclass

import numpy as np

from graphprover.vm import interpreter
from graphprover.vm.accelerators import words_of
from graphprover.vm.elf import Image
from graphprover.vm.faults import Fault, GuestFault
from graphprover.vm.interpreter import (
    ADDRESS,
    CALL_WORDS,
    CALLS,
    CROSSING,
    CYCLE,
    EXITED,
    FAULTS,
    FREE,
    INSTRUCTION,
    LOG_PAGE,
    MISALIGNED,
    PAGE_BYTES,
    PAGE_WORDS,
    State,
    Store,
    Trace,
)
from graphprover.vm.io import EXIT, INPUT_BASE, MAX_INPUT_BYTES, MAX_OUTPUT_BYTES, MEMORY_END, OUTPUT_BASE, region
from graphprover.vm.isa import A0, A7, ILLEGAL, Instruction, Op, decode, decode_all, disassemble, encode
from graphprover.vm.record import (
    NO_REGISTER,
    Call,
    Crossings,
    Memory,
    Record,
    Registers,
    accesses,
)

MAX_CYCLES = 1 << 32  # the record counts cycles in 32 bits
DEFAULT_CYCLES = 1 << 30
DEFAULT_MEMORY = 1 << 30


@dataclass(frozen=True, eq=False)
class Execution:
    """A program that has run to its exit."""

    image: Image
    input: bytes
    output: bytes
    exit_code: int  # a0 at the exit, 64 bits
    cycles: int  # instructions executed, the exit's ecall included
    counts: np.ndarray  # int64 (instructions of the image,), how often each was executed
    misaligned: int  # loads and stores at addresses that are no multiples of their size
    memory_bytes: int  # in pages of 4096 bytes that hold the program's data or the input, or were touched
    record: Record | None  # where asked for

    def mix(self) -> dict[Op, int]:
        """How often each operation was executed, most frequent first; operations that were not are left out."""
        ops = decode_all(self.image.code).op
        totals = np.bincount(ops, weights=self.counts, minlength=ILLEGAL + 1).astype(np.int64)
        return {op: int(totals[op]) for op in sorted(Op, key=lambda op: -totals[op]) if totals[op]}


def execute(
    image: Image,
    data: bytes = b"",
    *,
    max_cycles: int = DEFAULT_CYCLES,
    max_memory: int = DEFAULT_MEMORY,
    record: bool = False,
) -> Execution:
    """Run ``image`` on the input ``data`` until it exits.

    With ``record`` it runs twice: first to learn how long the record is. Raises GuestFault for what the guest does
    wrong, and where it runs for more than ``max_cycles`` instructions or touches more than ``max_memory`` bytes (its
    data and the input included, in whole pages); ValueError for an input or limits that cannot be.
    """
    if len(data) > MAX_INPUT_BYTES:
        raise ValueError(f"an input of {len(data):,} bytes; {MAX_INPUT_BYTES:,} have a place")
    if not 0 < max_cycles < MAX_CYCLES:
        raise ValueError(f"a limit of {max_cycles:,} cycles is not in 1 .. 2^32 - 1")
    machine = _Machine(image, data, max_cycles, max_memory)
    machine.run()
    if not record:
        return machine.execution(None)
    trace = machine.empty_trace()
    again = _Machine(image, data, max_cycles, max_memory)
    again.run(trace)
    return again.execution(again.record(trace))


def prepare() -> None:
    """Compile the interpreter, or load it, so that what runs next can be timed."""
    leave = [encode(Instruction(Op.ADDI, rd=A7, imm=EXIT)), encode(Instruction(Op.ECALL))]
    none = np.zeros(0, dtype=np.uint64)
    execute(Image(0, 0, np.array(leave, dtype=np.uint32), none, none, 8), max_memory=1 << 16)


class _Machine:
    """One run: what the interpreter changes in place, and the host's part."""

    def __init__(self, image: Image, data: bytes, max_cycles: int, max_memory: int) -> None:
        self.image, self.data, self.max_cycles, self.max_memory = image, data, max_cycles, max_memory
        code = decode_all(image.code)
        self.code = interpreter.predecode(code, accesses(code))
        visits = np.zeros(len(image.code) + 2, dtype=np.int64)
        self.state = State(np.zeros(NO_REGISTER + 1, np.uint64), np.zeros(8, np.int64), visits)
        self.state.position[INSTRUCTION] = (image.entry - image.code_base) // 4
        inputs = region(data)
        places = INPUT_BASE + 8 * np.arange(len(inputs), dtype=np.uint64)
        self.initial_addresses = np.concatenate([image.addresses, places])  # rising; all other words are zero
        self.initial_values = np.concatenate([image.values, inputs])
        self.store = self._store()

    def _store(self) -> Store:
        """Memory as it is at the start."""
        image = self.image
        border = image.zero_base >> LOG_PAGE
        pages = self.initial_addresses >> LOG_PAGE
        owners = np.union1d(pages, np.uint64(border))
        bases = PAGE_WORDS * np.arange(1, len(owners) + 1)
        self.state.position[FREE] = len(owners) + 1
        limit = min(self.max_memory, MEMORY_END) // PAGE_BYTES
        if len(owners) > limit:
            raise self._fault(Fault.MEMORY_LIMIT, f"{self.max_memory:,} bytes, less than program and input need")
        store = Store(
            np.zeros(MEMORY_END >> LOG_PAGE, dtype=np.int64),
            np.zeros(PAGE_WORDS * (limit + 1), dtype=np.uint64),
            np.zeros(limit + 1, dtype=np.uint32),
            image.addresses,
            image.zero_base,
            image.code_base,
            image.code_end,
        )
        store.owners[1 : len(owners) + 1] = owners
        number = np.searchsorted(owners, pages)
        store.pool[bases[number] + (self.initial_addresses >> 3).astype(np.int64) % PAGE_WORDS] = self.initial_values
        # The interpreter must look closely at pages of which some words do not exist or are code.
        existing = np.bincount(number, minlength=len(owners))
        existing[owners == border] += (PAGE_BYTES - image.zero_base % PAGE_BYTES) // 8
        partial = (existing < PAGE_WORDS) & (owners <= border)
        code = (owners >= image.code_base >> LOG_PAGE) & (owners <= (image.code_end - 1) >> LOG_PAGE)
        store.pages[owners] = np.where(partial | code, -bases, bases)
        return store

    def run(self, trace: Trace | None = None) -> None:
        """Run to the exit; raises GuestFault."""
        status = interpreter.run(self.code, self.state, self.store, self.max_cycles, trace)
        if status != EXITED:
            raise self._guest_fault(FAULTS[status])

    def _guest_fault(self, fault: Fault) -> GuestFault:
        """The fault of the instruction that the interpreter stopped at."""
        index = int(self.state.position[INSTRUCTION])
        if index == len(self.image.code):
            return self._fault(Fault.JUMP_OUTSIDE_CODE, f"to {self.image.code_end:#x}", after=1)
        if fault == Fault.JUMP_OUTSIDE_CODE:
            pc = self.image.code_base + 4 * index
            jump = decode(int(self.image.code[index]), pc)
            assert jump is not None
            start = int(self.state.registers[jump.rs1]) if jump.op == Op.JALR else pc
            target = (start + jump.imm) % 2**64 & ~1
            return self._fault(Fault.MISALIGNED_JUMP if target % 4 else fault, f"to {target:#x}")
        address = f"{int(self.state.position[ADDRESS]) % 2**64:#x}"
        details = {
            Fault.STORE_INTO_CODE: address,
            Fault.ADDRESS_TOO_LARGE: address,
            Fault.UNMAPPED_ADDRESS: address,
            Fault.MISALIGNED_HOST_CALL: address,
            Fault.UNKNOWN_HOST_CALL: str(int(self.state.registers[A7])),
            Fault.CYCLE_LIMIT: f"{self.max_cycles:,}",
            Fault.MEMORY_LIMIT: f"{self.max_memory:,} bytes",
        }
        return self._fault(fault, details.get(fault, ""))

    def _fault(self, fault: Fault, detail: str, after: int = 0) -> GuestFault:
        """A fault of the next instruction, or of the one ``after`` = 1 before."""
        index = int(self.state.position[INSTRUCTION]) - after
        pc = self.image.code_base + 4 * index
        line = disassemble(int(self.image.code[index]), pc)
        return GuestFault(fault, pc, line, int(self.state.position[CYCLE]) - after, detail)

    def _words(self, start: int, count: int) -> np.ndarray:
        """``count`` words from an address on."""
        words = np.uint64(start >> 3) + np.arange(count, dtype=np.uint64)
        bases = np.abs(self.store.pages[words // PAGE_WORDS])
        return np.where(bases > 0, self.store.pool[bases + (words % PAGE_WORDS).astype(np.int64)], 0)

    def execution(self, record: Record | None) -> Execution:
        """What has been run."""
        position = self.state.position
        length = int(self._words(OUTPUT_BASE, 1)[0])
        if length > min(MAX_OUTPUT_BYTES, self.max_memory):
            raise self._fault(Fault.OUTPUT_LENGTH, f"{length:,} bytes", after=1)
        output = self._words(OUTPUT_BASE + 8, -(-length // 8)).astype("<u8").tobytes()[:length]
        return Execution(
            self.image,
            self.data,
            output,
            int(self.state.registers[A0]),
            int(position[CYCLE]),
            np.cumsum(self.state.visits)[: len(self.image.code)],
            int(position[MISALIGNED]),
            PAGE_BYTES * (int(position[FREE]) - 1),
            record,
        )

    def empty_trace(self) -> Trace:
        """Room for a run as long as this one was."""
        cycles, crossings, calls, words = self.state.position[[CYCLE, CROSSING, CALLS, CALL_WORDS]].tolist()
        return Trace._make(
            [
                np.zeros(cycles + 1, dtype=np.uint32),
                *(np.zeros(cycles, dtype=np.uint64) for _ in range(10)),
                np.zeros(crossings, dtype=np.uint32),
                *(np.zeros(crossings, dtype=np.uint64) for _ in range(3)),
                np.zeros(calls, dtype=np.uint32),
                *(np.zeros(calls, dtype=np.uint64) for _ in range(2)),
                *(np.zeros(words, dtype=np.uint64) for _ in range(3)),
                np.zeros(NO_REGISTER + 1, dtype=np.uint64),
                np.zeros(len(self.store.pool), dtype=np.uint64),
            ]
        )

    def record(self, trace: Trace) -> Record:
        """The record of a run that has filled ``trace``."""
        trace.instruction[-1] = trace.instruction[-2]
        return Record(
            trace.instruction[:-1],
            trace.instruction[1:],
            *trace[1:11],
            Crossings(*trace[11:15]),
            _calls(trace),
            Registers(self.state.registers[:NO_REGISTER], trace.registers[:NO_REGISTER]),
            self._memory(trace.pool),
        )

    def _memory(self, times: np.ndarray) -> Memory:
        used = PAGE_WORDS * int(self.state.position[FREE])
        places = np.flatnonzero(times[:used])
        addresses = self.store.owners[places // PAGE_WORDS].astype(np.uint64) * PAGE_BYTES
        addresses += 8 * (places % PAGE_WORDS).astype(np.uint64)
        order = np.argsort(addresses)
        addresses, places = addresses[order], places[order]
        initial = np.zeros(len(addresses), dtype=np.uint64)
        _, here, there = np.intersect1d(addresses, self.initial_addresses, assume_unique=True, return_indices=True)
        initial[here] = self.initial_values[there]
        return Memory(addresses, initial, self.store.pool[places], times[places])


def _calls(trace: Trace) -> tuple[Call, ...]:
    sizes = {number: words_of(np.uint64(number)) for number in np.unique(trace.call_number).tolist()}
    calls, first = [], 0
    heads = zip(trace.call_cycle.tolist(), trace.call_number.tolist(), trace.call_address.tolist(), strict=True)
    for cycle, number, address in heads:
        words = slice(first, first + sizes[number])
        calls.append(Call(cycle, number, address, trace.call_old[words], trace.call_new[words], trace.call_t[words]))
        first = words.stop
    return tuple(calls)
