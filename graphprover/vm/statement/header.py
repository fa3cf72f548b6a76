"""The tables that a proof's header names, read before any of them is described."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof
from graphprover.protocol.errors import VerificationError, shard_error
from graphprover.vm.statement.shape import MIN_ROWS


@dataclass(frozen=True)
class Header:
    """The tables of each shard, of which there may be one, without the shards' heads."""

    numbers: Sequence[Sequence[int]]  # of each shard's tables, without the boundary
    heights: Sequence[Sequence[int]]  # rows, in the first shard with the boundary first
    first: Sequence[Sequence[int]]  # public values of the first shard's tables, the boundary's first


def header_of(proof: Proof | ShardedProof) -> Header:
    """Return the header of a proof; raises VerificationError if its first tables do not name the others."""
    values = [list(shard.public_values) for shard in proof.proofs]
    heights = [[1 << log_rows for log_rows in shard.log_heights] for shard in proof.proofs]
    heads = [shard.pop(0) if shard else () for shard in values] if proof.heads else []
    boundary = values[0][0] if values[0] else ()
    numbers = [boundary[3:], *heads[1:]]
    if not numbers[0] or len(numbers[0]) + 1 != len(values[0]):
        raise VerificationError(
            "guest.boundary", "not a proof about an execution: the first table does not name the others"
        )
    for index, head in enumerate(heads):
        own = numbers[index] if index else (0, *numbers[0])
        if not head or head != own or len(head) != len(values[index]):
            reason = "not of an execution: its head does not name its other tables"
            raise shard_error(index, VerificationError("guest.head", reason))
        if heights[index].pop(0) != MIN_ROWS:
            raise shard_error(index, VerificationError("guest.head_rows", f"its head has not {MIN_ROWS} rows"))
    return Header(numbers, heights, values[0])
