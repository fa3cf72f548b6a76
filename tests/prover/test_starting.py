"""A process loads no more than it needs before its first proof, since a user waits for it."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from graphprover import prove
from graphprover.device import CpuDevice
from graphprover.examples import memory
from graphprover.protocol.layout import Layout
from graphprover.prover import sharded as prover
from tests.graphs.test_proof_graph import FEW, example

ROOT = Path(__file__).parents[2]

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
    """Compile no transform, which takes seconds: a GPU's proof only uses the CPU for the final polynomial."""
    assert said(FINISH) == "[]"


def test_what_verifying_takes_is_made_while_a_gpu_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prepare in another thread in the first proof of a layout, but not on a CPU, whose threads are busy."""
    prepared: list[Layout] = []
    monkeypatch.setattr(prover, "prepare_verification", prepared.append)
    prover._expect_verification.cache_clear()

    class Elsewhere(CpuDevice):
        kind = "elsewhere"

    for device in (CpuDevice(1), Elsewhere(1), Elsewhere(1)):
        prove(example(memory), "sync", parameters=FEW, device=device)
        for thread in threading.enumerate():
            if thread.name == "verification":
                thread.join()
        assert len(prepared) == (device.kind == "elsewhere")
