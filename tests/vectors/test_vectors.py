"""The test vectors: their values follow from the documents, and the package gives the same values and verdicts."""

import json
from dataclasses import asdict, replace
from math import inf, isclose
from pathlib import Path
from typing import Any

import pytest

from graphprover import VerificationError
from graphprover.field import ext_add, ext_pow
from graphprover.proof.proof import Proof
from graphprover.proof.sharded import ShardedProof, proof_from_bytes
from graphprover.proof.sizes import security_of
from graphprover.protocol.joint import Joint, shard_binding
from graphprover.protocol.lookup import max_tuple_width
from graphprover.protocol.proof import decode
from graphprover.protocol.security import analyse, choose, shape_of
from graphprover.protocol.verification import replay
from graphprover.statement.statement import Statement, Table, binding_digest, description_digest
from graphprover.verifier import verify_header
from graphprover.verifier.headers import layouts_of_proof, statements_of
from graphprover.vm.statement.guest import Guest
from graphprover.vm.statement.key import MalformedKey
from tests.protocol import vectors as plonky3
from tests.protocol.section_7 import challenges
from tests.protocol.section_12 import Reader, payload
from tests.protocol.security_page import level
from tests.vectors import FOLDER, Described, annotated, contents, guest, independent, judge, refused, statement_of

PROOFS = contents("vectors.json")["proofs"]
REFUSED = contents("refused.json")["refused"]
PAGE = Path(__file__).parents[2] / "docs" / "annotated_proof.md"


def names(entries: list[dict[str, Any]]) -> list[str]:
    return [Path(entry.get("file") or [*entry.get("files", ()), entry.get("key", "")][0]).stem for entry in entries]


@pytest.mark.parametrize("entry", PROOFS, ids=names(PROOFS))
def test_values_follow_from_the_documents(entry: dict[str, Any]) -> None:
    found = independent.values(entry)
    assert found == {name: entry[name] for name in found}


@pytest.mark.parametrize("entry", PROOFS, ids=names(PROOFS))
def test_the_package_accepts_the_proofs_with_these_values(entry: dict[str, Any]) -> None:
    verdict = judge(entry)
    proof = proof_from_bytes((FOLDER / entry["file"]).read_bytes())
    statement = statement_of(entry, proof)
    layouts = layouts_of_proof(proof, statement)
    hash = proof.parameters.hash
    if proof.joint:
        assert proof.joint.seed(hash).hex() == entry["joint_seed"]
    both = zip(proof.proofs, layouts, statements_of(proof, statement), entry["shards"], strict=True)
    for index, (own, layout, of_shard, values) in enumerate(both):
        cap = of_shard.preprocessed_cap(own.parameters)
        binding = binding_digest(layout, own.label, cap)
        start = shard_binding(hash, binding, len(proof.proofs), index) if proof.joint else binding
        batch = decode(own.payload, layout)
        part = proof.joint.part(index, hash, batch.lookup_nonce) if proof.joint else None
        found = replay(layout, batch, own.public_values, cap, start, part)
        assert [description_digest(air, hash).hex() for air in layout.tables] == values["descriptions"]
        assert (b"".join(cap or ()).hex(), binding.hex()) == (values["preprocessed_cap"], values["binding"])
        assert start.hex() == values["start"]
        sigma, tau = tuple(values["sigma"]), tuple(values["tau"])
        prefix = next(prefixes[0] for prefixes in found.prefixes if prefixes)  # of the first lookup: number 0
        assert prefix == ext_add(sigma, ext_pow(tau, max_tuple_width(layout.tables)))
        assert list(found.separating) == values.get("separating", [0, 0, 0])
        assert (found.tau, found.alpha) == (tau, tuple(values["alpha"]))
        assert (found.zeta, found.gamma) == (tuple(values["zeta"]), tuple(values["gamma"]))
        assert found.betas == [tuple(beta) for beta in values["betas"]]
        assert found.queries.tolist() == values["queries"]
    _same_security(entry["security"], verdict.security)
    assert security_of(*layouts) == verdict.security


@pytest.mark.parametrize("name", plonky3.NAMES)
def test_challenges_and_level_of_plonky3s_proofs_follow_from_the_documents(name: str) -> None:
    vector = plonky3.load(name)
    stated = json.loads((plonky3.FOLDER / name / "statement.json").read_text())
    found = replay(vector.layout, vector.proof, vector.public_values, vector.cap, vector.binding)
    own = challenges(stated, payload(Reader(vector.payload), stated), vector.binding, b"".join(vector.cap or ()))
    assert (list(found.alpha), list(found.zeta), list(found.gamma)) == (own["alpha"], own["zeta"], own["gamma"])
    assert [list(beta) for beta in found.betas] == own["betas"] and found.queries.tolist() == own["queries"]
    _same_security(level([stated]), security_of(vector.layout))


def _same_security(stated: dict[str, dict[str, float]], found: Any) -> None:
    assert stated["johnson"]["m"] == found.johnson.multiplicity
    for radius, regime in (("unique", found.unique), ("johnson", found.johnson)):
        rounds = {one.name: one.bits for one in regime.rounds if one.bits < inf}  # by which no challenge is bad
        assert {*rounds} == {*stated[radius]} - {"m"}
        assert all(isclose(bits, stated[radius][name], abs_tol=1e-5) for name, bits in rounds.items())


@pytest.mark.parametrize("log_blowup", [1, 3])
@pytest.mark.parametrize("count", [1, 2, 8, 64])
def test_the_level_of_many_shards_follows_from_the_documents(count: int, log_blowup: int) -> None:
    """At the parameters chosen for shards like a proof of Plonky3's: 128 bits, and less with one query less."""
    folder = plonky3.FOLDER / "mixed"
    stated = json.loads((folder / "statement.json").read_text())
    layout = plonky3.load("mixed").layout
    shapes = [shape_of(layout.tables, layout.log_heights, log_blowup)] * count
    chosen = choose(shapes, 128, log_blowup)
    for queries in (chosen.num_queries, chosen.num_queries - 1):
        parameters = replace(chosen, num_queries=queries)
        found = level([stated | {"parameters": asdict(parameters)}] * count)
        bits = max(min(of for name, of in rounds.items() if name != "m") for rounds in found.values())
        assert (bits >= 128) == (queries == chosen.num_queries)
        _same_security(found, analyse(shapes, parameters))


@pytest.mark.parametrize("entry", REFUSED, ids=names(REFUSED))
def test_the_package_refuses_by_the_stated_rule(entry: dict[str, Any]) -> None:
    with pytest.raises((VerificationError, MalformedKey)) as raised:
        judge(entry)
    assert raised.value.rule == entry["rule"], str(raised.value)


def test_every_file_is_listed_and_all_are_small() -> None:
    listed = {
        entry[name] for entry in PROOFS + REFUSED for name in ("file", "key", "program", "statement") if name in entry
    }
    listed |= {name for entry in REFUSED for name in entry.get("files", ())}
    listed |= {annotated.FILE, annotated.STATEMENT, "vectors.json", "refused.json"}
    files = {path.relative_to(FOLDER).as_posix(): path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()}
    assert {name for name in files if not name.endswith((".py", ".pyc"))} == listed
    assert sum(files[name] for name in listed) < 1_000_000


@pytest.mark.parametrize("name", ["vectors.json", "refused.json"])
def test_the_lists_are_json(name: str) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    json.loads((FOLDER / name).read_text(), parse_constant=refuse)


def test_the_annotated_proof_is_current() -> None:
    assert PAGE.read_text() == annotated.page()


def test_the_guest_is_the_program_of_its_key() -> None:
    (entry, *_) = (one for one in PROOFS if "program" in one)
    program: Guest = guest(entry["program"])
    assert program.program_hash == entry["guest"]["program_hash"]
    assert guest(entry["key"]).key().hash.hex() == entry["guest"]["key_hash"]


def test_counts_of_all_shards_are_bounded_by_their_headers() -> None:
    """Two shards, each of fewer than p tuples, are refused before a payload is read."""
    (_, own) = contents("statements/counts.json")["tables"]
    table = own | {"air": own["air"] | {"locals": own["air"]["locals"][:1]}}
    statement = Statement([Table(Described(table), None)] * 2)

    def headers(log_rows: int) -> ShardedProof:
        given = [Proof("", refused.SMALL, (4, log_rows), ((index,), (0,)), b"") for index in range(2)]
        return ShardedProof(Joint((bytes(32),) * 2), tuple(given))

    verify_header(headers(30), statement, 0)
    with pytest.raises(VerificationError) as raised:
        verify_header(headers(31), statement, 0)
    assert raised.value.rule == "layout.counts"
