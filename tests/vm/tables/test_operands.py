"""Operands on both sides of every bound of the host calls: the executor, the tables and Python's integers agree.

A call with a result is computed as by Python, and its table accepts it. A call without one is refused by the executor
as by Python, and its table notices every witness that a prover could make up for it.
"""

import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from graphprover import prove, verify
from graphprover.air.debugger import FailingConstraint, Finding
from graphprover.air.description import AirDescription
from graphprover.field import P
from graphprover.runtime.numba_cache import njit
from graphprover.statement.check import check
from graphprover.vm.accelerators import execute as accelerators
from graphprover.vm.accelerators.host_call import HostCall
from graphprover.vm.accelerators.integers.fp2 import ALL_FIELDS, BLS12_381, Fp2Field
from graphprover.vm.accelerators.integers.point import ALL_CURVES, LIMBS, POINT
from graphprover.vm.accelerators.keccak.absorb import KECCAK_ABSORB, RATE_WORDS
from graphprover.vm.accelerators.keccak.call import KECCAK_F
from graphprover.vm.accelerators.keccak.permutation import WORDS
from graphprover.vm.accelerators.registry import HOST_CALLS, MOST_WORDS
from graphprover.vm.accelerators.sha256.table import SHA256, Sha256
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.executor.faults import Fault, GuestFault
from graphprover.vm.program.io import OUTPUT_BASE
from graphprover.vm.program.isa import Instruction, Op
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import ROWS_OF_CHIP
from graphprover.vm.tables.buses import Tag
from graphprover.vm.traces.run_statement import statement_of_run
from tests.graphs.test_proof_graph import FEW
from tests.vm.assemble import DATA, image, leave, li
from tests.vm.calls import FIELDS, MODULAR_CALLS, P_384, Call, bytes_of_number, program, result_of
from tests.vm.kernels.naive_calls import (
    Row,
    absorb_rows,
    exact,
    fp2_rows,
    in_the_field,
    limbs,
    matrix,
    modular_rows,
    point_rows,
)
from tests.vm.kernels.naive_sha256 import sha256_rows
from tests.vm.tables import checks
from tests.vm.tables.test_calls import AROUND, SIZED, TABLES

Numbers = list[int]  # a, b, m, c, or coordinates, or the words of a block and a state
BN = 2  # the curve bn254
TABLE_OF = {**TABLES, "sha256": Sha256()}
HALF, BYTES = Tag.HALF.name, Tag.BYTES.name
COMPARED = {
    "a flag of a limb",
    "limbs above the flagged one are equal",
    "one limb is flagged",
    "the flagged limb is smaller",
    HALF,
}
NO_SLOPE = "x1 and x2 differ in a limb; of a double y1 is not 0"


@cache
def description(chip: str) -> AirDescription:
    return TABLE_OF[chip].describe()


# Operands at the bounds.


def modular_bounds(bits: int) -> Iterator[Numbers]:
    """Yield a, b, m, c next to the bounds of the quotient and of the modulus."""
    bound, top = 1 << bits, (1 << bits) - 1
    yield from ([top, top, 0, top], [0, 0, 0, 0], [1, top, 0, 1], [0, 0, 1, 0])
    for m in (1, 2, P_384 if bits == 384 else ALL_CURVES[0].p, BLS12_381.p if bits == 384 else ALL_CURVES[BN].p, top):
        yield [m, top, m, m - 1]  # the largest quotient, and the largest remainder
        yield [m, top, m, min(m, top)]  # 1 more: no result, but for the largest modulus
        yield [m, 1, m, 0]
        yield [m - 1, top, m, top]  # a < m
        yield [1, top, m, top]  # a = 1: a result if m is above 1
        yield [top, top, m, top]
    yield [bound >> 1, 2, 1, 0]  # the quotient 2^bits


def fp2_bounds(field: Fp2Field) -> Iterator[Numbers]:
    """Yield coordinates of a, b and c around 0, p and the largest number, one at a time and all."""
    p, top = field.p, (1 << 64 * field.words) - 1
    rng = random.Random(field.number)
    for value in (0, p - 1, p, p + 1, top // p * p, top):
        for i in range(6):
            yield [value if i == j else rng.randrange(p) for j in range(6)]
        yield [value] * 6
    yield from ([0, top, 0, top, 0, 0], [top, 0, top, 0, top, top], [top, 0, 0, top, 0, 0], [p + 5, 0, 1, 0, 0, 0])


def point_bounds(curve: int, *, double: bool) -> Iterator[Numbers]:
    """Yield coordinates around 0, p and the largest number, and points without a slope."""
    p, top = ALL_CURVES[curve].p, (1 << 256) - 1
    rng, count = random.Random(curve), 2 if double else 4
    some = [rng.randrange(p) for _ in range(count)]
    for i in range(count):
        for value in (0, 1, p - 1, p, p + 1, top):
            yield [value if i == j else x for j, x in enumerate(some)]
    if double:
        yield from ([0, 0], [1, 0], [0, p], [1, p])  # whose tangent has any slope, for a = 0 and for a = -3
    else:
        x, y, other, _ = some
        if x + p <= top:
            yield [x, y, x + p, y]
        yield from ([x, y, x, y], [x, y, x, p - y], [x, y, x, other], [x, y, x + 1, y], [p - 1, p - 1, 0, p - 1])
        yield [p - 1, p - 1, p - 2, p - 1]


def bounds(call: HostCall) -> list[Numbers]:
    """Return operands next to all bounds of a call."""
    if call.number in MODULAR_CALLS:
        return list(modular_bounds(8 * MODULAR_CALLS[call.number][0]))
    if call.number in FIELDS:
        return list(fp2_bounds(FIELDS[call.number]))
    if call.chip == "point":
        return list(point_bounds((call.number - POINT) // 2, double=bool((call.number - POINT) % 2)))
    assert call.number in (KECCAK_F, KECCAK_ABSORB, SHA256)  # of any words
    sizes = {KECCAK_F: (WORDS, 0), KECCAK_ABSORB: (RATE_WORDS, WORDS), SHA256: (8, 4)}[call.number]
    ends = 0, (1 << 64) - 1
    return [[one] * sizes[0] + [other] * sizes[1] for one in ends for other in ends]


def words_of(call: HostCall, numbers: Numbers) -> list[int]:
    """Return the words of a call's accesses before it, with zeros in place of results."""
    size = 8 if call.number in (KECCAK_F, KECCAK_ABSORB, SHA256) else bytes_of_number(call.number)
    packed = b"".join(x.to_bytes(size, "little") for x in numbers)
    words = list(struct.unpack(f"<{len(packed) // 8}Q", packed))
    return words + [0] * (len(call.accesses) - len(words))


def expected(call: HostCall, numbers: Numbers) -> list[int] | None:
    """Return the words after a call by Python, or None without a result."""
    try:
        return result_of(call, words_of(call, numbers))
    except ValueError:
        return None


@cache
def sides(call: HostCall) -> tuple[list[Numbers], list[Numbers]]:
    """Return the operands at the bounds with a result, and the operands without one."""
    found: tuple[list[Numbers], list[Numbers]] = [], []
    for numbers in bounds(call):
        found[expected(call, numbers) is None].append(numbers)
    return found


CALLS = [pytest.param(call, id=f"{call.chip}-{call.number}") for call in HOST_CALLS]
REFUSING = [
    pytest.param(call, id=f"{call.chip}-{call.number}")
    for call in HOST_CALLS
    if call.number in MODULAR_CALLS or call.chip == "point"
]


# The executor and the tables.


@njit(nogil=True)
def _change_all(number, words, done):  # type: ignore[no-untyped-def]
    for i in range(len(words)):
        done[i] = accelerators.change(number, words[i])


@pytest.mark.parametrize("call", CALLS)
def test_the_executor_computes_what_python_does(call: HostCall) -> None:
    numbers = bounds(call)
    words, done = np.zeros((len(numbers), MOST_WORDS), dtype=np.uint64), np.zeros(len(numbers), dtype=bool)
    size = len(call.accesses)
    words[:, :size] = [words_of(call, of) for of in numbers]
    _change_all(np.uint64(call.number), words, done)
    for of, has, found in zip(numbers, done, words[:, :size].tolist(), strict=True):
        after = expected(call, of)
        assert has == (after is not None), of
        assert not has or found == after, of
    assert all(done) != (call.number in MODULAR_CALLS or call.chip == "point")


def honest_rows(call: HostCall, numbers: Numbers) -> list[Row]:
    """Return the rows of a call with a result."""
    if call.number in MODULAR_CALLS:
        a, b, m, c = numbers
        return modular_rows(a, b, m, c, AROUND, number=call.number)
    if call.number in FIELDS:
        a0, a1, b0, b1, c0, c1 = numbers
        return fp2_rows(FIELDS[call.number], (a0, a1), (b0, b1), (c0, c1), AROUND)
    if call.number == KECCAK_ABSORB:
        return absorb_rows(AROUND, block=numbers[:RATE_WORDS], state=numbers[RATE_WORDS:])
    if call.number == SHA256:
        packed = struct.pack("<12Q", *numbers)
        return sha256_rows(list(struct.unpack("<8I", packed[64:])), packed[:64], AROUND)
    return point_rows_of(call, numbers)


def noticed(chip: str, blocks: Sequence[list[Row]]) -> list[set[str]]:
    """Return what notices each block of rows, which stands among idle rows."""
    table, height = TABLE_OF[chip], ROWS_OF_CHIP[chip] + 2
    rows = np.zeros((description(chip).main_width, height * len(blocks)), dtype=np.uint64)
    for i, block in enumerate(blocks):
        rows[:, height * i + 1 : height * i + 1 + len(block)] = matrix(table, block)
    kinds = [name.partition(" #")[0] for name in checks.names_of(description(chip))]
    by_block = checks.noticed(description(chip), rows, len(blocks)).T
    return [{kinds[check] for check in np.flatnonzero(violated)} for violated in by_block]


@pytest.mark.parametrize("call", [param for param in CALLS if "keccak_call" not in str(param.id)])
def test_the_table_accepts_calls_with_a_result(call: HostCall) -> None:
    accepted, _ = sides(call)
    found = noticed(call.chip, [honest_rows(call, numbers) for numbers in accepted])
    assert accepted and not any(found)


@pytest.mark.parametrize("chip", sorted({call.chip for call in HOST_CALLS}))
def test_runs_with_a_result_are_accepted(chip: str) -> None:
    """Run all calls of a chip that have a result in one program, whose traces have no error."""
    memory, calls, after = bytearray(), [], bytearray()
    for call in HOST_CALLS:
        for numbers in sides(call)[0] if call.chip == chip else ():
            starts = {pointer: 8 * i for i, (pointer, offset, _) in enumerate(call.accesses) if offset == 0}
            calls.append(Call(call.number, tuple(len(memory) + starts[i] for i in sorted(starts))))
            memory += struct.pack(f"<{len(call.accesses)}Q", *words_of(call, numbers))
            after += struct.pack(f"<{len(call.accesses)}Q", *(expected(call, numbers) or ()))
    copied, turn = [(DATA, 5), (OUTPUT_BASE + 8, 6), (DATA + len(memory), 7)], [
        Instruction(Op.LD, 28, 5), Instruction(Op.SD, rs1=6, rs2=28),
        Instruction(Op.ADDI, 5, 5, imm=8), Instruction(Op.ADDI, 6, 6, imm=8),
    ]  # fmt: skip
    code = [line for call in calls for line in call.code()]
    code += [line for address, register in copied for line in li(register, address)]
    code += [*turn, Instruction(Op.BNE, rs1=5, rs2=7, imm=-4 * len(turn)), *li(5, OUTPUT_BASE), *li(6, len(memory))]
    run = execute(image([*code, Instruction(Op.SD, rs1=5, rs2=6), *leave()], bytes(memory)), record=True)
    assert run.output == bytes(after)
    assert not check(statement_of_run(Machine(run.image), run))


# Witnesses for calls without a result.

Forgery = tuple[list[Row], set[str] | None]  # rows, and the only reasons that there may be against them, or None


def modular_forgeries(call: HostCall, numbers: Numbers) -> Iterator[Forgery]:
    """Yield rows for a quotient that is too large: in a cell out of its range, cut, smaller, or of a larger modulus."""
    a, b, m, c = numbers
    bits, value = 8 * MODULAR_CALLS[call.number][0], a * b + c
    bound, count = 1 << bits, bits // 32
    rows = partial(modular_rows, a, b, m, c, AROUND, number=call.number)
    assert m and value // m >= bound
    yield rows(), {HALF, BYTES}
    for carries in (exact, in_the_field):
        yield rows(q=value // m % bound, carries=carries), None
    r = value - (bound - 1) * m  # of the largest quotient, so at least m
    if r < bound:
        for flags, difference in comparisons(r, m, count):
            yield SIZED[call.chip].unused(rows(q=bound - 1, r=r), difference, *enumerate(flags)), COMPARED
    q, r = divmod(value, m + bound)
    if max(q, r) < bound:
        yield rows(q=q, r=r, full=True), {"a modulus in place of the number above all others is 0"}


def point_forgeries(call: HostCall, numbers: Numbers) -> Iterator[Forgery]:
    """Yield rows for coordinates that are not below p, each with all claims that it is, and for points without a slope.

    All else in the rows is right mod p, if the equation of the slope has a solution.
    """
    curve, double = divmod(call.number - POINT, 2)
    rows, p = point_rows_of(call, numbers), ALL_CURVES[curve].p
    x1, y1, x2, y2 = numbers if not double else [*numbers, *numbers]
    above, under = (3 * x1**2 + ALL_CURVES[curve].a, 2 * y1) if double else (y2 - y1, x2 - x1)
    solved = under % p != 0 or above % p == 0
    large = [(name, x) for name, x in zip(("x1", "y1", "x2", "y2"), numbers, strict=False) if x >= p]
    if not large:
        for w in ([1] * LIMBS, [P - 1] * LIMBS, [0] * LIMBS):
            yield [rows[0] | {"w": w}, *rows[1:]], {NO_SLOPE} if solved else None
    for name, x in large:
        for flags, difference in comparisons(x, p, LIMBS):
            yield with_comparison(rows, name, flags, difference, double=bool(double)), COMPARED if solved else None


def point_rows_of(call: HostCall, numbers: Numbers) -> list[Row]:
    """Return the rows of a sum or double of any coordinates, with the slope mod p, or any slope if there is none."""
    curve, double = divmod(call.number - POINT, 2)
    p, first = ALL_CURVES[curve].p, (numbers[0], numbers[1])
    second = None if double else (numbers[2], numbers[3])
    x2, under = (first[0], 2 * first[1]) if second is None else (second[0], second[0] - first[0])
    if under % p:
        return point_rows(curve, first, second, AROUND)
    slope = 99
    x3 = (slope**2 - first[0] - x2) % p
    return point_rows(curve, first, second, AROUND, slope=slope, result=(x3, (slope * (first[0] - x3) - first[1]) % p))


def with_comparison(rows: list[Row], name: str, flags: list[int], difference: list[int], *, double: bool) -> list[Row]:
    """Return a point's rows with flags and a difference for one of its coordinates."""
    zero, one, two = ({**row} for row in rows)
    if name == "x1" or name == "x2" or double:  # in the cells for x: of a double, row 0 has y1
        row = one if name == "x1" else zero
        row["flag"], row["part"] = flags, [*difference, *row["part"][2:]]
    else:
        own, of = (zero, slice(0, LIMBS)) if name == "y2" else (one, slice(LIMBS, 2 * LIMBS))
        zero["y"] = list(zero["y"])
        zero["y"][of], own["part"] = flags, [*own["part"][:2], *difference]
    return [zero, one, two]


def comparisons(x: int, bound: int, count: int) -> Iterator[tuple[list[int], list[int]]]:
    """Yield flags and differences for the claim that x < bound: each limb flagged, none, and two whose sum is 1."""
    missing = [above - below for below, above in zip(limbs(x, count), limbs(bound, count), strict=True)]
    for i in range(count):
        difference = missing[i] - 1
        yield [int(i == k) for k in range(count)], [difference & 0xFFFF, difference >> 16]
    yield [0] * count, [P - 1, 0]
    for one, other in ((2, -1), (-1, 2)):
        difference = one * missing[0] + other * missing[1] - 1
        yield [one, other, *[0] * (count - 2)], [difference & 0xFFFF, difference >> 16]


@pytest.mark.parametrize("call", REFUSING)
def test_the_table_notices_witnesses_of_calls_without_a_result(call: HostCall) -> None:
    """Notice them all, and those that are right but for the operand by nothing else."""
    _, refused = sides(call)
    forge = modular_forgeries if call.number in MODULAR_CALLS else point_forgeries
    forgeries = [forgery for numbers in refused for forgery in forge(call, numbers)]
    found = noticed(call.chip, [rows for rows, _ in forgeries])
    assert refused and len(forgeries) > 2 * len(refused) and all(found)
    for reasons, (_, expected_reasons) in zip(found, forgeries, strict=True):
        assert expected_reasons is None or reasons <= expected_reasons


# Runs that the executor refuses.

G, TWICE_G = (1, 2), (
    0x030644E72E131A029B85045B68181585D97816A916871CA8D3C208C16D87CFD3,
    0x15ED738C0E0A7C92E7845F96B2AE9C0A68A6A449E3538FC7FF3EBF7A5A18A2C4,
)  # fmt: skip


def packed(*numbers: int) -> bytes:
    return b"".join(x.to_bytes(32, "little") for x in numbers)


def run_of(memory: bytes, call: Call, other: bytes) -> Execution:
    """Return the run of one call, with ``other`` in place of the memory before it.

    An executor without its comparison of operands with p records this run. The call has the same result.
    """
    run = execute(program(memory, [call]), record=True)
    (operands,) = [of.accesses for of in HOST_CALLS if of.number == call.number]
    places = [call.at[pointer] // 8 + i for pointer, i, _ in operands]
    words, record = np.frombuffer(other, dtype=np.uint64), run.record
    assert record and len(record.old) == len(places)
    at = (record.memory.address - np.uint64(DATA)) // np.uint64(8)
    written = np.isin(at, [place for place, (pointer, _, _) in zip(places, operands, strict=True) if pointer == 0])
    ends = replace(record.memory, initial=words[at], final=np.where(written, record.memory.final, words[at]))
    return replace(run, image=program(other, [call]), record=replace(record, old=words[places], memory=ends))


def found_in(run: Execution) -> list[Finding]:
    return check(statement_of_run(Machine(run.image), run))


def test_the_record_of_a_forced_run() -> None:
    """Make the record of a run that the executor accepts as well, from the run of other operands."""
    p, call = ALL_FIELDS[0].p, Call(ALL_FIELDS[0].number, (128, 0, 64, 128))
    memory, other = packed(3, 4, 5, 6, 7, 8), packed(3 + p, 4, 5, 6, 7 + p, 8)
    made, run = run_of(memory, call, other), execute(program(other, [call]), record=True)
    assert made.record and run.record
    for one, other_one in zip(made.record.streams, run.record.streams, strict=True):
        np.testing.assert_array_equal(one, other_one)
    for name, words in vars(run.record.memory).items():
        np.testing.assert_array_equal(getattr(made.record.memory, name), words)
    assert not found_in(made) and not found_in(run)


@pytest.mark.parametrize("place", range(4))
def test_a_sum_of_large_coordinates_is_no_run(place: int) -> None:
    """Refuse G + 2 G on bn254 with p more in a coordinate, which has the same result mod p."""
    call, sum_ = Call(POINT + 2 * BN, (0, 64)), [*G, *TWICE_G]
    memory = packed(*sum_)
    sum_[place] += ALL_CURVES[BN].p
    with pytest.raises(GuestFault) as fault:
        execute(program(packed(*sum_), [call]))
    assert fault.value.fault == Fault.NO_RESULT
    assert not found_in(run_of(memory, call, memory))
    found = found_in(run_of(memory, call, packed(*sum_)))
    failing = {(one.table, one.label) for one in found if isinstance(one, FailingConstraint)}
    assert failing and failing <= {("point", label) for label in COMPARED}


def test_elements_of_any_coordinates_are_proved() -> None:
    """Prove (p + 5) * 1 + 0 = 5, which a guest outputs."""
    p = ALL_FIELDS[0].p
    call = Call(ALL_FIELDS[0].number, (192, 0, 64, 128))
    copied = [Instruction(Op.SD, rs1=5, rs2=6)]
    for i in range(8):
        copied += [
            *li(6, DATA + 192 + 8 * i),
            Instruction(Op.LD, 6, 6),
            Instruction(Op.SD, rs1=5, rs2=6, imm=8 + 8 * i),
        ]
    code = [*call.code(), *li(5, OUTPUT_BASE), *li(6, 64), *copied, *leave()]
    run = execute(image(code, packed(p + 5, 0, 1, 0, 0, 0, 0, 0)), record=True)
    assert run.output == packed(5, 0)
    stated = statement_of_run(Machine(run.image), run)
    assert not check(stated)
    verify(prove(stated, executor="sync", parameters=FEW), stated, security=0)
