"""The program that checks a proof's words has the verifier's verdicts, and its runs are proved."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from graphprover.field import P
from graphprover.protocol.errors import VerificationError
from graphprover.protocol.layout import make_layout
from graphprover.protocol.parameters import BLAKE3
from graphprover.protocol.proof import BatchProof
from graphprover.protocol.verification import Challenges, _check_degree, openings_of_queries
from graphprover.prover.prove import prove
from graphprover.recursion.program.run import Contradiction, run
from graphprover.recursion.program.words import words_program
from graphprover.recursion.words_statement import inputs_of, program_of, sums_of, words_statement
from graphprover.statement.check import check
from graphprover.statement.statement import Statement, with_traces
from graphprover.verifier import verify
from tests.interop import plonky3
from tests.recursion.falsified import verdicts, with_facts
from tests.recursion.test_openings import CASES, Proved, flipped, opened, proved

PROVED = ("joins at the cap", "a cap of 2", "mixed at a root")


def accepts(name: str, proof: BatchProof, challenges: Challenges) -> bool:
    """Return whether the program accepts a proof with these challenges, with the rows of the honest proof."""
    layout = proved(name).layout
    try:
        run(program_of(layout)[0], inputs_of(layout, proof, challenges, opened(name)), sums_of(opened(name)))
    except Contradiction:
        return False
    return True


def verifies(name: str, proof: BatchProof, challenges: Challenges) -> bool:
    """Return the verdict of the verifier on the same."""
    made = proved(name)
    try:
        _, folded = openings_of_queries(made.layout, proof, made.preprocessed, challenges)
        _check_degree(made.layout, proof, challenges, folded)
    except VerificationError:
        return False
    return True


@pytest.mark.parametrize("name", CASES)
def test_honest_proofs_are_accepted(name: str) -> None:
    made = proved(name)
    assert accepts(name, made.proof, made.challenges)
    assert verifies(name, made.proof, made.challenges)


def changed(made: Proved) -> Iterator[tuple[str, BatchProof, Challenges]]:
    """Yield the proof with another number in one place each."""
    proof, challenges = made.proof, made.challenges
    for name in ("zeta", "gamma"):
        a, b, c = getattr(challenges, name)
        for other in (((a + 1) % P, b, c), (a, (b + 1) % P, c), (a, b, (c + 1) % P)):
            yield name, proof, replace(challenges, **{name: other})
    for fold, (a, b, c) in enumerate(challenges.betas):
        betas = [*challenges.betas[:fold], (a, b, (c + 1) % P), *challenges.betas[fold + 1 :]]
        yield f"beta {fold}", proof, replace(challenges, betas=betas)
    for at in {0, len(proof.final_polynomial) - 1}:
        a, b, c = proof.final_polynomial[at]
        polynomial = [*proof.final_polynomial[:at], (a, (b + 1) % P, c), *proof.final_polynomial[at + 1 :]]
        yield f"coefficient {at}", replace(proof, final_polynomial=tuple(polynomial)), challenges
    for table, of in enumerate(proof.openings):
        for part in ("main", "main_next", "preprocessed", "preprocessed_next", "permutation", "permutation_next"):
            if value := getattr(of, part):
                own = replace(of, **{part: flipped(value, len(value) // 2)})
                openings = (*proof.openings[:table], own, *proof.openings[table + 1 :])
                yield f"{part} of {table}", replace(proof, openings=openings), challenges
        own = replace(of, quotient=(flipped(of.quotient[0], 0), *of.quotient[1:]))
        yield (
            f"quotient of {table}",
            replace(proof, openings=(*proof.openings[:table], own, *proof.openings[table + 1 :])),
            challenges,
        )


@pytest.mark.parametrize("name", ["mixed", "mixed at a root", "a large fold", "preprocessed next row"])
def test_other_numbers_have_the_verifiers_verdict(name: str) -> None:
    found = list(changed(proved(name)))
    for what, proof, challenges in found:
        assert not verifies(name, proof, challenges), what
        assert not accepts(name, proof, challenges), what
    assert len(found) >= 10


def test_other_queries_are_refused() -> None:
    """A query at another row finds other words, or none."""
    made = proved("mixed at a root")
    for at, other in ((0, 1), (3, 2), (11, 1 << made.layout.log_max_rows)):
        queries = made.challenges.queries.copy()
        queries[at] ^= other
        assert not accepts("mixed at a root", made.proof, replace(made.challenges, queries=queries))


def test_groups_of_several_chunks_are_refused() -> None:
    layout = proved("a large fold").layout
    parameters = replace(layout.parameters, max_log_arity=6, log_final_poly_len=0)
    with pytest.raises(ValueError, match=r"a group of 2\^6 elements has more than 128 words"):
        words_program(make_layout(layout.tables, [9] * len(layout.tables), parameters))


@cache
def statement(name: str) -> Statement:
    made = proved(name)
    return with_traces(words_statement(made.layout, made.proof, made.challenges, opened(name)))


@pytest.mark.parametrize("name", PROVED)
def test_runs_are_proved(name: str) -> None:
    assert check(statement(name)) == []


def test_both_verifiers_accept(tmp_path: Path) -> None:
    made = proved("joins at the cap")
    proved_again = words_statement(made.layout, made.proof, made.challenges, opened("joins at the cap"))
    proof = prove(proved_again, hash=BLAKE3, device="cpu")
    assert verify(proof, statement("joins at the cap")).bits >= 128
    plonky3.write_statement(tmp_path / "statement.json", proof.parameters, proved_again.tables, proved_again.label)
    assert plonky3.verify_payloads(tmp_path, tmp_path / "statement.json", [proof.payload]) == [None]


def one_more(facts: np.ndarray, place: int) -> None:
    facts[2, place] = (int(facts[2, place]) + 1) % P


def test_false_inputs_are_found() -> None:
    made = statement("joins at the cap")
    (facts,) = (table.preprocessed for table in made.tables if table.air.name == "known")
    assert facts is not None
    for place in np.flatnonzero(facts[0]):
        assert check(with_facts(made, "known", partial(one_more, place=int(place)))), place


def test_both_verifiers_reject_a_false_input(tmp_path: Path) -> None:
    false = with_facts(statement("joins at the cap"), "known", partial(one_more, place=5))
    assert None not in verdicts(false, tmp_path)
