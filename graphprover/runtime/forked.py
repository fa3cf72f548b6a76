"""Commands by the command server of the background cluster: the client's side, before any other import.

A command imports its modules for most of a second. The server (`graphprover.cli.command_server`) has imported
them, and forks a process for each command. The process has the standard streams, folder and environment of the command.
"""

import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

LENGTH = struct.Struct("<I")
HERE = ("--executor", "--pool", "--memory-limit")  # options with which the command's own process proves
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def has_server(arguments: Sequence[str]) -> bool:
    """Return whether the command server may run a command: it is the start of a proof by the background cluster."""
    if arguments[:1] != ["prove"] or "GRAPHPROVER_DEBUG" in os.environ:
        return False
    return not any(argument.startswith(HERE) for argument in arguments)


def run(arguments: Sequence[str], version: str) -> int | None:
    """Run a command by the command server, and return its exit code; None if there is none of this version.

    Args:
        arguments: The arguments of the command line.
        version: The version of graphprover.
    """
    from graphprover.runtime.background import socket_file
    from graphprover.runtime.files import FileError

    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.connect(str(socket_file()))
        except (OSError, FileError):
            return None
        request: dict[str, Any] = {
            "arguments": list(arguments),
            "version": version,
            "folder": os.getcwd(),
            "path": sys.path[1:],
            "environment": dict(os.environ),
            "umask": _umask(),
        }
        encoded = json.dumps(request, allow_nan=False).encode(errors="surrogateescape")

        def forward(number: int, frame: FrameType | None) -> None:
            server.send(bytes([number]))  # the process of the command ends itself, and its exit code comes

        before = {number: signal.signal(number, forward) for number in SIGNALS}
        try:
            socket.send_fds(server, [LENGTH.pack(len(encoded))], [0, 1, 2])
            server.sendall(encoded)
            answer = server.recv(1)
        except OSError:
            answer = b""
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    return answer[0] if answer else None


def _umask() -> int:
    before = os.umask(0o077)
    os.umask(before)
    return before
