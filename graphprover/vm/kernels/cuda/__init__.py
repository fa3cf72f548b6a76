"""The machine's kernels on an NVIDIA GPU; see ``graphprover.vm.kernels``."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

_MODULES = {
    "fill_bumps": "bumps", "fill_lanes": "lanes", "count_keys": "counting", "count_entries": "counting",
    "census": "tape", "replay": "tape", "expect": "warm",
}  # fmt: skip


def __getattr__(name: str) -> Callable[..., Any]:
    """Import the functions, and with them CuPy, on first use: sources.py is read without it."""
    if name in _MODULES:
        function: Callable[..., Any] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        return function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
