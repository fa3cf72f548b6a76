"""Devices by name; a request for a missing GPU is an error, without a fallback."""

import pytest

from graphprover.device import CpuDevice, choose
from graphprover.device.choose import device_for, profile_of
from graphprover.device.interface import CPU_BATCH, CUDA_BATCH
from graphprover.device.rmm_errors import names_cuda_error


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


def test_how_a_device_runs_a_graph_is_known_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "gpus", lambda: 0)
    own = CpuDevice()
    for name in ("cpu", "auto"):
        profile = profile_of(name)
        assert (profile.kind, profile.log_batch_rows, profile.threads) == ("cpu", own.log_batch_rows, own.threads)
    for name in ("cuda", "cuda:7"):
        profile = profile_of(name)
        assert (profile.kind, profile.log_batch_rows, profile.threads) == ("cuda", CUDA_BATCH, 1)
    assert profile_of("cpu").log_batch_rows == CPU_BATCH
    monkeypatch.setattr(choose, "gpus", lambda: 1)
    assert profile_of("auto").kind == "cuda"
    with pytest.raises(ValueError, match="give auto, cpu, cuda or cuda:NUMBER"):
        profile_of("gpu")


def test_what_rmm_raises_where_cuda_has_failed() -> None:
    said = (
        "CUDA error at: /rmm/cuda_stream_view.cpp:35: cudaErrorIllegalAddress an illegal memory access was encountered"
    )
    assert names_cuda_error(RuntimeError(said))
    assert not names_cuda_error(RuntimeError("this process was forked from one that had proved"))
