"""The prebuilt guests against Python, and against their sources if the compiler is installed."""

import hashlib
import json
import random
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphprover.vm.executor.execute import Execution, execute
from graphprover.vm.program.elf import load_elf
from graphprover.vm.program.io import INPUT_BASE
from graphprover.vm.program.isa import Op
from tests.naive import keccak256

FOLDER = Path(__file__).parents[2] / "examples/guests"
GUESTS = sorted(file.stem for file in FOLDER.glob("*.c"))
COMPILER = shutil.which("riscv64-unknown-elf-gcc")
RELEASE = "12.2.0"  # of the compiler that built the files


def run(name: str, data: bytes = b"") -> Execution:
    return execute(load_elf((FOLDER / f"{name}.elf").read_bytes()), data)


def put_out(name: str, data: bytes) -> bytes:
    execution = run(name, data)
    assert execution.exit_code == 0
    return execution.output


def numbers(count: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 2**64 - 1), min_size=count, max_size=count)


def test_there_is_a_program_for_every_source() -> None:
    assert len(GUESTS) == 8
    for name in GUESTS:
        file = FOLDER / f"{name}.elf"
        assert file.stat().st_size < (32_768 if name == "interpreter" else 8192)
        image = load_elf(file.read_bytes())
        assert image.code_end <= INPUT_BASE
        assert image.code_base not in image.addresses  # instructions are no data, which a proof would pay for


@pytest.mark.skipif(not COMPILER, reason="no riscv64-unknown-elf-gcc")
def test_programs_are_built_from_their_sources(tmp_path: Path) -> None:
    assert COMPILER is not None
    version = subprocess.run([COMPILER, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    if version != RELEASE:
        pytest.skip(f"gcc {version}, and the files were built by {RELEASE}")
    copy = shutil.copytree(FOLDER, tmp_path / "guests")
    subprocess.run(["make", "-s", "-B", "-C", copy], check=True)
    for name in GUESTS:
        assert (copy / f"{name}.elf").read_bytes() == (FOLDER / f"{name}.elf").read_bytes()


@pytest.mark.parametrize("turns", [0, 1, 2, 100, 199_999])
def test_fib_iterative(turns: int) -> None:
    left, right = 0, 1
    for _ in range(turns):
        left, right = right, (left + right) % 2**64
    execution = run("fib_iterative", turns.to_bytes(8, "little"))
    assert execution.output == left.to_bytes(8, "little")
    assert 0 < execution.cycles - 5 * turns < 150


@pytest.mark.parametrize("size", [0, 1, 55, 56, 63, 64, 119, 120, 135, 136, 137, 272, 5000])
def test_hashes(size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert put_out("sha256", data) == hashlib.sha256(data).digest()
    assert put_out("keccak", data) == keccak256(data)


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3), max_size=200))
@settings(max_examples=30, deadline=None)
def test_quicksort(values: list[int]) -> None:
    expected = struct.pack(f"<{len(values)}q", *sorted(values))
    assert put_out("quicksort", struct.pack(f"<{len(values)}q", *values)) == keccak256(expected)


@pytest.mark.parametrize("order", ["rising", "falling", "equal", "organ pipe"])
def test_quicksort_of_orders_that_are_hard_for_it(order: str) -> None:
    size = 3000
    values = {
        "rising": range(size),
        "falling": range(size, 0, -1),
        "equal": [7] * size,
        "organ pipe": [*range(size // 2), *range(size // 2, 0, -1)],
    }[order]
    execution = run("quicksort", struct.pack(f"<{size}q", *values))
    assert execution.output == keccak256(struct.pack(f"<{size}q", *sorted(values)))
    assert execution.cycles < 200 * size * 12


@pytest.mark.parametrize("size", [1, 7, 9])
def test_quicksort_of_half_a_word(size: int) -> None:
    assert (run("quicksort", bytes(size)).exit_code == 1) == (size % 8 > 0)


@given(st.integers(0, 5).flatmap(lambda n: st.tuples(numbers(n * n), numbers(n * n))))
@settings(max_examples=30, deadline=None)
def test_matrix(factors: tuple[list[int], list[int]]) -> None:
    left, right = factors
    n = round(len(left) ** 0.5)
    product = [sum(left[n * i + k] * right[n * k + j] for k in range(n)) % 2**64 for i in range(n) for j in range(n)]
    data = struct.pack(f"<{2 * n * n}Q", *left, *right)
    assert put_out("matrix", data) == keccak256(struct.pack(f"<{n * n}Q", *product))
    assert run("matrix", data + b"x").exit_code == 1


@given(st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=12), st.integers(0, 2**11 - 1))
@settings(max_examples=30, deadline=None)
def test_merkle(nodes: list[bytes], index: int) -> None:
    root, *siblings = nodes
    for level, sibling in enumerate(siblings):
        root = keccak256(sibling + root if index >> level & 1 else root + sibling)
    execution = run("merkle", struct.pack("<Q", index) + b"".join(nodes))
    if index < 1 << len(siblings):
        assert execution.output == root + struct.pack("<Q", index)
    else:
        assert (execution.exit_code, execution.output) == (1, b"")


def summary(value: Any, depth: int = 0) -> list[int]:
    """Return the counts of json.c for a value that Python has read."""
    if isinstance(value, dict):
        parts, own = [summary(member, depth + 1) for member in value.values()], [1, 0, len(value), 0, 0, depth + 1, 0]
    elif isinstance(value, list):
        parts, own = [summary(element, depth + 1) for element in value], [0, 1, 0, 0, 0, depth + 1, 0]
    elif isinstance(value, str):
        return [0, 0, 1, 0, 0, depth, 0]
    elif value is None or isinstance(value, bool):
        return [0, 0, 0, 0, 1, depth, 0]
    else:
        return [0, 0, 0, 1, 0, depth, value if isinstance(value, int) else 0]
    total = [sum(column) for column in zip(own, *parts, strict=True)]
    total[5] = max(part[5] for part in (own, *parts))
    return total


def documents() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    return st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(documents(), st.booleans(), st.sampled_from([None, 1, "\t"]))
@settings(max_examples=50, deadline=None)
def test_json(value: Any, ascii_only: bool, indent: int | str | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode(errors="surrogatepass")
    words = summary(value)
    words[6] %= 2**64
    assert list(struct.unpack("<7Q", put_out("json", text))) == words


NUMBERS = ["", " ", "nul", "truex", "01", "-", "1.", "1e", "+1", ".5", "1 2", "\x00"]
STRINGS = ['"', '"\n"', '"\\x"', '"\\u12g4"']
LISTS = ["[", "]", "[1,]", "[1 2]", "[}", "[" * 257 + "]" * 257]
OBJECTS = ["{", "{1:2}", '{"a"}', '{"a":1,}', '{"a":1]']


@pytest.mark.parametrize("text", [*NUMBERS, *STRINGS, *LISTS, *OBJECTS])
def test_json_refuses_what_python_refuses(text: str) -> None:
    execution = run("json", text.encode())
    assert (execution.exit_code, execution.output) == (1, b"")
    if len(text) < 257:
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)


def test_real_input() -> None:
    text = json.dumps({file.name: file.read_text() for file in FOLDER.glob("*.c")}).encode()
    assert struct.unpack("<7Q", put_out("json", text))[:3] == (1, 0, 2 * len(GUESTS))


def test_misaligned_words_are_used() -> None:
    """Let the compiler rely on Zicclsm: a copy of bytes is a copy of words."""
    execution = run("keccak", bytes(1000))
    assert execution.mix().get(Op.LBU, 0) < 100
