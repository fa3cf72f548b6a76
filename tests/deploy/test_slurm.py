"""The SLURM script proves a batch on two nodes, as docs/deploy.md says; plain processes stand in for nodes."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from graphprover.cli.main import main
from graphprover.runtime.errors import OK
from tests.deploy import slurm
from tests.deploy.images import ROOT
from tests.deploy.processes import ENVIRONMENT, Processes

SCRIPT = ROOT / "deploy/slurm/batch.sbatch"
PAGE = (ROOT / "docs/deploy.md").read_text()
COMMANDS = re.findall(r"^    (sbatch .*)$", PAGE, re.MULTILINE)
GUEST = ROOT / "examples/guests/fib_iterative.elf"
JOBS = """
[defaults]
program = "guest.elf"
security = 30

[[job]]
input = "inputs/*.bin"
output = "proofs/{input}.bin"
"""

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the script, a batch of eight jobs, and stand-ins for SLURM's commands in ``bin``."""
    shutil.copy(SCRIPT, tmp_path)
    shutil.copy(GUEST, tmp_path / "guest.elf")
    (tmp_path / "jobs.toml").write_text(JOBS)
    for name in ("inputs", "bin"):
        (tmp_path / name).mkdir()
    for number in range(8):
        (tmp_path / f"inputs/{number}.bin").write_bytes((300 + number).to_bytes(8, "little"))
    for name in ("sbatch", "srun"):
        own = tmp_path / "bin" / name
        own.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tests.deploy.slurm {name} "$@"\n')
        own.chmod(0o755)
    return tmp_path


def left(folder: Path) -> list[str]:
    """Return the commands of processes whose working directory is the folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.cwd() == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


def test_a_batch_on_two_nodes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = ENVIRONMENT | {"PATH": f"{folder / 'bin'}:{ENVIRONMENT['PATH']}", "TMPDIR": str(folder / "tmp")}
    (folder / "tmp").mkdir()
    done = subprocess.run(
        ["bash", "-ec", COMMANDS[0]], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0 and "8 jobs: 8 made in " in done.stdout, done.stdout + done.stderr
    assert done.stderr.count("Start Nanny at: 'tls://127.0.0.1:") == 2, done.stderr
    assert re.search(r"tls://127\.0\.0\.1:\d+, [\d,]+ bytes", done.stderr)  # the worker of a proof
    monkeypatch.chdir(folder)
    assert all(main(["verify", f"proofs/{n}.bin", "guest.elf", "--security", "30"]) == OK for n in range(8))
    assert not list(folder.glob(".graphprover-*")) and not left(folder)


def test_an_ended_job_leaves_nothing(folder: Path) -> None:
    """SLURM sends SIGTERM a minute before the end of the time; workers, scheduler and key end with the job."""
    path = f"{folder / 'bin'}:{ENVIRONMENT['PATH']}"
    with Processes(folder) as processes:
        job = processes.start(["sbatch", "--nodes=1", "batch.sbatch", "jobs.toml"], PATH=path)
        processes.until(lambda: list(folder.glob(".graphprover-*/sched.json")))
        (private,) = folder.glob(".graphprover-*")
        assert private.stat().st_mode & 0o777 == 0o700
        job.terminate()
        assert job.wait(600) == 143
    assert not private.exists() and not left(folder)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_page_have_options_of_slurm(command: str) -> None:
    """The script's own options are read, too: a worker gets a thread or more for each of its processes."""
    words = shlex.split(command)[1:]
    given, (script, jobs) = slurm.options(words, slurm.OF_SBATCH)
    asked = slurm.settings_of((SCRIPT.parent / script).read_text()) | given
    processes = re.search(r"PROCESSES=(\d+)", asked.get("export", "PROCESSES=1"))
    assert processes and int(asked["cpus-per-task"]) >= int(processes[1]) and jobs == "jobs.toml"
