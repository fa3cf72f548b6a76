"""The fields Fp2 = Fp[u] / (u^2 + 1) in which a host call computes a b + c.

An element is two integers, its real part and then its factor of u. Those of a result are below p.
"""

from typing import NamedTuple

from graphprover.vm.program.curves import ALL_CURVES
from graphprover.vm.program.io import FP2_BLS12_381, FP2_BN254


class Field(NamedTuple):
    """A field Fp2."""

    name: str  # of the chip
    number: int  # of the host call
    p: int
    words: int  # of an integer below p


BN254 = Field("fp2_bn254", FP2_BN254, {curve.name: curve.p for curve in ALL_CURVES}["bn254"], 4)
BLS12_381 = Field(
    "fp2_bls12_381",
    FP2_BLS12_381,
    0x1A0111EA397FE69A4B1BA7B6434BACD764774B84F38512BF6730D2A0F6B0F6241EABFFFEB153FFFFB9FEFFFFFFFFAAAB,
    6,
)
ALL_FIELDS = (BN254, BLS12_381)
