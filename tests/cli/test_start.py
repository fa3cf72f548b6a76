"""Commands start without modules that they do not need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMPORTED = """
import sys
from graphprover.__main__ import main
try:
    main()
except SystemExit:
    pass
print(*sys.modules)
"""


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("proof") / "proof.bin")
    command = [sys.executable, "-m", "graphprover", "prove", "examples/fibonacci", "--device", "cpu", "-o", path]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return path


def modules(*arguments: str) -> set[str]:
    """Return the modules that a command has imported at its end, and their packages."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", IMPORTED, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    names = done.stdout.splitlines()[-1].split()
    return {*names, *(name.partition(".")[0] for name in names)}


def test_help_imports_no_command() -> None:
    assert not modules("--help") & {"numpy", "graphprover.protocol", "graphprover.cli.args", "graphprover.cli.prove"}


def test_verify_imports_no_prover(proof: str) -> None:
    found = modules("verify", proof)
    assert "graphprover.verifier" in found
    assert not found & {"numba", "dask", "numpy.ma", "graphprover.telemetry", "graphprover.cli.prove"}


def test_prove_imports_no_cluster(proof: str, tmp_path: Path) -> None:
    found = modules("prove", "examples/fibonacci", "--device", "cpu", "-o", str(tmp_path / "proof.bin"))
    assert "graphprover.kernels.cpu" in found
    assert not found & {"distributed", "pandas", "pyarrow", "bokeh", "cupy", "graphprover.cluster", "numba.np.arrayobj"}
