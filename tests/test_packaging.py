"""What is installed and what importing it costs: which packages a wheel holds, and what each part imports."""

import configparser
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import graphprover

ROOT = Path(__file__).parents[1]
HEAVY = ("dask", "distributed", "numba", "llvmlite", "cupy", "rmm", "cuda")


def imported_by(code: str) -> set[str]:
    """The top-level modules in a fresh interpreter after ``code``."""
    script = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}}, sep=chr(10))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import graphprover",
        "from graphprover import Air, Bus, Proof, Statement, Table, Verdict, VerificationError, check, verify",
        "import graphprover.verifier, graphprover.envelope, graphprover.air, graphprover.cli",
        "\n".join(
            f"import graphprover.protocol.{file.stem}" for file in (ROOT / "graphprover/protocol").glob("[a-z]*.py")
        ),
        "from graphprover.cli import main; main(['check', 'examples/fibonacci'])",
    ],
)
def test_describing_and_verifying_import_no_scheduler_no_compiler_and_no_gpu(code: str) -> None:
    modules = imported_by(code)
    assert "graphprover" in modules and not modules.intersection(HEAVY)


def test_proving_on_a_cpu_imports_no_gpu() -> None:
    modules = imported_by(
        "from graphprover import prove; from graphprover.device.choose import device_for; device_for('cpu')"
    )
    assert {"dask", "numba"} <= modules and not modules.intersection(("cupy", "rmm", "cuda"))


def test_every_public_name_exists() -> None:
    for name in graphprover.__all__:
        assert getattr(graphprover, name).__module__.startswith("graphprover.")
    with pytest.raises(AttributeError, match="nothing"):
        graphprover.nothing  # noqa: B018


@pytest.mark.parametrize("name", ["kernels", "graphs", "examples"])
def test_linked_folders_are_packages_through_and_through(name: str) -> None:
    """Setuptools follows the links and takes folders with an ``__init__.py``; it would leave out others in silence."""
    link = ROOT / "graphprover" / name
    assert link.is_symlink() and os.readlink(link) == f"../{name}"
    for file in (ROOT / name).rglob("*.py"):
        assert (file.parent / "__init__.py").is_file()


def test_conda_gets_the_releases_that_pip_gets() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    lines = setup["options"]["install_requires"] + setup["options.extras_require"]["cuda13"]
    pip = {each.name: each.specifier for each in map(Requirement, lines.split("\n")[1:])}
    conda = {}
    for line in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]:
        if isinstance(line, str):
            name, _, version = line.partition(" ")
            conda[name] = SpecifierSet(version if not version or version[0] in "<>" else f"=={version}")
    assert conda.pop("python") == SpecifierSet(setup["options"]["python_requires"])
    assert conda.pop("cuda-version") == SpecifierSet("==13.*")
    assert conda.pop("pip") == SpecifierSet()
    for name, with_cuda in (("cupy", "cupy-cuda13x"), ("rmm", "rmm-cu13")):
        pip[name] = pip.pop(with_cuda)
    assert pip.pop("nvidia-cuda-nvrtc") == SpecifierSet(">=13,<14")  # conda's CuPy brings it
    assert conda == pip


def test_continuous_integration_runs_the_command_of_the_readme() -> None:
    commands = re.findall(r"^    (pip install .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(commands) == 2
    assert commands[1] in (ROOT / ".ci/run").read_text().splitlines()


def test_the_example_of_the_readme(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    printed = re.findall(r"# prints (.*)$", code, re.MULTILINE)
    assert printed and done.stdout.splitlines() == printed
