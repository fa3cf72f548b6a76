"""The machine's kernels on an NVIDIA GPU; see ``graphprover.vm.kernels``."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

_MODULES = {
    "fill_bumps": "bumps", "fill_lanes": "lanes", "count_keys": "counting", "count_entries": "counting",
    "permuted": "keccak_f", "fill_keccak_rounds": "keccak_f", "fill_keccak_planes": "keccak_f",
    "fill_keccak_classes": "keccak_f", "fill_keccak_limbs": "keccak_f", "count_keccak_digits": "keccak_f",
    "fill_modular": "calls", "fill_fp2": "calls", "fill_points": "calls", "fill_absorbs": "calls",
    "fill_sha256": "calls",
    "census": "tape", "replay": "tape", "expect": "warm",
}  # fmt: skip


def __getattr__(name: str) -> Callable[..., Any]:
    """Import the functions, and with them CuPy, on first use: sources.py is read without it."""
    if name in _MODULES:
        function: Callable[..., Any] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        return function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
