"""A run's record on a device: one copy for the census and the proof, unless it is long or cut."""

from typing import Any

import pytest

from graphprover.vm.executor.execute import execute
from graphprover.vm.executor.record import Record
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces import run
from tests import fake_cupy
from tests.vm.programs import everything


@pytest.fixture
def device(tmp_path: Any) -> Any:
    with fake_cupy.new_device(str(tmp_path)) as made:
        yield made


def made() -> tuple[Machine, Record]:
    program = everything()
    record = execute(program, b"some input", record=True).record
    assert record is not None
    return Machine(program), record


def test_a_short_record_is_copied_once(device: Any) -> None:
    machine, record = made()
    first, again = (
        run.load_tape(device, machine=machine, record=record, cycle_range=range(record.cycles)) for _ in range(2)
    )
    assert all(getattr(first, name) is getattr(again, name) for name in ("old", "time", "index", "at", "values"))
    held = device.constants.held()
    del record
    assert device.constants.held() < held, "the copies are freed with the record"


@pytest.mark.parametrize("how", ["long", "cut"])
def test_other_records_are_not_cached(how: str, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "long":
        monkeypatch.setattr(run, "_CACHED", 1)
    machine, record = made()
    cycles = range(record.cycles) if how == "long" else range(record.cycles // 2)
    first, again = (run.load_tape(device, machine=machine, record=record, cycle_range=cycles) for _ in range(2))
    assert first.old is not again.old and first.code is again.code
