"""The debug channel: what a guest shows, when, and that a run is the same with and without it."""

import io
import sys
from collections.abc import Sequence

import numpy as np
import pytest

from graphprover.proving.prover import Prover
from graphprover.statement.statement import with_traces
from graphprover.vm.executor import debug
from graphprover.vm.executor import execute as executor
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.executor.faults import GuestFault
from graphprover.vm.profile.measure import profile
from graphprover.vm.program.elf import Image, load_elf
from graphprover.vm.program.io import DEBUG_PRINT, INPUT_BASE, MEMORY_END
from graphprover.vm.program.isa import A0, A1, Instruction, Op, decode, encode
from graphprover.vm.statement.guest import Guest
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.run_statement import statement_of_run
from tests.vm.assemble import CODE, DATA, PAGE, Segment, X, elf, image, leave, li, words
from tests.vm.executor.test_native import same

pytestmark = pytest.mark.usefixtures("by")

TEXT = b"first\nsecond\n"
T0, T1 = 5, 6
OTHER_NOP = Instruction(Op.SLTIU, imm=0x7A5)


def show(address: int, size: int, word: int | Instruction = DEBUG_PRINT) -> list[Instruction | int]:
    return [*li(A0, address), *li(A1, size), word]


def shown(code: Sequence[Instruction | int], data: bytes = TEXT, **options: int) -> bytes:
    """Return the text of a run, which may end with a fault."""
    text: list[bytes] = []
    try:
        execute(image(code, data), debug=text.append, **options)
    except GuestFault:
        text.append(b"fault")
    return b"".join(text)


def loop(turns: int, word: int | Instruction = DEBUG_PRINT) -> Image:
    """Return a program that shows a byte of DATA in each turn, and writes the turn there."""
    step = [Instruction(Op.SB, rs1=A0, rs2=T0), word, Instruction(Op.ADDI, T0, T0, imm=-1)]
    code = [*li(A0, DATA), *li(A1, 1), *li(T0, turns), *step, Instruction(Op.BNE, rs1=T0, imm=-12), *leave()]
    return image(code, bytes(8))


def test_the_instruction_is_a_hint() -> None:
    assert decode(DEBUG_PRINT) == Instruction(Op.SLTIU, imm=0x7A6)


def test_text_comes_in_order_and_ends_with_a_newline() -> None:
    assert shown([*show(DATA + 6, 6), *show(DATA, 6), *show(DATA, 0), *leave()]) == b"secondfirst\n"
    assert shown([*show(DATA, 5), *leave()]) == b"first\n"
    assert shown(leave()) == b""


def test_text_comes_before_a_fault_and_a_limit() -> None:
    assert shown([*show(DATA, 6), 0]) == b"first\nfault"
    assert shown([*show(DATA, 5), 0]) == b"first\nfault"
    assert shown([*show(DATA, 6), Instruction(Op.JAL)], max_cycles=10**6) == b"first\nfault"
    code = show(DATA, 6)
    assert shown([*code, *code, *leave()], max_cycles=len(code)) == b"first\nfault"
    assert shown([*code, *leave()], max_cycles=len(code) - 1) == b"fault"


def test_text_comes_at_once() -> None:
    """Show the memory as it is at each instruction, and stop a run by an exception."""
    text: list[bytes] = []
    execute(loop(200), debug=text.append)
    assert b"".join(text) == bytes(range(200, 0, -1)) + b"\n"

    def stop(text: bytes) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(image([*show(DATA, 6), Instruction(Op.JAL)], TEXT), debug=stop)


@pytest.mark.parametrize(
    ("address", "size", "missing"),
    [
        (DATA + 4, 4, False),
        (DATA + 5, 12, False),  # zeros behind the contents
        (DATA - 1, 2, True),
        (8, 8, True),
        (0, 0, False),
        (CODE, 4, True),  # code that is no data
        (DATA + 3 * PAGE - 3, PAGE, False),  # pages that were never touched
        (MEMORY_END - 3, 3, False),
        (MEMORY_END - 3, 4, True),
        (2**64 - 8, 8, True),
        (2**64 - 8, 16, True),
        (INPUT_BASE, 11, False),
    ],
)
def test_any_range_is_shown_or_noted(address: int, size: int, missing: bool) -> None:
    text: list[bytes] = []
    code = [*show(address, size), *leave()]
    run = execute(image(code, TEXT), b"abc", debug=text.append)
    memory = {DATA: TEXT, INPUT_BASE: (3).to_bytes(8, "little") + b"abc"}
    expected = b"".join(
        next((data[at - base :][:1] or b"\0" for base, data in memory.items() if base <= at < base + 64), b"\0")
        for at in range(address, address + size)
    )
    note = b"graphprover: debug text: %s bytes at %s are dropped: not all of them exist\n"
    if missing:
        expected = note % (f"{size:,}".encode(), hex(address).encode())
    end = b"\n" * bool(expected and not expected.endswith(b"\n"))
    assert b"".join(text) == expected + end
    assert same(run, execute(image(code, TEXT), b"abc"))


def test_a_call_and_a_run_have_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = show(INPUT_BASE + PAGE, debug.MOST_BYTES)
    assert shown([*zeros, *leave()]) == bytes(debug.MOST_BYTES) + b"\n"
    found = shown([*show(DATA, 5), *show(INPUT_BASE, debug.MOST_BYTES + 1), *show(DATA, 2**64 - 1), *leave()])
    first, *notes = found.splitlines()
    assert first == b"first" and len(notes) == 2
    assert all(note.endswith(b"are dropped: a call shows at most 1,048,576") for note in notes)

    monkeypatch.setattr(debug, "MOST_TOTAL", 3 * debug.LEAST)
    text: list[bytes] = []
    run = execute(loop(200), debug=text.append)
    assert b"".join(text) == bytes([200, 199, 198]) + b"\ngraphprover: debug text: a run shows at most 192 bytes: " + (
        b"the rest is dropped\n"
    )
    assert same(run, execute(loop(200)))
    found = shown([*show(DATA, 6), *show(INPUT_BASE + PAGE, 4 * debug.LEAST), *show(DATA, 6), *leave()])
    assert found == b"first\ngraphprover: debug text: a run shows at most 192 bytes: the rest is dropped\n"


def dropped(text: bytes) -> None:
    """Receive text."""


@pytest.mark.parametrize("record", [False, True])
def test_a_run_is_that_of_any_other_hint(record: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare everything of a run of several intervals and slices."""
    monkeypatch.setattr(executor, "SLICE", 1500)
    found = execute(loop(1500), record=record, debug=dropped)
    for word in (DEBUG_PRINT, OTHER_NOP):
        assert same(found, execute(loop(1500, word), record=record))


def test_the_traces_of_a_proof_are_those_of_any_other_hint() -> None:
    def tables(run: Execution) -> list[np.ndarray]:
        stated = with_traces(statement_of_run(Machine(run.image), run))
        return [np.asarray(table.main) for table in stated.tables]

    expected = tables(execute(loop(500, OTHER_NOP), record=True))
    found = tables(execute(loop(500), record=True, debug=dropped))
    assert len(found) == len(expected) and all(map(np.array_equal, found, expected))
    assert Machine(loop(500)).entries.tolist() == Machine(loop(500, OTHER_NOP)).entries.tolist()


def test_a_proof_has_the_same_bytes_without_a_receiver() -> None:
    code = words([*show(DATA, 6), *show(8, 8), *leave()])
    guest = Guest("shows", "shows", Machine(load_elf(elf([Segment(CODE, code, X), Segment(DATA, TEXT)]))))
    text: list[bytes] = []
    proofs = [Prover(guest, security=30, debug=receiver).prove().to_bytes() for receiver in (None, text.append)]
    assert proofs[0] == proofs[1]
    assert b"".join(text).startswith(b"first\ngraphprover: debug text: 8 bytes at 0x8")


def test_a_profile_shows_text_and_counts_the_same() -> None:
    text: list[bytes] = []
    profiled = profile(loop(200), debug=text.append)
    assert b"".join(text) == bytes(range(200, 0, -1)) + b"\n"
    assert profiled.cells == profile(loop(200, OTHER_NOP)).cells


def test_lines_of_several_runs() -> None:
    text: list[bytes] = []
    one, two = debug.by_lines("one", text.append), debug.by_lines("two", text.append)
    one(b"begin ")
    two(b"a\nb\nc")
    one(b"end\n")
    two(b"\n")
    assert text == [b"two: a\ntwo: b\n", b"one: begin end\n", b"two: c\n"]


def test_standard_error_takes_bytes_or_text(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(buffer))
    sys.stderr.write("before ")
    debug.to_stderr(b"\xff\r\n")
    assert buffer.getvalue() == b"before \xff\r\n"
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    debug.to_stderr(b"a\xff\n")
    assert sys.stderr.getvalue() == "a\ufffd\n"
    sys.stderr.close()
    debug.to_stderr(b"dropped")
    monkeypatch.setattr(sys, "stderr", None)
    debug.to_stderr(b"dropped")


def test_words_that_are_no_hint_show_nothing() -> None:
    """Show by the one word only, not by its neighbours of the same operation."""
    near = [Instruction(Op.SLTIU, rs1=A0, imm=0x7A6), Instruction(Op.SLTI, imm=0x7A6), OTHER_NOP]
    near += [Instruction(Op.SLTIU, rd=T1, imm=0x7A6), Instruction(Op.FENCE, imm=0x7A6)]
    assert all(encode(one) != DEBUG_PRINT for one in near)
    assert shown([*show(DATA, 6, near[0]), *near, *leave()]) == b""
