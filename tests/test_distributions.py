"""The source archive equals the checkout, tests run in it, and both give the same wheels.

The build downloads setuptools from an index, as ``pip install`` does.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from graphprover import __version__
from tests.slow import slow_after

ROOT = Path(__file__).parents[1]
LINKED = ("kernels", "graphs", "examples")
COMPILED = ("examples/guests/sdk/accelerators/", "examples/guests/sdk/runtime/")  # sources of libzkvm.a, in no wheel
DATA = {
    "examples/block/inputs/": "blocks/",
    "examples/guests/conformance/vectors/": "vectors/",
}  # in graphprover-examples
BUILD = ("examples/LICENSE", "examples/pyproject.toml", "kernels/cuda/pyproject.toml")  # build other wheels


def files_in(folder: Path) -> set[str]:
    """Return all files and links below ``folder``."""
    paths = [Path(place, name) for place, folders, files in os.walk(folder) for name in (*folders, *files)]
    return {str(path.relative_to(folder)) for path in paths if path.is_symlink() or path.is_file()}


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the checkout, except files that git ignores, because the build writes into it."""
    ignored = [Path(pattern).name for pattern in (ROOT / ".gitignore").read_text().split()]
    copy = tmp_path_factory.mktemp("checkout") / "graphprover"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "PKG-INFO", *ignored))
    return copy


@pytest.fixture(scope="module")
def before(checkout: Path) -> set[str]:
    """Return the files of the copy before the build."""
    return files_in(checkout)


@pytest.fixture(scope="module")
def built(checkout: Path, before: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the archive of the sources, and the wheel that is made of it."""
    folder = tmp_path_factory.mktemp("built")
    done = run("build", "-o", str(folder), cwd=checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def data(checkout: Path, before: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel with the data of the examples."""
    folder = tmp_path_factory.mktemp("data")
    done = run("build", "--wheel", "-o", str(folder), "examples", cwd=checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def unpacked(built: Path) -> Path:
    """Return the unpacked source archive."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as sources:
        sources.extractall(built / "unpacked", filter="data")
    (folder,) = (built / "unpacked").iterdir()
    return folder


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_the_packages_whole(built: Path, before: set[str]) -> None:
    (wheel,) = built.glob("*.whl")
    names = {name for name in contents(wheel) if ".dist-info/" not in name}
    shipped = {name for name in before if not name.startswith((*COMPILED, *DATA, *BUILD))}
    packages = {f"graphprover/{name}" if name.startswith(LINKED) else name for name in shipped}
    assert names == {name for name in packages if name.startswith("graphprover/")} - {
        f"graphprover/{x}" for x in LINKED
    }


def test_the_data_of_the_examples_are_another_wheel(built: Path, data: Path, before: set[str]) -> None:
    expected = {
        name.replace(folder, f"graphprover_examples/{package}"): (ROOT / name).read_bytes()
        for name in before
        for folder, package in DATA.items()
        if name.startswith(folder)
    }
    found = contents(data)
    assert {name: found[name] for name in found if ".dist-info/" not in name} == expected
    assert found[f"graphprover_examples-{__version__}.dist-info/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    (wheel,) = built.glob("*.whl")
    assert wheel.stat().st_size < 6_000_000


@pytest.mark.slow
def test_sources_and_checkout_give_the_same_wheel(built: Path, checkout: Path) -> None:
    done = run("build", "--wheel", "-o", str(built / "direct"), cwd=checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,), (direct,) = built.glob("*.whl"), built.glob("direct/*.whl")
    assert contents(wheel) == contents(direct)


def test_the_sources_are_the_checkout(unpacked: Path, before: set[str]) -> None:
    made = {name for name in files_in(unpacked) if name == "PKG-INFO" or ".egg-info/" in name}
    written = {"setup.cfg"}  # setuptools adds a section for eggs
    assert files_in(unpacked) - made == before
    for name in LINKED:
        assert os.readlink(unpacked / "graphprover" / name) == f"../{name}"
    for name in before - written:
        assert (unpacked / name).is_symlink() or (unpacked / name).read_bytes() == (ROOT / name).read_bytes(), name


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout")
def test_the_sources_are_what_git_has(before: set[str]) -> None:
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    assert before == {name for name in names if name and os.path.lexists(ROOT / name)}


@pytest.mark.slow
def test_tests_run_in_the_unpacked_sources(unpacked: Path) -> None:
    """All tests and their helpers are found; some run."""
    collected = run("pytest", "--collect-only", "-q", "-m", "", "-p", "no:cacheprovider", cwd=unpacked)
    assert collected.returncode == 0, collected.stdout + collected.stderr
    files = {str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py")}
    found = set(re.findall(r"^(tests/[\w/]+\.py)(?:: \d+|::)", collected.stdout, re.MULTILINE))
    skipped = {name for name in files - found if name.startswith("tests/cuda/")}  # modules skipped without CuPy
    assert found == files - skipped
    ran = run("pytest", "-q", "-p", "no:cacheprovider", "tests/protocol/test_vectors.py", cwd=unpacked)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "passed" in ran.stdout or "100%" in ran.stdout


def test_an_index_shows_no_link_that_leads_nowhere(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    (metadata,) = (data.decode() for name, data in contents(wheel).items() if name.endswith("/METADATA"))
    _, _, description = metadata.partition("\n\n")
    assert description.startswith("# graphprover") and "docs/guests.md" in description
    assert not re.findall(r"\]\((?!https?:)", description)


ALONE = """
from importlib.metadata import distributions
from graphprover import Key, VerificationError, check, verify
print(sorted(found.name for found in distributions()))
try:
    from graphprover import Prover
except ImportError as error:
    print(error)
"""


def test_the_wheel_alone_is_the_verifier(built: Path, data: Path, tmp_path: Path) -> None:
    """Install it into a new environment, with the packages that it requires and no extra; then the examples' data."""
    (wheel,) = built.glob("*.whl")
    assert run("venv", "--without-pip", "new", cwd=tmp_path).returncode == 0
    python = str(tmp_path / "new/bin/python")
    installed = run("pip", "--python", python, "install", "-q", "--no-compile", str(wheel), cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr
    done = subprocess.run([python, "-c", ALONE], cwd=tmp_path, capture_output=True, text=True)
    names, missing = done.stdout.splitlines()
    own = {"graphprover", "blake3", "numpy", "pycryptodome"}
    assert own <= set(ast.literal_eval(names)) <= own | {"typing_extensions"}
    assert missing == f"graphprover.Prover needs the prover: pip install '{wheel}[prover]'"

    unpack = [python, "-m", "graphprover.examples.block", "unpack", "hoodi_1265656", "-o", "block.bin"]
    vectors = [python, "-m", "graphprover.examples.conformance", "batch.bin", "expected.txt", "--functions", "sha256"]
    for command in (unpack, vectors):
        failed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert failed.returncode == 1 and f"are in graphprover-examples {__version__}, which is not" in failed.stderr
        assert failed.stderr.count("\n") == 1
    added = run("pip", "--python", python, "install", "-q", "--no-index", str(data), cwd=tmp_path)
    assert added.returncode == 0, added.stderr
    assert "block       0x" in subprocess.run(unpack, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "309 cases" in subprocess.run(vectors, cwd=tmp_path, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", slow_after(1, LINKED))
def test_sources_without_links_say_so_when_they_are_built(checkout: Path, tmp_path: Path, name: str) -> None:
    """Without support for links, git and unzip programs write a file with the link's text."""
    copy = shutil.copytree(checkout, tmp_path / "copy", symlinks=True)
    (copy / "graphprover" / name).unlink()
    (copy / "graphprover" / name).write_text(f"../{name}")
    done = run("pip", "wheel", "--no-deps", "-w", str(tmp_path), ".", cwd=copy)
    assert done.returncode != 0
    assert f"graphprover/{name} must be a symbolic link to ../{name}, and is none here" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
