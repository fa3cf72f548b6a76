"""Keys of a job in a batch file: their valid values, and error messages for invalid ones."""

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphprover.cli.files import control_error, path_error, url_error
from graphprover.cli.patterns import PatternError, check_pattern
from graphprover.proof.compressed import MOST_LAYERS
from graphprover.protocol.joint import MOST_SHARDS
from graphprover.protocol.level import MOST_POW_BITS, one_of
from graphprover.protocol.parameters import BLAKE3, DEFAULT_HASH, HASH_NAMES, RATES
from graphprover.protocol.security import HASH_BITS, PROXIMITIES
from graphprover.prover.upcoming import MOST_PRIORITY
from graphprover.vm.statement.claim import ANY
from graphprover.vm.tables.clock import MAX_CYCLES

MOST_DEEP = 2  # parts ** of a pattern: each multiplies the number of folders to search by their depth

_SHOWN = 60  # characters of a value or key in messages
_PLAIN = re.compile(f"[A-Za-z0-9_-]{{1,{_SHOWN}}}")  # a key that messages show without quotes


@dataclass(frozen=True)
class _Values:
    """The valid values of a key."""

    fit: Callable[[Any], bool]
    words: str  # a description for error messages
    error: Callable[[str], str | None] = lambda text: None  # returns an error message for a text that `fit` accepts


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _number(least: int = 1, most: int = (1 << 64) - 1) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _positive(most: float = math.inf) -> Callable[[Any], bool]:
    def fit(value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= most and value < math.inf

    return fit


def _is_rate(value: Any) -> bool:
    return _number()(value) and value in RATES


def _is_list_of_rates(value: Any) -> bool:
    return isinstance(value, list) and 0 < len(value) <= MOST_LAYERS and all(map(_is_rate, value))


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


_CYCLES = _number(1, MAX_CYCLES - 1)
_KEYS: Mapping[str, _Values] = {
    "program": _Values(_text, "a file, a folder or examples/NAME", path_error),
    "input": _Values(_text, "a file, or a pattern of files such as inputs/*.bin", _input_error),
    "output": _Values(_text, "a file, such as proofs/{input}.bin", _output_error),
    "name": _Values(_text, "text", _pattern_error),
    "security": _Values(_positive(HASH_BITS), f"a number of bits, at most {HASH_BITS:.0f}"),
    "rate": _Values(_is_rate, one_of(RATES)),
    "hash": _Values(lambda value: value in HASH_NAMES, one_of(HASH_NAMES)),
    "pow_bits": _Values(_number(0, MOST_POW_BITS), f"a number of bits from 0 to {MOST_POW_BITS}"),
    "small": _Values(_positive(), "a number of seconds"),
    "proximity": _Values(lambda value: value in PROXIMITIES, one_of(PROXIMITIES)),
    "shards": _Values(_number(1, MOST_SHARDS), f"a number of shards, at most {MOST_SHARDS:,}"),
    "shard_size": _Values(_CYCLES, "a number of cycles below 2^32"),
    "compress": _Values(
        lambda value: isinstance(value, bool) or _is_rate(value) or _is_list_of_rates(value),
        f"true, false, N of a rate 1/N, or a list of such N: {one_of(RATES)}",
    ),
    "exit_code": _Values(lambda value: value == ANY or _number(0)(value), f'a number below 2^64, or "{ANY}"'),
    "commit_input": _Values(lambda value: isinstance(value, bool), "true or false"),
    "random_seed": _Values(_number(0), "a number below 2^64"),
    "max_cycles": _Values(_CYCLES, "a number of cycles below 2^32"),
    "max_memory": _Values(_number(), "a number of MiB"),
    "max_cost": _Values(_number(), "a cost number"),
    "priority": _Values(
        _number(-MOST_PRIORITY, MOST_PRIORITY), f"a whole number from -{MOST_PRIORITY} to {MOST_PRIORITY}"
    ),
    "timeout": _Values(_positive(), "a number of seconds"),
}


def takes(key: str) -> str:
    """Return a description of the valid values of a job's key, as a noun phrase."""
    return _KEYS[key].words


def wrong_value(key: str, value: Any) -> str | None:
    """Return the error message for a key of a job and its value.

    Args:
        key: The key in the file.
        value: Its value, as `tomllib` returns it.

    Returns:
        The message, which starts with the key, or None for a valid value.
    """
    if key not in _KEYS:
        return unknown(key, tuple(_KEYS))
    values = _KEYS[key]
    if not values.fit(value):
        return f"{key}: {_shown(value)} is not {values.words}"
    error = values.error(value)
    return f"{key}: {_shown(value)}: {error}" if error else None


def conflict(options: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the key of a job that does not fit its other keys, and the error message; None if all fit."""
    if "shards" in options and "shard_size" in options:
        return "shard_size", "excludes shards: give only one of the two"
    if options.get("random_seed") and options.get("commit_input"):
        return "random_seed", "is 0 with commit_input: give only one of the two"
    if "small" in options and "rate" in options:
        return "small", "chooses the rate: give only one of small and rate"
    if options.get("compress") and (error := _incompressible(options)):
        return "compress", error
    return None


def _incompressible(options: Mapping[str, Any]) -> str | None:
    """Return the reason why proofs with these options cannot be compressed."""
    if (hash := options.get("hash", DEFAULT_HASH)) != BLAKE3:
        return f"only for proofs by {BLAKE3}, not by {hash}: change one of the two keys"
    return None


def unknown(key: str, known: Sequence[str]) -> str:
    """Return the error message for an unknown key.

    Args:
        key: The key in the file.
        known: The valid keys.

    Returns:
        The message, which names the most similar valid key.
    """
    (nearest,) = difflib.get_close_matches(key[:_SHOWN], known, 1, 0)
    return f"{key if _PLAIN.fullmatch(key) else _shown(key)}: unknown key; did you mean {nearest}?"


def _shown(value: Any) -> str:
    """Return a short text for a TOML value."""
    if isinstance(value, str):
        return repr(value) if len(value) <= _SHOWN else f"{value[:_SHOWN]!r}..."
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a number of {value.bit_length():,} bits"
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "an array"
    return str(value)  # also dates and times
