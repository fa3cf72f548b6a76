"""What a GPU runs for a table: bytecode and the texts of its kernels, which one process keeps for the next.

Python takes a second to make those of fifty tables anew. They are kept where CuPy keeps machine code, each in a file
whose name depends on the table and on every source that makes them: another version of anything is another file.

No CPU twin: the CPU runs the bytecode as it is.
"""

import hashlib
import logging
import os
import pickle
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

import graphprover.air
from graphprover import __version__
from graphprover.air.bytecode import Bytecode, lookup_bytecode, quotient_bytecode
from graphprover.air.description import AirDescription
from graphprover.kernels.cuda import generate
from graphprover.kernels.cuda.compile_queue import Job, Turn
from graphprover.kernels.cuda.sources import source
from graphprover.runtime.checked_file import load, save
from graphprover.runtime.files import FileError, make_folder

_log = logging.getLogger(__name__)  # where nobody asks for more, warnings go to stderr
_SUFFIX = ".program"


@dataclass(frozen=True)
class Program:
    """A table's lookups or its quotient."""

    bytecode: Bytecode  # of which the kernels take the constants
    texts: list[str]  # of the kernels, which run in order; none where the bytecode is interpreted


@lru_cache(maxsize=256)  # by value: tables of one description are made anew for each proof
def lookup_program(air: AirDescription) -> Program:
    """The kernels ``lookups`` of a table, as `generate.lookup_sources` has them; none where it has no lookups."""
    return _cached("lookups", air, made_lookups)


@lru_cache(maxsize=256)
def quotient_program(air: AirDescription) -> Program:
    """The kernels ``quotient`` of a table, as `generate.quotient_sources` has them; none where they are too large."""
    return _cached("quotient", air, made_quotient)


def made_lookups(air: AirDescription) -> Program:
    """`lookup_program`, made anew."""
    bytecode = lookup_bytecode(air)
    groups = tuple(len(lookup.tuples) for lookup in air.lookups)
    return Program(bytecode, generate.lookup_sources(bytecode, groups))


def made_quotient(air: AirDescription) -> Program:
    """`quotient_program`, made anew."""
    bytecode = quotient_bytecode(air)
    texts = generate.quotient_sources(bytecode, 1 << air.log_quotient_chunks)
    return Program(bytecode, texts if generate.is_generated(texts) else [])


def table_jobs(air: AirDescription) -> list[Job]:
    """All kernels that are generated for a table, to be compiled ahead."""
    called = title(air)
    return [
        *(Job(Turn.LOOKUPS, f"lookups of {called}", text) for text in lookup_program(air).texts),
        *(Job(Turn.QUOTIENT, f"quotient of {called}", text) for text in quotient_program(air).texts),
    ]


def title(air: AirDescription) -> str:
    """What to call a table, of which there may be several of one name."""
    return f"{air.name}, {air.main_width} columns"


def folder() -> Path:
    """Where CuPy keeps machine code."""
    return Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")


def _cached(kind: str, air: AirDescription, make: Callable[[AirDescription], Program]) -> Program:
    """What an earlier process kept, or it is made and kept."""
    name = hashlib.sha256(b"\n".join((kind.encode(), _sources(), air.canonical_bytes))).hexdigest()
    path = folder() / f"{name}{_SUFFIX}"
    if data := load(path):
        found: Program = pickle.loads(zlib.decompress(data))
        return found
    program = make(air)
    try:
        make_folder(path.parent)
        save(path, zlib.compress(pickle.dumps(program, protocol=pickle.HIGHEST_PROTOCOL), level=1))
    except FileError as error:
        _warn_once(str(error.__cause__))
    return program


@cache
def _sources() -> bytes:
    """A digest of all that programs are made by; NumPy's version says how its arrays are pickled."""
    described = sorted(Path(graphprover.air.__file__).parent.glob("*.py"))
    texts = [*(file.read_bytes() for file in (*described, Path(generate.__file__))), source("bytecode.cuh").encode()]
    return hashlib.sha256(b"\n".join((__version__.encode(), np.__version__.encode(), *texts))).digest()


@cache
def _warn_once(reason: str) -> None:
    _log.warning("graphprover: texts of kernels cannot be kept: %s; the next process makes them again", reason)
