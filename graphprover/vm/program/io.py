"""A guest's interface: regions of its memory, and host calls.

Input and output are memory, so that a proof only pays for the words that are touched:

- the input lies at INPUT_BASE from the start: its length in bytes as one word, then the bytes;
- a seed of random numbers is the last word of the input's region, a choice of the host like the input;
- the output lies at OUTPUT_BASE at the end: its length in bytes as one word, then the bytes.

A host call is an ``ecall`` with a number in a7; it leaves all registers unchanged. EXIT ends the execution with the
exit code a0. The others work on memory: host_calls.py lists their operands, executor/accelerators.py computes them.

The instruction DEBUG_PRINT shows a0 .. a0 + a1 to the host: executor/debug.py. It is a hint, so it has no effect on the
machine, and a proof says nothing about it.
"""

import numpy as np

INPUT_BASE = 0x8000_0000  # the program's own memory ends below; the stack may grow down from here
OUTPUT_BASE = 0xC000_0000
RANDOM_SEED = OUTPUT_BASE - 8  # the address of a word that the host chooses
MEMORY_END = 1 << 32
MAX_INPUT_BYTES = OUTPUT_BASE - INPUT_BASE - 8
MAX_OUTPUT_BYTES = MEMORY_END - OUTPUT_BASE - 8

EXIT = 93  # Linux's number
DEBUG_PRINT = 0x7A603013  # sltiu x0, x0, 0x7a6
KECCAK_F = 1024  # Keccak-f[1600] in place, on the 25 words at a0
# Integers of 256 bits, at the addresses in a0 (r, q), a1 (a), a2 (b), a3 (m) and a4 (c): r = (a b + c) mod m; a modulus
# 0 stands for 2^256.
MODULAR = 1025  # r
MODULAR_QUOTIENT = 1026  # r, and q behind it: a b + c = q m + r
# Affine points of curves over a prime of 256 bits: the point at a0 becomes its sum with the point at a1, or its double.
POINT = 1028  # + 1 for the double, + 2 for each next curve: secp256k1, P-256, bn254
# The 17 words at a1 are xored into the first of the 25 words at a0, then Keccak-f[1600] permutes these.
KECCAK_ABSORB = 1034
SHA256 = 1035  # the compression of SHA-256: the state of 4 words at a0 takes in the block of 8 words at a1
# The same as MODULAR and MODULAR_QUOTIENT on integers of 384 bits; a modulus 0 stands for 2^384.
MODULAR_384 = 1036
MODULAR_384_QUOTIENT = 1037
# r = a b + c in Fp[u] / (u^2 + 1), at the addresses in a0 (r), a1 (a), a2 (b) and a3 (c); p is the prime of a curve.
FP2_BN254 = 1038
FP2_BLS12_381 = 1039


def region(data: bytes) -> np.ndarray:
    """Return the words of an input or output region with ``data``, as uint64: the length, then the padded bytes."""
    padded = len(data).to_bytes(8, "little") + data + bytes(-len(data) % 8)
    return np.frombuffer(padded, dtype="<u8").astype(np.uint64)
