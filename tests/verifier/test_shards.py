"""verify() from its user's view, and the folds that it recomputes."""

import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from graphprover.air import Air, TableBuilder
from graphprover.examples import synthetic
from graphprover.field import (
    GENERATOR,
    ZERO,
    Ext,
    P,
    ext,
    ext_add,
    ext_inv,
    ext_mul,
    ext_scale,
    ext_sub,
    ext_sum,
    inv,
    reverse_bits,
    root_of_unity,
)
from graphprover.proof.proof import Proof
from graphprover.protocol import backend, verification
from graphprover.protocol.challenger import Challenger
from graphprover.protocol.constraints import selectors_at
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.hashing import HASHES
from graphprover.protocol.proof import BatchProof, decode, exts_to_words, words_to_exts
from graphprover.protocol.verification import evaluate, fold_groups, rows_by_height
from graphprover.prover.prepare import prepare
from graphprover.proving.prove import prove, prove_prepared
from graphprover.statement.statement import Statement, Table
from graphprover.verifier import verify
from tests.call_counts import count_calls
from tests.cheating import forge
from tests.hashes import digest
from tests.interop.mutations import mutations
from tests.interop.tables import GRINDING, PLAIN, Bytes, Fibonacci, Limbs, fibonacci, limbs, squares
from tests.naive_device import NaiveDevice
from tests.protocol import vectors
from tests.trace_tasks import as_trace_tasks

UNITS: list[Ext] = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]


def random_ext(rng: random.Random) -> Ext:
    return (rng.randrange(P), rng.randrange(P), rng.randrange(P))


def lagrange(xs: list[int], values: list[Ext], at: Ext) -> Ext:
    """Return the value at a point of the polynomial through these points of the base field."""
    total = ZERO
    for i, (x, value) in enumerate(zip(xs, values, strict=True)):
        for j, other in enumerate(xs):
            if j != i:
                value = ext_scale(ext_mul(value, ext_sub(at, ext(other))), inv(x - other))
        total = ext_add(total, value)
    return total


def fold_group(group: list[Ext], index: int, log_rows: int, beta: Ext) -> Ext:
    """Return the fold of the group at ``index``, folded together with another one."""
    groups = np.array([group[::-1], group], dtype=np.uint64)  # (2, arity, 3)
    inverse = inv(root_of_unity(log_rows + len(group).bit_length() - 1))
    s_inverse = np.array([1, pow(inverse, reverse_bits(index, log_rows), P)], dtype=np.uint64)
    (c0, c1, c2) = fold_groups(np.moveaxis(groups, 2, 0), s_inverse, beta)[:, 1].tolist()
    return (c0, c1, c2)


@pytest.mark.parametrize("log_arity", [1, 2, 3, 4])
@pytest.mark.parametrize("log_rows", [0, 1, 4])
def test_a_group_folds_to_its_polynomial_at_beta(log_rows: int, log_arity: int) -> None:
    rng = random.Random(log_rows * 8 + log_arity)
    log_domain, arity = log_rows + log_arity, 1 << log_arity
    for index in {0, (1 << log_rows) - 1, rng.randrange(1 << log_rows)}:
        # Positions of the group in the bit-reversed codeword.
        xs = [pow(root_of_unity(log_domain), reverse_bits(index * arity + i, log_domain), P) for i in range(arity)]
        group, beta = [random_ext(rng) for _ in range(arity)], random_ext(rng)
        # One fold by 2^k is k folds by two, at beta, beta^2, beta^4, ...: it evaluates the group's polynomial at beta.
        assert fold_group(group, index, log_rows, beta) == lagrange(xs, group, beta)


def test_a_fold_of_low_degree_is_of_low_degree() -> None:
    """Fold the polynomial sum of c_i x^i over groups of four to the polynomial sum of beta^k c_(4i + k)."""
    rng = random.Random(0)
    coefficients, beta = [random_ext(rng) for _ in range(8)], random_ext(rng)
    folded = [ZERO, ZERO]
    for k in reversed(range(4)):
        folded = [ext_add(ext_mul(f, beta), coefficients[4 * i + k]) for i, f in enumerate(folded)]

    def evaluate(polynomial: list[Ext], x: int) -> Ext:
        value = ZERO
        for coefficient in reversed(polynomial):
            value = ext_add(ext_scale(value, x), coefficient)
        return value

    codeword = [evaluate(coefficients, pow(root_of_unity(4), reverse_bits(i, 4), P)) for i in range(16)]
    for row in range(4):
        x = pow(root_of_unity(2), reverse_bits(row, 2), P)
        assert fold_group(codeword[4 * row : 4 * row + 4], row, 2, beta) == evaluate(folded, x)


@pytest.mark.parametrize("log_length", range(6))
def test_a_polynomial_at_many_points(log_length: int) -> None:
    rng = random.Random(log_length)
    polynomial = [random_ext(rng) for _ in range(1 << log_length)]
    xs = [0, 1, P - 1, *(rng.randrange(P) for _ in range(5))]
    values = evaluate(polynomial, np.array(xs, dtype=np.uint64)).T.tolist()
    for x, value in zip(xs, values, strict=True):
        terms = [ext_scale(coefficient, pow(x, i, P)) for i, coefficient in enumerate(polynomial)]
        assert tuple(value) == ext_sum(terms)


def test_a_verdict_needs_no_trace() -> None:
    statement = Statement([fibonacci(8)])
    proof = forge(statement, PLAIN)
    for public_values in ((1, 2, 55), None):
        verdict = verify(proof.to_bytes(), Statement([Table(Fibonacci(), public_values)]), security=0)
        assert verdict.public_values == ((1, 2, 55),)
        assert verdict.log_heights == (3,)
        assert 0 < verdict.bits < 10


def test_a_level_by_unique_decoding_alone() -> None:
    """At rate 1/2, 217 queries give 128 bits by results up to Johnson's radius, and 110 without."""
    statement = Statement([fibonacci(64)])
    by_johnson, by_unique = prove(statement, rate=2), prove(statement, rate=2, proximity="unique")
    assert (by_johnson.parameters.num_queries, by_unique.parameters.num_queries) == (217, 261)
    verdict = verify(by_johnson, statement)
    assert verdict.bits == verdict.security.johnson.bits == 128
    assert verify(by_johnson, statement, 110, "unique").security.unique.bits == verdict.security.unique.bits < 111
    with pytest.raises(VerificationError, match=r"has 110\.1 provable bits by unique decoding; 128 were asked for"):
        verify(by_johnson, statement, proximity="unique")
    assert verify(by_unique, statement, proximity="unique").security.unique.bits == 128


class LaterNonces(NaiveDevice):
    """A device that grinds on to the second nonce that passes."""

    def grind(self, seed: bytes, bits: int, hash: str) -> int:
        nonce = super().grind(seed, bits, hash) + bool(bits)
        while bits and int.from_bytes(digest(hash, seed + nonce.to_bytes(8, "little"))[24:], "big") % (1 << bits):
            nonce += 1
        return nonce


def test_every_nonce_that_passes_is_accepted() -> None:
    """Accept a second proof with another nonce by a prover with the same traces: proofs are no identifiers."""
    statement = Statement([*squares(8, 64)])
    first, second = forge(statement, GRINDING), forge(statement, GRINDING, LaterNonces())
    assert first != second and replace(first, payload=b"") == replace(second, payload=b"")
    assert verify(first, statement, security=0) == verify(second, statement, security=0)


@pytest.mark.parametrize("rate", [2, 4])
def test_chunks_may_exceed_the_blowup(rate: int) -> None:
    """Degree 9 takes eight chunks."""

    class Ninths(Air):
        columns = ("x",)

        def define(self, t: TableBuilder) -> None:
            t.transition(t.next.x - t.x**9 - 1)

    trace = [2]
    while len(trace) < 32:
        trace.append((trace[-1] ** 9 + 1) % P)
    statement = Statement([Table(Ninths(), (), np.array([trace], dtype=np.uint64))])
    assert statement.descriptions[0].log_quotient_chunks == 3
    assert verify(prove(statement, security=60, rate=rate), statement, security=60).bits >= 60


def test_a_label_is_the_provers_to_choose_and_nobody_elses_to_change() -> None:
    statement = Statement([fibonacci(8)], "eight numbers")
    proof = forge(statement, PLAIN)
    assert proof.label == "eight numbers"
    assert verify(proof, Statement(statement.tables, "another name for it"), security=0)
    with pytest.raises(VerificationError):
        verify(replace(proof, label="another"), statement, security=0)


def test_a_malformed_statement_is_no_fault_of_the_proof() -> None:
    proof = Proof("", PLAIN, (8,), ((),), b"")

    class Short(Bytes):
        def preprocessed_trace(self):  # type: ignore[no-untyped-def]
            return super().preprocessed_trace()[:, :255]

    with pytest.raises(ValueError, match="255 rows"):
        verify(proof, Statement([Table(Short())]), security=0)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"log_heights": (5, 5)}, "table bytes: not as tall as its preprocessed columns"),
        ({"log_heights": (8, 32)}, r"table limbs: 2\^32 rows"),
        ({"public_values": ((1,), ())}, "table bytes: 1 public values instead of 0"),
        ({"parameters": replace(PLAIN, cap_height=7)}, "table limbs: .* above a cap"),
        ({"parameters": replace(PLAIN, log_final_poly_len=5)}, "table limbs: .* final polynomial"),
        ({"parameters": replace(PLAIN, num_queries=1000), "payload": bytes(100)}, "0 entries where"),
    ],
)
def test_headers_that_no_proof_of_the_statement_has(changed: dict[str, object], reason: str) -> None:
    statement = Statement([Table(Bytes(), ()), Table(Limbs(), ())])
    proof = Proof("", PLAIN, (8, 5), ((), ()), b"")
    with pytest.raises(VerificationError, match="the proof ends inside the main commitment"):
        verify(proof, statement, security=0)
    with pytest.raises(VerificationError, match=reason):
        verify(replace(proof, **changed), statement, security=0)  # type: ignore[arg-type]


def test_nothing_is_computed_for_a_payload_that_does_not_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse first: the commitment to tall preprocessed columns takes seconds."""
    statement = Statement([*limbs(32)])

    def never(*_: object) -> None:
        raise AssertionError("computed a commitment")

    monkeypatch.setattr(Statement, "preprocessed_cap", never)
    with pytest.raises(VerificationError, match="ends inside"):
        verify(Proof("", PLAIN, (8, 5), ((), ()), b"\1"), statement, security=0)


def test_a_table_of_64_times_as_many_rows_costs_little_more() -> None:
    def calls(log_height: int) -> int:
        statement = as_trace_tasks(Statement([synthetic.table(log_height, 20, 10)]))
        proof = prove(statement)
        assert verify(proof, statement).bits >= 128
        return count_calls(lambda: verify(proof, statement))

    assert calls(13) < 2 * calls(7)


@pytest.mark.parametrize("name", vectors.NAMES)
def test_numpy_and_the_kernels_come_to_one_verdict(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse a proof for the same reason in both."""
    vector = vectors.load(name)
    for hash, known in HASHES.items():
        monkeypatch.setitem(HASHES, hash, replace(known, worth_loading=0))

    def verdict(payload: bytes, by: str) -> str:
        before = backend.used.copy()
        try:
            vector.check(decode(payload, vector.layout))
            said = "valid"
        except VerificationError as error:
            said = str(error)
        assert set(backend.used - before) <= {by}
        return said

    reasons: Counter[str] = Counter()
    for payload in [vector.payload, *mutations(random.Random(name), vector.payload, vector.layout, 150)]:
        monkeypatch.delenv(backend.NUMPY_ONLY, raising=False)
        said = verdict(payload, "kernels")
        monkeypatch.setenv(backend.NUMPY_ONLY, "1")
        assert verdict(payload, "NumPy") == said
        reasons[said] += 1
    assert reasons["valid"] == 1
    assert any("a Merkle path does not end in the cap" in reason for reason in reasons)


@pytest.mark.parametrize("name", ["counter", "tiny", "height1"])
def test_vectors_are_refused_under_another_label(name: str) -> None:
    vector = vectors.load(name)
    other = replace(vector, label="another")
    with pytest.raises(VerificationError):
        other.check(vector.proof)


def reduced_openings(vector: vectors.Vector, proof: BatchProof, **changed: Ext) -> None:
    """Run only the verifier's ninth check, with some challenges changed."""
    challenges = verification.replay(vector.layout, vector.proof, vector.public_values, vector.cap, vector.binding)
    rows = rows_by_height(vector.layout, proof)
    verification._reduce_openings(vector.layout, proof, rows, replace(challenges, **changed))  # type: ignore[arg-type]


def test_a_query_of_an_opening_point_is_refused() -> None:
    """Refuse the point, which would divide by zero; no random challenge reaches it."""
    vector = vectors.load("counter")
    layout = vector.layout
    challenges = verification.replay(layout, vector.proof, vector.public_values, vector.cap, vector.binding)
    index = reverse_bits(int(challenges.queries[0]), layout.log_max_rows)
    point = GENERATOR * pow(root_of_unity(layout.log_max_rows), index, P)
    reduced_openings(vector, vector.proof)
    for zeta in (ext(point), ext(point * inv(root_of_unity(layout.log_heights[0])))):
        with pytest.raises(VerificationError, match="a query point is an opening point"):
            reduced_openings(vector, vector.proof, zeta=zeta)


def test_a_table_of_one_row_is_constant() -> None:
    """Refuse a line through its one value, which passes other checks: quotient and final polynomial are constant."""
    vector = vectors.load("height1")
    reduced_openings(vector, vector.proof)
    (opened,) = vector.proof.openings
    first, *others = words_to_exts(opened.main)
    line = exts_to_words([ext_add(first, (0, 1, 0)), *others])
    changed = replace(vector.proof, openings=(replace(opened, main=line),))
    with pytest.raises(VerificationError, match="a table of one row is not constant"):
        reduced_openings(vector, changed)


@pytest.mark.parametrize("query", range(9))
@pytest.mark.parametrize("amount", UNITS)
def test_every_query_ends_at_the_final_polynomial(query: int, amount: Ext) -> None:
    """Notice a polynomial that differs in one coordinate at every query, except the query at which both are equal."""
    vector = vectors.load("mixed")
    layout, proof = vector.layout, vector.proof
    challenges = verification.replay(layout, proof, vector.public_values, vector.cap, vector.binding)
    reduced = verification._reduce_openings(layout, proof, rows_by_height(layout, proof), challenges)
    _, folded = verification._fold(layout, proof, challenges, reduced)
    verification._check_degree(layout, proof, challenges, folded)
    log_final = layout.folded_log_heights[-1]
    ends = [q >> (layout.log_max_rows - log_final) for q in challenges.queries.tolist()]
    assert len(ends) == 9 and len(set(ends)) > 1
    x = pow(root_of_unity(log_final), reverse_bits(ends[query], log_final), P)
    constant, linear, *rest = proof.final_polynomial
    other = (ext_sub(constant, ext_scale(amount, x)), ext_add(linear, amount), *rest)
    with pytest.raises(VerificationError, match="a query does not fold to the final polynomial"):
        verification._check_degree(layout, replace(proof, final_polynomial=other), challenges, folded)


def test_a_prover_gives_the_commitment_that_it_has_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return the commitment of the proof's own columns, or None without preprocessed columns."""
    statement = Statement([*limbs(32)])
    proof, (cap,) = prove_prepared(prepare(statement, parameters=PLAIN), "sync", "cpu")
    assert cap == statement.preprocessed_cap(PLAIN)
    assert prove_prepared(prepare(Statement([fibonacci(8)]), parameters=PLAIN), "sync", "cpu")[1] == (None,)

    def never(*_: object) -> None:
        raise AssertionError("computed a commitment")

    monkeypatch.setattr(Statement, "preprocessed_cap", never)
    assert verify(proof, statement, security=0, preprocessed=cap)
    with pytest.raises(VerificationError):
        verify(proof, statement, security=0, preprocessed=(bytes(32),))


@pytest.mark.parametrize("amount", UNITS)
def test_constraints_hold_in_all_coordinates(amount: Ext) -> None:
    vector = vectors.load("counter")
    challenges = verification.replay(vector.layout, vector.proof, vector.public_values, vector.cap, vector.binding)
    verification._check_constraints(vector.layout, vector.proof, vector.public_values, challenges)
    (opened,) = vector.proof.openings
    (first, *others), *chunks = map(words_to_exts, opened.quotient)
    # Times the vanishing polynomial it makes a difference of ``amount``.
    off = ext_mul(amount, ext_inv(selectors_at(vector.layout.log_heights[0], challenges.zeta).vanishing))
    assert not chunks
    quotient = (exts_to_words([ext_add(first, off), *others]),)
    changed = replace(vector.proof, openings=(replace(opened, quotient=quotient),))
    with pytest.raises(VerificationError, match="the constraints do not hold"):
        verification._check_constraints(vector.layout, changed, vector.public_values, challenges)


@pytest.mark.parametrize("amount", UNITS)
def test_buses_balance_in_all_coordinates(amount: Ext, monkeypatch: pytest.MonkeyPatch) -> None:
    vector = vectors.load("squares_pow")
    first, second = vector.proof.terminals
    assert first is not None
    changed = replace(vector.proof, terminals=(ext_add(first, amount), second))
    monkeypatch.setattr(verification, "_check_constraints", lambda *_: None)
    # Terminals are absorbed, so that later proofs of work would fail before they are added up.
    monkeypatch.setattr(Challenger, "check_work", lambda self, *_: (self, True))
    with pytest.raises(VerificationError, match="the buses do not balance"):
        vector.check(changed)


def test_every_value_of_a_vector_matters() -> None:
    """Each part of the proof's contents changed by one, in turn."""
    vector = vectors.load("tiny")
    vector.check(vector.proof)
    tried = 0

    def shape(proof: BatchProof) -> object:
        widths = [queries.widths for queries in proof.round_queries]
        return proof.log_heights, widths, [queries.others for queries in proof.fold_queries]

    def variants(part: object) -> list[object]:
        if isinstance(part, int):
            return [(part + 1) % P]
        if isinstance(part, bytes):
            return [part[:i] + bytes([part[i] ^ 1]) + part[i + 1 :] for i in range(0, len(part), 8)]
        if isinstance(part, tuple):
            return [(*part[:i], other, *part[i + 1 :]) for i, entry in enumerate(part) for other in variants(entry)]
        if part is None:
            return []
        names = vars(part)
        return [replace(part, **{n: other}) for n, value in names.items() for other in variants(value)]  # type: ignore[type-var]

    for proof in variants(vector.proof):
        if shape(proof) != shape(vector.proof):  # type: ignore[arg-type]
            continue  # the parser's affair
        tried += 1
        with pytest.raises(VerificationError):
            vector.check(proof)  # type: ignore[arg-type]
    assert tried > 200


def test_verifying_imports_no_prover() -> None:
    code = (
        "import sys; from graphprover import verify, Statement, Air; "
        "print([m for m in ('dask', 'distributed', 'numba', 'cupy', 'graphprover.graphs', 'graphprover.kernels', "
        "'graphprover.device') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
