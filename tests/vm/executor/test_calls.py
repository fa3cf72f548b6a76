"""Host calls on integers, points and blocks against Python: the compiled function, and guests in a loop."""

import hashlib
import random
import struct
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators import execute as accelerators
from graphprover.vm.accelerators.host_call import HostCall
from graphprover.vm.accelerators.integers.fp2 import BLS12_381
from graphprover.vm.accelerators.integers.modular import MODULAR
from graphprover.vm.accelerators.integers.point import ALL_CURVES, POINT
from graphprover.vm.accelerators.keccak import permutation as keccak_f
from graphprover.vm.accelerators.keccak.absorb import KECCAK_ABSORB, RATE_WORDS
from graphprover.vm.accelerators.registry import HOST_CALLS, MOST_WORDS
from graphprover.vm.accelerators.sha256.table import SHA256
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.executor.faults import GuestFault
from graphprover.vm.program.io import OUTPUT_BASE
from graphprover.vm.program.isa import A0, A7, Instruction, Op
from tests.vm.assemble import DATA, image, leave, li
from tests.vm.calls import (
    BOUND,
    FIELDS,
    MODULAR_CALLS,
    P_384,
    Call,
    add,
    bytes_of_number,
    multiply_add,
    random_coordinate,
    random_number,
)
from tests.vm.sha256 import compress

CASES, IN_GUESTS = 10_000, 1_500  # edge cases come first
REFUSED = 12  # calls without a result that guests make
CALLS = [call for call in HOST_CALLS if call.number >= MODULAR and call.number != KECCAK_ABSORB]


@njit(nogil=True)
def _change_all(number, words, done):
    """Apply a call to many operands: the package has no kernel for this, and its compilation takes half a minute."""
    for i in range(len(words)):
        done[i] = accelerators.change(number, words[i])


def edges(number: int) -> list[list[int]]:
    """Return edge cases of a call's numbers: a, b, m, c or coordinates, or a block's two halves and a state."""
    if number in FIELDS:
        return edges_of_elements(number)
    if number == SHA256:
        return [[a, b, c] for a in (0, BOUND - 1) for b in (0, BOUND - 1) for c in (0, BOUND - 1)]
    if number in MODULAR_CALLS:
        bits = 8 * MODULAR_CALLS[number][0]
        bound = 1 << bits
        primes = [curve.p for curve in ALL_CURVES] if bits == 256 else [BLS12_381.p, P_384]
        moduli = [0, 1, 2, 3, (1 << 32) - 1, 1 << 32, 1 << 128, bound >> 1, bound - 1, bound - (bound >> 32), *primes]
        return [
            [a % bound, b % bound, m, c % bound]
            for m in moduli
            for a in (0, 1, m - 1, m, -1)
            for b in (0, 1, m - 1, m, -1)
            for c in (0, m - 1, m, -1)
        ]
    p = ALL_CURVES[(number - POINT) // 2].p
    values = (0, 1, p - 1, p, BOUND - 1)
    firsts = [[x, y] for x in values for y in values]
    return firsts if number % 2 else [[*first, x, y] for first in firsts for x in values for y in (1, p - 1, p)]


def edges_of_elements(number: int) -> list[list[int]]:
    """Return elements a, b, c with coordinates around 0 and p, and up to the largest integer."""
    p, bound = FIELDS[number].p, 1 << 64 * FIELDS[number].words
    below = [[x, y] for x in (0, 1, p - 1) for y in (0, 1, p - 1)]
    found = [[*a, *b, *c] for a in below for b in below for c in ([0, 0], [p - 1, p - 1])]
    for i in range(6):
        for x in (p - 1, p, p + 1, bound - 1):
            found.append([x if i == j else p - 1 for j in range(6)])
    return [*found, [bound - 1] * 6]


@cache
def cases(call: HostCall, least: int) -> tuple[list[list[int]], list[list[int] | None]]:
    """Return the numbers of all edge cases and of random ones, ``least`` in all, and their results, or None."""
    rng, found = random.Random(call.number), edges(call.number)
    count = 4 - 2 * (call.number % 2)  # of a point or two
    while len(found) < least:
        if call.number == SHA256:
            found.append([rng.getrandbits(256) for _ in range(3)])
        elif call.number in FIELDS:
            found.append([random_coordinate(rng, FIELDS[call.number]) for _ in range(6)])
        elif call.number in MODULAR_CALLS:
            found.append([random_number(rng, 8 * MODULAR_CALLS[call.number][0]) for _ in range(4)])
        else:
            p = ALL_CURVES[(call.number - POINT) // 2].p
            found.append([rng.randrange(p) for _ in range(count)])
    return found, [result(call.number, numbers) for numbers in found]


def result(number: int, numbers: list[int]) -> list[int] | None:
    """Return r (and q) or the coordinates of a point or an element, or None without a result."""
    if number in MODULAR_CALLS:
        size, with_quotient = MODULAR_CALLS[number]
        a, b, m, c = numbers
        q, r = divmod(a * b + c, m or 1 << 8 * size)
        return None if q >> 8 * size else [r, q][: 1 + with_quotient]
    if number in FIELDS:
        a0, a1, b0, b1, c0, c1 = numbers
        return list(multiply_add(FIELDS[number], (a0, a1), (b0, b1), (c0, c1)))
    if number == SHA256:
        words = struct.unpack("<8I", packed(numbers[2:], 32))
        return [int.from_bytes(struct.pack("<8I", *compress(list(words), packed(numbers[:2], 32))), "little")]
    curve, double = divmod(number - POINT, 2)
    try:
        x1, y1, x2, y2 = (numbers * 2)[:4]
        return list(add(ALL_CURVES[curve], (x1, y1), (x2, y2), bool(double)))
    except ValueError:
        return None


def packed(numbers: list[int], size: int) -> bytes:
    return b"".join(x.to_bytes(size, "little") for x in numbers)


def named(call: HostCall) -> str:
    return f"{call.number}"


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS, ids=named)
def test_results(call: HostCall) -> None:
    numbers, expected = cases(call, CASES)
    words, size = np.zeros((CASES, MOST_WORDS), dtype=np.uint64), bytes_of_number(call.number)
    given = np.frombuffer(b"".join(packed(of, size) for of in numbers), dtype="<u8").reshape(CASES, -1)
    words[:, : given.shape[1]] = given
    before, done = words.copy(), np.zeros(CASES, dtype=bool)
    _change_all(np.uint64(call.number), words, done)
    has = np.array([found is not None for found in expected])
    np.testing.assert_array_equal(done, has)
    at = size // 8 * _operand_changed(call.number)
    results = np.frombuffer(b"".join(packed(found, size) for found in expected if found), dtype="<u8")
    before[has, at : at + len(results) // has.sum()] = results.reshape(has.sum(), -1)
    np.testing.assert_array_equal(words[has], before[has])
    assert has.sum() > CASES // 3 and has.all() == (call.number == SHA256 or call.number in FIELDS)


def _operand_changed(number: int) -> int:
    """Return the place of the first number that a call changes among its operands and results."""
    return 2 if number == SHA256 else 4 if number in MODULAR_CALLS else 6 if number in FIELDS else 0


@pytest.mark.parametrize("call", CALLS, ids=named)
@pytest.mark.usefixtures("by")
def test_guests_in_a_loop(call: HostCall) -> None:
    """Make calls on consecutive operands, with results in the output."""
    chosen = [pair for pair in zip(*cases(call, IN_GUESTS), strict=True) if pair[1] is not None]
    assert len(chosen) > IN_GUESTS // 3
    execution = run_of(call, chosen)
    each = bytes_of_number(call.number)
    assert execution.output == b"".join(packed(found or [], each) for _, found in chosen)


@pytest.mark.parametrize("call", CALLS, ids=named)
@pytest.mark.usefixtures("by")
def test_calls_without_a_result_are_faults(call: HostCall) -> None:
    pairs = [*zip(*cases(call, IN_GUESTS), strict=True)]
    refused = [numbers for numbers, found in pairs if found is None]
    assert bool(refused) == (call.number != SHA256 and call.number not in FIELDS)
    some = next((pair for pair in pairs if pair[1] is not None), None)
    assert some
    for numbers in refused[:: max(1, len(refused) // REFUSED)]:
        with pytest.raises(GuestFault, match="host call without a result"):
            run_of(call, [(numbers, some[1])])


def run_of(call: HostCall, chosen: Sequence[tuple[list[int], list[int] | None]]) -> Execution:
    """Run a guest that makes calls on these numbers, one after another, and writes their results."""
    each = bytes_of_number(call.number)
    size, step = each * len(chosen[0][0]), each * len(chosen[0][1] or ())
    source, end, word = 20, 21, 22
    load = []
    if call.number in MODULAR_CALLS or call.number in FIELDS:
        words = 2 if call.number in FIELDS else 1
        offsets = {1 + i: each * words * i for i in range(call.further)}
    else:  # the first point, or the state, is replaced: copy it
        offsets = {1: 0 if call.number == SHA256 else 64} if call.further else {}
        for i in range(step // 8):
            load.append(Instruction(Op.LD, word, source, imm=32 * _operand_changed(call.number) + 8 * i))
            load.append(Instruction(Op.SD, rs1=A0, rs2=word, imm=8 * i))
    load += [Instruction(Op.ADDI, A0 + i, source, imm=offset) for i, offset in offsets.items()]
    turn = [
        *load,
        Instruction(Op.ECALL),
        Instruction(Op.ADDI, source, source, imm=size),
        Instruction(Op.ADDI, A0, A0, imm=step),
    ]
    code = [
        *li(source, DATA), *li(end, DATA + size * len(chosen)), *li(A0, OUTPUT_BASE + 8), *li(A7, call.number), *turn,
        Instruction(Op.BNE, rs1=source, rs2=end, imm=-4 * len(turn)),
        *li(A0, OUTPUT_BASE), *li(word, step * len(chosen)), Instruction(Op.SD, rs1=A0, rs2=word), *leave(),
    ]  # fmt: skip
    return execute(image(code, b"".join(packed(numbers, each) for numbers, _ in chosen)), record=True)


SOME = 0x1234567890ABCDEF << 190 | 77


OVERLAPPING = (
    (0, 0, 0, 32, 0), (32, 0, 0, 32, 0), (0, 0, 8, 64, 32), (16, 0, 24, 64, 8), (64, 0, 32, 64, 96), (40, 8, 0, 48, 0),
)  # fmt: skip


@pytest.mark.parametrize("at", OVERLAPPING)
@pytest.mark.parametrize("number", MODULAR_CALLS)
@pytest.mark.usefixtures("by")
def test_operands_that_overlap(number: int, at: tuple[int, ...]) -> None:
    """Read all operands before a result is written, wherever they lie; only the modulus keeps clear of the addend."""
    size = MODULAR_CALLS[number][0]
    bound = 1 << 8 * size
    memory = bytearray(packed([SOME, SOME >> 3 | bound >> 1, bound - 189, SOME * 3 % BOUND, 5], size))
    call = Call(number, tuple(at * size // 32 // 8 * 8 for at in at))
    code = [*call.code(), *stored(len(memory)), *leave()]
    found = execute(image(code, bytes(memory))).output
    call.apply(memory)
    assert found == bytes(memory)


@pytest.mark.parametrize("at", [(0, 0, 0, 0), (0, 0, 2, 4), (4, 0, 2, 4), (1, 0, 1, 2), (3, 4, 3, 2), (2, 1, 0, 3)])
@pytest.mark.parametrize("number", FIELDS)
@pytest.mark.usefixtures("by")
def test_elements_that_overlap(number: int, at: tuple[int, ...]) -> None:
    """Read all elements before the result is written; offsets are in coordinates."""
    size, p = 8 * FIELDS[number].words, FIELDS[number].p
    memory = bytearray(packed([SOME % p, p - 1, SOME * 3 % p, 5, p - SOME % p, 7], size))
    call = Call(number, tuple(size * i for i in at))
    found = execute(image([*call.code(), *stored(len(memory)), *leave()], bytes(memory))).output
    call.apply(memory)
    assert found == bytes(memory)


# Blocks of a sponge.

WORDS = 25


def absorbed(block: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Return states after blocks: uint64 (RATE_WORDS, n) and (WORDS, n) to (WORDS, n)."""
    mixed = state.copy()
    mixed[:RATE_WORDS] ^= block
    return keccak_f.rounds(mixed)[-1]


@pytest.mark.slow
def test_blocks_are_absorbed() -> None:
    rng = np.random.default_rng(1)
    size = RATE_WORDS + WORDS
    words = rng.integers(0, 1 << 64, (CASES, MOST_WORDS), dtype=np.uint64)
    words[:20, :RATE_WORDS], words[10:30, RATE_WORDS:size], words[5:15, 3:30] = 0, 0, (1 << 64) - 1
    expected = words.copy()
    expected[:, RATE_WORDS:size] = absorbed(words[:, :RATE_WORDS].T, words[:, RATE_WORDS:size].T).T
    done = np.zeros(CASES, dtype=bool)
    _change_all(np.uint64(KECCAK_ABSORB), words, done)
    assert done.all()
    np.testing.assert_array_equal(words, expected)


def test_a_sponge_of_calls_is_sha3() -> None:
    """Absorb padded messages in a loop; SHA3-256 is another padding than Keccak-256 of the same sponge."""
    rng, rate = random.Random(4), 8 * RATE_WORDS
    source, end, turn = 20, 21, [Instruction(Op.ADDI, A0 + 1, 20), Instruction(Op.ECALL)]
    turn.append(Instruction(Op.ADDI, source, source, imm=rate))
    for size in (0, 1, rate - 1, rate, 1000, 300 * rate):
        message = rng.randbytes(size)
        padded = bytearray(message + bytes(rate - size % rate))
        padded[size] ^= 0x06
        padded[-1] ^= 0x80
        code = [
            *li(source, DATA), *li(end, DATA + len(padded)), *li(A0, OUTPUT_BASE + 8), *li(A7, KECCAK_ABSORB), *turn,
            Instruction(Op.BNE, rs1=source, rs2=end, imm=-4 * len(turn)),
            Instruction(Op.ADDI, end, imm=32), Instruction(Op.SD, rs1=A0, rs2=end, imm=-8), *leave(),
        ]  # fmt: skip
        execution = execute(image(code, bytes(padded)), record=True)
        assert execution.output == hashlib.sha3_256(message).digest()


@pytest.mark.parametrize("at", [(0, 200), (0, 0), (8, 0), (0, 8), (0, 64), (128, 0), (0, 192), (136, 0)])
@pytest.mark.usefixtures("by")
def test_blocks_that_overlap_the_state(at: tuple[int, int]) -> None:
    """Read the block before the state changes, wherever it lies."""
    memory = bytearray(random.Random(3).randbytes(352))
    call = Call(KECCAK_ABSORB, at)
    found = execute(image([*call.code(), *stored(len(memory)), *leave()], bytes(memory))).output
    call.apply(memory)
    assert found == bytes(memory)


@pytest.mark.parametrize("at", [(0, 0), (0, 32), (64, 0), (40, 8), (32, 0), (0, 24)])
@pytest.mark.usefixtures("by")
def test_a_state_that_overlaps_the_block(at: tuple[int, int]) -> None:
    """Read the block before the state changes."""
    memory = bytearray(packed([SOME, SOME >> 3 | 1 << 255, (1 << 256) - 189], 32))
    call = Call(SHA256, at)
    found = execute(image([*call.code(), *stored(len(memory)), *leave()], bytes(memory))).output
    call.apply(memory)
    assert found == bytes(memory)


def stored(size: int) -> list[Instruction]:
    """Return instructions that copy the memory from DATA on to the output."""
    copies = []
    for i in range(size // 8):
        copies += [*li(5, DATA + 8 * i), Instruction(Op.LD, 6, 5)]
        copies += [*li(5, OUTPUT_BASE + 8 + 8 * i), Instruction(Op.SD, rs1=5, rs2=6)]
    return [*copies, *li(5, OUTPUT_BASE), *li(6, size), Instruction(Op.SD, rs1=5, rs2=6)]
