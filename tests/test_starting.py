"""What a process loads before its first proof: no more than it needs, since a user waits for it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PROVE = """
import sys
from graphprover import Prover
Prover("examples/fibonacci", security=40, executor={executor!r}, device="cpu").prove()
print("distributed" in sys.modules)
"""

FINISH = """
import numpy as np
from graphprover.kernels.cpu import fri, ntt
fri.final_polynomial(np.ones((3, 512), dtype=np.uint64), 8)
print(ntt._transform.signatures)
"""


def said(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("executor", ["sync", "threads"])
def test_a_proof_here_loads_no_cluster(executor: str) -> None:
    assert said(PROVE.format(executor=executor)) == "False"


def test_a_final_polynomial_takes_no_transform() -> None:
    """It is all that a GPU's proof asks of the CPU's kernels, whose transforms take seconds to compile."""
    assert said(FINISH) == "[]"
