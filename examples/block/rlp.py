"""Ethereum's encoding of byte strings and lists, the recursive length prefix."""

from collections.abc import Sequence

Item = bytes | Sequence["Item"]

_SHORT = 56  # bytes; from here on a length has a length
_STRING, _LIST = 0x80, 0xC0


def encode(item: Item) -> bytes:
    """Encode a byte string or a list."""
    if isinstance(item, bytes):
        return item if len(item) == 1 and item[0] < _STRING else _head(len(item), _STRING) + item
    payload = b"".join(map(encode, item))
    return _head(len(payload), _LIST) + payload


def number(value: int) -> bytes:
    """Return a number as the byte string that the encoding has for it."""
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _head(size: int, base: int) -> bytes:
    if size < _SHORT:
        return bytes([base + size])
    digits = number(size)
    return bytes([base + _SHORT - 1 + len(digits)]) + digits


def payload(data: bytes) -> bytes:
    """Return the contents of a list.

    Raises:
        ValueError: The data are no list.
    """
    start, size, is_list = _span(data, 0)
    if not is_list:
        raise ValueError("not a list of RLP")
    return data[start : start + size]


def items(data: bytes) -> list[bytes]:
    """Return the encodings of a list's items.

    Raises:
        ValueError: The data are no list.
    """
    contents, at, found = payload(data), 0, []
    while at < len(contents):
        start, size, _ = _span(contents, at)
        found.append(contents[at : start + size])
        at = start + size
    return found


def string(data: bytes) -> bytes:
    """Return the contents of a byte string.

    Raises:
        ValueError: The data are no byte string.
    """
    start, size, is_list = _span(data, 0)
    if is_list:
        raise ValueError("not a string of RLP")
    return data[start : start + size]


def _span(data: bytes, at: int) -> tuple[int, int, bool]:
    """Return where an item's contents begin, their size, and whether it is a list."""
    if at >= len(data):
        raise ValueError("RLP ends too early")
    first = data[at]
    if first < _STRING:
        return at, 1, False
    is_list = first >= _LIST
    size = first - (_LIST if is_list else _STRING)
    start = at + 1
    if size >= _SHORT:
        start += size - _SHORT + 1
        size = int.from_bytes(data[at + 1 : start], "big")
    if start + size > len(data):
        raise ValueError("RLP ends too early")
    return start, size, is_list
