"""Traces are the same words, whatever device makes them."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from distributed import Client, LocalCluster

from graphprover import prove
from graphprover.device import CpuDevice
from graphprover.statement import Statement, with_traces
from graphprover.vm.elf import load_elf
from graphprover.vm.execute import execute
from graphprover.vm.run_statement import statement_of_run
from graphprover.vm.statement import Machine
from graphprover.vm.table_numbers import LANES
from tests.graphs.test_proof import FEW
from tests.strict_device import StrictArray, StrictDevice
from tests.vm.programs import everything, sharing_rows

GUESTS = Path(__file__).parents[2] / "examples/guests"
HOSTS = ("keccak_f", "even")  # tables whose traces the host makes beforehand
INPUTS = {
    "fib_iterative": struct.pack("<Q", 20_000),
    "sha256": bytes(range(256)) * 4,
    "keccak": bytes(1000),
    "quicksort": np.arange(200, dtype="<i8")[::-1].tobytes(),
    "matrix": bytes(range(128)) * 2,
    "merkle": struct.pack("<Q", 5) + bytes(32 * 5),
    "json": json.dumps({"a": [1, 2, {"b": "x" * 50}] * 20}).encode(),
}


def guest(name: str) -> Statement:
    """What is proved of a guest's run on a small input."""
    machine = Machine(load_elf((GUESTS / f"{name}.elf").read_bytes()))
    return statement_of_run(machine, execute(machine.image, INPUTS[name], record=True))


def all_families(lanes: int) -> Statement:
    """What is proved of a program that uses all families, whose rows have so many lanes."""
    execution = execute(everything(6, 2), record=True)
    with pytest.MonkeyPatch.context() as patch:
        sharing_rows(patch, lanes)
        return statement_of_run(Machine(execution.image), execution)


def same_words(statement: Statement, device: object) -> Statement:
    """The statement with traces made by a device, which are those of one thread of the CPU."""
    made, expected = with_traces(statement, device), with_traces(statement, CpuDevice(1))
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
    assert all(isinstance(table.main, StrictArray) for table in made.tables[1:] if table.air.name not in HOSTS)


@pytest.mark.parametrize("lanes", LANES)
def test_all_families(lanes: int) -> None:
    same_words(all_families(lanes), CpuDevice(3))
    same_words(all_families(lanes), StrictDevice())


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
