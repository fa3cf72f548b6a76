"""The kit's functions on BLS12-381 and the pairing of bn254, compiled for this computer, against py_ecc."""

import ctypes
import random
import shutil
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from py_ecc import optimized_bls12_381 as bls
from py_ecc import optimized_bn128 as bn

from tests.conformance import reference
from tests.vm.curve_constants import Element, bls12_381, bn254
from tests.vm.native import native_library

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")

Call = Callable[[str, bytes], bytes | None]
BLS, BN = bls12_381(), bn254()
SCALARS = [0, 1, 2, 7, 8, 2**64 - 1, BLS.parameter**2, BLS.r - 1, BLS.r, BLS.r + 1, 2**255, 2**256 - 1]
GENERATORS = {"g1": bls.G1, "g2": bls.G2}
SIZES = {"g1": 96, "g2": 192}
RESULTS = {"g1_add": 96, "g2_add": 192, "g1_msm": 96, "g2_msm": 192, "map_fp_to_g1": 96, "map_fp2_to_g2": 192}


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Call:
    """Return a function that returns the result of an accelerator function, or None if it refuses its input."""
    library = native_library(tmp_path_factory.mktemp("bls12_381"))

    def called(name: str, data: bytes) -> bytes | None:
        room = (ctypes.c_uint64 * 24)()
        source = ctypes.create_string_buffer(data, len(data) + 1)
        sizes = {"msm": len(data) and len(data) // {"bls12_g1_msm": 128, "bls12_g2_msm": 224}.get(name, 1)}
        sizes["pairing"] = len(data) // (192 if name == "bn254_pairing" else 288)
        count = sizes.get(name.rpartition("_")[2])
        place = ctypes.addressof(source)
        arguments: list[Any] = [ctypes.c_void_p(place)]
        if name.endswith("add"):
            arguments.append(ctypes.c_void_p(place + len(data) // 2))
        if count is not None:
            arguments.append(ctypes.c_size_t(count))
        status = getattr(library, f"zkvm_{name}")(*arguments, room)
        size = 1 if name.endswith("pairing") else RESULTS[name.removeprefix("bls12_")]
        return bytes(room)[:size] if status == 0 else None

    return called


def encoded(point: Any) -> bytes:
    """Return a point of BLS12-381 as the functions take it."""
    return reference.BLS.encoded(point)


def curve_point(b: Element, start: int) -> tuple[Element, Element]:
    """Return a point of y^2 = x^3 + b over Fp2, most likely outside of the group of order r."""
    while True:
        x = (start, 0 if b[1] == 0 else 1)
        square = BLS.times(BLS.times(x, x), x)
        value = ((square[0] + b[0]) % BLS.p, (square[1] + b[1]) % BLS.p)
        exponent = (BLS.p - 1) // 2 if b[1] == 0 else (BLS.p**2 - 1) // 2
        if BLS.power(value, exponent) == (1, 0):
            return x, BLS.root(value)
        start += 1


def outside(group: str, start: int) -> Any:
    """Return a point of the curve of G1 or G2 for py_ecc."""
    x, y = curve_point((BLS.b, 0) if group == "g1" else BLS.twist_b, start)
    if group == "g1":
        return bls.FQ(x[0]), bls.FQ(y[0]), bls.FQ.one()
    return bls.FQ2(x), bls.FQ2(y), bls.FQ2.one()


@pytest.mark.parametrize("group", GENERATORS)
def test_sums_of_multiples(group: str, call: Call) -> None:
    random_ = random.Random(39)
    generator, infinity = GENERATORS[group], bls.multiply(GENERATORS[group], 0)
    for count in (1, 1, 1, 2, 3, 5):
        points = [bls.multiply(generator, random_.randrange(BLS.r)) for _ in range(count)]
        scalars = [random_.choice([*SCALARS, random_.getrandbits(256)]) for _ in range(count)]
        total = infinity
        for point, scalar in zip(points, scalars, strict=True):
            total = bls.add(total, bls.multiply(point, scalar % BLS.r))
        data = b"".join(encoded(point) + k.to_bytes(32) for point, k in zip(points, scalars, strict=True))
        assert call(f"bls12_{group}_msm", data) == encoded(total), scalars


@pytest.mark.parametrize("scalar", SCALARS)
def test_extreme_scalars(scalar: int, call: Call) -> None:
    for group, generator in GENERATORS.items():
        data = encoded(generator) + scalar.to_bytes(32)
        assert call(f"bls12_{group}_msm", data) == encoded(bls.multiply(generator, scalar % BLS.r))


@pytest.mark.parametrize("group", GENERATORS)
def test_terms_that_are_equal_opposite_or_infinite(group: str, call: Call) -> None:
    point = bls.multiply(GENERATORS[group], 77)
    terms = [(point, 5), (point, 5), (bls.neg(point), 11), (bls.multiply(point, 0), 9), (point, 1)]
    for end, factor in ((2, 10), (3, -1), (4, -1), (5, 0)):
        data = b"".join(encoded(at) + k.to_bytes(32) for at, k in terms[:end])
        assert call(f"bls12_{group}_msm", data) == encoded(bls.multiply(point, factor % BLS.r))
    nothing = bytes(SIZES[group])
    assert call(f"bls12_{group}_msm", nothing + bytes(31) + b"\5") == nothing
    assert call(f"bls12_{group}_msm", b"") is None


@pytest.mark.parametrize("group", GENERATORS)
def test_additions(group: str, call: Call) -> None:
    """Points of the curve outside of the group are added as well."""
    size = SIZES[group]
    points = [outside(group, start) for start in (3, 40)]
    for point in points:
        assert call(f"bls12_{group}_add", encoded(point) * 2) == encoded(bls.double(point))
        assert call(f"bls12_{group}_add", encoded(point) + encoded(bls.neg(point))) == bytes(size)
        assert call(f"bls12_{group}_add", encoded(point) + bytes(size)) == encoded(point)
        assert call(f"bls12_{group}_add", bytes(size) + encoded(point)) == encoded(point)
    assert call(f"bls12_{group}_add", encoded(points[0]) + encoded(points[1])) == encoded(bls.add(*points))
    assert call(f"bls12_{group}_add", bytes(2 * size)) == bytes(2 * size)[:size]


def strangers(group: str) -> list[Any]:
    """Return points outside of a group: any, of an order in the cofactor, and one of the group plus such a point."""
    found = [outside(group, start) for start in (3, 40, 500)]
    small = [bls.multiply(point, BLS.r) for point in found]
    if group == "g1":
        small.append((bls.FQ(0), bls.FQ(2), bls.FQ.one()))  # of order 3
        assert bls.is_inf(bls.multiply(small[-1], 3))
    else:  # points of an order for which the Miller loop meets infinity
        small += [bls.multiply(found[0], BLS.order // order**2) for order in (13, 23)]
        assert all(bls.is_inf(bls.multiply(point, order)) for point, order in zip(small[3:], (13, 23), strict=True))
    return [*found, *small, *(bls.add(GENERATORS[group], point) for point in small)]


@pytest.mark.parametrize("group", GENERATORS)
def test_points_outside_of_the_group_are_refused(group: str, call: Call) -> None:
    for point in strangers(group):
        assert not bls.is_inf(bls.multiply(point, BLS.r))
        assert call(f"bls12_{group}_msm", encoded(point) + bytes(31) + b"\1") is None
        for other in (bls.multiply(GENERATORS["g2" if group == "g1" else "g1"], k) for k in (0, 1)):
            pair = (point, other) if group == "g1" else (other, point)
            assert call("bls12_pairing", b"".join(map(encoded_in, pair, ("g1", "g2")))) is None


def encoded_in(point: Any, group: str) -> bytes:
    """Return a point, or zeros for infinity, which has no group in py_ecc's encoding."""
    return bytes(SIZES[group]) if bls.is_inf(point) else encoded(point)


@pytest.mark.parametrize("group", GENERATORS)
def test_coordinates_are_below_the_modulus_and_on_the_curve(group: str, call: Call) -> None:
    """Each coordinate plus the modulus is refused, as is each with a bit changed."""
    data = encoded(GENERATORS[group])
    infinity = bytes(SIZES[group])
    for place in range(0, len(data), 48):
        number = int.from_bytes(data[place : place + 48])
        for other in (number + BLS.p, number ^ 1, BLS.p, 2**384 - 1):
            if other >> 384:
                continue
            wrong = data[:place] + other.to_bytes(48) + data[place + 48 :]
            assert call(f"bls12_{group}_add", wrong + infinity) is None
            assert call(f"bls12_{group}_add", infinity + wrong) is None
            assert call(f"bls12_{group}_msm", wrong + bytes(32)) is None
            pair = wrong + bytes(192) if group == "g1" else bytes(96) + wrong
            assert call("bls12_pairing", pair) is None
        field = bytes(place) + BLS.p.to_bytes(48) + bytes(len(data) - place - 48)
        assert call(f"bls12_{group}_add", field + infinity) is None  # not zero, although it is modulo p


def test_maps(call: Call) -> None:
    """Zero, elements whose denominator is zero, and random ones; then elements that are not below the modulus."""
    random_ = random.Random(40)
    special = [0, 1, BLS.p - 1, pow(-pow(11, -1, BLS.p), (BLS.p + 1) // 4, BLS.p)]
    for number in [*special, *(random_.randrange(BLS.p) for _ in range(4))]:
        data = number.to_bytes(48)
        assert call("bls12_map_fp_to_g1", data) == reference.map_fp(data)
    z = (-2 % BLS.p, -1 % BLS.p)
    square = BLS.power(BLS.times(z, (-1, 0)), -1)
    elements = [(0, 0), (0, 1), (1, 0), (5, 0), (0, 5)]
    if BLS.power(square, (BLS.p**2 - 1) // 2) == (1, 0):
        elements.append(BLS.root(square))
    elements += [(random_.randrange(BLS.p), random_.randrange(BLS.p)) for _ in range(4)]
    for element in elements:
        data = b"".join(part.to_bytes(48) for part in element)
        assert call("bls12_map_fp2_to_g2", data) == reference.map_fp2(data)
    assert call("bls12_map_fp_to_g1", BLS.p.to_bytes(48)) is None
    for data in (BLS.p.to_bytes(48) + bytes(48), bytes(48) + BLS.p.to_bytes(48)):
        assert call("bls12_map_fp2_to_g2", data) is None


def product(pairs: Sequence[tuple[int, int]]) -> bytes:
    """Return pairs of multiples of the generators."""
    found = (zip((bls.multiply(bls.G1, a), bls.multiply(bls.G2, b)), ("g1", "g2"), strict=True) for a, b in pairs)
    return b"".join(encoded_in(point, group) for pair in found for point, group in pair)


def test_products_of_pairings(call: Call) -> None:
    random_ = random.Random(41)
    for _ in range(4):
        a, b, c = (random_.randrange(1, BLS.r) for _ in range(3))
        rest = (-a * b - c) % BLS.r
        assert call("bls12_pairing", product([(a, b), (c, 1), (rest, 1)])) == b"\1"
        assert call("bls12_pairing", product([(a, b), (c, 1), (rest + 1, 1)])) == b"\0"
        assert call("bls12_pairing", product([(a, b), (0, 7), (c, 0), (1, -a * b % BLS.r)])) == b"\1"
    assert call("bls12_pairing", product([(0, 0)])) == call("bls12_pairing", product([(0, 1), (1, 0)])) == b"\1"
    assert call("bls12_pairing", product([(1, 1)])) == b"\0"
    assert call("bls12_pairing", b"") is None


def bn_encoded(point: Any) -> bytes:
    """Return a point of bn254: the imaginary part of a coordinate comes first."""
    parts = (getattr(value, "coeffs", [value])[::-1] for value in bn.normalize(point))
    return b"".join(int(part).to_bytes(32) for coordinate in parts for part in coordinate)


def test_pairings_of_bn254(call: Call) -> None:
    """Products of random multiples; points of the twist outside of the subgroup are refused, with infinity too."""
    random_ = random.Random(42)
    for _ in range(3):
        a, b = (random_.randrange(1, BN.r) for _ in range(2))
        pairs = [(a, b), (-a * b % BN.r, 1)]
        data = b"".join(bn_encoded(bn.multiply(bn.G1, k)) + bn_encoded(bn.multiply(bn.G2, m)) for k, m in pairs)
        assert call("bn254_pairing", data) == b"\1"
        assert call("bn254_pairing", data[:192]) == b"\0"
        assert call("bn254_pairing", bytes(64) + data[64:192] + data) == b"\1"
    assert call("bn254_pairing", b"") == b"\1"
    for start in (1, 30, 200):
        point = bn_outside(start)
        small = bn.multiply(point, BN.order // 10069)
        assert not bn.is_inf(small)
        for stranger in (point, small, bn.multiply(point, BN.r), bn.add(bn.G2, bn.multiply(point, BN.r))):
            assert call("bn254_pairing", bn_encoded(bn.G1) + bn_encoded(stranger)) is None
            assert call("bn254_pairing", bytes(64) + bn_encoded(stranger)) is None


def bn_outside(start: int) -> Any:
    """Return a point of the twist of bn254, most likely outside of the subgroup."""
    while True:
        x = (start, 1)
        cube = BN.times(BN.times(x, x), x)
        value = tuple((left + right) % BN.p for left, right in zip(cube, BN.twist_b, strict=True))
        norm = (value[0] ** 2 + value[1] ** 2) % BN.p
        root = pow(norm, (BN.p + 1) // 4, BN.p)
        for sign in (1, -1):  # the square of the real part is half the sum of it and the norm's root
            real = pow((value[0] + sign * root) * pow(2, -1, BN.p), (BN.p + 1) // 4, BN.p)
            y = (real, value[1] * pow(2 * real, -1, BN.p) % BN.p) if real else (0, 0)
            if BN.times(y, y) == value:
                return bn.FQ2(x), bn.FQ2(y), bn.FQ2.one()
        start += 1
