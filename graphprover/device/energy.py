"""Energy of this host's GPUs and processors, by the counters of NVIDIA's driver and of the processors.

A counter belongs to a whole GPU or processor, so it includes the work of all other processes.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SYSTEM = Path("/sys")
SAMPLE_SECONDS = 30.0  # a processor's counter of 2^32 units of 61 µJ overflows after 4 minutes at 1 kW


@dataclass(frozen=True)
class Energy:
    """The energy of the GPUs or the processors over a time."""

    joules: float | None
    """Joules; None if they were not measured."""
    problem: str | None = None
    """The reason that they were not measured."""


@dataclass(frozen=True)
class HostEnergy:
    """The energy of a host over a time."""

    gpu: Energy | None
    """The energy of the GPUs; None if no GPU was to be measured."""
    cpu: Energy
    """The energy of the processors and their memory."""


@contextmanager
def metered(gpus: Sequence[str], system: Path = SYSTEM) -> Iterator[Callable[[], HostEnergy]]:
    """Yield a function that returns the energy since the start of the context.

    Args:
        gpus: The PCI addresses of the GPUs to measure.
        system: The folder of Linux's ``sys``.
    """
    processors = _Processors(system)
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(SAMPLE_SECONDS):
            processors.read()

    threading.Thread(target=sample, name="energy", daemon=True).start()
    try:
        read_gpus = _gpu_meter(gpus) if gpus else lambda: None
        yield lambda: HostEnergy(read_gpus(), processors.read())
    finally:
        ended.set()


def _gpu_meter(gpus: Sequence[str]) -> Callable[[], Energy | None]:
    """Return a function that returns the energy of GPUs since this call."""
    first = _gpu_joules(gpus)

    def read() -> Energy:
        last = _gpu_joules(gpus)
        if first.joules is None or last.joules is None:
            return first if first.joules is None else last
        return Energy(last.joules - first.joules)

    return read


def _gpu_joules(gpus: Sequence[str]) -> Energy:
    """Return the sum of the counters of GPUs, which start with the driver."""
    try:
        import pynvml
    except ModuleNotFoundError:
        return Energy(None, "the package nvidia-ml-py is not installed")
    nvml: Any = pynvml
    try:
        nvml.nvmlInit()
        try:
            handles = [nvml.nvmlDeviceGetHandleByPciBusId(gpu) for gpu in gpus]
            return Energy(sum(map(nvml.nvmlDeviceGetTotalEnergyConsumption, handles)) / 1e3)
        finally:
            nvml.nvmlShutdown()
    except nvml.NVMLError as error:
        return Energy(None, f"NVML: {error}")


class _Processors:
    """The RAPL counters of the processors and their memory, in microjoules. Threads may share it."""

    def __init__(self, system: Path) -> None:
        self._lock = threading.Lock()
        self._joules = 0.0
        self._last: dict[Path, int] = {}
        self._problem: str | None = None
        folder = system / "class/powercap"
        for zone in sorted(folder.glob("intel-rapl:*")):  # of AMD's processors, too
            try:
                # A package includes its cores; its memory is a zone of its own. "psys" includes both.
                if (zone / "name").read_text().startswith(("package-", "dram")):
                    self._last[zone] = _number(zone / "energy_uj")
            except OSError as error:  # most systems let only root read the counters
                self._problem = f"{zone / 'energy_uj'}: {error.strerror}"
        if not self._last and not self._problem:
            self._problem = f"{folder} has no RAPL counters"

    def read(self) -> Energy:
        """Return the energy since the construction."""
        with self._lock:
            try:
                for zone, last in self._last.items() if self._problem is None else ():
                    self._last[zone] = _number(zone / "energy_uj")
                    step = (self._last[zone] - last) % (_number(zone / "max_energy_range_uj") + 1)
                    self._joules += step / 1e6
            except OSError as error:
                self._problem = f"{error.filename}: {error.strerror}"
            return Energy(None, self._problem) if self._problem else Energy(self._joules)


def _number(file: Path) -> int:
    return int(file.read_text())
