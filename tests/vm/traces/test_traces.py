"""Traces have the same words on every device."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster

from graphprover import prove
from graphprover.device import CpuDevice
from graphprover.prover import prepare
from graphprover.statement import statement
from graphprover.statement.statement import Statement, with_traces
from graphprover.statement.trace_task import TraceTask
from graphprover.vm.executor.execute import execute
from graphprover.vm.program.elf import load_elf
from graphprover.vm.statement.statement import Machine
from graphprover.vm.statement.table_numbers import LANES
from graphprover.vm.traces.run_statement import statement_of_run
from tests.graphs.test_proof_graph import FEW
from tests.strict_device import StrictArray, StrictDevice
from tests.vm.programs import everything, sharing_rows

GUESTS = Path(__file__).parents[3] / "examples/guests"
INPUTS = {
    "fib_iterative": struct.pack("<Q", 20_000),
    "sha256": bytes(range(256)) * 4,
    "keccak": bytes(1000),
    "quicksort": np.arange(200, dtype="<i8")[::-1].tobytes(),
    "matrix": bytes(range(128)) * 2,
    "merkle": struct.pack("<Q", 5) + bytes(32 * 5),
    "interpreter": b'let m = {}; for i in 9 { m[i % 4] = text(i) + "x"; } print(m);',
    "json": json.dumps({"a": [1, 2, {"b": "x" * 50}] * 20}).encode(),
}


def guest(name: str) -> Statement:
    """Return the statement of a guest's run on a small input."""
    machine = Machine(load_elf((GUESTS / f"{name}.elf").read_bytes()))
    return statement_of_run(machine, execute(machine.image, INPUTS[name], record=True))


def all_chips(lanes: int) -> Statement:
    """Return the statement of a program that uses all chips, with ``lanes`` lanes in a row."""
    execution = execute(everything(6, 2), record=True)
    with pytest.MonkeyPatch.context() as patch:
        sharing_rows(patch, lanes)
        return statement_of_run(Machine(execution.image), execution)


def same_words(stated: Statement, device: object) -> Statement:
    """Return the statement with traces by a device, which must equal the traces by one thread of the CPU."""
    made, expected = with_traces(stated, device), with_traces(stated, CpuDevice(1))
    if hasattr(device, "synchronize"):
        device.synchronize()
    for there, here in zip(made.tables, expected.tables, strict=True):
        words = there.main.get() if hasattr(there.main, "get") else np.asarray(there.main)
        np.testing.assert_array_equal(words, here.main, err_msg=there.air.name)
    return made


@pytest.mark.parametrize("name", INPUTS)
def test_guests(name: str) -> None:
    stated = guest(name)
    same_words(stated, CpuDevice(3))
    made = same_words(stated, StrictDevice())
    assert all(isinstance(table.main, StrictArray) for table in made.tables)


@pytest.mark.parametrize("lanes", LANES)
def test_all_chips(lanes: int) -> None:
    same_words(all_chips(lanes), CpuDevice(3))
    same_words(all_chips(lanes), StrictDevice())


def test_processes_of_a_cluster_make_them() -> None:
    stated = guest("merkle")
    expected = prove(stated, executor="sync", parameters=FEW)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, Client(cluster) as client:
        assert prove(stated, executor=client, parameters=FEW, device=CpuDevice(1)) == expected


def test_the_strict_device_notices() -> None:
    there, here = StrictDevice().load(np.arange(4)), np.arange(4)
    for mistake in (
        lambda: there + here,
        lambda: there[here],
        lambda: there[there > 1],
        lambda: np.searchsorted(here, there),
        lambda: bool((there > 1).all()),
        lambda: np.flatnonzero(there),
        lambda: there.tolist(),
        lambda: StrictDevice().arrays.bincount(there),
    ):
        with pytest.raises((TypeError, AttributeError)):
            mistake()


def test_the_host_looks_at_no_word_that_the_machine_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prepare trace tasks without reading their words, and check preprocessed columns once for all runs."""
    checked: list[str] = []
    check = statement.as_columns

    def as_columns(array: np.ndarray, width: int, what: str) -> np.ndarray:
        checked.append(what)
        return check(array, width, what)

    monkeypatch.setattr(statement, "as_columns", as_columns)
    monkeypatch.setattr(prepare, "as_columns", as_columns)
    machine = Machine(load_elf((GUESTS / "keccak.elf").read_bytes()))
    for size in (100, 1000):
        stated = statement_of_run(machine, execute(machine.image, bytes(size), record=True))
        assert all(isinstance(table.main, TraceTask) for table in stated.tables)
        prepare.prepare(stated)
        if size == 100:
            assert all("preprocessed" in what for what in checked)
            checked.clear()
    assert checked == []
    prepare.prepare(with_traces(stated))  # arrays, as a user has them
    assert len(checked) == len(stated.tables)
