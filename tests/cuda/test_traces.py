"""Traces that the GPU makes are the CPU's, word for word, and the record is all that goes up."""

import numpy as np
import pytest

from graphprover import prove, verify
from graphprover.device import CpuDevice
from graphprover.vm.table_numbers import LANES
from tests.graphs.test_proof import FEW
from tests.strict_device import _SAME
from tests.vm.kernels import test_counting, test_lanes
from tests.vm.test_traces import HOSTS, INPUTS, all_families, guest, same_words

cupy = pytest.importorskip("cupy")
from graphprover.vm.kernels import count_keys, fill_lanes  # noqa: E402
from graphprover.vm.kernels.lanes import Cell, Lanes  # noqa: E402

pytestmark = pytest.mark.gpu


@pytest.fixture
def device():  # type: ignore[no-untyped-def]
    from graphprover.device import cuda

    return cuda.device(0)


def test_the_array_functions_that_recipes_use_are_there() -> None:
    assert all(hasattr(cupy, name) for name in (*_SAME, "asarray"))


@pytest.mark.parametrize("count", [1, 64, 9_000])
@pytest.mark.parametrize("start", [0, 1_000_000])
def test_cells_of_lanes(start, count, device) -> None:  # type: ignore[no-untyped-def]
    expected, cells, lanes = test_lanes.case(count, count, start)
    fill_lanes(CpuDevice(1), cells, lanes)
    with device.task():
        target = cupy.zeros(expected.shape, dtype=np.uint64)
        there = [
            Cell(target[i], cell.kind, None if cell.source is None else device.load(cell.source), cell.slot)
            for i, cell in enumerate(cells)
        ]
        values, held = ([*map(device.load, columns)] for columns in (lanes.values, lanes.held))
        loaded = Lanes(device.load(lanes.cycles), device.load(lanes.entries), values, lanes.first_clock, held)
        fill_lanes(device, there, loaded)
        np.testing.assert_array_equal(target.get(), expected)


@pytest.mark.parametrize("rows", [8, 64, 2048])
def test_counts(rows, device) -> None:  # type: ignore[no-untyped-def]
    main, keys = test_counting.case(rows, rows)
    expected = test_counting.counted(CpuDevice(1), main, keys)
    with device.task():
        counts = cupy.ones(len(expected), dtype=np.uint64)
        count_keys(device, device.load(main), keys, counts)
        np.testing.assert_array_equal(counts.get(), expected)


def test_inverses(device) -> None:  # type: ignore[no-untyped-def]
    words = np.array([0, 1, 2, 0, 3, 2**64 - 2**32, 0], dtype=np.uint64)
    with device.task():
        np.testing.assert_array_equal(device.inverse(device.load(words)).get(), CpuDevice(1).inverse(words))


@pytest.mark.parametrize("name", INPUTS)
def test_guests(name, device) -> None:  # type: ignore[no-untyped-def]
    made = same_words(guest(name), device)
    assert all(isinstance(table.main, cupy.ndarray) for table in made.tables[1:] if table.air.name not in HOSTS)


@pytest.mark.parametrize("lanes", LANES)
def test_all_families(lanes, device) -> None:  # type: ignore[no-untyped-def]
    same_words(all_families(lanes), device)


def test_proofs(device) -> None:  # type: ignore[no-untyped-def]
    stated = guest("fib_iterative")
    expected = prove(stated, executor="sync", parameters=FEW, device=CpuDevice(2))
    device.usage.clear()
    assert prove(stated, executor="sync", parameters=FEW, device=device) == expected
    assert device.usage["fill_lanes"].launches and device.usage["count_keys"].launches
    verify(expected, stated, security=0)
