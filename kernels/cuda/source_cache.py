"""The GPU programs of a table: bytecode and kernel texts, cached in files for later processes.

Python takes a second to generate the texts of fifty tables. They are cached where CuPy caches machine code, each in a
file whose name depends on the table and on every source of the generator, so another version uses other files.

No CPU twin: the CPU runs the bytecode directly.
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

_log = logging.getLogger(__name__)  # without a configured handler, warnings go to stderr
_SUFFIX = ".program"


@dataclass(frozen=True)
class Program:
    """A table's lookups or its quotient."""

    bytecode: Bytecode  # has the constants of the kernels
    texts: list[str]  # of the kernels, in order; empty if the bytecode is interpreted


@lru_cache(maxsize=256)  # by value: each proof creates its tables' descriptions
def lookup_program(air: AirDescription) -> Program:
    """Return the kernels ``lookups`` of a table (`generate.lookup_sources`); none without lookups."""
    return _cached("lookups", air, made_lookups)


@lru_cache(maxsize=256)
def quotient_program(air: AirDescription) -> Program:
    """Return the kernels ``quotient`` of a table (`generate.quotient_sources`); none if they are too large."""
    return _cached("quotient", air, made_quotient)


def made_lookups(air: AirDescription) -> Program:
    """Generate a `lookup_program`."""
    bytecode = lookup_bytecode(air)
    groups = tuple(len(lookup.tuples) for lookup in air.lookups)
    return Program(bytecode, generate.lookup_sources(bytecode, groups))


def made_quotient(air: AirDescription) -> Program:
    """Generate a `quotient_program`."""
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
    """Return the name of a table for messages; several tables may share it."""
    return f"{air.name}, {air.main_width} columns"


def folder() -> Path:
    """Return CuPy's folder for machine code."""
    return Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")


def _cached(kind: str, air: AirDescription, make: Callable[[AirDescription], Program]) -> Program:
    """Load a program from its file, or make and save it."""
    table = f"{kind} of columns packed for 2^{air.packed_for} chunks".encode()  # which the canonical bytes do not say
    name = hashlib.sha256(b"\n".join((table, _sources(), air.canonical_bytes))).hexdigest()
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
    """Return a digest of all inputs of programs, including NumPy's version for pickled arrays."""
    described = sorted(Path(graphprover.air.__file__).parent.glob("*.py"))
    ours = (*described, Path(generate.__file__), Path(__file__))  # with the classes that are pickled
    texts = [*(file.read_bytes() for file in ours), source("bytecode.cuh").encode()]
    return hashlib.sha256(b"\n".join((__version__.encode(), np.__version__.encode(), *texts))).digest()


@cache
def _warn_once(reason: str) -> None:
    _log.warning("graphprover: texts of kernels cannot be kept: %s; the next process makes them again", reason)
