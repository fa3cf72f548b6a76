"""Compiled kernels are cached, and damaged or missing files do no harm."""

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graphprover.runtime import files, numba_cache
from graphprover.runtime.compiling import compile_seconds
from tests.loading import module_at

ROOT = Path(__file__).parents[2]
KERNELS = """
from graphprover.runtime.numba_cache import njit

@njit(cache=True)
def twice(x):
    return x + x

@njit(cache=True)
def thrice(x):
    return twice(x) + x
"""


@pytest.fixture
def thrice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return a function that calls the kernels like a new process and returns the names of the compiled kernels."""
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS)
    monkeypatch.setattr(numba_cache, "_warned", set())
    monkeypatch.setattr(numba_cache, "PROGRESS_SECONDS", math.inf)
    begun = numba_cache._Progress()
    begun._began = 1.0  # so that the first compilation of this process has no line of its own
    monkeypatch.setattr(numba_cache, "_progress", begun)

    def call() -> list[str]:
        before = len(numba_cache.made)
        module: Any = module_at(file)
        assert module.thrice(5) == 15
        return [name for name, _ in numba_cache.made[before:]]

    return call


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nbc"))


BOTH = ["kernels.twice", "kernels.thrice"]


def test_a_kernel_is_compiled_once(thrice: Callable[[], list[str]], tmp_path: Path) -> None:
    start = compile_seconds()
    assert thrice() == BOTH
    compiled = compile_seconds()
    assert thrice() == [] and compile_seconds() == compiled > start
    assert [path.parent for path in kept(tmp_path)] == [tmp_path / "__pycache__"] * 2
    (tmp_path / "kernels.py").write_text(KERNELS.replace("x + x", "2 * x"))
    assert thrice() == BOTH and len(kept(tmp_path)) == 2  # the old ones are replaced


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:20],
        lambda data: data[:-1],
        lambda data: os.urandom(len(data)),
        lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
        lambda data: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
    ],
    ids=["empty", "cut early", "cut late", "noise", "bit in front", "bit behind"],
)
def test_a_damaged_file_is_named_and_replaced(
    damage: Callable[[bytes], bytes],
    thrice: Callable[[], list[str]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    thrice()
    path = next(path for path in kept(tmp_path) if "thrice" in path.name)
    path.write_bytes(damage(path.read_bytes()))
    assert thrice() == ["kernels.thrice"]
    (said,) = caplog.messages
    assert said == f"graphprover: {path}: damaged, removed and made again"
    assert thrice() == [] and len(caplog.messages) == 1


@pytest.fixture
def no_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the source's folder and the user's cache unwritable, and set a folder for temporary files."""
    (tmp_path / "__pycache__").write_text("no folder")
    monkeypatch.setenv("HOME", os.devnull)
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return folder


def test_without_a_place_there_is_a_temporary_folder(
    no_place: Path, thrice: Callable[[], list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    assert thrice() == BOTH and thrice() == []
    (own,) = no_place.iterdir()
    assert own.stat().st_mode & 0o777 == 0o700 and len(kept(own)) == 2
    assert caplog.messages == [f"graphprover: compiled kernels are kept in {own}, as no other place can be written to"]


@pytest.mark.parametrize("mode", [0o777, 0o750])
def test_a_folder_that_others_can_enter_is_not_taken(
    mode: int, no_place: Path, thrice: Callable[[], list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    """Refuse the folder, because its files would be executed."""
    own = no_place / f"graphprover-{os.geteuid()}"
    own.mkdir()
    own.chmod(mode)
    assert thrice() == BOTH and thrice() == BOTH and not kept(own)
    (said,) = caplog.messages
    start = (
        f"graphprover: compiled kernels cannot be kept in {own}: others can enter it (mode {mode:o}); mend or remove "
    )
    assert said.startswith(start) and not numba_cache.all_saved()


def test_kernels_beside_the_source_need_not_be_writable(
    thrice: Callable[[], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    thrice()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(numba_cache._Impl, "_locator_classes", [numba_cache._Temporary])
    assert thrice() == [] and not caplog.messages


def test_a_full_disk_is_said_once(
    thrice: Callable[[], list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full(file: int, mode: str) -> None:
        os.close(file)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "open", full, raising=False)
        assert thrice() == BOTH
    assert not kept(tmp_path) and not numba_cache.all_saved()
    assert [message for message in caplog.messages if "cannot be kept" in message] == [
        f"graphprover: compiled kernels cannot be kept in {tmp_path / '__pycache__'}: No space left on device; "
        "they are for this once"
    ]
    assert thrice() == BOTH and thrice() == []


LOADED = """
import sys
import numpy as np
from graphprover.runtime import numba_cache

@numba_cache.njit(cache=True)
def doubled(array):
    if len(array) > 3:
        raise ValueError("too long")
    return array * 2

@numba_cache.njit(cache=True)
def total(array):
    return doubled(array).sum()

print(doubled(np.arange(3)).tolist())
try:
    doubled(np.arange(4))
except ValueError as error:
    print(error)
print(len(numba_cache.made), "numba.np.arrayobj" in sys.modules)
if sys.argv[1:]:
    print(total(np.arange(3)), len(numba_cache.made))
"""


def test_loaded_kernels_need_no_compiler(tmp_path: Path) -> None:
    """Load kernels that return arrays and raise errors, and compile a caller of one."""
    file = tmp_path / "loaded.py"
    file.write_text(LOADED)

    def lines(*arguments: str) -> list[str]:
        command = [sys.executable, str(file), *arguments]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.splitlines()

    assert lines() == ["[0, 2, 4]", "too long", "1 True"]
    assert lines() == ["[0, 2, 4]", "too long", "0 False"]
    assert lines("total") == ["[0, 2, 4]", "too long", "0 False", "6 1"]
    assert lines("total") == ["[0, 2, 4]", "too long", "0 False", "6 0"]


def test_a_first_compilation_is_logged_with_its_progress(
    thrice: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(numba_cache, "made", [])
    monkeypatch.setattr(numba_cache, "_progress", numba_cache._Progress())
    monkeypatch.setattr(numba_cache, "PROGRESS_SECONDS", 0.0)
    assert thrice() == BOTH and thrice() == []
    lines = [line for name, _, line in caplog.record_tuples if name == "graphprover.runtime.numba_cache"]
    assert lines[0] == (
        "graphprover: compiling kernels, once: a minute or two (`graphprover warm` compiles all of them ahead): "
        "the package has no compiled kernels.thrice"
    )
    assert [re.sub(r"\d+ s\b", "some s", line) for line in lines[1:]] == [
        "graphprover: 1 kernels of at most 2 compiled in some s, at most some s left",
        "graphprover: 2 kernels of at most 2 compiled in some s, at most some s left",
    ]


def test_a_warm_process_logs_nothing_of_kernels(
    thrice: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    thrice()
    monkeypatch.setattr(numba_cache, "_progress", numba_cache._Progress())
    caplog.clear()
    assert thrice() == [] and not caplog.records


def test_a_kernel_of_another_kernel_is_compiled_again_for_python(tmp_path: Path) -> None:
    """It has no wrapper before, which a call by Python needs; both are kept."""
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS)
    before = len(numba_cache.made)
    module: Any = module_at(file)
    assert module.thrice(5) == 15
    (inner,) = module.twice.overloads.values()
    assert not numba_cache._has_wrapper(inner)
    assert (module.twice(5), module.twice(6), module.thrice(6)) == (10, 12, 18)
    assert [name for name, _ in numba_cache.made[before:]] == [*BOTH, "kernels.twice"] and len(kept(tmp_path)) == 3
    again: Any = module_at(file)
    assert (again.twice(5), again.thrice(5)) == (10, 15) and len(numba_cache.made) == before + 3
    file.write_text(KERNELS.replace("twice(x) + x", "x + twice(x)"))
    other: Any = module_at(file)  # of which only one kernel has changed
    assert (other.thrice(5), other.twice(5)) == (15, 10)
    assert [name for name, _ in numba_cache.made[before + 3 :]] == ["kernels.thrice"]
