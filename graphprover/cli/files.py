"""Checks of a path as the user wrote it, before it becomes a `Path`."""

import os
import re

MOST_NAME_BYTES, MOST_PATH_BYTES = 255, 4095  # limits of Linux file systems
MOST_FOLDERS = 100  # parts of a path, which bounds the recursion of `glob`

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def url_error(text: str) -> str | None:
    """Return the error message for a URL given as a path, such as ``s3://bucket/key``.

    Args:
        text: The path as the user wrote it; a `Path` would have lost one of the slashes.

    Returns:
        The error message, or None if the text is no URL.
    """
    if not (scheme := _SCHEME.match(text)):
        return None
    return f"URLs ({scheme[0]}) are not supported: copy the file to this host and give its path"


def control_error(text: str) -> str | None:
    """Return the error message for a text with a control character, which could corrupt a terminal.

    Args:
        text: A path or a name, as the user wrote it.

    Returns:
        The error message, or None if the text has no control character.
    """
    found = _CONTROL.search(text)
    return f"contains the control character U+{ord(found[0]):04X}: remove it" if found else None


def length_error(text: str) -> str | None:
    """Return the error message for a path that is too long for file systems.

    Args:
        text: The path.

    Returns:
        The error message, or None if the length is valid.
    """
    parts = [os.fsencode(part) for part in text.split("/")]
    if (longest := max(map(len, parts))) > MOST_NAME_BYTES:
        return f"a file name of {longest:,} bytes; the limit is {MOST_NAME_BYTES}"
    if (size := len(os.fsencode(text))) > MOST_PATH_BYTES:
        return f"a path of {size:,} bytes; the limit is {MOST_PATH_BYTES:,}"
    if len(parts) > MOST_FOLDERS:
        return f"a path of {len(parts):,} names; the limit is {MOST_FOLDERS}"
    return None


def path_error(text: str) -> str | None:
    """Return the error message for a text that cannot be a path.

    Args:
        text: The path as the user wrote it.

    Returns:
        The error message, or None for a valid path.
    """
    return url_error(text) or control_error(text) or length_error(text)
