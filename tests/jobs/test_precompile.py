"""Kernels that other processes compile, if no cache is writable."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from graphprover.jobs import precompile
from graphprover.jobs.job import Job
from graphprover.jobs.made import made
from graphprover.proving.prover import Prover

PACKAGE = Path(precompile.__file__).parents[1]
ELF = PACKAGE.parent / "examples/guests/fib_iterative.elf"
INPUT = bytes([3, *[0] * 7])

# Then neither a run nor the verification of a GPU's proof, whose maker knows the commitment, compiles anything.
CHECK = """
import pickle, sys
from pathlib import Path
from graphprover.jobs import precompile
from graphprover.runtime import numba_cache
from graphprover.proving.prover import Prover

assert not any(numba_cache.is_compiled(part.last) for part in precompile.PARTS.values())
precompile.compile_missing()
assert all(numba_cache.is_compiled(part.last) for part in precompile.PARTS.values())
prover = Prover(sys.argv[1])
proof, cap, data = pickle.loads(Path(sys.argv[2]).read_bytes())
prover.program.record(data)
prover.verify_made(proof, cap)
assert not numba_cache.made, numba_cache.made
"""


@pytest.mark.slow
def test_they_are_what_a_process_needs_beside_a_gpu(tmp_path: Path) -> None:
    proven = made(Job(Prover(ELF), INPUT), device="cpu")
    (tmp_path / "proof").write_bytes(pickle.dumps((proven.proof, proven.preprocessed_caps, INPUT)))
    shutil.copytree(PACKAGE, tmp_path / "fresh/graphprover", ignore=shutil.ignore_patterns("__pycache__", "compiled"))
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "fresh"), "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    command = [sys.executable, "-c", CHECK, str(ELF), str(tmp_path / "proof")]
    subprocess.run(command, env=environment, cwd=tmp_path, check=True)


def test_what_is_kept_takes_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for part in precompile.PARTS.values():
        part.load()
    monkeypatch.setattr(precompile.subprocess, "Popen", None)
    precompile.compile_missing()
