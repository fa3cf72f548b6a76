"""Source names of functions: Rust's legacy mangling and plain C++ names."""

import re

_PART = re.compile(r"\d+")
_HASH = re.compile(r"h[0-9a-f]{16}")
_RUST = {"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ","}
_ESCAPE = re.compile(r"\$(?:([A-Z]+)|u([0-9a-f]{1,6}))\$")


def demangled(name: str) -> str:
    """Return ``core::fmt::write`` for ``_ZN4core3fmt5write17h0123456789abcdefE``; any other name unchanged.

    Parameters of C++ names are left out. Templates, and Rust's newer names (``_R``), stay mangled.
    """
    if not name.startswith("_ZN"):
        return name
    parts, at = [], 4 if name[3:4] == "K" else 3  # K: a const method of C++
    while name[at : at + 1] != "E":
        length = _PART.match(name, at)
        if length is None or len(length[0]) > 4:
            return name
        at = length.end() + int(length[0])
        parts.append(name[length.end() : at])
        if at >= len(name):
            return name
    if len(parts) > 1 and _HASH.fullmatch(parts[-1]):
        parts = [_rust(part) for part in parts[:-1]]
    return "::".join(parts) if parts else name


def _rust(part: str) -> str:
    part = part[1:] if part.startswith("_$") else part
    return _ESCAPE.sub(_unescaped, part.replace("..", "::"))


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return _RUST.get(escape[1], escape[0])
    code = int(escape[2], 16)
    return chr(code) if 32 < code < 127 else " " if code == 32 else "?"
