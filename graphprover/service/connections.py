"""Connections: limits of what clients may send and of how long they may take, before any request is authenticated.

uvicorn has a limit for none of it. `Connections` has all connections of a server, and closes the ones that take too
long. If there are too many, the one that has waited longest for its client makes room for a new one. So the clients of
a service can exhaust neither its memory nor its file descriptors.
"""

import asyncio
import json
import ssl
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

MOST_HEAD_BYTES = 32 << 10  # of the URL and all headers of a request
MOST_HEADERS = 100  # of a request
HEAD_SECONDS = 10.0  # for TLS, then for the head of each request
BODY_SECONDS = 30.0  # for a body, and then as long as it comes at LEAST_RATE
LEAST_RATE = 1 << 10  # bytes of a body in a second
ANSWER_SECONDS = 60.0  # in which a client takes a part of its answer
SWEEP_SECONDS = 1.0  # between two looks for clients that take too long

MOST_CONNECTIONS = 4096
RESERVED_FILES = 192  # of the process's files: connections to the database, files of the store, the log
FILES = 2  # of a connection: its socket, and the file of its upload or download


def most_connections() -> int:
    """Return the most connections for which this process may open enough files (``ulimit -n``)."""
    try:
        import resource  # POSIX only
    except ImportError:
        return MOST_CONNECTIONS
    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = RESERVED_FILES + FILES * MOST_CONNECTIONS
    if files != resource.RLIM_INFINITY and files < wanted:
        files = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    if files == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return max(1, min(MOST_CONNECTIONS, max(files - RESERVED_FILES, files // 4) // FILES))


class Connections:
    """The connections of a server. Connections that wait for their clients are in the order of the waits' starts."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: set[Connection] = set()
        self._idle: dict[Connection, None] = {}  # without the whole head of a request
        self._slow: dict[Connection, None] = {}  # with a part of a request's body, or of an answer
        self._sweep: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._open)

    def add(self, new: "Connection") -> None:
        """Add a connection; if there are too many, close one."""
        self._open.add(new)
        self.wait(new, self._idle)
        if len(self._open) > self._most:
            waiting = (each for group in (self._idle, self._slow) for each in group if each is not new)
            next(waiting, new).abort()
        if self._sweep is None:
            self._sweep = new.loop.call_later(SWEEP_SECONDS, self._close_late, new.loop)

    def remove(self, connection: "Connection") -> None:
        """Remove a connection that is closed."""
        self._open.discard(connection)
        self._idle.pop(connection, None)
        self._slow.pop(connection, None)

    def settle(self, connection: "Connection") -> None:
        """Put a connection into the group of its present wait, if it waits for its client."""
        if connection.waits_for_body or connection.flow.write_paused:
            self.wait(connection, self._slow)
        elif connection.waits_for_head:
            self.wait(connection, self._idle)
        else:  # the service works
            self._idle.pop(connection, None)
            self._slow.pop(connection, None)

    def wait(self, connection: "Connection", group: "dict[Connection, None]") -> None:
        """Record that a connection waits, unless it has done so before."""
        if connection not in group and connection in self._open:
            (self._slow if group is self._idle else self._idle).pop(connection, None)
            group[connection] = None
            connection.since = connection.loop.time()

    def _close_late(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close the connections whose clients take too long, and look again later."""
        now = loop.time()
        late = [each for each in self._idle if now - each.since > HEAD_SECONDS]
        late += [each for each in self._slow if each.is_late(now)]
        for connection in late:
            connection.abort()
        self._sweep = loop.call_later(SWEEP_SECONDS, self._close_late, loop) if self._open else None


class Connection(HttpToolsProtocol):
    """A connection of uvicorn, with limits.

    Args:
        connections: All connections of the server.
        tls: The context of TLS; None without it. The handshake begins here, so that it counts as a wait for the client.
        arguments: The ones of uvicorn.
    """

    def __init__(self, *, connections: Connections, tls: ssl.SSLContext | None, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.since = 0.0  # start of the wait for the client
        self.waits_for_body = False
        self._connections, self._tls = connections, tls
        self._raw: asyncio.Transport | None = None
        self._handshake: asyncio.Task[None] | None = None
        self._early = b""  # data that came before the end of the handshake was noticed
        self._head = self._headers = 0  # bytes and headers of this request so far
        self._unparsed = 0  # bytes since the parser has last reported something
        self._body = 0  # bytes of this request's body
        self._refusal: tuple[int, str] | None = None

    @property
    def waits_for_head(self) -> bool:
        """Whether the next step is the client's, who has no request open."""
        return self.cycle is None or self.cycle.response_complete

    def is_late(self, now: float) -> bool:
        """Return whether the client takes too long for a body, or for its answer."""
        waited = now - self.since
        if self.flow.write_paused:
            return waited > ANSWER_SECONDS
        if self.flow.read_paused:  # the service is the slow one
            self.since += SWEEP_SECONDS
            return False
        answered = self.cycle is not None and self.cycle.response_complete
        return waited > BODY_SECONDS + (0 if answered else self._body / LEAST_RATE)

    def abort(self) -> None:
        """Close the connection at once."""
        self._connections.remove(self)
        if self._handshake:
            self._handshake.cancel()
        if self.cycle is not None:
            self.cycle.disconnected = True  # its next write would fail
        if transport := self.transport or self._raw:
            transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, after TLS if there is any."""
        self._raw = transport
        if self._tls is None:
            super().connection_made(transport)
            self._connections.add(self)
            return
        transport.pause_reading()
        self._connections.add(self)
        self._handshake = self.loop.create_task(self._secure(transport, self._tls))

    async def _secure(self, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        try:
            secured = await self.loop.start_tls(transport, self, tls, server_side=True)
        except (OSError, asyncio.CancelledError):  # `Connections` ends it in time
            secured = None
        self._handshake = None
        if secured is None or self not in self._connections._open:
            self.abort()
            return
        self.since = self.loop.time()
        super().connection_made(secured)  # type: ignore[arg-type]
        early, self._early = self._early, b""
        if early:
            self.data_received(early)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._connections.remove(self)
        if self.transport is not None:
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data, unless they pass a limit."""
        if self.transport is None:
            self._early += data
            return
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > MOST_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(*_LARGE_HEAD)
        self._connections.settle(self)

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that is no HTTP, or passes a limit."""
        self._refuse(*(self._refusal or (400, msg)))

    def _refuse(self, status: int, problem: str) -> None:
        if self.waits_for_head:
            body = json.dumps(
                {"problem": problem, "remedy": "send a smaller or valid request"}, allow_nan=False
            ).encode()
            head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + head.encode() + body)
            self.transport.close()
        elif self.waits_for_body:
            self.abort()
        else:  # the connection ends with the answer to the request before
            self.cycle.keep_alive = False
            self.flow.pause_reading()

    def _count(self, size: int) -> None:
        """Count bytes of a head; an exception ends its parser."""
        self._head += size
        if self._head > MOST_HEAD_BYTES or self._headers > MOST_HEADERS:
            self._refusal = _LARGE_HEAD
            raise ValueError

    def on_message_begin(self) -> None:
        """Begin a request, unless the one before has no answer yet: uvicorn would hold any number of requests."""
        if not self.waits_for_head:
            raise ValueError
        self._head = self._headers = self._unparsed = self._body = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a part of the URL."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or a trailer."""
        self._headers += 1
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin the work on a request."""
        self._unparsed = 0
        self.waits_for_body = True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._unparsed = 0
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._unparsed = 0
        self.waits_for_body = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """End an answer; a client may have to send the rest of its body before it reads it."""
        super().on_response_complete()
        self.since = self.loop.time()
        self._connections.settle(self)

    def pause_writing(self) -> None:
        """Wait until the client has taken a part of its answer."""
        super().pause_writing()
        self._connections.settle(self)

    def resume_writing(self) -> None:
        """Go on with the answer."""
        super().resume_writing()
        self._connections.settle(self)


_LARGE_HEAD = 431, f"the URL and headers have more than {MOST_HEAD_BYTES >> 10} KiB, or {MOST_HEADERS} headers"
