"""Mixed-height Merkle trees: which digests a pruned multiproof holds, and the check of one.

The tree of Plonky3's ``MerkleTreeMmcs`` with Keccak-256 and arity 2. A leaf hashes one row of every tallest matrix; a
matrix of 2^k rows joins at the layer of 2^k nodes, as node = H(H(left ‖ right) ‖ H(row)). The commitment is the cap:
the layer of 2^c digests.
"""

from collections.abc import Sequence
from functools import lru_cache

from graphprover.protocol.errors import VerificationError
from graphprover.protocol.hashing import DIGEST_BYTES, keccak256

Row = bytes  # the canonical words of one matrix's row, 8 little-endian bytes each


def proof_nodes(indices: Sequence[int], levels: int) -> list[list[int]]:
    """The nodes whose digests a multiproof of these leaves holds, for each level from the leaves up, ascending.

    A node is sent when its sibling is on the path of some queried leaf and it is not itself (p3-merkle-tree
    ``pruning.rs``). ``levels`` is the number of layers below the cap.
    """
    return _proof_nodes(tuple(indices), levels)


@lru_cache(maxsize=64)  # trees of one height are opened at the same leaves
def _proof_nodes(indices: tuple[int, ...], levels: int) -> list[list[int]]:
    sent = []
    nodes = sorted(set(indices))
    for _ in range(levels):
        known = set(nodes)
        sent.append([node ^ 1 for node in nodes if node ^ 1 not in known])
        nodes = sorted({node >> 1 for node in nodes})
    return sent


def verify_rows(
    cap: Sequence[bytes],
    log_rows: Sequence[int],
    indices: Sequence[int],
    rows: Sequence[Sequence[Row]],
    proof: bytes,
    what: str,
) -> None:
    """Check that ``rows[query][matrix]`` are the committed rows at ``indices[query]`` of the tallest matrix.

    ``log_rows`` is log2 of each matrix's rows; a shorter matrix is read at the index shifted down. ``proof`` holds
    the digests of `proof_nodes`, one after the other. The caller has checked every width. Raises VerificationError,
    naming ``what``.
    """
    tallest = max(log_rows)
    levels = tallest - (len(cap).bit_length() - 1)
    opened: dict[int, Sequence[Row]] = {}
    for index, opening in zip(indices, rows, strict=True):
        if opened.setdefault(index, opening) != opening:
            raise VerificationError(f"{what}: two openings of row {index} differ")

    def row_digests(log: int) -> dict[int, bytes]:
        joined = [matrix for matrix, each in enumerate(log_rows) if each == log]
        return {node: keccak256(b"".join(opening[m] for m in joined)) for node, opening in opened.items()}

    supplied = iter([proof[first : first + DIGEST_BYTES] for first in range(0, len(proof), DIGEST_BYTES)])
    nodes = row_digests(tallest)
    for level, siblings in enumerate(proof_nodes(indices, levels), start=1):
        for node in siblings:
            digest = next(supplied, None)
            if digest is None:
                raise VerificationError(f"{what}: the Merkle proof is too short")
            nodes[node] = digest
        log = tallest - level
        # Paths that meet here read the same row of every matrix that joins from here on.
        shared = [matrix for matrix, each in enumerate(log_rows) if each <= log]
        below, opened = opened, {}
        for node, opening in below.items():
            kept = opened.setdefault(node >> 1, opening)
            if any(kept[matrix] != opening[matrix] for matrix in shared):
                raise VerificationError(f"{what}: two openings of one row differ")
        nodes = {node: keccak256(nodes[2 * node] + nodes[2 * node + 1]) for node in opened}
        if log in log_rows:
            nodes = {node: keccak256(nodes[node] + digest) for node, digest in row_digests(log).items()}
    if next(supplied, None) is not None:
        raise VerificationError(f"{what}: the Merkle proof is too long")
    for node, digest in nodes.items():
        if cap[node] != digest:
            raise VerificationError(f"{what}: a Merkle path does not end in the cap")
