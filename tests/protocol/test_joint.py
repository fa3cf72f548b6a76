"""The joint challenges of shards against a second implementation of docs/protocol.md, section 16."""

import struct
from dataclasses import replace
from typing import Any

import pytest

from graphprover.field import P
from graphprover.protocol.challenger import Challenger
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.joint import (
    MOST_SHARDS,
    Joint,
    absorb_separated,
    digest_of,
    draw_lookup_challenges,
    draw_separating_point,
    resume,
    shard_binding,
)
from graphprover.protocol.parameters import Parameters
from tests.hashes import BOTH, digest

DIGESTS = tuple(bytes([i]) * 32 for i in range(3))
JOINT = Joint(DIGESTS)
PARAMETERS = Parameters("keccak", 1, 1, 0, 1, 0, 5, 0, 0, 0, 0)

of_each_hash = pytest.mark.parametrize("hash", BOTH)


def joint_seed(hash: str, digests: tuple[bytes, ...] = DIGESTS) -> bytes:
    return digest(hash, b"graphprover joint 1" + struct.pack("<I", len(digests)) + b"".join(digests))


def work(hash: str, seed: bytes, bits: int) -> int:
    """Return the least nonce."""
    squeezed = digest(hash, seed)
    nonce = 0
    while int.from_bytes(digest(hash, squeezed + struct.pack("<Q", nonce)), "big") % 2**bits:
        nonce += 1
    return nonce


@of_each_hash
def test_a_shard_is_bound_with_its_place(hash: str) -> None:
    binding = digest(hash, b"tables")
    expected = digest(hash, b"graphprover piece 2" + struct.pack("<II", 7, 3) + binding)
    assert shard_binding(hash, binding, 7, 3) == expected
    assert len({shard_binding(hash, binding, *place) for place in ((7, 3), (7, 4), (8, 3), (3, 7))}) == 4


@of_each_hash
def test_a_separating_point_comes_from_all_that_was_absorbed(hash: str) -> None:
    state, point = draw_separating_point(Challenger(hash, bytes(32)).absorb(b"commitments"))
    pending, drawn = bytes(32) + b"commitments", b""
    words: list[int] = []
    while len(words) < 3:
        if len(drawn) < 8:
            pending = digest(hash, pending)
            drawn = pending[::-1]
        word, drawn = int.from_bytes(drawn[:8], "little"), drawn[8:]
        words += [word] * (word < P)
    assert point == tuple(words)
    absorbed = absorb_separated(state, [b"x" * 24, b"y" * 48])
    assert digest_of(absorbed) == digest(hash, pending + b"x" * 24 + b"y" * 48)


@pytest.mark.parametrize("zeros", [24, 16])
def test_a_separating_point_is_not_in_the_base_field(zeros: int) -> None:
    """The last words are drawn from the first bytes."""
    state = replace(Challenger("keccak", b""), output=bytes(zeros) + bytes(range(24 - zeros)))
    with pytest.raises(VerificationError, match="in the base field"):
        draw_separating_point(state)
    for place in (0, 8):
        draw_separating_point(replace(state, output=bytes(place) + b"\x01" + bytes(23 - place)))


@of_each_hash
def test_a_digest_is_of_all_that_was_absorbed(hash: str) -> None:
    state = Challenger(hash, bytes(32)).absorb(b"commitments")
    assert digest_of(state) == digest(hash, bytes(32) + b"commitments")


@of_each_hash
def test_both_challenges_come_from_all_digests_and_the_nonce(hash: str) -> None:
    assert JOINT.seed(hash) == joint_seed(hash)
    nonce = work(hash, joint_seed(hash), 5)
    # Squeeze a byte, absorb the nonce, sample 5 bits and six elements: each digest is read from its end.
    output, words = b"", []
    pending = digest(hash, joint_seed(hash)) + struct.pack("<Q", nonce)
    while len(words) < 7:
        if len(output) < 8:
            pending = digest(hash, pending)
            output = pending[::-1]
        words.append(int.from_bytes(output[:8], "little"))
        output = output[8:]
    assert words[0] % 32 == 0 and all(word < P for word in words)
    sigma, tau = draw_lookup_challenges(JOINT.seed(hash), replace(PARAMETERS, hash=hash), nonce)
    assert (*sigma, *tau) == tuple(words[1:])
    assert JOINT.grinding_seed(hash) == digest(hash, joint_seed(hash))


def test_other_digests_draw_others() -> None:
    free = replace(PARAMETERS, lookup_pow_bits=0)
    changed: list[tuple[bytes, ...]] = [
        DIGESTS[::-1],
        DIGESTS[:2],
        (*DIGESTS, bytes(32)),
        (*DIGESTS[:2], bytes(32)),
    ]
    drawn = [draw_lookup_challenges(Joint(digests).seed(free.hash), free, 0) for digests in (DIGESTS, *changed)]
    assert len(set(drawn)) == len(drawn)


def test_a_nonce_must_pass() -> None:
    nonce = work("keccak", joint_seed("keccak"), 5)
    for wrong in (n for n in range(nonce + 5) if n < nonce):
        with pytest.raises(VerificationError, match="before the lookup challenges of all shards"):
            draw_lookup_challenges(JOINT.seed(PARAMETERS.hash), PARAMETERS, wrong)
    with pytest.raises(VerificationError):
        draw_lookup_challenges(JOINT.seed(PARAMETERS.hash), replace(PARAMETERS, lookup_pow_bits=0), 1)


@of_each_hash
def test_a_shard_goes_on_with_seed_and_nonce(hash: str) -> None:
    state = Challenger(hash, bytes(32)).absorb(b"commitments")
    resumed = resume(state, JOINT.seed(hash), 9)
    assert resumed.pending == digest(hash, bytes(32) + b"commitments") + joint_seed(hash) + struct.pack("<Q", 9)
    assert not resumed.output


@pytest.mark.parametrize("digests", [(), DIGESTS[:1], (b"x" * 31, b"y" * 32), (bytes(32),) * (MOST_SHARDS + 1)])
def test_what_is_joint_to_no_proof(digests: Any) -> None:
    with pytest.raises(ValueError, match=r"a digest has 32 bytes|shards"):
        Joint(digests)
