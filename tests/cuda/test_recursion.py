"""The GPU's traces of the recursion machine equal the CPU's, word for word."""

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graphprover import Prover, prove, prove_many
from graphprover.device import CpuDevice
from graphprover.recursion.tables.machine import ADDRESS
from graphprover.recursion.traces.nodes import Nodes, fill_nodes
from graphprover.statement.trace_task import make
from tests.recursion import layered, test_calls, test_kernels, test_machine, test_nodes, test_segments, test_steps
from tests.recursion.machines import main_of

cupy = pytest.importorskip("cupy")

pytestmark = pytest.mark.gpu


@pytest.fixture
def device():  # type: ignore[no-untyped-def]
    from graphprover.device import cuda

    return cuda.device(0)


@pytest.mark.parametrize("case", [*test_kernels.CASES, (4096, 1 << 16), (3000, 1 << 17)])
def test_traces_of_compressions(case, device) -> None:  # type: ignore[no-untyped-def]
    count, rows = case
    calls = test_kernels.random_calls(count)
    expected = test_kernels.filled(CpuDevice(1), calls, rows)
    device.usage.clear()
    with device.task():
        for there, here in zip(test_kernels.filled(device, calls, rows), expected, strict=True):
            np.testing.assert_array_equal(there.get(), here)
    assert [device.usage[name].launches for name in ("fill_blake3", "count_xors")] == [1, 1]


def test_traces_of_nodes(device) -> None:  # type: ignore[no-untyped-def]
    nodes, made = test_nodes.honest(test_nodes.opened())
    expected = main_of(made)
    with device.task():
        there = Nodes(**{name: device.load(array) for name, array in vars(nodes).items()})
        main = device.arrays.zeros(expected.shape, dtype=np.uint64)
        fill_nodes(main, there, 1)
        np.testing.assert_array_equal(main.get()[:ADDRESS, 1:], expected[:ADDRESS, 1:])


@pytest.mark.parametrize("case", test_calls.CASES)
def test_calls_of_rows_and_nodes(case, device) -> None:  # type: ignore[no-untyped-def]
    expected = test_calls.made(case, CpuDevice(1))
    device.usage.clear()
    with device.task():
        for there, here in zip(test_calls.made(case, device), expected, strict=True):
            np.testing.assert_array_equal(there.get(), here)
    launches = device.usage["hash_segments"].launches if "hash_segments" in device.usage else 0
    assert launches == (2 if test_calls.CASES[case][0] else 0)


@pytest.mark.parametrize("rows", [2048, 1 << 14])
def test_traces_of_opened_rows(rows, device) -> None:  # type: ignore[no-untyped-def]
    expected = test_segments.filled(CpuDevice(1), rows)
    device.usage.clear()
    with device.task():
        for there, here in zip(test_segments.filled(device, rows), expected, strict=True):
            np.testing.assert_array_equal(there.get(), here)
    launched = [device.usage[name].launches for name in ("fill_segments", "count_halves", "count_cells")]
    assert launched == [1, 1, 1]


def test_traces_of_programs(device) -> None:  # type: ignore[no-untyped-def]
    ran = test_steps.everything()
    device.usage.clear()
    with device.task():
        found = test_steps.traces(ran, device)
        for there, here in zip(found, test_steps.traces(ran, CpuDevice(1)), strict=True):
            np.testing.assert_array_equal(there.get(), here)
    launched = [device.usage[name].launches for name in ("fill_steps", "count_operands", "count_numbers")]
    assert launched == [1, 1, 1]


@pytest.mark.parametrize("statement", test_machine.HONEST)
def test_proofs_of_rows_of_each_kind(statement, device) -> None:  # type: ignore[no-untyped-def]
    made = test_machine.HONEST[statement][0]()
    assert prove(made, device=device) == prove(made, device=CpuDevice(2))


@pytest.mark.parametrize("merged", [False, True])
def test_proofs_of_layers(merged, device) -> None:  # type: ignore[no-untyped-def]
    made = layered.child("two heights").statement(merged=merged)
    assert prove(made, device=device) == prove(made, device=CpuDevice(2))


def test_layers_beside_other_proofs_change_no_byte() -> None:
    """Twelve jobs of a batch, of which each has its layers while the next one is proved."""
    guest = Path(__file__).parents[2] / "examples/guests/fib_iterative.elf"
    prover = Prover(guest, security=40, compress=(8, 16))
    jobs = [prover.job(struct.pack("<Q", 3000 << number % 3)) for number in range(12)]
    expected = [job.make("threads", "cuda").proof for job in jobs]
    assert [result.proof for result in prove_many(jobs, "threads", "cuda")] == expected


def test_traces_of_a_merged_layer(device) -> None:  # type: ignore[no-untyped-def]
    """Also with rows that nothing needs, in which the preprocessed columns repeat."""
    (table,) = layered.child("two heights").statement(merged=True).tables
    for rows in (1 << 16, 1 << 17):
        task = replace(table.main, fixed={**table.main.fixed, "rows": rows}, shape=(table.main.shape[0], rows))
        there = make(device, task, {})
        np.testing.assert_array_equal(there.get(), make(CpuDevice(2), task, {}))
