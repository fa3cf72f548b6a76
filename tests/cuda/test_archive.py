"""The script that compiles shipped kernels writes archives of which kernels are loaded."""

import json
import zipfile
from pathlib import Path

import pytest

from graphprover.kernels.cuda import shipped, sources
from tests.cuda import nvrtc
from tests.loading import module_at

nvrtc.require()

SCRIPT = Path(__file__).parents[2] / "scripts/kernels_cuda.py"
FILES = ("gather.cu", "inverse.cu")


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Return a function that runs the script with few kernels, and returns what it printed."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    script = module_at(SCRIPT)
    texts = {file: sources.source(file) for file in FILES}
    monkeypatch.setattr(script, "_operations", lambda: texts)
    monkeypatch.setattr(script, "_recursion_tables", list)
    monkeypatch.setattr(script, "ProcessPoolExecutor", lambda *_: _Here())

    def run(folder):
        assert script.main(["--arch", "90", "-o", str(tmp_path / folder)]) == 0
        return (tmp_path / folder / "sm_90.zip").read_bytes()

    return run


class _Here:
    """A pool of this process."""

    map = staticmethod(map)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def test_an_archive_has_machine_code_by_text(build, tmp_path, monkeypatch, capsys):
    data = build("one")
    assert build("two") == data and "2 kernels, 2 compiled" in capsys.readouterr().out
    assert build("one") == data and "2 kernels, 0 compiled" in capsys.readouterr().out
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "one")
    for file in FILES:
        code = shipped.machine_code(sources.source(file), file, "90")
        assert any(kernel.name.startswith(file.removesuffix(".cu")) for kernel in nvrtc.kernels(code))
    with zipfile.ZipFile(tmp_path / "one/sm_90.zip") as archive:
        about = json.loads(archive.read(shipped.ABOUT))
        times = {info.date_time for info in archive.infolist()}
    assert about["operations"].keys() == set(FILES) and about["standard"] == sources.STANDARD and len(times) == 1


def test_changed_kernels_are_compiled_again(build, tmp_path, capsys):
    build("one")
    capsys.readouterr()
    text = sources.source("gather.cu")
    path = tmp_path / "one/sm_90.zip"
    with zipfile.ZipFile(path) as archive:
        about, code = archive.read(shipped.ABOUT), archive.read(shipped.digest_of(text))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(shipped.ABOUT, about)
        archive.writestr(shipped.digest_of(text), code)
        archive.writestr(shipped.digest_of("a kernel of yesterday"), code)
    build("one")
    assert "2 kernels, 1 compiled" in capsys.readouterr().out
