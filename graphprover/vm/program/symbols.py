"""Finds the function at an address, by the symbols of an ELF file: for messages about faults and for profiles."""

import struct
from dataclasses import dataclass

import numpy as np
from multi_demangle import DemangleOptions, demangle_symbol

MAX_NAME = 200  # characters of a function's name that are shown

_MAX_MANGLED = 2000  # characters of it that are read: mangled names are longer than source names

_HEADER = struct.Struct("<40xQ10xHHH")  # offset, size and number of the sections
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_SYMBOL_TABLE = 2
_MANGLED = ("_Z", "_R")  # C++ and Rust's older names, Rust's v0 names
_NAMES = DemangleOptions.name_only()  # without parameters and types of results
_NO_TYPE, _FUNCTION = 0, 2  # kinds of symbols: labels in assembler have none
_NO_SECTION, _FIRST_RESERVED = 0, 0xFF00  # undefined symbols; constants and other reserved sections


def function_at(file: bytes, address: int) -> str | None:
    """Return ``main+0x14`` for the function at ``address`` in an ELF file; None without a symbol there.

    The file may contain anything: invalid parts are skipped, nothing is raised, and the cost is bounded by the file's
    size. Names are source names (`demangled`), and cut at MAX_NAME.
    """
    found = _of_code(file)
    if found is None:
        return None
    symbols, names = found
    symbols = symbols[symbols["value"] <= address]
    if not len(symbols):
        return None
    nearest = symbols[symbols["value"] == symbols["value"].max()]
    symbol = nearest[np.argmax(nearest["info"] & 15)]
    offset = address - int(symbol["value"])
    if 0 < int(symbol["size"]) <= offset:
        return None
    return demangled(_text(names, symbol))[:MAX_NAME] + (f"+{offset:#x}" if offset else "")


@dataclass(frozen=True)
class Function:
    """A part of a program's code."""

    start: int  # address
    name: str  # source name, if known; an address without a symbol


def functions(file: bytes, start: int, end: int, called: np.ndarray) -> list[Function]:
    """Return the functions in the code of an ELF file, from ``start`` to ``end``, by rising address, without gaps.

    Functions with a size are the file's, and labels outside of them reach up to the next start. Elsewhere a function
    begins at each address of ``called``, and is named by its address. No file is trusted: see `function_at`.
    """
    names: dict[int, str | None] = {start: None}  # of a start; None without a symbol
    found = _of_code(file)
    if found is not None:
        symbols, text = found
        symbols = symbols[(symbols["value"] >= start) & (symbols["value"] < end) & (symbols["value"] % 4 == 0)]
        sized = symbols[((symbols["info"] & 15) == _FUNCTION) & (symbols["size"] > 0)]
        stops = np.minimum(sized["value"] + np.minimum(sized["size"], end - start) + 3 & ~np.uint64(3), end)
        change = np.zeros((end - start) // 4 + 1, dtype=np.int64)
        np.add.at(change, (sized["value"].astype(np.int64) - start) // 4, 1)
        np.add.at(change, (stops.astype(np.int64) - start) // 4, -1)
        inside = np.cumsum(change) > 0

        def free(addresses: np.ndarray) -> np.ndarray:
            return ~inside[(addresses.astype(np.int64) - start) // 4]

        labels = symbols[free(symbols["value"])]
        called = called[(called >= start) & (called < end)]
        gaps = [*called[free(called)].tolist(), *stops[(stops < end) & free(stops)].tolist()]
        names |= dict.fromkeys(gaps)
        for some in (labels, sized):
            values, first = np.unique(some["value"], return_index=True)
            names |= {value: _text(text, some[i]) for value, i in zip(values.tolist(), first.tolist(), strict=True)}
    else:
        names |= dict.fromkeys(called[(called >= start) & (called < end)].tolist())
    return [Function(at, demangled(name)[:MAX_NAME] if name else f"{at:#x}") for at, name in sorted(names.items())]


def demangled(name: str) -> str:
    """Return the name of a function in its source, with question marks for characters that are not printable ASCII.

    ``core::fmt::write`` for ``_ZN4core3fmt5write17h0123456789abcdefE``, without the hashes of Rust and the parameters
    of C++. Names that are not mangled, or not well, stay.
    """
    if name.startswith(_MANGLED):
        name = demangle_symbol(name, _NAMES)
    return "".join(letter if " " <= letter <= "~" else "?" for letter in name)


def _of_code(file: bytes) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the symbols that may be functions, and their names; None if there are none."""
    found = _symbols(file)
    if found is None:
        return None
    symbols, names = found
    symbols = symbols[np.isin(symbols["info"] & 15, (_NO_TYPE, _FUNCTION))]
    symbols = symbols[(symbols["section"] != _NO_SECTION) & (symbols["section"] < _FIRST_RESERVED)]
    symbols = symbols[symbols["name"] < len(names)]
    # Marks of the assembler ($x, .L1) and symbols without a name are no functions.
    return symbols[~np.isin(names[symbols["name"]], list(b"\0$."))], names


def _text(names: np.ndarray, symbol: np.void) -> str:
    """Return a symbol's name as it is in the file; "?" stands for a space, which no name has, and for control codes."""
    start = int(symbol["name"])
    name = names[start : start + _MAX_MANGLED].tobytes().partition(b"\0")[0]
    return "".join(chr(code) if 32 < code < 127 else "?" for code in name)


def _symbols(file: bytes) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the first table of symbols and, as bytes, their names; None if the file has none."""
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
