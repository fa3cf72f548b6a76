"""Where arrays live: one notion for every kind of machine (docs/architecture.md)."""

from graphprover.device.interface import Array, Device, Tree

__all__ = ["Array", "Device", "Tree"]
