"""The cost number: its value, its limit, and how well it predicts measured proofs."""

import json
import pickle
import struct
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

from graphprover.examples import synthetic
from graphprover.jobs.job import Job
from graphprover.jobs.programs import ProgramError
from graphprover.proving.prover import Prover
from graphprover.statement.cells import cells_per_row, committed_cells
from graphprover.statement.cost import (
    COST_VERSION,
    SECONDS_OF_UNIT,
    WEIGHTS,
    CostLimit,
    cost_of_counts,
    cost_of_part,
    cost_of_tables,
)
from graphprover.vm.profile.measure import profile
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.possible import possible_tables
from tests.vm.programs import everything

GUESTS = Path(__file__).parents[2] / "examples/guests"
MEASURED = Path(__file__).with_name("measured_cost.json")  # by scripts/fit_cost.py, on two hosts with an NVIDIA H200


def test_the_weights_of_this_version() -> None:
    """Fail if a weight changes without a new version: costs that users have noted would be compared with others."""
    assert (COST_VERSION, WEIGHTS) == (
        2,
        {"cells": 1, "cycles": 11, "words": 23_000, "tables": 6_400_000, "proof": 95_000_000},
    )


@pytest.mark.parametrize(("pairs", "value"), [(1, 288_909_364), (60, 323_926_566)])
def test_runs_of_every_chip_have_the_costs_of_this_version(pairs: int, value: int) -> None:
    """Fail for changed columns or a changed default policy: then COST_VERSION rises, and these costs change with it."""
    assert profile(everything(pairs)).cost.value == value


def test_the_rows_of_all_tables_have_the_cells_of_this_version() -> None:
    tables = list(possible_tables(Machine(everything(1))))
    assert (len(tables), sum(map(cells_per_row, tables))) == (539, 69_330)


def test_a_cost_is_the_sum_of_its_classes() -> None:
    cost = cost_of_counts(cells=1000, cycles=20, words=3, tables=2)
    assert cost.value == 1000 + 20 * 11 + 3 * 23_000 + 2 * 6_400_000 + 95_000_000 == 107_870_220
    assert [(one.name, one.count, one.cost) for one in cost.classes][:3] == [
        ("cells", 1000, 1000),
        ("cycles", 20, 220),
        ("words", 3, 69_000),
    ]
    assert str(cost) == "107,870,220 (graphprover cost 2)"
    assert cost_of_part(1000, 20) == 1220
    with pytest.raises(FrozenInstanceError):
        cost.value = 1  # type: ignore[misc]


def test_tables_are_counted_by_name_and_words_by_table() -> None:
    air = synthetic.table(3, 20, 2).air.describe()
    cost = cost_of_tables([(air, 8), (air, 64)], 5)
    counts = {one.name: one.count for one in cost.classes}
    width = cells_per_row(air)
    assert counts == {"cells": 72 * width, "cycles": 5, "words": 2 * width, "tables": 1, "proof": 1}


def test_a_cost_above_the_limit_is_refused() -> None:
    cost = cost_of_counts(cells=0, cycles=0, words=0, tables=0)
    cost.check(None)
    cost.check(95_000_000)
    with pytest.raises(CostLimit, match=r"^cost 95,000,000 \(graphprover cost 2\), and the limit is 94,999,999: not "):
        cost.check(94_999_999)
    again = pickle.loads(pickle.dumps(CostLimit("words")))  # cluster workers return it
    assert isinstance(again, CostLimit) and str(again) == "words"


def test_the_number_predicts_measured_proofs() -> None:
    """Compare with the errors that docs/performance.md states."""
    runs = json.loads(MEASURED.read_text())
    costs = np.array([sum(weight * run[name] for name, weight in WEIGHTS.items()) for run in runs])
    errors = costs * SECONDS_OF_UNIT / np.array([run["seconds"] for run in runs]) - 1
    assert len(runs) == 46 and (abs(errors) <= 0.1).sum() == 42 and abs(errors).max() < 0.2
    assert round(float(np.sqrt((errors**2).mean())), 3) == 0.059
    by_guest: dict[str, list[float]] = {}
    for run, error in zip(runs, errors.tolist(), strict=True):
        by_guest.setdefault(run["run"].split()[0], []).append(error)
    assert len(by_guest) == 12
    assert all(abs(sum(own) / len(own)) < 0.1 for own in by_guest.values())


@pytest.mark.parametrize(
    ("guest", "data"),
    [("fib_iterative", struct.pack("<Q", 40_000)), ("keccak", bytes(500)), ("json", b'[1, {"a": [2, 3.5]}, "text"]')],
)
def test_a_run_has_one_cost(guest: str, data: bytes) -> None:
    """Count with and without a record, which are independent ways to the same tables."""
    prover = Prover(GUESTS / f"{guest}.elf", rate=8, shards=2)  # the options of a proof do not matter
    run = prover.program.record(data)
    cost = prover.program.cost_about(run)
    assert cost == prover.cost(data)
    counts = {one.name: one.count for one in cost.classes}
    statement = prover.program.statement_about(run)
    cells = committed_cells(statement)
    assert counts["cycles"] == run.cycles and counts["cells"] == sum(cells.values()) and counts["tables"] == len(cells)
    assert counts["words"] == sum(cells_per_row(air) for one in statement.statements for air in one.descriptions)


def test_nothing_above_the_limit_is_proved() -> None:
    prover = Prover(GUESTS / "json.elf", device="cpu")
    cost = prover.cost(b"[]").value
    with pytest.raises(CostLimit, match=f"raise --max-cost to {cost} or more"):
        prover.prove(b"[]", max_cost=cost - 1)
    Job(prover, b"[]", max_cost=cost).prepared()


def test_tables_have_no_cost_to_limit() -> None:
    prover = Prover("examples/keccak")
    with pytest.raises(ProgramError, match="no ELF file, so it has no run with a cost"):
        prover.cost(b"")
    with pytest.raises(ValueError, match="no guest"):
        prover.program.cost_about(None)
    with pytest.raises(ProgramError, match="no guest, so it has no input to state"):
        prover.prove(b"", max_cost=1)
