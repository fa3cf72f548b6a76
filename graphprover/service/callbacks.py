"""Callbacks: a POST of a job that has ended to the URL that its client has given.

The service calls only hosts that its operator lists, and follows no redirect, so that clients cannot make it call
others.
"""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Row

from graphprover.service.problems import Problem
from graphprover.service.requests import status_of

TIMEOUT_SECONDS = 10.0
WAITS = (1.0, 5.0, 30.0, 300.0, 1800.0)  # seconds after each failed attempt; after the last one there is none


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect is an error."""

    def redirect_request(self, *arguments: Any) -> None:
        """Return no request."""


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)


def check_callback(url: str, hosts: Collection[str]) -> None:
    """Raise Problem unless a URL is of a host that the operator lists."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise Problem(422, f"callback: {error}", "give a URL such as https://HOST/PATH") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise Problem(422, "callback: no URL of HTTP without a user", "give a URL such as https://HOST/PATH")
    place = parts.hostname if port is None else f"{parts.hostname}:{port}"
    if place not in hosts:
        raise Problem(422, f"callback: this service does not call {place}", "ask for --callback-host, or poll the job")


def call_back(row: Row[Any]) -> tuple[bool, float | None]:
    """Send a job to its callback; return whether it was taken, and the time of the next attempt if there is one."""
    body = json.dumps(status_of(row)).encode()
    request = urllib.request.Request(row.callback, body, {"Content-Type": "application/json"}, method="POST")
    try:
        with _opener.open(request, timeout=TIMEOUT_SECONDS):
            return True, None
    except (OSError, ValueError, urllib.error.HTTPError):
        attempts = row.callback_attempts
        return False, time.time() + WAITS[attempts] if attempts < len(WAITS) else None
