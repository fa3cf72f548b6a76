"""The package's compiled kernels: they are of its sources, are taken where they fit, and give the same bytes."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from llvmlite import binding

from graphprover.kernels.cpu import ntt
from graphprover.runtime import shipped
from graphprover.runtime.kernel_source import digest_of
from tests.loading import module_at

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "graphprover"
SYSTEM = "x86_64-unknown-linux-gnu"
HOST = binding.get_host_cpu_features()
LEVELS = [level for level, needed in shipped.LEVELS.items() if all(HOST.get(name) for name in needed.split())]


def features(level: str) -> str:
    return ",".join(f"+{name}" for name in shipped.LEVELS[level].split())


def test_they_are_of_the_sources() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/build_kernels.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("triple", "has", "level"),
    [
        (SYSTEM, features("x86-64-v4"), "x86-64-v4"),
        (SYSTEM, features("x86-64-v3") + ",-avx512f", "x86-64-v3"),
        (SYSTEM, features("x86-64-v4").replace("+avx512vl", "-avx512vl"), "x86-64-v3"),
        (SYSTEM, features("x86-64-v4").replace("+avx2", "-avx2"), None),
        (SYSTEM, "", None),
        ("aarch64-unknown-linux-gnu", features("x86-64-v4"), None),
        ("x86_64-apple-darwin23", features("x86-64-v4"), None),
    ],
)
def test_the_level_of_a_processor(triple: str, has: str, level: str | None) -> None:
    assert shipped.level_of((triple, "any", has)) == level


COMMANDS = """
import sys
from graphprover.cli.main import main
from graphprover.runtime import numba_cache

proof, key, guest, first, second = sys.argv[1:]
codes = [
    main(["warm", "--device", "cpu"]),
    main(["execute", guest, "--cells"]),
    main(["setup", guest, "-o", key]),
    main(["prove", guest, "-o", first]),
    main(["verify", first, key]),
    main(["prove", "examples/keccak", "--rate", "8", "-o", second]),
    main(["prove", "examples/fibonacci", "-o", proof]),
    main(["prove", "examples/fibonacci", "--hash", "keccak", "-o", proof]),
]
assert codes == [0] * len(codes), codes
assert not numba_cache.made, numba_cache.made
assert len(set(numba_cache.taken)) > 50, numba_cache.taken
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package's sources and compiled kernels, without any cache."""
    folder = tmp_path_factory.mktemp("alone")
    shutil.copytree(PACKAGE, folder / "graphprover", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_nothing_is_compiled_without_a_cache_and_levels_give_the_same_bytes(alone: Path, tmp_path: Path) -> None:
    digests = set()
    for level in LEVELS:
        home = tmp_path / f"{level} home"
        home.mkdir(mode=0o500)
        compiler = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": features(level)}
        files = [str(tmp_path / f"{level} {name}") for name in ("proof", "key", "first", "second")]
        command = [
            sys.executable,
            "-B",
            "-c",
            COMMANDS,
            *files[:2],
            str(ROOT / "examples/guests/sha256.elf"),
            *files[2:],
        ]
        subprocess.run(
            command, cwd=alone, env={"PATH": os.environ["PATH"], "HOME": str(home)} | compiler, check=True, timeout=600
        )
        digests.add(tuple(hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files))
        assert not list(home.iterdir()) and not list(alone.rglob("*.nbc"))
    assert len(digests) == 1


def test_the_reason_of_a_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = ntt._transform.py_func
    target = SYSTEM, "znver9", features("x86-64-v4")
    assert (
        shipped.reason(kernel, (SYSTEM, "core2", "+sse4.1")) == f"the package has no compiled ones for core2 ({SYSTEM})"
    )
    assert shipped.reason(kernel, target) == "the package has no kernels.cpu.ntt._transform for these arrays"
    monkeypatch.setattr(shipped.numba, "__version__", "0.68.99")
    assert not shipped.has(kernel, target)
    assert shipped.reason(kernel, target) == (
        "the package's kernels.cpu.ntt._transform is compiled from another source or by another version of Numba"
    )
    other = digest_of.__wrapped__
    assert shipped.reason(other, target) == "the package has no compiled runtime.kernel_source.digest_of"


OUTER = """
from graphprover.runtime.numba_cache import intrinsic, njit
from numba import uint64
import inner

TABLE = (1, 2)

def emitted():
    return 5

@intrinsic
def given(typing, x):
    def codegen(context, builder, signature, operands):
        return context.get_constant(uint64, emitted())
    return uint64(uint64), codegen

@njit()
def helped(x):
    return x + inner.LIMIT

@njit(cache=True)
def kernel(x):
    return helped(x) + TABLE[1] + given(x)

@njit(cache=True)
def other(x):
    return x
"""


@pytest.fixture
def outer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ModuleType]:
    """Return a function that writes the modules of a package of this name, and imports them as a new process does."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def made(text: str = OUTER, limit: int = 3) -> Any:
        (tmp_path / "inner.py").write_text(f"LIMIT = {limit}\n")
        (tmp_path / "outer.py").write_text(text)
        inner = module_at(tmp_path / "inner.py")
        inner.__name__ = "outer.inner"
        monkeypatch.setitem(sys.modules, "inner", inner)
        return module_at(tmp_path / "outer.py")

    return made


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + inner.LIMIT", "x - inner.LIMIT"),
        ("TABLE = (1, 2)", "TABLE = (1, 7)"),
        ("return 5", "return 6"),
        ("context.get_constant(uint64", "context.get_constant(1 * uint64"),
        ("helped(x) + TABLE", "helped(x) ^ TABLE"),
        ("@njit(cache=True)\ndef kernel", "@njit(cache=True, nogil=True)\ndef kernel"),
    ],
)
def test_the_digest_is_of_all_that_a_kernel_reaches(old: str, new: str, outer: Callable[..., Any]) -> None:
    first = outer()
    before, unrelated = digest_of(first.kernel.py_func), digest_of(first.other.py_func)
    second = outer(OUTER.replace(old, new))
    assert digest_of(second.kernel.py_func) != before
    assert digest_of(second.other.py_func) == unrelated


def test_the_digest_has_values_of_other_modules_and_no_places(outer: Callable[..., Any]) -> None:
    before = digest_of(outer().kernel.py_func)
    assert digest_of(outer(limit=4).kernel.py_func) != before
    assert digest_of(outer("\n\n# a remark\n" + OUTER).kernel.py_func) == before


CALLER = """
import numpy as np
from graphprover.field import P
from graphprover.kernels.cpu import products
from graphprover.runtime import numba_cache

@numba_cache.njit(cache=True)
def cube(words, square):
    products.multiply(square, words)

words = np.arange(9, dtype=np.uint64) + np.uint64(2**40)
square = words.copy()
products.multiply(square, words)
assert square.tolist() == [int(word) ** 2 % P for word in words]
assert len(numba_cache.taken) == 1 and not numba_cache.made
cube(words, square)
assert square.tolist() == [int(word) ** 3 % P for word in words]
assert "kernels.cpu.products.multiply" in dict(numba_cache.made)
products.multiply(square, words)
assert square.tolist() == [int(word) ** 4 % P for word in words]
"""


def test_a_kernel_is_compiled_for_a_caller_that_is_not_in_the_package(alone: Path, tmp_path: Path) -> None:
    """Its file has no bitcode that the caller's compilation could link; the caller's cached file has all it needs."""
    script = tmp_path / "caller.py"
    for text in (CALLER, CALLER[: CALLER.rindex('assert "')] + "assert not numba_cache.made\n"):
        script.write_text(text)
        environment = os.environ | {"PYTHONPATH": str(alone), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        subprocess.run([sys.executable, "-B", str(script)], env=environment, check=True)
