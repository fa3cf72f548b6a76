"""Trace tasks: descriptions of a trace, or of an input that several traces share, which round 0 makes on a device."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class TraceTask:
    """One task of round 0: ``function(device, *made, **fixed)``, where ``made`` is what the trace tasks it needs give.

    The function belongs to a module, so that the task can travel, and is pure. A trace's gives uint64 words below p, of
    this shape, on the device; what it needs may be anything.
    """

    name: str  # of the task, for people
    function: Callable[..., Any]
    fixed: Mapping[str, Any] = field(default_factory=dict)  # known before anything is made
    needs: tuple["TraceTask", ...] = ()
    shape: tuple[int, int] = (0, 0)  # (columns, rows) of a trace; nothing for what traces share


def follow(
    device: Any,
    *made: Any,
    by: Callable[..., Any],
    given: Mapping[str, Any],
    shape: tuple[int, int],
) -> Any:
    """Return the result of a trace task's function; raises ValueError if its shape or dtype is not the task's."""
    result = by(device, *made, **given)
    if shape != (0, 0) and (result.shape != shape or result.dtype != "uint64"):
        raise ValueError(f"{by.__name__} made {result.dtype} {result.shape} instead of uint64 {shape}")
    return result


def make(device: Any, trace_task: TraceTask, made: dict[TraceTask, Any]) -> Any:
    """Return the result of a trace task on a device.

    Args:
        device: The `graphprover.device.Device`.
        trace_task: The trace task.
        made: The results of other trace tasks; this one's is added.
    """
    if trace_task not in made:
        inputs = [make(device, needed, made) for needed in trace_task.needs]
        with device.task():
            made[trace_task] = follow(
                device, *inputs, by=trace_task.function, given=trace_task.fixed, shape=trace_task.shape
            )
    return made[trace_task]
