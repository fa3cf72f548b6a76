"""The kernels' operations as anybody would write them down, on Python integers: slow, obvious, the tests' oracle.

A column is a list of integers; an extension element over x^3 - x - 1 is a tuple of three, lowest power first.
"""

from collections.abc import Sequence

from Crypto.Hash import keccak

P = 2**64 - 2**32 + 1
GENERATOR = 7
EDGES = [0, 1, 2, 2**31, 2**32 - 2, 2**32 - 1, 2**32, 2**32 + 1, 2**63, P - 2**32, P - 2**32 + 1, P - 2, P - 1]
"""Canonical words at which carries, borrows and halves turn over."""
LOOSE_EDGES = [*EDGES, P, P + 1, 2**64 - 2**31, 2**64 - 2, 2**64 - 1]
"""The same and words that stand for their value mod p."""

Ext = tuple[int, int, int]


# Field.


def ext_add(x: Ext, y: Ext) -> Ext:
    return ((x[0] + y[0]) % P, (x[1] + y[1]) % P, (x[2] + y[2]) % P)


def ext_sub(x: Ext, y: Ext) -> Ext:
    return ((x[0] - y[0]) % P, (x[1] - y[1]) % P, (x[2] - y[2]) % P)


def ext_mul(x: Ext, y: Ext) -> Ext:
    """The product of polynomials, then x^4 = x^2 + x and x^3 = x + 1."""
    product = [0] * 5
    for i in range(3):
        for j in range(3):
            product[i + j] += x[i] * y[j]
    for k in (4, 3):
        product[k - 2] += product[k]
        product[k - 3] += product[k]
    return (product[0] % P, product[1] % P, product[2] % P)


# Transforms.


def root_of_unity(log_order: int) -> int:
    return pow(GENERATOR, (P - 1) >> log_order, P)


def reverse_bits(i: int, bits: int) -> int:
    return int(format(i, f"0{bits}b")[::-1], 2) if bits else 0


def evaluate(coefficients: Sequence[int], x: int) -> int:
    return sum(a * pow(x, i, P) for i, a in enumerate(coefficients)) % P


def coset(log_size: int, shift: int) -> list[int]:
    """shift * (the subgroup of order 2^log_size) in bit-reversed order."""
    root = root_of_unity(log_size)
    return [shift * pow(root, reverse_bits(i, log_size), P) % P for i in range(1 << log_size)]


def interpolate(points: Sequence[int], values: Sequence[int]) -> list[int]:
    """The coefficients of the polynomial of least degree through the points, by Lagrange's formula."""
    result = [0] * len(points)
    for i, (x, y) in enumerate(zip(points, values, strict=True)):
        numerator = [1]
        denominator = 1
        for j, z in enumerate(points):
            if j != i:
                # numerator times (X - z)
                shifted, scaled = [0, *numerator], [*(-z * a for a in numerator), 0]
                numerator = [(a + b) % P for a, b in zip(shifted, scaled, strict=True)]
                denominator = denominator * (x - z) % P
        scale = y * pow(denominator, -1, P)
        result = [(a + scale * b) % P for a, b in zip(result, numerator, strict=True)]
    return result


# Hashes.


def keccak256(message: bytes) -> bytes:
    return keccak.new(digest_bits=256, data=message).digest()


def word_bytes(words: Sequence[int]) -> bytes:
    """8-byte little-endian words."""
    return b"".join(int(word).to_bytes(8, "little") for word in words)


def leaf(rows: Sequence[Sequence[int]]) -> bytes:
    """The digest of the rows, one of each matrix, that stand at one height."""
    return keccak256(b"".join(word_bytes(row) for row in rows))


def compress(layer: Sequence[bytes]) -> list[bytes]:
    """The parents of a layer of digests."""
    return [keccak256(layer[i] + layer[i + 1]) for i in range(0, len(layer), 2)]


def grind(seed: bytes, bits: int, start: int, stop: int) -> int:
    """The smallest nonce in [start, stop) whose hash after ``seed`` ends, read big-endian, in ``bits`` zeros, or -1."""
    for nonce in range(start, stop):
        digest = keccak256(seed + nonce.to_bytes(8, "little"))
        if int.from_bytes(digest, "big") % 2**bits == 0:
            return nonce
    return -1
