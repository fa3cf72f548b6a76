"""Compiles frequent code of a program to machine code while it runs; later runs in this process start with it.

`interpreter.run` switches between both: it enters a compiled block at a jump to it or when it passes its start, and
blocks (`translate`) return at their end or before rare instructions.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from graphprover.vm.executor.interpreter import predecode
from graphprover.vm.executor.translate import NAME, Block, Code, translated
from graphprover.vm.program.elf import Image
from graphprover.vm.program.isa import ILLEGAL, Op

# LLVM takes 1 ms for an instruction, in parallel to the run; frequent instructions are likely to be worth it.
OFTEN = 1 << 12
AFTER = 1 << 21  # interpreted cycles before a program is first compiled; 10 ms
MOST = 1 << 11  # most instructions that are compiled: about 2 s
LONGEST = 16  # instructions of a block: at most this number is interpreted before a snapshot
PROGRAMS = 16  # programs with cached code

_JUMPS = np.zeros(ILLEGAL + 2, dtype=bool)  # operations, and the mark of a program's end
_JUMPS[Op.JAL : Op.BGEU + 1] = True
_INTERPRETED = np.zeros(ILLEGAL + 2, dtype=bool)
_INTERPRETED[[Op.ECALL, Op.EBREAK, ILLEGAL, ILLEGAL + 1]] = True


@dataclass(frozen=True, eq=False)
class Native:
    """Blocks of a program as machine code, which lives as long as this object."""

    blocks: tuple[Block, ...]
    entries: np.ndarray  # int32 (instructions + 2,): index + 1 of the block that begins there, or 0
    address: int  # of the compiled function
    engine: Any  # LLVM's, which owns the function


def none(image: Image) -> Native:
    """Return the empty set of compiled blocks of a program."""
    return Native((), np.zeros(len(image.code) + 2, dtype=np.int32), 0, None)


def blocks_of(words: np.ndarray, counts: np.ndarray) -> tuple[Block, ...]:
    """Return the blocks of instructions that ran OFTEN, from `predecode`'s ``words`` and each instruction's count.

    No block has a DEBUG_PRINT that ``words`` tells from other fences.

    A block begins at sources and targets of jumps, and at changes of the count, which show further targets. The most
    frequent blocks come first, up to MOST instructions.
    """
    op = (words & np.uint64(0xFF)).astype(np.int64)
    fixed = _JUMPS[op] & (op != Op.JALR)
    target = np.arange(len(words)) + (words.astype(np.int64) >> 32)
    nowhere = fixed & ((target < 0) | (target >= len(words) - 1))
    counts = np.append(counts, 0)
    prints = (op == Op.FENCE) & (words >> np.uint64(32) != 0)
    compiled = (counts >= OFTEN) & ~_INTERPRETED[op] & ~prints & ~nowhere
    begins = np.ones(len(words) + 1, dtype=bool)
    begins[1:-1] = (counts[1:] != counts[:-1]) | _JUMPS[op[:-1]] | ~compiled[1:] | ~compiled[:-1]
    begins[target[fixed & compiled]] = True
    straight = [bounds for bounds in pairwise(np.flatnonzero(begins).tolist()) if compiled[bounds[0]]]
    blocks = [Block(at, min(at + LONGEST, end)) for start, end in straight for at in range(start, end, LONGEST)]
    blocks.sort(key=lambda block: -counts[block.start])
    ends = accumulate(block.end - block.start for block in blocks)
    return tuple(block for block, end in zip(blocks, ends, strict=True) if end <= MOST)


def compile_blocks(image: Image, counts: np.ndarray, *, record: bool) -> Native:
    """Compile frequent instructions to machine code; ``counts`` (instructions,): executions of each."""
    words = predecode(image.instructions, prints=True)
    blocks = blocks_of(words, counts)
    entries = np.zeros(len(words) + 1, dtype=np.int32)
    entries[[block.start for block in blocks]] = range(1, len(blocks) + 1)
    code = Code(words.tolist(), image.code_base, image.code_end)
    engine = _engine(translated(code, blocks, record=record))
    return Native(blocks, entries, engine.get_function_address(NAME), engine)


def _engine(text: str) -> Any:
    """Compile a module by LLVM and return its engine."""
    module = llvm.parse_assembly(text)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, target_machine())
    engine.finalize_object()
    return engine


def target_machine() -> Any:
    """Return LLVM's code generator for this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(llvm.get_host_cpu_name(), features, opt=1)


class Translation:
    """The compiled code of a program so far, shared by threads."""

    def __init__(self, image: Image, *, record: bool) -> None:
        self._image, self._record = image, record
        self._lock = threading.Lock()
        self._interpreted = 0  # cycles
        self._due = AFTER
        self._compiling: Future[Native] | None = None
        self.native = none(image)  # the newest

    def interpreted(self, cycles: int, counts: Callable[[], np.ndarray]) -> None:
        """Add interpreted cycles, and compile in the background if that is worth it, by each instruction's count.

        Raises the error of an earlier compilation, if it failed.
        """
        with self._lock:
            self._interpreted += cycles
            if self._compiling is not None and self._compiling.done():
                self.native, self._compiling = self._compiling.result(), None
            if self._compiling is None and self._interpreted >= self._due:
                self._due = 2 * self._interpreted  # it compiles everything anew: seldom, if that does not help
                self._compiling = _compiler().submit(compile_blocks, self._image, counts(), record=self._record)


@cache
def _compiler() -> ThreadPoolExecutor:
    """Return the only compiler thread, for all programs."""
    return ThreadPoolExecutor(1, "graphprover-native")


_translations: OrderedDict[tuple[bool, int, bytes], Translation] = OrderedDict()
_lock = threading.Lock()


def translation_of(image: Image, *, record: bool) -> Translation:
    """Return this process's translation of a program, with or without a record."""
    key = record, image.code_base, image.code.tobytes()
    with _lock:
        found = _translations.pop(key, None) or Translation(image, record=record)
        _translations[key] = found
        if len(_translations) > PROGRAMS:
            _translations.popitem(last=False)
    return found
