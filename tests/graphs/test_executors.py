"""The executors of a graph, and their processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slow import slow_after

PROCESSES = """
import multiprocessing
import sys
from graphprover.device import CpuDevice
from graphprover.examples import synthetic
from graphprover.proving.prove import prove

STATEMENT = synthetic.statement(16, 20, 4)  # more than FEW_CELLS, and long enough loops for the device's threads

def work(executor):
    prove(STATEMENT, executor, device=CpuDevice(2))

if __name__ == "__main__":
    work("threads")
    child = multiprocessing.get_context(sys.argv[1]).Process(target=work, args=(sys.argv[2],))
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.mark.parametrize(
    ("how", "executor", "code"), slow_after(2, [("fork", "threads", 1), ("fork", "sync", 0), ("spawn", "threads", 0)])
)
def test_a_process_forked_after_a_proof_does_not_wait_for_ever(
    how: str, executor: str, code: int, tmp_path: Path
) -> None:
    """Report an error in a forked process, which lacks Dask's threads; `sync` and spawned processes succeed.

    The device's own threads are replaced in the forked process.
    """
    (tmp_path / "processes.py").write_text(PROCESSES)
    command = [sys.executable, "-W", "ignore", str(tmp_path / "processes.py"), how, executor]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == code, run.stderr
    assert ("start processes by spawn" in run.stderr) == bool(code)
