"""Addresses of schedulers as users write them, checked before anything connects. Nothing here imports Dask's client."""

import json
import os
import re
import time
from pathlib import Path

from graphprover.runtime.files import MAX_TEXT_BYTES, FileError, read_file

_ADDRESS = re.compile(r"(?:tcp|tls)://(?:\[[0-9A-Fa-f:.%]+\]|[^\s:/@\[\]]+):([0-9]{1,5})")
_SCHEMES = ("tcp://", "tls://")
_IN_PROCESS = re.compile(r"inproc://[^\s/]+/([0-9]+)/[0-9]+")  # with the id of the process
_TRIES, _PAUSE = 10, 0.02  # a scheduler writes its file in two steps
_TLS = ("ca-file", "client.cert")  # settings without which Dask has no TLS


def address_error(address: str) -> str | None:
    """Return the error message for a text that is no address of a scheduler, or that lacks settings; else None.

    Args:
        address: The address as the user wrote it.
    """
    in_process = _IN_PROCESS.fullmatch(address)
    if in_process and int(in_process[1]) == os.getpid():
        return None
    if not address.startswith(_SCHEMES):
        return "a scheduler's address begins with tcp:// or tls://, as in tcp://127.0.0.1:8786"
    found = _ADDRESS.fullmatch(address)
    if not found or not 0 < int(found[1]) < 1 << 16:
        return "expected HOST:PORT after the scheme, as in tcp://127.0.0.1:8786 or tcp://[::1]:8786"
    if address.startswith("tls://"):
        import dask

        missing = [name for name in _TLS if not dask.config.get(f"distributed.comm.tls.{name}", None)]
        if missing:
            names = ", ".join(f"distributed.comm.tls.{name}" for name in missing)
            return f"TLS needs Dask's settings {names}: see docs/cluster_setup.md"
    return None


def address_in(file: Path) -> str:
    """Return the scheduler's address in a scheduler file.

    Args:
        file: The file, as ``dask scheduler --scheduler-file`` writes it.

    Raises:
        ValueError: The file cannot be read, or has no address.
    """
    for left in reversed(range(_TRIES)):
        try:
            found = json.loads(read_file(file, MAX_TEXT_BYTES, _again(file)))
            break
        except FileError as error:
            raise ValueError(str(error).removeprefix(f"{file}: ")) from error
        except ValueError:
            if not left:
                raise ValueError(f"not JSON: {_again(file)}") from None
            time.sleep(_PAUSE)
    address = found.get("address") if isinstance(found, dict) else None
    if not isinstance(address, str):
        raise ValueError(f"has no scheduler's address: {_again(file)}")
    if reason := address_error(address):
        raise ValueError(f"has the address {address!r}: {reason}")
    return address


def _again(file: Path) -> str:
    return f"`dask scheduler --scheduler-file {file}` writes such a file"
