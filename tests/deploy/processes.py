"""Commands of containers as plain processes in a folder, which all end with the test."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.error import URLError

ROOT = Path(__file__).parents[2]
LIMIT = 240.0  # seconds: kernels may have to be compiled first
PATH = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
ENVIRONMENT = os.environ | {"PATH": PATH, "PYTHONPATH": str(ROOT), "DASK_GRAPHPROVER__WAIT": f"{LIMIT:.0f}"}


class Processes:
    """Processes with a log in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._running = folder, list[subprocess.Popen[bytes]]()

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for process in reversed(self._running):  # clients before their servers
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self, command: Sequence[str], **environment: str) -> subprocess.Popen[bytes]:
        """Start a command by the PATH of this Python."""
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(command, cwd=self._folder, env=ENVIRONMENT | environment, stdout=log, stderr=log)
        self._running.append(process)
        return process

    def until(self, condition: Callable[[], Any]) -> None:
        """Wait for a true value of a condition; no process may end meanwhile."""
        end = time.monotonic() + LIMIT
        while True:
            try:
                if condition():
                    return
            except URLError:  # no server yet, or a status of an error
                pass
            ended = [process.args for process in self._running if process.poll() is not None]
            assert not ended and time.monotonic() < end, (ended, (self._folder / "log").read_text())
            time.sleep(0.05)
