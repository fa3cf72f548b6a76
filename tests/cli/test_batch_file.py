"""Batch files: what they ask for, and everything that can be wrong with them."""

import re
from pathlib import Path

import pytest

from graphprover.cli.batch_file import read_batch
from graphprover.cli.options import UsageError
from tests.vm.assemble import CODE, Segment, X, elf, leave, words

FIRST = '[[job]]\nprogram = "examples/memory"\noutput = "a"\n'
GUEST = '[[job]]\nprogram = "guest.elf"\noutput = "g"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A guest and its inputs in a folder, named from another."""
    monkeypatch.chdir(tmp_path)
    inputs = tmp_path / "here/inputs"
    inputs.mkdir(parents=True)
    (tmp_path / "here/guest.elf").write_bytes(elf([Segment(CODE, words(leave(3)), X)]))
    (tmp_path / "here/bad.py").write_text("def tables():\n    return {}['one']\nprove_inputs = describe = tables\n")
    for name in ("b.bin", "a.bin", "c.txt", "[d].bin"):
        (inputs / name).write_text(name)
    (inputs / "folder.bin").mkdir()
    return tmp_path


def read(text: str, name: str = "here/jobs.toml") -> list[tuple[str, str | None, str]]:
    Path(name).write_text(text)
    return [(entry.name, entry.input and str(entry.input), str(entry.output)) for entry in read_batch(Path(name))]


def test_a_pattern_gives_a_job_for_each_file() -> None:
    found = read(
        """
        [defaults]
        program = "guest.elf"
        output = "proofs/{input}/{number:03}.{program}"
        [[job]]
        name = "first"
        output = "{name}"
        [[job]]
        input = "inputs/*.bin"
        [[job]]
        input = "inputs/[d].bin"
        output = "deep/{number}"
        """
    )
    assert found == [
        ("first", None, "here/first"),
        ("[d]", "here/inputs/[d].bin", "here/proofs/[d]/002.guest"),
        ("a", "here/inputs/a.bin", "here/proofs/a/003.guest"),
        ("b", "here/inputs/b.bin", "here/proofs/b/004.guest"),
        ("[d]", "here/inputs/[d].bin", "here/deep/5"),
    ]
    assert Path("here/proofs/a").is_dir() and Path("here/deep").is_dir()


def test_defaults_are_those_of_prove_and_jobs_come_before_them() -> None:
    Path("here/jobs.toml").write_text(
        '[defaults]\nexit_code = 3\nmax_memory = 2\nrate = 4\noutput = "{program}{number}"\n'
        '[[job]]\nprogram = "guest.elf"\nrate = 8\nexit_code = "any"\ncommit_input = true\nmax_cycles = 9\n'
        '[[job]]\nprogram = "guest.elf"\nsecurity = 99.5\nproximity = "unique"\n'
        '[[job]]\nprogram = "examples/memory"\n'
    )
    first, second, tables = read_batch(Path("here/jobs.toml"))
    assert (first.rate, first.exit_code, first.commit_input) == (8, "any", True)
    assert first.limits == {"max_cycles": 9, "max_memory": 2 << 20}
    assert (second.rate, second.exit_code, second.commit_input) == (4, 3, False)
    assert (second.security, second.proximity, first.security, first.proximity) == (99.5, "unique", 128, "johnson")
    assert first.program is second.program
    assert (tables.exit_code, tables.limits) == (0, {}), "defaults for guests concern guests"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[[job]\n", r"not TOML: Expected .* \(at line 1, column \d+\)"),
        ("", r"no \[\[job\]\] in it"),
        ("[job]\n", r"write \[defaults\] once, and \[\[job\]\] for each job"),
        ("[[jobs]]\n" + FIRST, "jobs: no such key; did you mean job\\?"),
        ("[default]\n" + FIRST, "default: no such key; did you mean defaults\\?"),
        ("[defaults]\nsecurty = 1\n" + FIRST, "defaults: securty: no such key; did you mean security\\?"),
        (FIRST + 'outptu = "b"', "job 1: outptu: no such key; did you mean output\\?"),
        (FIRST + "[[job]]\nrate = 3", "job 2: rate: 3 is not 2 or 4 or 8"),
        (FIRST + "rate = true", "job 1: rate: True is not 2 or 4 or 8"),
        (FIRST + "security = 0", "job 1: security: 0 is not a number of bits"),
        (FIRST + "security = nan", "job 1: security: nan is not a number of bits"),
        (FIRST + "security = '99'", "job 1: security: '99' is not a number of bits"),
        (FIRST + "proximity = 'far'", "job 1: proximity: 'far' is not johnson or unique"),
        (FIRST + "input = 3", "job 1: input: 3 is not a file, or a pattern .*"),
        (GUEST + "exit_code = -1", 'job 1: exit_code: -1 is not a number below 2\\^64, or "any"'),
        (GUEST + "exit_code = 'all'", "job 1: exit_code: 'all' is not a number .*"),
        (GUEST + "commit_input = 1", "job 1: commit_input: 1 is not true or false"),
        (GUEST + "max_cycles = 0", "job 1: max_cycles: 0 is not a number"),
        (GUEST + "pieces = 2\nwindow = 9", "job 1: window: it says how many pieces there are: leave out pieces"),
        (FIRST + "max_cycles = 9", "job 1: max_cycles: only guests have that, and examples/memory is none"),
        ('[[job]]\noutput = "a"', "job 1: program: missing; give .*"),
        ('[[job]]\nprogram = "examples/memory"', "job 1: output: missing; give .*"),
        (GUEST.replace("guest.elf", "no.elf"), "job 1: program: here/no.elf: no such file or folder, .*"),
        (GUEST.replace("guest.elf", "bad.py"), r"job 1: program: bad\.py: its tables cannot be .*: KeyError\('one'\)"),
        (GUEST + "input = 'no.bin'", "job 1: input: here/no.bin: no such file"),
        (GUEST + "input = 'inputs/*.none'", r"job 1: input: here/inputs/\*\.none: no such file"),
        (FIRST.replace('"a"', '"{input}"'), r"job 1: output: \{input\} in '\{input\}': there are \{program\}, .*"),
        (FIRST.replace('"a"', '"{number:x"'), "job 1: output: .*"),
        (FIRST + "name = '{name}'", r"job 1: name: \{name\} in '\{name\}': there are \{program\}, \{number\}"),
        (FIRST + FIRST, "job 2: output: here/a is also that of job 1"),
        (FIRST + FIRST.replace('"a"', '"./inputs/../a"'), "job 2: output: .* is also that of job 1"),
        (GUEST + "input = 'inputs/*.bin'", r"job 1: output: \S+/g for 3 inputs: put \{input\} or \{number\} into it"),
        (GUEST.replace('"g"', '"guest.elf"'), "job 1: output: here/guest.elf is read: write elsewhere"),
        (FIRST.replace('"a"', '"inputs"'), "job 1: output: here/inputs: exists and is not a regular file"),
        (FIRST.replace('"a"', '"guest.elf/a"'), "job 1: output: here/guest.elf: File exists"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(text: str, line: str, folder: Path) -> None:
    before = {path for path in folder.rglob("*") if "__pycache__" not in path.parts}
    with pytest.raises(UsageError) as raised:
        read(text)
    (told,) = raised.value.args
    assert re.fullmatch(f"here/jobs.toml: {line}", told), told
    assert {path for path in folder.rglob("*") if "__pycache__" not in path.parts} == before | {
        folder / "here/jobs.toml"
    }


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(UsageError) as raised:
        read(FIRST + "no = 1\n" + GUEST.replace("guest.elf", "no.elf") + GUEST + "rate = 3\n")
    assert [line.split(": ")[1:3] for line in raised.value.args] == [
        ["job 1", "no"],
        ["job 2", "program"],
        ["job 3", "rate"],
    ]


def test_a_verifying_key_runs_nothing(folder: Path) -> None:
    from graphprover.cli.main import main

    assert main(["setup", "here/guest.elf", "-o", "here/guest.vk"]) == 0
    with pytest.raises(UsageError, match=r"job 1: program: here/guest\.vk: a verifying key, which runs nothing"):
        read(GUEST.replace("guest.elf", "guest.vk"))
