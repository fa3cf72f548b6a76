"""Streams beside the current one, for kernels of many tables each of which would leave most of a device idle.

They begin where the current stream stands and it waits for them at the end, so that whoever calls sees one stream. What
was allocated before may be read and written beside it; what is allocated beside it may be used only there, since its
memory is given again in the order of that stream.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import cycle
from typing import TypeVar

import cupy

T = TypeVar("T")

streams = 8  # how many; a measurement may set 1


@cache
def _held(device: int) -> list[tuple[cupy.cuda.Stream, cupy.cuda.Event]]:
    """For the process's life: what is freed on a stream may be given again only while the stream exists."""
    return [(cupy.cuda.Stream(non_blocking=True), cupy.cuda.Event(disable_timing=True)) for _ in range(streams)]


def beside(function: Callable[[T], object], items: Sequence[T]) -> None:
    """``function`` of each item, what it enqueues on one of the streams in turn; a single item stays where it is."""
    if len(items) < 2 or streams < 2:
        for item in items:
            function(item)
        return
    current = cupy.cuda.get_current_stream()
    chosen = _held(cupy.cuda.runtime.getDevice())[: len(items)]
    begun = cupy.cuda.Event(disable_timing=True)
    begun.record(current)
    for stream, _ in chosen:
        stream.wait_event(begun)
    try:
        for item, (stream, _) in zip(items, cycle(chosen), strict=False):
            with stream:
                function(item)
    finally:
        for stream, ended in chosen:
            ended.record(stream)
            current.wait_event(ended)
