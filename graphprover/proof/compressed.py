"""A compressed proof as a user holds it: the header of a proof, and layers: proofs that the one before is accepted."""

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

MOST_LAYERS = 16
_COUNT = struct.Struct("<B")  # headers
_LENGTH = struct.Struct("<I")  # bytes of a header


def check_layers(count: int) -> None:
    """Raise ValueError for more layers than a compressed proof can have."""
    if count > MOST_LAYERS:
        raise ValueError(f"a compressed proof has at most {MOST_LAYERS} layers, not {count}")


@dataclass(frozen=True)
class CompressedProof:
    """A compressed proof; nothing in it is trusted before verification. `graphprover.compress` makes it.

    Raises ValueError without layers or with too many, and for a payload of another proof than the last one.
    """

    base: Proof  # the first proof without its payload
    # The other proofs, all without payloads but the last: each of the statement that a verifier accepts the one before.
    layers: tuple[Proof, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.layers) <= MOST_LAYERS:
            raise ValueError(f"a compressed proof has 1 to {MOST_LAYERS} layers, not {len(self.layers)}")
        if any(proof.payload for proof in self.headers):
            raise ValueError("a compressed proof has the payload of its last layer, without another payload")

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [("proof", "tables", "rate", "queries")]
        names = ["base", *(f"layer {i + 1}" for i in range(len(self.layers)))]
        for name, proof in zip(names, (self.base, *self.layers), strict=True):
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
    def headers(self) -> tuple[Proof, ...]:
        """The proofs without payloads."""
        return self.base, *self.layers[:-1]

    @property
    def layer(self) -> Proof:
        """The last layer."""
        return self.layers[-1]

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
        headers = sum(_LENGTH.size + proof.size for proof in self.headers)
        return len(COMPRESSED_MAGIC) + _COUNT.size + headers + self.layer.size

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
        parts = [COMPRESSED_MAGIC, _COUNT.pack(len(self.headers))]
        for proof in self.headers:
            parts += [_LENGTH.pack(proof.size), proof.to_bytes()]
        return b"".join([*parts, self.layer.to_bytes()])

    @classmethod
    def from_bytes(cls, data: bytes) -> "CompressedProof":
        """Parse the canonical encoding; raises VerificationError for any other bytes."""
        if not data.startswith(COMPRESSED_MAGIC):
            raise VerificationError(
                "compressed.magic", "not a graphprover compressed proof, or one of another format version"
            )
        position = len(COMPRESSED_MAGIC)

        def take(count: int) -> bytes:
            nonlocal position
            if position + count > len(data):
                raise VerificationError("compressed.truncated", "the proof ends inside its headers")
            position += count
            return data[position - count : position]

        (count,) = _COUNT.unpack(take(_COUNT.size))
        if not 1 <= count <= MOST_LAYERS:
            raise VerificationError("compressed.layers", f"{count} layers, of 1 to {MOST_LAYERS}")
        base, *layers = (Proof.header_from_bytes(take(*_LENGTH.unpack(take(_LENGTH.size)))) for _ in range(count))
        try:
            return cls(base, (*layers, Proof.from_bytes(data[position:])))
        except VerificationError as error:
            raise error.refusal(f"layer: {error}") from None


AnyProof = Proof | ShardedProof | CompressedProof


def any_proof_from_bytes(data: bytes) -> AnyProof:
    """Parse a proof of any kind; raises VerificationError for other bytes."""
    return CompressedProof.from_bytes(data) if data.startswith(COMPRESSED_MAGIC) else proof_from_bytes(data)
