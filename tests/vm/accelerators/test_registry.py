"""The registry of accelerators: all that other parts need of each is there."""

from importlib import import_module
from pathlib import Path

import pytest

from graphprover.air.columns import Columns
from graphprover.vm.accelerators.host_call import MOST_FURTHER, Accelerator
from graphprover.vm.accelerators.registry import ACCELERATORS, HOST_CALLS, WAY_OF
from graphprover.vm.accelerators.sources import texts
from graphprover.vm.accelerators.table import CallTable
from graphprover.vm.statement.version import CHIP_NUMBERS

RUNTIME = Path(__file__).parents[3] / "examples/guests/sdk/runtime"
EACH = [pytest.param(one, id=one.chip) for one in ACCELERATORS]


def test_numbers_are_of_one_call() -> None:
    numbers = [call.number for call in HOST_CALLS]
    assert numbers == sorted(set(numbers))
    assert [WAY_OF[call.number - numbers[0]] for call in ACCELERATORS[1].calls] == [2] * len(ACCELERATORS[1].calls)


@pytest.mark.parametrize("one", EACH)
def test_parts(one: Accelerator) -> None:
    assert one.chip in CHIP_NUMBERS and all(call.chip == one.chip for call in one.calls)
    assert all(call.further <= MOST_FURTHER for call in one.calls)
    module = import_module(f"graphprover.vm.accelerators.{one.module}")
    assert callable(module.execute)
    table = one.table(lanes=1)
    assert Columns(table.columns).width > 0
    assert isinstance(table, CallTable) == (one.rows > 1) == (one.cuda is not None)
    if isinstance(table, CallTable):
        assert table.name == one.chip and table.host_calls == one.calls and callable(module.fill)


@pytest.mark.parametrize("one", [one for one in EACH if one.values[0].rows > 1])  # type: ignore[union-attr]
def test_a_cuda_source_has_the_kernel_and_the_columns(one: Accelerator) -> None:
    assert one.cuda is not None
    text = texts()[one.cuda.file]
    assert f" fill_{one.chip}(" in text
    for name in ("on", "clk"):
        assert f"#define {one.chip.upper()}_{name.upper()} " in text


def test_the_runtime_in_c_makes_every_call() -> None:
    text = "\n".join(file.read_text() for file in sorted(RUNTIME.glob("*.[ch]")))
    doubles = [call.number for call in HOST_CALLS if call.chip == "point" and call.further == 0]
    assert "curve + 1" in text and doubles
    for call in HOST_CALLS:
        assert str(call.number - (call.number in doubles)) in text
