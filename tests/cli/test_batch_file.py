"""Batch files: their jobs, and every kind of error in them."""

import re
from pathlib import Path

import pytest

from graphprover.cli.batch_file import read_batch
from graphprover.jobs.options import of_prover
from graphprover.protocol.goal import Goal
from graphprover.protocol.level import COMPRESSED_POW_BITS, Level
from graphprover.proving.prover import Prover
from graphprover.runtime.errors import UsageError
from tests.cli.fuzz_batch import fuzz
from tests.vm.assemble import CODE, Segment, X, elf, leave, words

FIRST = '[[job]]\nprogram = "examples/memory"\noutput = "a"\n'
GUEST = '[[job]]\nprogram = "guest.elf"\noutput = "g"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a guest and its inputs in a subfolder of the working directory."""
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
        '[defaults]\nexit_code = 3\nmax_memory = 2\npow_bits = 4\noutput = "{program}{number}"\n'
        '[[job]]\nprogram = "guest.elf"\nrate = 8\nexit_code = "any"\ncommit_input = true\nmax_cycles = 9\n'
        "random_seed = 0\nmax_cost = 5\n"
        '[[job]]\nprogram = "guest.elf"\nsecurity = 99.5\nproximity = "unique"\nrate = 4\n'
        'hash = "blake3"\npow_bits = 24\nrandom_seed = 18446744073709551615\n'
        "compress = [8, 64]\nshards = 1\n"
        '[[job]]\nprogram = "examples/memory"\nsmall = 9.5\npriority = -3\ntimeout = 2.5\n'
    )
    first, second, tables = read_batch(Path("here/jobs.toml"))
    assert first.options == {
        "exit_code": "any",
        "max_memory": 2,
        "pow_bits": 4,
        "rate": 8,
        "commit_input": True,
        "max_cycles": 9,
        "random_seed": 0,
        "max_cost": 5,
    }
    assert second.options == {
        "exit_code": 3,
        "max_memory": 2,
        "pow_bits": 24,
        "security": 99.5,
        "proximity": "unique",
        "rate": 4,
        "hash": "blake3",
        "random_seed": 2**64 - 1,
        "compress": [8, 64],
        "shards": 1,
    }
    assert tables.options == {"pow_bits": 4, "small": 9.5, "priority": -3, "timeout": 2.5}, "defaults for guests"
    assert first.program is second.program


def test_a_proof_to_compress_has_more_work_by_default() -> None:
    Path("here/jobs.toml").write_text(
        "[defaults]\ncompress = true\n" + FIRST + FIRST.replace('"a"', '"b"') + "pow_bits = 4\n"
        "" + FIRST.replace('"a"', '"c"') + "compress = false\nhash = 'keccak'\n"
    )
    first, second, plain = (Prover(job.program, **of_prover(job.options)) for job in read_batch(Path("here/jobs.toml")))
    assert (first.layers, second.layers, plain.layers) == (Goal(), Goal(pow_bits=4), ())
    assert (first.level, second.level, plain.level) == (
        Level(pow_bits=COMPRESSED_POW_BITS),
        Level(pow_bits=4),
        Level(hash="keccak"),
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[[job]\n", r"not TOML: Expected .* \(at line 1, column \d+\)"),
        ("", r"the file has no \[\[job\]\]"),
        ("[job]\n", r"write \[defaults\] once and one \[\[job\]\] per job"),
        ("[[jobs]]\n" + FIRST, "jobs: unknown key; did you mean job\\?"),
        ("[default]\n" + FIRST, "default: unknown key; did you mean defaults\\?"),
        ("[defaults]\nsecurty = 1\n" + FIRST, "defaults: securty: unknown key; did you mean security\\?"),
        (FIRST + 'outptu = "b"', "job 1: outptu: unknown key; did you mean output\\?"),
        (FIRST + "[[job]]\nrate = 3", "job 2: rate: 3 is not 2, 4, 8, 16, 32 or 64"),
        (FIRST + "rate = true", "job 1: rate: True is not 2, 4, 8, 16, 32 or 64"),
        (FIRST + "hash = 'md5'", "job 1: hash: 'md5' is not keccak or blake3"),
        (FIRST + "priority = 1001", "job 1: priority: 1001 is not a whole number from -1000 to 1000"),
        (FIRST + "priority = true", "job 1: priority: True is not a whole number from -1000 to 1000"),
        (FIRST + "timeout = 0", "job 1: timeout: 0 is not a positive number of seconds"),
        (FIRST + "timeout = inf", "job 1: timeout: inf is not a positive number of seconds"),
        (FIRST + "pow_bits = 31", "job 1: pow_bits: 31 is not a number of bits from 0 to 30"),
        (FIRST + "small = 0", "job 1: small: 0 is not a positive number of seconds"),
        (FIRST + "small = 9\nrate = 8", "job 1: small: excludes rate: give only one of the two"),
        (FIRST + "security = 0", "job 1: security: 0 is not a number of bits, at most 128"),
        (FIRST + "security = nan", "job 1: security: nan is not a number of bits, at most 128"),
        (FIRST + "security = '99'", "job 1: security: '99' is not a number of bits, at most 128"),
        (FIRST + "proximity = 'far'", "job 1: proximity: 'far' is not johnson or unique"),
        (FIRST + "input = 3", "job 1: input: 3 is not a file, or a pattern .*"),
        (GUEST + "exit_code = -1", 'job 1: exit_code: -1 is not a number below 2\\^64, or "any"'),
        (GUEST + "exit_code = 'all'", "job 1: exit_code: 'all' is not a number .*"),
        (GUEST + "commit_input = 1", "job 1: commit_input: 1 is not true or false"),
        (GUEST + "random_seed = -1", "job 1: random_seed: -1 is not a number below 2\\^64"),
        (
            GUEST + "random_seed = 1\ncommit_input = true",
            "job 1: random_seed: is 0 with commit_input: give only one of the two",
        ),
        (FIRST + "random_seed = 9", "job 1: random_seed: only for guests, and examples/memory is no guest"),
        (
            FIRST + "compress = 3",
            "job 1: compress: 3 is not .* or a list of such N: 2, 4, 8, 16, 32, 64, 128 or 256",
        ),
        (FIRST + "compress = '8'", "job 1: compress: '8' is not true, false, fast, small, .*"),
        (FIRST + "compress = []", "job 1: compress: an array is not true, false, fast, small, .*"),
        (FIRST + "compress = [8, 3]", "job 1: compress: an array is not true, false, fast, small, .*"),
        (FIRST + "compress = 1.0", "job 1: compress: 1.0 is not true, false, fast, small, .*"),
        (
            FIRST + "compress = true\nhash = 'keccak'",
            "job 1: compress: only for proofs by blake3, not by keccak: use hash blake3",
        ),
        (GUEST + "max_cycles = 0", "job 1: max_cycles: 0 is not a number of cycles below 2\\^32"),
        (GUEST + "shards = 2\nshard_size = 9", "job 1: shard_size: excludes shards: give only one of the two"),
        (FIRST + "max_cycles = 9", "job 1: max_cycles: only for guests, and examples/memory is no guest"),
        ('[[job]]\noutput = "a"', "job 1: program: missing; give .*"),
        ('[[job]]\nprogram = "examples/memory"', "job 1: output: missing; give .*"),
        (GUEST.replace("guest.elf", "no.elf"), "job 1: program: here/no.elf: no such file or folder, .*"),
        (
            GUEST.replace("guest.elf", "bad.py"),
            r"job 1: program: bad\.py: defining its tables failed: KeyError\('one'\)",
        ),
        (GUEST + "input = 'no.bin'", "job 1: input: here/no.bin: no such file"),
        (GUEST + "input = 'inputs/*.none'", r"job 1: input: here/inputs/\*\.none: no such file"),
        (FIRST.replace('"a"', '"{input}"'), r"job 1: output: unknown placeholder \{input\}: use \{program\}, .*"),
        (
            FIRST.replace('"a"', '"{number:x"'),
            r"job 1: output: '\{number:x': unmatched brace: write \{\{ .*",
        ),
        (FIRST.replace('"a"', '"a}"'), r"job 1: output: 'a\}': unmatched brace: write \}\} .*"),
        (FIRST.replace('"a"', '"{number:{foo}}"'), r"job 1: output: .*: unmatched brace: .*"),
        *(
            (FIRST.replace('"a"', f'"{place}"'), rf"job 1: output: .*: unknown placeholder {re.escape(place)}: use .*")
            for place in (
                "{number:099999999}",
                "{number:021}",
                "{number:3}",
                "{number:00}",
                "{number:x}",
                "{number.real}",
                "{number!r}",
                "{program:03}",
                "{}",
                "{0}",
            )
        ),
        (
            FIRST.replace('"a"', f'"{"{number}" * 300}"'),
            "job 1: output: a file name of 300 bytes; the limit is 255",
        ),
        (FIRST.replace('"a"', f'"{"a" * 300}"'), "job 1: output: a file name of 300 bytes; .*"),
        (FIRST.replace('"a"', '"{name}"') + f"name = '{'é' * 128}'", "job 1: output: a file name of 256 bytes; .*"),
        (FIRST.replace('"a"', f'"{"a/" * 100}b"'), "job 1: output: a path of 102 names; the limit is 100"),
        (FIRST.replace('"a"', f'"{"a" * 250 + "/"}{("b" * 250 + "/") * 20}"'), "job 1: output: a path of .* bytes; .*"),
        (FIRST.replace('"a"', r'"a\u0000"'), r"job 1: output: 'a\\x00': contains the control character U\+0000: .*"),
        (FIRST.replace("examples", r"\u0000"), r"job 1: program: .*: contains the control character U\+0000: .*"),
        (FIRST + r'name = "a\u001b[31m"', r"job 1: name: .*: contains the control character U\+001B: .*"),
        (GUEST + r'input = "*\n"', r"job 1: input: .*: contains the control character U\+000A: .*"),
        (GUEST + f"input = '{'*/' * 1500}'", "job 1: input: .*: a path of 1,501 names; .*"),
        (GUEST + "input = '**/**/**/a'", r"job 1: input: .*: \*\* occurs more than 2 times: .*"),
        (
            FIRST.replace('"a"', '"s3://bucket/a"'),
            "job 1: output: 's3://bucket/a': URLs \\(s3://\\) are not supported: .*",
        ),
        (
            GUEST + "input = 'https://host/a'",
            "job 1: input: 'https://host/a': URLs \\(https://\\) are not supported: .*",
        ),
        (
            GUEST.replace("guest.elf", "file:///a"),
            "job 1: program: 'file:///a': URLs \\(file://\\) are not supported: .*",
        ),
        ("a = " + "[" * 3000, "line 1: brackets are nested too deep: .*"),
        (FIRST + "rate = " + "{a=" * 3000, "line 4: brackets are nested too deep: .*"),
        ("\ufeff" + FIRST, "not TOML: it starts with a byte order mark: .*"),
        (FIRST + "rate = " + "9" * 5000, "a number has too many digits: .*"),
        (FIRST + "rate = 0x" + "9" * 5000, "job 1: rate: a number of 20,000 bits is not .*"),
        (FIRST + "rate = 1979-05-27", "job 1: rate: 1979-05-27 is not .*"),
        (FIRST + "rate = [[[[]]]]", "job 1: rate: an array is not .*"),
        (FIRST + "name.a.b = 1", "job 1: name: a table is not text"),
        (FIRST + f"{'x' * 300} = 1", "job 1: 'x{60}'\\.\\.\\.: unknown key; .*"),
        (FIRST + "security = 129", "job 1: security: 129 is not a number of bits, at most 128"),
        (FIRST + "shards = 1025", "job 1: shards: 1025 is not a number of shards, at most 1,024"),
        (
            FIRST + FIRST.replace('"a"', '"a/b"'),
            "job 2: output: .*/here/a/b: its folder .*/here/a is the output of job 1",
        ),
        (FIRST.replace('"a"', '"jobs.toml"'), "job 1: output: here/jobs.toml is also an input: choose another file"),
        (f'[defaults]\noutput = "{{x}}"\n{GUEST}{GUEST}', "defaults: output: .*: unknown placeholder {x}: .*"),
        (FIRST + "name = '{name}'", r"job 1: name: unknown placeholder \{name\}: use \{program\}, \{number\}, .*"),
        (FIRST + FIRST, "job 2: output: here/a is also the output of job 1"),
        (FIRST + FIRST.replace('"a"', '"./inputs/../a"'), "job 2: output: .* is also the output of job 1"),
        (GUEST + "input = 'inputs/*.bin'", r"job 1: output: \S+/g for 3 inputs: add \{input\} or \{number\} to it"),
        (GUEST.replace('"g"', '"guest.elf"'), "job 1: output: here/guest.elf is also an input: choose another file"),
        (FIRST.replace('"a"', '"inputs"'), "job 1: output: here/inputs: is a folder: name a file in it"),
        (FIRST.replace('"a"', '"guest.elf/a"'), "job 1: output: here/guest.elf: File exists"),
    ],
)
def test_an_error_is_a_line(text: str, line: str, folder: Path) -> None:
    before = {path for path in folder.rglob("*") if "__pycache__" not in path.parts}
    with pytest.raises(UsageError) as raised:
        read(text)
    (told,) = raised.value.args
    assert re.fullmatch(f"here/jobs.toml: {line}", told), told
    assert {path for path in folder.rglob("*") if "__pycache__" not in path.parts} == before | {
        folder / "here/jobs.toml"
    }


def test_a_file_that_is_not_utf_8() -> None:
    Path("jobs.toml").write_bytes(b'[[job]]\nname = "\xff"\n')
    with pytest.raises(UsageError, match=r"^jobs\.toml: not TOML: byte 16 is not UTF-8: save the file as UTF-8$"):
        read_batch(Path("jobs.toml"))


def test_a_batch_has_no_standard_streams(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "here")
    with pytest.raises(UsageError, match="job 1: output: -: a batch cannot write to standard output"):
        read(FIRST.replace('"a"', '"-"'), "jobs.toml")
    Path("-").touch()
    with pytest.raises(UsageError, match="job 1: input: -: a batch cannot read standard input"):
        read(GUEST + "input = '[-]'", "jobs.toml")


def test_an_output_that_is_a_loop_of_links(folder: Path) -> None:
    (folder / "here/loop").symlink_to("loop")
    with pytest.raises(UsageError, match="job 1: output: here/loop: Too many levels of symbolic links"):
        read(FIRST.replace('"a"', '"loop"'))


def test_a_pattern_names_a_file_once(folder: Path) -> None:
    (folder / "here/inputs/deep/e").mkdir(parents=True)
    (folder / "here/inputs/deep/e/f").touch()
    assert len(read(GUEST.replace('"g"', '"o/{input}"') + "input = '**/deep/**/f'")) == 1


def test_braces_and_zeros_in_names() -> None:
    ((name, _, output),) = read(FIRST.replace('"a"', '"{{{number:020}}}"') + "name = '{{}}'")
    assert (name, output) == ("{}", "here/{" + "1".zfill(20) + "}")


def test_all_errors_are_reported_together() -> None:
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
    with pytest.raises(UsageError, match=r"job 1: program: here/guest\.vk: a verifying key cannot run"):
        read(GUEST.replace("guest.elf", "guest.vk"))


def test_bad_files_end_with_a_line_each() -> None:
    """Run a few of the cases of tests/cli/fuzz_batch.py."""
    found = fuzz(150, seed=1)
    assert found.judged.total() == 150 and not found.amiss
