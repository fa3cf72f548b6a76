"""`graphprover warm` leaves nothing for a proof to compile."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.gpu

ROOT = Path(__file__).parents[2]
GUEST = "examples/guests/fib_iterative.elf"


def test_a_proof_compiles_nothing_that_was_warmed(tmp_path):
    """But for the table of the output, which depends on its length, and CuPy's own kernels of single operations."""
    kept = tmp_path / "kept"
    environment = os.environ | {"CUPY_CACHE_DIR": str(kept), "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}

    def run(*arguments):
        command = [sys.executable, "-m", "graphprover", *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout

    assert "kernels of the GPU compiled" in run("warm", GUEST, "--device", "cuda")
    warmed = set(kept.iterdir())
    assert len(warmed) > 100
    assert "all kernels of the GPU were there" in run("warm", GUEST, "--device", "cuda")
    assert set(kept.iterdir()) == warmed
    (tmp_path / "turns").write_bytes((1000).to_bytes(8, "little"))
    run("prove", GUEST, "--input", str(tmp_path / "turns"), "--device", "cuda", "-o", str(tmp_path / "proof"))
    ours = [file for file in set(kept.iterdir()) - warmed if {b"lookups", b"quotient"} & set(names(file))]
    assert len(ours) <= 2


def names(file):
    """The words in a file of machine code."""
    return re.findall(rb"[a-z_]+", file.read_bytes())
