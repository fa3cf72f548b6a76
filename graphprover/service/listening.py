"""The sockets of a service, bound before anything else starts."""

import errno
import socket
from contextlib import suppress

from graphprover.runtime.errors import UsageError


def bound(host: str, port: int) -> list[socket.socket]:
    """Return a socket for each address of the host, bound to the port; it does not listen yet.

    Raises:
        UsageError: The port is in use, or this host has no such address.
    """
    found = list[socket.socket]()
    try:
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, place in dict.fromkeys(places):
            found.append(socket.socket(family, kind, protocol))
            found[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, True)
            if family == socket.AF_INET6:
                with suppress(OSError):
                    found[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, True)  # else it takes both ports
            found[-1].bind(place)
    except OSError as error:
        for each in found:
            each.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(f"port {port} of {host} is in use: choose another with --port") from error
        if error.errno == errno.EACCES:
            raise UsageError(f"port {port} needs the rights of root: choose another with --port") from error
        raise UsageError(f"--host {host}: {error.strerror}") from error
    return found
