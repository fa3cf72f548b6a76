"""Where arrays live: one notion for every kind of machine (docs/architecture.md)."""

from typing import TYPE_CHECKING, Any

from graphprover.device.interface import Array, Device, DeviceLost, Tree

if TYPE_CHECKING:
    from graphprover.device.cpu import CpuDevice

__all__ = ["Array", "CpuDevice", "Device", "DeviceLost", "Tree"]


def __getattr__(name: str) -> Any:
    """``CpuDevice``, and with it Numba, only when it is asked for."""
    if name == "CpuDevice":
        from graphprover.device.cpu import CpuDevice

        return CpuDevice
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
