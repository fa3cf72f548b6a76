"""The function that an address lies in, by the symbols of an ELF file: for messages about faults, and nothing else."""

import struct

import numpy as np

MAX_NAME = 200  # characters of a function's name that are shown

_HEADER = struct.Struct("<40xQ10xHHH")  # offset, size and number of the sections
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_SYMBOL_TABLE = 2
_NO_TYPE, _FUNCTION = 0, 2  # kinds of symbols: labels in assembler have none
_NO_SECTION, _FIRST_RESERVED = 0, 0xFF00  # undefined symbols; constants and the like


def function_at(file: bytes, address: int) -> str | None:
    """``main+0x14`` for the function of an ELF file that ``address`` lies in; None where no symbol tells.

    The file may hold anything: what makes no sense is passed over, nothing is raised, and the cost is bounded by the
    file's size. Names are cut at MAX_NAME, and what is no printable ASCII in them is a question mark.
    """
    found = _symbols(file)
    if found is None:
        return None
    symbols, names = found
    symbols = symbols[np.isin(symbols["info"] & 15, (_NO_TYPE, _FUNCTION)) & (symbols["value"] <= address)]
    symbols = symbols[(symbols["section"] != _NO_SECTION) & (symbols["section"] < _FIRST_RESERVED)]
    symbols = symbols[symbols["name"] < len(names)]
    # Marks of the assembler ($x, .L1) and symbols without a name are none of a function.
    symbols = symbols[~np.isin(names[symbols["name"]], list(b"\0$."))]
    if not len(symbols):
        return None
    nearest = symbols[symbols["value"] == symbols["value"].max()]
    symbol = nearest[np.argmax(nearest["info"] & 15)]
    offset = address - int(symbol["value"])
    if 0 < int(symbol["size"]) <= offset:
        return None
    start = int(symbol["name"])
    name = names[start : start + MAX_NAME].tobytes().partition(b"\0")[0]
    return "".join(chr(code) if 32 < code < 127 else "?" for code in name) + (f"+{offset:#x}" if offset else "")


def _symbols(file: bytes) -> tuple[np.ndarray, np.ndarray] | None:
    """The first table of symbols and, as bytes, their names; None where there is none in the file."""
    if len(file) < _HEADER.size:
        return None
    start, size, number, _ = _HEADER.unpack_from(file)
    if size != _SECTION.size or start + number * size > len(file):
        return None
    sections = [_SECTION.unpack_from(file, start + i * size) for i in range(number)]
    for _, kind, _, _, offset, length, link, _, _, _ in sections:
        if kind == _SYMBOL_TABLE and length >= _SYMBOL.itemsize and link < number:
            at, room = sections[link][4:6]
            if room and max(offset + length, at + room) <= len(file):
                symbols = np.frombuffer(file, _SYMBOL, length // _SYMBOL.itemsize, offset)
                return symbols, np.frombuffer(file, np.uint8, room, at)
    return None
