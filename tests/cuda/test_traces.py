"""The GPU's traces equal the CPU's, word for word, and only the record is uploaded."""

from dataclasses import replace

import numpy as np
import pytest

from graphprover import prove, verify
from graphprover.device import CpuDevice
from graphprover.vm.kernels.cuda import sources
from graphprover.vm.kernels.lanes import Sources
from graphprover.vm.statement.table_numbers import LANES
from tests.graphs.test_proof_graph import FEW
from tests.strict_device import _SAME
from tests.vm.kernels import test_bumps, test_calls, test_counting, test_keccak_f, test_lanes, test_tape
from tests.vm.traces.test_traces import INPUTS, all_chips, guest, same_words

cupy = pytest.importorskip("cupy")
from graphprover.vm.accelerators.keccak.kernels import permuted  # noqa: E402
from graphprover.vm.kernels import count_entries, count_keys, fill_lanes  # noqa: E402

pytestmark = pytest.mark.gpu


@pytest.fixture
def device():  # type: ignore[no-untyped-def]
    from graphprover.device import cuda

    return cuda.device(0)


def test_the_array_functions_that_trace_tasks_use_are_there() -> None:
    assert all(hasattr(cupy, name) for name in (*_SAME, "asarray"))


@pytest.mark.parametrize(("count", "height"), [(0, 8), (1, 8), (13, 8), (9_000, 8192), (8192, 4096), (600, 1024)])
@pytest.mark.parametrize("start", [0, 1_000_000])
def test_cells_of_lanes(start, count, height, device) -> None:  # type: ignore[no-untyped-def]
    code, lanes = test_lanes.case(count, start)
    expected = np.ones((code.width, height), dtype=np.uint64)
    fill_lanes(CpuDevice(1), [(code, lanes, expected)])
    with device.task():
        main = cupy.ones(expected.shape, dtype=np.uint64)
        fill_lanes(device, loaded(device, [(code, lanes, main)]))
        np.testing.assert_array_equal(main.get(), expected)


def loaded(device, traces):  # type: ignore[no-untyped-def]
    """Return traces whose lanes read copies of their sources on a device; equal sources stay shared."""
    copies = {
        id(lanes.sources): Sources({number: device.load(array) for number, array in lanes.sources.arrays.items()})
        for _, lanes, _ in traces
    }
    return [(code, replace(lanes, sources=copies[id(lanes.sources)]), main) for code, lanes, main in traces]


def test_rows_of_a_table_by_few_launches(device) -> None:  # type: ignore[no-untyped-def]
    expected = np.ones((test_lanes.case(30)[0].width, 60), dtype=np.uint64)
    fill_lanes(CpuDevice(1), test_lanes.windows(expected))
    with device.task():
        main = cupy.ones(expected.shape, dtype=np.uint64)
        traces = loaded(device, test_lanes.windows(main))
        device.usage.clear()
        fill_lanes(device, traces)
        np.testing.assert_array_equal(main.get(), expected)
    assert device.usage["fill_lanes"].launches < len(traces)


@pytest.mark.parametrize("number", [1, 3, 70], ids=["one", "several", "more than a launch takes"])
@pytest.mark.parametrize("rows", [8, 64, 2048, 40_008])
def test_counts(rows, number, device) -> None:  # type: ignore[no-untyped-def]
    """The first trace has ``rows`` rows; the others are as short or shorter."""
    cases = [test_counting.case(rows + i, max(8, rows >> i & ~7)) for i in range(number)]
    expected = np.ones(2 * test_counting.HALF, dtype=np.uint64)
    count_keys(CpuDevice(1), cases, expected)
    with device.task():
        counts = cupy.ones(len(expected), dtype=np.uint64)
        count_keys(device, [(device.load(main), keys) for main, keys in cases], counts)
        np.testing.assert_array_equal(counts.get(), expected)


@pytest.mark.parametrize("rows", [1, 13, 40_003])
def test_counts_of_rows_of_a_shared_table(rows, device) -> None:  # type: ignore[no-untyped-def]
    expected = test_counting.counted(CpuDevice(1), *test_counting.case(rows, rows))
    with device.task():
        window, keys = test_counting.shared(rows, rows)
        table = device.load(window.base)
        counts = cupy.ones(len(expected), dtype=np.uint64)
        count_keys(device, [(table[:, 3 : 3 + rows], keys)], counts)
        np.testing.assert_array_equal(counts.get(), expected)


@pytest.mark.parametrize("size", [1, 31, 16_384, 100_001])
def test_entries(size, device) -> None:  # type: ignore[no-untyped-def]
    """Few and many distinct entries, more than one block counts alone."""
    entries = np.random.default_rng(size).integers(0, [3, 50_000][size > 50_000], size, dtype=np.uint32)
    expected = np.ones(50_000, dtype=np.uint64)
    count_entries(CpuDevice(1), entries, expected)
    with device.task():
        counts = cupy.ones(50_000, dtype=np.uint64)
        count_entries(device, device.load(entries), counts)
        np.testing.assert_array_equal(counts.get(), expected)


@pytest.mark.parametrize("cycle_range", test_tape.CYCLE_RANGES, ids=str)
@pytest.mark.parametrize("program", test_tape.PROGRAMS)
def test_replayed_cycle_ranges(program, cycle_range, device) -> None:  # type: ignore[no-untyped-def]
    same_cycle_range(device, test_tape.case(test_tape.PROGRAMS[program], *cycle_range))


def test_replayed_cycle_ranges_with_late_accesses(device) -> None:  # type: ignore[no-untyped-def]
    program = test_tape.PROGRAMS["everything"]
    same_cycle_range(device, test_tape.case(program, 0, 1 << 20, later=1 << 28))
    same_cycle_range(device, test_tape.case(program, 0, 1 << 20, later=1 << 31))


def test_replayed_cycle_ranges_without_some_chips(device) -> None:  # type: ignore[no-untyped-def]
    program = test_tape.PROGRAMS["everything"]
    same_cycle_range(device, test_tape.case(program, 0, 1 << 20, dropped=test_tape.DROPPED))


@pytest.mark.parametrize("blocks", [16, 4, 1])
def test_replayed_cycle_ranges_of_many_intervals(blocks, device, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """One cycle range repeatedly, like a long run: in blocks of several threads, which diverge."""
    expected = test_tape.repeated(test_tape.case(test_tape.PROGRAMS["everything"], 0, 2048), 3_000)
    monkeypatch.setattr("graphprover.vm.kernels.cuda.tape._BLOCKS", blocks)
    same_cycle_range(device, expected)


def same_cycle_range(device, expected) -> None:  # type: ignore[no-untyped-def]
    """Assert that the device's result for a cycle range is correct."""
    with device.task():
        counts, late, refused = (words.get() for words in test_tape.counted(device, expected))
        cycles = test_tape.written(device, expected)
        np.testing.assert_array_equal(counts, expected.counts)
        np.testing.assert_array_equal(late - np.uint64(1), expected.late)
        np.testing.assert_array_equal(refused, expected.refused)
        for name, column in vars(cycles).items():
            np.testing.assert_array_equal(column.get(), getattr(expected.cycles, name), err_msg=name)


@pytest.mark.parametrize(("program", "later"), test_bumps.CASES)
@pytest.mark.parametrize("block", [1, 256, 1 << 12])
def test_bumps_of_late_accesses(program, later, block, device, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """In blocks of this number of cycles."""
    monkeypatch.setitem(sources._DEFINES, "bumps.cu", sources._DEFINES["bumps.cu"] | {"BLOCK_CYCLES": block})
    monkeypatch.setattr("graphprover.vm.kernels.cuda.bumps.BUMPS_CYCLES", block)
    sources.text.cache_clear()
    found = test_bumps.case(test_bumps.PROGRAMS[program], later)
    with device.task():
        np.testing.assert_array_equal(test_bumps.made(device, *found), test_bumps.expected(*found))
    sources.text.cache_clear()


def test_inverses(device) -> None:  # type: ignore[no-untyped-def]
    words = np.array([0, 1, 2, 0, 3, 2**64 - 2**32, 0], dtype=np.uint64)
    with device.task():
        np.testing.assert_array_equal(device.inverse(device.load(words)).get(), CpuDevice(1).inverse(words))


@pytest.mark.parametrize("name", INPUTS)
def test_guests(name, device) -> None:  # type: ignore[no-untyped-def]
    made = same_words(guest(name), device)
    assert all(isinstance(table.main, cupy.ndarray) for table in made.tables)


@pytest.mark.parametrize("lanes", LANES)
def test_all_chips(lanes, device) -> None:  # type: ignore[no-untyped-def]
    same_words(all_chips(lanes), device)


def test_proofs(device) -> None:  # type: ignore[no-untyped-def]
    stated = guest("fib_iterative")
    expected = prove(stated, executor="sync", parameters=FEW, device=CpuDevice(2))
    device.usage.clear()
    assert prove(stated, executor="sync", parameters=FEW, device=device) == expected
    assert device.usage["fill_lanes"].launches and device.usage["count_keys"].launches
    verify(expected, stated, security=0)


@pytest.mark.parametrize("case", test_keccak_f.CASES)
def test_permutations(case, device) -> None:  # type: ignore[no-untyped-def]
    expected = test_keccak_f.traces(CpuDevice(1), *case)
    with device.task():
        for there, here in zip(test_keccak_f.traces(device, *case), expected, strict=True):
            np.testing.assert_array_equal(there.get(), here)
        states = test_keccak_f.states(case[1])
        np.testing.assert_array_equal(permuted(device, device.load(states)).get(), permuted(CpuDevice(1), states))


@pytest.mark.parametrize("count", test_calls.CASES)
@pytest.mark.parametrize("name", test_calls.NAMES)
def test_host_calls_of_several_rows(name, count, device) -> None:  # type: ignore[no-untyped-def]
    calls, _ = test_calls.case(name, count)
    with device.task():
        main = test_calls.filled(device, name, calls, count)
        np.testing.assert_array_equal(main.get(), test_calls.expected(name, count))
