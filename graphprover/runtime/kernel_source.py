"""The digest of a kernel's source: of its text, and of all functions and constants that it reaches in its package.

Numba's own stamp is of the kernel's file only, and does not notice an edit of a function that another file defines.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core.dispatcher import Dispatcher
from numba.core.types import Type
from numba.extending import _Intrinsic

_OWN = __name__.partition(".")[0]


@cache
def digest_of(function: FunctionType) -> str:
    """Return the SHA-256 of a kernel's source, in hexadecimal digits.

    The digest depends on no path, line number or version of Python.

    Args:
        function: The Python function of the kernel.

    Raises:
        TypeError: If the kernel reaches a value of which no digest is defined.
    """
    facts, reached, left = set[str](), {function}, [function]
    while left:
        own, named = _facts(left.pop())
        facts |= own
        left += set(named) - reached
        reached.update(named)
    return hashlib.sha256("\n".join(sorted(facts)).encode()).hexdigest()


@cache
def _facts(function: FunctionType) -> tuple[set[str], list[FunctionType]]:
    """Return the facts about a function's text and values, and the functions of its package among the values."""
    name, package, named = f"{function.__module__}.{function.__qualname__}", _package(function), list[FunctionType]()
    facts = {f"{name} {place} = {_stated(value, package, named)}" for place, value in _values(function, package)}
    return facts | {f"{name} {_text(function.__code__)}"}, named


_lines: dict[str, tuple[tuple[int, int], list[bytes]]] = {}  # by file, with its time and size


def remember(file: str) -> None:
    """Read a source file, which may change between the import of its functions and their digest."""
    status = os.stat(file)
    state = status.st_mtime_ns, status.st_size
    if file not in _lines or _lines[file][0] != state:
        _lines[file] = state, Path(file).read_bytes().splitlines()


def _stated(value: Any, package: str, named: list[FunctionType]) -> str:
    """Return the text of a value; functions of the package, or of this one, are added to ``named``."""
    if isinstance(value, Dispatcher):
        value = value.py_func
    elif isinstance(value, _Intrinsic):
        value = value._defn
    value = getattr(value, "__wrapped__", value)
    if isinstance(value, FunctionType):
        if _package(value) in (package, _OWN):
            named.append(value)
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(_stated(member, package, named) for member in value)}]"
    if isinstance(value, dict):
        return _stated([part for item in value.items() for part in item], package, named)
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, type):
        return _class(value)
    if isinstance(value, np.generic):
        return f"{value.dtype.str} {value.item()}"
    if value is None or isinstance(value, bool | int | float | str | bytes | np.dtype | Type):
        return repr(value)
    if isinstance(value, ir.Type):
        return str(value)
    if _package(type(value)) in (package, _OWN):
        return _class(type(value))
    raise TypeError(f"{value!r} of {type(value)} has no digest")


def _class(kind: type) -> str:
    """Return the name of a class, with the fields of a named tuple."""
    return f"{kind.__module__}.{kind.__qualname__} {getattr(kind, '_fields', '')}"


def _values(function: FunctionType, package: str) -> Iterator[tuple[str, Any]]:
    """Return the globals, members of the package's modules, closure cells and defaults that a function names."""
    names = set(_names(function.__code__))
    for name in sorted(names & function.__globals__.keys()):
        value = function.__globals__[name]
        if not isinstance(value, ModuleType):
            yield name, value
        elif value.__name__.partition(".")[0] in (package, _OWN):
            for member in sorted(names & vars(value).keys()):
                if not isinstance(vars(value)[member], ModuleType):
                    yield f"{name}.{member}", vars(value)[member]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents
    if function.__defaults__:
        yield "defaults", function.__defaults__


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(code: CodeType) -> Iterator[str]:
    return (name for each in _codes(code) for name in each.co_names)


def _text(code: CodeType) -> str:
    """Return the digest of a function's source lines, decorators included."""
    if code.co_filename not in _lines:
        remember(code.co_filename)
    last = max(line for each in _codes(code) for _, _, line in each.co_lines() if line)
    _, lines = _lines[code.co_filename]
    return hashlib.sha256(b"\n".join(lines[code.co_firstlineno - 1 : last])).hexdigest()


def _package(value: Callable) -> str:
    return value.__module__.partition(".")[0]
