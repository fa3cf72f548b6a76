"""The verifier's verdict on shapes of guests' proofs follows docs/protocol.md, section 15.

The page's rules are written a second time in spec_shape.py. Here both judge the same headers, at the real bounds:
headers of runs, headers made from random numbers of uses near the bounds, and changed ones.
"""

import copy
import os
import random
import re
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from graphprover import VerificationError
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.hashing import keccak256
from graphprover.protocol.joint import Joint
from graphprover.protocol.parameters import SMALL, Parameters
from graphprover.verifier.headers import layouts_of_proof
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.io import INPUT_BASE, OUTPUT_BASE
from graphprover.vm.program.isa import Instruction, Op
from graphprover.vm.statement.guest import Guest
from graphprover.vm.statement.header import header_of
from graphprover.vm.statement.key import Key
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import PERMUTING
from graphprover.vm.statement.table_rules import ShardKind
from graphprover.vm.statement.version import CHIP_NUMBERS, MACHINE_DIGEST, SHAPES_VERSION
from graphprover.vm.traces.cycle_ranges import cycle_ranges_of
from graphprover.vm.traces.run_statement import shards_of_run, statement_of_run
from tests.slow import slow_after
from tests.vm.assemble import image, leave, li
from tests.vm.programs import X, Y, everything
from tests.vm.statement import spec_shape as spec
from tests.vm.statement.test_shape import header, in_one

SEARCHED = int(os.environ.get("GRAPHPROVER_SHAPES", "3000"))  # headers
PAYLOAD = bytes(4 << 20)
ROOT = Path(__file__).parents[3]
# Chips of all kinds: shared in either table, narrow, in place, with few cells and with many.
SOME = [CHIP_NUMBERS[name] for name in (
    "goto", "constant", "addi", "addi_narrow", "add_narrow", "unequal", "ld", "mul",
    "div", "keccak_call", "keccak_absorb", "addi_in_place", "addi_narrow_in_place", "and_in_place", "div_in_place",
)]  # fmt: skip

WIDE = [CHIP_NUMBERS[name] for name in ("mulh", "mulhu", "mulhsu", "divu", "rem", "remu", "divw", "and")]


@dataclass
class Claimed:
    """A header that can be changed."""

    cycles: int
    exit_code: tuple[int, int]
    boundary: int  # log2 of its rows
    shards: list[list[list[Any]]]  # of each shard the tables behind the boundary: number, log2 of rows, public values
    heads: list[int]  # log2 of the rows of each shard's head; empty for a proof in one shard
    label: str = ""
    log_blowup: int = 1
    cap_height: int = 0
    false_head: int | None = None  # the shard whose head names another table than its last

    def files(self) -> list[spec.File]:
        """Return the headers of its files."""
        found = []
        for index, tables in enumerate(self.shards):
            numbers, logs, values = (tuple(table[i] for table in tables) for i in range(3))
            stated = numbers
            if not index:
                stated = (0, *numbers)
                logs, values = (self.boundary, *logs), ((self.cycles, *self.exit_code, *numbers), *values)
            if self.heads:
                if self.false_head == index:
                    stated = (*stated[:-1], stated[-1] + 1) if stated else (1,)
                logs, values = (self.heads[index], *logs), (stated, *values)
            found.append(spec.File(logs, tuple(tuple(own) for own in values)))
        return found

    def proof(self) -> Proof | ShardedProof:
        """Return a proof with this header."""
        parameters = Parameters("keccak", self.log_blowup, 10, 0, 3, self.cap_height, 0, 0, 0, 0, 0)
        proofs = [Proof(self.label, parameters, file.logs, file.values, PAYLOAD) for file in self.files()]
        return ShardedProof(Joint((bytes(32),) * len(proofs)), tuple(proofs)) if self.heads else proofs[0]


@dataclass(frozen=True, eq=False)
class Subject:
    """A program, for both verdicts."""

    machine: Machine
    program: spec.Program

    @property
    def guest(self) -> Guest:
        return Guest("guest", "guest", self.machine)

    def describe(self, number: int, t: int, w: int, v: int) -> bytes:
        """Return the canonical bytes of a table."""
        relevant = {0: (t, 0, 0), 6: (0, w, 0), 7: (0, w, 0), 14: (0, 0, v), 15: (0, 0, v)}.get(number, (0, 0, 0))
        return _canonical(self.machine, number, *relevant)

    @cached_property
    def key(self) -> Guest:
        """Return the program's verifying key without commitments, which headers do not use."""
        data = self.program.data_rows
        logs = log2(self.program.program_rows), log2(data) if data else None
        machine, caps = self.machine, {kind: dict[int, bytes]() for kind in ShardKind}
        return Guest("guest", "guest", Key(machine.entry, machine.zero_base, *logs, machine.program_hash, caps))

    def accepted(self, claim: Claimed) -> bool:
        """Return the verdict of the code, which is the same for the same reason with the program and with its key."""
        by_program, by_key = self._refusal_by(self.guest, claim), self._refusal_by(self.key, claim)
        assert by_program == by_key
        return by_program is None

    def _refusal_by(self, guest: Guest, claim: Claimed) -> str | None:
        proof = claim.proof()
        try:
            layouts_of_proof(proof, guest.statement_of(proof))
        except VerificationError as error:
            return str(error)
        return None

    def refusal(self, claim: Claimed) -> str | None:
        """Return the reason for which the page's rules refuse the claim, if any."""
        return spec.refusal(
            claim.files(),
            bool(claim.heads),
            claim.cap_height,
            claim.label,
            self.program,
            self.describe,
        )


@lru_cache(maxsize=4096)
def _canonical(machine: Machine, number: int, t: int, w: int, v: int) -> bytes:
    return machine.air(number, t + 1, w, v).describe().canonical_bytes


@cache
def runs() -> list[tuple[Subject, Claimed]]:
    """Return headers of real runs: of both layout policies, whole and in shards, with the input stated or not."""
    loop = [*li(X, 140000), Instruction(Op.ADDI, X, X, imm=-1), Instruction(Op.BNE, rs1=X, imm=-4)]
    reads = [*li(X, INPUT_BASE), Instruction(Op.LD, Y, X), Instruction(Op.LD, Y, X, imm=800)]
    writes = [*li(X, OUTPUT_BASE), *li(Y, 90), Instruction(Op.SD, rs1=X, rs2=Y), Instruction(Op.SD, rs1=X, imm=80)]
    stores = [*li(X, 1 << 20), Instruction(Op.SD, rs1=X)]
    found = []
    for program in (everything(3), image([*li(12, 7), *loop, *reads, *writes, *stores, *leave()])):
        machine, execution = Machine(program), execute(program, b"input", record=True)
        data = machine.data()
        facts = spec.Program(program.zero_base, machine.program().rows, data and data.rows, machine.program_hash.hex())
        subject = Subject(machine, facts)
        cycle_ranges = cycle_ranges_of(execution.cycles, 3)
        for stated, rate in product((False, True), (None, SMALL)):
            asked: dict[str, Any] = {"commit_input": stated, "rate": rate}
            whole = header(statement_of_run(machine, execution, **asked))
            shards = tuple(map(header, shards_of_run(machine, execution, cycle_ranges, **asked).statements))
            found += [(subject, claimed(proof)) for proof in (whole, in_one(shards))]
    return found


def claimed(proof: Proof | ShardedProof) -> Claimed:
    proofs = (proof,) if isinstance(proof, Proof) else proof.proofs
    numbers, ((cycles, low, high, *_), *_) = header_of(proof).numbers, header_of(proof).first
    heads = [] if isinstance(proof, Proof) else [shard.log_heights[0] for shard in proofs]
    shards = []
    for own, shard in zip(numbers, proofs, strict=True):
        at = len(shard.log_heights) - len(own)
        tables = zip(own, shard.log_heights[at:], shard.public_values[at:], strict=True)
        shards.append([list(table) for table in tables])
    return Claimed(cycles, (low, high), proofs[0].log_heights[len(heads) > 0], shards, heads)


# Headers made from numbers of uses


def made(subject: Subject, bounds: spec.Bounds, rng: random.Random) -> Claimed:
    """Return a header from random numbers of uses near the bounds; its cycles are at or beside the allowed limits."""
    shards = rng.choice((1, 1, 2, 3))
    few = shards == 1 and rng.random() < 0.5  # so few cycles that the run may have table 10
    uses = [
        {
            f: rng.randint(1, 3 * bounds.b) if few else near(bounds, rng)
            for f in (rng.sample(WIDE, rng.randint(0, 8)) if few else []) + rng.sample(SOME, rng.randint(1, 5))
        }
        for _ in range(shards)
    ]
    long = not few and rng.random() < 0.5
    own_from = {f: own_from_of(f, long, bounds) for f in SOME + WIDE}
    facts: dict[int, spec.Derived] = {}

    def add(tables: list[list[Any]], number: int, count: int) -> None:
        facts[number] = spec.derived(subject.describe(number, 0, 0, 0))
        rule = spec.rule_of(number, facts[number].cells, 2**18 if long else 1, bounds)
        tables += [[number, rows.bit_length() - 1, ()] for rows in rule.heights(count)]

    made_shards, cycles = [], 0
    for index, of_chips in enumerate(uses):
        tables: list[list[Any]] = [[1, log2(subject.program.program_rows), ()], [11, 6, ()]]
        shared, permutations = Counter({4096: int(index == shards - 1)}), 0
        for chip, count in of_chips.items():
            if count >= own_from[chip]:
                lanes = 1 if chip in spec.ROWS_OF_CHIP else 1 + (count >= bounds.c) + 2 * (count >= bounds.d)
                add(tables, 16 * chip + lanes, count)
                permutations += count if chip in spec.PERMUTING else 0
            elif chip in spec.COMMON or chip in spec.RARE:
                shared[4096 if chip in spec.COMMON else 4097] += count
            else:
                continue
            cycles += count
        if permutations:
            few = permutations < bounds.h
            if rng.random() < 0.2:
                few = not few
            for number in spec.FEW_CALLS if few else spec.MANY_CALLS:
                add(tables, number, permutations)
            tables.append([13, 14, ()])
        cycles += index == shards - 1
        if not few and rng.random() < 0.1:  # as many uses of a shared table as there can be, or one more or less
            number = rng.choice((4096, 4097))
            sharing = spec.COMMON if number == 4096 else spec.RARE
            most = sum(1 if f == spec.HALT else own_from_of(f, long, bounds) - 1 for f in sharing)
            cycles, shared[number] = cycles - shared[number], most + rng.choice((-1, 0, 1))
            cycles += shared[number]
        for number, count in shared.items():
            add(tables, number, count)
        if rng.random() < 0.05 and any(count >= own_from[f] for f, count in of_chips.items()):
            # A chip with tables of two numbers of lanes.
            chip = next(f for f, count in of_chips.items() if count >= own_from[f])
            lanes, count = rng.choice(((1, bounds.c - 1), (2, bounds.c), (4, bounds.d)))
            lanes = 1 if chip in spec.ROWS_OF_CHIP else lanes
            add(tables, 16 * chip + lanes, count)
            cycles += count
        if rng.random() < 0.3:
            # Eight tables of 2^26 rows exceed the bound on times.
            add(tables, 8, rng.choice((7, 8)) << 26 if rng.random() < 0.1 else near(bounds, rng))
        if index == 0:
            tables.append([2, 6, ()])
            if subject.program.data_rows:
                tables.append([3, log2(subject.program.data_rows), ()])
            tables += [[n, rng.randint(6, 12), ()] for n in (4, 5, 7) if rng.random() < 0.5]
        if shards == 1 and (cycles <= 2**17 or rng.random() < 0.05) and rng.random() < 0.7:
            words = sum(spec.derived(subject.describe(n, 0, 0, 0)).cells for n, *_ in tables)
            rule = spec.Rule(1, 1, 2**13 if words >= 720 else 2**26, (64,))
            count = rng.choice((rng.randint(1, 2**15), 2**14 + 1, 2**13 + 1, 3 * 2**13, 3 * 2**13 - 1, 2**15))
            heights = (
                rule.heights(count)
                if rng.random() < 0.7
                else [2**14, 2**13, 2 ** rng.randint(6, 14)][: rng.randint(2, 3)]
            )
            tables += [[10, log2(rows), ()] for rows in heights]
        else:
            tables.append([9, 16, ()])
        # Tables of one number stay in their order.
        made_shards.append(sorted(tables, key=lambda table: table[0]))
    claim = Claimed(cycles, (0, 0), 6, made_shards, [6] * shards if shards > 1 else [])
    at_edge(subject, claim, bounds, rng)
    return claim


def own_from_of(chip: int, long: bool, bounds: spec.Bounds) -> int:
    return spec.own_tables_from(chip, 2**18 if long else 1, bounds)


def at_edge(subject: Subject, claim: Claimed, bounds: spec.Bounds, rng: random.Random) -> None:
    """Sometimes change the cycles to the least or the most that the tables allow, or to one more or less."""
    numbers = [[table[0] for table in tables] for tables in claim.shards]
    rows = [[2 ** table[1] for table in tables] for tables in claim.shards]
    facts = {n: spec.derived(subject.describe(n, 0, 0, 0)) for own in numbers for n in own if n not in (6, 14)}
    if any(n in (6, 14) for own in numbers for n in own):
        return
    found = spec.cycles_range(numbers, rows, claim.cycles, facts, bounds)
    if found and rng.random() < 0.6:
        claim.cycles = max(0, rng.choice((found[0] - 1, found[0], found[1], found[1] + 1)))
    if found and found[0] <= 2**17 <= found[1]:
        claim.cycles = 2**17 + rng.choice((0, 1))  # the most with table 10, and one more


def near(bounds: spec.Bounds, rng: random.Random) -> int:
    """Return a number of uses: near a bound, or of any length."""
    if rng.random() < 0.5:
        bound = rng.choice((bounds.a, bounds.b, 2 * bounds.b, bounds.c, bounds.d, bounds.f, 3 * bounds.f, bounds.h))
        return bound + rng.choice((-1, 0, 1))
    return rng.randint(1, 1 << rng.randint(1, 22))


def log2(rows: int) -> int:
    assert rows == 1 << (rows.bit_length() - 1)
    return rows.bit_length() - 1


# Changes


def changed(claim: Claimed, subject: Subject, rng: random.Random) -> Claimed:
    """Return a copy with one to three changes."""
    claim = copy.deepcopy(claim)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        change(claim, subject, rng)
    return claim


def change(claim: Claimed, subject: Subject, rng: random.Random) -> None:
    index = rng.randrange(len(claim.shards))
    tables, other = claim.shards[index], rng.choice(claim.shards)
    if not tables:
        return
    i, j = rng.randrange(len(tables)), rng.randrange(len(tables))
    match rng.randrange(18 if claim.heads else 13):
        case 0:  # a table twice
            tables.insert(i, list(tables[i]))
        case 1:  # two tables swapped
            tables[i], tables[j] = tables[j], tables[i]
        case 2:  # a neighbouring number, of other lanes perhaps
            tables[i][0] = max(tables[i][0] + rng.choice((-1, 1, 2)), 0)
        case 3:  # a table more
            chip = rng.choice(SOME)
            unknown = (0, 16 * spec.HALT + 1, 16 * chip + 3, 16 * (spec.CHIPS + 1) + 1, 4101)
            known = (*range(1, 16), *range(4096, 4101), *(16 * chip + lanes for lanes in (1, 2, 4)))
            tables.append([rng.choice(unknown if rng.random() < 0.2 else known), rng.randint(5, 13), ()])
            tables.sort(key=lambda table: table[0])
        case 4:  # other cycles
            claim.cycles = max(0, claim.cycles + rng.choice((-5000, -1, 1, rng.randint(-5000, 5000))))
        case 5:
            claim.boundary += rng.choice((-1, 1))
        case 6:  # a table split
            tables.insert(i + 1, [tables[i][0], max(tables[i][1] - rng.randint(1, 2), 0), tables[i][2]])
        case 7:
            del tables[i]
        case 8:
            claim.log_blowup = rng.choice((1, 2, 3, 6))
            claim.cap_height = rng.choice((0, 0, 0, 1, 3))
        case 9:  # public values
            i = rng.choice([n for n, table in enumerate(tables) if table[2]] or [i])
            values = list(tables[i][2])
            if values and rng.random() < 0.9:
                at = rng.choice((0, min(1, len(values) - 1), len(values) - 1, rng.randrange(len(values))))
                values[at] = rng.choice((0, 1, values[at] + 1, values[at] + 2**32, 2**32 - 1))
            else:
                values.append(rng.choice((0, 1)))
            tables[i][2] = tuple(values)
        case 10:
            wrong = keccak256(b"").hex()
            right = subject.program.hash
            claim.label = rng.choice((f"a {right}", f"a {wrong}", wrong, f"a {wrong.upper()}", f"{wrong} a", "a b"))
        case 11:
            claim.exit_code = rng.choice(((0, 7), (2**32 - 1, 2**32 - 1), (2**32, 0), (0, 2**32)))
        case 13:
            claim.heads[index] += rng.choice((-1, 1))
        case 14:
            claim.false_head = index
        case 15:  # a table in another shard
            other.append(tables.pop(i))
            other.sort(key=lambda table: table[0])
        case 16:  # the chips' tables of a shard in another
            moved = [table for table in tables if table[0] >= 16]
            tables[:] = [table for table in tables if table[0] < 16]
            other += moved
            other.sort(key=lambda table: table[0])
        case 17:  # a shard twice, or left out, or without tables
            if index and rng.random() < 0.4 and len(claim.shards) > 2:
                del claim.shards[index], claim.heads[index]
            elif index and rng.random() < 0.2:
                tables.clear()
            elif index:
                claim.shards.insert(rng.randint(1, len(claim.shards)), [list(table) for table in tables])
                claim.heads.append(6)
        case _:  # another height
            tables[i][1] = max(tables[i][1] + rng.choice((-1, 1)), 0)


@pytest.mark.parametrize("searched", slow_after(1, [SEARCHED // 4, SEARCHED]))
def test_verdicts_on_shapes_are_those_of_the_page(searched: int) -> None:
    """Find many accepted and refused headers of each kind, and a refusal by most rules of the page."""
    rng = random.Random(0)
    verdicts, rules = Counter[tuple[str, bool]](), Counter[str]()
    for kind, subject, claim in headers(rng, searched):
        refused = subject.refusal(claim)
        assert subject.accepted(claim) == (refused is None), (kind, refused, claim)
        verdicts[kind, refused is None] += 1
        rules[refused or "accepted"] += 1
    assert verdicts["run", True] == len(runs()) and not verdicts["run", False]
    for policy, other in product(("usual", "small"), ("made", "changed")):
        for accepted in (True, False):
            least = searched // (20 if other == "made" else 60)
            assert verdicts[f"{other} {policy}", accepted] >= least, (verdicts, rules)
    assert len(rules) >= (28 if searched == SEARCHED else 24), rules
    assert min(rules["shape.uses"], rules["guest.label"]) >= searched // 200, rules


def headers(rng: random.Random, searched: int) -> Iterator[tuple[str, Subject, Claimed]]:
    """Yield the headers of runs, and ``searched`` others, in equal parts from uses and by changes, at either policy."""
    for subject, claim in runs():
        yield "run", subject, claim
    # Of each program and each input, the runs come in pairs: whole and in shards, first of the usual policy.
    usual = [run for i, run in enumerate(runs()) if i // 2 % 2 == 0]
    small = [run for i, run in enumerate(runs()) if i // 2 % 2]
    for _ in range(searched // 4):
        for policy, bounds, own in zip(("usual", "small"), spec.SETS, (usual, small), strict=True):
            subject = rng.choice(own)[0]
            claim = made(subject, bounds, rng)
            yield f"made {policy}", subject, claim
            if rng.random() < 0.5:
                subject, claim = rng.choice(own)
            yield f"changed {policy}", subject, changed(claim, subject, rng)


def test_a_run_of_either_policy_is_refused_by_the_bounds_of_the_other() -> None:
    """Require both sets of bounds: some headers satisfy only one of them."""
    only = Counter[int]()
    for subject, claim in runs():
        numbers = [[table[0] for table in tables] for tables in claim.shards]
        rows = [[2 ** table[1] for table in tables] for tables in claim.shards]
        words = [max((len(t[2]) // 2 for t in claim.shards[0] if t[0] == n), default=0) for n in (6, 14)]
        facts = {n: spec.derived(subject.describe(n, 0, *words)) for own in numbers for n in own}
        found = [spec.cycles_range(numbers, rows, claim.cycles, facts, bounds) for bounds in spec.SETS]
        holds = [pair is not None and pair[0] <= claim.cycles <= pair[1] for pair in found]
        if sum(holds) == 1:
            only[holds.index(True)] += 1
    assert min(only[0], only[1]) > 0, only


@pytest.mark.parametrize("low", [(64,), (64, 256)])
@pytest.mark.parametrize(("lanes", "block", "idle"), [(1, 1, 100), (2, 1, 0), (4, 1, 40), (1, 24, 300), (1, 170, 200)])
def test_uses_of_the_page_are_the_inverse_of_its_heights(
    lanes: int, block: int, idle: int, low: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare with all numbers of uses up to some thousands, with tables of at most 2^9 rows."""
    monkeypatch.setattr(spec, "MOST_ROWS", 2**9)
    rule = spec.Rule(lanes, block, idle, low)
    found: dict[tuple[int, ...], list[int]] = {}
    most = rule.room(4 * 2**9)
    for count in range(1, most):
        found.setdefault(tuple(rule.heights(count)), []).append(count)
    for heights, counts in found.items():
        if counts[-1] < most - 1:
            assert list(rule.uses(heights)) == counts
    rng = random.Random(0)
    for _ in range(1000):
        heights = tuple(1 << rng.randint(6, 9) for _ in range(rng.randint(1, 3)))
        assert heights in found or not rule.uses(heights)


# Other rules of the section


def test_chips_have_the_numbers_of_the_page() -> None:
    names = {number: name for name, number in CHIP_NUMBERS.items()}
    assert sorted(names) == list(range(1, spec.CHIPS + 1))
    assert (names[spec.HALT], names[spec.KECCAK_CALL]) == ("halt", "keccak_call")
    assert {names[number] for number in spec.PERMUTING} == {*PERMUTING}
    assert {n for n, name in names.items() if name.endswith("_in_place")} == {
        *range(spec.FIRST_IN_PLACE, min(spec.ROWS_OF_CHIP))
    }
    assert {n for n, name in names.items() if name.endswith("_narrow")} == {*spec.NARROW}
    assert len(spec.COMMON) == 46 and len(spec.RARE) == 65


def test_the_machines_digest_is_that_of_the_page() -> None:
    """Put tables 4096 to 4100 before the tables of chips."""
    program = Key(0, 8, 6, 6, bytes(32), {})
    chips = [16 * f + lanes for f in range(1, spec.CHIPS + 1) for lanes in (1, 2, 4) if spec.chip_of(16 * f + lanes)]
    hashed = b"graphprover machine" + struct.pack("<QQ", 11, spec.VERSION)
    for number in (0, *range(1, 16), *range(4096, 4101), *chips):
        described = program.air(number, 2, 32, 33).describe().canonical_bytes
        hashed += struct.pack("<QQ", number, len(described)) + described
    assert keccak256(hashed) == MACHINE_DIGEST


@pytest.mark.parametrize("number", [6, 14])
def test_public_words_have_the_lanes_of_the_page(number: int) -> None:
    machine = runs()[0][0].machine
    for words in (1, 2, 3, 9, 10, 33, 100, 257):
        w, v = (words, 0) if number == 6 else (0, words)
        air: Any = machine.air(number, 0, w, v)
        assert air.lanes == spec.lanes_of_words(number, w, v)


def test_a_payload_has_at_least_the_bytes_of_the_page() -> None:
    """Refuse one byte less before the tables are described."""
    subject, claim = runs()[0]
    (file,), words = (
        claim.files(),
        [max((len(t[2]) // 2 for t in claim.shards[0] if t[0] == n), default=0) for n in (6, 14)],
    )
    columns = sum(spec.derived(subject.describe(table[0], 0, *words)).main for table in claim.shards[0])
    size = spec.least_bytes(len(file.logs), columns, 10)
    proof = claim.proof()
    assert isinstance(proof, Proof)

    def with_payload(length: int) -> Proof:
        return Proof(proof.label, proof.parameters, proof.log_heights, proof.public_values, bytes(length))

    assert subject.guest.statement_of(with_payload(size))
    with pytest.raises(VerificationError, match="ends inside its tables"):
        subject.guest.statement_of(with_payload(size - 1))


def test_the_page_of_pseudocode_has_the_code_that_is_tested() -> None:
    page = (ROOT / "docs" / "shapes.md").read_text()
    code = Path(spec.__file__).read_text()
    names, *blocks = re.findall("^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert "\n".join(blocks).split() == code[code.index("VERSION = ") :].split()
    assert spec.VERSION == SHAPES_VERSION and f"The version of the rules is {SHAPES_VERSION}." in page
    _run_alone("\n".join([names, *blocks]))


def _run_alone(code: str) -> None:
    """Run the code of the page by itself, and judge the shapes of a small run by it."""
    found: dict[str, Any] = {"__name__": "__page__"}
    exec(compile(code, "shapes.md", "exec"), found)
    program = found["Program"](2**20, 64, None)
    numbers, rows = [1, 2, 6, 9, 11, 17, 4096], [64, 64, 64, 2**16, 64, 2**11, 64]
    tables = {number: found["Derived"](100, 4) for number in (0, *numbers)}
    found["check_numbers"](numbers, 0, 1, program)
    found["check_heights"]([numbers], [rows], 2_000, (2, 0), program, tables)
    with pytest.raises(found["Refused"], match=r"shape\.exit"):
        found["check_numbers"](numbers[:-1], 0, 1, program)
    with pytest.raises(found["Refused"], match=r"shape\.cycles"):
        found["check_heights"]([numbers], [rows], 10**5, (2, 0), program, tables)
