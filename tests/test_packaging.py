"""Contents of a wheel, and the packages that each part imports."""

import configparser
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import graphprover
from graphprover.cli.main import main
from graphprover.kernels.cuda import shipped
from graphprover.runtime.errors import FAILED, OK, USAGE
from graphprover.runtime.extras import PROVER, SERVE, install

ROOT = Path(__file__).parents[1]
HEAVY = ("dask", "distributed", "numba", "llvmlite", "cupy", "rmm", "cuda", "rich", "shtab")


def imported_by(code: str) -> set[str]:
    """Return the top-level modules in a new interpreter after ``code``."""
    script = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}}, sep=chr(10))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import graphprover",
        "from graphprover import Air, Bus, Proof, Statement, Table, Verdict, VerificationError, check, verify",
        "import graphprover.verifier, graphprover.proof.proof, graphprover.air, graphprover.cli.main",
        "\n".join(
            f"import graphprover.protocol.{file.stem}" for file in (ROOT / "graphprover/protocol").glob("[a-z]*.py")
        ),
        "from graphprover.cli.main import main; main(['check', 'examples/fibonacci'])",
        "from graphprover.verifier.layer_key import LayerStatement; LayerStatement([16] * 3).descriptions",
        "import graphprover.verifier.compressed, graphprover.proof.compressed",
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


ELSEWHERE = """
import importlib, os, pkgutil, sys
import dask, dask.callbacks, dask.diagnostics, distributed, numba, numpy, Crypto.Hash.keccak
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("fork", "geteuid", "getuid", "sched_getaffinity", "sched_setaffinity", "sysconf"):
    delattr(os, name)
import graphprover
found = [module.name for module in pkgutil.walk_packages(graphprover.__path__, "graphprover.")]
for name in found:
    if ".cuda" not in name:  # these import CuPy
        importlib.import_module(name)
print(len(found))
"""


def test_importing_asks_nothing_of_the_operating_system() -> None:
    """Functions that only Linux has are called on use, not on import; CPython's modules lack them here."""
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


BLOCKED = f"""
import sys
sys.modules.update(dict.fromkeys({(*HEAVY, *sorted(SERVE), "tblib", "toolz", "tornado", "cloudpickle")!r}))
from graphprover.cli.main import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def proofs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a proof of a packaged example, and a proof of a guest with its key."""
    folder = tmp_path_factory.mktemp("proofs")
    guest = str(ROOT / "examples/guests/fib_iterative.elf")
    (folder / "turns").write_bytes(bytes([9] + [0] * 7))
    assert main(["prove", "examples/fibonacci", "-o", str(folder / "fibonacci")]) == OK
    assert main(["prove", guest, "--input", str(folder / "turns"), "-o", str(folder / "guest")]) == OK
    assert main(["setup", guest, "-o", str(folder / "guest.vk")]) == OK
    return folder


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["verify", "fibonacci"], OK, "valid"),
        (["verify", "guest", "guest.vk"], OK, "valid"),
        (["verify", "guest", str(ROOT / "examples/guests/fib_iterative.elf")], OK, "valid"),
        (["verify", "guest.vk"], USAGE, "a verifying key, not a proof"),
        (["inspect", "fibonacci"], OK, "security"),
        (["inspect", "guest", "guest.vk"], OK, "security"),
        (["check", "examples/fibonacci"], OK, ""),
        (["prove", "examples/fibonacci", "-o", "again"], USAGE, install("prover")),
        (["plan", "examples/fibonacci"], USAGE, install("prover")),
        (["execute", str(ROOT / "examples/guests/sha256.elf")], USAGE, install("prover")),
        pytest.param(
            ["setup", str(ROOT / "examples/guests/fib_iterative.elf"), "-o", "again.vk"],
            OK,
            "key hash",
            marks=pytest.mark.slow,  # commits by NumPy at every rate; `verify guest` above does at one
        ),
        (["inspect", "guest.vk"], OK, "key hash"),
        (["export", "fibonacci", "-o", "exported"], OK, "payload.bin"),
        (
            ["submit", str(ROOT / "examples/guests/sha256.elf"), "--url", "http://127.0.0.1:1"],
            FAILED,
            "does not answer",
        ),
        (["serve"], USAGE, install("prover,serve")),
        (["completion", "bash"], USAGE, install("prover")),
        pytest.param(
            ["inspect", "guest.vk", str(ROOT / "examples/guests/fib_iterative.elf")],
            OK,
            "the key of",
            marks=pytest.mark.slow,  # makes the key, as `setup` above does
        ),
    ],
    ids=lambda value: " ".join(map(os.path.basename, value)) if isinstance(value, list) else None,
)
def test_the_verifier_alone(proofs: Path, command: list[str], code: int, said: str) -> None:
    """Only NumPy, pycryptodome and blake3 can be imported."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, *command], cwd=proofs, env=environment, capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    assert said in done.stdout + done.stderr and "Traceback" not in done.stderr


FROM_PYTHON = f"""
import sys
sys.modules.update(dict.fromkeys({HEAVY!r}))
import graphprover
missing = []
for name in graphprover.__all__:
    try:
        getattr(graphprover, name)
    except ImportError as error:
        assert str(error) == f"graphprover.{{name}} needs the prover: {install("prover")}", error
        missing.append(name)
print(*missing)
verdict = graphprover.Key.load("guest.vk").verify(graphprover.load_proof("guest"))
print(verdict.claim.exit_code, verdict.claim.cycles, verdict.claim.input)
"""


def test_the_verifier_alone_in_python(proofs: Path) -> None:
    """Names of the prover say what to install; a key verifies without the prover."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", FROM_PYTHON], cwd=proofs, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    missing, claim = done.stdout.splitlines()
    names = ["Job", "Prover", "Result", "aggregate", "compress", "graph", "plan", "prove", "prove_many"]
    assert missing.split() == names
    assert claim.startswith("0 ") and claim.endswith(" None")


def test_other_errors_of_imports_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError("No module named 'other'", name="other")

    monkeypatch.setattr(graphprover, "import_module", missing)
    with pytest.raises(ModuleNotFoundError, match="'other'"):
        graphprover.Prover  # noqa: B018


def test_the_packages_of_the_prover_are_known() -> None:
    """Their modules have the names of the packages, except a few."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    modules = {"pyelftools": "elftools"}
    lines = setup["options.extras_require"]["prover"].strip().split("\n")
    names = {Requirement(line).name.replace("-", "_") for line in lines}
    assert {modules.get(name, name) for name in names} | {"llvmlite"} == PROVER


def test_the_packages_of_the_service_are_known() -> None:
    """The extra [prover] has prometheus_client, too; FastAPI brings starlette."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    lines = setup["options.extras_require"]["serve"].strip().split("\n")
    names = {Requirement(line).name for line in lines}
    assert names - {"prometheus_client"} | {"starlette"} == SERVE


def test_the_pages_of_the_service_ship() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert setup["options.package_data"]["graphprover.service"] == "pages/*"
    assert Path(graphprover.__file__).with_name("service").joinpath("pages/jobs.html").is_file()


def test_compiled_gpu_kernels_are_where_the_package_looks_for_them() -> None:
    setup = tomllib.loads((ROOT / "kernels/cuda/pyproject.toml").read_text())["tool"]["setuptools"]
    (package,) = setup["packages"]
    folder = Path(graphprover.__file__).parents[1].joinpath(*package.split("."))
    assert folder == shipped.FOLDER and setup["package-dir"] == {package: shipped.FOLDER.name}


@pytest.mark.parametrize("folder", ["examples", "kernels/cuda"])
def test_other_wheels_have_the_same_version(folder: str) -> None:
    project = tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
    assert project["version"] == graphprover.__version__
    assert project["dependencies"] == [f"graphprover == {graphprover.__version__}"]


def test_types_ship() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    assert "py.typed" in setup["options.package_data"]["graphprover"]
    assert (Path(graphprover.__file__).parent / "py.typed").is_file()


def test_every_public_name_exists() -> None:
    for name in graphprover.__all__:
        assert getattr(graphprover, name).__module__.startswith("graphprover.")
    with pytest.raises(AttributeError, match="nothing"):
        graphprover.nothing  # noqa: B018


@pytest.mark.parametrize("name", ["kernels", "graphs", "examples"])
def test_linked_folders_are_packages_through_and_through(name: str) -> None:
    """Setuptools follows links and packages folders with an ``__init__.py``; it silently omits others."""
    link = ROOT / "graphprover" / name
    assert link.is_symlink() and os.readlink(link) == f"../{name}"
    for file in (ROOT / name).rglob("*.py"):
        if "templates" in file.parts:
            continue  # files of a guest's folder, which package data lists
        assert (file.parent / "__init__.py").is_file()


@pytest.mark.parametrize(
    ("file", "extras"), [("environment.yml", "prover serve cuda13"), ("environment-cpu.yml", "prover serve")]
)
def test_conda_gets_the_releases_that_pip_gets(file: str, extras: str) -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    texts = [setup["options"]["install_requires"], *map(setup["options.extras_require"].get, extras.split())]
    pip = {required.name: required.specifier for text in texts for required in map(Requirement, text.split("\n")[1:])}
    conda = {}
    *lines, by_pip = yaml.safe_load((ROOT / file).read_text())["dependencies"]
    *lines_of_pip, last = by_pip["pip"]
    assert last == "-e ."
    for line in (*lines, *lines_of_pip):
        name, _, version = line.partition(" ")
        conda[name] = SpecifierSet(version if not version or version[0] in "<>" else f"=={version}")
    assert conda.pop("python") == SpecifierSet(setup["options"]["python_requires"])
    assert conda.pop("pip") == SpecifierSet()
    if "cuda13" in extras:
        assert pip.pop("graphprover") == SpecifierSet()  # the extra [cuda13] includes [prover]
        assert conda.pop("cuda-version") == SpecifierSet("==13.*")
        for name, with_cuda in (("cupy", "cupy-cuda13x"), ("rmm", "rmm-cu13")):
            pip[name] = pip.pop(with_cuda)
        assert pip.pop("nvidia-cuda-nvrtc") == SpecifierSet(">=13,<14")  # conda's CuPy brings it
    assert conda == pip


def test_both_releases_of_cuda_get_the_same_releases_of_the_rest() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    extras = setup["options.extras_require"]
    cuda12 = {name.replace("12", "13") for name in extras["cuda12"].split("\n") if "nvrtc" not in name}
    assert cuda12 == {name for name in extras["cuda13"].split("\n") if "nvrtc" not in name}
    assert {"cuda12", "cuda13"} == {name for name in extras if name.startswith("cuda")}


def test_continuous_integration_runs_the_command_of_the_readme() -> None:
    commands = re.findall(r"^    (pip install .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert "pytest" in commands[-1]
    assert commands[-1] in (ROOT / ".ci/run").read_text().splitlines()
