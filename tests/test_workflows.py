"""The workflows of GitHub and the dependencies that setup.cfg names belong together."""

import configparser
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = {file.name: file for file in (ROOT / ".github/workflows").glob("*.yml")}


def jobs(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOWS[name].read_text())["jobs"]
    return found


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


def test_every_python_of_the_classifiers_runs_the_tests() -> None:
    job = jobs("ci.yml")["test"]
    classifiers = re.findall(r"Python :: (3\.\d+)$", setup()["metadata"]["classifiers"], re.MULTILINE)
    assert set(classifiers) < set(job["strategy"]["matrix"]["python"])  # later ones are tried before they are claimed
    assert ".ci/run" in commands(job)


def test_all_extras_take_one_release_of_dask() -> None:
    """A cluster takes one release only, and a job resolves the extras for CPUs and GPUs."""
    pins = re.findall(r"^(dask|distributed) == ([\d.]+)$", setup()["options.extras_require"]["prover"], re.MULTILINE)
    assert [name for name, _ in pins] == ["dask", "distributed"] and len({release for _, release in pins}) == 1
    (command,) = (command for command in commands(jobs("ci.yml")["one-dask"]) if "--dry-run" in command)
    assert "cuda13" in command and "cuda12" in command


def test_numba_is_the_one_of_the_compiled_kernels() -> None:
    """The package's kernels are taken by the version of Numba that compiled them only."""
    (pinned,) = re.findall(r"^numba == ([\d.]+)$", setup()["options.extras_require"]["prover"], re.MULTILINE)
    assert version("numba") == pinned


def test_slow_tests_run_at_night() -> None:
    found = jobs("nightly.yml")
    assert "pytest -n auto -m slow" in commands(found["slow"])
    for command in (of for job in ("random", "checks") for of in found[job]["strategy"]["matrix"]["command"]):
        module = command.split()[0]
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file()


def test_riscv_tests_run_at_night() -> None:
    """Check out a fixed commit of each suite, and prove each test."""
    job = jobs("nightly.yml")["riscv"]
    suites = {step["with"]["repository"]: step["with"]["ref"] for step in job["steps"] if "ref" in step.get("with", {})}
    assert set(suites) == {"riscv-software-src/riscv-tests", "riscv-non-isa/riscv-arch-test"}
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in suites.values())
    (command,) = (command for command in commands(job) if "run_riscv_tests.py" in command)
    assert "--prove --riscv-tests riscv-tests --arch-tests riscv-arch-test" in command


@pytest.mark.parametrize("name", WORKFLOWS)
def test_jobs_end_and_may_only_read(name: str) -> None:
    """Limit the time of each job, and let no job write contents."""
    assert yaml.safe_load(WORKFLOWS[name].read_text())["permissions"] == {"contents": "read"}
    for job in jobs(name).values():
        assert job["timeout-minutes"] <= 180 and "contents" not in job.get("permissions", {})
