"""Devices by name; a GPU that is asked for and not there is an error, never another device."""

import pytest

from graphprover.device import CpuDevice, choose
from graphprover.device.choose import device_for


def test_names() -> None:
    assert isinstance(device_for("cpu"), CpuDevice)
    for name in ("gpu", "cuda:", "cuda:x", "", "CPU"):
        with pytest.raises(ValueError, match="give auto, cpu, cuda or cuda:NUMBER"):
            device_for(name)


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "gpus", lambda: 0)
    assert isinstance(device_for("auto"), CpuDevice)
    with pytest.raises(ValueError, match=r"^device cuda: CuPy"):
        device_for("cuda")
    monkeypatch.setattr(choose, "gpus", lambda: 2)
    with pytest.raises(ValueError, match=r"^device cuda:2: CuPy sees 2 GPUs|^device cuda:2: CuPy is not installed"):
        device_for("cuda:2")
