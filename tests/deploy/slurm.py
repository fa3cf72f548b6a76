"""Stand-ins for `sbatch` and `srun` of SLURM: the nodes of a job are plain processes of this host.

Without a queue: `sbatch` runs the script, and ends with it.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

OPTION = re.compile(r"--([a-z-]+)(?:=(\S+))?")
OF_SBATCH = {"job-name", "nodes", "ntasks-per-node", "cpus-per-task", "gpus-per-task", "time", "signal"}
OF_SBATCH |= {"requeue", "export"}
OF_SRUN = {"kill-on-bad-exit", "cpus-per-task"}


def options(words: Sequence[str], known: set[str]) -> tuple[dict[str, str], list[str]]:
    """Return the options before the first other word, and the rest; an option must be a known one of SLURM."""
    found: dict[str, str] = {}
    for position, word in enumerate(words):
        if not word.startswith("--"):
            return found, list(words[position:])
        match = OPTION.fullmatch(word)
        assert match and match[1] in known, word
        found[match[1]] = match[2] or ""
    return found, []


def settings_of(script: str, given: Sequence[str] = ()) -> dict[str, str]:
    """Return the options of a script, and of a command line, which count more."""
    written, rest = options(re.findall(r"^#SBATCH (\S+)$", script, re.MULTILINE), OF_SBATCH)
    assert not rest and script.count("#SBATCH") == len(written)
    return written | options(given, OF_SBATCH)[0]


def sbatch(words: Sequence[str]) -> int:
    """Run a script as a job, and return its exit code."""
    given, (script, *arguments) = options(words, OF_SBATCH)
    asked = settings_of(Path(script).read_text()) | given
    tasks = int(asked["nodes"]) * int(asked["ntasks-per-node"])
    environment = {
        "SLURM_NTASKS": str(tasks),
        "SLURM_CPUS_PER_TASK": asked["cpus-per-task"],
        "SLURMD_NODENAME": "127.0.0.1",
    }
    return _run([["bash", script, *arguments]], environment)


def srun(words: Sequence[str]) -> int:
    """Run a command as each task of a job, and return the highest exit code."""
    _, command = options(words, OF_SRUN)
    return _run([command] * int(os.environ["SLURM_NTASKS"]), {})


def _run(commands: Sequence[Sequence[str]], environment: dict[str, str]) -> int:
    running = [subprocess.Popen(command, env=os.environ | environment) for command in commands]

    def end(number: int, frame: FrameType | None) -> None:
        for process in running:
            process.terminate()

    signal.signal(signal.SIGTERM, end)
    return max(abs(process.wait()) for process in running)


if __name__ == "__main__":
    sys.exit({"sbatch": sbatch, "srun": srun}[sys.argv[1]](sys.argv[2:]))
