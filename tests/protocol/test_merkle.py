"""Multiproofs against trees that are computed completely."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.protocol import merkle
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.merkle import layers, verify_openings
from tests.hashes import BOTH, digest


@dataclass(frozen=True)
class Opening:
    """Some rows of committed matrices, and their multiproof."""

    hash: str
    cap: tuple[bytes, ...]
    log_rows: tuple[int, ...]  # for each matrix
    indices: tuple[int, ...]
    rows: tuple[tuple[bytes, ...], ...]  # [query][matrix]
    path: bytes

    def check(self, **changed: object) -> None:
        opening = {**self.__dict__, **changed}
        verify_rows(
            opening["hash"], opening["cap"], opening["log_rows"], opening["indices"], opening["rows"], opening["path"]
        )


def verify_rows(
    hash: str,
    cap: Sequence[bytes],
    log_rows: Sequence[int],
    indices: Sequence[int],
    rows: Sequence[Sequence[bytes]],
    path: bytes,
) -> None:
    """Check one opening, whose ``rows`` are given by query and matrix."""
    by_height = {}
    for log in log_rows:
        joined = [
            b"".join(row for row, height in zip(opened, log_rows, strict=True) if height == log) for opened in rows
        ]
        by_height[log] = np.array([np.frombuffer(words, dtype="<u8") for words in joined])
    opening = merkle.Opening("the tree", cap, by_height, path)
    verify_openings(hash, np.array(indices), max(log_rows), [opening])


def layers_of(hash: str, matrices: list[list[bytes]], log_rows: list[int]) -> dict[int, list[bytes]]:
    """Return every layer of the tree, by log2 of its digests."""
    layers: dict[int, list[bytes]] = {}
    for log in range(max(log_rows), -1, -1):
        own = [digest(hash, b"".join(m[i] for m in matrices if len(m) == 1 << log)) for i in range(1 << log)]
        if log == max(log_rows):
            layers[log] = own
            continue
        below = layers[log + 1]
        layers[log] = [digest(hash, below[2 * i] + below[2 * i + 1]) for i in range(1 << log)]
        if log in log_rows:
            layers[log] = [digest(hash, node + row) for node, row in zip(layers[log], own, strict=True)]
    return layers


def missing_nodes(indices: list[int], tallest: int, cap: int) -> list[list[int]]:
    """Return the siblings of nodes on a path that are on no path, by trial of all nodes."""
    missing = []
    for level in range(tallest - cap):
        on_paths = {index >> level for index in indices}
        missing.append([n for n in range(1 << (tallest - level)) if n not in on_paths and n ^ 1 in on_paths])
    return missing


@st.composite
def openings(draw: st.DrawFn) -> Opening:
    rng = random.Random(draw(st.integers(0, 2**32)))
    log_rows = draw(st.lists(st.integers(0, 5), min_size=1, max_size=5))
    tallest = max(log_rows)
    cap = draw(st.integers(0, min(log_rows)))
    indices = draw(st.lists(st.integers(0, (1 << tallest) - 1), min_size=1, max_size=10))
    widths = [rng.randint(1, 3) for _ in log_rows]
    matrices = [
        [rng.randbytes(8 * width) for _ in range(1 << log)] for log, width in zip(log_rows, widths, strict=True)
    ]
    hash = draw(st.sampled_from(BOTH))
    layers = layers_of(hash, matrices, log_rows)
    path = b"".join(
        layers[tallest - level][node]
        for level, nodes in enumerate(missing_nodes(indices, tallest, cap))
        for node in nodes
    )
    rows = [tuple(m[index >> (tallest - log)] for m, log in zip(matrices, log_rows, strict=True)) for index in indices]
    return Opening(hash, tuple(layers[cap]), tuple(log_rows), tuple(indices), tuple(rows), path)


@given(st.integers(0, 6).flatmap(lambda log: st.tuples(st.just(log), st.integers(0, log))), st.data())
def test_a_multiproof_holds_the_siblings_that_no_query_reaches(shape: tuple[int, int], data: st.DataObject) -> None:
    tallest, cap = shape
    indices = data.draw(st.lists(st.integers(0, (1 << tallest) - 1), min_size=1, max_size=12))
    found = layers(np.array(indices), tallest - cap)
    sent = [(layer.nodes[layer.sent] ^ 1).tolist() for layer in found[:-1]]
    assert sent == missing_nodes(indices, tallest, cap)
    for level, layer in enumerate(found):
        assert layer.nodes.tolist() == sorted({index >> level for index in indices})
        assert [indices[query] >> level for query in layer.query] == layer.nodes.tolist()


@given(openings())
def test_accepts_committed_rows(opening: Opening) -> None:
    opening.check()


@given(openings(), st.data())
def test_rejects_everything_else(opening: Opening, data: st.DataObject) -> None:
    query = data.draw(st.integers(0, len(opening.indices) - 1))
    matrix = data.draw(st.integers(0, len(opening.log_rows) - 1))
    byte = data.draw(st.integers(0, len(opening.rows[query][matrix]) - 1))

    def refused(**changed: object) -> None:
        with pytest.raises(VerificationError, match="the tree: "):
            opening.check(**changed)

    def flipped(data: bytes, at: int) -> bytes:
        return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]

    def put(items: tuple, at: int, item: object) -> tuple:
        return (*items[:at], item, *items[at + 1 :])

    row = opening.rows[query]
    spoiled = put(row, matrix, flipped(row[matrix], byte))
    refused(rows=put(opening.rows, query, spoiled))
    # In every query of this row of the matrix, so that the queries agree.
    shift = max(opening.log_rows) - opening.log_rows[matrix]
    same = [index >> shift == opening.indices[query] >> shift for index in opening.indices]
    refused(rows=tuple(put(r, matrix, spoiled[matrix]) if s else r for r, s in zip(opening.rows, same, strict=True)))
    for longer in (bytes(32), bytes(1), bytes(31)):
        refused(path=opening.path + longer)
    node = opening.indices[query] >> (max(opening.log_rows) - len(opening.cap).bit_length() + 1)
    refused(cap=put(opening.cap, node, flipped(opening.cap[node], 31)))
    if opening.path:
        at = data.draw(st.integers(0, len(opening.path) - 1))
        refused(path=flipped(opening.path, at))
        refused(path=opening.path[:-32])
        refused(path=opening.path[:-1])
    rotated = opening.rows[1:] + opening.rows[:1]
    if rotated != opening.rows:
        refused(rows=rotated)


@pytest.mark.parametrize("hash", BOTH)
def test_trees_of_several_heights_and_caps_at_once(hash: str) -> None:
    """All are opened at the same queries; the error names the first faulty one."""
    rng, indices, tallest = random.Random(0), [3, 14, 15, 8, 3], 4
    openings = []
    for i, (log_rows, cap) in enumerate([([4, 2], 1), ([3], 0), ([2, 2], 2), ([4], 3), ([1], 1)]):
        matrices = [[rng.randbytes(8 * (i + 1)) for _ in range(1 << log)] for log in log_rows]
        tree, own = layers_of(hash, matrices, log_rows), max(log_rows)
        at = [index >> (tallest - own) for index in indices]
        missing = enumerate(missing_nodes(at, own, cap))
        path = b"".join(tree[own - level][node] for level, nodes in missing for node in nodes)
        by_height = {
            log: np.array(
                [
                    np.frombuffer(b"".join(m[index >> (tallest - log)] for m in matrices if len(m) == 1 << log), "<u8")
                    for index in indices
                ]
            )
            for log in log_rows
        }
        openings.append(merkle.Opening(f"tree {i}", tuple(tree[cap]), by_height, path))
    verify_openings(hash, np.array(indices), tallest, openings)
    for i, opening in enumerate(openings):
        spoiled = replace(opening, cap=[bytes(32)] * len(opening.cap))
        for worse in ([], range(i + 1, len(openings))):
            tried = [
                replace(opening, cap=spoiled.cap[:1] * len(opening.cap)) if j in worse else opening
                for j, opening in enumerate(openings)
            ]
            tried[i] = spoiled
            with pytest.raises(VerificationError, match=f"tree {i}: a Merkle path does not end in the cap"):
                verify_openings(hash, np.array(indices), tallest, tried)
        # Rows of a later tree may depend on the rows of this one, and differ as a consequence.
        tried = [differing(opening) if j > i else opening for j, opening in enumerate(openings)]
        tried[i] = spoiled
        with pytest.raises(VerificationError, match=f"tree {i}: a Merkle path does not end in the cap"):
            verify_openings(hash, np.array(indices), tallest, tried)


def differing(opening: merkle.Opening) -> merkle.Opening:
    """Return the opening with other rows for the last query."""
    rows = {log: words.copy() for log, words in opening.rows.items()}
    for words in rows.values():
        words[-1] ^= np.uint64(1)
    return replace(opening, rows=rows)


def test_queries_of_one_row_may_not_disagree() -> None:
    """Otherwise a proof could answer one of two equal queries arbitrarily."""
    rows = [b"\1" + bytes(7), b"\2" + bytes(7)]
    tree = layers_of("keccak", [rows], [1])
    good = (rows[0],)
    verify_rows("keccak", tree[0], [1], [0, 0], [good, good], tree[1][1])
    for answers in ([good, (rows[1],)], [(rows[1],), good]):
        with pytest.raises(VerificationError, match="two openings of row 0 differ"):
            verify_rows("keccak", tree[0], [1], [0, 0], answers, tree[1][1])


def test_queries_that_meet_in_a_shorter_matrix_may_not_disagree() -> None:
    tall, short = [bytes([i]) * 8 for i in range(4)], [bytes([9 + i]) * 8 for i in range(2)]
    tree = layers_of("keccak", [tall, short], [2, 1])
    good = [(tall[0], short[0]), (tall[1], short[0])]
    verify_rows("keccak", tree[0], [2, 1], [0, 1], good, tree[1][1])
    for wrong in ([(tall[0], short[1]), good[1]], [good[0], (tall[1], short[1])]):
        with pytest.raises(VerificationError, match="two openings of one row differ"):
            verify_rows("keccak", tree[0], [2, 1], [0, 1], wrong, tree[1][1])


def test_a_row_is_not_taken_for_two_digests() -> None:
    """Rows of eight words have the length of two digests; only the position in the tree distinguishes them."""
    rows = [bytes([i]) * 64 for i in range(2)]
    tree = layers_of("keccak", [rows], [1])
    leaves = tree[1][0] + tree[1][1]
    with pytest.raises(VerificationError):
        verify_rows("keccak", tree[0], [1], [0], [(leaves,)], b"")
