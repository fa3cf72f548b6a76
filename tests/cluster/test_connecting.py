"""Addresses at which no scheduler answers: each ends in one error, and leaves neither a thread nor a connection."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from graphprover import prove
from graphprover.cluster import ClusterError, connecting
from graphprover.cluster.client import background_client
from graphprover.examples import fibonacci
from graphprover.runtime.background import Background
from tests.cluster.processes import until
from tests.graphs.test_proof_graph import FEW, example


@contextmanager
def listening(greeting: bytes) -> Iterator[int]:
    """Listen at a port, whose number is yielded; accept connections, send the greeting, and say nothing more."""
    accepted = list[socket.socket]()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    accepted.append(server.accept()[0])
                except OSError:
                    return
                accepted[-1].sendall(greeting)

        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in accepted:
        connection.close()


def ours(port: int) -> int:
    """Return how many connections to a port this process has open."""
    return sum(bool(each.raddr) and each.raddr.port == port for each in psutil.Process().net_connections("tcp"))


@pytest.mark.parametrize(
    ("greeting", "reason"),
    [(b"", "no answer in 0.5 s"), (b"SSH-2.0-OpenSSH_9.9\r\n", "something else than a Dask scheduler answers")],
    ids=["mute", "another service"],
)
def test_what_accepts_and_is_no_scheduler_is_an_error(
    greeting: bytes, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "CONNECT", 0.5)
    with listening(greeting) as port:
        address, file = f"tcp://127.0.0.1:{port}", tmp_path / "scheduler.json"
        file.write_text(f'{{"address": "{address}"}}')
        threads = set(threading.enumerate())
        for executor in (address, str(file)):
            with pytest.raises(ClusterError) as raised:
                prove(example(fibonacci), executor, parameters=FEW)
            line = f"executor {executor}: no scheduler answers there: {reason}; start it, or correct the address"
            assert str(raised.value) == line
        assert set(threading.enumerate()) <= threads
        until(lambda: not ours(port))


def test_a_background_cluster_that_is_mute_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import Security

    monkeypatch.setattr(connecting, "CONNECT", 0.5)
    keys = Security.temporary()
    with listening(b"") as port:
        address = f"tls://127.0.0.1:{port}"
        described = Background(address, "processes", 1, [], None, 0.0, {}, keys.tls_ca_file, keys.tls_client_key)
        with pytest.raises(ClusterError, match=f"executor {address}: no scheduler answers there: "):
            background_client(described)


@pytest.mark.parametrize(
    ("executor", "reason"),
    [
        ("tcp://", "expected HOST:PORT after the scheme, as in tcp://127.0.0.1:8786"),
        ("http://127.0.0.1:9", "a scheduler's address begins with tcp:// or tls://"),
        ("tls://127.0.0.1:9", "TLS needs Dask's settings distributed.comm.tls.ca-file, distributed.comm.tls.client"),
    ],
)
def test_what_is_no_address_is_an_error(executor: str, reason: str) -> None:
    with pytest.raises(ValueError) as raised:
        prove(example(fibonacci), executor, parameters=FEW)
    assert str(raised.value).startswith(f"executor {executor!r}: {reason}")
