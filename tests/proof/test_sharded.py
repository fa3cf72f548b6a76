"""Files of sharded proofs: one encoding of every proof, its shards in any order, and the shard to blame."""

import random
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphprover.proof.proof import Proof
from graphprover.proof.sharded import (
    SHARD_MAGIC,
    SHARDS_MAGIC,
    Shard,
    ShardedProof,
    join,
    load_proof,
    proof_from_bytes,
)
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.joint import MOST_SHARDS, Joint
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.proof import least_bytes
from tests.proof.test_proof import proofs

PARAMETERS = Parameters("keccak", *(least for least, _ in Parameters.RANGES.values()))


def proof_of(payload: bytes, parameters: Parameters = PARAMETERS, label: str = "x") -> Proof:
    return Proof(label, parameters, (3,), ((1, 2),), payload + bytes(least_bytes(1, 0, parameters)))


def in_shards(count: int, what: str = "one") -> ShardedProof:
    digests = tuple(f"{what} {i}".encode().ljust(32) for i in range(count))
    return ShardedProof(Joint(digests), tuple(proof_of(f"{what} {i}".encode()) for i in range(count)))


@st.composite
def sharded_proofs(draw: st.DrawFn) -> ShardedProof:
    first, others = draw(proofs()), draw(st.lists(proofs(), min_size=1, max_size=3))
    alike = [replace(other, label=first.label, parameters=first.parameters) for other in others]
    longer = [replace(p, payload=p.payload + bytes(least_bytes(len(p.log_heights), 0, p.parameters))) for p in alike]
    digests = tuple(draw(st.binary(min_size=32, max_size=32)) for _ in range(1 + len(others)))
    return ShardedProof(Joint(digests), (first, *longer))


def refused(data: bytes, kind: type[ShardedProof | Shard] = ShardedProof) -> str:
    with pytest.raises(VerificationError) as caught:
        kind.from_bytes(data)
    return str(caught.value)


@given(sharded_proofs())
def test_round_trip(proof: ShardedProof) -> None:
    assert ShardedProof.from_bytes(proof.to_bytes()) == proof == proof_from_bytes(proof.to_bytes())
    for index, shard in enumerate(proof.shards):
        assert Shard.from_bytes(shard.to_bytes()) == shard
        assert (shard.index, shard.proof) == (index, proof.proofs[index])


@given(sharded_proofs(), st.randoms(use_true_random=False))
def test_shards_are_joined_in_any_order(proof: ShardedProof, rng: random.Random) -> None:
    shards = list(proof.shards)
    rng.shuffle(shards)
    assert join(shards) == proof


def test_no_prefix_is_a_proof_and_nothing_may_follow() -> None:
    proof = in_shards(2)
    for kind, data in ((ShardedProof, proof.to_bytes()), (Shard, proof.shards[1].to_bytes())):
        for length in range(len(data)):
            refused(data[:length], kind)
        assert "bytes follow" in refused(data + b"\0", kind)


@given(sharded_proofs(), st.randoms(use_true_random=False))
def test_a_mutation_is_another_proof_or_none(proof: ShardedProof, rng: random.Random) -> None:
    for kind, data in ((ShardedProof, proof.to_bytes()), (Shard, proof.shards[-1].to_bytes())):
        for _ in range(20):
            at = rng.randrange(len(data))
            middle = rng.choice((b"", bytes([data[at] ^ 1 << rng.randrange(8)]), rng.randbytes(3)))
            mutant = data[:at] + middle + data[at + 1 :]
            try:
                found = kind.from_bytes(mutant)
            except VerificationError:
                continue
            assert found.to_bytes() == mutant


def test_encoding() -> None:
    """Field by field, as docs/protocol.md has them."""
    proof = in_shards(3)
    expected = b"graphprover pieces\x02" + struct.pack("<I", 3) + b"".join(proof.joint.digests)
    for plain in proof.proofs:
        expected += struct.pack("<Q", len(plain.to_bytes())) + plain.to_bytes()
    assert proof.to_bytes() == expected
    shard = b"graphprover piece\x02" + struct.pack("<II", 3, 2) + b"".join(proof.joint.digests)
    assert proof.shards[2].to_bytes() == shard + proof.proofs[2].to_bytes()


@pytest.mark.parametrize("count", [0, 1, MOST_SHARDS + 1, 2**32 - 1])
def test_numbers_of_shards_that_no_proof_has(count: int) -> None:
    """One shard is a proof by itself, which has one encoding."""
    assert f"not {count}" in refused(SHARDS_MAGIC + struct.pack("<I", count) + bytes(1000))
    assert f"not {count}" in refused(SHARD_MAGIC + struct.pack("<II", count, 0) + bytes(1000), Shard)


def test_a_shard_beyond_the_last() -> None:
    data = bytearray(in_shards(2).shards[1].to_bytes())
    data[len(SHARD_MAGIC) + 4] = 2
    assert "shard 2 of 2" in refused(bytes(data), Shard)


def test_the_shard_that_is_malformed_is_named() -> None:
    proof = in_shards(3)
    data = proof.to_bytes()
    at = data.rindex(b"graphprover proof\x02")
    assert "shard 2: not a graphprover proof" in refused(data[:at] + b"x" + data[at + 1 :])


def test_other_parameters_and_another_label() -> None:
    proof = in_shards(2)
    for changed, reason in (
        (proof_of(b"", replace(PARAMETERS, num_queries=2)), "shard 1 has other parameters than shard 0"),
        (proof_of(b"", label="y"), "shard 1 has the label 'y', shard 0 'x'"),
    ):
        with pytest.raises(ValueError, match=reason):
            replace(proof, proofs=(proof.proofs[0], changed))
        with pytest.raises(VerificationError, match=reason):
            join([proof.shards[0], replace(proof.shards[1], proof=changed)])
        length = struct.pack("<Q", len(changed.to_bytes()))
        end = proof.to_bytes().rindex(struct.pack("<Q", len(proof.proofs[1].to_bytes())) + b"graphprover proof")
        assert reason in refused(proof.to_bytes()[:end] + length + changed.to_bytes())


def test_shards_that_are_no_proof() -> None:
    one, other, longer = in_shards(3), in_shards(3, "another"), in_shards(4)
    for shards, reason in (
        ([], "no shard"),
        (one.shards[1:], "shard 0 of 3 is missing"),
        (one.shards[:2], "shard 2 of 3 is missing"),
        ([*one.shards, one.shards[1]], "shard 1 is there twice"),
        ([one.shards[0], one.shards[2], other.shards[1]], "shard 1 is of another proof: its lookup challenges"),
        ([*one.shards[:2], longer.shards[2]], "shard 2 is of another proof, in 4 shards"),
    ):
        with pytest.raises(VerificationError, match=reason):
            join(shards)


def test_files(tmp_path: Path) -> None:
    proof, plain = in_shards(3), proof_of(b"")
    proof.save(tmp_path / "whole")
    plain.save(tmp_path / "plain")
    for shard in proof.shards:
        shard.save(tmp_path / f"{shard.index}")
    assert load_proof(tmp_path / "whole") == proof
    assert load_proof(tmp_path / "plain") == plain
    assert load_proof(*(tmp_path / name for name in "201")) == proof
    with pytest.raises(VerificationError, match="shard 0 of 3 is missing"):
        load_proof(tmp_path / "1")
    with pytest.raises(VerificationError, match="plain: not a shard"):
        load_proof(tmp_path / "0", tmp_path / "plain")
    with pytest.raises(VerificationError, match="whole: not a graphprover proof"):
        Proof.load(tmp_path / "whole")


def test_what_is_shown() -> None:
    proof = in_shards(2)
    assert repr(proof).startswith("<Proof of 'x' in 2 shards, ")
    assert repr(proof.shards[1]) == "<Shard 1 of 2 of 'x'>"
    assert "2^3" in proof._repr_html_()
