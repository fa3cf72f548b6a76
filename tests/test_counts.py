"""Deterministic costs of a proof, against the counts in counts.json.

    python -m tests.test_counts --record

rewrites that file; a change that intends to raise or lower a count does so in the same commit.
"""

import argparse
import json
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphprover import Statement, Table, prove
from graphprover.device import CpuDevice, Device
from graphprover.device.interface import CPU_BATCH, CUDA_BATCH
from graphprover.examples import memory, synthetic
from graphprover.graphs.planner.plan import make_plan
from graphprover.prover.prepare import prepare
from graphprover.statement.cells import committed_cells
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.elf import load_elf
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.run_statement import statement_of_run

RECORDED = Path(__file__).with_name("counts.json")
RECORD = "python -m tests.test_counts --record"
GUESTS = Path(__file__).parents[1] / "examples/guests"
OPERATIONS = {name for name in vars(Device) if not name.startswith("_")} - {
    "arrays", "memory", "task", "split_rows", "place", "repeating",
}  # fmt: skip
PEAK, PEAK_VARIES = "planned peak bytes", 0.08  # by the order of tasks, which Dask derives from hashed names
TO_HOST = {"cap", "gather", "evaluate", "final_polynomial"}  # operations whose results the host reads


def guest(name: str, given: bytes) -> Statement:
    machine = Machine(load_elf((GUESTS / f"{name}.elf").read_bytes()))
    return statement_of_run(machine, execute(machine.image, given, record=True), name)


def example(module: Any) -> Statement:
    inputs = module.prove_inputs(None)
    return Statement([Table(air, values, main) for air, (main, values) in zip(module.tables(), inputs, strict=True)])


STATEMENTS: dict[str, Callable[[], Statement]] = {
    "fib": partial(guest, "fib_iterative", struct.pack("<Q", 300)),
    "sha256": partial(guest, "sha256", b"abc"),
    "keccak": partial(guest, "keccak", b"abc"),
    "interpreter": partial(guest, "interpreter", b'let m = {"a": 1}; for i in 5 { m[i] = i * 3 - 7; } print(m);'),
    "memory": partial(example, memory),
    "synthetic": partial(synthetic.statement, 10, 100, 20),
}


class Counting:
    """A CPU that batches tables like a GPU, and counts requested operations: on a GPU each is one or a few launches."""

    def __init__(self) -> None:
        self._device = CpuDevice(1)
        self.log_batch_rows = CUDA_BATCH
        self.asked: Counter[str] = Counter()
        self.words = 0  # words that the host reads

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._device, name)
        return partial(self._counted, name, found) if name in OPERATIONS else found

    def _counted(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        self.asked[name] += 1
        result = function(*arguments)
        if name in TO_HOST:
            self.words += words(result)
        return result


def words(result: Any) -> int:
    """Return the words of arrays, digests and integers in nested containers."""
    if isinstance(result, np.ndarray):
        return result.size
    if isinstance(result, bytes):
        return len(result) // 8
    return sum(map(words, result)) if isinstance(result, list | tuple) else 1


def counts(statement: Statement) -> dict[str, int]:
    """Return all counts of a statement by name."""
    prepared = prepare(statement)
    found = {"committed cells": sum(committed_cells(statement).values())}
    for device, log_batch_rows in (("cpu", CPU_BATCH), ("cuda", CUDA_BATCH)):
        plan = make_plan(prepared.layout, log_batch_rows, prepared.traces)
        found |= {f"{device}, planned {cost.name}": getattr(plan.total, cost.name) for cost in fields(plan.total)}
        found[f"{device}, {PEAK}"] = plan.peak_bytes(1)
        rounds = Counter(task.round for task in plan.tasks.values())
        found |= {f"{device}, tasks of {round_}": tasks for round_, tasks in rounds.items()}
    chosen = prepared.layout.parameters
    without_work = {field.name: 0 for field in fields(chosen) if field.name.endswith("_pow_bits")}
    device = Counting()
    proof = prove(statement, "sync", parameters=replace(chosen, **without_work), device=device)
    found |= {f"cuda, calls of {name}": calls for name, calls in device.asked.items()}
    return found | {"cuda, words to the host": device.words, "bytes of the proof": len(proof.payload)}


def changes(recorded: Mapping[str, int], found: Mapping[str, int]) -> Iterator[str]:
    """Return a line for each count that differs from the recorded one; missing counts are 0."""
    for count in sorted(recorded.keys() | found.keys()):
        before, after = recorded.get(count, 0), found.get(count, 0)
        if abs(after - before) > (before * PEAK_VARIES if count.endswith(PEAK) else 0):
            yield f"{count} {'rose' if after > before else 'fell'} from {before:,} to {after:,}"


@pytest.mark.parametrize("name", STATEMENTS)
def test_counts_are_those_recorded(name: str) -> None:
    found = list(changes(json.loads(RECORDED.read_text())[name], counts(STATEMENTS[name]())))
    if found:
        pytest.fail("\n".join([f"{name}:", *found, f"if that is meant, record it in the same commit: {RECORD}"]), False)


def test_a_rise_and_a_fall_are_told() -> None:
    recorded = {"same": 5, "more": 5, "less": 5, "gone": 5, PEAK: 5000}
    found = {"same": 5, "more": 1006, "less": 4, "new": 1, PEAK: 5040}
    assert list(changes(recorded, found)) == [
        "gone fell from 5 to 0",
        "less fell from 5 to 4",
        "more rose from 5 to 1,006",
        "new rose from 0 to 1",
    ]
    assert list(changes({PEAK: 5000}, {PEAK: 5401})) == [f"{PEAK} rose from 5,000 to 5,401"]


def main() -> None:
    """Record the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", required=True, help=f"write {RECORDED.name}")
    parser.parse_args()
    found = {name: counts(make()) for name, make in STATEMENTS.items()}
    RECORDED.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
