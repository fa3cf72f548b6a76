"""Sharded proofs that must be refused: shards of other statements, and provers that cheat with several shards."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from graphprover.air import Air, Bus, received, sent
from graphprover.air.description import AirDescription
from graphprover.field import Ext, ext_add, ext_neg
from graphprover.graphs import proof_graph
from graphprover.graphs.rounds import separation, transcript
from graphprover.graphs.task_keys import ShardNumber
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof, join
from graphprover.protocol import backend
from graphprover.protocol import joint as protocol
from graphprover.protocol.challenger import Challenger
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.joint import Joint
from graphprover.protocol.layout import Layout
from graphprover.protocol.lookup import lookup_prefixes
from graphprover.protocol.parameters import Parameters
from graphprover.protocol.proof import BatchProof, decode, encode, exts_to_words, words_to_exts
from graphprover.statement import shards as sharded_statements
from graphprover.statement.shards import ShardedStatement, in_shards, shards_of
from graphprover.statement.statement import Statement, Table
from graphprover.verifier import Verdict, expect, verify, verify_shard, verify_shards
from graphprover.verifier.headers import layout_of_proof
from tests.cheating import OnWholeDomain, OtherLookups, forge_shards
from tests.test_must_fail import numbers

# One row of a head suffices. The challenges' proof of work admits several nonces.
PARAMETERS = Parameters(
    hash="keccak",
    log_blowup=1,
    num_queries=12,
    log_final_poly_len=1,
    max_log_arity=2,
    cap_height=1,
    lookup_pow_bits=2,
    ood_pow_bits=2,
    batch_pow_bits=2,
    commit_pow_bits=2,
    query_pow_bits=2,
)
AMOUNT: Ext = (1, 2, 3)


@pytest.fixture(autouse=True)
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(backend.NUMPY_ONLY, "1")


class Sender(Air):
    """A table that sends its unconstrained column on a bus or locally, or receives it."""

    columns = ("x",)

    def __init__(self, name: str, bus: str | None, receives: bool = False, width: int = 1) -> None:
        self.name, self.bus, self.receives, self.width = name, bus, receives, width

    def define(self, t: Any) -> None:
        message = (received if self.receives else sent)([t.x] * self.width)
        if self.bus is None:
            t.local_lookup(message)
        elif self.receives:
            t.receive(Bus(self.bus), [t.x] * self.width)
        else:
            t.send(Bus(self.bus), [t.x] * self.width)


def filled(air: Air, first: int = 5) -> Table:
    return Table(air, (), np.arange(first, first + 4, dtype=np.uint64)[None])


def two_statements() -> Statement:
    """Return four tables; two with the same first part of the name balance alone."""
    return Statement(
        [filled(Sender(f"{bus}{way}", bus, way == "-")) for bus in "ab" for way in "+-"],
    )


@cache
def honest() -> tuple[Statement, ShardedProof]:
    """Return shards in which every bus connects both."""
    statement = two_statements()
    return statement, forge_shards(shards_of(statement, [[0, 2], [1, 3]]), PARAMETERS)


@cache
def alone() -> tuple[Statement, ShardedProof]:
    """Return shards that each balance alone."""
    statement = two_statements()
    return statement, forge_shards(shards_of(statement, [[0, 1], [2, 3]]), PARAMETERS)


def refused(proof: ShardedProof | Proof | bytes, statement: Statement | ShardedStatement, reason: str) -> None:
    with pytest.raises(VerificationError, match=reason):
        verify(proof, statement, security=0)
    if isinstance(proof, ShardedProof):
        with pytest.raises(VerificationError):  # for any reason
            verified_as_it_comes(proof, statement)


def verified_as_it_comes(proof: ShardedProof, statement: Statement | ShardedStatement) -> Verdict:
    """Verify shards in reverse order."""
    headers = replace(proof, proofs=tuple(replace(shard, payload=b"") for shard in proof.proofs))
    expected = expect(headers, statement, security=0)
    return expected.verdict([expected.check(shard.index, shard.proof) for shard in reversed(proof.shards)][::-1])


def contents(proof: ShardedProof, statement: Statement, index: int) -> BatchProof:
    """Return the decoded payload of a shard."""
    shard = shards_of(statement, [proof.public_values[0] for proof in proof.proofs]).statements[index]
    return decode(proof.proofs[index].payload, layout_of_proof(proof.proofs[index], shard, shard=True))


def with_payload(proof: ShardedProof, index: int, payload: bytes) -> ShardedProof:
    changed = replace(proof.proofs[index], payload=payload)
    return replace(proof, proofs=(*proof.proofs[:index], changed, *proof.proofs[index + 1 :]))


def with_lookup_nonce(proof: ShardedProof, statement: Statement, index: int, nonce: int) -> ShardedProof:
    batch = replace(contents(proof, statement, index), lookup_nonce=nonce)
    return with_payload(proof, index, encode(batch))


def with_separated(batch: BatchProof, values: Sequence[bytes | None]) -> bytes:
    """Return the encoding with other values at the separating point, by table."""
    given = zip(batch.openings, values, strict=True)
    return encode(replace(batch, openings=tuple(replace(table, main_separated=own) for table, own in given)))


def separated(batch: BatchProof) -> list[bytes]:
    return [table.main_separated or b"" for table in batch.openings]


def passing_nonces(joint: Joint, count: int) -> list[int]:
    found: list[int] = []
    nonce = 0
    while len(found) < count:
        try:
            protocol.draw_lookup_challenges(joint.seed(PARAMETERS.hash), PARAMETERS, nonce)
            found.append(nonce)
        except VerificationError:
            pass
        nonce += 1
    return found


# True statements are accepted.


@pytest.mark.parametrize("made", [honest, alone])
def test_honest_shards_are_believed(made: Any) -> None:
    statement, proof = made()
    verdict = verify(proof.to_bytes(), statement, security=0)
    assert (verdict.shards, len(verdict.log_heights), verdict.public_values) == (2, 4, ((),) * 4)
    assert "2 shards" in repr(verdict)
    shards = shards_of(statement, [shard.public_values[0] for shard in proof.proofs])
    for shard in proof.shards:
        verify_shard(shard, shards)


def test_tables_are_named_in_the_statement_s_order() -> None:
    statement = numbers()
    proof = forge_shards(shards_of(statement, [[1], [0]]), PARAMETERS)
    verdict = verify(proof, statement, security=0)
    assert verdict.log_heights == (2, 3)
    assert verdict.public_values == tuple(table.public_values for table in statement.tables)
    refused(
        proof,
        Statement([replace(statement.tables[0]), replace(statement.tables[1], public_values=(7,))]),
        "shard 0: .*other public values",
    )


def test_messages_of_any_width_balance_over_shards() -> None:
    """The widest message is in one shard, and local."""
    wide = [filled(Sender("wide+", None, width=5)), filled(Sender("a+", "a")), filled(Sender("a-", "a", True))]

    class Both(Air):
        columns = ("x",)

        def define(self, t: Any) -> None:
            t.local_lookup(sent([t.x] * 5), received([t.x] * 5))

    statement = Statement([filled(Both()), *wide[1:]])
    for shares in ([[0, 1], [2]], [[1], [0, 2]], [[1], [2], [0]]):
        verify(forge_shards(shards_of(statement, shares), PARAMETERS), statement, security=0)


# Shards of other statements.


def test_a_level_that_shards_do_not_reach() -> None:
    statement, proof = honest()
    with pytest.raises(VerificationError, match=r"provable bits at most; 128 were asked for"):
        verify(proof, statement)
    with pytest.raises(VerificationError, match=r"provable bits by .*; 6.5 were asked for"):
        verify(proof, statement, 6.5, "unique")


def test_a_proof_is_of_its_own_number_of_shards() -> None:
    statement, proof = honest()
    refused(proof, shards_of(statement, [[0], [1, 2], [3]]), "in 2 shards, not in 3")
    refused(proof.proofs[0], shards_of(statement, [[0, 2], [1, 3]]), "not in shards, the statement is in 2")
    # The commitments of three shards, of which two are present.
    three = forge_shards(shards_of(statement, [[0, 2], [1], [3]]), PARAMETERS)
    refused(ShardedProof(Joint(three.joint.digests[:2]), three.proofs[:2]), statement, "table 3 is in no shard")


def test_a_shard_is_no_proof_by_itself_nor_the_other_way_round() -> None:
    statement, proof = alone()
    shard = shards_of(statement, [[0, 1], [2, 3]]).statements[0]
    refused(proof.proofs[0], shard, "bytes follow the proof")
    alike = replace(proof.proofs[0], payload=with_separated(contents(proof, statement, 0), [None] * 3))
    refused(alike, shard, "constraints do not hold|proof of work|does not fold|Merkle path")


def test_shards_of_another_run() -> None:
    """With their own digests, or with the digests of the proof that they are put into."""
    free = replace(PARAMETERS, lookup_pow_bits=0)  # so that both have one nonce
    statement = two_statements()
    shares = [[0, 1], [2, 3]]
    proof = forge_shards(shards_of(statement, shares), free)
    other = forge_shards(shards_of(Statement([filled(table.air, 6) for table in statement.tables]), shares), free)
    for made in (proof, other):
        verify(made, statement, security=0)
    with pytest.raises(VerificationError, match=r"shard [01] is of another proof"):
        join([proof.shards[0], other.shards[1]])
    refused(replace(proof, proofs=(proof.proofs[0], other.proofs[1])), statement, "shard 1: not what")
    mixed = Joint((proof.joint.digests[0], other.joint.digests[1]))
    refused(ShardedProof(mixed, (proof.proofs[0], other.proofs[1])), statement, "shard 0: ")


def test_shards_of_another_program() -> None:
    _, proof = alone()
    other = [filled(Sender(f"{bus}{way}", bus, way == "-")) for bus in "ac" for way in "+-"]
    refused(proof, Statement(other), "shard 0: not what the lookup challenges were drawn from")


def test_shards_with_other_parameters() -> None:
    statement, proof = alone()
    grown = replace(PARAMETERS, query_pow_bits=3)
    for changed in (proof.proofs[0], replace(proof.proofs[0], parameters=grown)):
        proofs = (changed, replace(proof.proofs[1], parameters=grown))
        if changed.parameters == grown:
            refused(replace(proof, proofs=proofs), statement, "shard 0: not what")
        else:
            with pytest.raises(ValueError, match="shard 1 has other parameters"):
                replace(proof, proofs=proofs)


def test_shards_with_another_label() -> None:
    statement, proof = alone()
    labelled = replace(proof, proofs=tuple(replace(shard, label="x") for shard in proof.proofs))
    refused(labelled, statement, "shard 0: not what")


def test_shards_in_another_order() -> None:
    """Reordered, and made by a prover that assigns each shard the other's index."""
    statement, proof = alone()
    refused(ShardedProof(Joint(proof.joint.digests[::-1]), proof.proofs[::-1]), statement, "shard 0: not what")
    shards = shards_of(statement, [[0, 1], [2, 3]])
    swapped = forge_shards(
        shards,
        PARAMETERS,
        numbers=[ShardNumber(1, 2), ShardNumber(0, 2)],
        joint=lambda joint: Joint(joint.digests[::-1]),
    )
    refused(ShardedProof(Joint(swapped.joint.digests[::-1]), swapped.proofs), statement, "shard 0: not what")
    refused(ShardedProof(swapped.joint, swapped.proofs), statement, "shard 0: not what")


def test_a_shard_of_another_number() -> None:
    """A prover that proves two shards as shards of three."""
    statement = two_statements()
    shards = shards_of(statement, [[0, 1], [2, 3]])
    forged = forge_shards(shards, PARAMETERS, numbers=[ShardNumber(0, 3), ShardNumber(1, 3)])
    refused(forged, statement, "shard 0: not what")


def test_tables_moved_between_shards() -> None:
    """By changed heads, and by a statement with another assignment of tables."""
    statement, proof = honest()
    said = (1, 2), (0, 3)
    moved = tuple(
        replace(shard, public_values=(tables, *shard.public_values[1:]))
        for shard, tables in zip(proof.proofs, said, strict=True)
    )
    refused(replace(proof, proofs=moved), statement, "shard 0: not what")
    refused(proof, shards_of(statement, [[0, 1], [2, 3]]), "shard 0: table head: the proof states other public values")


def test_a_table_in_two_shards_or_in_none() -> None:
    """Proved that way: a second or missing table that sends changes the statement."""
    tables = two_statements().tables
    twice = in_shards([tables[:2], tables], [[0, 1], [0, 1, 2, 3]], 4)
    proof = forge_shards(twice, PARAMETERS)
    verify(proof, twice, security=0)
    refused(proof, Statement(tables), "table 0 is in two shards")
    fewer = in_shards([tables[:2], tables[:2]], [[0, 1], [0, 1]], 4)
    refused(forge_shards(fewer, PARAMETERS), Statement(tables), "table 0 is in two shards")
    missing = in_shards([tables[:2], tables[2:]], [[0, 1], [2, 3]], 4)
    more = Statement([*tables, filled(Sender("c", "c"))])
    refused(forge_shards(missing, PARAMETERS), more, "table 4 is in no shard")


# Challenges.


def test_challenges_drawn_before_all_have_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """From an invented digest for the last shard, whose tables are then chosen for the challenges."""
    statement = two_statements()
    honestly = transcript.joint_lookup_challenges

    def late(device: Any, state: Challenger, *, layout: Layout, shard: ShardNumber, joint: Joint, nonce: int) -> Any:
        if shard.index == 0:
            return honestly(device, state, layout=layout, shard=shard, joint=joint, nonce=nonce)
        sigma, tau = protocol.draw_lookup_challenges(joint.seed(state.hash), layout.parameters, nonce)
        challenges = transcript.LookupChallenges(lookup_prefixes(layout.tables, sigma, tau), tau)
        return transcript.Drawn(protocol.resume(state, joint.seed(state.hash), nonce), challenges, nonce)

    monkeypatch.setattr(transcript, "joint_lookup_challenges", late)
    shards = shards_of(statement, [[0, 2], [1, 3]])
    forged = forge_shards(shards, PARAMETERS, joint=lambda joint: Joint((joint.digests[0], bytes(32))))
    refused(forged, statement, "shard 1: not what the lookup challenges were drawn from")
    verify_shard(forged.shards[0], shards)  # the shard of an honest prover


def test_every_shard_has_the_same_nonce() -> None:
    """Two passing nonces give different challenges, with shards that balance alone."""
    statement = two_statements()
    shards = shards_of(statement, [[0, 1], [2, 3]])
    _, proof = alone()
    first, second = passing_nonces(proof.joint, 2)
    forged = forge_shards(shards, PARAMETERS, nonces={0: first, 1: second})
    for shard in forged.shards:
        verify_shard(shard, shards)
    refused(forged, statement, "the shards have different nonces")
    verify(forge_shards(shards, PARAMETERS, nonces={0: second, 1: second}), statement, security=0)


def test_the_nonce_is_bound() -> None:
    """Another passing nonce draws other challenges in every shard."""
    statement, proof = alone()
    for nonce in passing_nonces(proof.joint, 2)[1:]:
        changed = with_lookup_nonce(with_lookup_nonce(proof, statement, 0, nonce), statement, 1, nonce)
        refused(changed, statement, "shard 0: ")


@pytest.mark.parametrize("unbound", ["nonce", "seed"])
def test_each_shard_goes_on_with_seed_and_nonce(unbound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prover that omits one is refused: if it could change later, α would not depend on it."""

    def resume(state: Challenger, seed: bytes, nonce: int) -> Challenger:
        own = Challenger(state.hash, protocol.digest_of(state))
        return own.absorb(seed) if unbound == "nonce" else own.absorb_words(nonce)

    monkeypatch.setattr(protocol, "resume", resume)
    statement = two_statements()
    refused(forge_shards(shards_of(statement, [[0, 2], [1, 3]]), PARAMETERS), statement, "shard 0: ")


def test_a_nonce_that_does_not_pass() -> None:
    statement = two_statements()
    _, proof = alone()
    (first,) = passing_nonces(proof.joint, 1)
    wrong = next(nonce for nonce in range(first + 2) if nonce not in passing_nonces(proof.joint, 2))
    refused(
        with_lookup_nonce(with_lookup_nonce(proof, statement, 0, wrong), statement, 1, wrong),
        statement,
        "shard 0: the proof of work before the lookup challenges of all shards",
    )


# The separating point.


@cache
def unlike() -> tuple[Statement, ShardedProof]:
    """Return shards in which all tables of a shard have other columns."""
    tables = [
        filled(Sender(f"{bus}{way}", bus, way == "-"), first) for bus, first in (("a", 5), ("b", 9)) for way in "+-"
    ]
    statement = Statement(tables)
    return statement, forge_shards(shards_of(statement, [[0, 2], [1, 3]]), PARAMETERS)


def test_other_values_at_the_separating_point() -> None:
    """One bit of any value, and values moved to other columns, tables and shards, with the stated digests."""
    statement, proof = unlike()
    batches = [contents(proof, statement, index) for index in range(2)]
    values = separated(batches[0])
    changed = [
        *([*values[:i], flip(own, at), *values[i + 1 :]] for i, own in enumerate(values) for at in (0, len(own) - 1)),
        [values[0], values[2], values[1]],
        [values[1], values[0], values[2]],
        separated(batches[1]),
    ]
    for other in changed:
        assert other != values
        refused(with_payload(proof, 0, with_separated(batches[0], other)), statement, "shard 0: (not what|.*below p)")


def flip(values: bytes, at: int) -> bytes:
    return values[:at] + bytes([values[at] ^ 1]) + values[at + 1 :]


def test_a_shard_without_values_at_the_separating_point() -> None:
    """They are missing, of no tables, of no columns, of too many columns, or in a proof of one shard."""
    statement, proof = honest()
    batch = contents(proof, statement, 0)
    values = separated(batch)
    none = with_separated(batch, [None] * 3)
    refused(with_payload(proof, 0, none), statement, "shard 0: the proof ends inside the values at the separating")
    refused(with_payload(proof, 0, none + b"\0"), statement, "shard 0: the values at the separating point: 0 entries")
    for other in ([b""] * 3, [*values[:2], b""], [*values[:2], values[2] * 2]):
        payload = with_separated(batch, other)
        refused(with_payload(proof, 0, payload), statement, "shard 0: the values at the separating point: [02] entries")
    more = replace(proof.proofs[0], payload=none + b"\0")
    refused(more, shards_of(statement, [[0, 2], [1, 3]]).statements[0], "1 bytes follow the proof")


@pytest.mark.parametrize("device", [None, OnWholeDomain], ids=["on 7·H", "on all of 7·K"])
@pytest.mark.parametrize("lie", ["another value", "swapped tables", "another point"])
def test_a_prover_with_other_values_at_the_separating_point(
    lie: str, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It absorbs the values and goes on with them: only the openings are wrong."""
    statement, _ = unlike()
    shards = shards_of(statement, [[0, 2], [1, 3]])

    def lying(*inputs: Any, **fixed: Any) -> dict[int, bytes]:
        values = honestly(*inputs, **fixed)
        if lie == "swapped tables":
            return values | {1: values[2], 2: values[1]}
        return values | {2: exts_to_words([ext_add(words_to_exts(values[2])[0], AMOUNT)])}

    def elsewhere(state: Challenger) -> tuple[Challenger, Ext]:
        state, point = drawn(state)
        return state, ext_add(point, AMOUNT)

    honestly, drawn = separation.separated_values, protocol.draw_separating_point
    if lie == "another point":
        monkeypatch.setattr(protocol, "draw_separating_point", elsewhere)
    else:
        monkeypatch.setattr(separation, "separated_values", lying)
    given = {index: device() for index in range(2)} if device else None
    forged = forge_shards(shards, PARAMETERS, given)
    refused(forged, statement, "shard 0: (a query does not fold|the commitment of fold)")


@pytest.mark.parametrize("when", ["never", "after"])
def test_values_that_are_absorbed_after_the_joint_challenges(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest of such a shard does not bind them, so a prover could choose them for σ and τ."""
    statement = two_statements()
    taken: dict[bytes, list[bytes]] = {}

    def later(state: Challenger, values: Any) -> Challenger:
        taken[state.pending] = list(values)
        return state

    def resume(state: Challenger, seed: bytes, nonce: int) -> Challenger:
        after = resumed(state, seed, nonce)
        return absorb(after, taken[state.pending]) if when == "after" else after

    absorb, resumed = protocol.absorb_separated, protocol.resume
    monkeypatch.setattr(protocol, "absorb_separated", later)
    monkeypatch.setattr(protocol, "resume", resume)
    forged = forge_shards(shards_of(statement, [[0, 2], [1, 3]]), PARAMETERS)
    refused(forged, statement, "shard 0: not what the lookup challenges were drawn from")


def test_the_point_depends_on_all_that_a_shard_commits_to() -> None:
    """The number of the shard and of all shards, the statement, the label, the columns and the public values."""
    points = set()
    shares = [[0, 2], [1, 3]]
    tables = two_statements().tables
    others = [*tables[:2], filled(tables[2].air, 6), tables[3]]
    for statement, places in (
        (Statement(tables), [ShardNumber(0, 2), ShardNumber(1, 2)]),
        (Statement(tables), [ShardNumber(1, 2), ShardNumber(0, 2)]),
        (Statement(tables), [ShardNumber(0, 3), ShardNumber(1, 3)]),
        (Statement(tables, "label"), [ShardNumber(0, 2), ShardNumber(1, 2)]),
        (Statement(others), [ShardNumber(0, 2), ShardNumber(1, 2)]),
    ):
        points.add(drawn_by(shards_of(statement, shares), places))
    assert len(points) == 5


def drawn_by(shards: ShardedStatement, numbers: Sequence[ShardNumber]) -> Ext:
    """Return the separating point of the first shard."""
    points = []
    drawn = protocol.draw_separating_point

    def noted(state: Challenger) -> tuple[Challenger, Ext]:
        state, point = drawn(state)
        points.append(point)
        return state, point

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "draw_separating_point", noted)
        with suppress(transcript.OtherShard):  # the digests are in the order of the shards' own numbers
            forge_shards(shards, PARAMETERS, numbers=numbers)
    return points[0]


def test_a_graph_of_a_shard_has_the_layout_of_one() -> None:
    statement, proof = honest()
    layout = layout_of_proof(proof.proofs[0], shards_of(statement, [[0, 2], [1, 3]]).statements[0], shard=False)
    graph = proof_graph.Graph(None, "test", [], ShardNumber(0, 2))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a layout of a shard"):
        proof_graph.begin(graph, layout, "", {}, {}, [])


# Balance.


@pytest.mark.parametrize("place", ["accumulator", "last step", "fraction", "nowhere"])
def test_forged_terminals_that_cancel(place: str) -> None:
    """One shard's terminal is increased, another's decreased equally, with any compensation in the columns."""
    statement = two_statements()
    devices = {0: OtherLookups("a+", AMOUNT, place), 1: OtherLookups("a-", ext_neg(AMOUNT), place)}
    forged = forge_shards(shards_of(statement, [[0, 2], [1, 3]]), PARAMETERS, devices)
    refused(forged, statement, "shard 0: table a.: the constraints do not hold")


def test_a_terminal_forged_so_that_a_false_statement_balances() -> None:
    """Only in the last shard, by the missing amount; the others are honest."""
    tables = list(two_statements().tables)
    tables[3] = filled(tables[3].air, 6)
    shards = shards_of(Statement(tables), [[0, 2], [1, 3]])
    refused(forge_shards(shards, PARAMETERS), Statement(tables), "the buses do not balance")


def test_counts_are_bounded_over_all_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each shard has fewer messages than the field has elements, but both together do not."""
    statement, proof = honest()
    shards = shards_of(statement, [[0, 2], [1, 3]])
    verify_shards(proof, shards, security=0)
    monkeypatch.setattr("graphprover.air.description.P", 9)  # 8 messages in each shard
    for shard in proof.shards:
        verify_shard(shard, shards)
    refused(proof, shards, "up to 16 messages may be looked up")


# Heads.


def without_numbers(shards: Sequence[Sequence[AirDescription]]) -> list[list[tuple[str, int]]]:
    """Return heads that number the buses of each shard separately."""
    return [[("unused", 1)] for _ in shards]


@pytest.mark.parametrize(("sends", "receives"), [(None, None), ("a", "b"), (None, "b")])
def test_what_is_missing_in_one_shard_is_not_made_up_for_in_another(
    sends: str | None, receives: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sent locally or on one bus, received locally or on another: with equal numbers they would cancel."""
    statement = Statement([filled(Sender("one", sends)), filled(Sender("two", receives, True))])
    shards = shards_of(statement, [[0], [1]])
    refused(forge_shards(shards, PARAMETERS), statement, "the buses do not balance")
    with monkeypatch.context() as patch:
        patch.setattr(sharded_statements, "_buses", without_numbers)
        forged = forge_shards(shards_of(statement, [[0], [1]]), PARAMETERS)
        verify(forged, statement, security=0)  # a verifier with such heads
    refused(forged, statement, r"shard [01]: (not what|the openings of table head)")


@pytest.mark.parametrize("names", ["ac", "ba"])
def test_heads_with_other_buses(names: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With other names, or in another order, in all shards."""
    statement = two_statements()
    with monkeypatch.context() as patch:
        patch.setattr(sharded_statements, "_buses", lambda shards: [[(name, 1) for name in names] for _ in shards])
        forged = forge_shards(shards_of(statement, [[0, 2], [1, 3]]), PARAMETERS)
    refused(forged, statement, "shard 0: not what")


def test_what_comes_has_the_same_verdict() -> None:
    statement, proof = honest()
    assert verified_as_it_comes(proof, statement) == verify(proof, statement, security=0)
    shards = shards_of(statement, [[0, 2], [1, 3]])
    assert verified_as_it_comes(proof, shards) == verify(proof, shards, security=0)


def test_a_shard_that_comes_with_another_header() -> None:
    statement, proof = honest()
    other = replace(proof.proofs[1], public_values=((0, 2), *proof.proofs[1].public_values[1:]))
    headers = replace(proof, proofs=tuple(replace(shard, payload=b"") for shard in proof.proofs))
    for wrong in (other, proof.proofs[0]):
        with pytest.raises(VerificationError, match="shard 1: its header is not what it has committed to"):
            expect(headers, statement, security=0).check(1, wrong)
    with pytest.raises(VerificationError, match="shard 0: "):
        expect(headers, statement, security=0).check(0, headers.proofs[0])


def test_a_level_that_is_not_there_is_refused_before_the_proof_comes() -> None:
    statement, proof = honest()
    with pytest.raises(VerificationError, match="provable bits"):
        expect(proof, statement)


def test_a_head_that_sends() -> None:
    """The head's column is constrained to zeros."""
    tables = list(two_statements().tables)
    shards = shards_of(Statement([*tables[:3], filled(tables[3].air, 6)]), [[0, 2], [1, 3]])
    head, *others = shards.statements[1].tables
    sending = replace(head, main=np.ones((1, 4), dtype=np.uint64))
    forged = forge_shards(ShardedStatement((shards.statements[0], Statement([sending, *others]))), PARAMETERS)
    with pytest.raises(VerificationError, match="shard 1: table head: the constraints do not hold"):
        verify_shard(forged.shards[1], shards)


def test_a_proof_without_a_head(monkeypatch: pytest.MonkeyPatch) -> None:
    statement, proof = honest()
    cut = tuple(
        replace(shard, log_heights=shard.log_heights[1:], public_values=shard.public_values[1:])
        for shard in proof.proofs
    )
    refused(replace(proof, proofs=cut), statement, "it has one table or more")
    empty = tuple(replace(shard, log_heights=(), public_values=()) for shard in proof.proofs)
    refused(replace(proof, proofs=empty), statement, "it has one table or more")
