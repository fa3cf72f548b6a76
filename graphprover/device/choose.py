"""Which device a name means: ``cpu``, ``cuda``, ``cuda:1``, or ``auto``."""

import importlib.util
import re
from dataclasses import dataclass

from graphprover.device.interface import CPU_BATCH, CUDA_BATCH, CUDA_THREADS, Device

DEVICES = "auto, cpu, cuda or cuda:NUMBER"
CUDA_NAME = re.compile(r"cuda(?::(\d+))?")  # the group: its number, if any


def device_for(name: str) -> Device:
    """The device called ``name``; ``auto`` is the first GPU where there is one, and the CPU elsewhere.

    Raises ValueError for another name, and where a GPU is asked for that is not there: it is never replaced.
    """
    cuda = CUDA_NAME.fullmatch(name)
    if cuda:
        number = int(cuda[1] or 0)
        found = gpus()
        if number >= found:
            raise ValueError(f"device {name}: {missing(found)}")
        from graphprover.device.cuda import device

        return device(number)
    if name == "auto" and gpus():
        return device_for("cuda")
    if name in ("auto", "cpu"):
        from graphprover.device.cpu import CpuDevice

        return CpuDevice()
    raise ValueError(f"device {name!r}: give {DEVICES}")


@dataclass(frozen=True)
class Profile:
    """How a kind of device runs a graph."""

    kind: str  # cpu or cuda
    log_batch_rows: int  # log2 of the rows up to which tables share tasks
    threads: int  # how many tasks it runs at once

    def __str__(self) -> str:
        tasks = f"{self.threads} task{'s' * (self.threads > 1)} at once"
        return f"{self.kind}: {tasks}, tables of at most 2^{self.log_batch_rows} rows share theirs"


def profile_of(name: str) -> Profile:
    """How the device called ``name`` runs a graph. A GPU need not be there; ``auto`` is what `device_for` would take.

    Raises ValueError for another name.
    """
    if CUDA_NAME.fullmatch(name) or (name == "auto" and gpus()):
        return Profile("cuda", CUDA_BATCH, CUDA_THREADS)
    if name in ("auto", "cpu"):
        from graphprover.device.cpu import available_threads

        return Profile("cpu", CPU_BATCH, available_threads())
    raise ValueError(f"device {name!r}: give {DEVICES}")


def gpus() -> int:
    """How many GPUs CuPy sees; 0 without CuPy or without a driver."""
    if importlib.util.find_spec("cupy") is None:
        return 0
    import cupy

    try:
        return cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0


def missing(found: int) -> str:
    """Why a GPU is not there."""
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed: pip install 'graphprover[cuda13]'"
    return f"CuPy sees {found} GPUs" if found else "CuPy sees no GPU or no driver"
