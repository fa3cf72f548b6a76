"""The client takes only so much of an answer, and only the fields that it knows, whatever the server at the URL is."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from graphprover.cli.main import main
from graphprover.runtime.errors import FAILED
from graphprover.service import client as of_client
from graphprover.service.client import Client, ServiceError

JOB = {"id": "1", "state": "done", "problem": None, "from_store": True, "started": 1, "ended": 2.5, "progress": None}
SHOWN = JOB | {
    "name": "n",
    "program": "p",
    "program_name": "p",
    "input": None,
    "worker": None,
    "options": {},
    "priority": 0,
    "id": "1",
    "created": 1.5,
}
ANSWERS = {
    "/v1/jobs/list": b"[]",
    "/v1/jobs/deep": b"[" * 100_000,
    "/v1/jobs/no": b"<html>",
    "/v1/jobs/good": json.dumps(JOB).encode(),
    "/v1/jobs/empty": b"{}",
    "/v1/jobs/late": json.dumps(JOB | {"ended": "soon"}).encode(),
    "/v1/jobs/stuck": json.dumps(JOB | {"progress": {"tasks": 9}}).encode(),
    "/v1/jobs?limit=100": b'{"jobs": [3], "next": null}',
    "/v1/jobs?limit=1": b'{"next": null}',
    "/v1/jobs?limit=2": b'{"jobs": []}',
    "/v1/jobs/counts": b'{"queued": "many"}',
    "/v1/jobs/1": json.dumps(SHOWN).encode(),
    "/v1/jobs/1/position": b"{}",
    "/v1/jobs/1/report": b'{"seconds": {"prove": "long"}, "cycles_per_second": 1}',
    "/v1/jobs/1/proof": b"a proof",
    "/v1/jobs/1/claim": b"{}",
}


class Hostile(BaseHTTPRequestHandler):
    """A server whose answers are no JSON objects, or have no end."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        body = ANSWERS.get(self.path)
        if body is None:
            self.end_headers()  # of no length: it ends with the connection
            try:
                while True:
                    self.wfile.write(bytes(1 << 16))
            except OSError:
                self.close_connection = True
            return
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *of: object) -> None:
        pass


@pytest.fixture
def client() -> Iterator[Client]:
    server = HTTPServer(("127.0.0.1", 0), Hostile)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    with Client(f"http://127.0.0.1:{server.server_port}") as found:
        yield found
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("id", ["list", "deep", "no"])
def test_an_answer_that_is_no_object_is_an_error(client: Client, id: str) -> None:
    with pytest.raises(ServiceError, match="no JSON object"):
        client.job(id)


@pytest.mark.parametrize(
    ("field", "ask"),
    [
        ("id", lambda client: client.job("empty")),
        ("ended", lambda client: client.wait("late")),
        ("tasks_ended", lambda client: client.job("stuck")),
        ("id", lambda client: client.jobs()),
        ("jobs", lambda client: client.jobs(limit=1)),
        ("next", lambda client: client.jobs(limit=2)),
        ("queued", lambda client: client.counts()),
        ("jobs_before", lambda client: client.position("1")),
        ("hash", lambda client: client.upload_program(b"an ELF file")),
        ("hash", lambda client: client.upload_input(b"an input")),
        ("id", lambda client: client.submit("a hash")),
        ("id", lambda client: client.cancel("1")),
        ("proof_sha256", lambda client: client.proof("1")),
    ],
)
def test_an_answer_without_a_field_is_an_error(client: Client, field: str, ask: Callable[[Client], Any]) -> None:
    assert client.job("good") == JOB
    with pytest.raises(ServiceError, match=f"the answer has no field '{field}' as it is described"):
        ask(client)


def test_submit_says_so_in_a_line(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    guest = Path(__file__).parents[2] / "examples/guests/fib_iterative.elf"
    assert main(["submit", str(guest), "--url", f"http://127.0.0.1:{client._connection.port}"]) == FAILED
    told = capsys.readouterr().err
    assert "the answer has no field 'hash'" in told and "is the URL one of a service" in told and told.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "field"), [("show good", "name"), ("show 1", "says"), ("report 1", "cycles"), ("list", "id")]
)
def test_jobs_says_so_in_a_line(
    client: Client, arguments: str, field: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ANSWERS, "/v1/jobs?limit=20", b'{"jobs": [3], "next": null}')
    assert main(["jobs", *arguments.split(), "--url", f"http://127.0.0.1:{client._connection.port}"]) == FAILED
    told = capsys.readouterr().err
    assert f"the answer has no field '{field}'" in told and told.count("\n") == 1


def test_an_answer_without_an_end_is_an_error(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_client, "MAX_SHARDS_BYTES", 3 << 20)
    with pytest.raises(ServiceError, match="more than 3 MiB"):
        client.proof("endless")
