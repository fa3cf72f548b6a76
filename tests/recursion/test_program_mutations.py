"""The verifier's program without one of its checks accepts an attack, which the program refuses because of it."""

import pytest

from graphprover.recursion.witness import run as runs
from tests.recursion import mutate_layers
from tests.recursion.adversaries import base, idle, killed, killed_by, pair_attack
from tests.recursion.families import FAMILIES, GATES, equivalent
from tests.recursion.mutate_layers import ACCEPTED, ONLY_HASHES, REFUSED
from tests.recursion.sites import at, sites

MOST_STEPS = 1 << 16  # of an attacked run, which may turn in a loop


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MOST_STEPS", MOST_STEPS)


LONG = ("bits",)  # by default its attacks are not made, and its checks are known


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in FAMILIES if name not in GATES],
)
def test_attacks_kill_the_mutations_of_their_family(name: str) -> None:
    family = FAMILIES[name]
    found = {killed(attack) for attack in family.attacks(base(family.base))}
    assert not {str(sites()[pc]) for pc in family.instructions - found}
    assert not found & equivalent()


@pytest.mark.slow
def test_attacks_kill_mutations_of_all_gates() -> None:
    found: dict[int, str] = {}
    for name in GATES:
        found = killed_by(FAMILIES[name].attacks(base(FAMILIES[name].base)), found)
    assert set(found) == set(at("_gates", "gate"))


def test_all_checks_are_of_a_family() -> None:
    """Instructions that only compare in honest runs: a family kills them, or they are equivalent."""
    checks = set.union(*(idle(base(name)) for name in ("work", "another fold", "a shard with a query")))
    of_families = set.union(*(family.instructions for family in FAMILIES.values()), at("_gates", "gate"))
    assert not {str(sites()[pc]) for pc in checks - of_families - equivalent()}


def test_checks_that_are_equivalent_alone_are_killed_together() -> None:
    attack, dropped = pair_attack(base("another fold"))
    assert killed(attack) is None
    assert killed(attack, dropped) == dropped[0]


def test_mutated_proofs_have_the_same_verdicts() -> None:
    found = mutate_layers.mutate(400, 3, mutate_layers.subjects())
    assert not mutate_layers.differing(found)
    assert {program for *_, program in found} == {ACCEPTED, REFUSED, ONLY_HASHES}
    # Both accept other digests of paths.
    assert {kind for kind, *_, program in found if program == ACCEPTED} <= {"path", "two places"}


def test_a_program_that_accepts_more_is_found() -> None:
    wrong = {("sibling", REFUSED, REFUSED, ACCEPTED): 1, ("path", ACCEPTED, ACCEPTED, REFUSED): 1}
    assert len(mutate_layers.differing(mutate_layers.Counter(wrong))) == 2
