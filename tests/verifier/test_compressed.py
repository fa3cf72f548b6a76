"""Compressed proofs are accepted for the claim of their base alone, and malformed or foreign ones refused by a rule."""

import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from graphprover import (
    CompressedProof,
    Proof,
    Prover,
    VerificationError,
    compress,
    load_proof,
    verify,
    verify_aggregate,
)
from graphprover.proof.compressed import MOST_LAYERS, Accepted, any_proof_from_bytes
from graphprover.proof.sharded import proof_from_bytes
from graphprover.protocol.layout import make_layout
from graphprover.protocol.parameters import KECCAK
from graphprover.protocol.security import JOHNSON_PROXIMITY, UNIQUE_PROXIMITY
from graphprover.prover import layers
from graphprover.recursion.head.entries import ENTRIES
from graphprover.recursion.layer_tables import layer_tables, merged_table
from graphprover.recursion.program.verifier import verifier_program
from graphprover.recursion.witness.run import Contradiction
from graphprover.runtime.files import COMPRESSED_MAGIC
from graphprover.statement.statement import Statement, Table
from graphprover.verifier import shards, verify_header
from graphprover.verifier.compressed import child_of, expect_headers, heads_of_headers
from graphprover.verifier.layer_commitments import COMMITMENTS
from graphprover.verifier.layer_key import LayerStatement, commitments
from tests.conftest import LAYERS_AT, ROOT
from tests.test_must_fail import numbers

BITS = 20.0  # little security, so that proofs are short
PROVER = Prover(ROOT / "examples/guests/fib_iterative.elf", rate=8, security=BITS, pow_bits=4, device="cpu")


@cache
def base(turns: int = 10) -> Proof:
    proof = PROVER.prove(struct.pack("<Q", turns))
    assert isinstance(proof, Proof)
    return proof


@cache
def compressed(turns: int = 10) -> CompressedProof:
    proof = base(turns)
    statement = PROVER.program.statement_of(proof)
    return compress(proof, statement, security=BITS, rate=LAYERS_AT, pow_bits=4, device="cpu")


def chain(base: Proof, layers: Sequence[Proof]) -> CompressedProof:
    """Return a compressed proof with one layer about another."""
    found = Accepted(base)
    for layer in layers[:-1]:
        found = Accepted(layer, (found,))
    return CompressedProof((found,), layers[-1])


def changed(
    proof: CompressedProof, base: Proof | None = None, layers: Sequence[Proof] | None = None
) -> CompressedProof:
    """Return a compressed proof with another base or other layers."""
    return chain(base or proof.header, layers or proof.layers)


def test_a_compressed_proof_has_the_claim_of_its_base(tmp_path: Path) -> None:
    proof, expected = compressed(), PROVER.verify(base())
    verdict = PROVER.verify(proof)
    assert verdict.claim == expected.claim and verdict.claim and verdict.claim.exit_code == 0
    assert verdict.public_values == expected.public_values and verdict.log_heights == expected.log_heights
    assert expected.bits >= verdict.bits >= BITS
    assert PROVER.key().verify(proof.to_bytes(), BITS).claim == verdict.claim
    assert any_proof_from_bytes(proof.to_bytes()) == proof
    proof.save(tmp_path / "small.bin")
    assert CompressedProof.load(tmp_path / "small.bin") == proof
    assert len(proof.to_bytes()) == proof.size
    assert "Compressed proof of 'fib" in repr(proof) and "layer" in proof._repr_html_()


def test_another_header_has_another_head() -> None:
    good = compressed()
    header = good.header

    def with_value(table: int, at: int) -> Proof:
        values = [*map(list, header.public_values)]
        values[table][at] += 1
        return replace(header, public_values=tuple(map(tuple, values)))

    def with_parameter(name: str) -> Proof:
        parameters = header.parameters
        return replace(header, parameters=replace(parameters, **{name: getattr(parameters, name) + 1}))

    output = next(i for i, values in enumerate(header.public_values) if i and values)
    others = [with_value(output, 2), with_value(0, 0), replace(header, label="x" + header.label)]
    others += [with_parameter(name) for name in ("log_blowup", "num_queries", "query_pow_bits")]
    for other in others:
        with pytest.raises(VerificationError, match=r"^layer: .* other public values"):
            PROVER.verify(changed(good, base=other), exit_code="any")
    statement = PROVER.program.statement_of(base()).statements[0]  # the machine refuses most other heights before
    cap = statement.preprocessed_cap(header.parameters)
    digests = set()
    for at in range(-1, len(header.log_heights)):
        heights = [log + (i == at) for i, log in enumerate(header.log_heights)]
        layout = make_layout(statement.descriptions, heights, header.parameters)
        digests.add(heads_of_headers([child_of(header, layout, cap)]).digest)
    assert len(digests) == 1 + len(header.log_heights)


def test_tables_without_a_machine_can_be_compressed() -> None:
    tables = Prover("examples/memory", security=BITS, rate=8, pow_bits=4, device="cpu")
    proof, statement = tables.prove(), tables.program.statement()
    assert statement and isinstance(proof, Proof)
    small = compress(proof, statement, security=BITS, rate=LAYERS_AT, pow_bits=4, device="cpu")
    assert tables.verify(small).public_values == tables.verify(proof).public_values
    with pytest.raises(VerificationError):
        tables.verify(changed(small, base=compressed().header))


def test_a_layer_about_another_base_or_with_other_tables_is_refused() -> None:
    good, other = compressed(), compressed(11)
    layer = good.layer
    with pytest.raises(VerificationError, match=r"^layer: .*other public values"):
        PROVER.verify(changed(good, layers=other.layers))
    stated = replace(other.layer, public_values=layer.public_values)  # other than it was proved with
    heights = [
        tuple(log + (i == at) for i, log in enumerate(layer.log_heights)) for at in range(len(layer.log_heights))
    ]
    *taller, of_fixed = (replace(layer, log_heights=of_layer) for of_layer in heights)
    flipped = bytearray(layer.payload)
    flipped[len(flipped) // 2] ^= 1
    fewer = replace(layer, log_heights=layer.log_heights[:-1], public_values=layer.public_values[:-1])
    # Another transcript: by chance, one of 16 has the work, and then fails at another point.
    drawn = "(the proof of work before the queries misses its 4 bits|table blake3: the constraints do not hold)"
    for false, why in (
        (stated, drawn),
        *((own, "the fold commitments: 3 entries where this statement has 4") for own in taller),
        (of_fixed, "table fixed: not as tall as its preprocessed columns"),
        (fewer, "the proof is of 2 tables, the statement of 3"),
        (replace(layer, label="x"), drawn),
        (base(), "the proof is of 10 tables, the statement of 3"),
        (replace(layer, payload=base().payload), "the openings: 10 entries where this statement has 3"),
        (replace(layer, payload=bytes(flipped)), "the quotient commitment: a Merkle path does not end in the cap"),
    ):
        with pytest.raises(VerificationError, match=f"^layer: {why}"):
            PROVER.verify(changed(good, layers=(false,)))


def test_both_proofs_need_the_security() -> None:
    good, statement = compressed(), PROVER.program.statement_of(base())
    for security in (60, 128):
        with pytest.raises(VerificationError, match=r"^the proof has 20\.5 provable bits at most; ") as refused:
            verify(good, statement, security)
        assert refused.value.rule == "security.level"
    weak = compress(base(), statement, security=10, rate=LAYERS_AT, pow_bits=0, device="cpu")
    assert verify(weak, statement, 10).bits < BITS
    with pytest.raises(VerificationError, match=r"^layer: the proof has 1\d\.\d provable bits at most; 20 ") as refused:
        verify(weak, statement, BITS)
    assert refused.value.rule == "security.level"


UNIQUE = 13.0  # bits by unique decoding that a base and a layer have
ASKS: tuple[Callable[..., object], ...] = (verify, verify_header)


def of_queries(layer: Proof, queries: int) -> Proof:
    """Return a layer with another number of queries in its header."""
    return replace(layer, parameters=replace(layer.parameters, num_queries=queries))


def with_inner(queries: int) -> CompressedProof:
    """Return a compressed proof with a layer of a number of queries inside, whose last layer states the right heads."""
    good, statement = compressed(), PROVER.program.statement_of(base())
    inner = replace(of_queries(good.layer, queries), payload=b"")
    whole = changed(good, layers=(inner, good.layer))
    stated = expect_headers(whole, [statement], 0, JOHNSON_PROXIMITY).statement
    values = tuple(tuple(table.public_values or ()) for table in stated.tables)
    return changed(good, layers=(inner, replace(good.layer, public_values=values)))


@pytest.fixture
def any_payload(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept the payload of any last layer, as if its prover had made it about the heads that it states."""
    monkeypatch.setattr(shards, "check_shard", lambda *given: None)


@pytest.mark.parametrize("ask", ASKS)
def test_each_proof_needs_the_security_that_counts(ask: Callable[..., object], any_payload: None) -> None:
    """By unique decoding, of which the bound on the level before any head is made knows nothing."""
    good, statement = compressed(), PROVER.program.statement_of(base())
    ask(good, statement, UNIQUE, UNIQUE_PROXIMITY)
    ask(with_inner(17), statement, UNIQUE, UNIQUE_PROXIMITY)
    for proof, security, name in (
        (good, 14, ""),  # of the base
        (changed(good, layers=(of_queries(good.layer, 12),)), UNIQUE, "layer: "),
        (with_inner(12), UNIQUE, "layer 1: "),
    ):
        why = rf"^{name}the proof has 1\d\.\d provable bits by unique decoding; {security:g} were asked for"
        with pytest.raises(VerificationError, match=why):
            ask(proof, statement, security, UNIQUE_PROXIMITY)
        if name != "layer: ":  # whose payload has more queries
            ask(proof, statement, security)


def test_the_security_is_the_lowest_one_of_all_proofs(any_payload: None) -> None:
    good, statement = compressed(), PROVER.program.statement_of(base())
    bits, of_base = verify(with_inner(17), statement, 0).bits, verify(base(), statement, 0).bits
    assert bits == verify(good, statement, 0).bits == of_base
    assert verify(with_inner(12), statement, 0).bits == verify_header(with_inner(12), statement, 0).bits < bits - 4
    last = changed(good, layers=(of_queries(good.layer, 12),))
    assert verify_header(last, statement, 0).bits < bits - 4
    many = replace(base(), payload=b"", parameters=replace(base().parameters, num_queries=20))
    stated = expect_headers(changed(good, base=many), [statement], 0, JOHNSON_PROXIMITY).statement
    values = tuple(tuple(table.public_values or ()) for table in stated.tables)
    more = changed(good, base=many, layers=(replace(good.layer, public_values=values),))
    assert of_base < verify(more, statement, 0).bits < 21  # of the layer


def test_other_numbers_of_members_are_refused() -> None:
    good, statement = compressed(), PROVER.program.statement_of(base())
    two = CompressedProof((Accepted(good.header), Accepted(good.header)), good.layer)  # type: ignore[arg-type]
    for ask in ASKS:
        with pytest.raises(VerificationError, match=r"^the proof is about 2 proofs, and one was expected"):
            ask(two, statement, BITS)
    for statements in ([], [statement], [statement] * 3):
        with pytest.raises(VerificationError, match=f"^the proof is about 2 proofs, not about {len(statements)}$"):
            verify_aggregate(two, statements, BITS)


def test_a_layer_without_a_commitment_is_refused() -> None:
    parameters = compressed().layer.parameters
    known = LayerStatement(compressed().layer.log_heights)
    assert known.preprocessed_cap(parameters)
    for change in ({"hash": KECCAK}, {"cap_height": 1}):
        with pytest.raises(VerificationError, match=r"^there is no commitment for") as refused:
            known.preprocessed_cap(replace(parameters, **change))  # type: ignore[arg-type]
        assert refused.value.rule == "compressed.commitment"


def test_other_bytes_are_refused() -> None:
    data = compressed().to_bytes()
    for length in (0, 1, len(COMPRESSED_MAGIC), len(COMPRESSED_MAGIC) + 3, 100, 1000, len(data) - 1):
        with pytest.raises(VerificationError):
            any_proof_from_bytes(data[:length])
    with pytest.raises(VerificationError, match=r"^layer: 1 bytes follow the proof"):
        any_proof_from_bytes(data + b"\0")
    with_payload = base().to_bytes()
    with pytest.raises(VerificationError) as refused:
        CompressedProof.from_bytes(COMPRESSED_MAGIC + struct.pack("<BI", 1, len(with_payload)) + with_payload + b"\0")
    assert refused.value.rule == "compressed.payload"
    with pytest.raises(ValueError, match="without another payload"):
        chain(base(), compressed().layers)
    header = compressed().header
    chain(header, [*[header] * (MOST_LAYERS - 1), base()])
    with pytest.raises(ValueError, match="at most 16 layers, not 17"):
        chain(header, [*[header] * MOST_LAYERS, base()])
    one = Accepted(header)
    for children, count in (((), 0), ((one,) * 26, 26), ((one, Accepted(header, (one,) * 27)), 27)):
        with pytest.raises(ValueError, match=f"about 1 to 25 proofs, not {count}"):
            CompressedProof(children, base())
    deep = chain(header, [*[header] * (MOST_LAYERS - 1), base()]).to_bytes()
    more = len(COMPRESSED_MAGIC) + 1 + 4 + header.size  # after the first header
    with pytest.raises(VerificationError, match="more than 16 layers") as refused:
        any_proof_from_bytes(deep[:more] + deep[len(COMPRESSED_MAGIC) : more] + deep[more:])
    assert refused.value.rule == "compressed.layers"
    with pytest.raises(VerificationError, match="about 26 proofs") as refused:
        any_proof_from_bytes(COMPRESSED_MAGIC + b"\x1a" + data[len(COMPRESSED_MAGIC) + 1 :])
    assert refused.value.rule == "compressed.layers"
    with pytest.raises(VerificationError) as refused:
        any_proof_from_bytes(COMPRESSED_MAGIC + b"\0" + data[len(COMPRESSED_MAGIC) + 1 :])
    assert refused.value.rule == "compressed.layers"


def test_a_layer_over_a_layer_has_the_claim_of_the_base() -> None:
    first, statement = compressed(), PROVER.program.statement_of(base())
    second = compress(first, statement, security=BITS, rate=8, pow_bits=4, device="cpu")
    assert second.header == first.header and len(second.layers) == 2
    assert second.layers[0] == replace(first.layer, payload=b"") and second.size < first.size
    assert PROVER.verify(second.to_bytes()).claim == PROVER.verify(base()).claim
    other, inner = replace(base(11), payload=b""), second.layers[0]
    taller = replace(inner, log_heights=(15, *inner.log_heights[1:]))
    for false in (
        changed(second, base=other),
        changed(second, layers=(inner, first.layer)),
        changed(second, layers=second.layers[1:]),
        changed(second, layers=(inner, inner, second.layer)),
        changed(second, layers=(replace(inner, label="x"), second.layer)),
        changed(second, layers=(taller, second.layer)),
    ):
        with pytest.raises(VerificationError, match=r"^layer"):
            PROVER.verify(false, exit_code="any")


def test_other_kinds_of_proofs_are_not_taken(tmp_path: Path) -> None:
    with pytest.raises(VerificationError) as refused:
        CompressedProof.from_bytes(base().to_bytes())
    assert refused.value.rule == "compressed.magic"
    with pytest.raises(VerificationError, match="a compressed proof"):
        proof_from_bytes(compressed().to_bytes())
    compressed().save(tmp_path / "small.bin")
    with pytest.raises(VerificationError, match=r"small.bin: a compressed proof"):
        load_proof(tmp_path / "small.bin")
    with pytest.raises(VerificationError):
        PROVER.verify(compressed().header)


@pytest.mark.parametrize("name", ["shards", "numbers"])
def test_what_cannot_be_compressed_is_refused_in_words(name: str) -> None:
    proof = load_proof(ROOT / f"tests/vectors/proofs/{name}-keccak.bin")
    with pytest.raises(ValueError, match="--hash blake3"):
        compress(proof, numbers(), security=1)


@pytest.mark.parametrize("part", [0, 0.02, 0.1, 0.3, 0.6, 1])
def test_a_false_proof_is_refused_as_by_a_verifier(part: float) -> None:
    good, statement = base(), PROVER.program.statement_of(base())
    at = int(part * (len(good.payload) - 1))
    bad = replace(good, payload=good.payload[:at] + bytes([good.payload[at] ^ 1]) + good.payload[at + 1 :])
    with pytest.raises(VerificationError) as refused:
        verify(bad, statement, BITS)
    with pytest.raises(VerificationError) as by_layer:
        compress(bad, statement, security=BITS, device="cpu")
    assert (by_layer.value.rule, str(by_layer.value)) == (refused.value.rule, str(refused.value))


def test_what_the_program_refuses_is_refused_by_the_rule_of_a_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*given: object) -> None:
        raise Contradiction("zeros, line 1")

    monkeypatch.setattr(layers, "layer_statement", refuses)
    good, statement = base(), PROVER.program.statement_of(base())
    bad = replace(good, payload=good.payload[:-1] + bytes([good.payload[-1] ^ 1]))
    with pytest.raises(VerificationError, match="a damaged proof"):
        compress(bad, statement, security=BITS, device="cpu")
    with pytest.raises(ValueError, match="though it is valid"):
        compress(good, statement, security=BITS, device="cpu")


VERIFYING = """
import sys
from graphprover.cli.main import main
code = main(["verify", *sys.argv[1:]])
print(*sys.modules)
sys.exit(code)
"""


def test_a_verification_needs_no_program(tmp_path: Path) -> None:
    """The verifier's program is known by its commitment: to assemble it takes longer than to verify a proof."""
    proof, key = tmp_path / "small.bin", tmp_path / "guest.vk"
    compressed().save(proof)
    PROVER.key().save(key)
    done = subprocess.run(
        [sys.executable, "-c", VERIFYING, str(proof), str(key), "--security", str(BITS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    modules = done.stdout.splitlines()[-1].split()
    assert "graphprover.recursion.head.head" in modules
    assert not [name for name in modules if name.startswith("graphprover.recursion.program")]


def test_the_key_is_the_one_of_the_tables() -> None:
    """After a change of tables or program: python scripts/recursion_key.py."""
    program = verifier_program()
    assert commitments(program) == COMMITMENTS
    assert program.marks == ENTRIES


def test_the_key_commits_as_a_prover_does() -> None:
    parameters, program = compressed().layer.parameters, verifier_program()
    tables = [Table(air) for air in layer_tables(program).values()]
    known = LayerStatement(compressed().layer.log_heights)
    assert Statement(tables).preprocessed_cap(parameters) == known.preprocessed_cap(parameters)
    for log_rows in (16, 17):  # of a merged layer
        merged = Statement([Table(merged_table(program, log_rows))])
        assert merged.preprocessed_cap(parameters) == LayerStatement([log_rows]).preprocessed_cap(parameters)
