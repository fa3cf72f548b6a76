"""A service in this process without its prover process: jobs stay queued until a test ends them."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from graphprover.proving.settings import ProvingSettings
from graphprover.service.app import create_app
from graphprover.service.client import Client
from graphprover.service.config import Config
from graphprover.service.connections import Connections
from graphprover.service.database import connect
from graphprover.service.queue import Queue
from graphprover.service.server import server_of
from graphprover.service.store import Store

PROVING = ProvingSettings("threads", "cpu")
LIMIT = 60.0  # seconds


@dataclass(frozen=True)
class Answer:
    """The answer to a request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Quiet:
    """A service without a prover process."""

    port: int
    queue: Queue
    store: Store
    connections: Connections

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """Send a request; a body that is no bytes is sent as JSON."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        headers = headers or {}
        if isinstance(body, dict):
            body, headers = json.dumps(body).encode(), {"Content-Type": "application/json"} | headers
        connection.request(method, path, body, headers)
        found = connection.getresponse()
        answer = Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
        connection.close()
        return answer

    def client(self, token: str | None = None) -> Client:
        """Return a client."""
        return Client(f"http://127.0.0.1:{self.port}", token)


def config_in(folder: Path, **fields: Any) -> Config:
    """Return the configuration of a service whose files are in a folder."""
    return Config(
        folder,
        f"sqlite:///{folder}/queue.db",
        str(folder / "store"),
        PROVING,
        **{"is_local": True, "tokens": {}, **fields},
    )


@contextmanager
def served(config: Config, connections: int = 100, *tls: Path) -> Iterator[Quiet]:
    """Serve a configuration at a free port.

    Args:
        config: The configuration.
        connections: The most connections.
        tls: The files of a certificate and its key.
    """
    config.folder.mkdir(exist_ok=True)
    with (config.folder / "lock").open("a+") as lock, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        app = create_app(config, lock, lambda: None)
        server = server_of(app, connections, *tls, lifespan="off", timeout_graceful_shutdown=1)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        end = time.monotonic() + LIMIT
        while not server.started and time.monotonic() < end:
            time.sleep(0.01)
        try:
            found: Any = server.config.http
            port, all = listening.getsockname()[1], found.keywords["connections"]
            yield Quiet(port, Queue(connect(config.database)), Store(config.store), all)
        finally:
            server.should_exit = True
            thread.join()
