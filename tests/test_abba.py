"""scripts/bench_abba.py: its statistics on numbers with a known answer, its turns on a function without delay."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.loading import module_at

SCRIPTS = Path(__file__).parents[1] / "scripts"
LEVEL = 0.05


@pytest.fixture(scope="module")
def paired() -> ModuleType:
    return module_at(SCRIPTS / "paired.py")


@pytest.mark.parametrize(
    ("level", "freedom", "t"),
    [
        (0.05, 1, 12.7062),
        (0.05, 2, 4.3027),
        (0.05, 5, 2.5706),
        (0.05, 19, 2.0930),
        (0.001, 20, 3.8495),
        (0.01, 99, 2.6264),
    ],
)
def test_quantiles_are_those_of_printed_tables(paired: ModuleType, level: float, freedom: int, t: float) -> None:
    assert paired.quantile(level, freedom) == pytest.approx(t, abs=1e-4)


@pytest.mark.parametrize("ties", [1, 3, 9])
def test_wilcoxon_counts_what_all_signs_give(paired: ModuleType, ties: int) -> None:
    """Against every choice of signs, with equal and zero differences."""
    rng = np.random.default_rng(ties)
    for _ in range(10):
        differences = [int(value) / 8 for value in rng.integers(-20, 30, 9) // ties]
        left = np.array([value for value in differences if value])
        sizes = abs(left)
        ranks = np.array([(sizes < size).sum() + ((sizes == size).sum() + 1) / 2 for size in sizes])
        sums = np.array([ranks[list(signs)].sum() for signs in itertools.product((False, True), repeat=len(left))])
        found = ranks[left > 0].sum()
        expected = min(1.0, 2 * min((sums <= found).mean(), (sums >= found).mean()))
        assert paired.wilcoxon(differences) == pytest.approx(expected)


def turns(rng: np.random.Generator, pairs: int, slower: float, noise: float, spikes: float) -> list[np.ndarray]:
    """Return seconds of A and B in turns A B B A on a machine that slows down by 20 %, drifts and has spikes."""
    count = 2 * pairs
    machine = 1 + np.linspace(0, 0.2, count) + rng.normal(0, 0.005, count).cumsum()
    seconds = machine * np.exp(rng.normal(0, noise, count))
    seconds *= np.where(rng.random(count) < spikes, 1 + rng.exponential(0.3, count), 1)
    is_b = np.resize([False, True, True, False], count)
    return [seconds[~is_b], seconds[is_b] * (1 + slower)]


def share_told_apart(
    paired: ModuleType, pairs: int, slower: float, noise: float, spikes: float, names: int = 1
) -> float:
    """Return the share of 400 runs in which a figure is significant."""
    rng, runs = np.random.default_rng(1), 400
    level = LEVEL / names
    told = 0
    for _ in range(runs):
        figures = [turns(rng, pairs, slower, noise, spikes) for _ in range(names)]
        told += any(paired.compared(a, b, level).told_apart(level) for a, b in figures)
    return told / runs


@pytest.mark.parametrize(("pairs", "noise", "spikes"), [(6, 0.01, 0), (20, 0.01, 0), (20, 0.02, 0.05), (21, 0.1, 0.2)])
def test_equal_sides_are_not_told_apart_in_19_of_20(
    paired: ModuleType, pairs: int, noise: float, spikes: float
) -> None:
    assert share_told_apart(paired, pairs, 0, noise, spikes) <= LEVEL + 0.02  # two standard deviations of 400 runs


def test_the_level_is_that_of_all_figures_together(paired: ModuleType) -> None:
    assert share_told_apart(paired, 12, 0, 0.02, 0, names=4) <= LEVEL + 0.02


@pytest.mark.parametrize("slower", [0.03, -0.03])
def test_three_percent_are_told_apart(paired: ModuleType, slower: float) -> None:
    assert share_told_apart(paired, 20, slower, 0.02, 0) >= 0.95


BENCHMARK = """
import checkout  # first
import json, os, sys
import graphprover
at = len(LOG.read_text().split()) if LOG.exists() else 0
with LOG.open("a") as log:
    log.write(graphprover.NAME + "\\n")
assert "--json" in sys.argv
slower = 1.5 if "--slow" in sys.argv else float(os.environ.get("SLOWER", 1))
print(json.dumps({"name": "time", "value": graphprover.SECONDS * slower * (1 + (at * 7919 % 97) / 1e5), "unit": "s"}))
print(json.dumps({"name": "rate", "value": 1 / graphprover.SECONDS / slower, "unit": "M/s", "parameters": {}}))
print(json.dumps({"name": "size", "value": 4096, "unit": "bytes"}))
"""


def package(seconds: float, name: str) -> str:
    return f"SECONDS, NAME = {seconds}, {name!r}\n"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the scripts with a package of two commits and a wheel: the second commit is slower, the wheel fast."""
    if shutil.which("git") is None:
        pytest.skip("no git")
    folder = tmp_path_factory.mktemp("abba") / "repository"
    shutil.copytree(SCRIPTS, folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "scripts/bench_fake.py").write_text(
        f"from pathlib import Path\nLOG = Path({str(folder.parent / 'log')!r})\n{BENCHMARK}"
    )
    (folder / "graphprover").mkdir()

    def git(*arguments: str) -> None:
        author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", folder, *author, *arguments], check=True, capture_output=True)

    git("init")
    for seconds, name in ((1.0, "first"), (1.05, "second")):
        (folder / "graphprover/__init__.py").write_text(package(seconds, name))
        git("add", "graphprover")
        git("commit", "-m", name)
    with zipfile.ZipFile(folder.parent / "fast.whl", "w") as wheel:
        wheel.writestr("graphprover/__init__.py", package(0.5, "wheel"))
    return folder


def abba(repository: Path, *arguments: str, benchmark: str = "bench_fake.py") -> subprocess.CompletedProcess[str]:
    (repository.parent / "log").unlink(missing_ok=True)
    command = [sys.executable, repository / "scripts/bench_abba.py", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "GRAPHPROVER_CHECKOUT"}
    return subprocess.run(
        [*command, "--", f"scripts/{benchmark}"], cwd=repository, env=environment, capture_output=True, text=True
    )


def test_commits_take_turns_and_the_first_runs_are_dropped(repository: Path) -> None:
    done = abba(repository, "HEAD~1", "HEAD", "--pairs", "8", "--json")
    assert done.returncode == 0, done.stderr
    found = {figure["name"]: figure for figure in map(json.loads, done.stdout.splitlines())}
    assert {name: figure["verdict"] for name, figure in found.items()} == {
        "time": "slower",
        "rate": "slower",
        "size": "not told apart",
    }
    for sign, name in ((1, "time"), (-1, "rate")):
        low, high = found[name]["interval"]
        assert low <= found[name]["difference"] <= high
        assert sign * found[name]["difference"] == pytest.approx(0.0488, abs=1e-3)
    assert found["time"]["pairs"] == 8 and len(found["time"]["sides"]["B"]["values"]) == 8
    ran = (repository.parent / "log").read_text().split()
    assert ran == ["first", "second", *["first", "second", "second", "first"] * 4]
    worktrees = subprocess.run(
        ["git", "-C", repository, "worktree", "list"], capture_output=True, text=True, check=True
    )
    assert len(worktrees.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        (".", "SLOWER=1.01", "slower"),
        ("--slow --slow", "../fast.whl", "faster"),
        (".", "HEAD", "not told apart"),
    ],
)
def test_sides_are_folders_wheels_settings_and_arguments(repository: Path, a: str, b: str, verdict: str) -> None:
    done = abba(repository, a, b, "--pairs", "6", "--only", "time")
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("time"))
    assert line.endswith(f"  {verdict}")
    assert "size" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("HEAD~9", "HEAD"), r"A: HEAD~9 is no commit of .*, no wheel and no folder"),
        ((".", "nothing.whl"), r"B: nothing\.whl: .*No such file"),
        (("HEAD HEAD", "HEAD"), r"A: 'HEAD' and 'HEAD': a side is one"),
        ((".", "SLOWER=x"), r"B \(SLOWER=x this checkout\): .* ended with 1: ValueError: could not convert"),
        ((".", ".", "--pairs", "6"), r"--pairs 6: 3 figures at level 0\.05 need 8 pairs"),
        ((".", ".", "--only", "nothing"), r"no figure of both sides is called 'nothing'; there are time, rate, size"),
        ((".", ".", "--minutes", "0.001"), r"--minutes 0\.001: nothing can be told with fewer than 8 pairs"),
    ],
)
def test_errors_are_one_line(repository: Path, arguments: tuple[str, ...], error: str) -> None:
    done = abba(repository, *arguments)
    assert done.returncode == 1 and done.stdout == ""
    assert re.match(f"bench_abba.py: {error}", done.stderr.splitlines()[-1]), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("printed", "error"),
    [
        ("", "printed no figures"),
        ("3 seconds", "no figure as JSON .*: 3 seconds"),
        ('{"name": "x", "value": NaN, "unit": "s"}', "no figure as JSON"),
        ('{"name": "x", "value": 1, "unit": "s"}\n' * 2, "two figures are called 'x'"),
    ],
)
def test_what_is_no_figure_is_told(repository: Path, printed: str, error: str) -> None:
    (repository / "scripts/bench_other.py").write_text(f"print({printed!r}, end='')")
    done = abba(repository, ".", ".", benchmark="bench_other.py")
    assert done.returncode == 1 and re.search(error, done.stderr.splitlines()[-1]), done.stderr
