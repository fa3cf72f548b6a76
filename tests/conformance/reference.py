"""The accelerator functions of zkvm_accelerators.h from other libraries: hashlib, cryptography, py_ecc and integers.

Each takes the input of a case and returns the result, or None for ZKVM_EFAIL. docs/conformance.md has the layouts.
"""

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from Crypto.Hash import RIPEMD160, keccak
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, encode_dss_signature
from py_ecc import optimized_bls12_381 as bls
from py_ecc import optimized_bn128 as bn
from py_ecc.bls.hash_to_curve import clear_cofactor_G1, clear_cofactor_G2, map_to_curve_G1, map_to_curve_G2
from py_ecc.bls.point_compression import decompress_G1, decompress_G2
from py_ecc.bls.typing import G1Compressed, G2Compressed

sys.setrecursionlimit(1000)  # Python's default, which py_ecc raises for the whole process, and other tests with it

Result = bytes | None
TRUE, FALSE = b"\1", b"\0"
K1_P = 2**256 - 2**32 - 977
K1_N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
K1_G = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)
BLAKE2B_START = [
    0x6A09E667F3BCC908,
    0xBB67AE8584CAA73B,
    0x3C6EF372FE94F82B,
    0xA54FF53A5F1D36F1,
    0x510E527FADE682D1,
    0x9B05688C2B3E6C1F,
    0x1F83D9ABFB41BD6B,
    0x5BE0CD19137E2179,
]
BLAKE2B_ORDER = [  # of the words of a message in ten rounds: RFC 7693, section 2.7
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4),
    (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13),
    (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11),
    (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5),
    (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
]
LANES = [  # of one round: four columns, four diagonals
    (0, 4, 8, 12),
    (1, 5, 9, 13),
    (2, 6, 10, 14),
    (3, 7, 11, 15),
    (0, 5, 10, 15),
    (1, 6, 11, 12),
    (2, 7, 8, 13),
    (3, 4, 9, 14),
]
# [tau]_2 of Ethereum's KZG ceremony: the second of g2_monomial in EIP-4844's trusted_setup_4096.json.
TAU_G2 = bytes.fromhex(
    "b5bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72"
    "185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2"
)


def integers(data: bytes, size: int) -> list[int]:
    """Return the big-endian numbers of ``size`` bytes."""
    return [int.from_bytes(data[i : i + size]) for i in range(0, len(data), size)]


def keccak256(data: bytes) -> bytes:
    return keccak.new(digest_bits=256, data=data).digest()


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def ripemd160(data: bytes) -> bytes:
    return bytes(12) + RIPEMD160.new(data).digest()


def verified(curve: ec.EllipticCurve, data: bytes) -> bytes:
    """Return the verdict on hash, r, s, x, y. A number that is out of range, or no point, is a wrong signature."""
    _, r, s, x, y = integers(data, 32)
    try:
        key = ec.EllipticCurvePublicNumbers(x, y, curve).public_key()
        key.verify(encode_dss_signature(r, s), data[:32], ec.ECDSA(Prehashed(hashes.SHA256())))
    except (InvalidSignature, ValueError):
        return FALSE
    return TRUE


def k1_add(p: tuple[int, int] | None, q: tuple[int, int] | None) -> tuple[int, int] | None:
    """Return the sum of two points of secp256k1; None is the point at infinity."""
    if p is None or q is None:
        return p or q
    (x, y), (u, v) = p, q
    if x == u and (y + v) % K1_P == 0:
        return None
    slope = 3 * x * x * pow(2 * y, -1, K1_P) if p == q else (v - y) * pow(u - x, -1, K1_P)
    w = (slope * slope - x - u) % K1_P
    return w, (slope * (x - w) - y) % K1_P


def k1_mul(p: tuple[int, int] | None, scalar: int) -> tuple[int, int] | None:
    """Return a multiple of a point of secp256k1."""
    total = None
    while scalar:
        total = k1_add(total, p) if scalar & 1 else total
        p, scalar = k1_add(p, p), scalar >> 1
    return total


def ecrecover(data: bytes) -> Result:
    """Return the public key by SEC 1, section 4.1.6."""
    z, r, s = integers(data[:96], 32)
    identifier = data[96]
    x = r + K1_N * (identifier >> 1)
    if not (0 < r < K1_N and 0 < s < K1_N and identifier < 4 and x < K1_P):
        return None
    square = (x**3 + 7) % K1_P
    y = pow(square, (K1_P + 1) // 4, K1_P)
    if y * y % K1_P != square:
        return None
    y = K1_P - y if y % 2 != identifier % 2 else y
    inverse = pow(r, -1, K1_N)
    key = k1_add(k1_mul((x, y), s * inverse % K1_N), k1_mul(K1_G, -z * inverse % K1_N))
    return key and b"".join(value.to_bytes(32) for value in key)


def modexp(data: bytes) -> bytes:
    lengths = [int.from_bytes(data[i : i + 4], "little") for i in (0, 4, 8)]
    numbers, place = [], 12
    for length in lengths:
        numbers.append(int.from_bytes(data[place : place + length]))
        place += length
    base, exponent, modulus = numbers
    return (pow(base, exponent, modulus) if modulus else 0).to_bytes(lengths[2])


def blake2f(data: bytes) -> Result:
    """Return F of BLAKE2b (RFC 7693, section 3.2) by EIP-152."""
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, 208, 8)]
    rounds, final = int.from_bytes(data[208:212], "little"), data[212]
    if final > 1:
        return None
    h, message, counter = words[:8], words[8:24], words[24:]
    v = h + BLAKE2B_START[:]
    v[12], v[13] = v[12] ^ counter[0], v[13] ^ counter[1]
    v[14] ^= (2**64 - 1) * final
    for number in range(rounds):
        order = BLAKE2B_ORDER[number % 10]
        for i, (a, b, c, d) in enumerate(LANES):
            for word, right, last in ((order[2 * i], 32, 24), (order[2 * i + 1], 16, 63)):
                v[a] = (v[a] + v[b] + message[word]) % 2**64
                v[d] = rotated(v[d] ^ v[a], right)
                v[c] = (v[c] + v[d]) % 2**64
                v[b] = rotated(v[b] ^ v[c], last)
    return b"".join((x ^ v[i] ^ v[i + 8]).to_bytes(8, "little") for i, x in enumerate(h))


def rotated(word: int, right: int) -> int:
    return (word >> right | word << 64 - right) % 2**64


class Curve:
    """The encodings of a pairing curve in the EIPs: big-endian coordinates, zeros for infinity."""

    def __init__(self, library: Any, size: int, imaginary_first: bool) -> None:
        self.library, self.size, self.imaginary_first = library, size, imaginary_first

    def g1(self, data: bytes, subgroup: bool = False) -> Any:
        """Return a point of G1; raise ValueError if there is none."""
        field = self.library.FQ
        return self._point(*(field(value) for value in self._checked(data)), self.library.b, subgroup)

    def g2(self, data: bytes, subgroup: bool = True) -> Any:
        """Return a point of G2; raise ValueError if there is none."""
        values = self._checked(data)
        pairs = [values[:2], values[2:]]
        ordered = [pair[::-1] if self.imaginary_first else pair for pair in pairs]
        return self._point(*(self.library.FQ2(pair) for pair in ordered), self.library.b2, subgroup)

    def _checked(self, data: bytes) -> list[int]:
        values = integers(data, self.size)
        if max(values) >= self.library.field_modulus:
            raise ValueError("a coordinate is not less than the modulus")
        return values

    def _point(self, x: Any, y: Any, b: Any, subgroup: bool) -> Any:
        one, zero = type(x).one(), type(x).zero()
        if x == zero and y == zero:
            return one, one, zero
        point = (x, y, one)
        if not self.library.is_on_curve(point, b):
            raise ValueError("not on the curve")
        if subgroup and not self.library.is_inf(self.library.multiply(point, self.library.curve_order)):
            raise ValueError("not in the subgroup")
        return point

    def encoded(self, point: Any) -> bytes:
        """Return the encoding of a point, with the coefficients of BLS12-381 in their own order."""
        if self.library.is_inf(point):
            return bytes(self.size * 2 * (2 if isinstance(point[0], self.library.FQ2) else 1))
        values = []
        for coordinate in self.library.normalize(point):
            values += coordinate.coeffs if isinstance(coordinate, self.library.FQ2) else [coordinate.n]
        return b"".join(int(value).to_bytes(self.size) for value in values)

    def product_is_one(self, pairs: Sequence[tuple[Any, Any]]) -> bytes:
        """Return the verdict on the product of pairings of (G1, G2)."""
        product = self.library.FQ12.one()
        for p, q in pairs:
            product *= self.library.pairing(q, p, final_exponentiate=False)
        exponent = (self.library.field_modulus**12 - 1) // self.library.curve_order
        return TRUE if product**exponent == self.library.FQ12.one() else FALSE


BN = Curve(bn, 32, imaginary_first=True)
BLS = Curve(bls, 48, imaginary_first=False)


def chunks(data: bytes, *sizes: int) -> Iterator[list[bytes]]:
    """Yield the fields of each structure with fields of these sizes."""
    for start in range(0, len(data), sum(sizes)):
        fields = []
        for size in sizes:
            fields.append(data[start : start + size])
            start += size
        yield fields


def added(decode: Callable[[bytes], Any], curve: Curve, data: bytes) -> bytes:
    half = len(data) // 2
    return curve.encoded(curve.library.add(decode(data[:half]), decode(data[half:])))


def bn_mul(data: bytes) -> bytes:
    return BN.encoded(bn.multiply(BN.g1(data[:64]), int.from_bytes(data[64:])))


def paired(curve: Curve, data: bytes) -> bytes:
    pairs = chunks(data, 2 * curve.size, 4 * curve.size)
    return curve.product_is_one([(curve.g1(p, subgroup=True), curve.g2(q)) for p, q in pairs])


def bls_pairing(data: bytes) -> Result:
    return paired(BLS, data) if data else None


def msm(decode: Callable[..., Any], size: int, data: bytes) -> Result:
    """Return a sum of multiples; EIP-2537 refuses an empty one."""
    if not data:
        return None
    total = None
    for point, scalar in chunks(data, size, 32):
        multiple = bls.multiply(decode(point, subgroup=True), int.from_bytes(scalar))
        total = multiple if total is None else bls.add(total, multiple)
    return BLS.encoded(total)


def map_fp(data: bytes) -> bytes:
    (value,) = BLS._checked(data)
    return BLS.encoded(clear_cofactor_G1(map_to_curve_G1(bls.FQ(value))))


def map_fp2(data: bytes) -> bytes:
    return BLS.encoded(clear_cofactor_G2(map_to_curve_G2(bls.FQ2(BLS._checked(data)))))


def compressed(data: bytes) -> Any:
    """Return the point of G1 of 48 bytes; raise ValueError if there is none in the subgroup."""
    point = decompress_G1(G1Compressed(int.from_bytes(data)))
    if not bls.is_inf(bls.multiply(point, bls.curve_order)):
        raise ValueError("not in the subgroup")
    return point


def kzg(data: bytes) -> bytes:
    """Return the verdict on e(C - y, 1) e(-proof, tau - z) = 1: verify_kzg_proof of EIP-4844."""
    commitment, proof = compressed(data[:48]), compressed(data[112:])
    z, y = integers(data[48:112], 32)
    if max(z, y) >= bls.curve_order:
        raise ValueError("a field element is not less than the modulus")
    tau = decompress_G2(G2Compressed((int.from_bytes(TAU_G2[:48]), int.from_bytes(TAU_G2[48:]))))
    left = bls.add(commitment, bls.neg(bls.multiply(bls.G1, y)))
    right = bls.add(tau, bls.neg(bls.multiply(bls.G2, z)))
    return BLS.product_is_one([(left, bls.G2), (bls.neg(proof), right)])


def refusing(function: Callable[[bytes], Result]) -> Callable[[bytes], Result]:
    """Return a function that returns None if ``function`` raises ValueError."""

    def refused(data: bytes) -> Result:
        try:
            return function(data)
        except ValueError:
            return None

    return refused


FUNCTIONS: dict[str, Callable[[bytes], Result]] = {
    "keccak256": keccak256,
    "secp256k1_verify": lambda data: verified(ec.SECP256K1(), data),
    "secp256k1_ecrecover": ecrecover,
    "sha256": sha256,
    "ripemd160": ripemd160,
    "modexp": modexp,
    "bn254_g1_add": refusing(lambda data: added(BN.g1, BN, data)),
    "bn254_g1_mul": refusing(bn_mul),
    "bn254_pairing": refusing(lambda data: paired(BN, data)),
    "blake2f": blake2f,
    "kzg_point_eval": refusing(kzg),
    "bls12_g1_add": refusing(lambda data: added(BLS.g1, BLS, data)),
    "bls12_g1_msm": refusing(lambda data: msm(BLS.g1, 96, data)),
    "bls12_g2_add": refusing(lambda data: added(lambda point: BLS.g2(point, subgroup=False), BLS, data)),
    "bls12_g2_msm": refusing(lambda data: msm(BLS.g2, 192, data)),
    "bls12_pairing": refusing(bls_pairing),
    "bls12_map_fp_to_g1": refusing(map_fp),
    "bls12_map_fp2_to_g2": refusing(map_fp2),
    "secp256r1_verify": lambda data: verified(ec.SECP256R1(), data),
}
