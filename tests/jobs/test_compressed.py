"""Provers that compress: a device's proof and its layer as one job, refused early if it cannot be done."""

import pickle
import struct
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from graphprover import CompressedProof, Job, Proof, Prover, VerificationError, observed
from graphprover.device.choose import device_for
from graphprover.graphs.planner.trees import best_trees, tree_with
from graphprover.jobs import job as job_module
from graphprover.jobs.existing import check_existing, valid_existing
from graphprover.jobs.made import made
from graphprover.jobs.returned import check_returned
from graphprover.proof.compressed import Accepted
from graphprover.protocol.goal import Goal
from graphprover.protocol.level import COMPRESSED_POW_BITS
from graphprover.protocol.security import QUERY_POW_BITS
from graphprover.prover import layer_tree, layers
from graphprover.prover import local as making
from graphprover.prover.made import Made
from graphprover.prover.prepare import Prepared
from graphprover.prover.tree_choice import target_of
from graphprover.proving.executor import executor_of
from graphprover.proving.prove import _Statement
from graphprover.recursion.head.head import _template
from graphprover.telemetry.observation import Observation
from graphprover.verifier import expect, verify_header
from graphprover.verifier.layer_key import LayerStatement
from graphprover.verifier.pool import Checkers
from tests.conftest import ROOT

GUEST = ROOT / "examples/guests/fib_iterative.elf"
FEW: dict[str, Any] = {"security": 20.0, "rate": 8, "pow_bits": 4, "device": "cpu"}  # the layer at 1/2 is quick
INPUT = struct.pack("<Q", 10)


def prover(**options: Any) -> Prover:
    return Prover(GUEST, **FEW | {"compress": 2} | options)


@dataclass(frozen=True)
class Watched:
    """A job's proof, with its progress and observations."""

    made: Made
    told: list[str]  # names of tasks, in the order in which they begin
    seen: list[Observation]


@pytest.fixture(scope="module")
def watched() -> Watched:
    told = list[str]()
    _template.cache_clear()
    with observed() as seen:
        done, _ = executor_of("threads", "cpu").prove(
            prover().job(INPUT, "ten"), lambda ended, total, task: told.append(task)
        )
    assert _template.cache_info().misses == 1, "the template of heads is made once"
    return Watched(done, told, seen)


@pytest.fixture(scope="module")
def proof(watched: Watched) -> CompressedProof:
    assert isinstance(watched.made.proof, CompressedProof)
    return watched.made.proof


def test_a_prover_compresses(proof: CompressedProof, watched: Watched) -> None:
    result = watched.made
    plain = prover(compress=False)
    base = plain.prove(INPUT)
    assert isinstance(base, Proof) and replace(base, payload=b"") == proof.header
    assert len(proof.layers) == 1 and proof.layer.parameters.log_blowup == 1
    assert prover().verify(proof).claim == plain.verify(base).claim == plain.verify(proof.to_bytes()).claim
    assert result.base_bytes == base.size
    assert (
        list(result.seconds) == ["prepare", "wait", "prove", "compress", "verify"] and min(result.seconds.values()) > 0
    )
    assert result.preprocessed_caps is not None
    # By another process, as beside a batch's other proofs.
    check = prover().check_elsewhere
    assert check is not None
    with Checkers(1) as pool:
        while not (answer := pool.start(check, proof, result.preprocessed_caps)):
            time.sleep(0.05)
        assert answer.result().seconds > 0


def test_the_layer_is_named(watched: Watched) -> None:
    told, (whole,) = watched.told, watched.seen
    first = next(number for number, task in enumerate(told) if task.startswith("layer 1: "))
    assert first and all(task.startswith("layer 1: ") or not task for task in told[first:])
    assert not any(task.startswith("layer") for task in told[:first])
    (layer,) = whole.layers
    assert (whole.name, layer.name, whole.layer, layer.layer) == ("ten", "ten: layer 1", 0, 1)
    assert {stage.name for stage in whole.stages} == {"prepare", "wait", "prove", "verify"}
    assert {stage.name for stage in layer.stages} == {"prepare", "wait", "prove"}
    assert layer.began >= whole.began and "machine" in " ".join(table.name for table in layer.tables)
    assert watched.made.observation == whole


def test_it_travels() -> None:
    there = pickle.loads(pickle.dumps(prover(compress=True).job(INPUT)))
    assert there.prover.layers == Goal(pow_bits=4)
    assert "by layers chosen for fast" in prover(compress=True)._repr_html_()
    assert "by layers at 1/8, 1/64" in prover(compress=(8, 64))._repr_html_()


def test_bases_have_the_compact_layout_and_the_rate_of_the_best_tree() -> None:
    data = struct.pack("<Q", 3000)

    def prepared(**options: Any) -> Prepared:
        found = Prover(GUEST, device="cpu", **options).prepare(data)
        assert isinstance(found, Prepared)
        return found

    compact = prepared(rate=8)
    assert len(prepared(rate=2).layout.tables) > len(compact.layout.tables)
    shapes = ((compact.layout.tables, compact.layout.log_heights),)
    target = target_of(device_for("cpu"))
    for options in ({}, {"compress": "small"}, {"compress": "3.5s"}, {"rate": 2}, {"compress": (4, 8)}):
        asked = {"compress": True} | options
        found, own = prepared(**asked).layout, Prover(GUEST, device="cpu", **asked)
        assert (found.tables, found.log_heights) == shapes[0]
        best = (
            best_trees(shapes, own.level, own.layers, target)[0]
            if isinstance(own.layers, Goal)
            else tree_with(shapes, own.level, own.layers, target)
        )
        assert 1 << found.parameters.log_blowup == best.base.rate == options.get("rate", best.base.rate)
        assert found.parameters.query_pow_bits == best.base.pow_bits


def test_layers_have_lower_rates_than_bases() -> None:
    own = prover(compress=(128, 256), device="cpu")
    proof = prover(compress=False).prove(INPUT)
    assert isinstance(proof, Proof)
    for level, log_blowup in zip(own.layers, (7, 8), strict=True):
        subjects = layers.subjects_of(proof, [own.program.statement_of(proof)], level)
        parameters = layers.LayerJob(tuple(subjects), level).prepare().layout.parameters
        assert parameters.log_blowup == log_blowup
        assert LayerStatement([16] * 3).preprocessed_cap(parameters)
    with pytest.raises(ValueError, match=r"rate 1/128: choose 1/2, .* or 1/64"):
        prover(rate=128)


def test_work_has_the_default_of_compressed_proofs() -> None:
    for compress, bits in ((False, QUERY_POW_BITS), (16, COMPRESSED_POW_BITS)):
        own = Prover(GUEST, compress=compress)
        assert isinstance(own.layers, tuple) and own.level.pow_bits == bits and len(own.layers) == bool(compress)
        assert all(layer.pow_bits == bits for layer in own.layers)
    assert [Prover(GUEST, compress=True, **of).layers for of in ({}, {"pow_bits": 9})] == [Goal(), Goal(pow_bits=9)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hash": "keccak"}, "prove with --hash blake3"),
        ({"compress": 3}, "rate 1/3: choose 1/2, .* or 1/256"),
        ({"compress": "tiny"}, "'tiny': expected fast, small, a time as 2.5s"),
        ({"compress": "-1s"}, "'-1s': expected fast"),
        ({"compress": 1}, "rate 1/1: choose"),
        ({"compress": (8, 3)}, "rate 1/3: choose"),
        ({"compress": (2,) * 17}, "at most 16 layers, not 17"),
    ],
)
def test_what_cannot_be_compressed_is_refused_at_once(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        prover(**options)


def test_a_compressed_proof_is_no_graph() -> None:
    with pytest.raises(ValueError, match="no single graph"):
        prover().graph(INPUT)


WITHOUT_LOOKUPS = """\
from graphprover import Air

class Zero(Air):
    columns = ("zero",)

    def define(self, t):
        t.every_row(t.zero)

def tables():
    return [Zero()]

def prove_inputs(data):
    return [(Zero().zeros(16)[0], [])]

def describe(public_values):
    return {}
"""


def test_a_layout_that_no_layer_is_about_is_refused_before_the_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "zero.py").write_text(WITHOUT_LOOKUPS)
    monkeypatch.setattr(job_module, "make", lambda *given, **named: pytest.fail("a proof is made"))
    with pytest.raises(ValueError, match="no table has lookups"):
        Prover(tmp_path / "zero.py", security=20, compress=True, device="cpu").prove()


def test_an_existing_proof_is_kept_if_it_is_compressed_as_asked(
    proof: CompressedProof, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = prover(compress=False)
    base = plain.prove(INPUT)
    monkeypatch.setattr(making, "prove_shards", lambda *given, **named: pytest.fail("a proof is made"))

    def found(own: Prover, existing: bytes) -> Made | str:
        job = own.job(INPUT, existing=existing)
        try:
            assert check_existing(job)
        except VerificationError as error:
            assert valid_existing(job) is None
            return str(error)
        return made(job)

    for own in (prover(), prover(compress=16), prover(rate=2)):  # an existing proof may have other rates
        kept = found(own, proof.to_bytes())
        assert isinstance(kept, Made) and kept.kept and kept.proof == proof
    assert found(prover(), base.to_bytes()) == "the proof is not compressed"
    assert found(plain, proof.to_bytes()) == "the proof is compressed, which was not asked for"
    assert "ends inside" in str(found(prover(), proof.to_bytes()[:100]))


def test_a_workers_proof_must_be_the_one_that_was_asked_for(proof: CompressedProof) -> None:
    claim = prover().verify(proof).claim
    statement = prover().program.statement_of(proof.header, coming=True)
    assert verify_header(proof, statement, 20).bits >= 20
    weak = replace(proof.layer, parameters=replace(proof.layer.parameters, num_queries=1, query_pow_bits=0))
    with pytest.raises(VerificationError, match="layer: the proof has"):
        verify_header(CompressedProof(proof.children, weak), statement, 20)
    check_returned(Job(prover(), INPUT), proof, claim)
    more = CompressedProof((Accepted(replace(proof.layer, payload=b""), proof.children),), proof.layer)
    for own, given, words in (
        (prover(compress=False), proof, "is compressed, which was not asked for"),
        (prover(), prover(compress=False).prove(INPUT), "not compressed"),
        (prover(compress=8), proof, "has not the layers at 1/8, which were"),
        (prover(), more, "has not the layers at 1/2,"),
    ):
        with pytest.raises(VerificationError, match=words) as refused:
            check_returned(Job(own, INPUT), given, claim)
        assert refused.value.rule == "asked.compressed"
    check_returned(Job(prover(compress=8), INPUT), proof, claim, kept=True)
    prepared = prover(compress=False).prepare(INPUT)
    subject = _Statement(prepared, lambda headers: expect(headers, statement, 20))
    with subject.for_workers() as parts, pytest.raises(VerificationError, match="not asked for"):
        parts.verify(proof)


def test_too_little_room_is_said_before_the_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        job_module, "check_room", lambda path, size: (_ for _ in ()).throw(MemoryError(f"{path.name} {size}"))
    )
    monkeypatch.setattr(layer_tree, "make", lambda *given, **named: pytest.fail("a layer is made"))
    with pytest.raises(MemoryError, match=r"small\.bin \d+"):
        made(prover().job(INPUT, output=tmp_path / "small.bin"))
