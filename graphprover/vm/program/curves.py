"""The curves whose points a host call adds."""

from typing import NamedTuple


class Curve(NamedTuple):
    """A curve y^2 = x^3 + a x + b over the integers mod a prime p. The formulas of points do not need b."""

    name: str
    p: int
    a: int
    b: int


ALL_CURVES = (
    Curve("secp256k1", 2**256 - 2**32 - 977, 0, 7),
    Curve(
        "P-256",
        2**256 - 2**224 + 2**192 + 2**96 - 1,
        -3,
        0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
    ),
    Curve("bn254", 0x30644E72E131A029B85045B68181585D97816A916871CA8D3C208C16D87CFD47, 0, 3),
)
