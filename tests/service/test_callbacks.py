"""Callbacks: each has its own end, its own errors and its own attempts, whatever other servers do."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, update

from graphprover.service import callbacks as module
from graphprover.service.callbacks import OWN_CALLS, WAITS, Callbacks
from graphprover.service.database import jobs
from graphprover.service.metrics import ServiceMetrics
from graphprover.service.queue import NewJob, Queue
from graphprover.service.supervisor import Supervisor
from tests.service.quiet import config_in

JOB = NewJob("alice", "request", "program", "guest", None, "job", {}, "key", 0, None, None)
TAKEN = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
LIMIT = 60.0  # seconds

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def due(queue: Queue, url: str, owner: str = "alice") -> Any:
    """Return a job that has ended, with a callback that is due."""
    row, _ = queue.submit(replace(JOB, owner=owner, callback=url), 10_000)
    queue.cancel(row.id, owner)
    queue.notice()
    return row


def state(queue: Queue, row: Any) -> Any:
    return queue.get(row.id, row.owner)


@pytest.fixture
def callbacks(queue: Queue, tmp_path: Path) -> Callbacks:
    """Return the callbacks of a queue."""
    supervisor = Supervisor(config_in(tmp_path), queue, (tmp_path / "lock").open("w"), lambda: None)
    return Callbacks(queue, ServiceMetrics(queue, supervisor))


@asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[str]:
    """Yield the URL of a server."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await answer(reader, writer)
        writer.close()

    found = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{found.sockets[0].getsockname()[1]}/"
    found.close()


def saying(text: bytes) -> Answer:
    """Return the answer of a server that reads a whole request, says a text and ends the connection."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0]))
        writer.write(text)
        await writer.drain()

    return answer


async def until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "the condition has not come"
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "text",
    [
        b"hello\r\n",  # no status line
        b"",  # no answer
        b"HTTP/1.1 200 OK\r\nContent-Le",  # half of one
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000,
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 500 No\r\n\r\n",
    ],
)
def test_an_error_of_a_server_is_one_of_its_callback_alone(queue: Queue, callbacks: Callbacks, text: bytes) -> None:
    async def send() -> None:
        async with server(saying(text)) as broken, server(saying(TAKEN)) as good:
            failing, taken = due(queue, broken), due(queue, good)
            begun = time.time()
            await callbacks.send_due()
            await until(lambda: not callbacks._calls)
            assert (state(queue, taken).callback_attempts, state(queue, taken).callback_next) == (1, None)
            assert state(queue, failing).callback_attempts == 1
            assert begun + WAITS[0] <= state(queue, failing).callback_next <= time.time() + WAITS[0]

    asyncio.run(send())


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://127.0.0.1/a b", "http://127.0.0.1/\r\nX: y", "no URL"])
def test_a_url_that_cannot_be_called_is_tried_as_often_as_promised(
    queue: Queue, callbacks: Callbacks, engine: Engine, url: str
) -> None:
    row = due(queue, url)

    async def send() -> None:
        for attempt in range(len(WAITS) + 1):
            await callbacks.send_due()
            await until(lambda: not callbacks._calls)
            assert state(queue, row).callback_attempts == attempt + 1
            await callbacks.send_due()  # before its time
            assert not callbacks._calls
            with engine.begin() as connection:
                waits = update(jobs).where(jobs.c.callback_next.is_not(None))
                connection.execute(waits.values(callback_next=time.time()))
        assert state(queue, row).callback_next is None

    asyncio.run(send())


def test_servers_of_one_token_that_do_not_end_delay_no_other_token(
    queue: Queue, callbacks: Callbacks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CALL_SECONDS", 10 * LIMIT)
    received = list[None]()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"H")
            await writer.drain()
            await asyncio.sleep(0.01)

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await saying(TAKEN)(reader, writer)
        received.append(None)

    async def send() -> None:
        async with server(drip) as slow, server(take) as good:
            for _ in range(3 * OWN_CALLS):
                due(queue, slow, "mallory")
            rows = [due(queue, good) for _ in range(2 * OWN_CALLS)]
            while len(received) < len(rows):
                await callbacks.send_due()
                await asyncio.sleep(0.01)
            await until(lambda: all(state(queue, row).callback_next is None for row in rows))
            await until(lambda: [owner for owner, _ in callbacks._calls.values()] == ["mallory"] * OWN_CALLS)
            await callbacks.stop()
            assert not callbacks._calls and len(queue.due_callbacks(1000)) == 3 * OWN_CALLS

    asyncio.run(asyncio.wait_for(send(), LIMIT))


def test_a_call_has_an_end_although_its_server_goes_on(
    queue: Queue, callbacks: Callbacks, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "CALL_SECONDS", 0.3)

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for byte in b"HTTP/1.1 200 OK\r\n" + b"x" * 60_000:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.05)

    async def send() -> None:
        async with server(drip) as slow:
            row = due(queue, slow)
            await callbacks.send_due()
            await until(lambda: not callbacks._calls)
            assert state(queue, row).callback_attempts == 1

    asyncio.run(send())
    problems = [vars(record)["problem"] for record in caplog.records if record.name == module.__name__]
    assert problems == ["no answer in 0.3 s"]
