"""The time in which this process compiles kernels."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def compiling() -> Iterator[Callable[[], float]]:
    """Yield a function that returns the seconds in which CPU kernels were compiled since the start of the block."""
    from numba.core import event  # here, because the client of a cluster compiles nothing

    clock = event.TimingListener()  # a kernel that is compiled for another one counts once
    with event.install_listener("numba:compile", clock):
        yield lambda: clock.duration if clock.done else 0.0
