"""Translates blocks of a program to an LLVM function with the effects of `run` on registers, memory and record.

A block is straight code, entered at its start. Registers, and the counts of cycles and accesses, are values of LLVM
within a block and within a loop (`loops`), and lie in memory between others. A loop loads them at an entry, and stores
the ones that it changes at an exit. Between its blocks they are in variables of LLVM's stack, which its pass "sroa"
replaces by values.

The function goes from block to block until the next is missing or may pass the limit, or until it meets something rare:
a page that is not allocated yet, a forbidden access, a jump to no instruction. Then it leaves before that instruction,
which the interpreter executes. It returns how many instructions of an unfinished block ran; the last accesses of their
registers are not noted.

Each module has the function for some blocks; it goes on in others' functions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from graphprover.vm.executor.interpreter import (
    ACCESSES,
    CYCLE,
    INSTRUCTION,
    LOG_PAGE,
    MISALIGNED,
    PAGE_BYTES,
    PAGE_WORDS,
)
from graphprover.vm.executor.loops import Flow, Loop, loops_of
from graphprover.vm.executor.record import NO_REGISTER
from graphprover.vm.program.io import MEMORY_END
from graphprover.vm.program.isa import ACCESS_BYTES, BRANCHES, LOADS, STORES, Op
from graphprover.vm.tables.clock import SLOT_A, SLOT_B, SLOT_D, SLOT_MEMORY, SLOTS, clock_of, time_of

# The addresses that the function receives, in this order; a record's are 0 without one.
ARGUMENTS = (
    "registers", "position", "pages", "pool", "there", "entries", "functions", "runs", "old", "time", "times",
    "pool_times",
)  # fmt: skip

_CONDITIONS = {Op.BEQ: "eq", Op.BNE: "ne", Op.BLT: "slt", Op.BGE: "sge", Op.BLTU: "ult", Op.BGEU: "uge"}
_ALIKE = {"ADD": "add", "SUB": "sub", "XOR": "xor", "OR": "or", "AND": "and", "MUL": "mul"}
_SHIFTS = {"SLL": "shl", "SRL": "lshr", "SRA": "ashr"}
_HIGHS = {Op.MULH: ("sext", "sext"), Op.MULHSU: ("sext", "zext"), Op.MULHU: ("zext", "zext")}
_LESS = {"SLT": "slt", "SLTU": "ult"}
_DIVISIONS = {"DIV": "sdiv", "DIVU": "udiv", "REM": "srem", "REMU": "urem"}
_SIGNED_LOADS = frozenset({Op.LB, Op.LH, Op.LW})
_BY_NUMBER = {int(op): op for op in Op}

_SHARED = ", ".join(f"ptr %{name}" for name in ("position", "pages", "pool", "old", "time", "pool_times"))


@dataclass(frozen=True)
class Code:
    """A program."""

    words: Sequence[int] | Mapping[int, int]  # `predecode.predecode`'s, of the blocks at least
    base: int  # address of its first instruction
    end: int  # end address of the code


@dataclass(frozen=True)
class Block:
    """Straight code: only its last instruction may jump, and none is a host call or illegal."""

    start: int  # index of its first instruction
    end: int  # index behind its last one


def name_of(first: int) -> str:
    """Return the name of the function of a module whose first block has this number."""
    return f"run_blocks.{first}"


def translated(code: Code, blocks: Sequence[Block], *, first: int = 0, record: bool) -> str:
    """Return an LLVM module with the function NAME(arguments, limit), NAME by `name_of`, which runs these blocks.

    The function returns how many instructions of an unfinished block ran. Block i is entered if ``entries`` has
    ``first`` + i + 1 for its first instruction; ``runs`` counts how often it ran, by the number ``first`` + i. For a
    number of another module the function ends by calling that module's function, by its address in ``functions``.

    Functions are ``nounwind``: LLVM registers the unwind tables of other functions with libgcc, and removes them when
    the code is freed. From GCC 13 on, libgcc searches these tables without a lock, and a thread that walks its stack
    meanwhile (NumPy does, for arrays of 256 KiB and more) reads freed memory.
    """
    numbers = {block.start: first + number for number, block in enumerate(blocks)}
    loops = loops_of({block.start: _flow(code, block) for block in blocks}, numbers)
    entries = {start: f"{'enter' if start in loops else 'b'}{number}" for start, number in numbers.items()}
    writers = [
        _Writer(code, numbers[block.start], numbers, entries, record, loops.get(block.start)) for block in blocks
    ]
    lines_of_blocks = [line for writer, block in zip(writers, blocks, strict=True) for line in writer.block(block)]
    lines_of_blocks += [
        line for loop in dict.fromkeys(loops.values()) for line in _around(loop, numbers, entries, writers, record)
    ]
    outside = sorted(set[int]().union(*(writer.outside for writer in writers)))
    cases = " ".join(f"i32 {numbers[start] + 1}, label %{entry}" for start, entry in entries.items())
    variables = (("next", INSTRUCTION), ("cycle", CYCLE), ("accesses", ACCESSES))
    in_loops = sorted(set[int]().union(*(loop.registers for loop in loops.values())))
    lines = [
        f"define i64 @{name_of(first)}(ptr %arguments, i64 %limit) nounwind {{",
        *(f"%{name}.at = getelementptr ptr, ptr %arguments, i64 {place}" for place, name in enumerate(ARGUMENTS)),
        *(f"%{name} = load ptr, ptr %{name}.at" for name in ARGUMENTS),
        *(f"%{name} = getelementptr i64, ptr %position, i64 {place}" for name, place in variables),
        *(f"%register{register} = getelementptr i64, ptr %registers, i64 {register}" for register in in_loops),
        *(f"%{name} = alloca i64" for name in (*map(_variable, in_loops), *_VARIABLES)),
        "br label %find",
        "find:",
        "%to = load i64, ptr %next",
        "%entry.at = getelementptr i32, ptr %entries, i64 %to",
        "%entry = load i32, ptr %entry.at",
        f"switch i32 %entry, label %others [ i32 0, label %leave {cases} ]",
        *lines_of_blocks,
        *(line for index in outside for line in (f"to{index}:", f"store i64 {index}, ptr %next", "br label %find")),
        "others:",
        "%number = zext i32 %entry to i64",
        "%function.at = getelementptr ptr, ptr %functions, i64 %number",
        "%function = load ptr, ptr %function.at",
        "%unfinished = musttail call i64 %function(ptr %arguments, i64 %limit) nounwind",
        "ret i64 %unfinished",
        "leave:",
        "ret i64 0",
        "}",
        _closely(code),
        _misaligned(record),
    ]
    return "\n".join(lines)


def _flow(code: Code, block: Block) -> Flow:
    """Return what matters of a block for its loop."""
    read, written = set[int](), set[int]()
    for index in range(block.start, block.end):
        _, rd, a, b, _ = _decoded(code.words[index])
        read |= {a, b}
        written.add(rd)
    none = {0, NO_REGISTER}
    op, _, _, _, imm = _decoded(code.words[block.end - 1])
    targets = set[int]()
    if op in BRANCHES or op == Op.JAL:
        targets.add(block.end - 1 + imm)
    if op not in (Op.JAL, Op.JALR):
        targets.add(block.end)
    return Flow(frozenset(targets), frozenset(read - none), frozenset(written - none))


# The variables of a loop beside its registers: the counts of cycles and accesses, and, at an exit, how many
# instructions of an unfinished block ran.
_VARIABLES = "clock", "count", "done"


def _variable(register: int) -> str:
    """Return the name of a register's variable in a loop."""
    return f"x{register}"


def _around(
    loop: Loop, numbers: Mapping[int, int], entries: Mapping[int, str], writers: Iterable["_Writer"], record: bool
) -> Iterator[str]:
    """Yield the entries of a loop's blocks, and its exits: to the function's end and to other blocks."""
    counts = (("clock", "cycle"), ("count", "accesses")) if record else (("clock", "cycle"),)
    names = 0

    def moved(source: str, target: str) -> Iterator[str]:
        nonlocal names
        names += 1
        value = f"%w{loop.number}.{names}"
        yield f"{value} = load i64, ptr %{source}"
        yield f"store i64 {value}, ptr %{target}"

    def stored() -> Iterator[str]:
        for register in loop.written:
            yield from moved(_variable(register), f"register{register}")
        for variable, target in counts:
            yield from moved(variable, target)

    for start in sorted(loop.starts):
        yield f"{entries[start]}:"
        for register in loop.registers:
            yield from moved(f"register{register}", _variable(register))
        for variable, target in counts:
            yield from moved(target, variable)
        yield f"br label %b{numbers[start]}"
    yield f"leave{loop.number}:"
    yield from stored()
    yield f"%done{loop.number} = load i64, ptr %done"
    yield f"ret i64 %done{loop.number}"
    behind = {index: label for writer in writers if writer.loop is loop for index, label in writer.behind.items()}
    for index, label in sorted(behind.items()):
        yield f"from{loop.number}.{index}:"
        yield from stored()
        yield f"br label %{label}"


def _closely(code: Code) -> str:
    """Return a function for the place of an aligned address in a page with code or with missing words; or 0."""
    return f"""
define internal i64 @closely(ptr %there, i64 %base, i64 %address, i64 %size, i1 %write) cold noinline nounwind {{
%offset = and i64 %address, {PAGE_BYTES - 1}
%word = lshr i64 %offset, 3
%place = sub i64 %word, %base
%partial = icmp slt i64 %base, 0
%below = icmp ult i64 %address, {MEMORY_END}
%last = sub i64 %size, 1
%rest = and i64 %address, %last
%whole = icmp eq i64 %rest, 0
%known = and i1 %partial, %below
%can = and i1 %known, %whole
br i1 %can, label %look, label %none
look:
%there.at = getelementptr i8, ptr %there, i64 %place
%byte = load i8, ptr %there.at
%is = icmp ne i8 %byte, 0
%behind = add i64 %address, %size
%above = icmp uge i64 %address, {code.end}
%before = icmp ule i64 %behind, {code.base}
%apart = or i1 %above, %before
%read = xor i1 %write, true
%may = or i1 %apart, %read
%both = and i1 %is, %may
%result = select i1 %both, i64 %place, i64 0
ret i64 %result
none:
ret i64 0
}}"""


# Finds the words of a misaligned access in ordinary pages, and counts it.
_FIND_WORDS = f"""
%end = add i64 %address, %size
%within = icmp ule i64 %end, {MEMORY_END}
br i1 %within, label %find, label %none
find:
%last = sub i64 %end, 1
%page.i = lshr i64 %address, {LOG_PAGE}
%page.j = lshr i64 %last, {LOG_PAGE}
%base.i.at = getelementptr i64, ptr %pages, i64 %page.i
%base.j.at = getelementptr i64, ptr %pages, i64 %page.j
%base.i = load i64, ptr %base.i.at
%base.j = load i64, ptr %base.j.at
%is.i = icmp sgt i64 %base.i, 0
%is.j = icmp sgt i64 %base.j, 0
%both = and i1 %is.i, %is.j
br i1 %both, label %access, label %none
access:
%word.i = lshr i64 %address, 3
%word.j = lshr i64 %last, 3
%offset.i = and i64 %word.i, {PAGE_WORDS - 1}
%offset.j = and i64 %word.j, {PAGE_WORDS - 1}
%i = add i64 %base.i, %offset.i
%j = add i64 %base.j, %offset.j
%pool.i = getelementptr i64, ptr %pool, i64 %i
%pool.j = getelementptr i64, ptr %pool, i64 %j
%old.i = load i64, ptr %pool.i
%old.j = load i64, ptr %pool.j
%byte = and i64 %address, 7
%shift = shl i64 %byte, 3
%crosses = icmp ne i64 %word.i, %word.j
%back = sub i64 64, %shift
%counter = getelementptr i64, ptr %position, i64 {MISALIGNED}
%before = load i64, ptr %counter
%after = add i64 %before, 1
store i64 %after, ptr %counter
"""


def _noted(k: str, number: str) -> str:
    """Return the record of an access to the word k with this number."""
    return f"""
%old.{k}.at = getelementptr i64, ptr %old, i64 {number}
store i64 %old.{k}, ptr %old.{k}.at
%time.{k}.at = getelementptr i64, ptr %pool_times, i64 %{k}
%time.{k} = load i64, ptr %time.{k}.at
%note.{k}.at = getelementptr i64, ptr %time, i64 {number}
store i64 %time.{k}, ptr %note.{k}.at
store i64 %now, ptr %time.{k}.at
"""


def _misaligned(record: bool) -> str:
    """Return the functions of misaligned loads and stores, in ordinary pages.

    A load's function gives the number of its accesses and the word, which begins with the loaded part; a store's gives
    the number. The number is 0 if nothing was done. The first access to record has the number ``at``.
    """
    parameters = f"{_SHARED}, i64 %at, i64 %now"
    branch = "br i1 %crosses, label %second, label %single\nsecond:"
    if record:
        branch = f"%behind = add i64 %at, 1{_noted('i', '%at')}{branch}{_noted('j', '%behind')}"
    return f"""
define internal {{ i64, i64 }} @load({parameters}, i64 %address, i64 %size) cold noinline nounwind {{
{_FIND_WORDS}
%low = lshr i64 %old.i, %shift
{branch}
%high = shl i64 %old.j, %back
%whole = or i64 %low, %high
%two = insertvalue {{ i64, i64 }} {{ i64 2, i64 undef }}, i64 %whole, 1
ret {{ i64, i64 }} %two
single:
%one = insertvalue {{ i64, i64 }} {{ i64 1, i64 undef }}, i64 %low, 1
ret {{ i64, i64 }} %one
none:
ret {{ i64, i64 }} zeroinitializer
}}

define internal i64 @store({parameters}, i64 %address, i64 %size, i64 %value) cold noinline nounwind {{
{_FIND_WORDS}
%bits = shl i64 %size, 3
%unused = sub i64 64, %bits
%ones = lshr i64 -1, %unused
%part = and i64 %value, %ones
%hole.i = shl i64 %ones, %shift
%rest.i = xor i64 %hole.i, -1
%kept.i = and i64 %old.i, %rest.i
%put.i = shl i64 %part, %shift
%new.i = or i64 %kept.i, %put.i
store i64 %new.i, ptr %pool.i
{branch}
%hole.j = lshr i64 %ones, %back
%rest.j = xor i64 %hole.j, -1
%kept.j = and i64 %old.j, %rest.j
%put.j = lshr i64 %part, %back
%new.j = or i64 %kept.j, %put.j
store i64 %new.j, ptr %pool.j
ret i64 2
single:
ret i64 1
none:
ret i64 0
}}"""


@dataclass
class _Writer:
    """Writes one block."""

    code: Code
    number: int
    numbers: Mapping[int, int]  # of blocks, by their starts
    entries: Mapping[int, str]  # labels that lead to blocks from outside of their loops, by their starts
    record: bool
    loop: Loop | None  # of the block
    lines: list[str] = field(default_factory=list)
    outside: set[int] = field(default_factory=set)  # targets of its jumps that begin no block
    behind: dict[int, str] = field(
        default_factory=dict
    )  # by target of a jump out of its loop: the label that leads there
    # Of each way out: its label, the instructions that ran, and their accesses, as `accessed` and `accesses`.
    ways_out: list[tuple[str, int, str, int]] = field(default_factory=list)
    registers: dict[int, str] = field(default_factory=dict)  # values of registers that were read or written
    written: set[int] = field(default_factory=set)  # registers that memory does not have yet
    times: dict[int, int] = field(default_factory=dict)  # of their last accesses, from the block's start on
    names: int = 0
    accessed: str = ""  # the accesses of memory before the block, and the second ones of misaligned accesses in it
    accesses: int = 0  # the others so far
    label: str = ""  # of the current position

    def block(self, block: Block) -> list[str]:
        """Return its lines."""
        self._begin(f"b{self.number}")
        self.cycle = self._value(f"load i64, ptr {self._clock}")
        if self.record:
            self.start = self._value(f"mul i64 {self.cycle}, {SLOTS}")
            self.accessed = self._value(f"load i64, ptr {self._count}")
        end = self._value(f"add i64 {self.cycle}, {block.end - block.start}")
        self._unless(self._value(f"icmp ule i64 {end}, %limit"), 0)
        then = ""
        for index in range(block.start, block.end):
            then = self._instruction(index, index - block.start)
        self._finish(end)
        self._line(then or f"br label %{self._to(block.end)}")
        self._leave(block.start)
        return self.lines

    def _instruction(self, index: int, done: int) -> str:
        """Write one instruction; return how a jump goes on, nothing for others."""
        op, rd, a, b, imm = _decoded(self.code.words[index])
        then = ""
        if op == Op.FENCE:
            return then
        if op in BRANCHES:
            taken = self._value(f"icmp {_CONDITIONS[op]} i64 {self._read(a)}, {self._read(b)}")
            then = f"br i1 {taken}, label %{self._to(index + imm)}, label %{self._to(index + 1)}"
        elif op == Op.JALR:
            then = self._jump(self._read(a), imm, done)
        elif op == Op.JAL:
            then = f"br label %{self._to(index + imm)}"
        elif op in LOADS or op in STORES:
            self._memory(op, rd, self._value(f"add i64 {self._read(a)}, {imm}"), b, done)
        elif op == Op.LUI:
            self._write(rd, str(imm))
        elif op == Op.AUIPC:
            self._write(rd, str(self.code.base + 4 * index + imm))
        else:
            self._write(rd, self._computed(op.name, self._read(a), str(imm) if b == NO_REGISTER else self._read(b)))
        if op in (Op.JAL, Op.JALR):
            self._write(rd, str(self.code.base + 4 * index + 4))
        for register, slot in ((a, SLOT_A), (b, SLOT_B), (rd, SLOT_D)):
            self.times[register] = time_of(clock_of(done), slot)
        return then

    def _jump(self, start: str, imm: int, done: int) -> str:
        """Write a jump to an instruction that a register gives."""
        target = self._value(f"add i64 {start}, {imm}")
        even = self._value(f"and i64 {target}, -2")
        distance = self._value(f"sub i64 {even}, {self.code.base}")
        inside = self._value(f"icmp ult i64 {distance}, {self.code.end - self.code.base}")
        whole = self._value(f"icmp eq i64 {self._value(f'and i64 {distance}, 3')}, 0")
        self._unless(self._value(f"and i1 {inside}, {whole}"), done)
        self._line(f"store i64 {self._value(f'lshr i64 {distance}, 2')}, ptr %next")  # such a block is in no loop
        return "br label %find"

    def _memory(self, op: Op, rd: int, address: str, b: int, done: int) -> None:
        """Write a load or store: of an aligned word, of a part of a word, or by a function if it is misaligned."""
        size, stored = ACCESS_BYTES[op], self._read(b) if op in STORES else ""
        self._keep()
        place = self._place(address, size, bool(stored), done)
        word_at = self._at("pool", place)
        old = self._value(f"load i64, ptr {word_at}")
        if self.record:
            number, now = self._number_and_time(done)
            self._line(f"store i64 {old}, ptr {self._at('old', number)}")
            time_at = self._at("pool_times", place)
            before = self._value(f"load i64, ptr {time_at}")
            self._line(f"store i64 {before}, ptr {self._at('time', number)}")
            self._line(f"store i64 {now}, ptr {time_at}")
        shift = "0" if size == 8 else self._value(f"shl i64 {self._value(f'and i64 {address}, 7')}, 3")
        value = ""
        if stored:
            new = stored
            if size < 8:
                ones = (1 << 8 * size) - 1
                hole = self._value(f"xor i64 {self._value(f'shl i64 {ones}, {shift}')}, -1")
                kept = self._value(f"and i64 {old}, {hole}")
                part = self._value(f"and i64 {new}, {ones}")
                new = self._value(f"or i64 {kept}, {self._value(f'shl i64 {part}, {shift}')}")
            self._line(f"store i64 {new}, ptr {word_at}")
        else:
            value = self._value(f"lshr i64 {old}, {shift}")
        if size > 1:
            value = self._or_misaligned(address, size, stored, value, done)
        self.accesses += self.record
        if not stored:
            if size < 8:
                part = self._value(f"trunc i64 {value} to i{8 * size}")
                value = self._value(f"{'sext' if op in _SIGNED_LOADS else 'zext'} i{8 * size} {part} to i64")
            self._write(rd, value)

    def _number_and_time(self, done: int) -> tuple[str, str]:
        """Return the number of the next access to record, and its time."""
        number = self._value(f"add i64 {self.accessed}, {self.accesses}")
        return number, self._value(f"add i64 {self.start}, {time_of(clock_of(done), SLOT_MEMORY)}")

    def _or_misaligned(self, address: str, size: int, stored: str, value: str, done: int) -> str:
        """Write the way of `_place` for misaligned accesses, to behind the access; return the loaded value, if any."""
        aligned, behind = self.label, f"behind{self.number}.{done}"
        self._line(f"br label %{behind}")
        self._begin(self._odd(done))
        number, now = self._number_and_time(done) if self.record else ("0", "0")
        arguments = f"{_SHARED}, i64 {number}, i64 {now}, i64 {address}, i64 {size}"
        if stored:
            count = self._value(f"call i64 @store({arguments}, i64 {stored})")
            found = ""
        else:
            pair = self._value(f"call {{ i64, i64 }} @load({arguments})")
            count = self._value(f"extractvalue {{ i64, i64 }} {pair}, 0")
            found = self._value(f"extractvalue {{ i64, i64 }} {pair}, 1")
        further = self._value(f"add i64 {self.accessed}, {self._value(f'sub i64 {count}, 1')}") if self.record else ""
        self._line(f"br i1 {self._value(f'icmp ne i64 {count}, 0')}, label %{behind}, label %{self._out(done)}")
        odd = self.label
        self._begin(behind)
        if self.record:
            self.accessed = self._either([(self.accessed, aligned), (further, odd)])
        return "" if stored else self._either([(value, aligned), (found, odd)])

    def _odd(self, done: int) -> str:
        """Return the label of misaligned accesses."""
        return f"odd{self.number}.{done}"

    def _place(self, address: str, size: int, write: bool, done: int) -> str:
        """Return the place in the pool of an aligned word or part of one; leave if the interpreter must check it.

        Other accesses, and misaligned ones, go to `_odd` if they have several bytes.
        """
        page = self._value(f"lshr i64 {address}, {LOG_PAGE}")
        some = self._value(f"and i64 {page}, {(MEMORY_END >> LOG_PAGE) - 1}")
        base = self._value(f"load i64, ptr {self._at('pages', some)}")
        offset = self._value(f"and i64 {self._value(f'lshr i64 {address}, 3')}, {PAGE_WORDS - 1}")
        near = self._value(f"add i64 {base}, {offset}")
        whole, below = self._value(f"icmp sgt i64 {base}, 0"), self._value(f"icmp eq i64 {page}, {some}")
        usual = self._value(f"and i1 {whole}, {below}")
        if size > 1:
            rest = self._value(f"and i64 {address}, {size - 1}")
            usual = self._value(f"and i1 {usual}, {self._value(f'icmp eq i64 {rest}, 0')}")
        start, here, look = self.label, f"here{self.number}.{done}", f"look{self.number}.{done}"
        self._line(f"br i1 {usual}, label %{here}, label %{look}")
        self._begin(look)
        found = self._value(f"call i64 @closely(ptr %there, i64 {base}, i64 {address}, i64 {size}, i1 {int(write)})")
        otherwise = self._odd(done) if size > 1 else self._out(done)
        self._line(f"br i1 {self._value(f'icmp ne i64 {found}, 0')}, label %{here}, label %{otherwise}")
        self._begin(here)
        return self._either([(near, start), (found, look)])

    def _computed(self, op: str, a: str, b: str) -> str:
        """Return the result of an operation; one with an immediate has the other's name and an I."""
        op = {"SLTIU": "SLTU", "ADDIW": "ADDW", "SLLIW": "SLLW", "SRLIW": "SRLW", "SRAIW": "SRAW"}.get(op, op)
        op = op[:-1] if op.endswith("I") else op
        if op in _LESS:
            return self._value(f"zext i1 {self._value(f'icmp {_LESS[op]} i64 {a}, {b}')} to i64")
        if op.startswith("MULH"):
            return self._product_high(*_HIGHS[Op[op]], a, b)
        kind, short = "i64", op.endswith("W")
        if short:
            kind, op = "i32", op[:-1]
            a, b = (self._value(f"trunc i64 {x} to i32") for x in (a, b))
        if op in _SHIFTS:
            amount = self._value(f"and {kind} {b}, {31 if short else 63}")
            result = self._value(f"{_SHIFTS[op]} {kind} {a}, {amount}")
        elif op in _DIVISIONS:
            result = self._divided(op, kind, a, b)
        else:
            result = self._value(f"{_ALIKE[op]} {kind} {a}, {b}")
        return self._value(f"sext i32 {result} to i64") if short else result

    def _product_high(self, of_a: str, of_b: str, a: str, b: str) -> str:
        x, y = self._value(f"{of_a} i64 {a} to i128"), self._value(f"{of_b} i64 {b} to i128")
        high = self._value(f"lshr i128 {self._value(f'mul i128 {x}, {y}')}, 64")
        return self._value(f"trunc i128 {high} to i64")

    def _divided(self, op: str, kind: str, a: str, b: str) -> str:
        """Return the quotient: -1 by zero, remainder a. LLVM leaves the least number by -1 open: itself, and 0."""
        signed, remainder = not op.endswith("U"), op.startswith("REM")
        by_zero = self._value(f"icmp eq {kind} {b}, 0")
        never = by_zero
        if signed:
            minus = self._value(f"icmp eq {kind} {b}, -1")
            never = self._value(f"or i1 {by_zero}, {minus}")
        divisor = self._value(f"select i1 {never}, {kind} 1, {kind} {b}")
        result = self._value(f"{_DIVISIONS[op]} {kind} {a}, {divisor}")
        if signed:
            negative = "0" if remainder else self._value(f"sub {kind} 0, {a}")
            result = self._value(f"select i1 {minus}, {kind} {negative}, {kind} {result}")
        return self._value(f"select i1 {by_zero}, {kind} {a if remainder else -1}, {kind} {result}")

    # Registers

    def _read(self, register: int) -> str:
        if register in (0, NO_REGISTER):
            return "0"
        if register not in self.registers:
            self.registers[register] = self._value(f"load i64, ptr {self._register(register)}")
        return self.registers[register]

    def _write(self, register: int, value: str) -> None:
        if register != NO_REGISTER:
            self.registers[register] = value
            self.written.add(register)

    # Places between blocks: variables in a loop, else memory

    def _register(self, register: int) -> str:
        """Return a pointer to a register."""
        return f"%{_variable(register)}" if self.loop else self._at("registers", register)

    @property
    def _clock(self) -> str:
        """The pointer to the count of cycles."""
        return "%clock" if self.loop else "%cycle"

    @property
    def _count(self) -> str:
        """The pointer to the count of accesses."""
        return "%count" if self.loop else "%accesses"

    # Ways on and out

    def _to(self, index: int) -> str:
        """Return the label that leads to an instruction."""
        if self.loop is None:
            return self._outer(index)
        if index in self.loop.starts:
            return f"b{self.numbers[index]}"
        self.behind[index] = self._outer(index)
        return f"from{self.loop.number}.{index}"

    def _outer(self, index: int) -> str:
        """Return the label that leads to an instruction from outside of its loop."""
        if index in self.entries:
            return self.entries[index]
        self.outside.add(index)
        return f"to{index}"

    def _finish(self, end: str) -> None:
        """Write the block's effects on data in memory; ``end`` is the cycle behind it."""
        runs_at = self._at("runs", str(self.number))
        runs = self._value(f"load i64, ptr {runs_at}")
        self._line(f"store i64 {self._value(f'add i64 {runs}, 1')}, ptr {runs_at}")
        self._line(f"store i64 {end}, ptr {self._clock}")
        self._keep()
        if self.accesses:
            self._line(f"store i64 {self._value(f'add i64 {self.accessed}, {self.accesses}')}, ptr {self._count}")
        if self.record:
            for register, time in self.times.items():
                self._line(
                    f"store i64 {self._value(f'add i64 {self.start}, {time}')}, ptr {self._at('times', register)}"
                )

    def _keep(self) -> None:
        """Store the registers that were written."""
        for register in sorted(self.written):
            self._line(f"store i64 {self.registers[register]}, ptr {self._register(register)}")
        self.written.clear()

    def _unless(self, condition: str, done: int) -> None:
        """Leave if the condition does not hold, after this many instructions."""
        self.names += 1
        on = f"on{self.number}.{self.names}"
        self._keep()
        self._line(f"br i1 {condition}, label %{on}, label %{self._out(done)}")
        self._begin(on)

    def _out(self, done: int) -> str:
        """Return the label that leaves the block after this many instructions; registers are stored."""
        self.ways_out.append((self.label, done, self.accessed, self.accesses))
        return f"out{self.number}"

    def _leave(self, start: int) -> None:
        """Write the way out of the middle."""
        self._begin(f"out{self.number}")
        done = self._either((str(done), label) for label, done, _, _ in self.ways_out)
        if self.record:
            accessed = self._either((accessed, label) for label, _, accessed, _ in self.ways_out)
            number = self._either((str(number), label) for label, _, _, number in self.ways_out)
            self._line(f"store i64 {self._value(f'add i64 {accessed}, {number}')}, ptr {self._count}")
        self._line(f"store i64 {self._value(f'add i64 {self.cycle}, {done}')}, ptr {self._clock}")
        self._line(f"store i64 {self._value(f'add i64 {done}, {start}')}, ptr %next")
        if self.loop:
            self._line(f"store i64 {done}, ptr %done")
            self._line(f"br label %leave{self.loop.number}")
        else:
            self._line(f"ret i64 {done}")

    # Text

    def _either(self, values: Iterable[tuple[str, str]]) -> str:
        """Return the value that belongs to the label from which the current position was reached."""
        return self._value("phi i64 " + ", ".join(f"[ {value}, %{label} ]" for value, label in values))

    def _line(self, line: str) -> None:
        self.lines.append(line)

    def _begin(self, label: str) -> None:
        self.label = label
        self.lines.append(f"{label}:")

    def _value(self, instruction: str) -> str:
        """Return the name of an LLVM instruction's result."""
        self.names += 1
        name = f"%v{self.number}.{self.names}"
        self.lines.append(f"{name} = {instruction}")
        return name

    def _at(self, array: str, index: str | int, kind: str = "i64") -> str:
        """Return a pointer to an element."""
        return self._value(f"getelementptr {kind}, ptr %{array}, i64 {index}")


def _decoded(fields: int) -> tuple[Op, int, int, int, int]:
    """Return an instruction's operation, rd, its two other registers, and the immediate."""
    op = _BY_NUMBER[fields & 0xFF]
    return op, fields >> 8 & 0xFF, fields >> 16 & 0xFF, fields >> 24 & 0xFF, _signed(fields >> 32, 32)


def _signed(value: int, bits: int) -> int:
    return (value & (1 << bits) - 1) - ((value >> bits - 1 & 1) << bits)
