"""The client takes only so much of an answer, whatever the server at the URL is."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from graphprover.service import client as of_client
from graphprover.service.client import Client, ServiceError

ANSWERS = {"/v1/jobs/list": b"[]", "/v1/jobs/deep": b"[" * 100_000, "/v1/jobs/no": b"<html>"}


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


def test_an_answer_without_an_end_is_an_error(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_client, "MAX_SHARDS_BYTES", 3 << 20)
    with pytest.raises(ServiceError, match="more than 3 MiB"):
        client.proof("endless")
