"""Bad batch files: each must end with exit code 2 and one line, within a second, before anything is proved.

    python -m tests.cli.fuzz_batch [--count 1000] [--seed 0]

Every file is a good one with one thing made wrong: a value, a key, a name, a pattern, a table, or bytes. Files that are
good all the same, or have several faults, do not count; only changed bytes may give such files.
It prints the number of files by kind of mutation and each failure; the exit code is 0 if there is none.
"""

import argparse
import json
import os
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from unittest import mock

from graphprover.cli.main import main as command_line
from graphprover.runtime.errors import USAGE
from tests.vm.assemble import CODE, Segment, X, elf, leave, words

SECONDS = 10.0  # processor seconds per file, at most
CLASSES = re.compile(r"\w(Error|Exception|Warning)\b|Traceback|<class| object at 0x|\w\(\[|\w\('")

Table = dict[str, str]  # values by their keys, both as TOML writes them


class Good(BaseException):
    """A batch that would be proved now."""


@dataclass
class Document:
    """A batch file before it is written."""

    defaults: Table
    jobs: list[Table]
    head: str = ""  # before all tables

    def __bytes__(self) -> bytes:
        tables = [("[defaults]", self.defaults)] if self.defaults else []
        tables += [("[[job]]", job) for job in self.jobs]
        lines = [self.head] + [
            "\n".join([name, *(f"{key} = {value}" for key, value in table.items())]) for name, table in tables
        ]
        return "\n".join([*lines, ""]).encode()


@dataclass
class Found:
    """The results of all files."""

    judged: Counter[str] = field(default_factory=Counter)  # by kind of mutation
    passed_over: int = 0  # valid files, and files with several errors
    amiss: list[str] = field(default_factory=list)
    slowest: float = 0.0  # processor seconds


def text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def good(rng: random.Random) -> Document:
    """Return a batch of guests and tables."""
    jobs = []
    for number in range(rng.randint(1, 4)):
        output = (
            f"{rng.choice(['', 'proofs/', 'a/b/'])}{number}-{rng.choice(['{program}', '{name}', '{number:03}', 'x'])}"
        )
        guest = rng.random() < 0.6
        job = {"program": text("guest.elf" if guest else "examples/memory"), "output": text(output)}
        if rng.random() < 0.5:
            job["input"] = text(rng.choice(["inputs/a.bin", "inputs/*.bin", "**/a.bin"]))
            job["output"] = text(output + "{input}")
        if rng.random() < 0.3:
            job["name"] = text(rng.choice(["first", "{number}", "{{x}}", "é"]))
        if guest and rng.random() < 0.5:
            job[rng.choice(["shard_size", "max_cycles", "max_memory", "max_cost", "exit_code"])] = str(
                rng.randint(1, 1000)
            )
        if rng.random() < 0.5:
            job["security"] = rng.choice(["100", "99.5", "1_0", "0x40"])
        jobs.append(job)
    return Document({"proximity": '"unique"'} if rng.random() < 0.5 else {}, jobs)


STRANGE = (
    *("[]", "[1, 2]", "[[[[]]]]", "{}", "{a = 1}", "{a.b.c = [1]}", "[{}]"),
    *("1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "0001-01-01T00:00:00.999999"),
    *("-1", "-0.5", "nan", "-nan", "inf", "-inf", "1e400", "-1e-400", "0x" + "f" * 5000, "-" + "9" * 4000, "0"),
    *("18446744073709551616", "340282366920938463463374607431768211456", "1" + "0" * 400, "''", '""', '"""\n"""'),
)
NUMBERS = ("shards", "shard_size", "random_seed", "max_cycles", "max_memory", "max_cost")
KEYS = ("program", "input", "output", "name", "security", "rate", "proximity", "exit_code", "commit_input", *NUMBERS)
CONTROLS = ("\\u0000", "\\n", "\\r", "\\u001b[31m", "\\u007f", "\\u0085", "\\U0000009f", "\\b")
BAD_PATTERNS = (
    *("{", "}", "{}", "{0}", "{number.real}", "{number!r}", "{number:{foo}}", "{number:{number}}", "{Number}"),
    *("{number:021}", "{number:03d}", "{number:3}", "{number:>03}", "{number:}", "{number:0}", "{number[0]}"),
    *("{number:099999999}", "{ number }", "{number:٠٣}", "{input.__class__}", "{program:03}", "{é}", "{}}"),
    *("{" * 3001, "{" + "n" * 3000 + "}"),
)


def strange_value(rng: random.Random, document: Document) -> None:
    table = rng.choice([*document.jobs, document.defaults])
    key = rng.choice(KEYS)
    taken = {"exit_code": {"0"}}
    table[key] = rng.choice([value for value in STRANGE if value not in taken.get(key, ())])


def deep_value(rng: random.Random, document: Document) -> None:
    open_, close = rng.choice([("[", "]"), ("{a=", "}"), ("[{a=", "}]"), ("[\n", "]")])
    depth = rng.choice([100, 500, 1000, 3000, 20000])
    rng.choice(document.jobs)[rng.choice(KEYS)] = open_ * depth + close * rng.choice([depth, 0])


def many_digits(rng: random.Random, document: Document) -> None:
    rng.choice(document.jobs)[rng.choice(KEYS)] = rng.choice(["", "-", "1_"]) + "7" * rng.randint(4301, 50000)


def dotted_key(rng: random.Random, document: Document) -> None:
    key = rng.choice(KEYS)
    job = rng.choice(document.jobs)
    job.pop(key, None)
    job[".".join([key] + ["a"] * rng.randint(1, 500))] = "1"


def unknown_key(rng: random.Random, document: Document) -> None:
    keys = ("x", "Program", "outptu", '""', '"\\u0000"', '"\\n"', '"\\u001b[2J"', '"é"', '"' + "k" * 100_000 + '"', "1")
    rng.choice([document.defaults, *document.jobs])[rng.choice(keys)] = rng.choice(STRANGE)


def unknown_table(rng: random.Random, document: Document) -> None:
    name = rng.choice(["jobs", "default", "Job", '"\\u0000"', '"a b"', "x" * 1000])
    document.head = rng.choice([f"{name} = 1", f"[{name}]", f"[[{name}]]", f"[{name}.a.b.c]"])


def wrong_tables(rng: random.Random, document: Document) -> None:
    values = ("1", '"x"', "[1]", "{}", "true", "[[]]")
    which = rng.choice(["job", "defaults"])
    if which == "job":
        document.jobs = []
        document.head = f"job = {rng.choice([*values, '[]'])}"
    else:
        document.defaults = {}
        document.head = f"defaults = {rng.choice([value for value in values if value != '{}'])}"


def control_character(rng: random.Random, document: Document) -> None:
    name = rng.choice(CONTROLS).join(["a", rng.choice(["", "b"])])
    rng.choice(document.jobs)[rng.choice(["program", "input", "output", "name"])] = f'"{name}"'


def long_name(rng: random.Random, document: Document) -> None:
    job, size = rng.choice(document.jobs), rng.choice([256, 300, 4096, 100_000])
    name = rng.choice(["n" * size, "é" * size, "a/" * size + "a", "a/" + "b" * size, "../" * size + "a", "/" * size])
    job[rng.choice(["program", "output", "input"])] = text(name)


def long_filled_name(rng: random.Random, document: Document) -> None:
    job = rng.choice(document.jobs)
    job["name"] = text("n" * rng.randint(100, 200))
    job["output"] = text("{name}" * 3)


def bad_pattern(rng: random.Random, document: Document) -> None:
    pattern = rng.choice(BAD_PATTERNS)
    rng.choice([*document.jobs, document.defaults])[rng.choice(["output", "name"])] = text(f"x{pattern}")


def place_without_value(rng: random.Random, document: Document) -> None:
    job = rng.choice(document.jobs)
    job.pop("input", None)
    job[rng.choice(["output", "name"])] = text("{input}")


def address(rng: random.Random, document: Document) -> None:
    url = rng.choice(
        ["s3://bucket/key", "https://host/a", "file:///etc/passwd", "GS://b", "a+b-c.d://", "tcp://[::1]:80"]
    )
    rng.choice(document.jobs)[rng.choice(["program", "input", "output"])] = text(url)


def missing_file(rng: random.Random, document: Document) -> None:
    names = (
        "no.bin",
        "inputs",
        "inputs/",
        "inputs/*.none",
        "no/**",
        "[",
        "loop",
        "inputs/a.bin/x",
        "/dev/null",
        ".",
        "~",
    )
    job, key = rng.choice(document.jobs), rng.choice(["program", "input"])
    job[key] = text(rng.choice([name for name in names if (key, name) != ("input", "/dev/null")]))


def missing_key(rng: random.Random, document: Document) -> None:
    del rng.choice(document.jobs)[rng.choice(["program", "output"])]


def bad_output(rng: random.Random, document: Document) -> None:
    names = (
        "inputs",
        "guest.elf",
        "guest.elf/a",
        "jobs.toml",
        "./jobs.toml",
        "/",
        ".",
        "..",
        "loop",
        "loop/a",
        "/dev/null",
    )
    job = rng.choice(document.jobs)
    job.pop("input", None)
    job["program"], job["output"] = text("guest.elf"), text(rng.choice(names))


def same_output(rng: random.Random, document: Document) -> None:
    rng.shuffle(document.jobs)
    first = {"program": text("examples/memory"), "output": text("same/file")}
    second = rng.choice(["same/file", "./same/../same/file", "same//file", "same/file/below/it", "inputs/../same/file"])
    document.jobs += [first, first | {"output": text(second)}]


def one_output_for_all(rng: random.Random, document: Document) -> None:
    document.jobs.append({"program": text("guest.elf"), "input": text("inputs/*"), "output": text("one")})


def conflict(rng: random.Random, document: Document) -> None:
    job = rng.choice(document.jobs)
    key = rng.choice(["shard_size", "exit_code", "max_cycles", "max_memory", "max_cost"])
    for other in ("shard_size", "exit_code", "max_cycles", "max_memory", "max_cost"):
        job.pop(other, None)
    if rng.random() < 0.5:
        job |= {"program": text("examples/memory"), key: "7"}
    else:
        job |= {"program": text("guest.elf"), "shards": "2", "shard_size": "9"}


_MUTATIONS: tuple[Callable[[random.Random, Document], None], ...] = (
    *(strange_value, deep_value, many_digits, dotted_key, unknown_key, unknown_table, wrong_tables),
    *(control_character, long_name, long_filled_name, bad_pattern, place_without_value, address),
    *(missing_file, missing_key, bad_output, same_output, one_output_for_all, conflict),
)
MUTATIONS = {mutation.__name__: mutation for mutation in _MUTATIONS}


def other_encoding(rng: random.Random, data: bytes) -> bytes:
    whole = data.decode() + 'name = "é"\n'
    return rng.choice(
        [
            lambda: b"\xef\xbb\xbf" + data,
            lambda: whole.encode("utf-16"),
            lambda: whole.encode("utf-32"),
            lambda: whole.encode("latin-1"),
            lambda: data + b'name = "\xed\xa0\x80"',
            lambda: data + rb'name = "\ud800"',
            lambda: data + b"\xff" * 1000,
            lambda: data + b"\0",
            lambda: data.replace(b"\n", b"\r"),
            lambda: b"\x7fELF" + data,
        ]
    )()


def broken_syntax(rng: random.Random, data: bytes) -> bytes:
    ends = (b"x", b"[", b"[[job", b"[job]", b'a = "', b"a = '''", b"= 1", b"a = 1 b = 2", b"a.b = 1\na = 2")
    return data + rng.choice(ends)


def changed_bytes(rng: random.Random, data: bytes) -> bytes:
    """Return a file with several mutations; it may still be valid, or have several errors."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at, size = rng.randrange(len(changed)), rng.randint(0, 3)
        changed[at : at + size] = rng.choice([rng.randbytes(rng.randint(0, 3)), rng.choice(b'[]{}"=.\n#').to_bytes()])
    return bytes(changed)


SPOILED = {spoil.__name__: spoil for spoil in (other_encoding, broken_syntax, changed_bytes)}


@contextmanager
def in_folder() -> Iterator[Path]:
    """Create a working directory with the files that valid batches name; no proofs are made in it."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            Path("inputs").mkdir()
            Path("guest.elf").write_bytes(elf([Segment(CODE, words(leave()), X)]))
            Path("loop").symlink_to("loop")
            for file in ("inputs/a.bin", "inputs/b.bin", "inputs/c.txt"):
                Path(file).touch()
            with mock.patch("graphprover.proving.batch.prove_many", side_effect=Good):
                yield Path(name)
        finally:
            os.chdir(before)


def judge(data: bytes) -> tuple[int | None, list[str], float]:
    """Return the exit code of a file (None if it is valid), the lines on stderr, and processor seconds."""
    Path("jobs.toml").write_bytes(data)
    said, printed = StringIO(), StringIO()
    started = time.process_time()
    try:
        with redirect_stderr(said), redirect_stdout(printed):
            code = command_line(["batch", "jobs.toml"])
    except Good:
        code = None
    return code, (said.getvalue() + printed.getvalue()).splitlines(), time.process_time() - started


def fuzz(count: int, seed: int) -> Found:
    """Judge a number of bad files."""
    found = Found()
    with in_folder():
        number = 0
        assert judge(bytes(good(random.Random(0))))[0] is None, "which also loads what all others need"
        while found.judged.total() < count:
            rng = random.Random(f"{seed} {number}")
            number += 1
            document, kind = good(rng), rng.choice([*MUTATIONS, *SPOILED])
            if mutate := MUTATIONS.get(kind):
                mutate(rng, document)
                data = bytes(document)
            else:
                data = SPOILED[kind](rng, bytes(document))
            code, lines, seconds = judge(data)
            if kind == changed_bytes.__name__ and (code is None or len(lines) > 1):
                found.passed_over += 1
                continue
            found.judged[kind] += 1
            found.slowest = max(found.slowest, seconds)
            wrong = code != USAGE or len(lines) != 1 or not lines[0].startswith("graphprover: jobs.toml: ")
            if wrong or CLASSES.search(lines[0]) or not lines[0].isprintable() or seconds > SECONDS:
                found.amiss.append(f"{kind} {number - 1}: {code}, {seconds:.2f} s, {lines}"[:600])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="bad files that are judged")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = fuzz(options.count, options.seed)
    for name, times in found.judged.most_common():
        print(f"{times:6,} {name}")
    for line in found.amiss:
        print(line)
    print(
        f"{found.judged.total():,} bad files, amiss = {len(found.amiss)}; {found.passed_over:,} not counted; "
        f"the slowest took {found.slowest:.2f} s"
    )
    return 1 if found.amiss else 0


if __name__ == "__main__":
    raise SystemExit(main())
