"""The GPU's traces of the recursion machine equal the CPU's, word for word."""

import numpy as np
import pytest

from graphprover import prove
from graphprover.device import CpuDevice
from graphprover.recursion.statement import statement_of
from graphprover.recursion.traces.node import Nodes, node_trace
from graphprover.recursion.witness.hashed_rows import hashed
from tests.recursion import layered, opened, test_core, test_kernels, test_node, test_row

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
    assert [device.usage[name].launches for name in ("fill_compress", "count_xors")] == [1, 1]


def test_traces_of_nodes(device) -> None:  # type: ignore[no-untyped-def]
    nodes, made = test_node.honest(test_node.opened())
    expected = made.tables[2].main
    with device.task():
        there = Nodes(**{name: device.load(array) for name, array in vars(nodes).items()})
        np.testing.assert_array_equal(node_trace(device, there, expected.shape[1]).get(), expected)


@pytest.mark.parametrize("rows", [1024, 1 << 14])
def test_traces_of_opened_rows(rows, device) -> None:  # type: ignore[no-untyped-def]
    found = hashed(test_row.groups())
    expected = test_row.filled(CpuDevice(1), found, rows)
    device.usage.clear()
    with device.task():
        for there, here in zip(test_row.filled(device, found, rows), expected, strict=True):
            np.testing.assert_array_equal(there.get(), here)
    launched = [device.usage[name].launches for name in ("fill_row", "count_halves", "count_cells")]
    assert launched == [1, 1, 1]


def test_traces_of_programs(device) -> None:  # type: ignore[no-untyped-def]
    ran = test_core.everything()
    device.usage.clear()
    with device.task():
        for there, here in zip(ran.traces(device), ran.traces(CpuDevice(1)), strict=True):
            np.testing.assert_array_equal(there.get(), here)
    assert device.usage["count_numbers"].launches == 5  # a memory trace counts four operands, a program's the steps


def test_proofs_of_programs(device) -> None:  # type: ignore[no-untyped-def]
    made = test_core.statement()
    assert prove(made, device=device) == prove(made, device=CpuDevice(2))


def test_proofs_of_openings(device) -> None:  # type: ignore[no-untyped-def]
    made = statement_of(opened.openings(), opened.GAMMA)
    assert prove(made, device=device) == prove(made, device=CpuDevice(2))


def test_proofs_of_layers(device) -> None:  # type: ignore[no-untyped-def]
    made = layered.child("two heights").statement()
    assert prove(made, device=device) == prove(made, device=CpuDevice(2))
