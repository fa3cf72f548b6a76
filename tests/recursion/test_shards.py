"""Compressed proofs of several shards: accepted for the claim of the shards alone, and refused with any other value."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pytest

from graphprover import (
    CompressedProof,
    Prover,
    ShardedProof,
    VerificationError,
    aggregate,
    compress,
    verify,
    verify_aggregate,
)
from graphprover.field import P, ext_add, ext_sub
from graphprover.proof.compressed import Accepted, AcceptedShard, name_of
from graphprover.protocol.challenger import Challenger
from graphprover.prover import layer_tree, layers
from graphprover.recursion.expected import work_about
from graphprover.statement.shards import ShardedStatement
from graphprover.statement.statement import Statement
from graphprover.verifier import headers
from graphprover.verifier.headers import layouts_of_proof
from tests.conftest import LAYERS_AT, ROOT
from tests.verifier.test_compressed import PROVER, base

BITS = 10.0  # so that layers are small
LEVEL = {"security": BITS, "pow_bits": 4, "device": "cpu"}
OPTIONS = LEVEL | {"rate": LAYERS_AT}
SHARDS = 3
SHARDED = Prover(
    ROOT / "examples/guests/fib_iterative.elf", rate=8, security=BITS, pow_bits=4, device="cpu", shards=SHARDS
)


@cache
def proof() -> ShardedProof:
    found = SHARDED.prove(struct.pack("<Q", 300))
    assert isinstance(found, ShardedProof)
    return found


def statement() -> Statement | ShardedStatement:
    return SHARDED.program.statement_of(proof())


@cache
def compressed() -> CompressedProof:
    """Return a layer about all shards."""
    found = compress(proof(), statement(), **OPTIONS)  # type: ignore[arg-type]
    assert found.depth == 1 and len(found.children) == SHARDS
    return found


def test_it_has_the_claim_of_the_shards() -> None:
    small, expected = compressed(), SHARDED.verify(proof())
    found = SHARDED.verify(small)
    assert (found.claim, found.public_values, found.log_heights) == (
        expected.claim,
        expected.public_values,
        expected.log_heights,
    )
    assert found.shards == SHARDS and expected.bits >= found.bits >= BITS
    assert SHARDED.key().verify(small.to_bytes(), BITS).claim == expected.claim
    assert isinstance(small.header, ShardedProof) and small.header.joint == proof().joint
    assert not any(own.payload for own in small.header.proofs)
    assert CompressedProof.from_bytes(small.to_bytes()) == small and small.size == len(small.to_bytes())
    assert [name_of(own, small) for own in small.accepted] == ["shard 0", "shard 1", "shard 2"]


def test_layers_about_a_part_of_the_shards_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    two = sum(work_about(layout).compressions for layout in layouts_of_proof(proof(), statement())[:2])
    monkeypatch.setattr(layer_tree, "most_compressions", lambda *given: two)
    small = compress(proof(), statement(), **OPTIONS)  # type: ignore[arg-type]
    assert small.depth == 2 and len(small.children) == 2
    names = ["shard 0", "shard 1", "layer about shard 0 to shard 1", "shard 2", "layer about shard 2"]
    assert [name_of(own, small) for own in small.accepted] == names
    assert SHARDED.verify(small).claim == SHARDED.verify(proof()).claim
    assert CompressedProof.from_bytes(small.to_bytes()) == small


@pytest.mark.slow
def test_a_prover_compresses_shards() -> None:
    options = {"rate": 8, "security": BITS, "pow_bits": 4, "device": "cpu", "shards": SHARDS}
    prover = Prover(ROOT / "examples/guests/fib_iterative.elf", compress=(4, 8), **options)  # type: ignore[arg-type]
    small = prover.prove(struct.pack("<Q", 300))
    assert isinstance(small, CompressedProof)
    assert [layer.parameters.log_blowup for layer in small.layers] == [2, 3]
    assert prover.verify(small).claim == SHARDED.verify(proof()).claim
    again = compress(small, statement(), **OPTIONS)  # type: ignore[arg-type]
    assert again.depth == 3 and SHARDED.verify(again).claim == SHARDED.verify(small).claim


def test_shards_are_members_with_other_proofs() -> None:
    single = PROVER.program.statement_of(base())
    whole = aggregate([base(), proof()], [single, statement()], rates=(LAYERS_AT,), **LEVEL)  # type: ignore[arg-type]
    assert [len(member.proofs) for member in whole.members] == [1, SHARDS]
    expected = [PROVER.verify(base()), SHARDED.verify(proof())]
    found = verify_aggregate(whole.to_bytes(), [single, statement()], BITS)
    assert [own.claim for own in found] == [own.claim for own in expected]
    names = ["member 1", "member 2, shard 0", "member 2, shard 1", "member 2, shard 2"]
    assert [name_of(own, whole) for own in whole.accepted] == names
    heights = whole.children[2].header.log_heights
    with pytest.raises(VerificationError, match="member 2: shard 1"):
        verify_aggregate(with_shard(whole, 2, log_heights=(40, *heights[1:])), [single, statement()], BITS)


def with_shard(small: CompressedProof, at: int, **changes: object) -> CompressedProof:
    """Return a compressed proof with another header of one child."""
    children = [*small.children]
    children[at] = replace(children[at], header=replace(children[at].header, **changes))
    return replace(small, children=tuple(children))


def with_terms(small: CompressedProof, changed: Callable[[AcceptedShard], AcceptedShard], *at: int) -> CompressedProof:
    """Return a compressed proof with other values of some shards."""
    children = [*small.children]
    for index in at:
        shard = children[index].shard
        assert shard
        children[index] = replace(children[index], shard=changed(shard))
    return replace(small, children=tuple(children))


def flipped(digest: bytes) -> bytes:
    return bytes([digest[0] ^ 1, *digest[1:]])


EVERY = range(SHARDS)


def test_other_values_of_shards_are_refused() -> None:
    good = compressed()
    assert good.parameters.lookup_pow_bits == 0
    for index in EVERY:
        other = with_terms(good, lambda own: replace(own, digest=flipped(own.digest)), index)
        with pytest.raises(VerificationError, match=r"^layer: table fixed: the proof states other public values"):
            SHARDED.verify(other)
    with pytest.raises(VerificationError, match="buses do not balance") as refused:
        SHARDED.verify(with_terms(good, lambda own: replace(own, total=ext_add(own.total, (0, 1, 0))), 1))
    assert refused.value.rule == "lookups.balance"
    # Sums that balance, and are not the ones of the shards.
    more = with_terms(good, lambda own: replace(own, total=ext_add(own.total, (0, 1, 0))), 1)
    both = with_terms(more, lambda own: replace(own, total=ext_sub(own.total, (0, 1, 0))), 2)
    with pytest.raises(VerificationError, match=r"^layer: .*other public values"):
        SHARDED.verify(both)


def test_the_nonce_of_the_shards_needs_its_work() -> None:
    good = compressed()
    other = with_terms(good, lambda own: replace(own, lookup_nonce=1), *EVERY)
    with pytest.raises(VerificationError, match="before the lookup challenges of all shards misses its 0 bits"):
        SHARDED.verify(other)
    parameters, kinds = replace(good.parameters, lookup_pow_bits=2), set[str]()
    working = tuple(replace(own, header=replace(own.header, parameters=parameters)) for own in good.children)
    for nonce in range(20):
        other = with_terms(
            replace(good, children=working), lambda own, nonce=nonce: replace(own, lookup_nonce=nonce), *EVERY
        )
        why = "^layer: table fixed: the proof states other public values"
        if misses(other):
            why = "^the proof of work before the lookup challenges of all shards misses its 2 bits"
        with pytest.raises(VerificationError, match=why):
            SHARDED.verify(other)
        kinds.add(why)
    assert len(kinds) == 2


def misses(small: CompressedProof) -> bool:
    """Return whether the nonce of shards misses the work, by the transcript."""
    joint, shard, parameters = small.header.joint, small.children[0].shard, small.parameters
    assert joint and shard
    part = joint.part(0, parameters.hash, shard.lookup_nonce)
    _, works = Challenger(parameters.hash, part.seed).check_work(parameters.lookup_pow_bits, shard.lookup_nonce)
    return not works


def test_counts_are_bounded_over_all_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on them is of all tables of all shards together."""
    tables = sum(len(own.header.log_heights) for own in compressed().children)

    def refuse(airs: Sequence[object], heights: Sequence[int]) -> None:
        if len(airs) == len(heights) == tables:
            raise ValueError("too many lookups")

    monkeypatch.setattr(headers, "check_multiplicity_bound", refuse)
    with pytest.raises(VerificationError, match=r"^too many lookups$") as refused:
        SHARDED.verify(compressed())
    assert refused.value.rule == "layout.counts"


def test_shards_that_are_not_one_proof_are_refused() -> None:
    good = compressed()
    whole = good.children

    def refused(children: tuple[Accepted, ...], rule: str = "compressed.shards") -> None:
        with pytest.raises(ValueError):
            replace(good, children=children)
        bad = replace(good)
        object.__setattr__(bad, "children", children)
        with pytest.raises(VerificationError) as error:
            CompressedProof.from_bytes(bad.to_bytes())
        assert error.value.rule == rule, str(error.value)

    def changed(at: int, **terms: object) -> tuple[Accepted, ...]:
        shard = whole[at].shard
        assert shard
        return *whole[:at], replace(whole[at], shard=replace(shard, **terms)), *whole[at + 1 :]

    refused(whole[:2])
    refused(whole[1:])
    refused((whole[1], whole[0], whole[2]))
    refused((whole[0], whole[2], whole[1]))
    refused((*whole, whole[2]))
    refused((whole[0], Accepted(replace(base(), payload=b"")), *whole[1:]))
    refused(changed(1, lookup_nonce=12345))
    refused(changed(1, count=4))
    refused(changed(0, count=4))
    refused(changed(0, count=1024))
    label = (replace(whole[0], header=replace(whole[0].header, label="x")), *whole[1:])
    refused(label, "shards.label")
    alone = tuple(replace(own, shard=None) for own in whole)  # three proofs of one shard: no statement has these
    with pytest.raises(VerificationError, match="does not name the others"):
        SHARDED.verify(replace(good, children=alone))
    with pytest.raises(VerificationError, match="about 3 proofs"):
        verify(replace(good, children=alone), statement(), BITS)
    two = tuple(replace(own, shard=replace(own.shard, count=2)) for own in whole[:2] if own.shard)
    with pytest.raises(VerificationError, match=r"^the proof is in 2 shards, not in 3$"):
        verify(replace(good, children=two), statement(), BITS)


def test_a_sum_that_is_no_element_has_no_encoding() -> None:
    shard = compressed().children[0].shard
    assert shard
    with pytest.raises(ValueError, match="not below p"):
        replace(shard, total=(P, 0, 0))
    data = bytearray(compressed().to_bytes())
    encoded = struct.pack("<Q", shard.total[0])
    at = data.index(encoded, data.index(shard.digest))
    data[at : at + 8] = struct.pack("<Q", P)
    with pytest.raises(VerificationError) as error:
        CompressedProof.from_bytes(bytes(data))
    assert error.value.rule == "compressed.shards"


@pytest.mark.parametrize(
    ("count", "index", "rule"),
    [(1025, 0, "shards.count"), (1, 0, "shards.count"), (3, 3, "shards.index"), (2**32 - 1, 0, "shards.count")],
)
def test_numbers_of_shards_are_bounded_before_a_list_is_made(count: int, index: int, rule: str) -> None:
    good = compressed()
    shard = good.children[0].shard
    assert shard
    data = bytearray(good.to_bytes())
    at = data.index(struct.pack("<II", shard.count, shard.index) + shard.digest)
    data[at : at + 8] = struct.pack("<II", count, index)
    with pytest.raises(VerificationError) as error:
        CompressedProof.from_bytes(bytes(data))
    assert error.value.rule == rule


def test_another_header_of_a_shard_is_refused() -> None:
    good = compressed()
    header = good.children[1].header
    values = [[*of] for of in header.public_values]
    table = next(i for i, of in enumerate(values) if len(of) > 1)
    values[table][-1] = (values[table][-1] + 1) % P
    with pytest.raises(VerificationError, match=r"^layer: table fixed: the proof states other public values"):
        SHARDED.verify(with_shard(good, 1, public_values=tuple(map(tuple, values))))
    heights = tuple(log + 1 for log in header.log_heights)
    with pytest.raises(VerificationError, match=r"^shard 1: its head has not 64 rows"):
        SHARDED.verify(with_shard(good, 1, log_heights=heights))


def test_shards_that_do_not_balance_are_refused_before_a_layer_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "layer_statement", lambda *given: pytest.fail("a layer is made"))
    others = SHARDED.prove(struct.pack("<Q", 301))
    assert isinstance(others, ShardedProof)
    mixed = ShardedProof(proof().joint, (*proof().proofs[:2], others.proofs[2]))
    with pytest.raises(VerificationError):
        compress(mixed, statement(), **OPTIONS)  # type: ignore[arg-type]
