"""Energy by the counters of a false NVML and of false files of Linux; without counters there is no number."""

import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from graphprover.device import energy
from graphprover.device.energy import Energy, metered

GPUS = {"0000:17:00.0": 5_000_000, "0000:9d:00.0": 7_000_000}  # millijoules since the driver's start


class FalseNvml(ModuleType):
    """As much of pynvml as this package uses."""

    class NVMLError(Exception):
        """An error of the library."""

    def __init__(self) -> None:
        super().__init__("pynvml")
        self.counters = dict(GPUS)
        self.opened = 0  # calls of nvmlInit without nvmlShutdown

    def nvmlInit(self) -> None:
        self.opened += 1

    def nvmlShutdown(self) -> None:
        self.opened -= 1

    def nvmlDeviceGetHandleByPciBusId(self, address: str) -> str:
        assert self.opened
        return address

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: str) -> int:
        if handle not in self.counters:
            raise self.NVMLError("Not Supported")
        return self.counters[handle]


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FalseNvml:
    found = FalseNvml()
    monkeypatch.setitem(sys.modules, "pynvml", found)
    return found


def zone(system: Path, place: str, name: str, counter: int, most: int = 999_999) -> Path:
    """Add a counter of a processor, in microjoules."""
    folder = system / "class/powercap" / place
    folder.mkdir(parents=True)
    for file, text in (("name", name), ("energy_uj", counter), ("max_energy_range_uj", most)):
        (folder / file).write_text(f"{text}\n")
    return folder / "energy_uj"


def test_gpus_are_summed_from_the_start(nvml: FalseNvml, tmp_path: Path) -> None:
    with metered(list(GPUS), tmp_path) as read:
        assert read().gpu == Energy(0.0)
        nvml.counters["0000:17:00.0"] += 1500
        nvml.counters["0000:9d:00.0"] += 250
        assert read().gpu == Energy(1.75)
    assert nvml.opened == 0


def test_only_the_given_gpu_counts(nvml: FalseNvml, tmp_path: Path) -> None:
    with metered(["0000:9d:00.0"], tmp_path) as read:
        nvml.counters["0000:17:00.0"] += 1500
        assert read().gpu == Energy(0.0)
    with metered([], tmp_path) as read:
        assert read().gpu is None


def test_a_gpu_without_a_counter_has_no_number(nvml: FalseNvml, tmp_path: Path) -> None:
    with metered([*GPUS, "0000:aa:00.0"], tmp_path) as read:
        assert read().gpu == Energy(None, "NVML: Not Supported")
    with metered(list(GPUS), tmp_path) as read:
        nvml.counters.clear()  # the GPU has failed
        assert read().gpu == Energy(None, "NVML: Not Supported")
    assert nvml.opened == 0


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with metered(list(GPUS), tmp_path) as read:
        assert read().gpu == Energy(None, "the package nvidia-ml-py is not installed")


def test_packages_and_memory_of_processors_are_summed(tmp_path: Path) -> None:
    """Cores are part of their package, and "psys" of a whole board includes both."""
    files = [zone(tmp_path, "intel-rapl:0", "package-0", 100), zone(tmp_path, "intel-rapl:0:1", "dram", 50)]
    ignored = [zone(tmp_path, "intel-rapl:0:0", "core", 0), zone(tmp_path, "intel-rapl:1", "psys", 0)]
    ignored.append(zone(tmp_path, "intel-rapl-mmio:0", "package-0", 0))
    with metered([], tmp_path) as read:
        files[0].write_text("400100")
        files[1].write_text("300050")
        for file in ignored:
            file.write_text("900000")
        assert read().cpu == Energy(pytest.approx(0.7))


def test_a_counter_may_overflow_between_two_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = zone(tmp_path, "intel-rapl:0", "package-0", 900_000)
    monkeypatch.setattr(energy, "SAMPLE_SECONDS", 0.001)
    with metered([], tmp_path) as read:
        replaced(file, "100000")
        end = time.monotonic() + 30
        while read().cpu != Energy(pytest.approx(0.2)):
            assert time.monotonic() < end
        replaced(file, "900000")
        while read().cpu != Energy(pytest.approx(1.0)):
            assert time.monotonic() < end


def replaced(file: Path, text: str) -> None:
    """Replace a file's contents in one step, since a thread reads it."""
    file.with_suffix(".new").write_text(text)
    file.with_suffix(".new").rename(file)


def test_without_counters_there_is_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with metered([], tmp_path) as read:
        assert read().cpu == Energy(None, f"{tmp_path}/class/powercap has no RAPL counters")
    file = zone(tmp_path, "intel-rapl:0", "package-0", 100)
    zone(tmp_path, "intel-rapl:1", "package-1", 100)
    real = Path.read_text

    def refused(path: Path, *arguments: Any) -> str:
        if path == file:  # of two processors only one can be read
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *arguments)

    with metered([], tmp_path) as read:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "read_text", refused)
            assert read().cpu == Energy(None, f"{file}: Permission denied")
        assert read().cpu.joules is None  # a part of the time is missing
    monkeypatch.setattr(Path, "read_text", refused)
    with metered([], tmp_path) as read:
        assert read().cpu == Energy(None, f"{file}: Permission denied")
