"""Runs a program: an Image and its input in, an Execution out, with or without the record for its tables."""

import io
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphprover.device import recycled
from graphprover.device.host_memory import addresses_left, host_memory
from graphprover.protocol.hashing import keccak256
from graphprover.runtime.deadline import check_deadline
from graphprover.vm.accelerators.integers.modular import MODULAR, MODULAR_384, MODULAR_384_QUOTIENT, MODULAR_QUOTIENT
from graphprover.vm.accelerators.registry import MOST_WORDS
from graphprover.vm.executor import interpreter, native, pieces
from graphprover.vm.executor.debug import Channel, Debug
from graphprover.vm.executor.faults import Fault, GuestFault
from graphprover.vm.executor.interpreter import (
    ACCESSES,
    ADDRESS,
    CYCLE,
    EXITED,
    FAULTS,
    FREE,
    IN_BLOCKS,
    INSTRUCTION,
    LOG_PAGE,
    MISALIGNED,
    NEEDS_SEED,
    PAGE_BYTES,
    PAGE_WORDS,
    PRINTED,
    SEED_PAGE,
    SP,
    Blocks,
    State,
    Store,
    Tape,
)
from graphprover.vm.executor.predecode import predecode
from graphprover.vm.executor.record import INTERVAL, NO_REGISTER, REGISTERS, Memory, Record, Registers
from graphprover.vm.profile.counters import Counters
from graphprover.vm.program.compressed import REMEDY, is_compressed
from graphprover.vm.program.elf import Image
from graphprover.vm.program.io import (
    EXIT,
    INPUT_BASE,
    MAX_INPUT_BYTES,
    MAX_OUTPUT_BYTES,
    MEMORY_END,
    OUTPUT_BASE,
    RANDOM_SEED,
    region,
)
from graphprover.vm.program.isa import A0, A1, A7, ILLEGAL, Instruction, Op, decode, disassemble, encode
from graphprover.vm.program.symbols import function_at
from graphprover.vm.tables.clock import MAX_CYCLES

DEFAULT_CYCLES = 1 << 30
DEFAULT_MEMORY = 1 << 30  # bytes, without a record
SLICE = 1 << 18  # cycles between checks for signals; as host calls these are half a second
MOST_SLICES = 16  # such slices in one without a record, if they are fast
SHORT, LONG = 1e-3, 1e-2  # seconds of a slice before a longer one, and before one of SLICE cycles
BLOCK = 256  # pages whose words are listed at once
_ACCESS_BYTES = 8 + 8  # bytes of the record for an access: the word and a time
_SNAPSHOT_BYTES = 4 + 8 + 2 * 8 * REGISTERS
# Most bytes that a slice records; limits are checked behind each slice.
_SLICE_ACCESSES = SLICE * MOST_WORDS
_SLICE_SNAPSHOTS = SLICE // INTERVAL + 1
_SLICE_BYTES = _SLICE_ACCESSES * _ACCESS_BYTES + _SLICE_SNAPSHOTS * _SNAPSHOT_BYTES
# A run with a record maps 4 times its limit: pages, times of their words, accesses and snapshots. All together use at
# most the limit.
_MAPPED = 4
_LEAST = 16 << 20  # bytes for a run by default, even with few addresses left
_NULL_PAGE = 4096  # bytes from address 0 on

ran: Counter[str] = Counter()  # cycles that ran "plain" and "recorded" in this process


@dataclass(frozen=True, eq=False)
class Execution:
    """A program that has run to its exit."""

    image: Image
    input: bytes
    output: bytes
    exit_code: int  # a0 at the exit, 64 bits
    cycles: int  # instructions executed, the exit's ecall included
    visits: np.ndarray  # int64 (instructions of the image + 2,): its running sum is `counts`
    misaligned: int  # loads and stores at addresses that are not multiples of their size
    in_blocks: int  # cycles that compiled blocks ran, not the interpreter
    memory_bytes: int  # bytes of touched pages, pages with program or input, and the output
    random_seed: int | None  # the word at RANDOM_SEED at the start; None if its page was not touched
    record: Record | None  # None without a record

    def __repr__(self) -> str:
        return (
            f"Execution(cycles={self.cycles:,}, exit_code={self.exit_code}, input={len(self.input):,} bytes, "
            f"output={len(self.output):,} bytes, recorded={self.record is not None})"
        )

    @cached_property
    def counts(self) -> np.ndarray:
        """Return how often each instruction was executed: int64 (instructions of the image,)."""
        return np.cumsum(self.visits)[: len(self.image.code)]

    def mix(self) -> dict[Op, int]:
        """Return how often each operation was executed, most frequent first, without unused operations."""
        ops = self.image.instructions.op
        totals = np.bincount(ops, weights=self.counts, minlength=ILLEGAL + 1).astype(np.int64)
        return {op: int(totals[op]) for op in sorted(Op, key=lambda op: -totals[op]) if totals[op]}


def execute(
    image: Image,
    data: bytes = b"",
    *,
    max_cycles: int = DEFAULT_CYCLES,
    max_memory: int | None = None,
    record: bool = False,
    debug: Debug | None = None,
    random_seed: int | None = None,
) -> Execution:
    """Run ``image`` on the input ``data`` until it exits.

    A signal's handler runs between two slices of at most MOST_SLICES * SLICE cycles, and its exception ends the run.
    The deadline of this thread's work (`graphprover.runtime.deadline`) is checked there, too.

    Args:
        image: The program.
        data: The input.
        max_cycles: Most instructions.
        max_memory: Most bytes that the run takes on the host: pages of 4096 bytes that are touched or have program or
            input, the output, and the record. The default is DEFAULT_MEMORY, and with ``record`` half of the computer's
            memory.
        record: Record the run for a proof.
        debug: Called with the text that the guest shows by DEBUG_PRINT, as it shows it; without it the text is dropped.
            An exception ends the run.
        random_seed: The word at RANDOM_SEED at the start. The default depends on the input: `seed_of`.

    Raises:
        GuestFault: For a guest's fault, or at a limit.
        ValueError: For an impossible input, limit or seed.
        MemoryError: If ``ulimit -v`` leaves too few addresses for ``max_memory``.
    """
    check_options(data, max_cycles, random_seed)
    if max_memory is None:
        max_memory = half_of_memory() if record else DEFAULT_MEMORY
    run = Running(image, data, max_cycles, max_memory, record=record, debug=debug, random_seed=random_seed)
    tape = run.tape() if record else None
    run.run(tape)
    return run.execution(None if tape is None else run.record(tape))


def check_options(data: bytes, max_cycles: int, random_seed: int | None) -> None:
    """Raise ValueError for an input, a limit or a seed that no run can have."""
    if len(data) > MAX_INPUT_BYTES:
        raise ValueError(f"an input of {len(data):,} bytes; at most {MAX_INPUT_BYTES:,} fit")
    if not 0 < max_cycles < MAX_CYCLES:
        raise ValueError(f"a limit of {max_cycles:,} cycles is not in 1 .. 2^32 - 1")
    if random_seed is not None and not 0 <= random_seed < 1 << 64:
        raise ValueError(f"a random seed of {random_seed:,} is not in 0 .. 2^64 - 1")


def seed_of(data: bytes) -> int:
    """Return the random seed of a run on the input ``data`` by default: the first 8 bytes of its Keccak-256."""
    return int.from_bytes(keccak256(data)[:8], "little")


def execute_counting(
    image: Image,
    data: bytes,
    start: Callable[[int], Counters],
    *,
    max_cycles: int = DEFAULT_CYCLES,
    max_memory: int = DEFAULT_MEMORY,
    debug: Debug | None = None,
    random_seed: int | None = None,
) -> tuple[Execution, Memory]:
    """Run as `execute` does, and count for a profile; return also the words that were accessed.

    ``start`` makes the counters for a pool of a given number of words. ``max_memory`` does not include counters, but
    they take at most a word's memory for each word, and none for a cycle.
    """
    check_options(data, max_cycles, random_seed)
    run = Running(image, data, max_cycles, max_memory, debug=debug, random_seed=random_seed)
    counters = start(len(run.store.pool))
    run.run(counters=counters)
    return run.execution(None), run.memory(counters.pool.view(np.uint64))


def _without_result(number: int) -> str:
    """Return why a host call has no result."""
    if number in (MODULAR, MODULAR_QUOTIENT):
        return "the quotient has more than 256 bits"
    if number in (MODULAR_384, MODULAR_384_QUOTIENT):
        return "the quotient has more than 384 bits"
    return "a coordinate is not below the prime, or the line through the points has no slope"


def half_of_memory(runs: int = 1) -> int:
    """Return half of the memory that this process may have, in bytes.

    With it, this number of runs fits half of the addresses.
    """
    mapped = (addresses_left() + recycled.kept()) // (2 * runs) - _SLICE_BYTES
    return min(host_memory() // 2, max(_LEAST, mapped // _MAPPED))


def smallest() -> Image:
    """Return a program that only exits."""
    leave = [encode(Instruction(Op.ADDI, rd=A7, imm=EXIT)), encode(Instruction(Op.ECALL))]
    none = np.zeros(0, dtype=np.uint64)
    return Image(0, 0, np.array(leave, dtype=np.uint32), none, none, 8)


def prepare(*, record: bool = False) -> None:
    """Compile or load the interpreter, so that the next run can be timed."""
    execute(smallest(), max_memory=1 << 16, record=record)


class Running:
    """One run: the state that the interpreter changes in place, and the host's part."""

    def __init__(
        self,
        image: Image,
        data: bytes,
        max_cycles: int,
        max_memory: int,
        *,
        record: bool = False,
        debug: Debug | None = None,
        random_seed: int | None = None,
    ) -> None:
        self.image, self.data, self.max_cycles, self.max_memory = image, data, max_cycles, max_memory
        self.given_seed = random_seed
        self.channel = Channel(debug, self._bytes) if debug else None
        self.code = predecode(image.instructions, prints=debug is not None)
        visits = np.zeros(len(image.code) + 2, dtype=np.int64)
        self.native, self.runs = pieces.none(image), visits[:0]
        registers, position = np.zeros(NO_REGISTER + 1, np.uint64), np.zeros(IN_BLOCKS + 1, np.int64)
        words = np.empty(MOST_WORDS, dtype=np.uint64)
        self.state = State(registers, position, visits, np.empty(MOST_WORDS, dtype=np.int64), words)
        self.recorded = 0  # bytes of the record
        self._check_addresses(record)
        self.state.position[INSTRUCTION] = (image.entry - image.code_base) // 4
        self.store = self._store()
        self.translation = native.translation_of(image, record=record)

    def _check_addresses(self, record: bool) -> None:
        """Raise MemoryError if pages and record cannot be mapped."""
        pages = min(self.max_memory, MEMORY_END)
        accesses, snapshots = self._most_recorded()
        tape = pages + accesses * _ACCESS_BYTES + snapshots * _SNAPSHOT_BYTES
        needed, left = pages + record * tape, addresses_left() + recycled.kept()
        if needed > left:
            raise MemoryError(
                f"a run with a limit of {self.max_memory:,} bytes needs {needed:,} bytes of addresses, and the limit "
                f"of addresses leaves {left:,}: raise it (ulimit -v), or lower --max-memory"
            )

    def _most_recorded(self) -> tuple[int, int]:
        """Return the most accesses and snapshots that a run in this memory records."""
        snapshots = self.max_memory // _SNAPSHOT_BYTES + _SLICE_SNAPSHOTS
        return self.max_memory // _ACCESS_BYTES + _SLICE_ACCESSES, min(self.max_cycles // INTERVAL + 1, snapshots)

    def _store(self) -> Store:
        """Return the initial memory."""
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
        number = np.searchsorted(owners, pages)
        places = bases[number] + (image.addresses >> 3).astype(np.int64) % PAGE_WORDS
        last = bases[np.searchsorted(owners, border)]
        there = np.zeros(last + PAGE_WORDS, dtype=bool)
        there[places] = there[last + image.zero_base // 8 % PAGE_WORDS :] = True
        store = Store(
            recycled.zeros(MEMORY_END >> LOG_PAGE, np.int64),
            np.zeros(PAGE_WORDS * (limit + 1), dtype=np.uint64),
            recycled.zeros(limit + 1, np.uint32),
            there,
            image.zero_base,
            image.code_base,
            image.code_end,
        )
        store.owners[1 : len(owners) + 1] = owners
        store.pool[places] = image.values
        self.inputs = region(self.data)
        if last_input == SEED_PAGE:
            store.pool[bases[-1] + PAGE_WORDS - 1] = self.random_seed
        start = bases[np.searchsorted(owners, first_input)]  # its pages are contiguous here too
        store.pool[start : start + len(self.inputs)] = self.inputs
        # The interpreter checks each access to pages with code or with missing words.
        existing = np.bincount(number, minlength=len(owners))
        existing[owners == border] += (PAGE_BYTES - image.zero_base % PAGE_BYTES) // 8
        partial = (existing < PAGE_WORDS) & (owners <= border)
        code = (owners >= image.code_base >> LOG_PAGE) & (owners <= (image.code_end - 1) >> LOG_PAGE)
        store.pages[owners] = np.where(partial | code, -bases, bases)
        return store

    def tape(self) -> Tape:
        """Reserve memory for the record of the longest run; the system allocates it as it is written."""
        accesses, snapshots = self._most_recorded()
        return Tape(
            recycled.empty(accesses, np.uint64),
            recycled.empty(accesses, np.uint64),
            recycled.empty(snapshots, np.uint32),
            recycled.empty(snapshots, np.uint64),
            recycled.empty((snapshots, REGISTERS), np.uint64),
            recycled.empty((snapshots, REGISTERS), np.uint64),
            np.zeros(NO_REGISTER + 1, dtype=np.uint64),
            np.zeros(len(self.store.pool), dtype=np.uint64),
        )

    def run(
        self,
        tape: Tape | None = None,
        counters: Counters | None = None,
        until: int | None = None,
        pause: Callable[[], None] | None = None,
    ) -> None:
        """Run to the exit in slices, with signals handled and the deadline checked in between; raise GuestFault.

        Args:
            tape: The record in progress, if the run is recorded.
            counters: The counters of a profile.
            until: The cycle to stop before, if the run does not exit earlier.
            pause: Called between two slices.
        """
        try:
            self._run(tape, counters, self.max_cycles if until is None else min(until, self.max_cycles), pause)
        finally:
            if self.channel:
                self.channel.end()

    def _run(self, tape: Tape | None, counters: Counters | None, until: int, pause: Callable[[], None] | None) -> None:
        blocks = self._blocks(self.translation.native if counters is None else self.native, tape)
        slices = 1
        while True:
            if counters is None and self.native is not self.translation.native:
                blocks = self._blocks(self.translation.native, tape)
            cycle = int(self.state.position[CYCLE])
            interpreted, end, began = self._interpreted(), min(cycle + slices * SLICE, until), time.perf_counter()
            status = self._slice(end, tape, counters, blocks)
            if tape is None:  # a record has room for one slice more
                seconds = time.perf_counter() - began
                slices = min(2 * slices, MOST_SLICES) if seconds < SHORT else slices if seconds < LONG else 1
            ran["plain" if tape is None else "recorded"] += int(self.state.position[CYCLE]) - cycle
            if tape is not None:
                self._check_memory(after=int(status == EXITED))
            if counters is None:
                ended = status == EXITED
                self.translation.interpreted(self._interpreted() - interpreted, self._counts, ended=ended)
            if status == EXITED:
                return
            if FAULTS[status] is not Fault.CYCLE_LIMIT or end == self.max_cycles:
                raise self.guest_fault(FAULTS[status])
            if end == until:
                return
            check_deadline()
            if pause:
                pause()

    def _slice(self, end: int, tape: Tape | None, counters: Counters | None, blocks: Blocks) -> int:
        """Run until a cycle, and do the host's part meanwhile; return the interpreter's status."""
        while True:
            status = interpreter.run(self.code, self.state, self.store, end, tape, counters, blocks)
            if status == PRINTED:
                self._show()
            elif status == NEEDS_SEED:
                self._put_seed()
            else:
                return int(status)

    def _show(self) -> None:
        """Show the text of a DEBUG_PRINT."""
        assert self.channel
        self.channel.show(int(self.state.registers[A0]), int(self.state.registers[A1]))
        if not self.channel.open:
            self.code = predecode(self.image.instructions)

    def _put_seed(self) -> None:
        """Allocate the page of the random seed; raise GuestFault at the memory limit."""
        free = int(self.state.position[FREE])
        base = PAGE_WORDS * free
        if base + PAGE_WORDS > len(self.store.pool):
            raise self.guest_fault(Fault.MEMORY_LIMIT)
        self.state.position[FREE] = free + 1
        self.store.owners[free] = SEED_PAGE
        self.store.pool[base : base + PAGE_WORDS] = self._page(RANDOM_SEED)
        self.store.pages[SEED_PAGE] = base

    @cached_property
    def random_seed(self) -> int:
        """Return the word at RANDOM_SEED at the start."""
        return seed_of(self.data) if self.given_seed is None else self.given_seed

    def _blocks(self, code: pieces.Native, tape: Tape | None) -> Blocks:
        """Return compiled blocks for the next cycles."""
        state, store = self.state, self.store
        self._settle()
        self.native, self.runs = code, np.zeros(len(code.blocks), dtype=np.int64)
        recorded = (None,) * 4 if tape is None else (tape.old, tape.time, tape.registers, tape.pool)
        places = (state.registers, state.position, store.pages, store.pool, store.there)
        used = (*places, code.entries, code.functions, self.runs)
        addresses = [0 if array is None else array.ctypes.data for array in (*used, *recorded)]
        return Blocks(code.entries, code.address, np.array(addresses, dtype=np.uint64))

    def _interpreted(self) -> int:
        """Return the cycles that the interpreter ran."""
        return int(self.state.position[CYCLE] - self.state.position[IN_BLOCKS])

    def _settle(self) -> None:
        """Move the visits of blocks to the state's visits."""
        np.add.at(self.state.visits, [block.start for block in self.native.blocks], self.runs)
        np.subtract.at(self.state.visits, [block.end for block in self.native.blocks], self.runs)
        self.runs[:] = 0

    def _counts(self) -> np.ndarray:
        """Return how often each instruction was executed so far."""
        self._settle()
        return np.cumsum(self.state.visits)[: len(self.image.code)]

    def guest_fault(self, fault: Fault) -> GuestFault:
        """Return the fault of the instruction at which the interpreter stopped."""
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
        if fault == Fault.ILLEGAL_INSTRUCTION and is_compressed(int(self.image.code[index])):
            return self._fault(Fault.COMPRESSED_INSTRUCTION, REMEDY, output=output)
        place = int(self.state.position[ADDRESS]) % 2**64
        address = f"{place:#x}"
        if fault == Fault.UNMAPPED_ADDRESS:
            fault = self._name_unmapped(place)
        details = {
            Fault.STORE_INTO_CODE: address,
            Fault.ADDRESS_TOO_LARGE: address,
            Fault.UNMAPPED_ADDRESS: address,
            Fault.NULL_POINTER: f"address {address}",
            Fault.STACK_OVERFLOW: f"address {address}",
            Fault.MISALIGNED_HOST_CALL: address,
            Fault.OVERLAPPING_OPERANDS: address,
            Fault.NO_RESULT: _without_result(int(self.state.registers[A7])),
            Fault.UNKNOWN_HOST_CALL: str(int(self.state.registers[A7])),
            Fault.CYCLE_LIMIT: f"{self.max_cycles:,}",
            Fault.MEMORY_LIMIT: f"{self.max_memory:,} bytes",
        }
        return self._fault(fault, details.get(fault, ""), output=output)

    def _name_unmapped(self, address: int) -> Fault:
        """Return the fault of an access to an address that does not exist."""
        if address < _NULL_PAGE:
            return Fault.NULL_POINTER
        if address in self.image.stack_guard and 0 < int(self.state.registers[SP]) < self.image.zero_base:
            return Fault.STACK_OVERFLOW
        return Fault.UNMAPPED_ADDRESS

    def _fault(self, fault: Fault, detail: str, after: int = 0, output: bytes = b"") -> GuestFault:
        """Return a fault of the next instruction, or of the one ``after`` = 1 before."""
        index = int(self.state.position[INSTRUCTION]) - after
        pc = self.image.code_base + 4 * index
        line = disassemble(int(self.image.code[index]), pc)
        cycles = int(self.state.position[CYCLE]) - after
        return GuestFault(fault, pc, line, cycles, detail, function_at(self.image.file, pc), output)

    @property
    def pages(self) -> int:
        """Return the number of pages in use."""
        return int(self.state.position[FREE]) - 1

    def _output_length(self) -> int:
        """Return the output's length in bytes; raise GuestFault if it is impossible or passes the limit."""
        length = int(self._page(OUTPUT_BASE)[0])
        if length > MAX_OUTPUT_BYTES:
            raise self._fault(Fault.OUTPUT_LENGTH, f"{length:,} bytes", after=1)
        if length + self._taken() > self.max_memory:
            detail = f"{self.max_memory:,} bytes, with an output of {length:,}"
            raise self._fault(Fault.MEMORY_LIMIT, detail, after=1)
        return length

    def _taken(self) -> int:
        """Return the bytes of pages and of the record."""
        return PAGE_BYTES * self.pages + self.recorded

    def _check_memory(self, after: int) -> None:
        """Count the record; raise GuestFault if it passes the limit with the pages."""
        cycles, accesses = int(self.state.position[CYCLE]), int(self.state.position[ACCESSES])
        words = 8 * (1 + len(Memory.__annotations__)) * PAGE_WORDS * self.pages
        self.recorded = _ACCESS_BYTES * accesses + _SNAPSHOT_BYTES * (cycles // INTERVAL + 1) + words
        if self._taken() > self.max_memory:
            detail = f"{self.max_memory:,} bytes: a run of {cycles:,} cycles and its record take {self._taken():,}"
            raise self._fault(Fault.MEMORY_LIMIT, f"{detail}; allow more with --max-memory", after)

    def _output(self) -> bytes:
        """Return the output, read page by page to need no more memory; raise as `_output_length` does."""
        length = self._output_length()
        output = io.BytesIO()
        for page in range(OUTPUT_BASE, OUTPUT_BASE + 8 + length, PAGE_BYTES):
            words = self._page(page)[1:] if page == OUTPUT_BASE else self._page(page)
            output.write(words.astype("<u8").tobytes())
        output.truncate(length)
        return output.getvalue()

    def _output_until_now(self) -> bytes:
        """Return the output of a run that has not ended; nothing if its length is impossible or passes the limit."""
        try:
            return self._output()
        except GuestFault:
            return b""

    def _page(self, address: int) -> np.ndarray:
        """Return the words of a page."""
        base = abs(int(self.store.pages[address >> LOG_PAGE]))
        if base == 0 and address >> LOG_PAGE == SEED_PAGE:
            words = np.zeros(PAGE_WORDS, dtype=np.uint64)
            words[-1] = self.random_seed
            return words
        return self.store.pool[base : base + PAGE_WORDS]  # the pool's first page is zero

    def _bytes(self, address: int, size: int) -> bytes | None:
        """Return bytes of the memory, or None if some do not exist; allocate no page."""
        end = address + size
        if end > MEMORY_END:
            return None
        read = io.BytesIO()
        for page in range(address & -PAGE_BYTES, end, PAGE_BYTES):
            first, last = max(address, page) - page, min(end, page + PAGE_BYTES) - page
            words = slice(first // 8, -(-last // 8))
            if not self._there(page)[words].all():
                return None
            read.write(self._page(page)[words].astype("<u8").tobytes()[first % 8 :][: last - first])
        return read.getvalue()

    def _there(self, address: int) -> np.ndarray:
        """Return which words of a page exist."""
        base = int(self.store.pages[address >> LOG_PAGE])
        if base < 0:
            return self.store.there[-base : PAGE_WORDS - base]
        return np.full(PAGE_WORDS, base > 0 or address >= self.image.zero_base)

    def execution(self, record: Record | None) -> Execution:
        """Return the finished run."""
        position = self.state.position
        output = self._output()
        self._settle()
        return Execution(
            self.image,
            self.data,
            output,
            int(self.state.registers[A0]),
            int(position[CYCLE]),
            self.state.visits,
            int(position[MISALIGNED]),
            int(position[IN_BLOCKS]),
            PAGE_BYTES * self.pages + len(output),
            self.random_seed if self.store.pages[SEED_PAGE] else None,
            record,
        )

    def record(self, tape: Tape) -> Record:
        """Return the record of a run that has filled ``tape``."""
        cycles, accesses = int(self.state.position[CYCLE]), int(self.state.position[ACCESSES])
        snapshots = -(-cycles // INTERVAL)
        return Record(
            cycles,
            tape.old[:accesses],
            tape.time[:accesses],
            tape.instruction[:snapshots],
            tape.at[:snapshots],
            tape.values[:snapshots],
            tape.times[:snapshots],
            Registers(self.state.registers[:REGISTERS], tape.registers[:REGISTERS]),
            self.memory(tape.pool),
        )

    def memory(self, times: np.ndarray) -> Memory:
        """Return the accessed words, by the times of the last accesses of the pool's words, 0 for none.

        Pages are listed in groups of BLOCK, so that memory hardly exceeds the result.
        """
        pages = 1 + np.argsort(self.store.owners[1 : self.pages + 1])
        words = PAGE_WORDS * (self.pages + 1)
        times, pool = (array[:words].reshape(-1, PAGE_WORDS) for array in (times, self.store.pool))
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
        """Return the initial values of the words at these addresses, which exist."""
        words = np.zeros(len(addresses), dtype=np.uint64)
        below = addresses < self.image.zero_base
        words[below] = self.image.values[np.searchsorted(self.image.addresses, addresses[below])]
        seeds = addresses == RANDOM_SEED
        if seeds.any():
            words[seeds] = self.random_seed
        inputs = (addresses >= INPUT_BASE) & (addresses < INPUT_BASE + 8 * len(self.inputs))
        words[inputs] = self.inputs[(addresses[inputs] - INPUT_BASE) >> 3]
        return words
