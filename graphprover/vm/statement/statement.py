"""Statements about a program: their tables and their public values.

claim.py reads the claim of a proof; traces/run_statement.py makes the statement about one run, with its traces. A
statement may be in shards, each about one cycle range (traces/cycle_ranges.py): the first has the boundary, registers
and memory.

A statement has only the tables that an execution needs. The first table's public values name the others, the verifier
builds exactly those tables, and the challenger starts from their description. To leave a table out only leaves messages
unanswered: only the right table sends the program, the words that exist and their initial values. A table that appears
twice would give a word two histories, so only tables of chips and a few others (``table_rules.SEVERAL``) may repeat.
``shape`` checks the tables and their heights, ``times`` the sum of all steps in time.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import overload

import numpy as np

from graphprover.air import Air
from graphprover.air.described import described
from graphprover.proof.compressed import AnyProof, CompressedProof
from graphprover.proof.mock import MockProof
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.errors import RuleError, VerificationError
from graphprover.protocol.level import rates_text
from graphprover.protocol.parameters import RATES
from graphprover.protocol.proof import Caps, least_bytes
from graphprover.protocol.security import CAP_HEIGHT, JOHNSON_PROXIMITY
from graphprover.statement.cells import cells_per_row
from graphprover.statement.shards import ShardedStatement, in_shards
from graphprover.statement.statement import Statement, Table
from graphprover.verifier import Verdict
from graphprover.verifier.any_proof import parsed, verify_made
from graphprover.verifier.headers import check_level
from graphprover.vm.accelerators.keccak import digits as keccak_digits
from graphprover.vm.accelerators.keccak.classes import KeccakClasses
from graphprover.vm.accelerators.keccak.digits import KeccakDigits
from graphprover.vm.accelerators.keccak.limbs import KeccakLimbs
from graphprover.vm.accelerators.keccak.planes import KeccakPlanes
from graphprover.vm.accelerators.keccak.rounds import KeccakRounds
from graphprover.vm.program.elf import Image, program_hash
from graphprover.vm.program.io import INPUT_BASE, MEMORY_END, OUTPUT_BASE
from graphprover.vm.program.isa import Instructions, Op
from graphprover.vm.statement.claim import Claim, check_exit_code, claim_of
from graphprover.vm.statement.header import header_of
from graphprover.vm.statement.shape import MIN_ROWS, check_heights, rows_for
from graphprover.vm.statement.table_numbers import CHIP_TABLES, SHARED, TableNumber
from graphprover.vm.statement.table_rules import ShardKind, check_numbers, preprocessed
from graphprover.vm.statement.times import check_times
from graphprover.vm.tables.bump import Bump
from graphprover.vm.tables.chips import chip_table
from graphprover.vm.tables.entries import Entries, program_entries
from graphprover.vm.tables.fixed import Numbers, Powers, SparseRange
from graphprover.vm.tables.limbs import HALF
from graphprover.vm.tables.mixed import Mixed
from graphprover.vm.tables.program import FIELDS, ProgramTable
from graphprover.vm.tables.public_words import OutputMemory, PublicWords, StatedInput
from graphprover.vm.tables.state import (
    Boundary,
    ImageMemory,
    InputMemory,
    Region,
    RegisterFile,
    ZeroMemory,
)

_AIRS: dict[int, Callable[[], Air]] = {
    TableNumber.REGISTERS: RegisterFile,
    TableNumber.BUMP: Bump,
    TableNumber.NUMBERS: Numbers,
    TableNumber.SPARSE_RANGE: SparseRange,
    TableNumber.POWERS: Powers,
    TableNumber.KECCAK_ROUNDS: KeccakRounds,
    TableNumber.KECCAK_PLANES: KeccakPlanes,
    TableNumber.KECCAK_DIGITS: KeccakDigits,
    TableNumber.KECCAK_CLASSES: KeccakClasses,
    TableNumber.KECCAK_LIMBS: KeccakLimbs,
}
_OPS = tuple(Op)
HASH_CHARACTERS = 64  # hexadecimal digits of a program's hash
_HASH = re.compile(f"[0-9a-f]{{{HASH_CHARACTERS}}}")


@cache
def _same_for_all(number: int) -> Air:
    """Describe a table that is the same for every program, once in a process."""
    if number in CHIP_TABLES:
        table = CHIP_TABLES[number]
        return chip_table(table.chip, table.lanes)
    if number in SHARED:
        name = TableNumber(number).name.lower()
        return described(name, Mixed(name, [chip_table(chip) for chip in SHARED[TableNumber(number)]]))
    return described(TableNumber(number).name.lower(), _AIRS[number]())


@lru_cache(maxsize=32)
def _table(make: Callable[..., Air], *numbers: int) -> Air:
    """Describe a table that depends on some numbers only, once for all statements that have it."""
    return make(*numbers)


class GuestStatement(Statement):
    """A statement about a run of a program, or a shard of one."""

    program_hash: bytes

    def __init__(self, tables: Sequence[Table], label: str, program_hash: bytes) -> None:
        super().__init__(tables, label)
        object.__setattr__(self, "program_hash", program_hash)

    def claim_of(self, public_values: Sequence[Sequence[int]]) -> Claim:
        """Return the claim of a proof with these public values."""
        return claim_of(public_values, self.program_hash)


class ProgramStatements:
    """The tables of any statement about one program, from the facts about it that a verifier must know."""

    entry: int  # address of the first instruction
    zero_base: int  # address at which zero memory begins
    program_hash: bytes  # see ``elf.program_hash``

    def program(self) -> ProgramTable:
        """Return the program table."""
        raise NotImplementedError

    def data(self) -> ImageMemory | None:
        """Return the table of the memory that the program brings, if any."""
        raise NotImplementedError

    def preprocessed(self, kind: ShardKind) -> tuple[TableNumber, ...]:
        """Return the tables with preprocessed columns, in order: the same, with one commitment, for all of a kind."""
        return preprocessed(kind, self.data() is not None)

    def air(self, number: int, tables: int, output_words: int, input_words: int = 0) -> Air:
        """Return the table with this number in a statement or a first shard of ``tables`` tables.

        Args:
            number: The table's number; 0 is the boundary.
            tables: Tables of the statement, the boundary included.
            output_words: Words of the public output.
            input_words: Words of the stated input; 0 without one.

        Raises:
            ValueError: For the program's data, if it brings none.
        """
        if number == 0:
            return _table(Boundary, self.entry, tables - 1)
        match number:
            case TableNumber.PROGRAM:
                return self.program()
            case TableNumber.IMAGE:
                data = self.data()
                if data is None:
                    raise RuleError("shape.data", "the program brings no data")
                return data
            case TableNumber.ZERO:
                return _table(ZeroMemory, self.zero_base, INPUT_BASE)
            case TableNumber.INPUT:
                return _table(InputMemory, INPUT_BASE, OUTPUT_BASE)
            case TableNumber.OUTPUT:
                return _table(OutputMemory, output_words)
            case TableNumber.ZERO_ABOVE:
                # A run without output lacks the word for its length too.
                return _table(ZeroMemory, OUTPUT_BASE + 8 * max(output_words, 1), MEMORY_END)
            case TableNumber.STATED_INPUT:
                return _table(StatedInput, input_words)
            case TableNumber.ZERO_BETWEEN:
                return _table(ZeroMemory, INPUT_BASE + 8 * input_words, OUTPUT_BASE)
        return _same_for_all(number)

    def rows(self, number: int, output_words: int, input_words: int) -> range:
        """Return the numbers of rows that executions need of a table that cannot repeat."""
        data = self.data()
        regions = {
            TableNumber.ZERO: (self.zero_base, INPUT_BASE),
            TableNumber.INPUT: (INPUT_BASE, OUTPUT_BASE),
            TableNumber.ZERO_ABOVE: (OUTPUT_BASE + 8 * max(output_words, 1), MEMORY_END),
            TableNumber.ZERO_BETWEEN: (INPUT_BASE + 8 * input_words, OUTPUT_BASE),
        }
        if number in regions:
            start, end = regions[TableNumber(number)]
            return range(1, Region.needed((end - start) // 8) + 1)
        air = self.air(number, 0, output_words, input_words)
        if isinstance(air, PublicWords):
            return range(air.rows, air.rows + 1)
        needed = {
            TableNumber.PROGRAM: self.program().rows,
            TableNumber.IMAGE: 0 if data is None else data.rows,
            TableNumber.NUMBERS: HALF,
            TableNumber.KECCAK_DIGITS: keccak_digits.ROWS,
        }.get(TableNumber(number), 1)
        return range(needed, needed + 1)

    def tables(
        self,
        cycles: int,
        numbers: Sequence[Sequence[int]],
        heights: Sequence[Sequence[int]],
        output_words: int,
        input_words: int,
    ) -> list[list[Air]]:
        """Return the tables with these numbers and heights, shard by shard; the first shard starts with the boundary.

        Prover and verifier call it.

        Raises:
            ValueError: For a shape that honest proving never makes (`shape`), or if times of all shards together could
                wrap around p (`times`).
        """
        check_numbers(numbers, self.data() is not None)
        first, *others = numbers
        known = {number: self.air(number, 1 + len(first), output_words, input_words) for number in {0}.union(*numbers)}
        airs = [[known[number] for number in shard] for shard in ((0, *first), *others)]
        (boundary, *own), *rest = heights
        if boundary != MIN_ROWS:
            raise RuleError("shape.boundary", f"the boundary has {boundary:,} rows, not {MIN_ROWS}")
        check_times(zip(chain(*airs), chain(*heights), strict=True))
        check_heights(
            numbers,
            [own, *rest],
            cycles,
            cells=lambda number: cells_per_row(known[number].describe()),
            rows=lambda number: self.rows(number, output_words, input_words),
        )
        return airs

    def _main_width(self, number: int, output_words: int, input_words: int) -> int:
        """Return the main columns of a table."""
        air = self.air(number, 0, output_words, input_words)
        return (air if isinstance(air, PublicWords) else air.describe()).main_width

    def table(self, air: Air, rows: int) -> Table:
        """Return a table of this height as a verifier has it."""
        return Table(air)

    def statement(self, tables: Sequence[Table], label: str) -> Statement:
        """Return the statement, or a shard of one, with these tables."""
        return GuestStatement(tables, label, self.program_hash)

    def in_shards(
        self, tables: Sequence[Sequence[Table]], numbers: Sequence[Sequence[int]], label: str
    ) -> ShardedStatement:
        """Return the statement in shards with these tables.

        ``numbers``: the tables of each shard without the boundary, which is the first table of the first shard.
        """
        (first, *others) = numbers
        return in_shards(tables, [(0, *first), *others], MIN_ROWS, label, self.statement)

    def claim_in(self, proof: Proof | ShardedProof) -> Claim:
        """Return the claim in the header of a proof; raises VerificationError if it makes no sense."""
        return claim_of(header_of(proof).first, self.program_hash)

    def verify(
        self,
        proof: AnyProof | MockProof | bytes,
        security: float = 128,
        proximity: str = JOHNSON_PROXIMITY,
        *,
        exit_code: int | str = 0,
        preprocessed: Caps = None,
        allow_mock: bool = False,
    ) -> Verdict:
        """Check that a proof is about a run of this program that has ended with this exit code.

        Args:
            proof: The proof, or its bytes.
            security: The least provable security, in bits.
            proximity: ``"unique"`` counts unique decoding alone.
            exit_code: The exit code, or ``"any"``. By default the proof of a run that failed is refused.
            preprocessed: The commitments of the proof's shards to their preprocessed columns, if the caller has made
                them; of the base of a compressed proof.
            allow_mock: As in `graphprover.verify`.

        Returns:
            The verdict; its ``claim`` has the output, the exit code, the cycles and the stated input.

        Raises:
            VerificationError: if the proof does not convince; for another exit code by the rule ``asked.exit_code``.
        """
        proof = parsed(proof, allow_mock)
        check_level(proof.header, security)  # before the statement, which may be expensive to make
        statement = self.statement_of(proof.header, coming=isinstance(proof, CompressedProof | MockProof))
        verdict = verify_made(proof, statement, security, proximity, preprocessed)
        assert verdict.claim is not None
        check_exit_code(verdict.claim, exit_code)
        return verdict

    @overload
    def statement_of(self, proof: Proof, *, coming: bool = False) -> Statement: ...

    @overload
    def statement_of(self, proof: Proof | ShardedProof, *, coming: bool = False) -> Statement | ShardedStatement: ...

    def statement_of(self, proof: Proof | ShardedProof, *, coming: bool = False) -> Statement | ShardedStatement:
        """Return the statement that a proof claims to prove about this program.

        The prover chose the label of the proof. It is compared so that the error is in plain words.

        Args:
            proof: The proof, or its header.
            coming: Whether ``proof`` is a header without payloads, whose lengths are not checked then.

        Raises:
            VerificationError: if the label names another program, or the header fits no statement.
        """
        _, _, stated = proof.label.rpartition(" ")
        if _HASH.fullmatch(stated) and stated != self.program_hash.hex():
            raise VerificationError(
                "guest.label", f"this proof is of program {stated}, not of {self.program_hash.hex()}"
            )
        cap_height = proof.parameters.cap_height
        if cap_height != CAP_HEIGHT:  # keys commit to this height
            raise VerificationError(
                "guest.cap", f"the proof has cap height {cap_height}; executions are proved at cap height {CAP_HEIGHT}"
            )
        if (log_blowup := proof.parameters.log_blowup) not in RATES.values():  # nor has a key their commitments
            raise VerificationError(
                "guest.cap",
                f"the proof is at the rate 1/{1 << log_blowup}; executions are proved at {rates_text(RATES)}",
            )
        header = header_of(proof)
        first, *_ = header.numbers
        try:
            check_numbers(header.numbers, self.data() is not None)  # before the claim, which is read from these tables
            claim_of(header.first, self.program_hash)
            words = [
                len(header.first[1 + first.index(number)]) // 2 if number in first else 0
                for number in (TableNumber.OUTPUT, TableNumber.STATED_INPUT)
            ]
            # Public words take time to describe: what is not opened is not described.
            for shard, numbers in zip(proof.proofs, header.numbers, strict=True):
                columns = sum(self._main_width(number, *words) for number in numbers)
                if not coming and len(shard.payload) < least_bytes(len(shard.log_heights), columns, proof.parameters):
                    raise VerificationError(
                        "guest.short", "the proof ends inside its tables: their openings are longer than it is"
                    )
            airs = self.tables(header.first[0][0], header.numbers, header.heights, *words)
        except RuleError as error:
            raise error.refusal(f"no statement about this machine: {error}") from None
        tables = [
            [self.table(air, rows) for air, rows in zip(*shard, strict=True)]
            for shard in zip(airs, header.heights, strict=True)
        ]
        if not proof.heads:
            return self.statement(tables[0], proof.label)
        return self.in_shards(tables, header.numbers, proof.label)


def kind_of(tables: Iterable[Table]) -> ShardKind:
    """Return the kind of a statement, or of a shard of one, with these tables."""
    airs = {type(table.air) for table in tables}
    return ShardKind.SHORT if SparseRange in airs else ShardKind.FIRST if RegisterFile in airs else ShardKind.OTHER


@dataclass(frozen=True, eq=False)
class Machine(ProgramStatements):
    """A program with its code, and the tables of any statement about it."""

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
        return self._program

    @cached_property
    def _program(self) -> ProgramTable:
        return ProgramTable(self.entries, rows_for(self.entries.shape[1]))

    def statement(self, tables: Sequence[Table], label: str) -> Statement:
        """Return a statement that shares its commitments with all others of its kind: they have the same columns."""
        statement = super().statement(tables, label)
        object.__setattr__(statement, "_caps", self._caps[kind_of(tables)])
        return statement

    def commit(self, hash: str, log_blowup: int) -> None:
        """Compute the commitment that all statements with all numbers share, ahead of the first proof to verify."""
        tables = [Table(self.air(number, 0, 0)) for number in self.preprocessed(ShardKind.FIRST)]
        self.statement(tables, "").commit(log_blowup, CAP_HEIGHT, hash)

    @cached_property
    def _caps(self) -> dict[ShardKind, dict[tuple[int, int, str], tuple[bytes, ...]]]:
        return {kind: {} for kind in ShardKind}

    def data(self) -> ImageMemory | None:
        return self._data

    @cached_property
    def _data(self) -> ImageMemory | None:
        addresses, values = self.image.addresses, self.image.values
        return ImageMemory(addresses, values, rows_for(len(addresses))) if len(addresses) else None

    @property
    def instructions(self) -> Instructions:
        """Return the decoded words of the code."""
        return self.image.instructions

    @cached_property
    def chip_of_entry(self) -> np.ndarray:
        """Return the chip's number of each row of the program table, int64 (rows,)."""
        return self.entries[FIELDS.index("chip")].astype(np.int64)

    @cached_property
    def offset_of_entry(self) -> np.ndarray:
        """Return the immediate, mod 2^64, of the instruction of each row of the program table: uint64 (rows,)."""
        return self.instructions.imm.view(np.uint64)[self.program_entries.instruction]

    @property
    def entries(self) -> np.ndarray:
        """Return the rows of the program table, uint64 (fields, rows), by instruction and then by outcome."""
        return self.program_entries.rows

    @cached_property
    def program_entries(self) -> Entries:
        """Return the rows of the program table, and their instructions."""
        return program_entries(self.instructions, self.image.code_base)
