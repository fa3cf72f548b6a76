"""Machine code of kernels that comes with the package, so that they need no compiler.

The folder ``shipped`` beside this module has a zip file for each generation of GPUs, ``sm_90.zip``, and perhaps one
more with the kernels of tables, ``sm_90_tables.zip``; ``scripts/kernels_cuda.py`` writes them. A member is named by
the SHA-256 of a source text and holds its machine code. `ABOUT` says how it was compiled, and names the kernels.

Machine code for GPUs of compute capability x.y runs on all of x.z with z >= y. A text that no archive has is compiled.

No CPU twin: the machine code of CPU kernels is Numba's.
"""

import hashlib
import json
import logging
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from graphprover.kernels.cuda.sources import STANDARD

FOLDER = Path(__file__).parent / "shipped"
ABOUT = "about.json"  # {"nvrtc": "12.9", "standard": "c++17", "operations": {name: digest}}

_FILE = re.compile(r"sm_(?P<major>\d+)(?P<minor>\d)(?:_tables)?\.zip")
_log = logging.getLogger(__name__)  # without a configured handler, warnings go to stderr


def digest_of(text: str) -> str:
    """Return the name of a text's machine code in an archive."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class _Archive:
    """An archive that was opened."""

    file: zipfile.ZipFile
    members: frozenset[str]  # digests of texts
    operations: frozenset[str]  # names of the kernels that belong to no table


def machine_code(text: str, name: str, capability: str) -> bytes | None:
    """Return the machine code of a text for a GPU; None if no archive has it.

    A damaged archive, one of other options, and a kernel that has changed since its archive was built are reported
    once.

    Args:
        text: The source text.
        name: The kernel's name, for people.
        capability: The compute capability of the GPU, "90" for 9.0.
    """
    digest = digest_of(text)
    for path in _paths(FOLDER, capability):
        archive = _opened(path)
        if archive is None:
            continue
        if digest in archive.members:
            try:
                return archive.file.read(digest)
            except Exception as error:  # whatever is wrong, kernels can be compiled
                warn_once(f"{path.name} with shipped GPU kernels is damaged ({error})")
        elif name in archive.operations:
            warn_once(f"the source of {name} is another one than {path.name} was built of")
    return None


@cache
def warn_once(reason: str) -> None:
    """Warn that kernels are compiled, and why."""
    _log.warning("graphprover: %s: such kernels are compiled; scripts/kernels_cuda.py builds them anew", reason)


@cache
def _paths(folder: Path, capability: str) -> list[Path]:
    """Return the archives that a GPU can use, for the nearest capability first."""
    found = sorted(_usable(folder, int(capability[:-1]), int(capability[-1])), reverse=True)
    if not found:
        _log.info("graphprover: no kernels for GPUs of compute capability %s were shipped", capability)
    return [path for _, path in found]


def _usable(folder: Path, major: int, minor: int) -> Iterator[tuple[int, Path]]:
    for path in folder.glob("*.zip"):
        match = _FILE.fullmatch(path.name)
        if match and int(match["major"]) == major and int(match["minor"]) <= minor:
            yield int(match["minor"]), path


@cache
def _opened(path: Path) -> _Archive | None:
    """Open an archive; None with a warning if it is damaged or was compiled with other options."""
    try:
        file = zipfile.ZipFile(path)
        about = json.loads(file.read(ABOUT))
        standard, operations = about["standard"], frozenset(about["operations"])
    except Exception as error:  # whatever is wrong, kernels can be compiled
        warn_once(f"{path.name} with shipped GPU kernels is damaged ({error})")
        return None
    if standard != STANDARD:
        warn_once(f"{path.name} with shipped GPU kernels was compiled as {standard}, not {STANDARD}")
        return None
    return _Archive(file, frozenset(file.namelist()) - {ABOUT}, operations)
