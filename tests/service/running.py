"""A service as its operator starts it: `graphprover serve` as a process, with its log."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import psutil

from graphprover.service.client import Client
from graphprover.service.supervisor import MODULE

ROOT = Path(__file__).parents[2]
LIMIT = 600.0  # seconds, of which a loaded machine may take many


def until(condition: Callable[[], Any], seconds: float = LIMIT) -> Any:
    """Wait for a true value of a condition, and return it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "the condition has not come"
        time.sleep(0.02)
    return found


def free_port() -> int:
    """Return a port that no server uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Service:
    """A service in a folder, which keeps its port and its log when it is started again."""

    def __init__(self, folder: Path, token: str | None = None) -> None:
        self.folder, self.port, self.token = folder, free_port(), token
        self.log = folder / "log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *arguments: str, is_ready: bool = True) -> None:
        """Start the service, and wait until it takes jobs."""
        command = [sys.executable, "-m", "graphprover", "serve", "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--data", str(self.folder / "data"), *arguments],
                stderr=log,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                cwd=self.folder,
            )
        until(lambda: self._answers("readyz" if is_ready else "healthz"))

    def _answers(self, path: str) -> bool:
        assert self.process and self.process.poll() is None, self.log.read_text()
        try:
            with urlopen(f"http://127.0.0.1:{self.port}/{path}"):
                return True
        except URLError:
            return False

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal to the service, wait for its end, and return its exit code."""
        assert self.process
        self.process.send_signal(number)
        return self.process.wait(LIMIT)

    @property
    def url(self) -> str:
        """The URL of the service."""
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> Client:
        """Return a client."""
        return Client(self.url, self.token)

    def prover(self) -> psutil.Process | None:
        """Return the prover process, if it is there."""
        assert self.process
        for child in psutil.Process(self.process.pid).children():
            if MODULE in child.cmdline():
                return child
        return None

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines of the log; the command's own last line is for people."""
        text = self.log.read_text().splitlines()
        return [json.loads(line) for line in text if line and not line.startswith("graphprover: ")]


def workers(prover: psutil.Process) -> list[psutil.Process]:
    """Return the workers of the cluster that a prover process has started."""
    found = []
    for child in prover.children(recursive=True):
        try:
            if any("spawn_main" in word for word in child.cmdline()):
                found.append(child)
        except psutil.Error:
            continue
    return found


def certificate(folder: Path) -> tuple[Path, Path]:
    """Return the files of a new certificate for localhost and of its key."""
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost"
    command = [*make.split(), "-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"
