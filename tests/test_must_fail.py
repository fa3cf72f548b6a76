"""Proofs that must be refused: damaged proofs, proofs of another statement, and provers that cheat."""

import random
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from graphprover.air import Air, Bus, received, sent
from graphprover.field import ONE, P, ext_add, ext_neg
from graphprover.graphs.rounds import opening
from graphprover.proof.proof import Proof
from graphprover.protocol import backend
from graphprover.protocol.challenger import Challenger
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.layout import Layout, make_layout
from graphprover.protocol.parameters import HASH_NAMES, Parameters
from graphprover.protocol.proof import BatchProof, decode, encode, exts_to_words, words_to_exts
from graphprover.protocol.security import analyse, shape_of
from graphprover.proving.prove import prove
from graphprover.statement.statement import Statement, Table, binding_digest
from graphprover.verifier import verify
from tests.cheating import (
    NothingJoins,
    NotLowDegree,
    NoWork,
    OtherConstraints,
    OtherLookups,
    OtherOpenings,
    OtherTable,
    ZeroCodewords,
    forge,
    lying_openings,
)
from tests.interop.mutations import mutations
from tests.interop.tables import Fibonacci, fibonacci, shuffle
from tests.protocol.vectors import by_matrix
from tests.slow import slow_after

# Every feature in a few bytes: grinding everywhere, a cap, two arities, a final polynomial of two coefficients.
PARAMETERS = Parameters(
    hash="keccak",
    log_blowup=1,
    num_queries=3,
    log_final_poly_len=1,
    max_log_arity=2,
    cap_height=1,
    lookup_pow_bits=2,
    ood_pow_bits=2,
    batch_pow_bits=2,
    commit_pow_bits=2,
    query_pow_bits=2,
)
# Enough queries to detect a cheating prover with certainty in practice.
QUERIES = replace(PARAMETERS, num_queries=30)
PLAIN = Parameters("keccak", 1, 12, 0, 1, 0, 0, 0, 0, 0, 0)

DIGITS = Bus("digits")


class Digits(Air):
    """The digits to base 4, as a preprocessed table to look up."""

    columns = ("count",)
    preprocessed = ("digit",)

    def __init__(self, digits: tuple[int, ...] = (0, 1, 2, 3)) -> None:
        self.digits = digits

    def define(self, t: Any) -> None:
        t.provide(DIGITS, (t.digit,), t.count)

    def preprocessed_trace(self) -> np.ndarray:
        return np.array([self.digits], dtype=np.uint64)


class Numbers(Air):
    """Numbers of two digits, and their sum."""

    columns = ("low", "high", "total")
    public_values = ("sum",)

    def define(self, t: Any) -> None:
        t.first_row(t.total - t.low - 4 * t.high)
        t.transition(t.next.total - t.total - t.next.low - 4 * t.next.high)
        t.last_row(t.total - t.public.sum)
        t.lookup(DIGITS, (t.low,))
        t.lookup(DIGITS, (t.high,))


LOW, HIGH = [3, 0, 1, 2, 2, 3, 0, 1], [1, 1, 0, 2, 3, 0, 3, 2]


def numbers(low: list[int] = LOW, high: list[int] = HIGH) -> Statement:
    """Return a table of digits and one of numbers, which is satisfied if all of them are digits."""
    total = np.cumsum(np.array(low) + 4 * np.array(high)).tolist()
    count = [[(low + high).count(digit) for digit in range(4)]]
    return Statement(
        [Table(Digits(), (), np.array(count)), Table(Numbers(), (total[-1],), np.array([low, high, total]))]
    )


@pytest.fixture(autouse=True)
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return the verdict of the verifier without kernels; `tests.verifier.test_shards` compares it with the kernels."""
    monkeypatch.setenv(backend.NUMPY_ONLY, "1")


@cache
def honest() -> tuple[Statement, Proof]:
    statement = numbers()
    return statement, forge(statement, PARAMETERS)


def refused(proof: Proof | bytes, statement: Statement, reason: str | None = None) -> None:
    """Assert that the proof is refused at any level of security, and for this reason."""
    with pytest.raises(VerificationError, match=reason):
        verify(proof, statement, security=0)


def with_cell(statement: Statement, table: int, column: int, row: int, value: int | None = None) -> Statement:
    """Return the statement with one cell of one trace changed to ``value``, or increased by one."""
    tables = list(statement.tables)
    main = np.array(tables[table].main, dtype=np.uint64)
    main[column, row] = (int(main[column, row]) + 1) % P if value is None else value
    tables[table] = replace(tables[table], main=main)
    return Statement(tables)


def test_the_honest_proof_is_believed() -> None:
    statement, proof = honest()
    assert prove(statement, "sync", parameters=PARAMETERS) == proof
    verdict = verify(proof.to_bytes(), statement, security=0)
    assert verdict.public_values == ((), statement.tables[1].public_values)
    assert verdict.log_heights == (2, 3)


# Damaged bytes.


@pytest.mark.parametrize("step", slow_after(1, [5, 1]))
def test_a_flipped_bit_anywhere(step: int) -> None:
    """Flip one bit of every byte, or of every fifth; only a few of the bytes are in the header."""
    statement, proof = honest()
    data, rng = proof.to_bytes(), random.Random(0)
    assert len(data) > 2000
    accepted = []
    for position in range(0, len(data), step):
        flipped = bytearray(data)
        flipped[position] ^= 1 << rng.randrange(8)
        try:
            verify(bytes(flipped), statement, security=0)
            accepted.append(position)
        except VerificationError as error:
            assert str(error)
    assert not accepted


def test_a_truncated_proof() -> None:
    statement, proof = honest()
    data = proof.to_bytes()
    for length in {*range(0, len(data), 7), *range(200), *range(len(data) - 100, len(data))}:
        refused(data[:length], statement)


def test_a_truncated_payload_whose_header_agrees() -> None:
    statement, proof = honest()
    for length in {*range(0, len(proof.payload), 7), *range(len(proof.payload) - 100, len(proof.payload))}:
        refused(replace(proof, payload=proof.payload[:length]), statement)


@pytest.mark.parametrize("tail", [b"\0", b"\1", bytes(8), b"\xff" * 32])
def test_an_extended_proof(tail: bytes) -> None:
    statement, proof = honest()
    refused(proof.to_bytes() + tail, statement, "bytes follow the proof")
    refused(replace(proof, payload=proof.payload + tail), statement, "bytes follow the proof")
    refused(proof.to_bytes() * 2, statement, "bytes follow the proof")


def shape() -> Layout:
    statement, proof = honest()
    return make_layout(statement.descriptions, proof.log_heights, proof.parameters)


@cache
def contents() -> BatchProof:
    return decode(honest()[1].payload, shape())


def test_changed_contents() -> None:
    """Parts are dropped, repeated, swapped and changed at random, and encoded again."""
    statement, proof = honest()
    for payload in mutations(random.Random(0), proof.payload, shape(), 500):
        refused(replace(proof, payload=payload), statement)


def swapped(items: Sequence[Any], a: int, b: int) -> tuple[Any, ...]:
    items_ = list(items)
    items_[a], items_[b] = items_[b], items_[a]
    return tuple(items_)


def cut(data: bytes, size: int) -> tuple[bytes, ...]:
    return tuple(data[first : first + size] for first in range(0, len(data), size))


def joined(rows: Iterable[Iterable[bytes]]) -> bytes:
    return b"".join(b"".join(row) for row in rows)


def exchanged(values: bytes, a: int, b: int) -> bytes:
    """Return the words with two extension elements swapped."""
    return b"".join(swapped(cut(values, 24), a, b))


def swaps(proof: BatchProof) -> Iterator[BatchProof]:
    """Yield proofs with two parts of one kind swapped."""
    assert proof.permutation_cap is not None
    yield replace(proof, main_cap=proof.quotient_cap, quotient_cap=proof.main_cap)
    yield replace(proof, main_cap=proof.permutation_cap, permutation_cap=proof.main_cap)
    yield replace(proof, permutation_cap=proof.quotient_cap, quotient_cap=proof.permutation_cap)
    yield replace(proof, main_cap=swapped(proof.main_cap, 0, 1))
    yield replace(proof, openings=swapped(proof.openings, 0, 1))
    yield replace(proof, terminals=swapped(proof.terminals, 0, 1))
    yield replace(proof, log_heights=swapped(proof.log_heights, 0, 1))
    yield replace(proof, final_polynomial=swapped(proof.final_polynomial, 0, 1))
    yield replace(proof, fold_caps=swapped(proof.fold_caps, 0, 1))
    yield replace(proof, round_queries=swapped(proof.round_queries, 0, 1))
    yield replace(proof, fold_queries=swapped(proof.fold_queries, 0, 1))
    yield replace(proof, batch_nonce=proof.query_nonce + 1, query_nonce=proof.batch_nonce + 1)
    for table, opened in enumerate(proof.openings):
        for changed in (
            replace(opened, permutation=opened.permutation_next, permutation_next=opened.permutation),
            replace(opened, main=exchanged(opened.main, 0, -1)) if len(opened.main) > 24 else None,
            replace(opened, main=opened.main_next, main_next=opened.main) if opened.main_next else None,
            replace(opened, main=opened.preprocessed, preprocessed=opened.main) if opened.preprocessed else None,
            replace(opened, permutation=exchanged(opened.permutation, 0, 3)),
            replace(opened, quotient=(exchanged(opened.quotient[0], 0, 1), *opened.quotient[1:])),
        ):
            if changed is not None:
                yield replace(proof, openings=(*proof.openings[:table], changed, *proof.openings[table + 1 :]))
    for name in ("round_queries", "fold_queries"):
        for i, queries in enumerate(getattr(proof, name)):
            if name == "round_queries":
                rows = by_matrix(queries.rows, queries.widths)
                spoiled = [replace(queries, rows=joined(swapped(rows, a, a + 1))) for a in (0, 1)]
                if len(queries.widths) > 1:
                    spoiled.append(replace(queries, rows=joined([swapped(rows[0], 0, 1), *rows[1:]])))
                    spoiled.append(replace(queries, widths=swapped(queries.widths, 0, 1)))
            else:
                groups = cut(queries.siblings, 24 * queries.others)
                spoiled = [replace(queries, siblings=b"".join(swapped(groups, a, a + 1))) for a in (0, 1)]
                if queries.others > 1:
                    spoiled.append(replace(queries, siblings=exchanged(queries.siblings, 0, 1)))
            if len(queries.path) > 32:
                spoiled.append(replace(queries, path=b"".join(swapped(cut(queries.path, 32), 0, 1))))
            for other in spoiled:
                all_ = getattr(proof, name)
                spoiled_part: dict[str, Any] = {name: (*all_[:i], other, *all_[i + 1 :])}
                yield replace(proof, **spoiled_part)


def test_swapped_parts() -> None:
    statement, proof = honest()
    tried = 0
    for other in swaps(contents()):
        if other != contents():
            refused(replace(proof, payload=encode(other)), statement)
            tried += 1
    assert tried > 30


def test_an_opening_split_elsewhere() -> None:
    """Openings move between preprocessed, main, lookup and quotient columns: equal words, different meaning."""
    statement, proof = honest()
    batch = contents()
    first = batch.openings[0]
    assert first.preprocessed is not None
    for moved in (
        replace(first, main=first.main + first.preprocessed, preprocessed=b""),
        replace(first, main=first.main + first.preprocessed, preprocessed=None),
        replace(first, main=b"", preprocessed=first.main + first.preprocessed),
        replace(first, main=first.main + first.permutation[:24], permutation=first.permutation[24:]),
        replace(first, preprocessed=first.preprocessed + first.permutation[:24], permutation=first.permutation[24:]),
        replace(first, permutation=first.permutation + first.permutation_next, permutation_next=b""),
        replace(first, quotient=(first.quotient[0] + first.permutation[:24],), permutation=first.permutation[24:]),
    ):
        payload = encode(replace(batch, openings=(moved, *batch.openings[1:])))
        refused(replace(proof, payload=payload), statement, "entries where this statement has|missing")


def test_a_row_split_elsewhere() -> None:
    """Rows of one height are hashed together, so only their widths determine the boundaries of tables."""
    statement = Statement([fibonacci(4), fibonacci(4)])
    proof = forge(statement, PLAIN)
    verify(proof, statement, security=0)
    batch = decode(proof.payload, make_layout(statement.descriptions, proof.log_heights, PLAIN))
    main = batch.round_queries[0]
    assert main.widths == (2, 2)
    payload = encode(replace(batch, round_queries=(replace(main, widths=(3, 1)), *batch.round_queries[1:])))
    refused(replace(proof, payload=payload), statement, "3 entries where this statement has 2")


def test_an_element_that_is_not_canonical() -> None:
    """Words w and w + p are the same element; only the first is a valid encoding."""
    statement = Statement([fibonacci(1)])
    proof = forge(statement, PLAIN)
    verify(proof, statement, security=0)
    batch = decode(proof.payload, make_layout(statement.descriptions, proof.log_heights, PLAIN))
    main = batch.openings[0].main
    assert words_to_exts(main[:24]) == (ONE,)
    other = replace(batch.openings[0], main=exts_to_words([(1 + P, 0, 0)]) + main[24:])
    refused(replace(proof, payload=encode(replace(batch, openings=(other,)))), statement, "a word is not below p")
    values = struct.pack("<3Q", 1, 2, 2)
    data = proof.to_bytes()
    assert data.count(values) == 1
    refused(data.replace(values, struct.pack("<3Q", 1 + P, 2, 2)), statement, "a public value is not below p")
    with pytest.raises(ValueError, match="a public value is not below p"):
        replace(proof, public_values=((1 + P, 2, 2),))


# Proofs of other statements.


def test_another_public_value() -> None:
    statement, proof = honest()
    numbers_ = statement.tables[1]
    assert numbers_.public_values is not None
    other = Statement([statement.tables[0], replace(numbers_, public_values=(numbers_.public_values[0] + 1,))])
    refused(proof, other, "the proof states other public values")
    claimed = replace(proof, public_values=((), (numbers_.public_values[0] + 1,)))
    refused(claimed, other)
    refused(claimed, statement, "the proof states other public values")
    # Also if the verifier takes the statement from the proof.
    free = Statement([statement.tables[0], replace(numbers_, public_values=None)])
    assert verify(proof, free, security=0).public_values == ((), numbers_.public_values)
    refused(claimed, free)


class Idle(Air):
    """A table with a public value that no constraint reads."""

    columns = ("a",)
    public_values = ("name",)

    def define(self, t: Any) -> None:
        t.every_row(t.a * (t.a - 1))


def test_a_statement_absent_from_the_transcript() -> None:
    """A public value that no constraint reads is bound too."""
    statement = Statement([Table(Idle(), (7,), np.array([[0, 1]]))])
    proof = forge(statement, PLAIN)
    verify(proof, statement, security=0)
    other = Statement([Table(Idle(), (8,))])
    refused(replace(proof, public_values=((8,),)), other)


def test_a_proof_for_other_parameters() -> None:
    statement, proof = honest()
    others = [{"hash": other} for other in HASH_NAMES if other != PARAMETERS.hash]
    others += [{name: getattr(PARAMETERS, name) + step} for name in Parameters.RANGES for step in (-1, 1)]
    for changed in others:
        try:
            parameters = replace(PARAMETERS, **changed)
        except ValueError:
            continue
        refused(replace(proof, parameters=parameters), statement)


def test_parameters_are_bound_where_no_byte_shows_them() -> None:
    """Two heights of a cap with equal size: the payloads parse alike, and only the binding differs."""
    statement = Statement([fibonacci(1)])
    low, high = replace(PLAIN, max_log_arity=1), replace(PLAIN, max_log_arity=2)
    proof = forge(statement, low)
    verify(proof, statement, security=0)
    refused(replace(proof, parameters=high), statement)


def other_airs() -> dict[str, Air]:
    """Yield tables of the shape of `Numbers` that differ in one point."""

    def redefined(define: Callable[[Any, Any], None]) -> Air:
        return type("Other", (Numbers,), {"name": "numbers", "define": define})()

    def constant(self: Any, t: Any) -> None:
        t.first_row(t.total - t.low - 4 * t.high)
        t.transition(t.next.total - t.total - t.next.low - 5 * t.next.high)
        t.last_row(t.total - t.public.sum)
        t.lookup(DIGITS, (t.low,))
        t.lookup(DIGITS, (t.high,))

    def order(self: Any, t: Any) -> None:
        t.transition(t.next.total - t.total - t.next.low - 4 * t.next.high)
        t.first_row(t.total - t.low - 4 * t.high)
        t.last_row(t.total - t.public.sum)
        t.lookup(DIGITS, (t.low,))
        t.lookup(DIGITS, (t.high,))

    def bus(self: Any, t: Any) -> None:
        t.first_row(t.total - t.low - 4 * t.high)
        t.transition(t.next.total - t.total - t.next.low - 4 * t.next.high)
        t.last_row(t.total - t.public.sum)
        t.lookup(Bus("other digits"), (t.low,))
        t.lookup(Bus("other digits"), (t.high,))

    def weight(self: Any, t: Any) -> None:
        t.first_row(t.total - t.low - 4 * t.high)
        t.transition(t.next.total - t.total - t.next.low - 4 * t.next.high)
        t.last_row(t.total - t.public.sum)
        t.lookup(DIGITS, (t.low,))
        t.lookup(DIGITS, (t.high,), weight=2)

    def fewer(self: Any, t: Any) -> None:
        t.first_row(t.total - t.low - 4 * t.high)
        t.transition(t.next.total - t.total - t.next.low - 4 * t.next.high)
        t.lookup(DIGITS, (t.low,))
        t.lookup(DIGITS, (t.high,))

    return {f.__name__: redefined(f) for f in (constant, order, bus, weight, fewer)}


@pytest.mark.parametrize("name", other_airs())
def test_a_proof_for_another_air(name: str) -> None:
    statement, proof = honest()
    other = Statement([statement.tables[0], replace(statement.tables[1], air=other_airs()[name])])
    refused(proof, other)


def test_a_weight_changes_the_binding_alone() -> None:
    statement, proof = honest()
    other = Statement([statement.tables[0], replace(statement.tables[1], air=other_airs()["weight"])])
    bindings = {
        binding_digest(make_layout(stated.descriptions, proof.log_heights, PARAMETERS), "", None)
        for stated in (statement, other)
    }
    assert len(bindings) == 2


def test_another_preprocessed_table() -> None:
    statement, proof = honest()
    for digits in ((0, 1, 2, 4), (1, 0, 2, 3), (0, 1, 2, 3, 3, 3, 3, 3), (0, 1)):
        other = Statement([replace(statement.tables[0], air=Digits(digits)), statement.tables[1]])
        refused(proof, other)


def test_tables_swapped_or_missing() -> None:
    statement, proof = honest()
    digits, numbers_ = statement.tables
    swapped_ = replace(proof, log_heights=proof.log_heights[::-1], public_values=proof.public_values[::-1])
    refused(proof, Statement([numbers_, digits]))
    refused(swapped_, Statement([numbers_, digits]))
    refused(proof, Statement([digits]), "of 2 tables, the statement of 1")
    refused(proof, Statement([digits, numbers_, numbers_]), "of 2 tables, the statement of 3")
    # Two tables of one shape: all openings and rows could be exchanged.
    pair = Statement([fibonacci(4), replace(fibonacci(4), public_values=(1, 2, 8))])
    assert pair.tables[0].public_values == (1, 2, 8)
    other = Table(Fibonacci(), (5, 7, 31), np.array([[5, 7, 12, 19], [7, 12, 19, 31]]))
    pair = Statement([fibonacci(4), other])
    proof = forge(pair, PLAIN)
    verify(proof, pair, security=0)
    refused(proof, Statement(pair.tables[::-1]))
    refused(replace(proof, public_values=proof.public_values[::-1]), Statement(pair.tables[::-1]))


def test_other_heights() -> None:
    statement, proof = honest()
    for log_heights in ((2, 2), (2, 4), (3, 3), (2, 0), (2, 31), (2, 32), (2, 255), (2, 3, 3), (2,), ()):
        refused(replace(proof, log_heights=log_heights, public_values=((),) * len(log_heights)), statement)
        if len(log_heights) == 2:
            refused(replace(proof, log_heights=log_heights), statement)


# Best possible proofs of false statements.


@pytest.mark.parametrize("row", range(8))
@pytest.mark.parametrize("column", range(3))
def test_an_unsatisfied_constraint_in_one_row(row: int, column: int) -> None:
    statement = with_cell(numbers(), 1, column, row)
    refused(forge(statement, PARAMETERS), numbers(), "table numbers: the constraints do not hold|buses do not balance")


def false_numbers() -> dict[int, Statement]:
    """Return, for each constraint of `Numbers`, a trace that violates only this constraint."""
    low, high = np.array(LOW), np.array(HIGH)
    added = low + 4 * high

    def with_totals(total: np.ndarray, sum_: int) -> Statement:
        digits, table = numbers().tables
        return Statement([digits, Table(table.air, (sum_,), np.array([low, high, total]))])

    start, step = np.cumsum(added) + 1, np.cumsum(added)
    step[5:] += 1
    return {
        0: with_totals(start, int(start[-1])),
        1: with_totals(step, int(step[-1])),
        2: with_totals(np.cumsum(added), int(added.sum()) + 1),
    }


@pytest.mark.parametrize("constraint", false_numbers())
def test_a_constraint_written_but_not_wired(constraint: int) -> None:
    """Each constraint is necessary: the trace passes without it in the quotient, and fails with it."""
    statement = false_numbers()[constraint]
    refused(forge(statement, PARAMETERS), statement, "table numbers: the constraints do not hold")
    # A quotient without the constraint, which is a polynomial, is refused too.
    cheat = OtherConstraints("numbers", constraint)
    refused(forge(statement, PARAMETERS, cheat), statement, "table numbers: the constraints do not hold")


def test_a_limb_that_is_not_looked_up() -> None:
    """Two limbs that are not digits but give the same number."""
    statement = numbers([7, *LOW[1:]], [0, *HIGH[1:]])
    assert statement.tables[1].public_values == numbers().tables[1].public_values
    refused(forge(statement, PARAMETERS), statement, "the buses do not balance")


def test_a_count_that_is_not_how_often() -> None:
    for row in range(4):
        refused(forge(with_cell(numbers(), 0, 0, row), PARAMETERS), numbers(), "the buses do not balance")


def test_preprocessed_columns_not_pinned() -> None:
    """A table with another digit, otherwise consistent, under the commitment to the real one."""
    skewed = np.array([[0, 1, 2, 7]], dtype=np.uint64)
    low, high = [7, 0, 1, 2, 2, 1, 0, 1], [0, 1, 0, 2, 1, 0, 1, 2]
    statement = numbers(low, high)
    counts = [[(low + high).count(int(digit)) for digit in skewed[0]]]
    statement = Statement([replace(statement.tables[0], main=np.array(counts)), statement.tables[1]])
    own = {0: skewed}
    # With its own commitment in the transcript, the challenges differ.
    refused(forge(statement, PARAMETERS, preprocessed=own), statement)
    # It is a proof for that table.
    other = Statement([replace(statement.tables[0], air=Digits((0, 1, 2, 7))), statement.tables[1]])
    verify(forge(other, PARAMETERS), other, security=0)
    # With the real commitment in the transcript, only the rows are wrong.
    cheat = OtherTable(statement, PARAMETERS, [skewed])
    refused(forge(statement, PARAMETERS, cheat, own), statement, "the preprocessed commitment: a Merkle path")


AMOUNT = (5, 6, 7)


@pytest.mark.parametrize("place", ["nowhere", "accumulator", "last step", "fraction"])
def test_a_bus_terminal_changed(place: str) -> None:
    """Row 0 of the accumulator, its steps and its end, and each fraction are constrained."""
    statement = numbers()

    class Both(OtherLookups):
        """A prover that adds to one terminal and subtracts from the other, so that they sum to zero."""

        def lookups(self, table: Any, tau: Any) -> Any:
            self.name, self.amount = table.air.name, AMOUNT if table.air.name == "digits" else ext_neg(AMOUNT)
            return super().lookups(table, tau)

    refused(forge(statement, PARAMETERS, Both("", AMOUNT, place)), statement, "table digits: the constraints do not")
    refused(
        forge(statement, PARAMETERS, OtherLookups("numbers", AMOUNT, place)),
        statement,
        "table numbers: the constraints do not hold",
    )


def test_terminals_that_cancel_in_one_coordinate_alone() -> None:
    statement, proof = honest()
    digits, numbers_ = contents().terminals
    assert digits is not None and numbers_ == ext_neg(digits)
    for i in range(3):
        changed = ext_add(digits, [(1, 0, 0), (0, 1, 0), (0, 0, 1)][i])
        refused(replace(proof, payload=encode(replace(contents(), terminals=(changed, numbers_)))), statement)


def test_an_unbalanced_bus_with_an_accumulator_that_starts_elsewhere() -> None:
    """Without a constraint on the accumulator's first row, every table could end at zero."""
    statement = numbers([7, *LOW[1:]], [0, *HIGH[1:]])

    class Balancing(OtherLookups):
        def lookups(self, table: Any, tau: Any) -> Any:
            honest_columns = super().lookups
            self.name = ""
            _, terminal = honest_columns(table, tau)
            self.name, self.amount = table.air.name, ext_neg(terminal)
            return honest_columns(table, tau)

    for place in ("accumulator", "last step", "fraction"):
        cheat = Balancing("", AMOUNT, place)
        refused(forge(statement, PARAMETERS, cheat), statement, "the constraints do not hold")


def test_openings_that_satisfy_the_constraints_and_are_not_the_polynomials(monkeypatch: pytest.MonkeyPatch) -> None:
    false = Statement([replace(fibonacci(8), public_values=(1, 2, 56))])
    refused(forge(false, PLAIN), false, "the constraints do not hold")
    monkeypatch.setattr(opening, "openings", lying_openings)
    honest_ = Statement([fibonacci(8)])
    verify(forge(honest_, PLAIN, OtherOpenings()), honest_, security=0)
    refused(forge(false, PLAIN, OtherOpenings()), false, "does not fold to the final polynomial")


@pytest.mark.parametrize("height", [4, 8])
def test_a_committed_column_that_is_not_of_low_degree(height: int) -> None:
    refused(forge(numbers(), QUERIES, NotLowDegree(height)), numbers())
    statement = Statement([fibonacci(height)])
    refused(forge(statement, PLAIN, NotLowDegree(height)), statement)


def test_folding_another_codeword_than_that_of_the_openings() -> None:
    refused(forge(numbers(), QUERIES, ZeroCodewords()), numbers(), "the commitment of fold 0")


def test_a_table_that_does_not_join_the_folds() -> None:
    statement = Statement([fibonacci(8), fibonacci(2)])
    verify(forge(statement, PLAIN), statement, security=0)
    refused(forge(statement, PLAIN, NothingJoins()), statement, "the commitment of fold 2")


@pytest.mark.parametrize("site", range(6))
def test_a_proof_without_the_work(site: int) -> None:
    """Each nonce in turn is wrong: lookups, out of domain, batching, two folds, queries."""
    parameters = replace(PARAMETERS, **{f"{s}_pow_bits": 8 for s in ("lookup", "ood", "batch", "commit", "query")})
    statement = numbers()
    layout = make_layout(statement.descriptions, [2, 3], parameters)
    assert len(layout.fold_log_arities) + 4 == 6

    def skipping(check: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, bits, nonce: (check(self, bits, nonce)[0], True)

    # The prover's transcript also refuses a bad nonce, so its check is disabled.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Challenger, "check_work", skipping(Challenger.check_work))
        proof = forge(statement, parameters, NoWork(site))
        verify(proof, statement, security=0)
    refused(proof, statement, "the proof of work before .* misses its 8 bits")


# Small tables, and large counts.


@pytest.mark.parametrize("rows", [1, 2])
def test_tables_of_one_and_two_rows(rows: int) -> None:
    statement = Statement([fibonacci(rows), shuffle(rows), fibonacci(2 * rows)])
    proof = forge(statement, PLAIN)
    assert verify(proof, statement, security=0).log_heights[0] == rows - 1
    first = statement.tables[0]
    assert first.public_values is not None
    for i in range(3):
        values = tuple(value + (i == j) for j, value in enumerate(first.public_values))
        false = Statement([replace(first, public_values=values), *statement.tables[1:]])
        refused(forge(false, PLAIN), false, "table fibonacci: the constraints do not hold")
    for row in range(rows):
        for column in range(2):
            false = with_cell(statement, 0, column, row)
            refused(forge(false, PLAIN), false, "table fibonacci: the constraints do not hold")
            false = with_cell(statement, 1, column, row)
            refused(forge(false, PLAIN), false, "the buses do not balance")


def test_a_table_of_one_row_that_is_not_constant() -> None:
    """There is no fold, so the quotient of its openings must be zero."""
    statement = Statement([fibonacci(1)])
    refused(forge(statement, PLAIN, NotLowDegree(1)), statement, "a table of one row is not constant|constraints do")


class Flood(Air):
    """A table that sends with the largest count that its weight allows."""

    columns = ("a", "count")

    def define(self, t: Any) -> None:
        for _ in range(3):
            t.send(DIGITS, (t.a,), t.count, weight=2**32 - 1)


def test_a_sum_of_multiplicities_that_reaches_p() -> None:
    """The weights of three rows times 2^31 rows exceed p: refused before the proof is read."""
    statement = Statement([Table(Flood())])
    proof = Proof("", PLAIN, (31,), ((),), b"")
    refused(proof, statement, "messages may be looked up, at least the number of field elements")
    refused(replace(proof, log_heights=(30,)), statement, "the proof ends inside")


class Wrapping(Air):
    """A table that sends p - 1 times a message that it receives once: one local sum of p, which is 0 in the field."""

    columns = ("a",)

    def define(self, t: Any) -> None:
        t.local_lookup(sent((t.a,), -1, weight=1), received((t.a,), -1, weight=1))


def test_signed_counts_are_small() -> None:
    """A count of -1 is a receive and weighs 1, not p - 1."""
    statement = Statement([Table(Wrapping(), (), np.array([[4, 5]]))])
    assert statement.descriptions[0].total_weight == 2
    verify(forge(statement, PLAIN), statement, security=0)


# Security.


def test_the_proximity_gap_term_counts() -> None:
    """With 1,000 queries the bits are below the bits of the queries alone."""
    statement, _ = honest()
    many = replace(PARAMETERS, num_queries=1000, query_pow_bits=20)
    security = analyse(shape_of(statement.descriptions, (2, 3), many.log_blowup), many)
    by_name = {challenge.name: challenge.bits for challenge in security.regime.rounds}
    assert by_name["queries"] > 128 and by_name["batching"] < by_name["queries"]
    assert security.bits == min(by_name.values())
    tall = analyse(shape_of(statement.descriptions, (2, 28), many.log_blowup), many).regime
    assert {challenge.name: challenge.bits for challenge in tall.rounds}["batching"] < by_name["batching"]


def test_a_proof_below_the_level_asked_for() -> None:
    statement, proof = honest()
    bits = verify(proof, statement, security=0).bits
    assert (
        bits
        == analyse(shape_of(statement.descriptions, proof.log_heights, PARAMETERS.log_blowup), PARAMETERS).bits
        < 20
    )
    assert verify(proof, statement, security=bits).bits == bits
    with pytest.raises(VerificationError, match="provable bits"):
        verify(proof, statement, security=bits + 0.01)
    with pytest.raises(VerificationError, match="128 were asked for"):
        verify(proof, statement)
