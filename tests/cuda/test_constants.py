"""Constants that a kernel and its host share are equal in both texts. Needs neither a GPU nor CuPy."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from graphprover.air.bytecode import Opcode, Selector
from graphprover.field import P
from graphprover.kernels.cuda.sources import FOLDER
from graphprover.protocol import blake3
from graphprover.protocol.digests import DIGEST_WORDS
from graphprover.protocol.keccak import RATE_WORDS, ROUND_CONSTANTS

# C++ constants by file, with their counterparts: a module of kernels/cuda and a name in it.
HOST = {
    "batch.cuh": {"ITEMS": ("multi_table", "ITEMS")},
    "blake3.cu": {"THREADS": ("blake3", "THREADS")},
    "bytecode.cu": {"THREADS": ("generate", "THREADS"), "COLUMNS": ("lookup_parts", "COLUMNS")},
    "blake3.cuh": {"RESIDENT": ("grind", "BLAKE3_RESIDENT")},
    "block.cuh": {"WARP": ("generate", "WARP")},
    "deep.cu": {"THREADS": ("deep", "THREADS"), "VECTORS": ("deep", "VECTORS")},
    "denominators.cuh": {"THREADS": ("denominators", "THREADS"), "ELEMENTS": ("denominators", "ELEMENTS")},
    "domain.cuh": {"FINE": ("domain", "FINE")},
    "fri.cu": {"THREADS": ("fri", "THREADS")},
    "gather.cu": {"THREADS": ("gather", "THREADS")},
    "grind.cu": {"THREADS": ("grind", "THREADS")},
    "inverse.cu": {"THREADS": ("inverse", "THREADS"), "WORDS": ("inverse", "WORDS")},
    "keccak.cu": {"THREADS": ("keccak", "THREADS"), "FEW": ("keccak", "FEW")},
    "keccak.cuh": {"RESIDENT": ("grind", "KECCAK_RESIDENT")},
    "logup.cu": {"THREADS": ("generate", "THREADS"), "SCAN": ("logup", "SCAN")},
    "merkle.cu": {"THREADS": ("merkle", "THREADS"), "LAYERS": ("merkle", "LAYERS")},
    "ntt.cu": {
        name: ("ntt", name) for name in ("THREADS", "MAX_THREADS", "LOG_TILE", "TILE", "BUFFER", "RISES", "STRIDED")
    },
    "opening.cu": {name: ("opening", name) for name in ("THREADS", "WARPS", "TILE", "COLUMNS")},
}
# ... and the constants of the protocol.
PROTOCOL = {
    "blake3.cuh": {
        "BLOCK": blake3.BLOCK_WORDS,
        "CHUNK": blake3.CHUNK_WORDS,
        "START": blake3.CHUNK_START,
        "END": blake3.CHUNK_END,
        "PARENT": blake3.PARENT,
        "ROOT": blake3.ROOT,
    },
    "digest.cuh": {"DIGEST": DIGEST_WORDS},
    "field.cuh": {"P": P, "EPSILON": 2**64 % P},
    "keccak.cuh": {"RATE": RATE_WORDS},
}
ALONE = {
    "blake3.cu": {"UNROLLED": "how many rounds the code holds"},
    "blake3.cuh": {"LATER": "the rounds of BLAKE3 but one"},
    "block.cuh": {"ALL": "the mask of a warp's lanes"},
    "deep.cu": {"AHEAD": "how far a thread reads ahead", "WORDS_OF_PART": "the size of a structure"},
    "ext.cuh": {"ZERO": "an element", "ONE": "an element"},
}
FILES = sorted(path.name for path in FOLDER.glob("*.cu*"))
_ARITHMETIC = re.compile(r"[\w\s()+*/<-]+")


def value(text: str, known: dict[str, int]) -> int | None:
    """Return the value of a C++ or Python expression of integers and known names; None for any other."""
    text = re.sub(r"\b(0x[0-9a-f]+|\d+)u?l{0,2}\b", r"\1", re.sub(r"\w+::", "", text)).replace("//", "/")
    if not _ARITHMETIC.fullmatch(text) or set(re.findall(r"\b[A-Za-z]\w*", text)) - set(known):
        return None
    result = eval(text.replace("/", "//"), {"__builtins__": {}}, dict(known))
    return result if isinstance(result, int) else None


def declared(file: str) -> Iterator[tuple[str, str]]:
    """Return the names and expressions of the constants outside of functions."""
    for line in re.findall(r"^constexpr \w+ ([^;]*);", (FOLDER / file).read_text(), flags=re.M):
        for part in re.split(r",\s*(?=[A-Z]\w* =)", line):
            name, expression = part.split(" = ")
            yield name, expression


@cache
def of_kernels(file: str) -> dict[str, int]:
    """Return the constants of a C++ file and of its includes."""
    known: dict[str, int] = {}
    for name in re.findall(r'^#include "(.+)"$', (FOLDER / file).read_text(), flags=re.M):
        known |= of_kernels(name)
    for name, expression in declared(file):
        number = value(expression, known)
        if number is not None:
            known[name] = number
    return known


@cache
def of_host(module: str) -> dict[str, int]:
    """Return the constants of a Python module, which is not imported."""
    known: dict[str, int] = {}
    for node in ast.parse((FOLDER / f"{module}.py").read_text()).body:
        if isinstance(node, ast.Assign):
            (target,) = node.targets
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            for name, expression in pairs:
                number = value(ast.unparse(expression), known)
                if isinstance(name, ast.Name) and number is not None:
                    known[name.id] = number
    return known


@pytest.mark.parametrize("file", FILES)
def test_constants_are_those_of_the_host(file: str) -> None:
    for name, (module, ours) in HOST.get(file, {}).items():
        assert of_kernels(file)[name] == of_host(module)[ours], name
    for name, number in PROTOCOL.get(file, {}).items():
        assert of_kernels(file)[name] == number, name


@pytest.mark.parametrize("file", FILES)
def test_every_constant_is_compared_or_the_kernel_s_alone(file: str) -> None:
    known = [HOST.get(file, {}), PROTOCOL.get(file, {}), ALONE.get(file, {})]
    assert {name for name, _ in declared(file)} == {name for names in known for name in names}


def test_round_constants_of_keccak() -> None:
    (body,) = re.findall(r"ROUND_CONSTANTS\[24\] = \{(.*?)\}", (FOLDER / "keccak.cuh").read_text(), flags=re.S)
    assert [int(word, 16) for word in re.findall("0x[0-9a-f]+", body)] == ROUND_CONSTANTS.tolist()


def test_constants_of_blake3() -> None:
    text = (FOLDER / "blake3.cuh").read_text()
    (key,) = re.findall(r"IV\[8\] = \{(.*?)\}", text, flags=re.S)
    (places,) = re.findall(r"PLACES\[16\] = \{(.*?)\}", text, flags=re.S)
    assert tuple(int(word, 16) for word in re.findall("0x[0-9a-f]+", key)) == blake3.IV
    assert tuple(map(int, places.split(", "))) == blake3.MESSAGE_PERMUTATION


def test_instructions_and_selectors() -> None:
    text = (FOLDER / "bytecode.cu").read_text()
    (names,) = re.findall(r"^enum \{ (.*) \};$", text, flags=re.M)
    assert names.split(", ") == [op.name for op in sorted(Opcode)]
    selectors = re.findall(r"machine\.selectors\[(\d)\] = selectors\.(\w+);", text)
    assert {(int(number), name.upper()) for number, name in selectors} == {
        (selector, selector.name) for selector in Selector if selector != Selector.INVERSE_VANISHING
    }
    assert f"machine.selectors[{Selector.INVERSE_VANISHING:d}] = of_chunk[chunks];" in text


def test_folds() -> None:
    arities = re.findall(r"^FOLD\((\d)\)$", (FOLDER / "fri.cu").read_text(), flags=re.M)
    assert list(map(int, arities)) == list(range(1, of_host("fri")["LOG_ARITY"] + 1))


@pytest.mark.parametrize(
    ("layout", "words", "name"),
    [
        ("*table_a = shared + BUFFER, *table_b = table_a + 16, *table_c = table_b + 256;", 4352 + 272, ""),
        ("u64* rises = table_c + TILE;", 4352 + 272 + 4096 + 3 * 16, "_SHARED_BOTTOM"),
        ("*table_a = shared + BUFFER, *table_b = table_a + RADIX * WIDTH;", 4352 + 256 + 4096, "_SHARED_NATURAL"),
        ("*buffer = shared, *rises = shared + TILE;", 4096 + 2 * 16 + 272, "_SHARED_STRIDED"),
    ],
)
def test_shared_memory_of_transforms(layout: str, words: int, name: str) -> None:
    """The host requests exactly the words that the kernel lays out: its last table ends there."""
    assert layout in (FOLDER / "ntt.cu").read_text()
    assert not name or of_host("ntt")[name] == 8 * words


def test_expressions() -> None:
    assert value("(1u << 22) - 1", {}) == 2**22 - 1
    assert value("TILE + TILE / 16", {"TILE": 32}) == 34
    assert value("4 * block::WARPS", {"WARPS": 8}) == 32
    assert value("0xffffffffull", {}) == 2**32 - 1
    assert value("sizeof(Part) / 8", {}) is None and value("{0, 0, 0}", {}) is None


def test_the_texts_are_where_they_are_looked_for() -> None:
    assert len(FILES) > 20 and all(Path(FOLDER / file).exists() for file in [*HOST, *PROTOCOL, *ALONE])
