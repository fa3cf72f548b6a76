"""Programs of host calls of several rows, and their reference: Python and NumPy."""

import random
import struct
from dataclasses import dataclass

import numpy as np

from graphprover.vm.accelerators.host_call import HostCall
from graphprover.vm.accelerators.integers.fp2 import ALL_FIELDS, BLS12_381, FP2_BLS12_381, FP2_BN254, Fp2Field
from graphprover.vm.accelerators.integers.modular import MODULAR, MODULAR_384, MODULAR_384_QUOTIENT, MODULAR_QUOTIENT
from graphprover.vm.accelerators.integers.point import ALL_CURVES, POINT, Curve
from graphprover.vm.accelerators.keccak.absorb import KECCAK_ABSORB, RATE_WORDS
from graphprover.vm.accelerators.keccak.call import KECCAK_F
from graphprover.vm.accelerators.keccak.permutation import WORDS, rounds
from graphprover.vm.accelerators.sha256.table import SHA256
from graphprover.vm.program.elf import Image
from graphprover.vm.program.isa import A0, A7, Instruction, Op
from tests.vm.assemble import DATA, image, leave, li
from tests.vm.sha256 import compress

BOUND = 1 << 256
P_384 = 2**384 - 2**128 - 2**96 + 2**32 - 1  # of the curve P-384
EDGES = (
    0, 1, 2, 3, (1 << 16) - 1, (1 << 32) - 1, 1 << 32, (1 << 64) - 1, 1 << 64, 1 << 255, BOUND - 1, BOUND - (1 << 224),
    *(curve.p for curve in ALL_CURVES), *(curve.p - 1 for curve in ALL_CURVES), *(curve.p + 1 for curve in ALL_CURVES),
)  # fmt: skip
WIDE_BOUND = 1 << 384
WIDE_EDGES = (
    0, 1, 2, 3, (1 << 64) - 1, 1 << 64, 1 << 256, 1 << 383, WIDE_BOUND - 1, WIDE_BOUND - (1 << 352), BLS12_381.p,
    BLS12_381.p - 1, BLS12_381.p + 1, P_384, P_384 - 1, P_384 + 1,
)  # fmt: skip
Pair = Point = tuple[int, int]
# Of the calls of the modular operation: the bytes of a number, and whether the quotient is written.
MODULAR_CALLS = {
    MODULAR: (32, False), MODULAR_QUOTIENT: (32, True), MODULAR_384: (48, False), MODULAR_384_QUOTIENT: (48, True),
}  # fmt: skip
FIELDS = {field.number: field for field in ALL_FIELDS}


@dataclass(frozen=True)
class Call:
    """A host call: its number, and the offsets of its operands from DATA in a0, a1, ..."""

    number: int
    at: tuple[int, ...]

    def apply(self, memory: bytearray) -> None:
        """Apply the call to the bytes from DATA on; raise ValueError if it has no result."""
        if self.number in MODULAR_CALLS:
            size, with_quotient = MODULAR_CALLS[self.number]
            a, b, m, c = (_number(memory, at, size) for at in self.at[1:])
            q, r = divmod(a * b + c, m or 1 << 8 * size)
            if q >> 8 * size:
                raise ValueError("the quotient is too large")
            result = r.to_bytes(size, "little") + q.to_bytes(size, "little") * with_quotient
        elif self.number in FIELDS:
            field = FIELDS[self.number]
            size = 8 * field.words
            numbers = [(_number(memory, at, size), _number(memory, at + size, size)) for at in self.at[1:]]
            result = b"".join(x.to_bytes(size, "little") for x in multiply_add(field, *numbers))
        elif self.number == KECCAK_ABSORB:
            to, block = self.at
            state = np.frombuffer(memory[to : to + 8 * WORDS], dtype=np.uint64).copy()
            state[:RATE_WORDS] ^= np.frombuffer(memory[block : block + 8 * RATE_WORDS], dtype=np.uint64)
            result = rounds(state[:, None])[-1].tobytes()
        elif self.number == SHA256:
            state, block = (bytes(memory[at : at + size]) for at, size in zip(self.at, (32, 64), strict=True))
            result = struct.pack("<8I", *compress(list(struct.unpack("<8I", state)), block))
        else:
            curve, double = divmod(self.number - POINT, 2)
            first, second = (_point(memory, at) for at in (self.at * 2)[:2])
            result = b"".join(x.to_bytes(32, "little") for x in add(ALL_CURVES[curve], first, second, bool(double)))
        memory[self.at[0] : self.at[0] + len(result)] = result

    def code(self) -> list[Instruction]:
        """Return instructions that make the call."""
        registers = [line for i, at in enumerate(self.at) for line in li(A0 + i, DATA + at)]
        return [*registers, *li(A7, self.number), Instruction(Op.ECALL)]


def _number(memory: bytes, at: int, size: int = 32) -> int:
    return int.from_bytes(memory[at : at + size], "little")


def _point(memory: bytes, at: int) -> Point:
    return _number(memory, at), _number(memory, at + 32)


def add(curve: Curve, first: Point, second: Point, double: bool) -> Point:
    """Return the sum, or the double of the first; raise ValueError without a slope or for too large coordinates."""
    (x1, y1), (x2, y2), p = first, first if double else second, curve.p
    if max(x1, y1, x2, y2) >= p:
        raise ValueError("a coordinate is not below the prime")
    above, below = (3 * x1 * x1 + curve.a, 2 * y1) if double else (y2 - y1, x2 - x1)
    slope = above * pow(below, -1, p)
    x3 = (slope * slope - x1 - x2) % p
    return x3, (slope * (x1 - x3) - y1) % p


def bytes_of_number(number: int) -> int:
    """Return the bytes of each integer of a host call."""
    if number in FIELDS:
        return 8 * FIELDS[number].words
    return MODULAR_CALLS[number][0] if number in MODULAR_CALLS else 32


def multiply_add(field: Fp2Field, a: Pair, b: Pair, c: Pair) -> Pair:
    """Return a b + c in Fp2, of any coordinates."""
    return (a[0] * b[0] - a[1] * b[1] + c[0]) % field.p, (a[0] * b[1] + a[1] * b[0] + c[1]) % field.p


def random_number(rng: random.Random, bits: int = 256) -> int:
    """Return a number of up to 256 or 384 bits, often an edge case."""
    if rng.random() < 0.4:
        return rng.choice(EDGES if bits == 256 else WIDE_EDGES)
    return rng.getrandbits(rng.randrange(1, bits + 1))


def random_coordinate(rng: random.Random, field: Fp2Field) -> int:
    """Return a coordinate of an element of Fp2, often an edge case, sometimes not below p."""
    p, bound = field.p, 1 << 64 * field.words
    edges = (0, 1, 2, p - 1, p - 2, p, p + 1, bound - 1, bound // p * p, p >> 1, 1 << 32, p - (1 << 32), p - (1 << 224))
    return rng.choice(edges) if rng.random() < 0.4 else rng.randrange(rng.choice((p, bound)))


ELEMENTS = {FP2_BN254: 6144, FP2_BLS12_381: 7168}  # where elements of Fp2 begin in the memory of `random_calls`
MEMORY = 8448


def random_calls(rng: random.Random, count: int) -> tuple[bytes, list[Call], bytes]:
    """Return the memory from DATA on, calls with results whose operands may overlap, and the memory after them."""
    memory = bytearray(MEMORY)
    for at in range(0, 4096, 32):
        memory[at : at + 32] = random_number(rng).to_bytes(32, "little")
    for i in range(40):  # integers of 384 bits, and elements of Fp2
        memory[4096 + 48 * i : 4096 + 48 * i + 48] = random_number(rng, 384).to_bytes(48, "little")
    for field in ALL_FIELDS:
        for j in range(24):
            at, size = ELEMENTS[field.number] + 8 * field.words * j, 8 * field.words
            memory[at : at + size] = random_coordinate(rng, field).to_bytes(size, "little")
    for i in range(12):  # coordinates of points at the end of the first part of the memory
        for j, at in enumerate(range(2048 + 128 * i, 2048 + 128 * i + 128, 32)):
            p = ALL_CURVES[i % 3].p
            value = p - 1 if (i, j) == (4, 1) else rng.randrange(p)
            memory[at : at + 32] = value.to_bytes(32, "little")
    before, calls = bytes(memory), []
    while len(calls) < count:
        kind = rng.random()
        if kind < 0.15:
            number = rng.choice((KECCAK_ABSORB, SHA256))
            at = tuple(8 * rng.randrange(0, 200) for _ in range(2))
        elif kind < 0.6:
            number = rng.choice((MODULAR, MODULAR_QUOTIENT))
            at = tuple(8 * rng.randrange(0, 200) for _ in range(5))
            if rng.random() < 0.5:  # in place, squares
                at = (at[1], at[1], rng.choice(at[1:3]), at[3], at[4])
            if abs(at[3] - at[4]) < 32:
                continue
        elif kind < 0.75:
            number = rng.choice((MODULAR_384, MODULAR_384_QUOTIENT))
            at = tuple(4096 + 8 * rng.randrange(0, 220) for _ in range(5))
            if abs(at[3] - at[4]) < 48:
                continue
        elif kind < 0.9:
            field = rng.choice(ALL_FIELDS)
            number, size = field.number, 8 * field.words
            at = tuple(ELEMENTS[number] + size * rng.randrange(0, 23) for _ in range(4))
        else:
            i = rng.randrange(12)
            number = POINT + 2 * (i % 3) + rng.randrange(2)
            places = [2048 + 128 * i, 2048 + 128 * i + 64]
            rng.shuffle(places)
            at = tuple(places[: 1 + (number - POINT + 1) % 2])
        call = Call(number, at)
        try:
            call.apply(memory)
        except ValueError:
            continue
        calls.append(call)
    return before, calls, bytes(memory)


def program(memory: bytes, calls: list[Call]) -> Image:
    """Return a program that makes the calls."""
    return image([*(line for call in calls for line in call.code()), *leave()], memory)


def result_of(call: HostCall, before: list[int]) -> list[int]:
    """Return the words of a call's accesses after it, from the words before; operands do not overlap here."""
    if call.number == KECCAK_F:
        after: list[int] = rounds(np.array(before, dtype=np.uint64)[:, None])[-1, :, 0].tolist()
        return after
    starts = {pointer: 8 * i for i, (pointer, offset, _) in enumerate(call.accesses) if offset == 0}
    memory = bytearray(struct.pack(f"<{len(before)}Q", *before))
    Call(call.number, tuple(starts[pointer] for pointer in sorted(starts))).apply(memory)
    return list(struct.unpack(f"<{len(before)}Q", memory))
