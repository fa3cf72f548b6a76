"""Machine code of blocks: the chosen blocks, equality with the interpreter's run, and the time of compilation."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import fields, is_dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from llvmlite.binding import parse_assembly

from graphprover.runtime import numba_cache
from graphprover.vm.executor import native, pieces
from graphprover.vm.executor.execute import SLICE, Execution, execute
from graphprover.vm.executor.interpreter import PAGE_BYTES
from graphprover.vm.executor.pieces import Piece
from graphprover.vm.executor.predecode import predecode
from graphprover.vm.executor.translate import Block, Code, translated
from graphprover.vm.program.elf import Image, load_elf
from graphprover.vm.program.io import OUTPUT_BASE
from graphprover.vm.program.isa import A1, Instruction, Op
from tests.slow import slow_after
from tests.vm.assemble import image, leave, li
from tests.vm.conftest import all_compiled

GUESTS = Path(__file__).parents[3] / "examples/guests"
T0, T1, T2 = 5, 6, 7
INPUTS = {
    "fib_iterative": (20_000).to_bytes(8, "little"),
    "sha256": bytes(range(200)) * 3,
    "keccak": bytes(range(200)) * 3,
    "quicksort": np.random.default_rng(1).integers(0, 1 << 63, 300, dtype=np.uint64).tobytes(),
    "matrix": bytes(range(256)) * 4,
    "json": b'{"a": [1, -2.5e3, {"b": "text", "c": null}], "d": [true, false]}' * 1,
    "interpreter": (GUESTS / "interpreter/samples/functions.txt").read_bytes(),
    "merkle": (5).to_bytes(8, "little") + bytes(range(32)) * 6,
}


def loop(turns: int, *body: Instruction) -> list[Instruction]:
    """Return instructions that run ``turns`` times, with a counter in t0."""
    count = [Instruction(Op.ADDI, T0, T0, imm=-1), Instruction(Op.BNE, rs1=T0, imm=-4 * (len(body) + 1))]
    return [*li(T0, turns), *body, *count]


def same(a: Any, b: Any) -> bool:
    """Return whether two runs are equal, except for the cycles that each way ran."""
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if is_dataclass(a):
        names = [one.name for one in fields(a) if one.name not in ("in_blocks", "image")]
        return all(same(getattr(a, name), getattr(b, name)) for name in names)
    return bool(a == b)


def by(translation: Any, monkeypatch: pytest.MonkeyPatch, *arguments: Any, **options: Any) -> Execution:
    with monkeypatch.context() as patch:
        patch.setattr(native, "translation_of", translation)
        return execute(*arguments, **options)


@pytest.mark.parametrize("guest", INPUTS)
@pytest.mark.parametrize("record", slow_after(1, [True, False]))
def test_a_run_by_blocks_is_that_of_the_interpreter(guest: str, record: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    program = load_elf((GUESTS / f"{guest}.elf").read_bytes())
    expected = by(native.Translation, monkeypatch, program, INPUTS[guest], record=record)
    found = by(all_compiled, monkeypatch, program, INPUTS[guest], record=record)
    assert same(found, expected)
    assert expected.in_blocks == 0 < found.in_blocks
    assert found.in_blocks >= (0.85 if expected.cycles > 10_000 and guest != "keccak" else 0.5) * found.cycles


def test_misaligned_accesses_run_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Access all sizes at all offsets of a word, so also across words and pages, as the interpreter does."""
    sizes = {Op.LH: Op.SH, Op.LHU: Op.SH, Op.LW: Op.SW, Op.LWU: Op.SW, Op.LD: Op.SD}
    body = []
    for offset in range(16):
        for load, store in sizes.items():
            body += [Instruction(load, T1, A1, imm=offset), Instruction(Op.XOR, T2, T2, T1)]
            body += [Instruction(store, rs1=A1, rs2=T2, imm=offset), Instruction(Op.ADD, T2, T2, T0)]
    turns = native.OFTEN
    start = [*li(A1, OUTPUT_BASE + 2 * PAGE_BYTES - 8), *li(T2, 0x0123456789ABCDEF)]
    program = image([*start, *loop(turns, *body), *leave()])
    for record in (False, True):
        expected = by(native.Translation, monkeypatch, program, record=record)
        found = by(all_compiled, monkeypatch, program, record=record)
        assert same(found, expected)
        assert found.misaligned > turns * len(body) // 4
        assert found.in_blocks > 0.98 * found.cycles


def test_a_loop_is_a_block() -> None:
    turns = loop(native.OFTEN, Instruction(Op.ADD, T1, T1, T0))
    program = image([*turns, *leave()])
    start = len(li(T0, native.OFTEN))
    words, counts = predecode(program.instructions), execute(program).counts
    assert native.blocks_of(words, counts) == (Block(start, start + 3),)
    assert native.blocks_of(words, counts, [Block(start, start + 3)]) == ()


def test_blocks_begin_where_jumps_lead_and_end_where_they_are() -> None:
    nop, none = Instruction(Op.ADDI), np.full(40, native.OFTEN)
    code = [nop, nop, Instruction(Op.JAL, imm=-4), nop, Instruction(Op.ECALL), nop, Instruction(Op.BEQ, imm=2)]
    words = predecode(image([*code, *[nop] * 33]).instructions)

    def found(counts: np.ndarray) -> list[Block]:
        return sorted(native.blocks_of(words, counts), key=lambda block: block.start)

    long = [Block(at, min(at + native.LONGEST, 40)) for at in range(7, 40, native.LONGEST)]
    expected = [Block(0, 1), Block(1, 3), Block(3, 4), Block(5, 6), *long]
    assert found(none) == expected
    counts = none.copy()
    counts[8:] += 1  # jumps lead there
    counts[20:] = native.OFTEN - 1
    assert found(counts)[4:] == [Block(7, 8), Block(8, 20)]


def test_what_runs_most_is_compiled() -> None:
    counts = np.repeat([native.OFTEN, 3 * native.OFTEN, 2 * native.OFTEN], native.MOST)
    words = predecode(image([Instruction(Op.ADDI)] * len(counts)).instructions)
    blocks = native.blocks_of(words, counts)
    assert sum(block.end - block.start for block in blocks) == native.MOST
    assert {counts[block.start] for block in blocks} == {3 * native.OFTEN}


def test_what_runs_often_is_compiled_and_kept(monkeypatch: pytest.MonkeyPatch, empty: Path) -> None:
    """Compile during the first run; the second has the code from the start."""
    monkeypatch.setattr(native, "AFTER", SLICE)
    program = image([*loop(SLICE, Instruction(Op.ADD, T1, T1, T0)), *leave()])
    first = execute(program, record=True)
    finish(native.translation_of(program, record=True))
    execute(program, record=True)
    last = execute(image([*loop(SLICE, Instruction(Op.ADD, T1, T1, T0)), *leave()]), record=True)
    assert last.in_blocks > 0.99 * last.cycles and same(last, first)
    assert execute(program).in_blocks <= first.cycles  # which has no record, and code of its own
    assert [key[0] for key in native._translations] == [True, False]


def test_compiling_is_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Double the interpreted cycles before each attempt if compiling does not help."""
    begun: list[int] = []
    told = 0

    class Compiler:
        def submit(self, work: Callable[[], None]) -> Future[None]:
            if work == translation._work:  # other tests' programs may still compile
                begun.append(told)
            done: Future[None] = Future()
            done.set_result(None)
            return done

    monkeypatch.setattr(native, "_compiler", Compiler)
    program = image(leave())
    translation = native.Translation(program, record=False)
    for _ in range(40):
        told += native.AFTER // 4
        translation.interpreted(native.AFTER // 4, lambda: np.zeros(3))
    assert [number / native.AFTER for number in begun] == [1, 2, 4, 8]
    translation.interpreted(0, lambda: np.zeros(3), ended=True)  # a fifth of the cycles came since
    translation.interpreted(native.AFTER // 8, lambda: np.zeros(3), ended=True)
    assert [number / native.AFTER for number in begun[4:]] == [10]


def test_an_error_of_the_compiler_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> list[Any]:
        raise RuntimeError("LLVM is broken")

    monkeypatch.setattr(native, "grouped", fail)
    translation = native.Translation(image(leave()), record=False)
    translation.interpreted(native.AFTER, lambda: np.zeros(3))
    assert translation._compiling is not None
    translation._compiling.exception()
    with pytest.raises(RuntimeError, match="LLVM is broken"):
        translation.interpreted(1, lambda: np.zeros(3))


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Let no program have code, neither in this process nor in files; the folder of new files."""
    monkeypatch.setattr(native, "_translations", type(native._translations)())
    monkeypatch.setattr(numba_cache, "_folders", lambda _: [tmp_path])
    pieces._files.cache_clear()
    yield tmp_path
    pieces._files.cache_clear()


def finish(translation: native.Translation) -> None:
    """Wait for all code that is being compiled."""
    while (compiling := translation._compiling) is not None:
        compiling.result()
        if translation._compiling is compiling:
            return


def repeated() -> Image:
    return image([*loop(SLICE, Instruction(Op.ADD, T1, T1, T0)), *leave()])


class Interpreted(native.Translation):
    """Compiles nothing."""

    def interpreted(self, *_: object, **__: object) -> None:
        """Do nothing."""


def as_in_another_process() -> Counter[str]:
    """Run a program as a new process does; return how many pieces it compiled and loaded."""
    native._translations.clear()
    pieces._files.cache_clear()
    before = pieces.used.copy()
    found = execute(repeated(), record=True)
    finish(native.translation_of(repeated(), record=True))
    assert same(found, by(Interpreted, pytest.MonkeyPatch(), repeated(), record=True))
    return pieces.used - before


def test_code_is_kept_for_other_processes(monkeypatch: pytest.MonkeyPatch, empty: Path) -> None:
    monkeypatch.setattr(native, "AFTER", SLICE)
    assert as_in_another_process() == {"compiled": 1}
    (file,) = empty.rglob("native.*.mc")
    assert as_in_another_process() == {"loaded": 1}
    native._translations.clear()
    assert execute(repeated()).record is None  # code without a record is kept by itself
    finish(native.translation_of(repeated(), record=False))
    assert len({*empty.rglob("native.*.mc")} - {file}) == 1


@pytest.mark.parametrize("fault", ["cut", "flipped", "empty", "foreign"])
def test_a_file_that_is_damaged_or_foreign_is_made_again(
    fault: str, monkeypatch: pytest.MonkeyPatch, empty: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(native, "AFTER", SLICE)
    as_in_another_process()
    (file,) = empty.rglob("native.*.mc")
    whole = file.read_bytes()
    if fault == "foreign":  # of another processor
        with monkeypatch.context() as patch:
            patch.setattr(pieces.llvm, "get_host_cpu_name", lambda: "another")
            pieces._files.cache_clear()
            pieces.save(repeated(), [Piece((Block(0, 1),), b"no machine code")], record=True)
    else:
        file.write_bytes({"cut": whole[:-9], "flipped": whole[:99] + b"?" + whole[100:], "empty": b""}[fault])
    assert as_in_another_process() == {"compiled": 1}
    assert ("damaged" in caplog.text) == (fault != "foreign")
    assert as_in_another_process() == {"loaded": 1}


def test_files_of_few_programs_are_kept(monkeypatch: pytest.MonkeyPatch, empty: Path) -> None:
    monkeypatch.setattr(pieces, "KEPT", 3)
    for code in range(5):
        pieces.save(image(leave(code)), [], record=True)
    assert len([*empty.rglob("native.*.mc")]) == 3


def test_pieces_lead_to_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code in many small pieces runs as in one, and nearly without the interpreter."""
    program, data = load_elf((GUESTS / "sha256.elf").read_bytes()), INPUTS["sha256"]
    monkeypatch.setattr(native, "PIECE", 20)
    found = by(all_compiled, monkeypatch, program, data, record=True)
    assert same(found, by(native.Translation, monkeypatch, program, data, record=True))
    assert found.in_blocks > 0.85 * found.cycles
    native_code = all_compiled(program, record=True).native
    assert len(native_code.engines) > 10 and len(set(native_code.functions[1:].tolist())) == len(native_code.engines)


def test_code_of_few_programs_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_translations", type(native._translations)())
    programs = [image(leave(code)) for code in range(native.PROGRAMS + 1)]
    found = [native.translation_of(program, record=False) for program in programs]
    assert native.translation_of(programs[-1], record=False) is found[-1]
    assert native.translation_of(programs[0], record=False) is not found[0]
    assert len(native._translations) == native.PROGRAMS


def program_in_a_loop() -> Image:
    """Return a program whose loop has a load and a store, which call the second function of the machine code."""
    body = [Instruction(Op.LD, rd=6, rs1=2), Instruction(Op.SD, rs1=2, rs2=6)]
    return image(loop(1, *body) + leave())


@pytest.mark.parametrize("record", [False, True])
def test_machine_code_has_no_unwind_tables(record: bool) -> None:
    program = program_in_a_loop()
    words = predecode(program.instructions)
    blocks = native.blocks_of(words, np.full(len(program.code), native.OFTEN))
    text = translated(Code(words.tolist(), program.code_base, program.code_end), blocks, record=record)
    assert "@closely" in text
    objects = [
        pieces.target_machine().emit_object(parse_assembly(made)) for made in (text, text.replace(" nounwind", ""))
    ]
    names = [[section.name for section in ELFFile(BytesIO(made)).iter_sections()] for made in objects]
    assert ".eh_frame" not in names[0]
    assert ".eh_frame" in names[1]


def sections_of(text: str) -> list[str]:
    """Return the names of the sections in the object file that LLVM makes of a module."""
    made = pieces.target_machine().emit_object(parse_assembly(text))
    return [section.name for section in ELFFile(BytesIO(made)).iter_sections()]


def test_code_is_freed_while_other_threads_walk_their_stacks() -> None:
    """With the libgcc of GCC 13 or newer, this ends by SIGSEGV if freed code had unwind tables."""
    done = subprocess.run([sys.executable, "-c", WALKS], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")


WALKS = """
import threading
import numpy as np
from graphprover.vm.executor import native
from tests.vm.executor.test_native import program_in_a_loop

program = program_in_a_loop()
counts = np.full(len(program.code), native.OFTEN)
ended = threading.Event()

def walk():
    large = np.ones(1 << 19, dtype=bool)
    while not ended.is_set():
        (large & large) & large  # NumPy looks at the stack before it writes into the temporary array

threads = [threading.Thread(target=walk) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(40):
    native.compile_blocks(program, counts, record=True)
ended.set()
"""
