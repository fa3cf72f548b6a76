"""The compiled kernels that the package contains, by processor level: ``scripts/build_kernels.py`` makes them.

A file holds one kernel for one signature of types. Its name has a digest of the kernel's source and of Numba's version,
and one of the signature, so that a file of another source is never found. The files are code as the package's sources
are, and only the package's own folder is read.
"""

import hashlib
import pickle
import re
import zlib
from functools import cache
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any

import numba
from numba.core.serialize import dumps

from graphprover.runtime.kernel_source import digest_of

FOLDER = Path(__file__).parents[1] / "compiled"
SUFFIX = ".kernel"

_V3 = "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3 xsave"
# LLVM's processors for which the package has kernels, with the features that they need; the best one first.
LEVELS = MappingProxyType({"x86-64-v4": f"{_V3} avx512f avx512bw avx512cd avx512dq avx512vl", "x86-64-v3": _V3})
_SYSTEM = "x86_64-unknown-linux-gnu"

Target = tuple[str, str, str]  # LLVM's triple, processor and features, as Numba states them


@cache
def level_of(target: Target) -> str | None:
    """Return the best level of a target; None if the package has no kernels for it."""
    system, _, features = target
    has = {feature[1:] for feature in features.split(",") if feature.startswith("+")}
    return next(
        (level for level, needed in LEVELS.items() if system == _SYSTEM and has.issuperset(needed.split())), None
    )


def name_of(function: FunctionType) -> str:
    """Return the name of a kernel: its module below the package, and its own."""
    return re.sub(r"[^\w.]", "", f"{function.__module__}.{function.__qualname__}".removeprefix("graphprover."))


def file_of(function: FunctionType, signature: Any) -> str:
    """Return the name of a kernel's file for a signature."""
    return f"{_stem(function)}-{_short(repr(signature))}{SUFFIX}"


def has(function: FunctionType, target: Target) -> bool:
    """Return whether the package has a kernel for a target, for any signature."""
    return _any(target, f"{_stem(function)}-*")


def load(function: FunctionType, signature: Any, target: Target) -> bytes | None:
    """Return a kernel's payload for Numba, pickled; None if the package has none."""
    level = level_of(target)
    try:
        return _parts(FOLDER / level / file_of(function, signature))[1] if level else None
    except OSError:
        return None


def save(function: FunctionType, signature: Any, level: str, payload: Any) -> None:
    """Write the file of a kernel for a level."""
    path = FOLDER / level / file_of(function, signature)
    path.parent.mkdir(parents=True, exist_ok=True)
    origin = dumps((function.__module__, function.__qualname__, signature))
    path.write_bytes(zlib.compress(len(origin).to_bytes(4, "little") + origin + dumps(payload), 9))


def origin_of(path: Path) -> tuple[str, str, Any]:
    """Return the module, the qualified name and the signature of a file's kernel."""
    found: tuple[str, str, Any] = pickle.loads(_parts(path)[0])
    return found


def _parts(path: Path) -> tuple[bytes, bytes]:
    data = zlib.decompress(path.read_bytes())
    end = 4 + int.from_bytes(data[:4], "little")
    return data[4:end], data[end:]


def reason(function: FunctionType, target: Target) -> str:
    """Return why the package has no compiled kernel for a target, as a clause."""
    if level_of(target) is None:
        return f"the package has no compiled ones for {target[1]} ({target[0]})"
    if has(function, target):
        return f"the package has no {name_of(function)} for these arrays"
    if _any(target, f"{name_of(function)}-*"):
        return f"the package's {name_of(function)} is compiled from another source or by another version of Numba"
    return f"the package has no compiled {name_of(function)}"


def _any(target: Target, pattern: str) -> bool:
    level = level_of(target)
    return bool(level) and any((FOLDER / str(level)).glob(pattern + SUFFIX))


def _stem(function: FunctionType) -> str:
    return f"{name_of(function)}-{_short(numba.__version__ + digest_of(function))}"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
