"""A failing operation in any round gives an error that names its place, or the same bytes from the CPU."""

import logging
from collections.abc import Iterator

import numpy as np
import pytest

from graphprover import Statement, Table, prove
from graphprover.device import CpuDevice, DeviceLost
from graphprover.device.choose import device_for
from graphprover.device.interface import CPU_BATCH, Device
from graphprover.prover import local
from graphprover.statement import check
from graphprover.statement.statement import with_traces
from tests.failing_device import FailingDevice
from tests.graphs.test_proof_graph import FEW
from tests.random_statements import random_statement
from tests.trace_tasks import as_trace_tasks

BYTES = "no 96 bytes on the device, with 4,096 bytes held"


@pytest.fixture(scope="module")
def statement() -> Statement:
    """Return two tables of different heights with preprocessed columns, lookups and trace tasks."""
    return as_trace_tasks(random_statement(7, tables=2)[1])


@pytest.fixture(scope="module", autouse=True, params=["alone", "together"])
def batched(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run the tests once with tasks for each table and once with tasks that both tables share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FailingDevice, "log_batch_rows", CPU_BATCH if request.param == "together" else -1)
        yield


@pytest.fixture(scope="module")
def calls(statement: Statement, batched: None) -> list[tuple[str, int]]:
    """Return every call of every operation that one proof makes."""
    device = FailingDevice()
    prove(statement, executor="sync", parameters=FEW, device=device)
    seen = {
        "task",
        "expect",
        "fetch",
        "arrays",
        "memory",
        "model",
        "reading",
        "stamp",
        "spans",
        "profiled",
        "repeating",
        "load_all",
        "constant_all",
        "room",
    }  # of them, not of arrays
    operations = {name for name in vars(Device) if not name.startswith("_")} - seen
    assert operations == set(device.calls), "the statement uses every operation"
    return [(name, call + 1) for name, count in device.calls.items() for call in range(count)]


def test_every_failure_names_its_round_and_table(statement: Statement, calls: list[tuple[str, int]]) -> None:
    places: dict[str, set[str]] = {}
    for name, call in calls:
        device = FailingDevice(name, call, MemoryError(BYTES))
        with pytest.raises(MemoryError) as caught:
            prove(statement, executor="sync", parameters=FEW, device=device)
        place, _, rest = str(caught.value).partition(": ")
        assert rest == BYTES
        round_, _, names = place.partition(" of ")
        places.setdefault(round_, set()).update(names.split(", "))
    both = {"0.table0", "1.table1"}
    for round_ in ("trace_main", "extend_main", "extend_preprocessed", "lookup", "quotient", "opening", "deep"):
        assert places[round_] == both, round_
    assert places.keys() >= {"tree", "opening_weights", "deep_denominators", "fri_tree", "fri_fold", "query"}


@pytest.mark.parametrize("executor", ["sync", "threads"])
def test_after_every_failure_the_cpu_gives_the_same_bytes(
    statement: Statement,
    calls: list[tuple[str, int]],
    executor: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = prove(statement, executor="sync", parameters=FEW, device="cpu")
    for name, call in calls:
        gpu = FailingDevice(name, call, MemoryError(BYTES))
        monkeypatch.setattr(local, "device_for", lambda name, gpu=gpu: gpu if name == "auto" else CpuDevice(1))
        caplog.clear()
        assert prove(statement, executor=executor, parameters=FEW) == expected
        assert gpu.calls[name] == call, "nothing is tried again on the GPU"
        [warning] = [record for record in caplog.records if record.name == local.__name__]
        assert warning.levelno == logging.WARNING
        assert "the CPU makes the proof" in warning.message and warning.message.endswith(BYTES)


def test_the_warning_is_a_line_on_stderr(statement: Statement, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write one line if logging is not configured."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    written: list[str] = []
    assert logging.lastResort is not None
    monkeypatch.setattr(logging.lastResort, "emit", lambda record: written.append(record.getMessage()))
    monkeypatch.setattr(logging.getLogger(check.__name__), "disabled", True)  # of random tables it says more
    gpu = FailingDevice("extend", 1, MemoryError(BYTES))
    monkeypatch.setattr(local, "device_for", lambda name: gpu if name == "auto" else CpuDevice(1))
    prove(statement, executor="sync", parameters=FEW)
    [line] = written
    assert "extend" in line and "\n" not in line


def test_a_device_that_is_asked_for_is_not_replaced(statement: Statement, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = FailingDevice("quotient", 1, MemoryError(BYTES))
    monkeypatch.setattr(local, "device_for", {"cuda": gpu, "cpu": CpuDevice(1)}.__getitem__)
    with pytest.raises(MemoryError, match=rf"^quotient of \d\.table\d.*: {BYTES}$"):
        prove(statement, executor="sync", parameters=FEW, device="cuda")


def test_a_cpu_without_memory_is_not_tried_twice(statement: Statement, monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = device_for("cpu")
    tried = []

    def extend(*arguments: object) -> None:
        tried.append(arguments)
        np.empty(1 << 57, dtype=np.uint64)

    monkeypatch.setattr(cpu, "extend", extend)
    monkeypatch.setattr(local, "device_for", lambda name: cpu)
    with pytest.raises(MemoryError, match=r"^extend_\w+ of \d\.table\d.*: .*1\.00 EiB"):
        prove(statement, executor="sync", parameters=FEW)
    assert len(tried) == 1


def test_a_lost_device_is_not_replaced(statement: Statement, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = FailingDevice("fold", 1, DeviceLost("GPU 0 failed"))
    monkeypatch.setattr(local, "device_for", lambda name: gpu if name == "auto" else CpuDevice(1))
    with pytest.raises(DeviceLost, match=r"^fri_fold of .*: GPU 0 failed$"):
        prove(statement, executor="sync", parameters=FEW)


def test_a_trace_on_a_gpu_comes_down_for_the_cpu(statement: Statement, monkeypatch: pytest.MonkeyPatch) -> None:
    class OnGpu(np.ndarray):
        """The attributes of a GPU's array that the prover reads."""

        __cuda_array_interface__ = None

        def get(self) -> np.ndarray:
            return np.asarray(self)

    expected = prove(statement, executor="sync", parameters=FEW, device="cpu")
    arrays = with_traces(statement).tables
    lying = [Table(table.air, table.public_values, np.asarray(table.main).view(OnGpu)) for table in arrays]
    gpu = FailingDevice("load", 1, MemoryError(BYTES))
    seen = []

    class Cpu(CpuDevice):
        def load(self, columns: np.ndarray) -> np.ndarray:
            seen.append(type(columns))
            return columns

    monkeypatch.setattr(local, "device_for", lambda name: gpu if name == "auto" else Cpu(1))
    assert prove(Statement(lying), executor="sync", parameters=FEW) == expected
    assert set(seen) == {np.ndarray}
