"""The process of the service: its lock, and uvicorn with the application."""

import errno
import gc
import logging
import os
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import uvicorn
from starlette.types import ASGIApp

from graphprover.runtime.errors import FAILED, OK, USAGE, UsageError
from graphprover.runtime.files import FileError, locked, make_folder
from graphprover.service.app import create_app
from graphprover.service.config import Config
from graphprover.service.connections import Connection, Connections, most_connections
from graphprover.service.json_log import log_as_json
from graphprover.service.orphans import end_orphan

ORPHAN_SECONDS = 6.0  # in which the prover process of a service that was killed ends by itself
LOCK_SECONDS = 20.0  # in which it ends when it is killed
DRAIN_SECONDS = 5  # in which open requests are answered at the end
BACKLOG = 2048  # connections that wait

_log = logging.getLogger(__name__)


def serve(config: Config, host: str, port: int, certificate: Path | None, key: Path | None) -> int:
    """Serve until SIGINT or SIGTERM, and return the exit code.

    Args:
        config: The configuration.
        host: The address to listen at.
        port: The port.
        certificate: The file of the TLS certificate; None: no TLS.
        key: The file of its key.

    Raises:
        UsageError: The port is in use, another service uses the folder, or the certificate is invalid.
        FileError: The folder cannot be used.
    """
    sockets = bound(host, port)
    log_as_json()
    config = replace(config, umask=os.umask(0o077))  # for the database and uploads, whatever the folder's mode
    _make_private(config.folder)
    refused: list[bool] = []

    def give_up() -> None:
        refused.append(True)
        server.should_exit = True

    with _locked(config.folder / "lock") as lock:
        app = create_app(config, lock, give_up)
        server = server_of(app, most_connections(), certificate, key)
        address = f"http{'s' if certificate else ''}://{f'[{host}]' if ':' in host else host}:{port}"
        _log.info("serving %s", address, extra={"url": address, "folder": str(config.folder)})
        gc.collect()
        gc.freeze()  # else a burst of connections starts a collection of all modules, as long as 2,000 accepts
        server.run(sockets)
    if refused:
        return USAGE
    return OK if server.started else FAILED


def server_of(
    app: ASGIApp, connections: int, certificate: Path | None = None, key: Path | None = None, **options: Any
) -> uvicorn.Server:
    """Return a server of an application, with limits.

    Args:
        app: The application.
        connections: The most connections.
        certificate: The file of the TLS certificate; None: no TLS.
        key: The file of its key.
        options: More options of uvicorn.

    Raises:
        UsageError: The certificate is none, or the key is not its key.
    """
    tls = None
    if certificate:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            tls.load_cert_chain(certificate, key)
        except ssl.SSLError as error:
            raise UsageError(
                f"--tls-cert {certificate}: no certificate in PEM that fits --tls-key {key} ({error.reason or error})"
            ) from error
    protocol: Any = partial(Connection, connections=Connections(connections), tls=tls)
    given = {
        "http": protocol,
        "loop": "asyncio" if tls else "auto",  # uvloop could read the start of TLS before `Connection` begins with it
        "ws": "none",
        "log_config": None,
        "access_log": False,
        "backlog": BACKLOG,
        "timeout_graceful_shutdown": DRAIN_SECONDS,
        "server_header": False,
    }
    return uvicorn.Server(uvicorn.Config(app, **(given | options)))


def _make_private(folder: Path) -> None:
    """Make a folder that only this user can enter, unless it exists; raises FileError."""
    make_folder(folder.parent)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder}: {error.strerror}") from error


def _locked(path: Path) -> IO[str]:
    """Return the locked file of a service.

    The prover process of a service that was killed has the lock until it ends, by itself or by this function.

    Raises:
        UsageError: Another service has the lock.
        FileError: The file cannot be opened.
    """
    try:
        lock = path.open("a+")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}") from error
    begun, orphan = time.monotonic(), None
    while not locked(lock):
        waited = time.monotonic() - begun
        if orphan is None and waited > ORPHAN_SECONDS:
            orphan = end_orphan(path)
        if waited > LOCK_SECONDS:
            if orphan is not None:
                raise UsageError(f"--data {path.parent}: the prover process {orphan} of a service that has ended stays")
            raise UsageError(f"--data {path.parent}: another service uses this folder: end it, or choose another one")
        time.sleep(0.1)
    return lock


def bound(host: str, port: int) -> list[socket.socket]:
    """Return a socket for each address of the host, bound to the port; it does not listen yet.

    Raises:
        UsageError: The port is in use, or this host has no such address.
    """
    found = list[socket.socket]()
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, place in dict.fromkeys(places):
            found.append(socket.socket(family, kind, protocol))
            found[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, True)
            if family == socket.AF_INET6:
                with suppress(OSError):
                    found[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, True)  # else it takes both ports
            found[-1].bind(place)
    except OSError as error:
        for each in found:
            each.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(f"port {port} of {host} is in use: choose another with --port") from error
        if error.errno == errno.EACCES:
            raise UsageError(f"port {port} needs the rights of root: choose another with --port") from error
        raise UsageError(f"--host {host}: {error.strerror}") from error
    return found
