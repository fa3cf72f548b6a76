"""A sharded proof as a user holds it: one file, or a file for each shard, in any order."""

import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import ClassVar

from graphprover.proof.proof import Proof
from graphprover.protocol.digests import DIGEST_BYTES
from graphprover.protocol.errors import RuleError, VerificationError
from graphprover.protocol.joint import Joint, check_count, check_index
from graphprover.protocol.parameters import Parameters
from graphprover.runtime.display.notebook import html, quoted
from graphprover.runtime.files import COMPRESSED_MAGIC, SHARDS_MAGIC, read_proof, write

SHARD_MAGIC = b"graphprover piece\x02"


@dataclass(frozen=True)
class Shard:
    """One shard of a proof, with what it needs to be verified by itself; nothing in it is trusted before that.

    Raises ValueError for an index that is none of the shards.
    """

    joint: Joint  # what all shards have committed to
    index: int  # which shard it is, from 0
    proof: Proof  # of its tables, the head first

    def __post_init__(self) -> None:
        check_index(self.index, len(self.joint.digests))

    def __repr__(self) -> str:
        return f"<Shard {self.index} of {len(self.joint.digests)} of {self.proof.label!r}>"

    def save(self, path: str | PathLike[str]) -> None:
        """Write the shard to a file, whole or not at all; raises `FileError`."""
        write(Path(path), self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the canonical encoding (docs/protocol.md)."""
        digests = self.joint.digests
        head = struct.pack("<II", len(digests), self.index)
        return b"".join([SHARD_MAGIC, head, *digests, self.proof.to_bytes()])

    @classmethod
    def from_bytes(cls, data: bytes) -> "Shard":
        """Parse the canonical encoding; raises VerificationError for any other bytes."""
        if not data.startswith(SHARD_MAGIC):
            raise VerificationError(
                "shard.magic", "not a shard of a graphprover proof, or one of another format version"
            )
        count, position = _u32(data, len(SHARD_MAGIC), "the number of shards")
        index, position = _u32(data, position, "the shard's index")
        joint, position = _joint(data, position, count)
        proof = Proof.from_bytes(data[position:])
        try:
            return cls(joint, index, proof)
        except RuleError as error:
            raise error.refusal(f"malformed header: {error}") from None


@dataclass(frozen=True)
class ShardedProof:
    """All shards of a proof; nothing in it is trusted before verification.

    Raises ValueError where there are not as many shards as digests, or one has another label or other parameters than
    the first.
    """

    joint: Joint  # what all shards have committed to
    proofs: tuple[Proof, ...]  # of each shard's tables, its head first, in order of index

    heads: ClassVar[int] = 1  # tables of each shard before the statement's own

    def __post_init__(self) -> None:
        if len(self.proofs) != len(self.joint.digests):
            raise RuleError("shards.number", f"{len(self.proofs)} shards, but digests of {len(self.joint.digests)}")
        for index, proof in enumerate(self.proofs):
            if proof.parameters != self.parameters:
                raise RuleError("shards.parameters", f"shard {index} has other parameters than shard 0")
            if proof.label != self.label:
                raise RuleError("shards.label", f"shard {index} has the label {proof.label!r}, shard 0 {self.label!r}")

    def __repr__(self) -> str:
        return f"<{self._title}>"

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [("shard", "tables", "of up to rows", "bytes")]
        for index, proof in enumerate(self.proofs):
            tallest = f"2^{max(proof.log_heights, default=0)}"
            rows.append((index, len(proof.log_heights), tallest, f"{proof.size:,}"))
        return html(self._title, {}, rows)

    @property
    def _title(self) -> str:
        return f"Proof of {quoted(self.label)} in {len(self.proofs)} shards, {self.size:,} bytes"

    @property
    def label(self) -> str:
        """The name for people that all shards carry."""
        return self.proofs[0].label

    @property
    def parameters(self) -> Parameters:
        """The parameters of all shards."""
        return self.proofs[0].parameters

    @property
    def header(self) -> "ShardedProof":
        """A proof with this header: this one, as `CompressedProof.header` of a compressed proof."""
        return self

    @property
    def shards(self) -> tuple[Shard, ...]:
        """Each shard by itself."""
        return tuple(Shard(self.joint, index, proof) for index, proof in enumerate(self.proofs))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the proof to one file, whole or not at all; raises `FileError`."""
        write(Path(path), self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the canonical encoding (docs/protocol.md)."""
        parts = [self._head]
        for proof in self.proofs:
            parts += [struct.pack("<Q", proof.size), proof.to_bytes()]
        return b"".join(parts)

    @property
    def size(self) -> int:
        """The bytes of the canonical encoding."""
        return len(self._head) + sum(8 + proof.size for proof in self.proofs)

    @property
    def _head(self) -> bytes:
        return b"".join([SHARDS_MAGIC, struct.pack("<I", len(self.proofs)), *self.joint.digests])

    @classmethod
    def from_bytes(cls, data: bytes) -> "ShardedProof":
        """Parse the canonical encoding; raises VerificationError for any other bytes."""
        if not data.startswith(SHARDS_MAGIC):
            raise VerificationError("shards.magic", "not a graphprover sharded proof, or one of another format version")
        count, position = _u32(data, len(SHARDS_MAGIC), "the number of shards")
        joint, position = _joint(data, position, count)
        proofs = []
        for index in range(count):
            start = position + 8
            if start > len(data):
                raise VerificationError("shards.truncated", f"the proof ends before shard {index}")
            (length,) = struct.unpack_from("<Q", data, position)
            position = start + length
            if position > len(data):
                raise VerificationError("shards.truncated", f"the proof ends inside shard {index}")
            try:
                proofs.append(Proof.from_bytes(data[start:position]))
            except VerificationError as error:
                raise error.refusal(f"shard {index}: {error}") from None
        if position != len(data):
            raise VerificationError("shards.trailing", f"{len(data) - position} bytes follow the proof")
        try:
            return cls(joint, tuple(proofs))
        except RuleError as error:
            raise error.refusal() from None


def join(shards: Iterable[Shard]) -> ShardedProof:
    """Join the shards of a proof, given in any order.

    Raises:
        VerificationError: if a shard is missing, given twice, or of another proof; it names the shard.
    """
    shards = list(shards)
    if not shards:
        raise VerificationError("shards.missing", "no shard of a proof")
    # The proof that most shards are of: what is left is foreign.
    (joint, _), *_ = Counter(shard.joint for shard in shards).most_common(1)
    found: dict[int, Proof] = {}
    for shard in shards:
        if len(shard.joint.digests) != len(joint.digests):
            raise VerificationError(
                "shards.foreign", f"shard {shard.index} is of another proof, in {len(shard.joint.digests)} shards"
            )
        if shard.joint != joint:
            raise VerificationError(
                "shards.foreign", f"shard {shard.index} is of another proof: its lookup challenges are other ones"
            )
        if shard.index in found:
            raise VerificationError("shards.twice", f"shard {shard.index} is there twice")
        found[shard.index] = shard.proof
    missing = [index for index in range(len(joint.digests)) if index not in found]
    if missing:
        raise VerificationError("shards.missing", f"shard {missing[0]} of {len(joint.digests)} is missing")
    try:
        return ShardedProof(joint, tuple(found[index] for index in sorted(found)))
    except RuleError as error:
        raise error.refusal() from None


def proof_from_bytes(data: bytes) -> Proof | ShardedProof:
    """Parse a proof of one shard or several; raises VerificationError for any other bytes."""
    if data.startswith(SHARD_MAGIC):
        raise VerificationError("shards.missing", "one shard of a proof: the others are missing")
    if data.startswith(COMPRESSED_MAGIC):
        raise VerificationError("proof.magic", "a compressed proof, which can only be verified and inspected")
    return (ShardedProof if data.startswith(SHARDS_MAGIC) else Proof).from_bytes(data)


def load_proof(*paths: str | PathLike[str]) -> Proof | ShardedProof:
    """Load a proof of one shard or several, without verification.

    Args:
        paths: The file of the proof, or the file of each of its shards, in any order.

    Raises:
        FileError: if a file cannot be read.
        VerificationError: if the files hold no proof.
    """
    shards = []
    for path in paths:
        data = read_proof(Path(path))
        try:
            if len(paths) == 1 and not data.startswith(SHARD_MAGIC):
                return proof_from_bytes(data)
            shards.append(Shard.from_bytes(data))
        except VerificationError as error:
            raise error.refusal(f"{path}: {error}") from error
    return join(shards)


def _u32(data: bytes, position: int, what: str) -> tuple[int, int]:
    """Return the number at a position, and the position after it."""
    if position + 4 > len(data):
        raise VerificationError("shards.truncated", f"the proof ends inside {what}")
    return struct.unpack_from("<I", data, position)[0], position + 4


def _joint(data: bytes, position: int, count: int) -> tuple[Joint, int]:
    """Return the digests of this number of shards, and the position after them."""
    try:
        check_count(count)
    except RuleError as error:
        raise error.refusal(f"malformed header: {error}") from None
    end = position + DIGEST_BYTES * count
    if end > len(data):
        raise VerificationError("shards.truncated", "the proof ends inside the digests of its shards")
    return Joint(tuple(data[i : i + DIGEST_BYTES] for i in range(position, end, DIGEST_BYTES))), end
