"""The proof that a user holds: Plonky3's proof bytes, and a header to read them with."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from pickle import PickleBuffer
from typing import Any, ClassVar, SupportsIndex

from graphprover.field import P
from graphprover.protocol.errors import RuleError, VerificationError
from graphprover.protocol.parameters import ENCODED_BYTES, Parameters
from graphprover.protocol.proof import least_bytes
from graphprover.protocol.transcript import RELEASE
from graphprover.runtime.display.notebook import html, quoted
from graphprover.runtime.files import read_proof, write

MAGIC = b"graphprover proof\x02"
MOCK_MAGIC = b"graphprover MOCK\x01"  # the first bytes of a mock proof (mock.py), which no parser of proofs takes
MAX_TABLES = (1 << 16) - 1
MAX_LABEL_BYTES = 255


@dataclass(frozen=True)
class Proof:
    """A proof and its header; nothing in the header is trusted before verification.

    Raises ValueError for a header that has no encoding, so that every proof has exactly one.
    """

    label: str  # a name for people
    parameters: Parameters
    log_heights: tuple[int, ...]  # log2 of each table's rows
    public_values: tuple[tuple[int, ...], ...]  # of each table
    payload: bytes  # Plonky3's ``BatchProof`` in postcard encoding

    heads: ClassVar[int] = 0  # tables of each shard before the statement's own

    def __post_init__(self) -> None:
        check_label(self.label)
        if len(self.log_heights) != len(self.public_values) or len(self.log_heights) > MAX_TABLES:
            raise ValueError(f"{len(self.log_heights)} heights and public values of {len(self.public_values)} tables")
        if any(not 0 <= log_height < 256 for log_height in self.log_heights):
            raise ValueError("the log2 of a height is not in one byte")
        if any(not 0 <= value < P for values in self.public_values for value in values):
            raise RuleError("proof.value", "a public value is not below p")

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def __sizeof__(self) -> int:
        """Return the bytes that Dask counts."""
        return len(self.payload)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Pickle the payload as a buffer of protocol 5, which Dask sends without a copy."""
        if int(protocol) < 5:
            return super().__reduce_ex__(protocol)
        header = self.label, self.parameters, self.log_heights, self.public_values
        return _received, (*header, PickleBuffer(self.payload))

    def _repr_html_(self) -> str:
        def tables() -> Iterator[tuple[object, ...]]:
            yield "table", "rows", "public values"
            for number, (log_height, values) in enumerate(zip(self.log_heights, self.public_values, strict=True)):
                yield number, f"2^{log_height}", len(values)

        hash, rate = self.parameters.hash, f"1/{1 << self.parameters.log_blowup}"
        facts = {"Plonky3": RELEASE, "hash": hash, "rate": rate, "queries": self.parameters.num_queries}
        return html(self._title, facts, tables())

    @property
    def _title(self) -> str:
        tables = len(self.log_heights)
        return f"Proof of {quoted(self.label)}: {tables} table{'s' * (tables != 1)}, {self.size:,} bytes"

    @property
    def proofs(self) -> "tuple[Proof]":
        """The proof of each shard: this one, as `ShardedProof.proofs` of a proof of several shards."""
        return (self,)

    @property
    def joint(self) -> None:
        """The commitments of all shards: none, as `ShardedProof.joint` of a proof of several shards."""
        return None

    @property
    def header(self) -> "Proof":
        """A proof with this header: this one, as `CompressedProof.header` of a compressed proof."""
        return self

    def without_payload(self) -> "Proof":
        """Return the proof with an empty payload: its header."""
        return replace(self, payload=b"")

    def save(self, path: str | PathLike[str]) -> None:
        """Write the proof to a file, whole or not at all; raises `FileError`."""
        write(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Proof":
        """Load the proof in a file, without verification.

        Raises:
            FileError: if the file cannot be read.
            VerificationError: if it holds no proof.
        """
        try:
            return cls.from_bytes(read_proof(Path(path)))
        except VerificationError as error:
            raise error.refusal(f"{path}: {error}") from error

    def to_bytes(self) -> bytes:
        """Return the canonical encoding (docs/protocol.md)."""
        return self._head + self.payload

    @property
    def size(self) -> int:
        """The bytes of the canonical encoding."""
        return len(self._head) + len(self.payload)

    @property
    def _head(self) -> bytes:
        parts = [MAGIC, _short(RELEASE), _short(self.label), self.parameters.to_bytes()]
        parts.append(struct.pack("<H", len(self.log_heights)))
        for log_height, values in zip(self.log_heights, self.public_values, strict=True):
            parts.append(struct.pack(f"<BI{len(values)}Q", log_height, len(values), *values))
        return b"".join([*parts, struct.pack("<Q", len(self.payload))])

    @classmethod
    def from_bytes(cls, data: bytes) -> "Proof":
        """Parse the canonical encoding; raises VerificationError for any other bytes."""
        return cls._parsed(data, least_bytes)

    @classmethod
    def header_from_bytes(cls, data: bytes) -> "Proof":
        """Parse the encoding of a header, a proof whose payload is empty; raises VerificationError for other bytes."""
        proof = cls._parsed(data, lambda tables, opened, parameters: 0)
        if proof.payload:
            raise VerificationError("compressed.payload", f"the header has a payload of {len(proof.payload)} bytes")
        return proof

    @classmethod
    def _parsed(cls, data: bytes, least: Callable[[int, int, Parameters], int]) -> "Proof":
        """Parse a proof; ``least``: the bytes that follow a number of tables at least."""
        position = 0

        def take(count: int, what: str) -> bytes:
            nonlocal position
            taken = data[position : position + count]
            if len(taken) != count:
                raise VerificationError("proof.truncated", f"the proof ends inside {what}")
            position += count
            return taken

        if data.startswith(MOCK_MAGIC):
            raise VerificationError(
                "asked.mock", "a mock proof proves nothing: `graphprover verify --allow-mock` accepts it in tests"
            )
        if take(len(MAGIC), "its first bytes") != MAGIC:
            raise VerificationError("proof.magic", "not a graphprover proof, or one of another format version")
        release = take(take(1, "the release")[0], "the release")
        if release != RELEASE.encode():
            raise VerificationError(
                "proof.release", f"a proof for another release of Plonky3; this program verifies {RELEASE}"
            )
        try:
            label = take(take(1, "the label")[0], "the label").decode()
            parameters = Parameters.from_bytes(take(ENCODED_BYTES, "the parameters"))
            (tables,) = struct.unpack("<H", take(2, "the number of tables"))
            if len(data) - position < least(tables, 0, parameters):
                raise VerificationError(
                    "proof.short", f"the proof ends inside {tables:,} tables: their openings are longer than it is"
                )
            log_heights, public_values = [], []
            for _ in range(tables):
                log_height, count = struct.unpack("<BI", take(5, "a table header"))
                log_heights.append(log_height)
                public_values.append(struct.unpack(f"<{count}Q", take(8 * count, "the public values")))
            (length,) = struct.unpack("<Q", take(8, "the length of the payload"))
            payload = take(length, "the payload")
            if position != len(data):
                raise VerificationError("proof.trailing", f"{len(data) - position} bytes follow the proof")
            return cls(label, parameters, tuple(log_heights), tuple(public_values), payload)
        except RuleError as error:
            raise error.refusal(f"malformed header: {error}") from None
        except UnicodeDecodeError as error:
            raise VerificationError("proof.label", f"malformed header: {error}") from None


def _received(
    label: str,
    parameters: Parameters,
    log_heights: tuple[int, ...],
    public_values: tuple[tuple[int, ...], ...],
    payload: bytes | memoryview,
) -> Proof:
    return Proof(label, parameters, log_heights, public_values, bytes(payload))


def check_label(label: str) -> None:
    """Raise ValueError for a label that is no UTF-8 text of at most 255 bytes."""
    if len(label.encode()) > MAX_LABEL_BYTES:
        raise ValueError(f"the label has {len(label.encode())} bytes; at most {MAX_LABEL_BYTES} fit a proof")


def _short(text: str) -> bytes:
    """Return a text of at most 255 bytes after its length."""
    return bytes([len(text.encode())]) + text.encode()
