"""Signs of life of long work outside a terminal, in the place of a progress bar: a line on stderr every few seconds."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from graphprover.cli.args import drawn
from graphprover.runtime.errors import DEBUG

if TYPE_CHECKING:
    from graphprover.graphs.progress import Tell


@contextmanager
def progress(before: str) -> "Iterator[bool | Tell]":
    """Yield the ``progress`` of `graphprover.prove` for a command: a bar in a terminal, otherwise lines.

    Args:
        before: The name of the work before the first task.
    """
    if drawn():
        yield True
        return
    now = before

    def tell(ended: int, total: int, task: str) -> None:
        nonlocal now
        now = f"{total - ended:,} of {total:,} tasks left: {task}" if task else "verifying"

    with beating(lambda: now):
        yield tell


@contextmanager
def beating(words: Callable[[], str]) -> Iterator[None]:
    """Print a line every few seconds (`PROGRESS`) during the block: the seconds since its start, and ``words()``.

    Empty words give no line. There is none in a terminal, which shows a bar, and for debugging, which logs every task.
    """
    if drawn() or DEBUG in os.environ:
        yield
        return
    from graphprover.runtime.settings import PROGRESS, setting  # here, because the verifier alone has no Dask

    started, ended, seconds = time.monotonic(), threading.Event(), setting(PROGRESS)

    def beat() -> None:
        while not ended.wait(seconds):
            if now := words():
                print(f"graphprover: {time.monotonic() - started:.0f} s: {now}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
