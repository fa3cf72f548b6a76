"""The ports that a cluster opens, as listed in docs/cluster_setup.md, and their access control."""

import os
import re
import socket
import ssl
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest
from distributed import Client, Security

from graphprover.cli.main import main
from graphprover.cluster.client import Cluster
from graphprover.cluster.local import started
from graphprover.runtime.errors import OK
from tests.cluster.processes import ROOT
from tests.slow import slow_after

WORKERS = 2
HERE, WORKER = "`graphprover`", "worker"
TLS, HTTP = "TLS", "HTTP"

Port = tuple[str, str, str]  # the process, the address, the protocol
Address = tuple[str, int]


def documented(dashboard: bool) -> Counter[Port]:
    """Return how often each port is open for WORKERS, by the first table of ports in docs/cluster_setup.md."""
    page = (ROOT / "docs/cluster_setup.md").read_text()
    table = page.split("\n## Ports\n")[1].split("\n\n")[1]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    found: Counter[Port] = Counter()
    for process, what, number, address, protocol, _ in rows:
        if dashboard or "--dashboard" not in what:
            found[process, address, protocol] += {"1": 1, "1 a worker": WORKERS}[number]
    return found


def listening(process: psutil.Process) -> set[Address]:
    return {
        (port.laddr.ip, port.laddr.port)
        for port in process.net_connections("inet")
        if port.status == psutil.CONN_LISTEN
    }


def answer(address: Address, message: bytes) -> bytes:
    """Return the first bytes of a port's answer to a message in plain text."""
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(message)
        try:
            return connection.recv(99)
        except ConnectionError:
            return b""


def protocol(address: Address) -> str:
    if answer(address, b"GET /health HTTP/1.1\r\nHost: here\r\n\r\n").startswith(b"HTTP/1.1 200 "):
        return HTTP
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(address, timeout=10) as connection, context.wrap_socket(connection) as secured:
        with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
            secured.recv(1)
        return TLS


@pytest.mark.parametrize("dashboard", slow_after(1, [True, False]))
def test_the_ports_are_those_documented(dashboard: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, prove = psutil.Process(), Cluster.prove
    before, others = listening(here), set(here.children(recursive=True))  # of other tests
    found: list[Port] = []

    def looked(cluster: Cluster, *arguments: Any) -> Any:
        ports = {(HERE, address) for address in listening(here) - before}
        ports |= {
            (WORKER, address) for child in set(here.children(recursive=True)) - others for address in listening(child)
        }
        found.extend((process, address[0], protocol(address)) for process, address in ports)
        return prove(cluster, *arguments)

    monkeypatch.setattr(Cluster, "prove", looked)
    options = ["--executor", "processes", "--workers", str(WORKERS)] + dashboard * ["--dashboard", "127.0.0.1:0"]
    assert main(["prove", "examples/fibonacci", "-o", str(tmp_path / "proof"), *options]) == OK
    assert Counter(found) == documented(dashboard)


def test_no_client_without_the_key_can_connect() -> None:
    """Another user of this host can reach the ports and create certificates."""
    with started("processes", 1) as client:
        address = client.scheduler.address
        assert re.fullmatch(r"tls://127\.0\.0\.1:\d+", address)
        assert all(worker.startswith("tls://") for worker in client.run(os.getpid))
        for target, security in ((address.replace("tls", "tcp"), None), (address, Security.temporary())):
            with pytest.raises(OSError):
                Client(target, security=security, timeout="1s")
        with pytest.raises(TypeError, match="TLS"):
            Client(address, timeout="1s")
        with Client(address, security=client.security) as own:
            assert own.submit(sum, [1, 2]).result() == 3
