"""The heads of all proofs that a layer is about, and their list, whose digest is the layer's public value."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphprover.field import P
from graphprover.proof.compressed import check_children
from graphprover.protocol.blake3 import CHUNK_WORDS, digest
from graphprover.protocol.layout import Layout
from graphprover.protocol.proof import Cap
from graphprover.recursion.head.head import ProofHead, Start, head_of
from graphprover.recursion.head.messages import ShardTerms
from graphprover.recursion.head.words import LISTED_WORDS, ListedWord, ListWord


@dataclass(frozen=True, eq=False)
class Child:
    """A proof that a layer is about, without the proof itself: everything that its head depends on."""

    layout: Layout  # shape of the proof
    public_values: Sequence[Sequence[int]]  # of each table
    preprocessed: Cap | None  # commitment to the preprocessed columns, or None without any
    binding: bytes  # initial state of the challenger
    shard: ShardTerms | None = None  # of a shard


@dataclass(frozen=True, eq=False)
class Heads:
    """The heads of a layer's proofs, in their order."""

    heads: tuple[ProofHead, ...]

    @cached_property
    def words(self) -> np.ndarray:
        """The words of the list, uint64, a chunk."""
        words = np.zeros(CHUNK_WORDS, dtype=np.uint64)
        words[ListWord.CHILDREN] = len(self.heads)
        records = words[len(ListWord) :][: LISTED_WORDS * len(self.heads)].reshape(-1, LISTED_WORDS)
        for record, head in zip(records, self.heads, strict=True):
            record[ListedWord.AT] = head.start.at
            record[ListedWord.DIGEST :] = np.frombuffer(head.digest, dtype="<u8") % np.uint64(P)
        return words

    @cached_property
    def digest(self) -> bytes:
        """The digest of the list, by which a statement names all heads."""
        return digest(self.words.tobytes())


def heads_of(children: Sequence[Child]) -> Heads:
    """Return the heads of proofs.

    Raises:
        ValueError: The program cannot verify proofs of these layouts, or a layer has other numbers of children.
    """
    check_children(len(children))
    heads, start = [], Start()
    for child in children:
        own = child.layout, child.public_values, child.preprocessed, child.binding
        heads.append(head_of(*own, start, child.shard))
        start = heads[-1].next_start
    return Heads(tuple(heads))
