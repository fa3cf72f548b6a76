"""The software of the accelerator functions, compiled for this computer: all conformance vectors, in Rust."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

WORKSPACE = Path(__file__).parents[2] / "examples/guests/sdk/accelerators"
REQUIRE = "GRAPHPROVER_REQUIRE_RUST"  # if 1, the test fails on a machine without Rust instead of being skipped


@pytest.mark.slow
def test_vectors() -> None:
    if not shutil.which("cargo") and os.environ.get(REQUIRE) != "1":
        pytest.skip(f"no cargo ({REQUIRE}=1 makes this a failure)")
    command = ["cargo", "test", "--release", "--locked", "--quiet", "--package=zkvm-vectors"]
    subprocess.run(command, cwd=WORKSPACE, check=True)
