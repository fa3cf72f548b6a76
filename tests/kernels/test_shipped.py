"""Shipped machine code is used instead of a compiler; whatever is wrong with it, the kernels are compiled."""

import json
import logging
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from graphprover.kernels.cuda import shipped
from graphprover.kernels.cuda.sources import STANDARD
from graphprover.runtime import compiling
from tests import fake_cupy

TEXT, CODE = "a kernel's source", "its machine code"


def write(path: Path, members: dict[str, str], operations: dict[str, str], standard: str = STANDARD) -> None:
    """Write an archive: texts and their machine code, names of operations and their texts."""
    path.parent.mkdir(exist_ok=True)
    about = {"standard": standard, "operations": {name: shipped.digest_of(text) for name, text in operations.items()}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(shipped.ABOUT, json.dumps(about, allow_nan=False))
        for text, code in members.items():
            archive.writestr(shipped.digest_of(text), code)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of archives; CuPy's GPU is one of compute capability 9.0."""
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "shipped")
    monkeypatch.setattr(fake_cupy._Context, "compute_capability", "90")
    shipped.warn_once.cache_clear()
    yield tmp_path / "shipped"
    shipped.warn_once.cache_clear()


@pytest.fixture
def loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., tuple[dict[str, int], list[str]]]]:
    """Return a function that loads kernels, as of a new process; it returns the loads, and the compiled texts."""
    with fake_cupy.installed() as state:
        from graphprover.kernels.cuda import launch
        from graphprover.kernels.cuda import shipped as own

        monkeypatch.setattr(own, "FOLDER", folder)
        own.warn_once.cache_clear()

        def load(*texts: str, name: str = "first.cu") -> tuple[dict[str, int], list[str]]:
            for text in texts:
                launch.compiled(text, name).load()
                launch.compiled(text, name).load()  # a second time does nothing
            return dict(launch.loads), state.compiled

        yield load


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_shipped_kernels_need_no_compiler(folder: Path, loaded: Any, caplog: Any) -> None:
    write(folder / "sm_90.zip", {TEXT: CODE}, {"first.cu": TEXT})
    write(folder / "sm_90_tables.zip", {"lookups": "their machine code"}, {})
    assert loaded(TEXT, "lookups") == ({"shipped": 2}, [])
    assert loaded("of a user's table", name="quotient of x") == (
        {"shipped": 2, "compiled": 1},
        ["of a user's table"],
    )
    assert not warnings(caplog)


@pytest.mark.parametrize("is_shipped", [False, True])
def test_a_launch_counts_its_wait_for_the_compiler_alone(
    is_shipped: bool, folder: Path, loaded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_shipped:
        write(folder / "sm_90.zip", {TEXT: CODE}, {"first.cu": TEXT})
    monkeypatch.setattr(compiling, "_spans", [])
    from graphprover.kernels.cuda import launch  # with the CuPy of `loaded`

    for _ in range(2):
        launch.compiled(TEXT, "first.cu").kernel("first", 0)
    assert len(compiling._spans) == (0 if is_shipped else 1)


def test_without_archives_kernels_are_compiled(loaded: Any, caplog: Any) -> None:
    assert loaded(TEXT) == ({"compiled": 1}, [TEXT]) and not warnings(caplog)


def damaged(path: Path) -> None:
    """Write an archive with another byte in its machine code."""
    write(path, {TEXT: CODE * 100}, {})
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        offset = archive.getinfo(shipped.digest_of(TEXT)).header_offset
    data[offset + 30 + 64 + 20] ^= 1  # behind the header, the name and LZMA's properties
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.write_bytes(b"no archive"), r"sm_90.zip with shipped GPU kernels is damaged"),
        (lambda path: zipfile.ZipFile(path, "w").close(), r"sm_90.zip with shipped GPU kernels is damaged"),
        (damaged, r"sm_90.zip with shipped GPU kernels is damaged"),
        (lambda path: write(path, {TEXT: CODE}, {}, "c++14"), r"compiled as c\+\+14, not c\+\+17"),
        (lambda path: write(path, {"old": CODE}, {"first.cu": "old"}), r"the source of first.cu is another one"),
        (lambda path: write(path, {TEXT: "for another GPU"}, {}), r"the GPU's driver refuses .*209"),
    ],
)
def test_whatever_is_wrong_is_said_once_and_compiled(make, reason, folder, loaded, caplog):  # type: ignore[no-untyped-def]
    folder.mkdir()
    make(folder / "sm_90.zip")
    assert loaded(TEXT, TEXT + " again") == ({"compiled": 2}, [TEXT, TEXT + " again"])
    (said,) = warnings(caplog)
    caplog.clear()
    assert re.search(reason, said) and "such kernels are compiled" in said


@pytest.mark.parametrize(
    ("capability", "used"),
    [("80", "80"), ("86", "86"), ("89", "86"), ("90", None), ("103", "100"), ("120", "120"), ("121", "120")],
)
def test_machine_code_runs_on_later_gpus_of_its_generation(
    capability: str, used: str | None, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for architecture in ("80", "86", "100", "120"):
        write(folder / f"sm_{architecture}.zip", {TEXT: architecture}, {})
    (folder / "notes.zip").write_bytes(b"of something else")
    found = shipped.machine_code(TEXT, "first.cu", capability)
    assert found == (None if used is None else used.encode()) and not warnings(caplog)


def test_archives_are_only_in_the_package() -> None:
    assert Path(shipped.__file__).parent / "shipped" == shipped.FOLDER
