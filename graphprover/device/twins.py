"""Twins: modules with the same functions for devices of different kinds."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from graphprover.device.interface import Device

_imported = cache(import_module)


def twin(modules: Mapping[str, str], device: Device) -> Any:
    """Return the module for a device's kind, imported on first use, since it may need a compiler.

    ``modules``: the name of the module for each kind.
    """
    return _imported(modules[device.kind])
