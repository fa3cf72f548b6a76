"""A compressed proof as a user holds it: a layer, a proof that others are accepted, and the headers of all of them."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path

from graphprover.field import Ext, P
from graphprover.proof.mock import MockProof
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof, proof_from_bytes
from graphprover.protocol.errors import RuleError, VerificationError
from graphprover.protocol.joint import Joint, check_count, check_index
from graphprover.protocol.parameters import Parameters
from graphprover.runtime.arguments import expect
from graphprover.runtime.display.notebook import html, quoted
from graphprover.runtime.files import COMPRESSED_MAGIC, read_proof, write

MOST_LAYERS = 16  # one about another
MOST_CHILDREN = 25  # proofs that a layer is about
MAX_MEMBERS = 1 << 12  # of a proof, unless its verifier asks for more: three seconds of verification at usual headers
# Public values and tables of all headers, where headers with equal numbers of values count once: they have the same
# descriptions. An output of 2^20 bytes has 2^18 values; its table takes 2.5 s and 0.5 GB to describe.
MAX_VALUES = 1 << 19
_COUNT = struct.Struct("<B")  # proofs that a layer is about
_SHARD = 255  # in the place of that number, for a shard
_SHARD_TERMS = struct.Struct("<II32sQ3Q")
_LENGTH = struct.Struct("<I")  # bytes of a header


def check_layers(count: int) -> None:
    """Raise ValueError for more layers than a compressed proof can have."""
    if count > MOST_LAYERS:
        raise ValueError(f"a compressed proof has at most {MOST_LAYERS} layers, not {count}")


def check_children(count: int) -> None:
    """Raise ValueError for a number of proofs that no layer can be about."""
    if not 1 <= count <= MOST_CHILDREN:
        raise ValueError(f"a layer is about 1 to {MOST_CHILDREN} proofs, not {count}")


def check_members(bases: int, layers: int, most: int) -> None:
    """Raise VerificationError for more bases, or more layers before the last one, than a verifier takes.

    A few layers may be about one base: there may be as many layers as bases, or one less than `MOST_LAYERS`.
    """
    for count, limit, what in (
        (bases, most, "proofs and shards"),
        (layers, max(most, MOST_LAYERS - 1), "layers before the last"),
    ):
        if count > limit:
            raise VerificationError(
                "asked.members",
                f"the proof has more than {limit:,} {what}, which is the limit of this verifier: --max-members N or "
                "max_members=N accepts more",
            )


@dataclass(frozen=True)
class AcceptedShard:
    """The values of a shard that a verifier of all shards of its proof needs.

    Raises ValueError for a number of shards or an index that no sharded proof has, and for a sum that is no element.
    """

    count: int  # shards of the proof
    index: int  # of the shard, from 0
    digest: bytes  # of its transcript: `graphprover.protocol.joint.digest_of`
    lookup_nonce: int  # of the proof of work before the lookup challenges of all shards
    total: Ext  # the sum of its lookup terminals

    def __post_init__(self) -> None:
        check_count(self.count)
        check_index(self.index, self.count)
        if not all(0 <= coefficient < P for coefficient in self.total):
            raise RuleError("compressed.shards", "a sum of terminals is not below p")


@dataclass(frozen=True)
class Accepted:
    """The header of a proof that a layer is about, and of a layer the proofs that it is about in turn.

    A base is a proof in one shard, or one shard of a proof.
    """

    header: Proof  # a proof without its payload
    children: "tuple[Accepted, ...]" = ()  # none of a base
    shard: AcceptedShard | None = None  # of a shard

    @property
    def bases(self) -> "Iterator[Accepted]":
        """All bases, in their order."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.bases

    @property
    def layers(self) -> int:
        """The number of layers, one about another, up to this proof."""
        return 1 + max(child.layers for child in self.children) if self.children else 0


@dataclass(frozen=True)
class ShardHeaders(ShardedProof):
    """The headers of all shards of a proof whose payloads are in other processes."""

    accepted: tuple[AcceptedShard, ...]  # the values of each shard
    sizes: tuple[int, ...]  # the bytes of each shard with its payload

    @property
    def size(self) -> int:
        """The bytes of the canonical encoding with all payloads."""
        return super().size + sum(self.sizes) - sum(header.size for header in self.proofs)


@dataclass(frozen=True)
class CompressedProof:
    """A compressed proof; nothing in it is trusted before verification.

    `graphprover.compress` makes it of one proof, `graphprover.aggregate` of several, its *members*.

    Raises ValueError for too many layers or children, for a payload of another proof than the last layer, and for
    shards that are not all shards of a proof in their order.
    """

    children: tuple[Accepted, ...]  # the proofs that the last layer is about
    layer: Proof  # the last layer

    def __post_init__(self) -> None:
        check_layers(self.depth)
        for of in (self.children, *(own.children for own in _all(self.children) if own.children)):
            check_children(len(of))
        if any(own.header.payload for own in _all(self.children)):
            raise ValueError("a compressed proof has the payload of its last layer, without another payload")
        _ = self.members  # of which each is whole

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
    def bases(self) -> tuple[Accepted, ...]:
        """All bases, in their order."""
        return tuple(base for child in self.children for base in child.bases)

    @cached_property
    def members(self) -> tuple[Proof | ShardedProof, ...]:
        """The headers of all members, in their order."""
        return tuple(_members(self.bases))

    @property
    def accepted(self) -> "tuple[Accepted, ...]":
        """All proofs before the last layer, each after the ones that it is about."""
        return tuple(_all(self.children))

    @property
    def depth(self) -> int:
        """The number of layers, one about another."""
        return 1 + max((child.layers for child in self.children), default=0)

    @property
    def header(self) -> Proof | ShardedProof:
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
        shards = _SHARD_TERMS.size * sum(own.shard is not None for own in self.accepted)
        headers = shards + sum(_COUNT.size + _LENGTH.size + own.header.size for own in self.accepted)
        return len(COMPRESSED_MAGIC) + _COUNT.size + headers + self.layer.size

    def save(self, path: str | PathLike[str]) -> None:
        """Write the proof to a file, whole or not at all; raises `FileError`."""
        write(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | PathLike[str], *, max_members: int = MAX_MEMBERS) -> "CompressedProof":
        """Load the proof in a file, without verification; ``max_members``: as in `verify_aggregate`.

        Raises:
            FileError: if the file cannot be read.
            VerificationError: if it holds no compressed proof, or one of too many members.
        """
        try:
            return cls.from_bytes(read_proof(Path(path)), max_members=max_members)
        except VerificationError as error:
            raise error.refusal(f"{path}: {error}") from error

    def to_bytes(self) -> bytes:
        """Return the canonical encoding (docs/protocol.md)."""
        return b"".join([COMPRESSED_MAGIC, *_encoded(self.children), self.layer.to_bytes()])

    @classmethod
    def from_bytes(cls, data: bytes, *, max_members: int = MAX_MEMBERS) -> "CompressedProof":
        """Parse the canonical encoding; raises VerificationError for any other bytes.

        ``max_members``: as in `verify_aggregate`. Parsing stops at the first header that is too many.
        """
        if not data.startswith(COMPRESSED_MAGIC):
            raise VerificationError(
                "compressed.magic", "not a graphprover compressed proof, or one of another format version"
            )
        reader = _Reader(data, len(COMPRESSED_MAGIC), max_members)
        children = reader.children(MOST_LAYERS)
        try:
            layer = Proof.from_bytes(data[reader.position :])
        except VerificationError as error:
            raise error.refusal(f"layer: {error}") from None
        try:
            return cls(children, layer)
        except RuleError as error:
            raise error.refusal() from None


def _members(bases: Sequence[Accepted]) -> Iterator[Proof | ShardedProof]:
    """Yield the headers of the members of some bases; raises ValueError as `_member`."""
    groups: list[list[Accepted]] = []
    for base in bases:
        if not groups or base.shard is None or not base.shard.index:
            groups.append([])
        groups[-1].append(base)
    yield from map(_member, groups)


def _member(bases: Sequence[Accepted]) -> Proof | ShardedProof:
    """Return the header of the member of some bases.

    Raises:
        ValueError: They are not one proof, or not all shards of a proof in their order.
    """
    shards = [base.shard for base in bases if base.shard is not None]
    if not shards:
        (alone,) = bases
        return alone.header
    count = shards[0].count
    if not len(shards) == len(bases) == count or [shard.index for shard in shards] != [*range(count)]:
        raise RuleError("compressed.shards", "the shards of a proof are not all there, in their order")
    if len({(shard.count, shard.lookup_nonce) for shard in shards}) > 1:
        raise RuleError(
            "compressed.shards", "the shards of a proof have different nonces, or different numbers of shards"
        )
    return ShardedProof(Joint(tuple(shard.digest for shard in shards)), tuple(base.header for base in bases))


def name_of(own: Accepted, proof: CompressedProof) -> str:
    """Return the name for people of a proof before the last layer of another one; nothing for the only base."""
    return next(name for of, name in zip(proof.accepted, names_of(proof), strict=True) if of is own)


def names_of(proof: CompressedProof) -> list[str]:
    """Return the names for people of all proofs before the last layer, in the order of `CompressedProof.accepted`."""
    bases, found = _names_of_bases(proof), list[str]()
    end, counts = 0, dict[int, int]()  # bases before the position, and below each proof
    for own in proof.accepted:
        counts[id(own)] = sum(counts[id(child)] for child in own.children) if own.children else 1
        end += not own.children
        first, last = bases[end - counts[id(own)]], bases[end - 1]
        if len(bases) == 1:
            found.append(f"layer {own.layers}" if own.children else "")
        elif not own.children:
            found.append(first)
        else:
            found.append(f"layer about {first}" if first == last else f"layer about {first} to {last}")
    return found


def _names_of_bases(proof: CompressedProof) -> list[str]:
    """Return the names for people of all bases."""
    names = []
    for number, member in enumerate(proof.members, 1):
        of_member = [f"member {number}"] if len(proof.members) > 1 else []
        of_shards = [[f"shard {index}"] if member.joint else [] for index in range(len(member.proofs))]
        names += [", ".join(of_member + of_shard) for of_shard in of_shards]
    return names


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
        if child.shard is None:
            yield from _encoded(child.children)
        else:
            own = child.shard
            values = own.count, own.index, own.digest, own.lookup_nonce, *own.total
            yield _COUNT.pack(_SHARD) + _SHARD_TERMS.pack(*values)


@dataclass
class _Reader:
    """A position in an encoded proof."""

    data: bytes
    position: int
    max_members: int
    bases: int = 0  # before the position
    layers: int = 0
    values: int = 0  # public values and tables of all headers, of equal ones once
    shapes: set[tuple[int, ...]] = field(default_factory=set)  # numbers of public values, by table

    def children(self, layers: int) -> tuple[Accepted, ...]:
        """Parse the children of a layer, which has at least one; ``layers``: how many may still be about another."""
        (count,) = _COUNT.unpack(self._take(_COUNT.size))
        return self._children(count, layers)

    def _children(self, count: int, layers: int) -> tuple[Accepted, ...]:
        if not 0 < count <= MOST_CHILDREN:
            raise VerificationError("compressed.layers", f"a layer is about {count} proofs, of 1 to {MOST_CHILDREN}")
        if not layers:
            raise VerificationError("compressed.layers", f"more than {MOST_LAYERS} layers, one about another")
        return tuple(self._accepted(layers - 1) for _ in range(count))

    def _accepted(self, layers: int) -> Accepted:
        header = Proof.header_from_bytes(self._take(*_LENGTH.unpack(self._take(_LENGTH.size))))
        (count,) = _COUNT.unpack(self._take(_COUNT.size))
        is_base = count in (0, _SHARD)
        self.bases, self.layers = self.bases + is_base, self.layers + (not is_base)
        check_members(self.bases, self.layers, self.max_members)
        self._count_values(tuple(map(len, header.public_values)))
        if count == _SHARD:
            shards, index, digest, nonce, *total = _SHARD_TERMS.unpack(self._take(_SHARD_TERMS.size))
            try:
                return Accepted(header, (), AcceptedShard(shards, index, digest, nonce, (total[0], total[1], total[2])))
            except RuleError as error:
                raise error.refusal() from None
        return Accepted(header, self._children(count, layers) if count else ())

    def _count_values(self, shape: tuple[int, ...]) -> None:
        """Refuse headers whose tables, which their public values describe, would take too much time and memory."""
        if shape in self.shapes:
            return
        self.shapes.add(shape)
        self.values += len(shape) + sum(shape)
        if self.values > MAX_VALUES:
            raise VerificationError(
                "asked.members", f"headers of different shapes have more than {MAX_VALUES:,} public values and tables"
            )

    def _take(self, count: int) -> bytes:
        if self.position + count > len(self.data):
            raise VerificationError("compressed.truncated", "the proof ends inside its headers")
        self.position += count
        return self.data[self.position - count : self.position]


AnyProof = Proof | ShardedProof | CompressedProof


def any_proof_from_bytes(data: bytes, max_members: int = MAX_MEMBERS) -> AnyProof:
    """Parse a proof of any kind; raises VerificationError for other bytes.

    ``max_members``: as in `verify_aggregate`.
    """
    if data.startswith(COMPRESSED_MAGIC):
        return CompressedProof.from_bytes(data, max_members=max_members)
    return proof_from_bytes(data)


def expect_proof(proof: object) -> None:
    """Raise TypeError if an argument is neither a proof nor its bytes."""
    if isinstance(proof, str | PathLike):
        raise TypeError(f"{proof!r} is a file, not a proof: load_proof({str(proof)!r}) reads it")
    kinds = (Proof, ShardedProof, CompressedProof, MockProof, bytes)
    expect(proof, kinds, "the proof", "give a proof, as prove returns it, or its bytes")
