"""The statement about a program: which tables it has, and what is public; what a proof says is in claim.py.

A statement has only the tables that an execution needs. Which ones is public: the first table's public values name the
others, the verifier builds those tables and no others, and the challenger starts from their description. Leaving a
table out can only leave messages unanswered: what a program is, which words exist and what they hold at first are
messages that nothing but the right table gives. A table twice would give a word two histories, so every table that is
not a family's may be there once: ``shape`` says what may be there, ``times`` how much of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from graphprover.air import Air, AirDescription
from graphprover.envelope import Proof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import RATES
from graphprover.protocol.proof import least_bytes
from graphprover.statement import Statement, Table
from graphprover.vm.claim import said
from graphprover.vm.elf import Image, program_hash
from graphprover.vm.entries import program_entries
from graphprover.vm.families import FAMILIES, Outcome, outcomes
from graphprover.vm.io import INPUT_BASE, MEMORY_END, OUTPUT_BASE
from graphprover.vm.isa import ILLEGAL, Code, Instruction, Op, decode_all
from graphprover.vm.parts import Part
from graphprover.vm.record import accesses
from graphprover.vm.shape import MIN_ROWS, PLACES, check_codes, check_heights, rows_for
from graphprover.vm.tables.bump import Bump
from graphprover.vm.tables.keccak_f import DIGITS, Even, KeccakF
from graphprover.vm.tables.lookups import BytePairs, Halves, Powers
from graphprover.vm.tables.program import ProgramTable
from graphprover.vm.tables.state import (
    STATED_LANES,
    Boundary,
    ImageMemory,
    InputMemory,
    OutputMemory,
    Region,
    RegisterFile,
    StatedInput,
    ZeroMemory,
)
from graphprover.vm.times import check_times

LOG_BLOWUPS = tuple(RATES.values())  # of proofs about programs
MOST_EVEN = 8**DIGITS  # numbers whose digits are even


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


@cache
def _same_for_all(code: int) -> Air:
    """A table that is the same for every program, described once in a process."""
    if code in PLACES:
        place = PLACES[code]
        return FAMILIES[place.family](place.lanes)
    return _PARTS[code]()


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
        """The table with this number, 0 for the boundary, in a statement of so many tables.

        ``input_words``: of a stated input, 0 where none is. Raises ValueError for data that the program does not bring.
        """
        if code == 0:
            return Boundary(self.entry, tables - 1)
        match code:
            case Part.PROGRAM:
                return self.program()
            case Part.IMAGE:
                data = self.data()
                if data is None:
                    raise ValueError("the program brings no data")
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

    def rows(self, code: int, output_words: int, input_words: int) -> range:
        """How many rows executions need of a table that is there once."""
        data = self.data()
        regions = {
            Part.ZERO: (self.zero_base, INPUT_BASE),
            Part.INPUT: (INPUT_BASE, OUTPUT_BASE),
            Part.ZERO_ABOVE: (OUTPUT_BASE + 8 * max(output_words, 1), MEMORY_END),
            Part.ZERO_BETWEEN: (INPUT_BASE + 8 * input_words, OUTPUT_BASE),
        }
        if code in regions:
            start, end = regions[Part(code)]
            return range(1, Region.needed((end - start) // 8) + 1)
        if code == Part.EVEN:
            return range(1, MOST_EVEN + 1)
        needed = {
            Part.PROGRAM: self.program().rows,
            Part.IMAGE: 0 if data is None else data.rows,
            Part.HALVES: 1 << 16,
            Part.BYTE_PAIRS: 1 << 16,
            Part.STATED_INPUT: -(-input_words // STATED_LANES),
        }.get(Part(code), 1)
        return range(needed, needed + 1)

    def tables(
        self, cycles: int, codes: Sequence[int], heights: Sequence[int], output_words: int, input_words: int
    ) -> list[Air]:
        """The boundary and the tables with these numbers, of so many rows, the boundary's first.

        Prover and verifier call it: raises ValueError for a shape that honest proving never makes, and where times
        could wrap around.
        """
        check_codes(codes, self.fixed)
        airs = [self.air(code, 1 + len(codes), output_words, input_words) for code in (0, *codes)]
        if heights[0] != MIN_ROWS:
            raise ValueError(f"the boundary has {heights[0]:,} rows, not {MIN_ROWS}")
        check_times(zip(airs, heights, strict=True))
        check_heights(
            codes,
            heights[1:],
            cycles,
            cells=lambda code: cells_per_row(airs[1 + codes.index(code)].describe()),
            rows=lambda code: self.rows(code, output_words, input_words),
        )
        return airs

    def table(self, air: Air, rows: int) -> Table:
        """A table of so many rows as a verifier sees it."""
        return Table(air)

    def statement(self, tables: Sequence[Table], label: str) -> Statement:
        """The statement with these tables."""
        return Statement(tables, label)

    def statement_of(self, proof: Proof) -> Statement:
        """The statement that a proof about this program claims to prove; raises VerificationError for none."""
        rate = 1 << proof.parameters.log_blowup
        if proof.parameters.log_blowup not in LOG_BLOWUPS:
            raise VerificationError(f"a proof at rate 1/{rate}; executions are proved at rates 1/2, 1/4 and 1/8")
        first = proof.public_values[0] if proof.public_values else ()
        codes = first[3:]
        if not codes or len(codes) + 1 != len(proof.log_heights):
            raise VerificationError("not a proof about an execution: the first table does not name the others")
        heights = [1 << log_rows for log_rows in proof.log_heights]
        try:
            check_codes(codes, self.fixed)  # before what is said, which these tables hold
            said(proof.public_values)
            words = [
                len(proof.public_values[1 + codes.index(part)]) // 2 if part in codes else 0
                for part in (Part.OUTPUT, Part.STATED_INPUT)
            ]
            # The output has a column for each word: what is not opened is not described.
            if len(proof.payload) < least_bytes(len(heights), words[0], proof.parameters):
                raise VerificationError("the proof ends inside its tables: their openings are longer than it is")
            airs = self.tables(first[0], codes, heights, *words)
        except ValueError as error:
            raise VerificationError(f"no statement about this machine: {error}") from None
        tables = [self.table(air, rows) for air, rows in zip(airs, heights, strict=True)]
        return self.statement(tables, proof.label)


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
    def code(self) -> Code:
        """The decoded instructions."""
        return decode_all(self.image.code)

    @cached_property
    def outcomes(self) -> tuple[tuple[Outcome, ...], ...]:
        """For each instruction word, the ways it can go; none for an illegal one."""
        code = self.code
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
        return program_entries(self.code, self.image.code_base)


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
