"""The gates of a layout have the verifier's verdict on its proofs."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from graphprover.air.expression import MAIN, PREPROCESSED
from graphprover.field import (
    EXTENSION_DEGREE,
    ZERO,
    Ext,
    P,
    ext,
    ext_mul,
    ext_pow,
    ext_scale,
    ext_sub,
    ext_sum,
    root_of_unity,
)
from graphprover.protocol.backend import NUMPY_ONLY, loaded
from graphprover.protocol.constraints import fold_constraints, join_quotients, selectors_of
from graphprover.protocol.layout import Layout, Point, make_layout
from graphprover.protocol.lookup import lookup_prefixes
from graphprover.protocol.parameters import BLAKE3
from graphprover.protocol.proof import BatchProof, decode, exts_to_words, opened_values, words_to_exts
from graphprover.protocol.verification import Challenges, batches_of, replay
from graphprover.proving.prove import prove
from graphprover.recursion.head.batching import add_batching
from graphprover.recursion.head.constraints import add_constraints
from graphprover.recursion.head.gates import Gates
from graphprover.recursion.head.placed import evaluate
from graphprover.recursion.head.words import RUN
from graphprover.statement.statement import binding_digest
from tests.recursion.gate_memory import (
    Built,
    Proof,
    built,
    check_words,
    failed,
    filled,
    memory_of,
    proof_of,
)
from tests.recursion.layered import SHARDS, child, layer
from tests.recursion.test_openings import proved

ABOUT_A_PROOF = "about a proof"  # tables of recursion, with packed lookups and literal fields
LONG = ("a shard", "a wide shard", "a shard of three without work")
CASES = [
    *("mixed", "mixed at a root", "a cap of 2", ABOUT_A_PROOF, *(name for name in SHARDS if name not in LONG)),
    *(pytest.param(name, marks=pytest.mark.slow) for name in LONG),
]


@cache
def case(name: str) -> tuple[Layout, BatchProof, Challenges, Proof]:
    """Return a layout with a proof, its challenges and all values that gates read."""
    if name in SHARDS:
        own = child(name)
        challenges = own.challenges()
        return own.layout, own.proof, challenges, proof_of(own.layout, own.proof, own.public_values, challenges)
    if name != ABOUT_A_PROOF:
        made = proved(name)
        return (
            made.layout,
            made.proof,
            made.challenges,
            proof_of(made.layout, made.proof, made.public_values, made.challenges),
        )
    statement = layer("two heights")
    sent = prove(statement, hash=BLAKE3, device="cpu")
    layout = make_layout(statement.descriptions, sent.log_heights, sent.parameters)
    proof, cap = decode(sent.payload, layout), statement.preprocessed_cap(sent.parameters)
    challenges = replay(layout, proof, sent.public_values, cap, binding_digest(layout, sent.label, cap))
    return layout, proof, challenges, proof_of(layout, proof, sent.public_values, challenges)


@cache
def gates_of(name: str) -> Built:
    return built(case(name)[0])


@pytest.mark.parametrize("name", CASES)
def test_honest_proofs_pass(name: str) -> None:
    layout, _, _, proof = case(name)
    of = gates_of(name)
    memory = filled(of.placed, memory_of(layout, of, proof))
    assert failed(of.placed, memory) == []
    assert len(of.placed.checks) >= 1 + len(layout.tables)
    check_words(of.placed, memory)


@pytest.mark.parametrize("name", CASES)
def test_batched_openings_are_sums(name: str) -> None:
    layout, proof, challenges, read = case(name)
    of = gates_of(name)
    memory = filled(of.placed, memory_of(layout, of, read))

    def values(found: Sequence[Mapping[Point, int]]) -> list[dict[Point, Ext]]:
        return [{point: memory[of.placed.address_of(value)] for point, value in own.items()} for own in found]

    batches = batches_of(layout)
    opened = [value for words in opened_values(layout, proof.openings) for value in words_to_exts(words)]
    for batch, log_rows, points, sums in zip(
        batches.heights.values(),
        layout.fri_log_heights,
        values(of.batching.points),
        values(of.batching.at_z),
        strict=True,
    ):
        generator = root_of_unity(log_rows - layout.parameters.log_blowup)
        all_points = [challenges.zeta, ext_scale(challenges.zeta, generator), challenges.separating]
        assert points == {point: all_points[point] for point in batch.points}
        assert [*points] == [*sums] == [*batch.points]
        for own, powers, total in zip(batch.opened, batch.powers, sums.values(), strict=True):
            weighted = [
                ext_mul(ext_pow(challenges.gamma, power), opened[i])
                for i, power in zip(own.tolist(), powers.tolist(), strict=True)
                if i >= 0
            ]
            assert total == ext_sum(weighted)
    for round_, weights in zip(layout.rounds, of.batching.weights, strict=True):
        for matrix, runs in zip(round_.matrices, weights, strict=True):
            assert sum(columns for columns, *_ in runs) == matrix.width
            for i, (columns, by_point) in enumerate(runs):
                assert columns <= RUN
                (powers,) = values([by_point])
                assert [*powers] == [*matrix.points]
                for point, power in enumerate(powers.values()):
                    assert power == ext_pow(challenges.gamma, matrix.offset + point * matrix.width + RUN * i)


@pytest.mark.parametrize("name", CASES)
def test_any_values_give_the_verifiers_differences(name: str) -> None:
    """Checks have the differences that the verifier compares with zero, up to their signs."""
    layout, proof, _, read = case(name)
    rng = random.Random(9)

    def element() -> Ext:
        return rng.randrange(P), rng.randrange(P), rng.randrange(P)

    def other(words: bytes | None) -> bytes | None:
        return None if words is None else exts_to_words([element() for _ in words_to_exts(words)])

    openings = []
    for table in proof.openings:
        parts = {part: other(words) for part, words in vars(table).items() if part != "quotient"}
        openings.append(replace(table, quotient=tuple(other(chunk) for chunk in table.quotient), **parts))
    terminals = [None if terminal is None else element() for terminal in proof.terminals]
    public = [[rng.randrange(P) for _ in of_table] for of_table in read.public_values]
    sigma, tau, alpha, zeta, gamma = (element() for _ in range(5))
    prefixes = lookup_prefixes(layout.tables, sigma, tau)
    challenges = replace(case(name)[2], prefixes=prefixes, tau=tau, alpha=alpha, zeta=zeta, gamma=gamma)
    selectors = selectors_of(layout, zeta)
    folded = fold_constraints(layout, openings, public, terminals, selectors, prefixes, tau, alpha)
    quotients = join_quotients(layout, openings, zeta)
    differences = []
    for own, quotient, of_table in zip(folded.T.tolist(), quotients.T.tolist(), selectors, strict=True):
        difference = ext_sub(tuple(own), ext_mul(tuple(quotient), of_table.vanishing))
        differences.append({difference, ext_sub(ZERO, difference)})
    balance = ext_sum(terminal for terminal in terminals if terminal is not None)

    of = gates_of(name)
    changed = replace(proof, openings=tuple(openings), terminals=tuple(terminals))
    values = proof_of(layout, changed, public, challenges)
    total = element()
    values = replace(values, challenges={**values.challenges, "total": total})
    memory = filled(of.placed, memory_of(layout, of, values))
    *of_domains, last = (memory[address] for address in of.placed.checks.tolist())
    found = of_domains[-len(layout.tables) :]
    assert set(of_domains[: -len(layout.tables)]) == {ZERO}
    for value, both in zip(found, differences, strict=True):
        assert value in both
    assert last == (ext_sub(balance, total) if layout.shard else balance)


def read_values(layout: Layout) -> Iterator[tuple[int, int, int]]:
    """Yield round, matrix and index of each opened value that the constraints read."""
    for number, round_ in enumerate(layout.rounds):
        for i, matrix in enumerate(round_.matrices):
            op = {"main": MAIN, "preprocessed": PREPROCESSED}.get(round_.name)
            for value in range(len(matrix.points) * matrix.width):
                point, column = divmod(value, matrix.width)
                if (op, column, point) in layout.tables[matrix.table].nodes or round_.name == "quotient":
                    yield number, i, value
                if round_.name == "permutation" and (not point or column < EXTENSION_DEGREE):
                    yield number, i, value


def changed(layout: Layout, proof: Proof) -> Iterator[tuple[object, Proof]]:
    """Yield the proof with another number in one place each, for all places that the constraints read."""
    for number, matrix, value in read_values(layout):
        opened = [[list(values) for values in of_round] for of_round in proof.opened]
        a, b, c = opened[number][matrix][value]
        opened[number][matrix][value] = (a, (b + 1) % P, c)
        yield (number, matrix, value), replace(proof, opened=opened)
    for i, (a, b, c) in enumerate(proof.terminals):
        other = [*proof.terminals[:i], (a, b, (c + 1) % P), *proof.terminals[i + 1 :]]
        yield ("terminal", i), replace(proof, terminals=other)
    for table, values in enumerate(proof.public_values):
        for i in range(len(values)):
            public = [list(of_table) for of_table in proof.public_values]
            public[table][i] ^= 1
            yield ("public", table, i), replace(proof, public_values=public)
    for name in ("sigma", "tau", "alpha", "zeta"):
        a, b, c = proof.challenges[name]
        yield name, replace(proof, challenges={**proof.challenges, name: ((a + 1) % P, b, c)})


@pytest.mark.parametrize("name", ["mixed", ABOUT_A_PROOF])
def test_other_numbers_fail(name: str) -> None:
    layout, _, _, proof = case(name)
    of, found = gates_of(name), list(changed(layout, proof))
    step = 1 if name == "mixed" else 7  # a sample of a large proof's values
    for what, other in [*found[:-20:step], *found[-20:]]:
        assert failed(of.placed, filled(of.placed, memory_of(layout, of, other))), what
    assert len(found) > 60


def test_a_point_of_a_domain_has_no_values() -> None:
    layout, _, _, proof = case("mixed")
    of = gates_of("mixed")
    for log_height in (3, 9):
        point = ext(pow(root_of_unity(log_height), 3, P))
        other = replace(proof, challenges={**proof.challenges, "zeta": point})
        with pytest.raises(ZeroDivisionError):
            filled(of.placed, memory_of(layout, of, other))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a large fold", "no table has lookups: let a table send"),
        ("joins at the cap", "has one row: give it at least two"),
    ],
)
def test_layouts_without_gates_are_refused(name: str, message: str) -> None:
    layout = proved(name).layout
    inputs = gates_of("mixed").inputs
    for add in (add_constraints, add_batching):
        with pytest.raises(ValueError, match=message):
            add(Gates(), layout, inputs)


def test_both_evaluations_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    of = gates_of("mixed").placed
    cells = np.random.default_rng(4).integers(0, P, (EXTENSION_DEGREE, of.cells), dtype=np.uint64)
    assert loaded()
    by_kernels = evaluate(of, cells)
    monkeypatch.setenv(NUMPY_ONLY, "1")
    assert np.array_equal(evaluate(of, cells), by_kernels)
