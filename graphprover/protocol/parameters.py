"""The public parameters of a proof, on which prover and verifier agree in addition to the statement."""

from __future__ import annotations

import struct
from dataclasses import astuple, dataclass, fields
from typing import ClassVar

from graphprover.protocol.errors import RuleError

KECCAK, BLAKE3 = HASH_NAMES = ("keccak", "blake3")  # in order of their codes in an encoding
DEFAULT_HASH = BLAKE3


@dataclass(frozen=True)
class Parameters:
    """The hash, the FRI commitment scheme and every grinding site (p3-fri ``FriParameters``, p3-batch-stark).

    Raises ValueError, naming the field, for a value outside its range.
    """

    hash: str  # of `HASH_NAMES`: for trees, transcript, proof of work and binding
    log_blowup: int  # log2 of the inverse rate: every LDE is 2^log_blowup times its trace
    num_queries: int  # query indices drawn after the last fold
    log_final_poly_len: int  # log2 of the coefficients sent when folding stops
    max_log_arity: int  # a fold divides the domain by at most 2^max_log_arity
    cap_height: int  # a Merkle commitment is the layer of 2^cap_height digests (fewer in a lower tree)
    lookup_pow_bits: int  # grinding before the LogUp challenges
    ood_pow_bits: int  # grinding before the out-of-domain point zeta
    batch_pow_bits: int  # grinding before the challenge that batches the openings
    commit_pow_bits: int  # grinding before each folding challenge
    query_pow_bits: int  # grinding before the query indices

    # A blowup of 2^9 costs the prover more than the queries it saves, and codewords must fit the 2^32 subgroup. A fold
    # of 2^6 sends 63 siblings per query. Beyond 32 bits a single grinding takes minutes.
    RANGES: ClassVar[dict[str, tuple[int, int]]] = {
        "log_blowup": (1, 8),
        "num_queries": (1, 1000),
        "log_final_poly_len": (0, 16),
        "max_log_arity": (1, 6),
        "cap_height": (0, 16),
        "lookup_pow_bits": (0, 32),
        "ood_pow_bits": (0, 32),
        "batch_pow_bits": (0, 32),
        "commit_pow_bits": (0, 32),
        "query_pow_bits": (0, 32),
    }

    def __post_init__(self) -> None:
        if self.hash not in HASH_NAMES:
            raise RuleError("proof.hash", f"hash must be {' or '.join(HASH_NAMES)}, not {self.hash!r}")
        for name, (least, most) in self.RANGES.items():
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise RuleError("proof.parameters", f"{name} must be an integer from {least} to {most}, not {value!r}")

    def to_bytes(self) -> bytes:
        """Return the canonical encoding: all fields in order, each as u16 little-endian; a hash by its place."""
        name, *numbers = astuple(self)
        return struct.pack(_LAYOUT, HASH_NAMES.index(name), *numbers)

    @classmethod
    def from_bytes(cls, data: bytes) -> Parameters:
        """Decode the result of `to_bytes`. Raises ValueError for a wrong length or a value out of range."""
        if len(data) != ENCODED_BYTES:
            raise ValueError(f"parameters take {ENCODED_BYTES} bytes, not {len(data)}")
        code, *numbers = struct.unpack(_LAYOUT, data)
        if code >= len(HASH_NAMES):
            known = ", ".join(f"{i} is {n}" for i, n in enumerate(HASH_NAMES))
            raise RuleError("proof.hash", f"hash {code} is unknown: {known}")
        return cls(HASH_NAMES[code], *numbers)


RATES = {2: 1, 4: 2, 8: 3, 16: 4, 32: 5, 64: 6}  # offered rates: n of the rate 1/n, to log_blowup
LAYER_RATES = RATES | {128: 7, 256: 8}  # of layers, which are small, and of which only the last one has to be sent
FAST, SMALL = 2, 8  # the default rates of large and of small statements

_LAYOUT = f"<{len(fields(Parameters))}H"

ENCODED_BYTES = struct.calcsize(_LAYOUT)
