"""The verifier accepts exactly the shapes of statements that honest proving makes."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, reduce
from itertools import product
from operator import or_
from pathlib import Path
from typing import Any

import pytest

from graphprover import VerificationError
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.joint import Joint
from graphprover.protocol.parameters import SMALL, Parameters
from graphprover.statement.cells import cells_per_row
from graphprover.statement.statement import Statement
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.io import INPUT_BASE, OUTPUT_BASE
from graphprover.vm.program.isa import Instruction, Op
from graphprover.vm.statement import shape
from graphprover.vm.statement.header import header_of
from graphprover.vm.statement.shape import LayoutPolicy, Packing, packing, table_for
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import (
    CALL_CHIPS,
    CHIP_TABLES,
    PER_CHIP,
    PERMUTING,
    SHARED,
    TableNumber,
    name_of,
)
from graphprover.vm.statement.table_rules import SEVERAL, TABLE_RULES
from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
from graphprover.vm.traces.run_statement import shards_of_run, statement_of_run
from tests.vm.assemble import image, leave, li
from tests.vm.programs import X, Y, everything

PARAMETERS = Parameters("keccak", 1, 10, 0, 3, 0, 0, 0, 0, 0, 0)
SEARCHED = [60, pytest.param(8000, marks=pytest.mark.slow)]  # headers
POLICIES = (
    LayoutPolicy(1 << 12, 1 << 5, 1 << 6, 1 << 12, 1 << 14, 1 << 20, 1 << 12, 1 << 6, 2),
    LayoutPolicy(1 << 13, 1 << 7, 1 << 8, 1 << 13, 1 << 16, 1 << 22, 1 << 14, 1 << 11, 5),
)
SPARSE_IDLE = 1 << 4
# With rows for each call; a run has one pair of them.
WIDE, NARROW = (12, 4098), (4099, 4100)
KECCAK = {*WIDE, *NARROW, 13}
SOME_WORDS = 2493  # of the tables of a run, that with an unstated input has fewer and that with a stated one more


@pytest.fixture(autouse=True)
def _shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs of about 10,000 cycles have rows of any number of lanes, and be too long for a sparse range table.

    Sparse range tables are split from 2^4 idle rows on, beside more words than some of the headers have.
    """
    monkeypatch.setattr(shape, "SPARSE_CYCLES", 1 << 13)
    monkeypatch.setattr(shape, "DEFAULT", POLICIES[0])
    monkeypatch.setattr(shape, "COMPACT", POLICIES[1])
    monkeypatch.setattr(shape, "SPARSE_IDLE", SPARSE_IDLE)
    monkeypatch.setattr(shape, "SPARSE_WORDS", SOME_WORDS)
    monkeypatch.setattr(shape, "LONG", 1 << 14)


@pytest.mark.parametrize("low_heights", [(64,), (64, 256)])
@pytest.mark.parametrize("split_rows", [0, 100])
@pytest.mark.parametrize(
    ("uses", "rows", "cells"),
    [
        (4, 1, 3), (1, 1, 40), (1, 25, 3), (2, 1, 4000), (1, 25, 1533), (1, 10, 376), (1, 170, 10), (1, 400, 5),
        (1, 400, 2),
    ],
)  # fmt: skip
def test_counts_are_the_inverse_of_heights(
    uses: int, rows: int, cells: int, split_rows: int, low_heights: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare with all numbers of uses up to some thousands, with tables of at most 2^10 rows."""
    monkeypatch.setattr(shape, "MAX_ROWS", 1 << 10)
    kind = Packing(uses, rows, max(2000 // cells, split_rows), low_heights)
    most = kind.room(5 << 10)
    found: dict[tuple[int, ...], list[int]] = {}
    for count in range(1, most):
        found.setdefault(tuple(kind.heights(count)), []).append(count)
    for heights, counts in found.items():
        if counts[-1] < most - 1:  # the last ones go on
            assert list(kind.counts(heights)) == counts
    rng = random.Random(0)
    for _ in range(3000):
        heights = tuple(1 << rng.randint(6, 10) for _ in range(rng.randint(1, 4)))
        if heights not in found:
            assert not kind.counts(heights) or kind.counts(heights)[-1] >= most - 1


# Runs, and what their proofs' headers say


@cache
def runs() -> list[tuple[Machine, Proof | ShardedProof]]:
    """Return proofs, with payloads of zeros, of runs that together have every table, whole and in shards."""
    loop = [*li(X, 20000), Instruction(Op.ADDI, X, X, imm=-1), Instruction(Op.BNE, rs1=X, imm=-4)]
    reads = [*li(X, INPUT_BASE), Instruction(Op.LD, Y, X), Instruction(Op.LD, Y, X, imm=800)]
    output = li(Y, 9000)  # bytes, in more rows than the least
    writes = [*li(X, OUTPUT_BASE), *output, Instruction(Op.SD, rs1=X, rs2=Y), Instruction(Op.ADD, X, X, Y)]
    writes.append(Instruction(Op.SD, rs1=X, imm=80))
    stores = [*li(X, 1 << 20), Instruction(Op.SD, rs1=X), Instruction(Op.ADD, X, 12, 12)]
    images = [everything(3), image([*li(12, 7), *loop, *reads, *writes, *stores, *leave()])]
    found: list[tuple[Machine, Proof | ShardedProof]] = []
    for program in images:
        machine, execution = Machine(program), execute(program, b"input", record=True)
        cycle_ranges = cycle_ranges_of(execution.cycles, 3)
        for commit_input, rate in product((False, True), (None, SMALL)):
            asked: dict[str, Any] = {"commit_input": commit_input, "rate": rate}
            found.append((machine, header(statement_of_run(machine, execution, **asked))))
            shards = shards_of_run(machine, execution, cycle_ranges, **asked)
            found.append((machine, in_one(tuple(map(header, shards.statements)))))
    assert {number for _, proof in found for number in tables_of(proof)} >= {*TableNumber}
    assert {machine_cycles(proof) >= shape.LONG for _, proof in found} == {False, True}
    assert {tables_of(proof).count(TableNumber.SPARSE_RANGE) > 1 for _, proof in found} == {False, True}
    return found


def machine_cycles(proof: Proof | ShardedProof) -> int:
    return header_of(proof).first[0][0]


def header(stated: Statement) -> Proof:
    heights = tuple(table.main.shape[1].bit_length() - 1 for table in stated.tables if table.main is not None)
    values = tuple(tuple(table.public_values or ()) for table in stated.tables)
    return Proof("", PARAMETERS, heights, values, bytes(1 << 20))


def in_one(proofs: tuple[Proof, ...]) -> ShardedProof:
    return ShardedProof(Joint((bytes(32),) * len(proofs)), proofs)


def tables_of(proof: Proof | ShardedProof) -> list[int]:
    return [number for shard in header_of(proof).numbers for number in shard]


@dataclass
class Claimed:
    """The contents of a header, for changing it."""

    cycles: int
    boundary: int  # log2 of its rows
    shards: list[list[list[Any]]]  # of each shard the tables beside the boundary: number, log2 of rows, public values


def claimed(proof: Proof | ShardedProof) -> Claimed:
    numbers, (first, *_) = header_of(proof).numbers, header_of(proof).first
    proofs = (proof,) if isinstance(proof, Proof) else proof.proofs
    shards = []
    for own, shard in zip(numbers, proofs, strict=True):
        others = slice(len(shard.log_heights) - len(own), None)
        tables = zip(own, shard.log_heights[others], shard.public_values[others], strict=True)
        shards.append([list(table) for table in tables])
    return Claimed(first[0], proofs[0].log_heights[len(proofs) > 1], shards)


def stating(claim: Claimed, alone: bool) -> Proof | ShardedProof:
    """Return the header of a claim."""
    proofs = []
    for index, tables in enumerate(claim.shards):
        numbers, heights, values = zip(*tables, strict=True)
        if not index:
            first = (claim.cycles, 0, 0, *numbers)
            numbers, heights, values = (0, *numbers), (claim.boundary, *heights), (first, *values)
        if not alone:
            heights, values = (6, *heights), (numbers, *values)
        proofs.append(Proof("", PARAMETERS, heights, values, bytes(1 << 20)))
    return proofs[0] if alone else in_one(tuple(proofs))


def changed(proof: Proof | ShardedProof, rng: random.Random) -> Proof | ShardedProof:
    """Change a header: more or fewer tables, another order, other shards, heights or cycles."""
    claim = claimed(proof)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        index = rng.randrange(len(claim.shards))
        tables, other = claim.shards[index], rng.choice(claim.shards)
        i, j = rng.randrange(len(tables)), rng.randrange(len(tables))
        match rng.randrange(12 if len(claim.shards) > 1 else 9):
            case 0:
                tables.insert(i, list(tables[i]))
            case 1:
                tables[i], tables[j] = tables[j], tables[i]
            case 2:
                tables[i][0] = max(tables[i][0] + rng.choice((-PER_CHIP, -3, -1, 1, 3, PER_CHIP)), 0)
            case 3:
                tables.append([rng.choice((0, *TableNumber, *CHIP_TABLES)), rng.randint(5, 9), ()])
                tables.sort(key=lambda table: table[0])
            case 4:
                claim.cycles = max(0, claim.cycles + rng.randint(-5000, 5000))
            case 5:
                claim.boundary += rng.choice((-1, 1))
            case 6:
                tables.insert(i + 1, [tables[i][0], max(tables[i][1] - rng.randint(1, 2), 0), tables[i][2]])
            case 7 if len(tables) > 1:
                del tables[i]
            case 9:
                other.append(list(tables[i]))
                other.sort(key=lambda table: table[0])
            case 10 if len(tables) > 1:
                other.append(tables.pop(i))
                other.sort(key=lambda table: table[0])
            case 11 if index and other is not claim.shards[0]:
                claim.shards.insert(rng.randint(1, len(claim.shards)), [list(table) for table in tables])
                if rng.random() < 0.5:
                    claim.shards.remove(tables)
            case _:
                tables[i][1] = max(tables[i][1] + rng.choice((-2, -1, 1, 2)), 0)
    return stating(claim, isinstance(proof, Proof))


# What honest proving makes, said once more, by trying all numbers of uses


def is_made(machine: Machine, proof: Proof | ShardedProof) -> bool:
    """Return whether a run of this machine can have these tables, by any of the layout policies."""
    return any(is_made_at(policy, machine, proof) for policy in POLICIES)


def is_made_at(policy: LayoutPolicy, machine: Machine, proof: Proof | ShardedProof) -> bool:
    claim = claimed(proof)
    found, last = [], len(claim.shards) - 1
    for index, tables in enumerate(claim.shards):
        numbers, logs, values = zip(*tables, strict=True)
        if not may_stand(machine, numbers, logs, values, not index, index == last):
            return False
        if TableNumber.SPARSE_RANGE in numbers and (last or claim.cycles > 1 << 13):
            return False
        words = words_beside(machine, numbers, values)
        found.append(uses_of(numbers, [1 << log for log in logs], claim.cycles, words, policy))
    if claim.boundary != 6 or not all(all(uses.values()) for uses in found):
        return False
    proving = {WIDE[0], NARROW[0], *CHIP_TABLES, *SHARED}  # a permutation is a cycle of its caller
    proved = [counts for uses in found for number, counts in uses.items() if number in proving and not permutes(number)]
    return sum(map(min, proved)) <= claim.cycles <= sum(map(max, proved))


def may_stand(
    machine: Machine, numbers: Sequence[int], logs: Sequence[int], values: Sequence[Any], first: bool, last: bool
) -> bool:
    """Return whether a shard may have these tables, except heights that uses determine; a whole run is both ends."""
    singles = [number for number in numbers if number in {*TableNumber}]
    chips = [number for number in numbers if number not in {*TableNumber}]
    if not {*chips} <= {*CHIP_TABLES}:
        return False
    once = [number for number in singles if number not in SEVERAL]
    call = [number for number in chips if permutes(number)]
    names = {CHIP_TABLES[number].chip: number for number in chips}
    of_numbers = {*singles} & {TableNumber.NUMBERS, TableNumber.SPARSE_RANGE}
    fixed = {TableNumber.PROGRAM, *of_numbers, TableNumber.POWERS}
    if (
        list(numbers) != sorted(numbers)
        or len(once) != len(set(once))
        or not fixed <= {*singles}
        or len(of_numbers) != 1
        or (not first and not {*singles} <= fixed | {TableNumber.KECCAK_DIGITS, *SEVERAL})
        or (first and TableNumber.REGISTERS not in singles)
        or (first and (TableNumber.IMAGE in singles) != (machine.data() is not None))
        or (TableNumber.INPUT in singles and TableNumber.STATED_INPUT in singles)
        or (TableNumber.ZERO_BETWEEN in singles and TableNumber.STATED_INPUT not in singles)
        or {*singles} & KECCAK not in ([{13, *WIDE}, {13, *NARROW}] if call else [set()])
        or len(names) != len({*chips})
        or (last and TableNumber.COMMON not in singles)
        or not (names or {*singles} & {*SHARED})
        or min(logs) < 6
        or max(logs) > 26
    ):
        return False
    heights = {
        TableNumber.REGISTERS: 6,
        TableNumber.NUMBERS: 16,
        TableNumber.POWERS: 6,
        TableNumber.KECCAK_DIGITS: 14,
    }
    for number, own in ((TableNumber.OUTPUT, 1), (TableNumber.STATED_INPUT, 3)):
        public = next((words for other, words in zip(numbers, values, strict=True) if other == number), ())
        heights[number] = log_rows_of_words(len(public) // 2, own)
    heights[TableNumber.PROGRAM] = machine.program().rows.bit_length() - 1
    data = machine.data()
    heights |= {TableNumber.IMAGE: 0 if data is None else data.rows.bit_length() - 1}
    return not any(
        (number in heights and log != heights[TableNumber(number)]) for number, log in zip(numbers, logs, strict=True)
    )


def log_rows_of_words(words: int, own: int) -> int:
    """Return log2 of the rows of a table of public words: fewest columns first, then fewest lanes."""
    if not words:
        return 0
    lanes = min(range(1, words + 1), key=lambda lanes: (-(-words // lanes) + (own + 3) * lanes, lanes))
    return max(6, (-(-words // lanes) - 1).bit_length())


def words_beside(machine: Machine, numbers: Sequence[int], values: Sequence[Any]) -> int:
    """Return the committed cells of a row of all tables but sparse range tables."""
    public = {number: len(own) // 2 for number, own in zip(numbers, values, strict=True)}
    words = [public.get(number, 0) for number in (TableNumber.OUTPUT, TableNumber.STATED_INPUT)]
    others = [number for number in numbers if number != TableNumber.SPARSE_RANGE]
    return sum(cells_per_row(machine.air(number, 0, *words).describe()) for number in others)


def uses_of(
    numbers: Sequence[int], heights: Sequence[int], cycles: int, words: int, policy: LayoutPolicy
) -> dict[int, set[int]]:
    """Return all numbers of uses that give a shard's tables these heights, by number."""
    uses: dict[int, set[int]] = {}
    for number in {*numbers} - ({*TableNumber} - SEVERAL):
        own = tuple(height for other, height in zip(numbers, heights, strict=True) if other == number)
        sparse = number == TableNumber.SPARSE_RANGE
        uses[number] = all_sparse(own, words >= SOME_WORDS) if sparse else all_uses(number, own, cycles, policy)
        if number in SHARED:  # each chip proves fewer than have a table of their own
            chips = {*SHARED[TableNumber(number)]}
            most = len(chips - {"halt"}) * (fewest(cycles, policy) - 1) + ("halt" in chips)
            uses[number] = {count for count in uses[number] if count <= min(cycles, most)}
        if number in CHIP_TABLES:
            table = CHIP_TABLES[number]
            uses[number] = {
                count
                for count in uses[number]
                if count <= cycles and has_table(table.chip, count, cycles, policy) == number
            }
    callers = [uses[number] for number in uses if permutes(number)]
    if callers:  # as many permutations as calls of both chips
        totals = sums(callers)
        of_call = WIDE if WIDE[0] in uses else NARROW
        calls = {count for count in uses[of_call[0]] & uses[of_call[1]] if totals >> count & 1}
        calls = {count for count in calls if (count < policy.wide_permutations) == (of_call == NARROW)}
        uses |= dict.fromkeys(of_call, calls)
    return uses


def sums(sets: list[set[int]]) -> int:
    """Return a number whose bits 1 are the sums of a number from each set."""
    found = 1
    for numbers in sets:
        found = reduce(or_, (found << number for number in numbers), 0)
    return found


def permutes(number: int) -> bool:
    return number in CHIP_TABLES and CHIP_TABLES[number].chip in PERMUTING


def fewest(cycles: int, policy: LayoutPolicy) -> int:
    return policy.own_table_long if cycles >= 1 << 14 else policy.own_table


def has_table(chip: str, count: int, cycles: int, policy: LayoutPolicy) -> int | None:
    """Return the chip's own table for ``count`` instructions, if it has one."""
    if chip.endswith("_in_place") and count < policy.in_place:
        return None
    if count < fewest(cycles, policy) and chip not in CALL_CHIPS:
        return None
    return table_for(chip, count, cycles, policy)


def all_uses(number: int, heights: tuple[int, ...], cycles: int, policy: LayoutPolicy) -> set[int]:
    """Return all numbers of uses that give these heights in a run of ``cycles`` cycles."""
    cells = cells_per_row(runs()[0][0].air(number, 0, 0).describe())
    return all_uses_of(packing(number, cells, cycles, policy), heights)


@cache
def all_uses_of(kind: Packing, heights: tuple[int, ...]) -> set[int]:
    """Return all numbers of uses that give these heights."""
    most = sum(map(kind.room, heights))
    full = sum(map(kind.room, heights[:-1]))  # as all tables but the last are
    return {count for count in range(full + 1, most + 1) if kind.heights(count) == [*heights]}


@cache
def all_sparse(heights: tuple[int, ...], split: bool) -> set[int]:
    """Return all counts of numbers that give these heights: each is the least for the numbers left, or half of it."""
    found = set()
    for count in range(1, min(sum(heights), 1 << 15) + 1):
        own, left = [], count
        while left > 0:
            height = max(64, 1 << (left - 1).bit_length())
            own.append(height // 2 if split and height > 64 and height - left > SPARSE_IDLE else height)
            left -= own[-1]
        if own == [*heights]:
            found.add(count)
    return found


@pytest.mark.parametrize("searched", SEARCHED)
def test_shapes_are_accepted_that_honest_proving_makes_and_no_others(searched: int) -> None:
    rng = random.Random(0)
    verdicts = {True: 0, False: 0}
    for machine, honest in runs():
        assert is_made(machine, honest) and machine.statement_of(honest)
        for _ in range(searched // len(runs())):
            proof = changed(honest, rng)
            try:
                accepted = bool(machine.statement_of(proof))
            except VerificationError:
                accepted = False
            assert accepted == is_made(machine, proof), claimed(proof)
            verdicts[accepted] += 1
    assert min(verdicts.values()) > searched // 100, verdicts


def test_the_page_has_the_rules_of_tables() -> None:
    page = Path(__file__).parents[3] / "docs/shapes.md"
    assert rules_of_tables() in page.read_text()


def rules_of_tables() -> str:
    """Return TABLE_RULES as a table of docs/shapes.md."""
    lines = ["| table | name | shards | required in | several | needs | excludes |", "|---" * 7 + "|"]
    for rule in sorted(TABLE_RULES, key=lambda rule: rule.number):
        required = [*(kind.name.lower() for kind in rule.required), *["the last"] * rule.exits]
        relations = [name_of(other) if other is not None else "" for other in (rule.needs, rule.excludes)]
        shards, several = "0" if rule.first else "all", "yes" if rule.several else ""
        cells = [f"{rule.number:d}", name_of(rule.number), shards, ", ".join(required), several, *relations]
        lines.append("".join(f"| {cell} " if cell else "| " for cell in cells) + "|")
    return "\n".join(lines) + "\n"
