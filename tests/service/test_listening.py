"""The start: a port that cannot be had is one line, before the service makes a folder or says that it serves."""

import gc
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphprover.cli.main import main
from graphprover.runtime.errors import USAGE
from graphprover.service import server
from graphprover.service.server import bound
from tests.service.quiet import config_in


def test_a_port_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["serve", "--port", str(port), "--data", str(tmp_path / "data")]) == USAGE
    error = capsys.readouterr().err
    assert error == f"graphprover: port {port} of 127.0.0.1 is in use: choose another with --port\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_an_address_of_another_host(host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--port", "8750", "--data", str(tmp_path / "data"), "--allow-anybody"]
    assert main(["serve", "--host", host, *options]) == USAGE
    error = capsys.readouterr().err
    assert error.startswith(f"graphprover: --host {host}: ") and error.count("\n") == 1


def test_each_address_of_a_name_has_a_socket() -> None:
    sockets = bound("localhost", 0)
    families = {info[0] for info in socket.getaddrinfo("localhost", 0, type=socket.SOCK_STREAM)}
    assert {each.family for each in sockets} == families
    for each in sockets:
        each.close()


def test_a_garbage_collection_skips_the_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A burst of connections starts collections; one of all modules takes as long as thousands of accepts."""
    found: list[tuple[int, int]] = []

    def run(sockets: list[socket.socket]) -> None:
        found.append((len(gc.get_objects()), gc.get_freeze_count()))
        for each in sockets:
            each.close()

    monkeypatch.setattr(server, "server_of", lambda *arguments: SimpleNamespace(started=True, run=run))
    monkeypatch.setattr(server, "log_as_json", lambda: None)
    monkeypatch.setattr(server.os, "umask", lambda mask: mask)
    try:
        server.serve(config_in(tmp_path / "data"), "127.0.0.1", 0, None, None)
    finally:
        gc.unfreeze()
    [(watched, frozen)] = found
    assert watched < frozen / 10
