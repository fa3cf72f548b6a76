"""Which device a name means: ``cpu``, ``cuda``, ``cuda:1``, or ``auto``."""

import importlib.util
import re

from graphprover.device.interface import Device

DEVICES = "auto, cpu, cuda or cuda:NUMBER"


def device_for(name: str) -> Device:
    """The device called ``name``; ``auto`` is the first GPU where there is one, and the CPU elsewhere.

    Raises ValueError for another name, and where a GPU is asked for that is not there: it is never replaced.
    """
    cuda = re.fullmatch(r"cuda(?::(\d+))?", name)
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
