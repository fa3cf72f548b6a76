"""The kit's arithmetic in C, compiled for this computer: the software of host calls, and the accelerator functions."""

import ctypes
import itertools
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence

import pytest

from graphprover.examples.conformance import load
from tests.vm.curve_constants import Curve, bls12_381, bn254
from tests.vm.native import native_library

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")

# p, a and the generator of the curves, in the order of their host calls from 1028 on.
CURVES = [
    (
        2**256 - 2**32 - 977,
        0,
        0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
        0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
    ),
    (
        2**256 - 2**224 + 2**192 + 2**96 - 1,
        -3,
        0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
        0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
    ),
    (21888242871839275222246405745257275088696311157297823662689037894645226208583, 0, 1, 2),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return native_library(tmp_path_factory.mktemp("arithmetic"))


def words(*numbers: int, size: int = 4) -> "ctypes.Array[ctypes.c_uint64]":
    """Return numbers as words, `size` each."""
    return (ctypes.c_uint64 * (size * len(numbers)))(
        *(number >> shift & 2**64 - 1 for number in numbers for shift in range(0, 64 * size, 64))
    )


def numbers(array: "ctypes.Array[ctypes.c_uint64]", size: int = 4) -> list[int]:
    """Return the numbers in words, `size` each."""
    data = bytes(array)
    return [int.from_bytes(data[i : i + 8 * size], "little") for i in range(0, len(data), 8 * size)]


def operands(turns: int, bits: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield a, b, m, c whose quotient fits, with extreme ones among them."""
    random_, whole = random.Random(36), 1 << bits
    edges = [0, 1, 2, 3, 2**32 - 1, 2**32, 2**64 - 1, 2**64, 2**128 - 1, whole // 2 - 1, whole // 2, whole // 2 + 1]
    edges += [whole - 1, *(curve[0] for curve in CURVES)]
    for _ in range(turns):
        m = random_.choice([random_.choice(edges), random_.getrandbits(random_.randrange(1, bits + 1))])
        near = [(m + step) % whole for step in (-1, 0, 1)]
        a, b, c = (
            random_.choice([random_.choice(edges), random_.choice(near), random_.getrandbits(bits)]) for _ in range(3)
        )
        if (a * b + c) // (m or whole) < whole:
            yield a, b, m, c


@pytest.mark.parametrize("bits", [256, 384])
def test_the_modular_operation(bits: int, library: ctypes.CDLL) -> None:
    size = bits // 64
    multiply_divide = getattr(library, f"multiply_divide_{bits}")
    multiply_add = getattr(library, f"multiply_add_{bits}")
    for case in operands(20_000, bits):
        a, b, m, c = case
        quotient, remainder = divmod(a * b + c, m or 1 << bits)
        result, narrow = words(0, 0, size=size), words(0, size=size)
        inputs = [words(number, size=size) for number in case]
        multiply_divide(result, *inputs)
        multiply_add(narrow, *inputs)
        assert (numbers(result, size), numbers(narrow, size)) == ([remainder, quotient], [remainder]), case


@pytest.mark.parametrize("bits", [256, 384])
def test_operands_of_the_modular_operation_may_be_its_result(bits: int, library: ctypes.CDLL) -> None:
    room = words(5, 7, size=bits // 64)
    getattr(library, f"multiply_divide_{bits}")(room, room, room, words(0, size=bits // 64), room)
    assert numbers(room, bits // 64) == [30, 0]


@pytest.mark.parametrize("curve", [bn254(), bls12_381()], ids=lambda curve: curve.name)
def test_the_product_with_a_sum_in_fp2(curve: Curve, library: ctypes.CDLL) -> None:
    random_ = random.Random(38)
    size = -(-curve.p.bit_length() // 64)
    operation = getattr(library, f"multiply_add_fp2_{curve.name}")
    for turn in range(5000):
        edges = [0, 1, curve.p - 1, curve.p, curve.p + 1, (1 << 64 * size) - 1]
        parts = [random_.choice([*edges, random_.randrange(curve.p), random_.getrandbits(64 * size)]) for _ in range(6)]
        a, b, c = [(parts[i], parts[i + 1]) for i in (0, 2, 4)]
        product = curve.times(a, b)
        expected = [(left + right) % curve.p for left, right in zip(product, c, strict=True)]
        inputs = [words(*element, size=size) for element in (a, b, c)]
        result = inputs[turn % 4] if turn % 4 < 3 else words(0, 0, size=size)
        operation(result, *inputs)
        assert numbers(result, size) == expected, (a, b, c)


def test_operands_of_fp2_may_be_one(library: ctypes.CDLL) -> None:
    room = words(3, 5)
    library.multiply_add_fp2_bn254(room, room, room, room)
    assert numbers(room) == [(9 - 25 + 3) % bn254().p, 35]


def added(left: tuple[int, int], right: tuple[int, int], p: int, a: int) -> tuple[int, int]:
    """Return the sum of two points that are not opposite."""
    (x, y), (u, v) = left, right
    slope = (3 * x * x + a) * pow(2 * y, -1, p) if left == right else (v - y) * pow(u - x, -1, p)
    w = (slope * slope - x - u) % p
    return w, (slope * (x - w) - y) % p


def test_the_point_operation(library: ctypes.CDLL) -> None:
    for curve, (p, a, *generator) in enumerate(CURVES):
        first = (generator[0], generator[1])
        point = first
        for turn in range(200):
            room, other = words(*point), words(*first)
            library.__zkvm_call(ctypes.c_uint64(1029 + 2 * curve), room, None, None, None, None)
            double = added(point, point, p, a)
            assert numbers(room) == list(double)
            library.__zkvm_call(ctypes.c_uint64(1028 + 2 * curve), room, other, None, None, None)
            point = added(double, first, p, a)
            assert (numbers(room), numbers(other)) == (list(point), list(first)), (curve, turn)


# Calls a host call on two points in memory, the second one at an offset from the first, in a process of its own.
CALL = """
import ctypes, sys
library, number, offset, *words = sys.argv[1:]
room = (ctypes.c_uint64 * 16)(*map(int, words))
start = ctypes.addressof(room)
call = ctypes.CDLL(library).__zkvm_call
call(*map(ctypes.c_uint64, (int(number), start, start + int(offset), 0, 0, 0)))
"""


def traps(library: ctypes.CDLL, number: int, coordinates: Sequence[int], offset: int = 64) -> bool:
    """Return whether a host call ends its process, as the machine's faults do."""
    arguments = map(str, (library._name, number, offset, *words(*coordinates)))
    code = subprocess.run([sys.executable, "-c", CALL, *arguments], capture_output=True).returncode
    assert code in (0, -signal.SIGILL, -signal.SIGTRAP)
    return code != 0


@pytest.mark.parametrize("curve", range(3))
def test_large_coordinates_and_overlapping_points_trap(curve: int, library: ctypes.CDLL) -> None:
    p, number = CURVES[curve][0], 1028 + 2 * curve
    assert not traps(library, number, (1, p - 1, p - 1, 1)) and not traps(library, number + 1, (p - 1, p - 1, p, p))
    for place in range(4):
        coordinates = [5, 6, 7, 8]
        coordinates[place] = p
        assert traps(library, number, coordinates)
        assert traps(library, number + 1, coordinates) == (place < 2)
    assert traps(library, number, (5, 6, 7, 8), offset=56)


def function(library: ctypes.CDLL, name: str, data: bytes, sizes: Sequence[int], size: int) -> bytes | None:
    """Return the result of a function on arguments of these sizes, written over the arguments."""
    offsets = [0, *itertools.accumulate((part + 7) // 8 * 8 for part in sizes)]
    room = (ctypes.c_uint64 * (max(offsets[-1], size) // 8 + 1))()
    start = ctypes.addressof(room)
    place = 0
    for offset, part in zip(offsets, sizes, strict=False):
        ctypes.memmove(start + offset, data[place : place + part], part)
        place += part
    arguments = [
        ctypes.c_uint8(data[-1]) if part == 1 else ctypes.c_void_p(start + offset)
        for offset, part in zip(offsets, sizes, strict=False)
    ]
    status = getattr(library, f"zkvm_{name}")(*arguments, ctypes.c_void_p(start))
    return ctypes.string_at(start, size) if status == 0 else None


@pytest.mark.parametrize(
    ("name", "sizes", "size"),
    [
        ("secp256k1_verify", (32, 64, 64), 1),
        ("secp256k1_ecrecover", (32, 64, 1), 64),
        ("secp256r1_verify", (32, 64, 64), 1),
        ("bn254_g1_add", (64, 64), 64),
        ("bn254_g1_mul", (64, 32), 64),
        ("bls12_g1_add", (96, 96), 96),
        ("bls12_g2_add", (192, 192), 192),
        ("bls12_map_fp_to_g1", (48,), 96),
        ("bls12_map_fp2_to_g2", (96,), 192),
        ("kzg_point_eval", (48, 32, 32, 48), 1),
    ],
)
def test_vectors(name: str, sizes: Sequence[int], size: int, library: ctypes.CDLL) -> None:
    """Results are written over arguments."""
    for case in load(name):
        assert function(library, name, case.input, sizes, size) == case.expect, case


@pytest.mark.parametrize(("name", "size"), [("bn254_pairing", 192), ("bls12_pairing", 288)])
def test_pairings_of_vectors(name: str, size: int, library: ctypes.CDLL) -> None:
    for case in load(name):
        pairs = ctypes.create_string_buffer(case.input, len(case.input) + 1)
        verified = ctypes.c_bool(case.expect is None)
        count = ctypes.c_size_t(len(case.input) // size)
        status = getattr(library, f"zkvm_{name}")(pairs, count, ctypes.byref(verified))
        assert (status, verified.value) == ((-1, False) if case.expect is None else (0, case.expect == b"\1")), case


@pytest.mark.parametrize(("name", "size", "result"), [("bls12_g1_msm", 128, 96), ("bls12_g2_msm", 224, 192)])
def test_sums_of_vectors(name: str, size: int, result: int, library: ctypes.CDLL) -> None:
    """Results are written over arguments."""
    for case in load(name):
        assert summed(library, name, case.input, size, result) == case.expect, case


def summed(library: ctypes.CDLL, name: str, data: bytes, size: int, result: int) -> bytes | None:
    """Return the result of a multi-scalar multiplication over its arguments."""
    room = ctypes.create_string_buffer(data, max(len(data), result))
    status = getattr(library, f"zkvm_{name}")(room, ctypes.c_size_t(len(data) // size), room)
    return room.raw[:result] if status == 0 else None


def power(library: ctypes.CDLL, base: bytes, exponent: bytes, modulus: bytes) -> bytes:
    """Return the result of zkvm_modexp over its modulus."""
    room = ctypes.create_string_buffer(modulus, len(modulus) + 1)
    sizes = [ctypes.c_size_t(len(part)) for part in (base, exponent, modulus)]
    assert library.zkvm_modexp(base, sizes[0], exponent, sizes[1], room, sizes[2], room) == 0
    return room.raw[:-1]


def test_powers_of_vectors(library: ctypes.CDLL) -> None:
    for case in load("modexp"):
        sizes = [int.from_bytes(case.input[i : i + 4], "little") for i in (0, 4, 8)]
        first, second, end, _ = itertools.accumulate(sizes, initial=12)
        base, exponent = case.input[first:second], case.input[second:end]
        assert power(library, base, exponent, case.input[end:]) == case.expect


def extreme(random_: random.Random, bits: int) -> int:
    """Return a number of at most so many bits, often with long runs of ones or zeros."""
    number = random_.getrandbits(bits)
    for _ in range(random_.randrange(3)):
        low, high = sorted((random_.randrange(bits + 1), random_.randrange(bits + 1)))
        run = (1 << high) - (1 << low)
        number = number | run if random_.randrange(2) else number & ~run
    return number


def test_powers_of_python(library: ctypes.CDLL) -> None:
    random_ = random.Random(37)
    for _ in range(3000):
        bits = [random_.choice([0, 8, 256, 264, 512, 520, 768, 1024]) for _ in range(2)]
        base, modulus = (extreme(random_, size) for size in bits)
        exponent = extreme(random_, random_.choice([0, 2, 5, 16, 56, 64, 72]))
        if random_.randrange(4) == 0 and modulus:
            base = max(modulus - random_.randrange(3), 0) % (1 << bits[0])
        parts = [number.to_bytes(size // 8) for number, size in zip((base, modulus), bits, strict=True)]
        exponents = exponent.to_bytes(random_.choice([9, 10]))
        expected = (pow(base, exponent, modulus) if modulus else 0).to_bytes(bits[1] // 8)
        assert power(library, parts[0], exponents, parts[1]) == expected, (base, exponent, modulus)
