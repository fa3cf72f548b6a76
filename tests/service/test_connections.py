"""Connections: limits of heads, of waits for clients and of their number, which need no authentication."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from graphprover.service import connections as module
from graphprover.service.client import Client
from graphprover.service.connections import MOST_HEAD_BYTES, MOST_HEADERS, Connection, Connections, most_connections
from graphprover.service.queue import NewJob
from tests.service.quiet import Quiet, config_in, served
from tests.service.running import certificate, until

LIMIT = 60.0  # seconds
FEW = 5
JOB = NewJob("anybody", "request", "program", "guest", None, "job", {}, "key", 0, None, None)
START = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


class Transport(asyncio.Transport):
    """A transport that takes all that is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.closed = b"", False

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


async def no_app(scope: Any, receive: Any, send: Any) -> None:
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()


def fed(start: bytes, part: bytes, most: int) -> tuple[bytes, bool, int]:
    """Feed a start and then a part again and again to a connection until it is closed.

    Args:
        start: The first data.
        part: The data that come again and again.
        most: The most bytes of all parts.

    Returns:
        The answer, whether the connection is closed, and the bytes of the parts.
    """

    async def feed() -> tuple[bytes, bool, int]:
        config = uvicorn.Config(no_app, log_config=None)  # type: ignore[arg-type]
        connection = Connection(
            connections=Connections(9), tls=None, config=config, server_state=ServerState(), app_state={}
        )
        transport, sent = Transport(), 0
        connection.connection_made(transport)
        connection.data_received(start)
        while not transport.closed and sent < most:
            connection.data_received(part)
            sent += len(part)
        return transport.written, transport.closed, sent

    return asyncio.run(feed())


@pytest.mark.parametrize(
    ("start", "part"),
    [
        (START + b"X: ", b"x" * 1000),  # a header without an end
        (START + b"X", b"x" * 1000),  # and its name
        (START, b"X: " + b"x" * 995 + b"\r\n"),  # many headers
        (START, b"X: \r\n"),
        (b"GET /", b"x" * 1000),
        (b"", b"\r\n" * 500),  # before a request
        (CHUNKED + b"1;", b"x" * 1000),  # the extension of a chunk
        (CHUNKED + b"1\r\nx\r\n0\r\nX: ", b"x" * 1000),  # a trailer
        (CHUNKED + b"1\r\nx\r\n0\r\n", b"X: \r\n"),
    ],
)
def test_a_head_has_a_limit_before_it_ends(start: bytes, part: bytes) -> None:
    answer, closed, sent = fed(start, part, 10 * MOST_HEAD_BYTES)
    assert closed and sent <= MOST_HEAD_BYTES + len(part)
    assert answer.startswith(b"HTTP/1.1 431 ") or start.startswith(CHUNKED)  # whose answer may be open


def test_a_long_body_has_no_limit_of_a_head() -> None:
    _, closed, sent = fed(CHUNKED, b"8\r\n12345678\r\n" * 100, 4 * MOST_HEAD_BYTES)
    assert not closed and sent >= 4 * MOST_HEAD_BYTES


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[Quiet]:
    """Return a service that has at most FEW connections."""
    with served(config_in(tmp_path), FEW) as found:
        yield found


def opened(quiet: Quiet, data: bytes = b"") -> socket.socket:
    """Return a connection to a service on which data were sent."""
    found = socket.create_connection(("127.0.0.1", quiet.port), LIMIT)
    found.sendall(data)
    return found


def is_closed(connection: socket.socket) -> bool:
    """Return whether the service closes a connection; answers are read and dropped."""
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


def answer(quiet: Quiet, request: bytes) -> bytes:
    """Return the answer to a request after which the connection is closed."""
    with opened(quiet, request) as connection:
        found = b""
        while part := connection.recv(1 << 16):
            found += part
        return found


@pytest.mark.parametrize(
    "head",
    [
        b"X: " + b"x" * (MOST_HEAD_BYTES - len(START) - 200) + b"\r\nConnection: close\r\n",
        b"X: \r\n" * (MOST_HEADERS - 2) + b"Connection: close\r\n",
    ],
)
def test_a_head_within_its_limits_is_taken(quiet: Quiet, head: bytes) -> None:
    assert answer(quiet, START + head + b"\r\n").startswith(b"HTTP/1.1 200 OK")
    found = answer(quiet, START + head + head + b"\r\n")
    assert found.startswith(b"HTTP/1.1 431 ") and b'"remedy"' in found


@pytest.mark.parametrize(
    ("seconds", "data"),
    [
        ("HEAD_SECONDS", b""),
        ("HEAD_SECONDS", START),
        ("HEAD_SECONDS", START + b"\r\n" + START),  # one whole request before
        ("BODY_SECONDS", b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"),
        ("BODY_SECONDS", b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"),  # with an answer
    ],
)
def test_a_client_that_takes_too_long_is_disconnected(
    quiet: Quiet, monkeypatch: pytest.MonkeyPatch, seconds: str, data: bytes
) -> None:
    monkeypatch.setattr(module, seconds, 0.0)
    monkeypatch.setattr(module, "SWEEP_SECONDS", 0.01)
    with opened(quiet, data) as connection:
        assert is_closed(connection)


def test_a_client_that_takes_no_answer_is_disconnected(quiet: Quiet, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 64 << 20  # more than the buffers of a socket
    row = quiet.queue.submit(replace(JOB, proof_key="large"), 9, is_stored=True)[0]
    quiet.store.save_proof("large", bytes(size), {}, {})
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.1)
    monkeypatch.setattr(module, "SWEEP_SECONDS", 0.01)
    with opened(quiet, f"GET /v1/jobs/{row.id}/proof HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()) as connection:
        until(lambda: len(quiet.connections) == 1)
        until(lambda: len(quiet.connections) == 0)
        received = 0
        with suppress(ConnectionError):
            while part := connection.recv(1 << 20):
                received += len(part)
        assert received < size


def test_a_request_before_the_answer_to_another_one_is_not_taken(quiet: Quiet) -> None:
    """Many small ones would take more memory than their bytes."""
    request = b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n"
    found = answer(quiet, request * 1000)
    assert found.startswith(b"HTTP/1.1 200 OK") and found.count(b"HTTP/1.1") == 1


def test_a_new_connection_closes_the_one_that_has_waited_longest(quiet: Quiet) -> None:
    with ExitStack() as stack:
        body = b"POST /v1/inputs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"
        upload = stack.enter_context(closing(opened(quiet, body)))
        waiting = [stack.enter_context(closing(opened(quiet, START))) for _ in range(4 * FEW)]
        assert quiet.ask("GET", "/healthz").status == 200
        for connection in waiting[: -(FEW - 1)]:
            assert is_closed(connection)
        upload.sendall(b"data")  # it has waited longer, but with a whole head
        assert upload.recv(20).startswith(b"HTTP/1.1 201")
        assert quiet.ask("GET", "/healthz").status == 200


def test_tls_is_a_wait_for_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(config_in(tmp_path), FEW, *certificate(tmp_path)) as quiet, ExitStack() as stack:
        client = Client(f"https://localhost:{quiet.port}", ca_file=str(tmp_path / "cert.pem"))
        for _ in range(3):
            assert client.jobs() == []
            client.close()
        waiting = [stack.enter_context(closing(opened(quiet, b"\x16"))) for _ in range(2 * FEW)]
        assert is_closed(waiting[0]) and client.jobs() == []
        monkeypatch.setattr(module, "HEAD_SECONDS", 0.0)
        monkeypatch.setattr(module, "SWEEP_SECONDS", 0.01)
        assert all(map(is_closed, waiting))
        until(lambda: len(quiet.connections) == 0)
        with opened(quiet, b"no TLS" * 1000) as connection:
            assert is_closed(connection)


def test_connections_in_work_make_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        config, all = uvicorn.Config(no_app, log_config=None), Connections(2)  # type: ignore[arg-type]
        transports = []
        for _ in range(3):
            connection = Connection(connections=all, tls=None, config=config, server_state=ServerState(), app_state={})
            transports.append(Transport())
            connection.connection_made(transports[-1])
            if not transports[-1].closed:
                connection.data_received(START + b"\r\n")
        assert [transport.closed for transport in transports] == [False, False, True] and len(all) == 2

    asyncio.run(run())


@pytest.mark.parametrize(
    ("soft", "hard", "expected", "raised"),
    [
        (1 << 20, 1 << 20, 4096, None),
        (1024, 1 << 20, 4096, 8384),
        (1024, 1024, 416, None),
        (256, 256, 32, None),
        (64, 64, 8, None),
        (1024, -1, 4096, 8384),
        (-1, -1, 4096, None),
    ],
)
def test_connections_leave_files_for_the_rest(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, expected: int, raised: int | None
) -> None:
    import resource

    limits = [soft, hard]
    monkeypatch.setattr(resource, "getrlimit", lambda kind: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, new: limits.__setitem__(slice(None), new))
    assert most_connections() == expected and limits == [raised or soft, hard]
