"""Rows, nodes and transcripts by both hashes are those of Plonky3 (tests/interop/plonky3/src/vectors.rs)."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from graphprover.device import CpuDevice
from graphprover.protocol.challenger import Challenger
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.protocol.hashing import hash_rows
from graphprover.protocol.parameters import HASH_NAMES
from graphprover.protocol.preprocessed import powers
from tests.protocol import vectors

ANSWERS = [json.loads(line) for line in vectors.HASHES.read_text().splitlines()]
COMMITMENTS = [answer for answer in ANSWERS if "cap" in answer]
TRANSCRIPTS = [answer for answer in ANSWERS if "transcript" in answer]


def name(answer: dict[str, Any]) -> str:
    return f"{answer['hash']} {answer['shapes']}"


def test_there_are_answers_of_both_hashes() -> None:
    assert sorted(answer["hash"] for answer in TRANSCRIPTS) == sorted(HASH_NAMES)
    ours, theirs = ([a["shapes"] for a in COMMITMENTS if a["hash"] == hash] for hash in HASH_NAMES)
    assert ours == theirs and {len(shapes) for shapes in ours} == {1, 3}
    assert len(ANSWERS) == len(COMMITMENTS) + len(TRANSCRIPTS)


@pytest.mark.parametrize("answer", COMMITMENTS, ids=name)
def test_commits_as_plonky3_does(answer: dict[str, Any]) -> None:
    matrices = [matrix(*shape) for shape in answer["shapes"]]
    assert cap(answer["hash"], matrices, answer["cap_height"]) == answer["cap"]
    device = CpuDevice(1)
    tree = device.merkle_tree([np.ascontiguousarray(m.T) for m in matrices], answer["cap_height"], answer["hash"])
    assert [digest.hex() for digest in device.cap(tree)] == answer["cap"]


def matrix(rows: int, columns: int) -> np.ndarray:
    """Return the powers of 7 row by row."""
    return powers(7, rows * columns).reshape(rows, columns)


def cap(hash: str, matrices: Sequence[np.ndarray], cap_height: int) -> list[str]:
    """Return the digests of the cap over matrices (rows, columns), by the verifier's hash of rows."""

    def rows(height: int) -> np.ndarray | None:
        group = [matrix for matrix in matrices if len(matrix) == height]
        return hash_rows(hash, np.concatenate(group, axis=1)) if group else None

    layer = rows(max(map(len, matrices)))
    assert layer is not None
    while len(layer) > 1 << cap_height:
        layer = hash_rows(hash, layer.reshape(-1, 2 * DIGEST_WORDS))
        joined = rows(len(layer))
        if joined is not None:
            layer = hash_rows(hash, np.concatenate([layer, joined], axis=1))
    return [digest.astype("<u8").tobytes().hex() for digest in layer]


@pytest.mark.parametrize("answer", TRANSCRIPTS, ids=lambda answer: answer["hash"])
def test_draws_what_plonky3_does(answer: dict[str, Any]) -> None:
    challenger = Challenger(answer["hash"], bytes.fromhex(answer["start"]))
    for step, *given in answer["transcript"]:
        if step == "absorb":
            (count,) = given
            challenger = challenger.absorb_words(*map(int, powers(7, count)))
        elif step == "element":
            challenger, element = challenger.sample_ext()
            assert [list(element)] == given
        elif step == "bits":
            bits, expected = given
            challenger, sampled = challenger.sample_bits(bits, 1)
            assert sampled == [expected]
        else:
            assert step == "grind"
            bits, nonce = given
            assert not any(challenger.check_work(bits, less)[1] for less in range(nonce))
            challenger, passed = challenger.check_work(bits, nonce)
            assert passed
