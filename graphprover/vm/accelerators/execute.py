"""The computations of the host calls, compiled: those of all accelerators of the registry."""

from importlib import import_module
from typing import Any

import numpy as np

from graphprover.runtime.numba_cache import njit
from graphprover.vm.accelerators.registry import ACCELERATORS, FIRST_NUMBER, WAY_OF


@njit(nogil=True)
def _none(_which, _number, _words):
    return False


def _with(way: int, module: str, others: Any) -> Any:
    """Return a function that applies the calls of one way by ``execute`` of a module, and other calls by ``others``."""
    execute = import_module(f"{__package__}.{module}").execute

    @njit(nogil=True)
    def one(which, number, words):
        return execute(number, words) if which == way else others(which, number, words)

    return one


_change: Any = _none
for _way, _accelerator in reversed(list(enumerate(ACCELERATORS, start=1))):
    _change = _with(_way, _accelerator.module, _change)


@njit(nogil=True)
def change(number, words):
    """Apply a host call to the words of its accesses, in place; return whether it has a result.

    ``words``: uint64, in the order of the accesses, with room for the most of a call.
    """
    return _change(WAY_OF[number - np.uint64(FIRST_NUMBER)], number, words)
