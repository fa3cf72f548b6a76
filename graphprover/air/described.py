"""Descriptions of tables in a file for later processes, as Python keeps bytecode.

To run the definitions of a statement's tables takes longer than to verify a small proof. The file is beside this
module's bytecode, or in the user's private folder if that cannot be written. It counts only for the exact sources of
the definitions, and is as trusted as bytecode.
"""

import atexit
import hashlib
import marshal
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial
from importlib.util import cache_from_source
from pathlib import Path
from typing import TypeVar

import graphprover
from graphprover.air.air import Air, run_definition
from graphprover.air.description import AirDescription
from graphprover.air.packed import pack, unpack
from graphprover.runtime.checked_file import load, save
from graphprover.runtime.files import FileError, make_folder, private_folder

_PACKAGE = Path(graphprover.__file__).parent
# The sources of definitions: files, and all files of folders.
_FILES = ("field.py", "protocol/blake3.py", "protocol/keccak.py")
_FOLDERS = ("air", "recursion/tables", "vm/program", "vm/statement", "vm/tables")

AnyAir = TypeVar("AnyAir", bound=Air)

used: Counter[str] = Counter()  # tables whose definition was "run" and whose description was "loaded" in this process
_new: dict[str, bytes] = {}  # descriptions that the file lacks, packed and as bytes


def described(key: str, air: AnyAir, make: Callable[[AnyAir], AirDescription] = run_definition) -> AnyAir:
    """Return a table whose description is loaded from the file, or else made and saved when the process ends.

    Args:
        key: Names the table; tables with this key have equal descriptions.
        air: The table.
        make: Makes the description.
    """
    air.describe_by(partial(_description, key, make))
    return air


def _description(key: str, make: Callable[[AnyAir], AirDescription], air: AnyAir) -> AirDescription:
    if key in _loaded():
        used["loaded"] += 1
        return unpack(marshal.loads(_loaded()[key]))
    if not _new:
        atexit.register(_save)
    used["run"] += 1
    description = make(air)
    _new[key] = marshal.dumps(pack(description))
    return description


@cache
def _loaded() -> Mapping[str, bytes]:
    """Return the packed descriptions in the file, by key. Each has bytes of its own, as a program needs few of them."""
    for path in _paths():
        data = load(path)
        if data is not None and data.startswith(_stamp()):
            found: Mapping[str, bytes] = marshal.loads(data[len(_stamp()) :])
            return found
    return {}


def _save() -> None:
    """Write a file with the loaded descriptions and the new ones; without a writable folder there is none."""
    data = _stamp() + marshal.dumps({**_loaded(), **_new})
    for path in _paths():
        with suppress(FileError):
            make_folder(path.parent)
            save(path, data)
            return


def _paths() -> list[Path]:
    """Return the places of the file, the first one first."""
    beside = Path(cache_from_source(__file__)).with_suffix(".tables")
    paths = [beside]
    with suppress(FileError):
        paths.append(private_folder() / beside.name)
    return paths


@cache
def _stamp() -> bytes:
    """Return a digest of the interpreter's version and of the sources on which descriptions depend."""
    digest = hashlib.sha256(f"{sys.version} {marshal.version}".encode())
    # Not by `Path.glob`, which takes longer than to read and hash the files.
    names = [f"{folder}/{name}" for folder in _FOLDERS for name in sorted(os.listdir(_PACKAGE / folder))]
    for name in (*_FILES, *(name for name in names if name.endswith(".py"))):
        with open(f"{_PACKAGE}/{name}", "rb", buffering=0) as file:
            data = file.read()
        digest.update(f"{name} {len(data)} ".encode() + data)
    return digest.digest()
