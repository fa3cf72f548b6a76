"""Calls in a thread, one at a time, beside the work of this one: for writes, which wait for the disk."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class OneBehind:
    """A context that makes calls in a thread, in order; at its end all of them have ended."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "write")
        self._last: Future[object] | None = None

    def __enter__(self) -> "OneBehind":
        return self

    def __exit__(self, kind: type[BaseException] | None, *raised: object) -> None:
        self._thread.shutdown()
        if kind is None:
            self._wait()

    def begin(self, call: Callable[[], object]) -> None:
        """Begin a call once the one before has ended; raises the exception of that one."""
        self._wait()
        self._last = self._thread.submit(call)

    def _wait(self) -> None:
        last, self._last = self._last, None
        if last:
            last.result()
