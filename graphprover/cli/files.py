"""Paths as users write them: checks of a text before it becomes a `Path`."""

import os
import re

MOST_NAME_BYTES, MOST_PATH_BYTES = 255, 4095  # of Linux's file systems
MOST_FOLDERS = 100  # that a path names, so that looking for it is no long recursion

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def refused_url(text: str) -> str | None:
    """Say why a text that begins with a scheme, as ``s3://bucket/key``, is no path.

    Args:
        text: as the user wrote it; a `Path` has lost one of the slashes.

    Returns:
        A sentence, or None for any other text.
    """
    if not (scheme := _SCHEME.match(text)):
        return None
    return f"{scheme[0]} begins an address, and only files of this host are read and written: copy the file here"


def refused_control(text: str) -> str | None:
    """Say which control character a text has, which no name that is shown may have.

    Args:
        text: a path or a name, as the user wrote it.

    Returns:
        A sentence, or None if there is none.
    """
    found = _CONTROL.search(text)
    return f"the control character U+{ord(found[0]):04X} is in it: leave it out" if found else None


def refused_length(text: str) -> str | None:
    """Say why a path is longer than file systems take.

    Args:
        text: the path.

    Returns:
        A sentence, or None for a path that they take.
    """
    parts = [os.fsencode(part) for part in text.split("/")]
    if (longest := max(map(len, parts))) > MOST_NAME_BYTES:
        return f"a file name of {longest:,} bytes; file systems take {MOST_NAME_BYTES} at most"
    if (size := len(os.fsencode(text))) > MOST_PATH_BYTES:
        return f"a path of {size:,} bytes; file systems take {MOST_PATH_BYTES:,} at most"
    if len(parts) > MOST_FOLDERS:
        return f"a path of {len(parts):,} names; {MOST_FOLDERS} at most are taken"
    return None


def refused_path(text: str) -> str | None:
    """Say why a text names no file that could be read or written.

    Args:
        text: as the user wrote it.

    Returns:
        A sentence, or None for a path.
    """
    return refused_url(text) or refused_control(text) or refused_length(text)
