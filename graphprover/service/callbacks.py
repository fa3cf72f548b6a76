"""Callbacks: a POST of a job that has ended to the URL that its client has given.

The service calls only hosts that its operator lists, and follows no redirect, so that clients cannot make it call
others.
"""

import asyncio
import json
import logging
import re
import ssl
import time
from collections import Counter
from collections.abc import Collection
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import h11
from sqlalchemy import Row

from graphprover import __version__
from graphprover.service.metrics import ServiceMetrics
from graphprover.service.problems import Problem
from graphprover.service.queue import Queue
from graphprover.service.requests import status_of

CALL_SECONDS = 10.0  # of a whole call, from the look-up of the host's name to the status of the answer
WAITS = (1.0, 5.0, 30.0, 300.0, 1800.0)  # seconds after each failed attempt; after the last one there is none
CALLS, OWN_CALLS = 64, 16  # at the same time: of the service, and of one token, whose servers may be slow
READ_BYTES = 1 << 14  # of an answer, at once

_NOT_IN_URLS = re.compile(r"[^\x21-\x7e]")

_log = logging.getLogger(__name__)


def check_callback(url: str, hosts: Collection[str]) -> None:
    """Raise Problem unless a URL is of a host that the operator lists."""
    remedy = "give a URL such as https://HOST/PATH"
    if found := _NOT_IN_URLS.search(url):
        raise Problem(422, f"callback: a URL has no {found[0]!r}", f"{remedy}, with other characters as %XX")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise Problem(422, f"callback: {error}", remedy) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise Problem(422, "callback: no URL of HTTP without a user", remedy)
    place = parts.hostname if port is None else f"{parts.hostname}:{port}"
    if place not in hosts:
        raise Problem(422, f"callback: this service does not call {place}", "ask for --callback-host, or poll the job")


class Callbacks:
    """The callbacks of a service. Each one has tasks of its own, so no server delays the callback of another token.

    Args:
        queue: The queue.
        metrics: The metrics, which count.
    """

    def __init__(self, queue: Queue, metrics: ServiceMetrics) -> None:
        self._queue, self._metrics = queue, metrics
        self._calls: dict[int, tuple[str, asyncio.Task[None]]] = {}  # by number of the job: its owner, and its call

    async def send_due(self) -> None:
        """Begin the callbacks that are due, and return; an error of the database raises."""
        own = Counter(owner for owner, _ in self._calls.values())
        while room := min(CALLS - len(self._calls), OWN_CALLS):
            busy = [owner for owner, number in own.items() if number >= OWN_CALLS]
            rows = await asyncio.to_thread(self._queue.due_callbacks, room, list(self._calls), busy)
            for row in rows:
                if own[row.owner] < OWN_CALLS:
                    own[row.owner] += 1
                    task = asyncio.create_task(self._call(row))
                    self._calls[row.number] = row.owner, task
                    task.add_done_callback(lambda _, number=row.number: self._calls.pop(number))  # type: ignore[misc]
            if len(rows) < room:
                return

    async def stop(self) -> None:
        """End the calls; the next service repeats them."""
        tasks = [task for _, task in self._calls.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _call(self, row: Row[Any]) -> None:
        """Send a job to its callback, and record the attempt; no error is one of another callback."""
        problem = ""
        try:
            async with asyncio.timeout(CALL_SECONDS):
                status = await post(row.callback, json.dumps(status_of(row), allow_nan=False).encode())
            if not 200 <= status < 300:
                problem = f"status {status}"
        except TimeoutError:
            problem = f"no answer in {CALL_SECONDS:g} s"
        except Exception as error:  # whatever its URL, its server and the libraries for both raise
            problem = f"{type(error).__name__}: {error}"
        attempts = row.callback_attempts
        again = time.time() + WAITS[attempts] if problem and attempts < len(WAITS) else None
        try:
            await asyncio.to_thread(self._queue.called_back, row.number, again)
        except Exception:  # of the database: the callback stays due
            _log.exception("the callback was not recorded", extra={"job": row.id})
        self._metrics.callbacks.labels("failed" if problem else "taken").inc()
        if problem:
            what = "it is sent again" if again else "it was the last attempt"
            facts = {"job": row.id, "url": row.callback, "problem": problem}
            _log.warning("the callback failed; %s", what, extra=facts)


async def post(url: str, body: bytes) -> int:
    """Send a body to a URL, and return the status of the answer, whose contents are not read.

    Raises:
        OSError: The server cannot be reached.
        h11.ProtocolError: It does not speak HTTP.
        ValueError: The URL is invalid.
    """
    parts = urlsplit(url)
    context = _tls() if parts.scheme == "https" else None
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or (443 if context else 80), ssl=context)
    try:
        connection = h11.Connection(h11.CLIENT)
        head = h11.Request(
            method="POST",
            target=(parts.path or "/") + f"?{parts.query}" * bool(parts.query),
            headers=[
                ("Host", parts.netloc),
                ("User-Agent", f"graphprover/{__version__}"),
                ("Content-Type", "application/json"),
                ("Content-Length", str(len(body))),
                ("Connection", "close"),
            ],
        )
        for event in (head, h11.Data(body), h11.EndOfMessage()):
            writer.write(connection.send(event) or b"")
        await writer.drain()
        while not isinstance(answer := connection.next_event(), h11.Response):  # others tell of one that comes later
            if answer is h11.NEED_DATA:
                connection.receive_data(await reader.read(READ_BYTES))
        return answer.status_code
    finally:
        writer.transport.abort()  # an orderly end of TLS could wait for the server


@cache
def _tls() -> ssl.SSLContext:
    """Return the context of calls by TLS, which trusts the certificates of this host."""
    return ssl.create_default_context()
