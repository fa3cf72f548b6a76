"""Keys of a job in a batch file: their valid values, and error messages for invalid ones.

The options of `graphprover.jobs.options` are keys; this module adds the keys of files and names.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphprover.cli.files import control_error, path_error, url_error
from graphprover.cli.patterns import PatternError, check_pattern
from graphprover.jobs.option import SHOWN, shown
from graphprover.jobs.option import wrong_value as wrong_option
from graphprover.jobs.options import BATCH, options_of

MOST_DEEP = 2  # parts ** of a pattern: each multiplies the number of folders to search by their depth

_PLAIN = re.compile(f"[A-Za-z0-9_-]{{1,{SHOWN}}}")  # a key that messages show without quotes


def _input_error(text: str) -> str | None:
    if text.split("/").count("**") > MOST_DEEP:
        return f"** occurs more than {MOST_DEEP} times: name some of the folders"
    return path_error(text)


def _pattern_error(text: str) -> str | None:
    if error := control_error(text):
        return error
    try:
        check_pattern(text)
    except PatternError as invalid:
        return str(invalid)
    return None


def _output_error(text: str) -> str | None:
    return url_error(text) or _pattern_error(text)


OPTIONS = {option.name: option for option in options_of(BATCH)}
# Of each other key a description of its values as a noun phrase, and a function that returns an error message or None.
_TEXTS: Mapping[str, tuple[str, Callable[[str], str | None]]] = {
    "program": ("a file, a folder or examples/NAME", path_error),
    "input": ("a file, or a pattern of files such as inputs/*.bin", _input_error),
    "output": ("a file, such as proofs/{input}.bin", _output_error),
    "name": ("text", _pattern_error),
}
KEYS = (*_TEXTS, *OPTIONS)


def takes(key: str) -> str:
    """Return a description of the valid values of a key that is no option, as a noun phrase."""
    return _TEXTS[key][0]


def wrong_value(key: str, value: Any) -> str | None:
    """Return the error message for a key of a job and its value.

    Args:
        key: The key in the file.
        value: Its value, as `tomllib` returns it.

    Returns:
        The message, which starts with the key, or None for a valid value.
    """
    if key in OPTIONS:
        return wrong_option(OPTIONS[key], value)
    if key not in _TEXTS:
        return unknown(key, KEYS)
    words, error_of = _TEXTS[key]
    if not isinstance(value, str) or not value:
        return f"{key}: {shown(value)} is not {words}"
    error = error_of(value)
    return f"{key}: {shown(value)}: {error}" if error else None


def unknown(key: str, known: Sequence[str]) -> str:
    """Return the error message for an unknown key.

    Args:
        key: The key in the file.
        known: The valid keys.

    Returns:
        The message, which names the most similar valid key.
    """
    (nearest,) = difflib.get_close_matches(key[:SHOWN], known, 1, 0)
    return f"{key if _PLAIN.fullmatch(key) else shown(key)}: unknown key; did you mean {nearest}?"
