"""How a proof's graph is made: one Dask task for each (round, table), with keys ``{round}-{name}-{token}``."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from dask.delayed import Delayed, delayed

from graphprover.device import Device
from graphprover.protocol.layout import Layout


@dataclass(frozen=True)
class Graph:
    """The device that a proof's tasks run on, and what tells its keys from those of other proofs."""

    device: Device
    token: str

    def task(self, round_: str, name: str, function: Callable[..., Any], *inputs: Any, **fixed: Any) -> Delayed:
        """``function(device, *inputs, **fixed)`` as a task.

        ``inputs`` are tasks, or lists of them; ``fixed`` is known before the graph runs and is never searched for
        tasks. Keys begin with the round, so that a dashboard groups by it.
        """
        bound = partial(_run, self.device, function, fixed)
        return delayed(bound, pure=False, traverse=False)(*inputs, dask_key_name=f"{round_}-{name}-{self.token}")

    def table(self, layout: Layout, index: int) -> str:
        """A table's name in keys: the number first, so that Dask takes the round alone for the key's prefix."""
        return f"{index}.{layout.tables[index].name}"


def _run(device: Device, function: Callable[..., Any], fixed: dict[str, Any], *inputs: Any) -> Any:
    with device.task():
        return function(device, *inputs, **fixed)
