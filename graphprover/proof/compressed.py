"""A compressed proof as a user holds it: the header of a proof, and a second proof that the first one is accepted."""

import struct
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof, proof_from_bytes
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import Parameters
from graphprover.reports.notebook import html, quoted
from graphprover.runtime.files import COMPRESSED_MAGIC, read_proof, write

_LENGTH = struct.Struct("<I")  # bytes of the header


@dataclass(frozen=True)
class CompressedProof:
    """A compressed proof; nothing in it is trusted before verification. `graphprover.compress` makes it.

    Raises ValueError for a base with a payload.
    """

    base: Proof  # the first proof without its payload
    layer: Proof  # the second proof: of the statement that a verifier accepts the first

    def __post_init__(self) -> None:
        if self.base.payload:
            raise ValueError("a compressed proof has the header of its base, without a payload")

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [("proof", "tables", "rate", "queries")]
        for name, proof in (("base", self.base), ("layer", self.layer)):
            own = proof.parameters
            rows.append((name, len(proof.log_heights), f"1/{1 << own.log_blowup}", own.num_queries))
        return html(self._title, {}, rows)

    @property
    def _title(self) -> str:
        return f"Compressed proof of {quoted(self.label)}, {self.size:,} bytes"

    @property
    def header(self) -> Proof:
        """The first proof without its payload."""
        return self.base

    @property
    def label(self) -> str:
        """The name for people that the first proof carries."""
        return self.base.label

    @property
    def parameters(self) -> Parameters:
        """The parameters of the first proof."""
        return self.base.parameters

    @property
    def size(self) -> int:
        """The bytes of the canonical encoding."""
        return len(COMPRESSED_MAGIC) + _LENGTH.size + self.base.size + self.layer.size

    def save(self, path: str | PathLike[str]) -> None:
        """Write the proof to a file, whole or not at all; raises `FileError`."""
        write(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "CompressedProof":
        """Load the proof in a file, without verification.

        Raises:
            FileError: if the file cannot be read.
            VerificationError: if it holds no compressed proof.
        """
        try:
            return cls.from_bytes(read_proof(Path(path)))
        except VerificationError as error:
            raise error.refusal(f"{path}: {error}") from error

    def to_bytes(self) -> bytes:
        """Return the canonical encoding (docs/protocol.md)."""
        return b"".join([COMPRESSED_MAGIC, _LENGTH.pack(self.base.size), self.base.to_bytes(), self.layer.to_bytes()])

    @classmethod
    def from_bytes(cls, data: bytes) -> "CompressedProof":
        """Parse the canonical encoding; raises VerificationError for any other bytes."""
        if not data.startswith(COMPRESSED_MAGIC):
            raise VerificationError(
                "compressed.magic", "not a graphprover compressed proof, or one of another format version"
            )
        start = len(COMPRESSED_MAGIC) + _LENGTH.size
        if start > len(data):
            raise VerificationError("compressed.truncated", "the proof ends inside the length of its header")
        (length,) = _LENGTH.unpack_from(data, len(COMPRESSED_MAGIC))
        end = start + length
        if end > len(data):
            raise VerificationError("compressed.truncated", "the proof ends inside its header")
        base = Proof.header_from_bytes(data[start:end])
        try:
            return cls(base, Proof.from_bytes(data[end:]))
        except VerificationError as error:
            raise error.refusal(f"layer: {error}") from None


AnyProof = Proof | ShardedProof | CompressedProof


def any_proof_from_bytes(data: bytes) -> AnyProof:
    """Parse a proof of any kind; raises VerificationError for other bytes."""
    return CompressedProof.from_bytes(data) if data.startswith(COMPRESSED_MAGIC) else proof_from_bytes(data)
