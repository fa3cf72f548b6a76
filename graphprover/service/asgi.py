"""Layers around the application: the most bytes of a body, and the time of each request."""

import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphprover.service.uploads import too_large

MOST_JSON_BYTES = 64 << 10


class BoundedBodies:
    """Refuse a body beyond a limit as it arrives, before it is in memory; uploads have limits of their own."""

    def __init__(self, app: ASGIApp, uploads: tuple[str, ...]) -> None:
        self._app, self._uploads = app, uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http" or scope["path"] in self._uploads:
            await self._app(scope, receive, send)
            return
        size = 0

        async def bounded() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MOST_JSON_BYTES:
                raise too_large(MOST_JSON_BYTES)
            return message

        await self._app(scope, bounded, send)


class Timed:
    """Report each request: method, route, status and seconds."""

    def __init__(self, app: ASGIApp, report: Callable[[str, str, int, float], None]) -> None:
        self._app, self._report = app, report

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, seen)
        finally:
            route = getattr(scope.get("route"), "path", "none")  # not the path, which clients choose
            self._report(scope["method"], route, status, time.perf_counter() - started)
