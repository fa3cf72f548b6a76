"""The proof a user holds: Plonky3's proof bytes, and what is needed to read them against a statement."""

import struct
from dataclasses import dataclass

from graphprover.field import P
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import ENCODED_BYTES, Parameters
from graphprover.protocol.transcript import RELEASE

MAGIC = b"graphprover proof\x01"
MAX_TABLES = 4096
MAX_PUBLIC_VALUES = 1 << 16


@dataclass(frozen=True)
class Proof:
    """A proof and its header; nothing in the header is trusted before verification."""

    label: str  # a name for people
    parameters: Parameters
    log_heights: tuple[int, ...]  # log2 of each table's rows
    public_values: tuple[tuple[int, ...], ...]  # of each table
    payload: bytes  # Plonky3's ``BatchProof`` in postcard encoding

    def to_bytes(self) -> bytes:
        """The canonical encoding, as docs/protocol.md gives it."""
        label = self.label.encode()
        parts = [MAGIC, _short(RELEASE.encode()), _short(label), self.parameters.to_bytes()]
        parts.append(struct.pack("<H", len(self.log_heights)))
        for log_height, values in zip(self.log_heights, self.public_values, strict=True):
            parts.append(struct.pack(f"<BI{len(values)}Q", log_height, len(values), *values))
        return b"".join([*parts, struct.pack("<Q", len(self.payload)), self.payload])

    @classmethod
    def from_bytes(cls, data: bytes) -> "Proof":
        """Inverse of `to_bytes`; raises VerificationError for anything else."""
        position = 0

        def take(count: int, what: str) -> bytes:
            nonlocal position
            taken = data[position : position + count]
            if len(taken) != count:
                raise VerificationError(f"the proof ends inside {what}")
            position += count
            return taken

        if take(len(MAGIC), "its first bytes") != MAGIC:
            raise VerificationError("not a graphprover proof, or one of another format version")
        release = take(take(1, "the release")[0], "the release")
        if release != RELEASE.encode():
            raise VerificationError(f"a proof for another release of Plonky3; this program verifies {RELEASE}")
        try:
            label = take(take(1, "the label")[0], "the label").decode()
            parameters = Parameters.from_bytes(take(ENCODED_BYTES, "the parameters"))
        except ValueError as error:
            raise VerificationError(f"malformed header: {error}") from None
        (tables,) = struct.unpack("<H", take(2, "the number of tables"))
        if tables > MAX_TABLES:
            raise VerificationError(f"{tables} tables; at most {MAX_TABLES}")
        log_heights, public_values = [], []
        for _ in range(tables):
            log_height, count = struct.unpack("<BI", take(5, "a table header"))
            if count > MAX_PUBLIC_VALUES:
                raise VerificationError(f"{count} public values; at most {MAX_PUBLIC_VALUES} a table")
            values = struct.unpack(f"<{count}Q", take(8 * count, "the public values"))
            if any(value >= P for value in values):
                raise VerificationError("a public value is not below p")
            log_heights.append(log_height)
            public_values.append(values)
        (length,) = struct.unpack("<Q", take(8, "the length of the payload"))
        payload = take(length, "the payload")
        if position != len(data):
            raise VerificationError(f"{len(data) - position} bytes follow the proof")
        return cls(label, parameters, tuple(log_heights), tuple(public_values), payload)


def _short(data: bytes) -> bytes:
    """At most 255 bytes with their length before them; raises ValueError for more."""
    if len(data) > 255:
        raise ValueError(f"{len(data)} bytes; a label has at most 255")
    return bytes([len(data)]) + data
