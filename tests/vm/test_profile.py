"""Profiles attribute all cycles and cells to the right functions, in files that open."""

import json
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from graphprover.cli.main import main
from graphprover.runtime.errors import OK, USAGE
from graphprover.statement.cells import committed_cells
from graphprover.statement.cost import Cost
from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.executor.faults import GuestFault
from graphprover.vm.profile import calls, facts
from graphprover.vm.profile.formats import FORMATS, leaves, text
from graphprover.vm.profile.lines import Lines, lines_of
from graphprover.vm.profile.measure import Profile, profile
from graphprover.vm.profile.tree import Frame, by_function, tree
from graphprover.vm.program.elf import Image, load_elf
from graphprover.vm.program.isa import A0, Instruction, Op
from graphprover.vm.program.symbols import functions
from graphprover.vm.statement.guest import Guest
from graphprover.vm.statement.statement import Machine
from graphprover.vm.traces.run_statement import statement_of_run
from tests.chromium import opened
from tests.vm.assemble import CODE, DATA, FUNCTION, LABEL, TEXT, image, leave, li, with_symbols, words
from tests.vm.programs import everything

GUESTS = Path(__file__).parents[2] / "examples/guests"
RA, SP, T0, T1 = 1, 2, 5, 6
STARTS = ("_start", "exit", "_exit")  # one continues in the other
RUNS = {
    "fib_iterative": struct.pack("<Q", 5000),
    "sha256": bytes(300),
    "keccak": bytes(1000),
    "quicksort": np.random.default_rng(1).bytes(8 * 2500),
    "matrix": np.random.default_rng(2).bytes(2 * 8 * 12 * 12),
    "json": b'[1, {"a": [2, 3.5, null]}, "text"]',
    "interpreter": b'fun f(n) { return n * n; } print([f(3), "text"]);',
    "merkle": struct.pack("<Q", 5) + bytes(32 * 9),
}


def image_of(name: str) -> Image:
    return load_elf((GUESTS / f"{name}.elf").read_bytes())


def frames(found: Profile) -> Frame:
    return tree(found, Lines.none(found.execution.image))


def stacks(found: Profile, by: str = "cycles") -> dict[str, int]:
    """Return each call path's own share."""
    totals: dict[str, int] = {}
    for path, leaf in leaves(frames(found)):
        name = ";".join(frame.name for frame in path if frame.kind == "function")
        totals[name] = totals.get(name, 0) + getattr(leaf, by)
    return {name: count for name, count in totals.items() if count}


def cost_about(program: Image, run: Execution) -> Cost:
    """Return the cost of a run from its record."""
    return Guest("guest", "guest", Machine(program)).cost_about(run)


def test_profiles_of_a_machine_share_the_facts_about_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Machine] = []

    def counted(machine: Machine, make: Callable[[Machine], facts.Facts] = facts._make_facts) -> facts.Facts:
        made.append(machine)
        return make(machine)

    monkeypatch.setattr(facts, "_make_facts", counted)
    machine, data = Machine(image_of("sha256")), (b"abc", bytes(300))
    found = [profile(machine, some).cost.value for some in data]
    assert made == [machine]
    assert found == [profile(machine.image, some).cost.value for some in data]
    assert len(made) == 3


def check_sums(program: Image, data: bytes) -> Profile:
    """Check that a profile has every cell and cycle of a run."""
    found, run = profile(program, data), execute(program, data, record=True)
    expected = committed_cells(statement_of_run(Machine(program), run))
    assert {use.name: use.cells for use in found.tables} == expected
    assert all(min(use.drawn, use.own, use.idle) >= 0 for use in found.tables)
    assert found.execution.output == run.output and (found.execution.counts == run.counts).all()
    executed = np.bincount(found.samples.instruction, weights=found.samples.cycles, minlength=len(run.counts))
    assert (executed == run.counts).all()
    root = frames(found)
    assert (root.cells, root.cycles) == (sum(expected.values()), run.cycles) == (found.cells, run.cycles)
    assert found.cost == cost_about(program, run) and root.cost == found.cost.value
    for by in ("cells", "cycles", "cost"):
        assert sum(int(line.rpartition(" ")[2]) for line in text(root, "", by).splitlines()) == getattr(root, by)
    return found


@pytest.mark.parametrize("name", sorted(RUNS))
def test_the_sum_is_the_cost_of_the_proof(name: str) -> None:
    found = check_sums(image_of(name), RUNS[name])
    shares = {share.name: share for share in by_function(frames(found))}
    assert sum(shares[name].cycles for name in STARTS) == found.execution.cycles
    assert sum(share.own_cells for share in shares.values()) == sum(use.drawn for use in found.tables)


@pytest.mark.parametrize("pairs", [1, 60])
def test_every_chip_and_every_way(pairs: int) -> None:
    """Profile few instructions of each chip, and enough of them that some chips have tables for rd = rs1."""
    check_sums(everything(pairs), b"")


def test_accesses_that_come_late_are_told_to_the_cycle() -> None:
    """Count accesses to registers and words about FAR later, by chips with and without tables for rd = rs1."""
    for turns in range(8188, 8196):
        loop = [*li(T1, turns), Instruction(Op.ADDI, T1, T1, imm=-1), Instruction(Op.BNE, rs1=T1, imm=-4)]
        use = [Instruction(Op.ADDI, 7, 7, imm=1), Instruction(Op.ADD, 9, 9, 8), Instruction(Op.SD, rs1=10, rs2=8)]
        check_sums(image([*li(10, DATA + 4096), *use, *loop, *use, *loop, *use, *leave()]), b"")


def program(*parts: tuple[str, list[Instruction]], kind: int = FUNCTION) -> Image:
    """Return a program of named functions; a jump with the number of a function for its immediate goes there."""
    starts = [CODE]
    for _, code in parts:
        starts.append(starts[-1] + 4 * len(code))
    symbols, code = [], []
    for (name, body), start, end in zip(parts, starts[:-1], starts[1:], strict=True):
        symbols.append((name.encode(), start, end - start if kind == FUNCTION else 0, kind, TEXT))
        for at, step in enumerate(body):
            far = step.op == Op.JAL and step.imm >= 2000
            code.append(Instruction(step.op, step.rd, imm=starts[step.imm - 2000] - start - 4 * at) if far else step)
    return load_elf(with_symbols(symbols, words(code)))


def call(number: int) -> Instruction:
    return Instruction(Op.JAL, RA, imm=2000 + number)


def go(number: int) -> Instruction:
    return Instruction(Op.JAL, imm=2000 + number)


RETURN = Instruction(Op.JALR, rs1=RA)
ENTER = [Instruction(Op.ADDI, SP, SP, imm=-16), Instruction(Op.SD, rs1=SP, rs2=RA)]
EXIT = [Instruction(Op.LD, RA, SP), Instruction(Op.ADDI, SP, SP, imm=16), RETURN]
STACK = li(SP, DATA + 0x2000000)


def recursive(turns: int) -> Image:
    """Return a program whose main calls down, which calls itself ``turns`` times."""
    down = [*ENTER, Instruction(Op.ADDI, A0, A0, imm=-1), Instruction(Op.BEQ, rs1=A0, imm=8), call(1), *EXIT]
    return program(("main", [*STACK, *li(A0, turns + 1), call(1), *leave()]), ("down", down))


def test_recursion_is_a_path_for_each_depth() -> None:
    found = stacks(profile(recursive(3)))
    start = len(STACK) + 1 + 1 + len(leave())
    assert found == {"main": start, **{"main" + ";down" * n: 8 - (n == 4) for n in range(1, 5)}}


def test_deep_recursion_is_folded_and_returns_from_it() -> None:
    turns = 5000
    found = stacks(check_sums(recursive(turns), b""))
    depth = max(name.count("down") for name in found)
    assert depth == calls.FOLD - 1 and found["main;down"] == 8
    assert sum(found.values()) == len(STACK) + len(li(A0, turns + 1)) + 1 + len(leave()) + 8 * (turns + 1) - 1


def test_more_calls_than_are_followed() -> None:
    """Fold the deeper calls into one frame, and restore the callers afterwards."""
    turns = calls.MAX_FRAMES + 1000
    found = stacks(profile(recursive(turns), max_memory=1 << 26))
    start = len(STACK) + len(li(A0, turns + 1)) + 1 + len(leave())
    assert (found["main"], found["main;down"]) == (start, 8)


def test_tail_calls_take_the_place_of_their_function() -> None:
    parts = (
        ("main", [*STACK, call(1), *leave()]),
        ("first", [Instruction(Op.FENCE), go(2)]),
        ("second", [Instruction(Op.FENCE), Instruction(Op.FENCE)]),  # falls into the third
        ("third", [Instruction(Op.FENCE), RETURN]),
    )
    found = stacks(profile(program(*parts)))
    assert found == {"main": len(STACK) + 1 + len(leave()), "main;first": 2, "main;second": 2, "main;third": 2}


def test_a_jump_out_of_several_calls_drops_them() -> None:
    """Return as longjmp does: to the place where setjmp returned, with the stack pointer of that time."""
    parts = (
        ("main", [*STACK, call(1), *leave()]),
        ("catch", [*ENTER, call(4), Instruction(Op.BNE, rs1=A0, imm=8), call(2), *EXIT]),
        ("middle", [*ENTER, call(3), *EXIT]),
        ("throw", [*ENTER, *li(A0, 1), Instruction(Op.ADDI, RA, 8), Instruction(Op.ADDI, SP, 9), RETURN]),
        ("set", [Instruction(Op.ADDI, 8, RA), Instruction(Op.ADDI, 9, SP), *li(A0, 0), RETURN]),
    )
    found = stacks(profile(program(*parts)))
    assert found == {
        "main": len(STACK) + 1 + len(leave()),
        "main;catch": 2 + 1 + 1 + 1 + 1 + 3,
        "main;catch;set": 4,
        "main;catch;middle": 3,
        "main;catch;middle;throw": 6,
    }


def test_functions_that_save_registers_for_others() -> None:
    """Profile functions that are called with t0, leave the stack pointer lower, and return in place of callers."""
    save = [Instruction(Op.ADDI, SP, SP, imm=-16), Instruction(Op.SD, rs1=SP, rs2=RA), Instruction(Op.JALR, rs1=T0)]
    parts = (
        ("main", [*STACK, call(1), call(1), *leave()]),
        ("f", [Instruction(Op.JAL, T0, imm=2002), Instruction(Op.FENCE), go(3)]),
        ("save", save),
        ("restore", EXIT),
    )
    found = stacks(profile(program(*parts)))
    base = len(STACK) + 2 + len(leave())
    assert found == {"main": base, "main;f": 6, "main;f;save": 6, "main;restore": 6}


def test_more_paths_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphprover.vm.profile.measure.MAX_COUNTERS", 60)
    found = stacks(check_sums_of_stacks(recursive(30)))
    assert sum(found.values()) == execute(recursive(30)).cycles


def check_sums_of_stacks(program: Image) -> Profile:
    found = profile(program)
    assert frames(found).cycles == found.execution.cycles
    return found


def test_a_stripped_file_has_the_functions_that_are_called() -> None:
    named = image_of("sha256")
    file = named.file[:40] + bytes(8) + named.file[48:58] + bytes(6) + named.file[64:]  # no table of sections
    with_names, without = (stacks(profile(image, b"abc")) for image in (named, load_elf(file)))
    assert all(part.startswith("0x") for name in without for part in name.split(";"))
    assert sum(with_names.values()) == sum(without.values()) and len(without) > 3
    assert without[f"{named.entry:#x}"] == sum(with_names[name] for name in STARTS)  # which nothing calls


def test_code_between_functions_is_named_by_its_address() -> None:
    symbols = [
        (b"_start", CODE, 8, FUNCTION, TEXT),
        (b"inner", CODE + 4, 0, LABEL, TEXT),
        (b"label", CODE + 16, 0, LABEL, TEXT),
    ]
    file = with_symbols(symbols, words([Instruction(Op.FENCE)] * 5 + leave()))
    called = np.array([CODE + 12, CODE + 4, CODE + 400], dtype=np.uint64)
    found = functions(file, CODE, CODE + 32, called)
    assert [(part.start - CODE, part.name) for part in found] == [
        (0, "_start"), (8, f"{CODE + 8:#x}"), (12, f"{CODE + 12:#x}"), (16, "label"),
    ]  # fmt: skip


HOSTILE = "]]><script>alert(1)</script>&amp;\"'`;x</title>"


def hostile() -> Profile:
    code = [*li(T1, 1), *leave()]
    return profile(load_elf(with_symbols([(HOSTILE.encode(), CODE, 0, LABEL, TEXT)], words(code))))


def test_stacks_and_speedscope_have_the_same() -> None:
    root = frames(profile(image_of("sha256"), b"abc"))
    for by in ("cells", "cycles", "cost"):
        lines = [line.rpartition(" ") for line in text(root, "", by).splitlines()]
        file = json.loads(FORMATS[".json"](root, "sha256", by))
        names = [frame["name"] for frame in file["shared"]["frames"]]
        first = file["profiles"][0]
        pairs = zip(first["samples"], first["weights"], strict=True)
        assert first["name"] == by and first["endValue"] == sum(first["weights"]) == getattr(root, by)
        read = [(";".join(names[i] for i in stack), count) for stack, count in pairs]
        assert read == [(stack, int(count)) for stack, _, count in lines]
    assert ";" not in text(frames(hostile()), "", "cells").partition(" ")[0].partition(";[")[0]


LOOK = """
const shown = () => [...graph.children].filter(one => !one.classList.contains("above"));
const put = text => document.body.append(Object.assign(document.createElement("pre"), {textContent: text}));
const [all, first] = shown();
put(`all ${all.title}`);
graph.lastElementChild.click();
put(`zoomed ${shown()[0].title.split("\\n")[0]} ${shown()[0].style.width}`);
dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));
put(`again ${shown().length} ${shown()[0].textContent}`);
search.value = "COMPRESS";
search.oninput();
put(`found ${shown().filter(one => !one.classList.contains("other")).map(one => one.textContent)} ${said.textContent}`);
document.querySelector("[value=cycles]").click();
put(`cycles ${shown().some(one => one.textContent === "padding")}`);
"""


def test_a_flame_graph_in_a_browser() -> None:
    root = frames(profile(image_of("sha256"), b"abc"))
    shown = opened(FORMATS[".html"](root, "sha256.elf", "cells"), LOOK)
    put = dict(re.findall(r"<pre>(\w+) ([^<]*)</pre>", shown))
    whole = (f"{getattr(root, measure):,} {measure} (100.0 %)" for measure in ("cells", "cycles", "cost"))
    assert put["all"] == f"all\n{', '.join(whole)}"
    name, width = put["zoomed"].rsplit(" ", 1)
    assert name != "all" and width == "100%"
    number, first = put["again"].split(" ", 1)
    assert int(number) > 5 and first == "all"
    assert put["found"].startswith("compress ") and re.search(r"Found: \d+\.\d % of the drawn cells", put["found"])
    assert put["cycles"] == "false"  # padding has no cycles


def test_a_flame_graph_shows_names_as_text() -> None:
    page = FORMATS[".html"](frames(hostile()), "<b>a title", "cells")
    assert "alert(1)</script>" not in page and "<b>a title" not in page
    assert re.search(r'class="function"[^>]*>\]\]&gt;&lt;script&gt;', opened(page))


COMPILER = shutil.which("riscv64-unknown-elf-gcc")


@pytest.mark.skipif(not COMPILER, reason="no riscv64-unknown-elf-gcc")
def test_source_lines_where_the_file_tells_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("elftools")
    copy = shutil.copytree(GUESTS, tmp_path / "guests")
    flags = "LDFLAGS=-g -static -Lsdk -T sdk/zkvm.ld -Wl,--gc-sections,--build-id=none,-z,max-page-size=16"
    subprocess.run(["make", "-s", "-B", "-C", copy, "sha256.elf", flags], check=True)
    program = load_elf((copy / "sha256.elf").read_bytes())
    found, lines = profile(program, b"abc"), lines_of(program)
    assert {name.partition(":")[0] for name in lines.names} >= {"sha256.c"}
    last = len((copy / "sha256.c").read_text().splitlines())
    root = tree(found, lines)
    shown = {frame.name for path, _ in leaves(root) for frame in path if frame.kind == "line"}
    numbers = [int(name.partition(":")[2]) for name in shown if name.startswith("sha256.c:")]
    assert numbers and min(numbers) > 0 and max(numbers) <= last
    assert (root.cells, root.cycles) == (found.cells, found.execution.cycles)
    for module in ("elftools.elf.elffile", "elftools.common.exceptions"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError):
        lines_of(program)


def test_a_fault_is_a_fault() -> None:
    with pytest.raises(GuestFault, match="cycle limit"):
        profile(image_of("sha256"), b"abc", max_cycles=100)


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_the_command(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, file = tmp_path / "data", tmp_path / f"profile{form}"
    data.write_bytes(b"abc")
    arguments = ["execute", str(GUESTS / "keccak.elf"), "--input", str(data), "--profile", str(file)]
    assert main([*arguments, "--json", "--cells"]) == OK
    said = json.loads(capsys.readouterr().out)
    assert said["profile"]["bytes"] == file.stat().st_size > 1000
    assert said["profile"]["cells"] == sum(said["committed_cells"].values())
    rows = {row["name"]: row for row in said["profile"]["functions"]}
    assert {"_start", "main", "zkvm_keccak256"} <= set(rows)
    assert rows["main"]["own_cost"] == rows["main"]["own_cells"] + 11 * rows["main"]["own_cycles"]
    assert rows["main"]["cost"] < said["profile"]["cost"] == said["cost"]["value"]
    assert main([*arguments, "--profile-by", "cycles"]) == OK
    out = capsys.readouterr().out
    assert "zkvm_keccak256" in out and "with callees" in out and str(file) in out


def test_other_files_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    guest = str(GUESTS / "sha256.elf")
    with pytest.raises(SystemExit) as ended:
        main(["execute", guest, "--profile", "profile.png"])
    assert ended.value.code == USAGE and "has none of the suffixes .html, .txt, .json" in capsys.readouterr().err
    assert main(["execute", guest, "--profile", "/nowhere/profile.txt"]) == USAGE


def test_help_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["execute", "--help"])
    said = capsys.readouterr().out
    assert all(part in said for part in ("--profile FILE", "--profile-by {cells,cycles,cost}", *FORMATS))
