"""A mock proof: the header of a proof that was not made, for tests of applications. It proves nothing."""

import hashlib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from graphprover.proof.proof import MOCK_MAGIC, Proof
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import Parameters
from graphprover.runtime.display.notebook import html, quoted
from graphprover.runtime.files import read_proof, write

MOCK = "MOCK: it proves nothing"
_CHECKSUM_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True)
class MockProof:
    """The claim of a run whose traces satisfy all constraints, in the place of its proof. It proves nothing.

    ``Prover(..., mock=True).prove`` makes it, and a verifier takes it only with ``allow_mock=True``. The writer of
    such a file chooses its claim freely; the checksum only finds damaged files.
    """

    header: Proof  # the proof without its payload

    def __post_init__(self) -> None:
        if self.header.payload:
            raise ValueError("a mock proof has no payload")

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        return html(self._title, {})

    @property
    def _title(self) -> str:
        return f"Mock proof of {quoted(self.label)}, {MOCK}"

    @property
    def label(self) -> str:
        """The name for people."""
        return self.header.label

    @property
    def parameters(self) -> Parameters:
        """The parameters that the proof would have."""
        return self.header.parameters

    @property
    def size(self) -> int:
        """The bytes of the encoding."""
        return len(MOCK_MAGIC) + self.header.size + _CHECKSUM_BYTES

    def save(self, path: str | PathLike[str]) -> None:
        """Write the mock to a file, whole or not at all; raises `FileError`."""
        write(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "MockProof":
        """Load the mock in a file.

        Raises:
            FileError: if the file cannot be read.
            VerificationError: if it holds no mock, or a damaged one.
        """
        try:
            return cls.from_bytes(read_proof(Path(path)))
        except VerificationError as error:
            raise error.refusal(f"{path}: {error}") from error

    def to_bytes(self) -> bytes:
        """Return the encoding: the first bytes of mocks, the header, and the SHA-256 of both."""
        encoded = MOCK_MAGIC + self.header.to_bytes()
        return encoded + hashlib.sha256(encoded).digest()

    @classmethod
    def from_bytes(cls, data: bytes) -> "MockProof":
        """Parse the encoding; raises VerificationError for any other bytes."""
        if not is_mock(data):
            raise VerificationError("asked.mock", "not a mock proof, or one of another format version")
        encoded, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
        if hashlib.sha256(encoded).digest() != checksum:
            raise VerificationError("asked.mock", "a mock proof whose checksum is wrong: the file is damaged")
        return cls(Proof.header_from_bytes(encoded.removeprefix(MOCK_MAGIC)))


def is_mock(data: bytes) -> bool:
    """Return whether a file with these bytes is a mock proof."""
    return data.startswith(MOCK_MAGIC)
