"""Devices by name: ``cpu``, ``cuda``, ``cuda:1``, or ``auto``."""

import importlib.util
import re
from dataclasses import dataclass
from typing import NamedTuple

from graphprover.device.interface import CPU_BATCH, CUDA_BATCH, CUDA_THREADS, Device
from graphprover.runtime.extras import install

DEVICES = "auto, cpu, cuda or cuda:NUMBER"
AUTO, CPU, CUDA = "auto", "cpu", "cuda"


class Named(NamedTuple):
    """The parsed name of a device."""

    kind: str  # AUTO, CPU or CUDA
    number: int = 0  # of a GPU


def named(name: str) -> Named:
    """Parse a device's name; raises ValueError for an invalid one."""
    if name in (AUTO, CPU, CUDA):
        return Named(name)
    if numbered := re.fullmatch(r"cuda:(\d+)", name):
        return Named(CUDA, int(numbered[1]))
    raise ValueError(f"device {name!r}: give {DEVICES}")


def device_for(device: Device | str) -> Device:
    """Return the device of a name, or a device itself; ``auto`` is the first GPU, or the CPU without one.

    Raises ValueError for an invalid name, and for a GPU that is not available: it is never replaced by another device.
    """
    if not isinstance(device, str):
        return device
    kind, number = named(device)
    if kind == AUTO:
        kind = CUDA if gpus() else CPU
    if kind == CUDA:
        found = gpus()
        if number >= found:
            raise ValueError(f"device {device}: {missing(found)}")
        from graphprover.device import cuda

        return cuda.device(number)
    from graphprover.device.cpu import CpuDevice

    return CpuDevice()


@dataclass(frozen=True)
class DeviceProfile:
    """How a kind of device runs a graph."""

    kind: str  # cpu or cuda
    log_batch_rows: int  # log2 of the rows up to which tables share tasks
    threads: int  # tasks in parallel

    def __str__(self) -> str:
        tasks = f"{self.threads} task{'s' * (self.threads > 1)} in parallel"
        return f"{self.kind}: {tasks}, tables of at most 2^{self.log_batch_rows} rows share tasks"


def profile_of(name: str) -> DeviceProfile:
    """Return how a device runs a graph. A named GPU need not be available; ``auto`` is resolved as by `device_for`.

    Raises ValueError for an invalid name.
    """
    kind, _ = named(name)
    if kind == CUDA or (kind == AUTO and gpus()):
        return DeviceProfile(CUDA, CUDA_BATCH, CUDA_THREADS)
    from graphprover.device.host_processor import available_threads

    return DeviceProfile(CPU, CPU_BATCH, available_threads())


def gpus() -> int:
    """Return the number of GPUs that CuPy sees; 0 without CuPy or without a driver."""
    if importlib.util.find_spec("cupy") is None:
        return 0
    import cupy

    try:
        return cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0


def identities() -> list[str]:
    """Return the unique identities of the GPUs that CuPy sees, independent of their numbers."""
    found = gpus()
    if not found:
        return []
    from graphprover.kernels.cuda.memory import identity

    return [identity(number) for number in range(found)]


def gpu_address(number: int) -> str:
    """Return the PCI address of a GPU, by which NVIDIA's driver knows it."""
    import cupy

    return str(cupy.cuda.runtime.deviceGetPCIBusId(number))


def memory_of(number: int) -> int:
    """Return the bytes of a GPU's memory, without creating a context."""
    import cupy

    return int(cupy.cuda.runtime.getDeviceProperties(number)["totalGlobalMem"])


def missing(found: int) -> str:
    """Return the reason that a GPU is unavailable."""
    if importlib.util.find_spec("cupy") is None:
        return f"CuPy is not installed: {install('cuda13')}"
    return f"CuPy sees {found} GPUs" if found else "CuPy sees no GPU or no driver"
