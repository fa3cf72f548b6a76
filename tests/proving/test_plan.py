"""Plans in Python are what ``graphprover plan`` prints."""

import json
from dataclasses import asdict

import pytest

from graphprover import Prover, Statement, Table, plan
from graphprover.cli.main import main
from graphprover.examples.fibonacci import Fibonacci, trace
from graphprover.graphs.planner.plan import Plan
from graphprover.proving.plan import ProofPlan
from graphprover.runtime.errors import OK

GUEST = "examples/guests/fib_iterative.elf"
TURNS = bytes([9] + [0] * 7)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert main(["plan", *arguments, "--json", "--device", "cpu"]) == OK
    return json.loads(capsys.readouterr().out)


def same(found: ProofPlan, facts: dict) -> None:
    """Compare a plan with the facts of the command; the pace is measured anew."""
    assert found.name == facts["program"] and found.default_rate == facts["default_rate"]
    for ours, theirs in zip(found.rates, facts["rates"], strict=True):
        assert asdict(ours) | {"expected_seconds": 0} == theirs | {"expected_seconds": 0}
    if isinstance(found.graph, Plan):
        assert {task["key"] for task in facts["tasks"]} == set(found.graph.tasks)


def test_the_plan_of_tables(capsys: pytest.CaptureFixture[str]) -> None:
    found = Prover("examples/fibonacci", device="cpu").plan()
    same(found, printed(capsys, "examples/fibonacci"))
    assert found.proof.rate == found.rate == found.default_rate and found.cost is None and found.cycles is None


@pytest.mark.parametrize("options", [{}, {"shards": 2}])
def test_the_plan_of_a_guest(capsys: pytest.CaptureFixture[str], tmp_path, options: dict[str, int]) -> None:
    (tmp_path / "turns").write_bytes(TURNS)
    prover = Prover(GUEST, device="cpu", **options)
    found = prover.plan(TURNS)
    facts = printed(
        capsys, GUEST, "--input", str(tmp_path / "turns"), *(f"--{name}={n}" for name, n in options.items())
    )
    same(found, facts)
    assert found.committed_cells == facts["committed_cells"] and found.cost.value == facts["cost"]["value"]
    assert found.cycles == prover.execute(TURNS).cycles and found.shards == options.get("shards", 1)


def test_the_plan_of_a_statement() -> None:
    main_trace, values = trace(1 << 6)
    statement = Statement([Table(Fibonacci(), values, main_trace)], "sums")
    found = plan(statement, device="cpu", rate=8)
    assert found.rate == 8 and found.name == "sums" and plan(statement, device="cuda").pace is None
    assert repr(found).startswith("<Plan of a proof of 'sums' at rate 1/8: ")
    page = found._repr_html_()
    assert "1/8 (planned)" in page and f"{found.proof.bytes:,}" in page and page.count("<tr>") == len(found.rates) + 1


def test_a_plan_refuses_a_run_above_the_limit() -> None:
    with pytest.raises(Exception, match="cost"):
        Prover(GUEST).plan(TURNS, max_cost=1)
