"""Compiles frequent code of a program to machine code while it runs; later runs start with it, in other processes too.

`interpreter.run` switches between both: it enters a compiled block at a jump to it or when it passes its start, and
blocks (`translate`) return at their end or before rare instructions. `pieces` compiles, loads and keeps the code.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from itertools import accumulate, pairwise

import numpy as np

from graphprover.vm.executor import pieces
from graphprover.vm.executor.pieces import Native, Piece
from graphprover.vm.executor.predecode import predecode
from graphprover.vm.executor.translate import Block
from graphprover.vm.program.elf import Image
from graphprover.vm.program.isa import ILLEGAL, Op

# LLVM takes 1 ms for an instruction, in parallel to the run, and compiled code saves 20 ns each time. As the code is
# kept, this pays after some runs of a program.
OFTEN = 1 << 6
AFTER = 1 << 21  # interpreted cycles before a program is first compiled; 10 ms
MOST = 1 << 15  # most instructions of a program that are compiled: about 30 s
PIECE = 256  # most instructions of a piece: 0.2 s, for which the end of a process may have to wait
LONGEST = 16  # instructions of a block: at most this number is interpreted before a snapshot
PROGRAMS = 16  # programs with cached code

_JUMPS = np.zeros(ILLEGAL + 2, dtype=bool)  # operations, and the mark of a program's end
_JUMPS[Op.JAL : Op.BGEU + 1] = True
_INTERPRETED = np.zeros(ILLEGAL + 2, dtype=bool)
_INTERPRETED[[Op.ECALL, Op.EBREAK, ILLEGAL, ILLEGAL + 1]] = True


def blocks_of(words: np.ndarray, counts: np.ndarray, done: Iterable[Block] = ()) -> tuple[Block, ...]:
    """Return the blocks of instructions that ran OFTEN, from `predecode`'s ``words`` and each instruction's count.

    No block has a DEBUG_PRINT that ``words`` tells from other fences, or an instruction of the blocks ``done``.

    A block begins at sources and targets of jumps, and at changes of the count, which show further targets. The most
    frequent blocks come first, up to MOST instructions, including the instructions of ``done``.
    """
    op = (words & np.uint64(0xFF)).astype(np.int64)
    fixed = _JUMPS[op] & (op != Op.JALR)
    target = np.arange(len(words)) + (words.astype(np.int64) >> 32)
    nowhere = fixed & ((target < 0) | (target >= len(words) - 1))
    counts = np.append(counts, 0)
    prints = (op == Op.FENCE) & (words >> np.uint64(32) != 0)
    compiled = (counts >= OFTEN) & ~_INTERPRETED[op] & ~prints & ~nowhere
    taken = 0
    for block in done:
        compiled[block.start : block.end] = False
        taken += block.end - block.start
    begins = np.ones(len(words) + 1, dtype=bool)
    begins[1:-1] = (counts[1:] != counts[:-1]) | _JUMPS[op[:-1]] | ~compiled[1:] | ~compiled[:-1]
    begins[target[fixed & compiled]] = True
    straight = [bounds for bounds in pairwise(np.flatnonzero(begins).tolist()) if compiled[bounds[0]]]
    blocks = [Block(at, min(at + LONGEST, end)) for start, end in straight for at in range(start, end, LONGEST)]
    blocks.sort(key=lambda block: -counts[block.start])
    ends = accumulate(block.end - block.start for block in blocks)
    return tuple(block for block, end in zip(blocks, ends, strict=True) if taken + end <= MOST)


def grouped(blocks: Iterable[Block], counts: np.ndarray) -> list[tuple[Block, ...]]:
    """Return the blocks of each piece: neighbours, which often lead to each other.

    Pieces with the most cycles come first.
    """
    groups: list[list[Block]] = []
    room = 0
    for block in sorted(blocks, key=lambda block: block.start):
        size = block.end - block.start
        if size > room:
            groups.append([])
            room = PIECE
        groups[-1].append(block)
        room -= size

    def cycles(group: list[Block]) -> int:
        return sum(int(counts[block.start : block.end].sum()) for block in group)

    return [tuple(group) for group in sorted(groups, key=cycles, reverse=True)]


def compile_blocks(image: Image, counts: np.ndarray, *, record: bool) -> Native:
    """Compile frequent instructions to machine code; ``counts`` (instructions,): executions of each."""
    found = pieces.none(image)
    for group in grouped(blocks_of(predecode(image.instructions, prints=True), counts), counts):
        found = found.extended([pieces.compiled(image, group, len(found.blocks), record=record)])
    return found


class Translation:
    """The compiled code of a program so far, shared by threads."""

    def __init__(self, image: Image, *, record: bool, kept: bool = False) -> None:
        """Begin without code, or with what earlier processes have ``kept``; new code is kept then, too."""
        self._image, self._record, self._kept = image, record, kept
        self._lock = threading.Lock()
        self._interpreted = self._planned = 0  # cycles: so far, and at the last plan
        self._due = AFTER
        self._counts: np.ndarray | None = None  # for the next plan
        self._waiting: list[tuple[Block, ...]] = []  # pieces to compile
        self._compiling: Future[None] | None = None
        self._pieces: list[Piece] = pieces.load(image, record=record) if kept else []
        self.native = pieces.none(image).extended(self._pieces)  # the newest

    def interpreted(self, cycles: int, counts: Callable[[], np.ndarray], *, ended: bool = False) -> None:
        """Add interpreted cycles, and compile in the background if that is worth it, by each instruction's count.

        At the end of a run counts are best: they are used if an eighth of all cycles came since the last plan.

        Raises the error of an earlier compilation, if it failed.
        """
        with self._lock:
            self._interpreted += cycles
            if self._compiling is not None and self._compiling.done():
                self._compiling.result()
                self._compiling = None
            since = self._interpreted - self._planned
            if self._interpreted >= self._due or (ended and since >= max(AFTER, self._interpreted // 8)):
                self._due, self._planned = 2 * self._interpreted, self._interpreted  # seldom, if that does not help
                self._counts = counts()
                if self._compiling is None:
                    self._compiling = _compiler().submit(self._work)

    def _work(self) -> None:
        """Plan or compile one piece, then have this go on; it ends with the process."""
        with self._lock:
            counts, self._counts = self._counts, None
        if counts is not None:
            words = predecode(self._image.instructions, prints=True)
            self._waiting = grouped(blocks_of(words, counts, self.native.blocks), counts)
        elif self._waiting:
            blocks = self._waiting.pop(0)
            piece = pieces.compiled(self._image, blocks, len(self.native.blocks), record=self._record)
            self._pieces.append(piece)
            self.native = self.native.extended([piece])
            if self._kept:
                pieces.save(self._image, self._pieces, record=self._record)
        with self._lock:
            if self._counts is not None or self._waiting:
                with suppress(RuntimeError):  # the process ends
                    self._compiling = _compiler().submit(self._work)


@cache
def _compiler() -> ThreadPoolExecutor:
    """Return the only compiler thread, for all programs."""
    return ThreadPoolExecutor(1, "graphprover-native")


_translations: OrderedDict[tuple[bool, bytes], Translation] = OrderedDict()
_lock = threading.Lock()


def translation_of(image: Image, *, record: bool) -> Translation:
    """Return this process's translation of a program, with or without a record."""
    key = record, image.code_digest
    with _lock:
        found = _translations.pop(key, None) or Translation(image, record=record, kept=True)
        _translations[key] = found
        if len(_translations) > PROGRAMS:
            _translations.popitem(last=False)
    return found
