"""Settings of all tests: Hypothesis, Ctrl-C, and the processes of pytest-xdist."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("graphprover", deadline=None)  # a machine may be slow, and kernels are compiled at first
settings.load_profile("graphprover")

# Commands print no line because the host is slow; Dask reads its settings from the environment when it is imported.
os.environ["DASK_GRAPHPROVER__PROGRESS"] = "3600"

# Tests start hundreds of processes. Without files of bytecode, which a container's settings may forbid, each would
# compile all modules of a checkout, which is half of its start.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell's background job ignores Ctrl-C, and the commands that tests start and interrupt would inherit this.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parents[1]
LAYERS_AT = 4  # N of the rate 1/N of layers, if it does not matter: of all rates the fastest on a CPU
BUILD = pytest.StashKey["subprocess.Popen[bytes] | None"]()  # of Plonky3, beside the first tests
MOST_PROCESSES = 16  # a process of tests takes 1 GB; on a GPU they share its memory


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return the number of processes for ``-n auto``: the processors that this process may use."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, MOST_PROCESSES)


@pytest.fixture(autouse=True, scope="session")
def definitions_run() -> Iterator[None]:
    """Describe all tables by their definitions, which tests change, and not by the file of an earlier process."""
    from graphprover.air import described

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(described, "_paths", list)
        yield


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the CPU's kernels once before several processes load them, unless the package contains them.

    Without this, each process of pytest-xdist compiles the same kernels, and logs that it does.
    """
    options = session.config.option
    from graphprover.runtime import background
    from graphprover.runtime.files import FileError

    with suppress(FileError):  # without a private folder there is no cluster
        if background.is_locked():  # commands of the tests would find it
            pytest.exit("a background cluster runs: graphprover cluster stop", returncode=1)
    if getattr(options, "tx", None) and not options.collectonly and not hasattr(session.config, "workerinput"):
        if session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:  # all tests
            from tests.interop import plonky3

            session.config.stash[BUILD] = plonky3.start_build()
        from graphprover.runtime import numba_cache

        if not numba_cache.level():
            command = [sys.executable, "-m", "graphprover", "warm", "--device", "cpu"]
            subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
