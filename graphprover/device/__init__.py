"""Devices: arrays and kernels of a CPU or a GPU behind one interface (docs/devices.md)."""

from typing import TYPE_CHECKING, Any

from graphprover.device.interface import Array, Device, DeviceLost, Tree

if TYPE_CHECKING:
    from graphprover.device.cpu import CpuDevice

__all__ = ["Array", "CpuDevice", "Device", "DeviceLost", "Tree"]


def __getattr__(name: str) -> Any:
    """Import ``CpuDevice``, and with it Numba, on first use."""
    if name == "CpuDevice":
        from graphprover.device.cpu import CpuDevice

        return CpuDevice
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
