"""Running a program: an Image and its input in, an Execution out, with or without the record for its tables."""

import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphprover.device.host_memory import host_memory
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
from graphprover.vm.profile.counters import Counters
from graphprover.vm.record import (
    NO_REGISTER,
    Call,
    Crossings,
    Memory,
    Record,
    Registers,
    registers_accessed,
)
from graphprover.vm.symbols import function_at

MAX_CYCLES = 1 << 32  # the record counts cycles in 32 bits
DEFAULT_CYCLES = 1 << 30
DEFAULT_MEMORY = 1 << 30  # without a record
SLICE = 1 << 19  # cycles between looks at signals; as host calls these are half a second
CALL_BYTES = 1 << 10  # of a Call, beside its words
BLOCK = 256  # pages whose words are listed at once


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
    memory_bytes: int  # of pages that hold the program's data or the input or were touched, and of the output
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
    max_memory: int | None = None,
    record: bool = False,
) -> Execution:
    """Run ``image`` on the input ``data`` until it exits.

    With ``record`` it runs twice: first to learn how long the record is. ``max_memory`` bounds what that takes of the
    host, in bytes: pages of 4096 bytes with the program's data or the input, or touched; the output; the record. The
    default is DEFAULT_MEMORY, and with ``record`` half of what the computer has.

    Raises GuestFault for what the guest does wrong, and where it passes a limit; ValueError for an input or limits that
    cannot be. A signal's handler runs within SLICE cycles, and what it raises ends the run.
    """
    _check(data, max_cycles)
    if max_memory is None:
        max_memory = half_of_memory() if record else DEFAULT_MEMORY
    first = _Run(image, data, max_cycles, max_memory)
    first.run()
    if not record:
        return first.execution(None)
    room = first.room()
    del first  # and with it its memory
    trace = Trace._make(np.zeros(length, dtype=dtype) for length, dtype in room)
    again = _Run(image, data, max_cycles, max_memory)
    again.run(trace)
    return again.execution(again.record(trace))


def _check(data: bytes, max_cycles: int) -> None:
    if len(data) > MAX_INPUT_BYTES:
        raise ValueError(f"an input of {len(data):,} bytes; {MAX_INPUT_BYTES:,} have a place")
    if not 0 < max_cycles < MAX_CYCLES:
        raise ValueError(f"a limit of {max_cycles:,} cycles is not in 1 .. 2^32 - 1")


def execute_counting(
    image: Image,
    data: bytes,
    start: Callable[[int], Counters],
    watch: Callable[[Counters], None],
    *,
    max_cycles: int = DEFAULT_CYCLES,
    max_memory: int = DEFAULT_MEMORY,
) -> tuple[Execution, Memory]:
    """Run as `execute` does, and count for a profile; gives also the words that were accessed.

    ``start`` makes the counters for a pool of so many words; ``watch`` sees them after each slice. ``max_memory`` does
    not bound what these take, but they take no more for a word than the word does, and nothing for a cycle.
    """
    _check(data, max_cycles)
    run = _Run(image, data, max_cycles, max_memory)
    counters = start(len(run.store.pool))
    run.run(counters=counters, watch=watch)
    return run.execution(None), run.memory(counters.pool[: PAGE_WORDS * (run.pages + 1)])


def half_of_memory() -> int:
    """Half of the bytes of memory that this process may have."""
    return host_memory() // 2


def smallest() -> Image:
    """A program that does nothing but exit."""
    leave = [encode(Instruction(Op.ADDI, rd=A7, imm=EXIT)), encode(Instruction(Op.ECALL))]
    none = np.zeros(0, dtype=np.uint64)
    return Image(0, 0, np.array(leave, dtype=np.uint32), none, none, 8)


def prepare() -> None:
    """Compile the interpreter, or load it, so that what runs next can be timed."""
    execute(smallest(), max_memory=1 << 16)


class _Run:
    """One run: what the interpreter changes in place, and the host's part."""

    def __init__(self, image: Image, data: bytes, max_cycles: int, max_memory: int) -> None:
        self.image, self.data, self.max_cycles, self.max_memory = image, data, max_cycles, max_memory
        code = decode_all(image.code)
        self.code = interpreter.predecode(code, registers_accessed(code))
        visits = np.zeros(len(image.code) + 2, dtype=np.int64)
        self.state = State(np.zeros(NO_REGISTER + 1, np.uint64), np.zeros(8, np.int64), visits)
        self.state.position[INSTRUCTION] = (image.entry - image.code_base) // 4
        self.store = self._store()

    def _store(self) -> Store:
        """Memory as it is at the start."""
        image = self.image
        border = image.zero_base >> LOG_PAGE
        first_input, last_input = INPUT_BASE >> LOG_PAGE, (INPUT_BASE + 7 + len(self.data)) >> LOG_PAGE
        pages = image.addresses >> LOG_PAGE
        others = np.array([border, *range(first_input, last_input + 1)], dtype=np.uint64)
        owners = np.union1d(pages, others)
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
        store.pool[bases[number] + (image.addresses >> 3).astype(np.int64) % PAGE_WORDS] = image.values
        self.inputs = region(self.data)
        start = bases[np.searchsorted(owners, first_input)]  # its pages follow one another here, too
        store.pool[start : start + len(self.inputs)] = self.inputs
        # The interpreter must look closely at pages of which some words do not exist or are code.
        existing = np.bincount(number, minlength=len(owners))
        existing[owners == border] += (PAGE_BYTES - image.zero_base % PAGE_BYTES) // 8
        partial = (existing < PAGE_WORDS) & (owners <= border)
        code = (owners >= image.code_base >> LOG_PAGE) & (owners <= (image.code_end - 1) >> LOG_PAGE)
        store.pages[owners] = np.where(partial | code, -bases, bases)
        return store

    def run(
        self,
        trace: Trace | None = None,
        counters: Counters | None = None,
        watch: Callable[[Counters], None] | None = None,
    ) -> None:
        """Run to the exit; raises GuestFault. In slices, so that signals are handled in between."""
        while True:
            end = min(int(self.state.position[CYCLE]) + SLICE, self.max_cycles)
            status = interpreter.run(self.code, self.state, self.store, end, trace, counters)
            if counters is not None and watch is not None:
                watch(counters)
            if status == EXITED:
                return
            if FAULTS[status] is not Fault.CYCLE_LIMIT or end == self.max_cycles:
                raise self._guest_fault(FAULTS[status])

    def _guest_fault(self, fault: Fault) -> GuestFault:
        """The fault of the instruction that the interpreter stopped at."""
        index = int(self.state.position[INSTRUCTION])
        output = self._output_until_now()
        if index == len(self.image.code):
            return self._fault(Fault.JUMP_OUTSIDE_CODE, f"to {self.image.code_end:#x}", after=1, output=output)
        if fault == Fault.JUMP_OUTSIDE_CODE:
            pc = self.image.code_base + 4 * index
            jump = decode(int(self.image.code[index]), pc)
            assert jump is not None
            start = int(self.state.registers[jump.rs1]) if jump.op == Op.JALR else pc
            target = (start + jump.imm) % 2**64 & ~1
            fault = Fault.MISALIGNED_JUMP if target % 4 else fault
            return self._fault(fault, f"to {target:#x}", output=output)
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
        return self._fault(fault, details.get(fault, ""), output=output)

    def _fault(self, fault: Fault, detail: str, after: int = 0, output: bytes = b"") -> GuestFault:
        """A fault of the next instruction, or of the one ``after`` = 1 before."""
        index = int(self.state.position[INSTRUCTION]) - after
        pc = self.image.code_base + 4 * index
        line = disassemble(int(self.image.code[index]), pc)
        cycles = int(self.state.position[CYCLE]) - after
        return GuestFault(fault, pc, line, cycles, detail, function_at(self.image.file, pc), output)

    @property
    def pages(self) -> int:
        """How many pages were taken."""
        return int(self.state.position[FREE]) - 1

    def _output_length(self) -> int:
        """In bytes; raises GuestFault where it is impossible or passes the limit."""
        length = int(self._page(OUTPUT_BASE)[0])
        if length > MAX_OUTPUT_BYTES:
            raise self._fault(Fault.OUTPUT_LENGTH, f"{length:,} bytes", after=1)
        if length + PAGE_BYTES * self.pages > self.max_memory:
            detail = f"{self.max_memory:,} bytes, with an output of {length:,}"
            raise self._fault(Fault.MEMORY_LIMIT, detail, after=1)
        return length

    def _output(self) -> bytes:
        """What lies in the output's region, page by page, so that no more is held; raises as its length does."""
        length = self._output_length()
        output = io.BytesIO()
        for page in range(OUTPUT_BASE, OUTPUT_BASE + 8 + length, PAGE_BYTES):
            words = self._page(page)[1:] if page == OUTPUT_BASE else self._page(page)
            output.write(words.astype("<u8").tobytes())
        output.truncate(length)
        return output.getvalue()

    def _output_until_now(self) -> bytes:
        """The same of a run that has not ended; nothing where its length is impossible or passes the limit."""
        try:
            return self._output()
        except GuestFault:
            return b""

    def _page(self, address: int) -> np.ndarray:
        """The words of a page."""
        base = abs(int(self.store.pages[address >> LOG_PAGE]))
        return self.store.pool[base : base + PAGE_WORDS]  # the pool's first page is zero

    def execution(self, record: Record | None) -> Execution:
        """What has been run."""
        position = self.state.position
        output = self._output()
        return Execution(
            self.image,
            self.data,
            output,
            int(self.state.registers[A0]),
            int(position[CYCLE]),
            np.cumsum(self.state.visits)[: len(self.image.code)],
            int(position[MISALIGNED]),
            PAGE_BYTES * self.pages + len(output),
            record,
        )

    def room(self) -> list[tuple[int, str]]:
        """Length and dtype of each array of a trace of this run; raises GuestFault where that passes the limit."""
        cycles, crossings, calls, words = self.state.position[[CYCLE, CROSSING, CALLS, CALL_WORDS]].tolist()
        room = [
            *[(cycles + 1, "u4"), *10 * [(cycles, "u8")]],
            *[(crossings, "u4"), *3 * [(crossings, "u8")]],
            *[(calls, "u4"), *2 * [(calls, "u8")], *3 * [(words, "u8")]],
            *[(NO_REGISTER + 1, "u8"), (PAGE_WORDS * (self.pages + 1), "u8")],
        ]
        record = sum(length * np.dtype(dtype).itemsize for length, dtype in room)
        record += CALL_BYTES * calls + len(Memory.__annotations__) * PAGE_BYTES * self.pages
        needed = record + PAGE_BYTES * self.pages + self._output_length()
        if needed > self.max_memory:
            detail = f"{self.max_memory:,} bytes: a run of {cycles:,} cycles and its record take {needed:,}"
            raise self._fault(Fault.MEMORY_LIMIT, f"{detail}; allow more with --max-memory", after=1)
        return room

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
            self.memory(trace.pool),
        )

    def memory(self, times: np.ndarray) -> Memory:
        """The words that were accessed, by the last accesses of the pages taken.

        Listed by BLOCK pages, so that little beside the result is held.
        """
        pages = 1 + np.argsort(self.store.owners[1 : self.pages + 1])
        times = times.reshape(-1, PAGE_WORDS)
        pool = self.store.pool[: times.size].reshape(-1, PAGE_WORDS)
        memory = Memory(*np.empty((4, np.count_nonzero(times)), dtype=np.uint64))
        last = 0
        for block in range(0, len(pages), BLOCK):
            row, word = np.nonzero(times[pages[block : block + BLOCK]])
            page = pages[block + row]
            first, last = last, last + len(page)
            memory.address[first:last] = self.store.owners[page].astype(np.int64) * PAGE_BYTES + 8 * word
            memory.initial[first:last] = self._initial(memory.address[first:last])
            memory.final[first:last] = pool[page, word]
            memory.t[first:last] = times[page, word]
        return memory

    def _initial(self, addresses: np.ndarray) -> np.ndarray:
        """What the words at these addresses, which exist, held at the start."""
        words = np.zeros(len(addresses), dtype=np.uint64)
        below = addresses < self.image.zero_base
        words[below] = self.image.values[np.searchsorted(self.image.addresses, addresses[below])]
        inputs = (addresses >= INPUT_BASE) & (addresses < INPUT_BASE + 8 * len(self.inputs))
        words[inputs] = self.inputs[(addresses[inputs] - INPUT_BASE) >> 3]
        return words


def _calls(trace: Trace) -> tuple[Call, ...]:
    sizes = {number: words_of(np.uint64(number)) for number in np.unique(trace.call_number).tolist()}
    calls, first = [], 0
    heads = zip(trace.call_cycle.tolist(), trace.call_number.tolist(), trace.call_address.tolist(), strict=True)
    for cycle, number, address in heads:
        words = slice(first, first + sizes[number])
        calls.append(Call(cycle, number, address, trace.call_old[words], trace.call_new[words], trace.call_t[words]))
        first = words.stop
    return tuple(calls)
