"""The command server of the background cluster: it has imported the modules of a command, and forks for each command.

``python -m`` of this module, which `graphprover.cluster.background` starts. It has one thread, and so its children may
run. The argument is the descriptor of a pipe that its parent keeps open.
"""

import json
import os
import select
import signal
import socket
import sys
import tempfile
import threading
from contextlib import suppress
from typing import Any

from graphprover import __version__
from graphprover.runtime import background
from graphprover.runtime.forked import LENGTH, SIGNALS


def main() -> None:
    """Serve until the parent ends."""
    for number in (signal.SIGINT, signal.SIGHUP):  # of the terminal
        signal.signal(number, signal.SIG_IGN)
    _import()
    if threading.active_count() > 1:
        sys.exit("the command server has several threads, so it cannot fork")
    parent = int(sys.argv[1])
    path = background.socket_file()
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()
    try:
        os.write(parent, background.READY)
    except BrokenPipeError:  # the parent has ended meanwhile
        path.unlink(missing_ok=True)
        return
    request = _next_request(listening, parent)
    if request is None:
        path.unlink(missing_ok=True)
        return
    sys.exit(_run(request))  # in the process of a command


def _import() -> None:
    """Import the modules of `graphprover prove` with a cluster, and load the kernels of the client's run."""

    import graphprover.cli.main
    import graphprover.cli.prove
    import graphprover.cluster.client
    import graphprover.cluster.sharded
    import graphprover.kernels.cpu.hashes
    import graphprover.proving.prover
    import graphprover.runtime.display.terminal  # noqa: F401
    from graphprover.jobs.precompile import load_interpreter

    load_interpreter()


def _next_request(listening: socket.socket, parent: int) -> dict[str, Any] | None:
    """Return the request of a command in its own process, or None in the server if its parent has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children need no wait
    while True:
        ready, _, _ = select.select([listening.fileno(), parent], [], [])
        if parent in ready:
            return None
        connection, _ = listening.accept()
        if os.fork():
            connection.close()
            continue
        os.close(parent)
        listening.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        child = 0
        try:
            request = _received(connection)
            if request["version"] != __version__:
                os._exit(0)
            if child := os.fork():
                for descriptor in request["streams"]:
                    os.close(descriptor)
                _attend(connection, child)
        except (OSError, ValueError):  # the client has ended
            os._exit(1)
        if child:
            os._exit(0)
        return request | {"connection": connection}


def _received(connection: socket.socket) -> dict[str, Any]:
    head, streams, _, _ = socket.recv_fds(connection, LENGTH.size, 3)
    if len(head) < LENGTH.size:
        raise ConnectionResetError
    (left,) = LENGTH.unpack(head)
    encoded = bytearray()
    while len(encoded) < left:
        if not (received := connection.recv(left - len(encoded))):
            raise ConnectionResetError
        encoded += received
    request: dict[str, Any] = json.loads(encoded)
    return request | {"streams": streams}


def _attend(connection: socket.socket, child: int) -> None:
    """Forward signals to the process of a command, and its exit code to the client; end it if the client ends."""
    ended = os.pidfd_open(child)
    while True:
        ready, _, _ = select.select([connection.fileno(), ended], [], [])
        if ended in ready:
            _, status = os.waitpid(child, 0)
            code = os.waitstatus_to_exitcode(status)
            connection.send(bytes([code if code >= 0 else 128 - code]))
            return
        received = connection.recv(1)
        os.kill(child, received[0] if received else signal.SIGTERM)
        if not received:
            os.waitpid(child, 0)
            return


def _run(request: dict[str, Any]) -> int:
    """Run a command with the streams, the folder and the environment of its client."""
    for number, descriptor in enumerate(request["streams"]):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", 1 if os.isatty(1) else -1, closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    before = {name: value for name, value in os.environ.items() if name.startswith("DASK_")}
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    os.umask(request["umask"])
    tempfile.tempdir = None
    sys.argv, sys.path[1:] = ["graphprover", *request["arguments"]], request["path"]
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    import dask

    if before != {name: value for name, value in os.environ.items() if name.startswith("DASK_")}:
        dask.config.refresh()
    from graphprover.__main__ import main as run

    code = run(served=True)
    sys.stdout.flush()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # which `_attend` sends once the client has ended
    with suppress(OSError):
        request["connection"].send(bytes([code]))  # the client need not wait for the end of this interpreter
    return code


if __name__ == "__main__":
    main()
