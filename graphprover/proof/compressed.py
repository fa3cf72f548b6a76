"""A compressed proof as a user holds it: a layer, a proof that others are accepted, and the headers of all of them."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof, proof_from_bytes
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.parameters import Parameters
from graphprover.reports.notebook import html, quoted
from graphprover.runtime.files import COMPRESSED_MAGIC, read_proof, write

MOST_LAYERS = 16  # one about another
MOST_CHILDREN = 25  # proofs that a layer is about
_COUNT = struct.Struct("<B")  # proofs that a layer is about
_LENGTH = struct.Struct("<I")  # bytes of a header


def check_layers(count: int) -> None:
    """Raise ValueError for more layers than a compressed proof can have."""
    if count > MOST_LAYERS:
        raise ValueError(f"a compressed proof has at most {MOST_LAYERS} layers, not {count}")


def check_children(count: int) -> None:
    """Raise ValueError for a number of proofs that no layer can be about."""
    if not 1 <= count <= MOST_CHILDREN:
        raise ValueError(f"a layer is about 1 to {MOST_CHILDREN} proofs, not {count}")


@dataclass(frozen=True)
class Accepted:
    """The header of a proof that a layer is about, and of a layer the proofs that it is about in turn."""

    header: Proof  # a proof without its payload
    children: "tuple[Accepted, ...]" = ()  # none of a base

    @property
    def members(self) -> Iterator[Proof]:
        """The headers of all bases, in their order."""
        if not self.children:
            yield self.header
        for child in self.children:
            yield from child.members

    @property
    def layers(self) -> int:
        """The number of layers, one about another, up to this proof."""
        return 1 + max(child.layers for child in self.children) if self.children else 0


@dataclass(frozen=True)
class CompressedProof:
    """A compressed proof; nothing in it is trusted before verification.

    `graphprover.compress` makes it of one proof, `graphprover.aggregate` of several, its *members*.

    Raises ValueError for too many layers or children, and for a payload of another proof than the last layer.
    """

    children: tuple[Accepted, ...]  # the proofs that the last layer is about
    layer: Proof  # the last layer

    def __post_init__(self) -> None:
        check_layers(self.depth)
        for of in (self.children, *(own.children for own in _all(self.children) if own.children)):
            check_children(len(of))
        if any(own.header.payload for own in _all(self.children)):
            raise ValueError("a compressed proof has the payload of its last layer, without another payload")

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [("proof", "tables", "rate", "queries")]
        for name, proof in [*((name_of(own, self), own.header) for own in self.accepted), ("last layer", self.layer)]:
            own = proof.parameters
            rows.append((name or "base", len(proof.log_heights), f"1/{1 << own.log_blowup}", own.num_queries))
        return html(self._title, {}, rows)

    @property
    def _title(self) -> str:
        others = f" and {len(self.members) - 1} others" if len(self.members) > 1 else ""
        return f"Compressed proof of {quoted(self.label)}{others}, {self.size:,} bytes"

    @property
    def members(self) -> tuple[Proof, ...]:
        """The headers of all bases, in their order."""
        return tuple(header for child in self.children for header in child.members)

    @property
    def accepted(self) -> "tuple[Accepted, ...]":
        """All proofs before the last layer, each after the ones that it is about."""
        return tuple(_all(self.children))

    @property
    def depth(self) -> int:
        """The number of layers, one about another."""
        return 1 + max((child.layers for child in self.children), default=0)

    @property
    def header(self) -> Proof:
        """The header of the first member."""
        return self.members[0]

    @property
    def layers(self) -> tuple[Proof, ...]:
        """All layers, each after the ones that it is about; without payloads but the last one."""
        return *(own.header for own in self.accepted if own.children), self.layer

    @property
    def label(self) -> str:
        """The name for people that the first member carries."""
        return self.header.label

    @property
    def parameters(self) -> Parameters:
        """The parameters of the first member."""
        return self.header.parameters

    @property
    def size(self) -> int:
        """The bytes of the canonical encoding."""
        headers = sum(_COUNT.size + _LENGTH.size + own.header.size for own in self.accepted)
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
        return b"".join([COMPRESSED_MAGIC, *_encoded(self.children), self.layer.to_bytes()])

    @classmethod
    def from_bytes(cls, data: bytes) -> "CompressedProof":
        """Parse the canonical encoding; raises VerificationError for any other bytes."""
        if not data.startswith(COMPRESSED_MAGIC):
            raise VerificationError(
                "compressed.magic", "not a graphprover compressed proof, or one of another format version"
            )
        reader = _Reader(data, len(COMPRESSED_MAGIC))
        children = reader.children(MOST_LAYERS)
        try:
            return cls(children, Proof.from_bytes(data[reader.position :]))
        except VerificationError as error:
            raise error.refusal(f"layer: {error}") from None


def name_of(own: Accepted, proof: CompressedProof) -> str:
    """Return the name for people of a proof before the last layer of another one; nothing for the only base."""
    members = proof.members
    if len(members) == 1:
        return f"layer {own.layers}" if own.children else ""
    of = [*own.members]
    first = 1 + next(number for number, header in enumerate(members) if header is of[0])
    last = first + len(of) - 1
    if not own.children:
        return f"member {first}"
    return f"layer about member {first}" if first == last else f"layer about members {first} to {last}"


def _all(children: Sequence[Accepted]) -> Iterator[Accepted]:
    """Yield all proofs of a tree, each after the ones that it is about."""
    for child in children:
        yield from _all(child.children)
        yield child


def _encoded(children: Sequence[Accepted]) -> Iterator[bytes]:
    """Yield the parts of the encoding of a layer's children."""
    yield _COUNT.pack(len(children))
    for child in children:
        yield from (_LENGTH.pack(child.header.size), child.header.to_bytes())
        yield from _encoded(child.children)


@dataclass
class _Reader:
    """A position in an encoded proof."""

    data: bytes
    position: int

    def children(self, layers: int) -> tuple[Accepted, ...]:
        """Parse the children of a layer, which has at least one; ``layers``: how many may still be about another."""
        found = self._accepted(layers)
        if not found:
            raise VerificationError("compressed.layers", "a layer is about no proof")
        return found

    def _accepted(self, layers: int) -> tuple[Accepted, ...]:
        (count,) = _COUNT.unpack(self._take(_COUNT.size))
        if count > MOST_CHILDREN:
            raise VerificationError("compressed.layers", f"a layer is about {count} proofs, of 1 to {MOST_CHILDREN}")
        if count and not layers:
            raise VerificationError("compressed.layers", f"more than {MOST_LAYERS} layers, one about another")
        found = []
        for _ in range(count):
            header = Proof.header_from_bytes(self._take(*_LENGTH.unpack(self._take(_LENGTH.size))))
            found.append(Accepted(header, self._accepted(layers - 1)))
        return tuple(found)

    def _take(self, count: int) -> bytes:
        if self.position + count > len(self.data):
            raise VerificationError("compressed.truncated", "the proof ends inside its headers")
        self.position += count
        return self.data[self.position - count : self.position]


AnyProof = Proof | ShardedProof | CompressedProof


def any_proof_from_bytes(data: bytes) -> AnyProof:
    """Parse a proof of any kind; raises VerificationError for other bytes."""
    return CompressedProof.from_bytes(data) if data.startswith(COMPRESSED_MAGIC) else proof_from_bytes(data)
