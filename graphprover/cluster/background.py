"""The process of the background cluster: ``python -m`` of this module, which `graphprover cluster start` runs.

It has the scheduler, and is the parent of the workers. Until `start` has confirmed that the cluster is ready, it ends
with `start`, so that an interruption leaves nothing. Later it ends with SIGTERM.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import dask

from graphprover.cluster import ClusterError
from graphprover.cluster.local import started
from graphprover.cluster.workers import VERSIONS
from graphprover.graphs.executor_names import PROCESSES
from graphprover.runtime import background
from graphprover.runtime.background import Background
from graphprover.runtime.settings import DASHBOARD, WORKERS, setting

COMMANDS = "graphprover.cli.command_server"
LOOK_SECONDS = 1.0  # between two looks at the scheduler


def main() -> None:
    """Serve until SIGTERM.

    The arguments are the kind of the cluster, the settings as JSON, and the descriptor of the connection to `start`.
    """
    kind, settings, descriptor = sys.argv[1:]
    for number in (signal.SIGINT, signal.SIGHUP):  # of the terminal of `start`
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    starter = socket.socket(fileno=int(descriptor))
    if not (lock := background.acquire()):
        sys.exit("another cluster runs or is starting: graphprover cluster status")
    confirmed, abandoned = threading.Event(), threading.Event()
    threading.Thread(target=_watch, args=(starter, confirmed, abandoned), daemon=True).start()
    try:
        with (
            _command_server() as commands,
            dask.config.set(json.loads(settings)),
            started(kind, _number(kind)) as client,
        ):
            if not commands.recv(1):
                raise ClusterError("the command server has ended")
            background.write(_described(client, kind))
            starter.send(background.READY)
            confirmed.wait()
            while client.status == "running":
                time.sleep(LOOK_SECONDS)
            sys.exit("the scheduler has ended")
    except ClusterError as error:
        sys.exit(str(error))
    finally:
        background.file().unlink(missing_ok=True)
        if abandoned.is_set():
            background.log_file().unlink(missing_ok=True)
        lock.close()


@contextmanager
def _command_server() -> Iterator[socket.socket]:
    """Start the command server, and yield a connection that it ends with; it sends a byte when it is ready."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        server = subprocess.Popen(
            [sys.executable, "-P", "-m", COMMANDS, str(theirs.fileno())], pass_fds=[theirs.fileno()]
        )
        theirs.close()
        try:
            yield ours
        finally:
            ours.close()
            server.wait()


def _number(kind: str) -> int | None:
    """Return the number of processes; None to choose it by GPUs and cores.

    On CPUs it is one with all cores by default, so that a proof takes no longer than in the process of the command.
    """
    number: int | None = setting(WORKERS)
    return number or (1 if kind == PROCESSES else None)


def _end(number: int, frame: FrameType | None) -> None:
    """End by an exception, which ends the workers; a second signal does not disturb that."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(0)


def _watch(starter: socket.socket, confirmed: threading.Event, abandoned: threading.Event) -> None:
    """Wait until `start` confirms that the cluster is to stay; end this process if `start` has ended before."""
    received = b""
    with suppress(OSError):
        received = starter.recv(1)
    if received == background.CONFIRMED:
        confirmed.set()
    else:
        abandoned.set()
        os.kill(os.getpid(), signal.SIGTERM)


def _described(client: Any, kind: str) -> Background:
    pids = client.run(os.getpid)
    return Background(
        client.scheduler.address,
        kind,
        os.getpid(),
        sorted(pids.values()),
        client.dashboard_link if setting(DASHBOARD) else None,
        time.time(),
        VERSIONS,
        client.security.tls_client_cert,
        client.security.tls_client_key,
    )


if __name__ == "__main__":
    main()
