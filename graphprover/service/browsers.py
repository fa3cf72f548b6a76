"""A service without tokens is open to this host, but not to pages of others that a browser of this host shows."""

import ipaddress
from urllib.parse import SplitResult, urlsplit

from starlette.datastructures import Headers

from graphprover.service.problems import Problem


def check_browser(headers: Headers) -> None:
    """Raise Problem for a request by a page of another host.

    Such a page may use a name of its own for the address of this host, or send requests without reading the answers.
    """
    host, origin = headers.get("host", ""), headers.get("origin")
    if not is_loopback(_parsed(f"//{host}").hostname or ""):
        raise Problem(403, f"the request is for {host!r}, not for this host", "use localhost in the URL, or tokens")
    if origin is not None and _parsed(origin).netloc != host:
        raise Problem(403, f"a page of {origin!r} has sent the request", "use the page of the service, or tokens")


def _parsed(url: str) -> SplitResult:
    """Return the parts of a URL; no parts of one that is malformed."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def is_loopback(host: str) -> bool:
    """Return whether only this host can connect to an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
