"""The statement about a program: which tables it has, what is public, and what a proof says.

A statement has only the tables that an execution needs. Which ones is public: the first table's public values name the
others, the verifier builds those tables and no others, and the challenger starts from their description. Leaving a
table out can only leave messages unanswered: what a program is, which words exist and what they hold at first are
messages that nothing but the right table gives. A table twice would give a word two histories, so every table that is
not a family's may be there once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, cached_property

import numpy as np

from graphprover.air import Air, AirDescription
from graphprover.envelope import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.hashing import keccak256
from graphprover.statement import Statement, Table
from graphprover.vm.elf import Image, program_hash
from graphprover.vm.entries import program_entries
from graphprover.vm.families import FAMILIES, NUMBERS, Outcome, outcomes
from graphprover.vm.io import INPUT_BASE, MEMORY_END, OUTPUT_BASE
from graphprover.vm.isa import ILLEGAL, Instruction, Op, decode_all
from graphprover.vm.record import accesses
from graphprover.vm.tables.bump import Bump
from graphprover.vm.tables.keccak_f import Even, KeccakF
from graphprover.vm.tables.lookups import BytePairs, Halves, Powers
from graphprover.vm.tables.program import ProgramTable
from graphprover.vm.tables.state import (
    Boundary,
    ImageMemory,
    InputMemory,
    OutputMemory,
    RegisterFile,
    StatedInput,
    ZeroMemory,
)

MIN_ROWS = 64  # of a table: shorter ones would make the proof longer, not shorter
MAX_LOG_ROWS = 26  # of any table: times and addresses that rise in steps below 2^36 then stay below p
MAX_STATED_INPUT = 1 << 16  # bytes of an input that a proof states: it holds them, and a verifier reads them all
LANES = (1, 4)  # instructions in a row of a family's table
_FAMILY = 16  # a family's table is called family * _FAMILY + lanes


class Part(IntEnum):
    """The tables beside the boundary and those of families."""

    PROGRAM = 1
    REGISTERS = 2
    IMAGE = 3
    ZERO = 4  # from the end of the program to the input
    INPUT = 5
    OUTPUT = 6
    ZERO_ABOVE = 7  # from the end of the output on
    BUMP = 8
    HALVES = 9
    BYTE_PAIRS = 10
    POWERS = 11
    KECCAK_F = 12
    EVEN = 13
    STATED_INPUT = 14  # in place of INPUT
    ZERO_BETWEEN = 15  # from the end of a stated input to the output


SEVERAL = frozenset({Part.BUMP, Part.KECCAK_F})  # a statement may have any number of these


@dataclass(frozen=True)
class Place:
    """A family's table in a statement."""

    family: str
    lanes: int

    @property
    def code(self) -> int:
        """Its number in the shape of the statement."""
        return NUMBERS[self.family] * _FAMILY + self.lanes


_PARTS: dict[int, Callable[[], Air]] = {
    Part.REGISTERS: RegisterFile,
    Part.BUMP: Bump,
    Part.HALVES: Halves,
    Part.BYTE_PAIRS: BytePairs,
    Part.POWERS: Powers,
    Part.KECCAK_F: KeccakF,
    Part.EVEN: Even,
}
_OPS = tuple(Op)
_PLACES = {place.code: place for family in FAMILIES for lanes in LANES for place in (Place(family, lanes),)}


@cache
def _same_for_all(code: int) -> Air:
    """A table that is the same for every program, described once in a process; KeyError for none."""
    if code in _PLACES:
        place = _PLACES[code]
        return FAMILIES[place.family](place.lanes)
    return _PARTS[code]()


def rows_for(count: int) -> int:
    """The rows of a table that needs ``count``."""
    return max(MIN_ROWS, 1 << max(count - 1, 0).bit_length())


class Tables:
    """The tables of any statement about one program, from what a verifier must know of it."""

    entry: int  # address of the first instruction
    zero_base: int  # where zero memory begins
    program_hash: bytes  # see ``elf.program_hash``

    def program(self) -> ProgramTable:
        """The program table."""
        raise NotImplementedError

    def data(self) -> ImageMemory | None:
        """The memory that the program brings, if any."""
        raise NotImplementedError

    @property
    def fixed(self) -> tuple[Part, ...]:
        """The tables that every statement has: those with preprocessed columns, so that there is one commitment."""
        image = () if self.data() is None else (Part.IMAGE,)
        return (Part.PROGRAM, Part.REGISTERS, *image, Part.HALVES, Part.BYTE_PAIRS, Part.POWERS)

    def air(self, code: int, tables: int, output_words: int, input_words: int = 0) -> Air:
        """The table with this number, 0 for the boundary, in a statement of so many tables; KeyError for none.

        ``input_words``: of a stated input, 0 where none is.
        """
        if code == 0:
            return Boundary(self.entry, tables - 1)
        match code:
            case Part.PROGRAM:
                return self.program()
            case Part.IMAGE:
                data = self.data()
                if data is None:
                    raise KeyError("the program brings no data")
                return data
            case Part.ZERO:
                return ZeroMemory(self.zero_base, INPUT_BASE)
            case Part.INPUT:
                return InputMemory(INPUT_BASE, OUTPUT_BASE)
            case Part.OUTPUT:
                return OutputMemory(output_words)
            case Part.ZERO_ABOVE:
                # Where nothing is put out, the word for the length does not exist.
                return ZeroMemory(OUTPUT_BASE + 8 * max(output_words, 1), MEMORY_END)
            case Part.STATED_INPUT:
                return StatedInput(input_words)
            case Part.ZERO_BETWEEN:
                return ZeroMemory(INPUT_BASE + 8 * input_words, OUTPUT_BASE)
        return _same_for_all(code)

    def statement(self, tables: Sequence[Table], label: str) -> Statement:
        """The statement with these tables."""
        return Statement(tables, label)

    def statement_of(self, proof: Proof) -> Statement:
        """The statement that a proof about this program claims to prove; raises VerificationError for none."""
        shape = self._shape(proof)
        said(proof.public_values)
        words = [
            len(proof.public_values[1 + shape.index(part)]) // 2 if part in shape else 0
            for part in (Part.OUTPUT, Part.STATED_INPUT)
        ]
        tables = []
        try:
            for code, log_rows in zip((0, *shape), proof.log_heights, strict=True):
                if log_rows > MAX_LOG_ROWS:
                    raise VerificationError(f"a table of 2^{log_rows} rows; times could wrap around")
                tables.append(Table(self.air(code, 1 + len(shape), *words)))
        except (KeyError, ValueError) as error:
            raise VerificationError(f"no statement about this machine: {error}") from None
        return self.statement(tables, proof.label)

    def _shape(self, proof: Proof) -> tuple[int, ...]:
        """The numbers of all tables but the first."""
        shape = proof.public_values[0][3:] if proof.public_values else ()
        if not shape or len(shape) + 1 != len(proof.log_heights):
            raise VerificationError("not a proof about an execution: the first table does not name the others")
        parts = [code for code in shape if code < _FAMILY]
        once = [code for code in parts if code not in SEVERAL]
        if len(set(once)) != len(once):
            raise VerificationError("a table of the machine is there twice")
        if (Part.INPUT in parts and Part.STATED_INPUT in parts) or (
            Part.ZERO_BETWEEN in parts and Part.STATED_INPUT not in parts
        ):
            raise VerificationError("the input's memory is there twice, or in part")
        if parts != sorted(parts) or not set(self.fixed) <= set(parts):
            raise VerificationError("the tables of the machine are not those of every statement, in order")
        return shape


@dataclass(frozen=True, eq=False)
class Machine(Tables):
    """A program, and the tables of any statement about it."""

    image: Image

    @property
    def entry(self) -> int:  # type: ignore[override]
        return self.image.entry

    @property
    def zero_base(self) -> int:  # type: ignore[override]
        return self.image.zero_base

    @cached_property
    def program_hash(self) -> bytes:  # type: ignore[override]
        return program_hash(self.image)

    def program(self) -> ProgramTable:
        return ProgramTable(self.entries, rows_for(self.entries.shape[1]))

    def data(self) -> ImageMemory | None:
        addresses, values = self.image.addresses, self.image.values
        return ImageMemory(addresses, values, rows_for(len(addresses))) if len(addresses) else None

    @cached_property
    def outcomes(self) -> tuple[tuple[Outcome, ...], ...]:
        """For each instruction word, the ways it can go; none for an illegal one."""
        code = decode_all(self.image.code)
        used = accesses(code)
        fields = zip(*(each.tolist() for each in (code.op, code.rd, code.rs1, code.rs2, code.imm)), strict=True)
        registers = zip(used.d.tolist(), used.a.tolist(), used.b.tolist(), strict=True)
        found = []
        for i, ((op, rd, rs1, rs2, imm), touched) in enumerate(zip(fields, registers, strict=True)):
            pc = self.image.code_base + 4 * i
            found.append(
                () if op == ILLEGAL else tuple(outcomes(Instruction(_OPS[op], rd, rs1, rs2, imm, pc), touched))
            )
        return tuple(found)

    @cached_property
    def entries(self) -> np.ndarray:
        """The rows of the program table, uint64 (fields, rows), in the order of ``outcomes``."""
        return program_entries(decode_all(self.image.code), self.image.code_base)


@dataclass(frozen=True)
class Said:
    """What a proof about an execution says."""

    output: bytes
    exit_code: int
    cycles: int
    input: bytes | None  # where it is stated


def said(public_values: Sequence[Sequence[int]]) -> Said:
    """What a proof with these public values says; raises VerificationError where they make no sense."""
    cycles, lo, hi, *shape = public_values[0]
    output, _ = _bytes(public_values, shape, Part.OUTPUT, "output") or (b"", b"")
    stated = _bytes(public_values, shape, Part.STATED_INPUT, "input")
    if stated and (len(stated[0]) > MAX_STATED_INPUT or any(stated[1])):
        raise VerificationError("the public input is too long, or padded by other bytes than zeros")
    return Said(output, lo | hi << 32, cycles, stated and stated[0])


def _bytes(
    public_values: Sequence[Sequence[int]], shape: Sequence[int], part: Part, what: str
) -> tuple[bytes, bytes] | None:
    """The bytes whose length and words a table states, and those that pad them; None without the table."""
    if part not in shape:
        return None
    words = public_values[1 + shape.index(part)]
    values = [low | high << 32 for low, high in zip(words[::2], words[1::2], strict=False)]
    if any(word >= 1 << 32 for word in words) or not values or len(words) != 2 + 2 * -(-values[0] // 8):
        raise VerificationError(f"the public {what} does not have the length it states")
    data = b"".join(value.to_bytes(8, "little") for value in values[1:])
    return data[: values[0]], data[values[0] :]


def describe(public_values: Sequence[Sequence[int]]) -> dict[str, str]:
    """What a proof with these public values says, for people."""
    what = said(public_values)
    text = what.output.decode("ascii", errors="replace")
    shown = text if text.isascii() and text.isprintable() else what.output.hex()
    stated = {"input": keccak256(what.input).hex()} if what.input is not None else {}
    return stated | {"output": shown, "exit code": str(what.exit_code), "cycles": str(what.cycles)}


def cells_per_row(air: AirDescription) -> int:
    """Committed base-field cells of a row: main, three a fraction column and the accumulator, and the quotient."""
    return air.main_width + 3 * (len(air.lookups) + bool(air.lookups)) + (3 << air.log_quotient_chunks)


def committed_cells(statement: Statement) -> dict[str, int]:
    """The committed cells of each kind of table; the statement has traces."""
    cells: dict[str, int] = {}
    for table, air in zip(statement.tables, statement.descriptions, strict=True):
        assert table.main is not None
        cells[air.name] = cells.get(air.name, 0) + table.main.shape[1] * cells_per_row(air)
    return cells


def cells_text(statement: Statement) -> str:
    """What an execution costs, for people: committed cells a cycle, in all and by kind of table."""
    cells = committed_cells(statement)
    assert statement.tables[0].public_values
    cycles = statement.tables[0].public_values[0]
    lines = [f"{sum(cells.values()) / cycles:.1f} committed cells a cycle ({cycles:,} cycles), of these"]
    for name, count in sorted(cells.items(), key=lambda each: -each[1]):
        if count >= cycles / 100:
            lines.append(f"{count / cycles:8.2f} {name}")
    return "\n".join(lines)
