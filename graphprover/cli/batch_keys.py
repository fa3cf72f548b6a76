"""The keys of a job in a batch file: the values that each takes, and the errors about other values."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphprover.cli.files import refused_control, refused_path, refused_url
from graphprover.cli.patterns import PatternError, check_pattern
from graphprover.protocol.joint import MOST_SHARDS
from graphprover.protocol.parameters import RATES
from graphprover.protocol.security import HASH_BITS, PROXIMITIES
from graphprover.vm.statement.guest import ANY
from graphprover.vm.tables.clock import MAX_CYCLES

MOST_DEEP = 2  # parts ** of a pattern: each one more multiplies the folders to search by their depth

_SHOWN = 60  # characters of a value or a key, in messages
_PLAIN = re.compile(f"[A-Za-z0-9_-]{{1,{_SHOWN}}}")  # a key that stands in a message as it is


@dataclass(frozen=True)
class _Values:
    """The values that a key takes."""

    fit: Callable[[Any], bool]
    words: str  # a description for people
    refused: Callable[[str], str | None] = lambda text: None  # an error about a text that fits


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _number(least: int = 1, most: int = (1 << 64) - 1) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _bits(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= HASH_BITS


def _refused_input(text: str) -> str | None:
    if text.split("/").count("**") > MOST_DEEP:
        return f"** more than {MOST_DEEP} times: name some of the folders"
    return refused_path(text)


def _refused_pattern(text: str) -> str | None:
    if why := refused_control(text):
        return why
    try:
        check_pattern(text)
    except PatternError as error:
        return str(error)
    return None


def _refused_output(text: str) -> str | None:
    return refused_url(text) or _refused_pattern(text)


_CYCLES = _number(1, MAX_CYCLES - 1)
_KEYS: Mapping[str, _Values] = {
    "program": _Values(_text, "a file, a folder or examples/NAME", refused_path),
    "input": _Values(_text, "a file, or a pattern of files as inputs/*.bin", _refused_input),
    "output": _Values(_text, "a file, such as proofs/{input}.bin", _refused_output),
    "name": _Values(_text, "text", _refused_pattern),
    "security": _Values(_bits, f"a number of bits up to {HASH_BITS:.0f}"),
    "rate": _Values(lambda value: _number()(value) and value in RATES, " or ".join(map(str, RATES))),
    "proximity": _Values(lambda value: value in PROXIMITIES, " or ".join(PROXIMITIES)),
    "shards": _Values(_number(1, MOST_SHARDS), f"a number of shards up to {MOST_SHARDS:,}"),
    "shard_size": _Values(_CYCLES, "a number of cycles below 2^32"),
    "exit_code": _Values(lambda value: value == ANY or _number(0)(value), f'a number below 2^64, or "{ANY}"'),
    "commit_input": _Values(lambda value: isinstance(value, bool), "true or false"),
    "max_cycles": _Values(_CYCLES, "a number of cycles below 2^32"),
    "max_memory": _Values(_number(), "a number of MiB"),
}


def takes(key: str) -> str:
    """Describe the values that a key takes.

    Args:
        key: of a job.

    Returns:
        A phrase.
    """
    return _KEYS[key].words


def wrong_value(key: str, value: Any) -> str | None:
    """Find the error in a key of a job and its value.

    Args:
        key: as the file has it.
        value: as TOML gives it.

    Returns:
        The key and a sentence, or None for a value that the key takes.
    """
    if key not in _KEYS:
        return unknown(key, tuple(_KEYS))
    values = _KEYS[key]
    if not values.fit(value):
        return f"{key}: {_shown(value)} is not {values.words}"
    why = values.refused(value)
    return f"{key}: {_shown(value)}: {why}" if why else None


def unknown(key: str, known: Sequence[str]) -> str:
    """Say that there is no such key.

    Args:
        key: as the file has it.
        known: the keys that there are.

    Returns:
        A sentence that names the nearest of them.
    """
    (nearest,) = difflib.get_close_matches(key[:_SHOWN], known, 1, 0)
    return f"{key if _PLAIN.fullmatch(key) else _shown(key)}: no such key; did you mean {nearest}?"


def _shown(value: Any) -> str:
    """A value of TOML, in few characters."""
    if isinstance(value, str):
        return repr(value) if len(value) <= _SHOWN else f"{value[:_SHOWN]!r}..."
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a number of {value.bit_length():,} bits"
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "an array"
    return str(value)  # of dates and times, too
