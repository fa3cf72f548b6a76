"""Machine code of blocks as pieces, which LLVM compiles one by one and later processes load from files.

A piece is an object file with the function for some blocks (`translate`). LLVM's time grows faster than a function, so
a piece has few instructions; functions of several pieces call each other.
"""

import hashlib
import inspect
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from graphprover import __version__
from graphprover.runtime.numba_cache import Cached
from graphprover.vm.executor import interpreter, loops, predecode, record, translate
from graphprover.vm.executor.translate import Block, Code, name_of, translated
from graphprover.vm.program import io, isa
from graphprover.vm.program.elf import Image
from graphprover.vm.tables import clock

KEPT = 64  # files of programs, of a few MB at most
_SOURCES = (
    translate,
    loops,
    interpreter,
    predecode,
    record,
    io,
    isa,
    clock,
)  # modules on which the machine code depends

used: Counter[str] = Counter()  # pieces that were "compiled" and "loaded" in this process


@dataclass(frozen=True)
class Piece:
    """The machine code of some blocks."""

    blocks: tuple[Block, ...]
    code: bytes  # an object file


@dataclass(frozen=True, eq=False)
class Native:
    """Blocks of a program as machine code, which lives as long as this object."""

    blocks: tuple[Block, ...]
    entries: np.ndarray  # int32 (instructions + 2,): number + 1 of the block that begins there, or 0
    functions: np.ndarray  # uint64 (blocks + 1,): addresses of the functions, by the same numbers + 1
    engines: tuple[Any, ...]  # LLVM's, which own the functions

    @property
    def address(self) -> int:
        """Return the address of a function; any of them goes on in the others."""
        return int(self.functions[-1])

    def instructions(self) -> int:
        """Return the number of compiled instructions."""
        return sum(block.end - block.start for block in self.blocks)

    def extended(self, pieces: Sequence[Piece]) -> "Native":
        """Return these blocks and the ones of further pieces."""
        blocks, entries, functions = list(self.blocks), self.entries.copy(), self.functions.tolist()
        engine = _engine(pieces)
        for piece in pieces:
            address = engine.get_function_address(name_of(len(blocks)))
            numbers = range(len(blocks) + 1, len(blocks) + len(piece.blocks) + 1)
            entries[[block.start for block in piece.blocks]] = numbers
            blocks += piece.blocks
            functions += len(piece.blocks) * [address]
        return Native(tuple(blocks), entries, np.array(functions, dtype=np.uint64), (*self.engines, engine))


def none(image: Image) -> Native:
    """Return the empty set of compiled blocks of a program."""
    return Native((), np.zeros(len(image.code) + 2, dtype=np.int32), np.zeros(1, dtype=np.uint64), ())


def compiled(image: Image, blocks: Sequence[Block], first: int, *, record: bool) -> Piece:
    """Compile a piece; ``first``: the number of blocks before."""
    words = predecode.predecode(image.instructions, prints=True)
    own = {index: int(words[index]) for block in blocks for index in range(block.start, block.end)}
    text = translated(Code(own, image.code_base, image.code_end), blocks, first=first, record=record)
    module = llvm.parse_assembly(text)
    module.verify()
    machine = target_machine()
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()  # the variables of loops
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    used["compiled"] += 1
    return Piece(tuple(blocks), machine.emit_object(module))


def _engine(pieces: Sequence[Piece]) -> Any:
    """Load pieces, and return the engine that owns their functions."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
    for piece in pieces:
        engine.add_object_file(llvm.ObjectFileRef.from_data(piece.code))
    engine.finalize_object()
    return engine


def target_machine() -> Any:
    """Return LLVM's code generator for this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(llvm.get_host_cpu_name(), features, opt=1, jit=True)


def load(image: Image, *, record: bool) -> list[Piece]:
    """Return the pieces of a program that earlier processes have compiled for this processor."""
    found = _files().load(_name(image, record)) or ()
    used["loaded"] += len(found)
    return [Piece(tuple(Block(*bounds) for bounds in blocks), code) for blocks, code in found]


def save(image: Image, pieces: Sequence[Piece], *, record: bool) -> None:
    """Keep all pieces of a program, in order, for later processes."""
    data = [([(block.start, block.end) for block in piece.blocks], piece.code) for piece in pieces]
    _files().save(_name(image, record), data)
    _files().keep("native.*.mc", KEPT)


def _name(image: Image, record: bool) -> str:
    return f"native.{hashlib.sha256(bytes([record]) + image.code_digest).hexdigest()[:32]}.mc"


@cache
def _files() -> Cached:
    sources = hashlib.sha256(b"".join(map(_source, _SOURCES))).hexdigest()
    host = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), llvm.get_process_triple()
    return Cached(load, (__version__, llvm.llvm_version_info, host, sources))


def _source(module: ModuleType) -> bytes:
    return inspect.getsource(module).encode()
