"""NVIDIA's Multi-Process Service for the processes of a cluster; a script replaces its daemon."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import dask
import pytest

from graphprover.cluster import ClusterError, processes
from graphprover.cluster.local import started, starting
from graphprover.cluster.mps import CONTROL, serving
from graphprover.runtime.settings import MPS
from tests.cluster.processes import ROOT, until
from tests.slow import slow_after

PIPES, LOGS = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"

DAEMON = """#!/bin/sh
if [ "$1" = -d ]; then echo "started $CUDA_MPS_PIPE_DIRECTORY" >> "$SAID"; echo "$TOLD"; exit "$STATUS"; fi
read -r line; echo "$line $CUDA_MPS_PIPE_DIRECTORY" >> "$SAID"
for i in $(seq 200); do touch "$CUDA_MPS_PIPE_DIRECTORY/$i"; done &  # as one that ends writes its log
"""


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the script, and return the path of its log of commands."""
    control = tmp_path / CONTROL
    control.write_text(DAEMON)
    control.chmod(0o755)
    found = tmp_path / "said"
    found.touch()
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SAID": str(found), "STATUS": "0", "TOLD": ""}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return found


def test_it_serves_as_long_as_it_is_needed(said: Path) -> None:
    with serving() as service:
        folder = Path(service[PIPES])
        assert service == {PIPES: str(folder), LOGS: str(folder)} and folder.is_dir()
        assert said.read_text() == f"started {folder}\n"
    assert said.read_text() == f"started {folder}\nquit {folder}\n"
    assert not folder.exists()


def test_it_ends_after_an_error(said: Path) -> None:
    with pytest.raises(KeyError), serving():
        raise KeyError
    assert said.read_text().count("quit") == 1


def test_it_ends_with_a_process_that_is_killed(said: Path) -> None:
    code = "from graphprover.cluster.mps import serving\nwith serving(): print('serves', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout and process.stdout.readline() == "serves\n"
        assert "quit" not in said.read_text()
        process.send_signal(signal.SIGKILL)
    until(lambda: "quit" in said.read_text())
    folder = Path(said.read_text().split()[1])
    until(lambda: not folder.exists())


def test_a_missing_service_is_reported(said: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOLD", "no device")
    monkeypatch.setenv("STATUS", "1")
    with pytest.raises(ClusterError, match=rf"MPS: {CONTROL} does not start: no device$"), serving():
        pass
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ClusterError, match=rf"MPS: no {CONTROL} on PATH: NVIDIA's driver includes it"), serving():
        pass


@pytest.mark.parametrize("by_mps", slow_after(1, [True, False]))
def test_processes_of_a_cluster_use_it_where_that_is_set(
    by_mps: bool, said: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "gpus", lambda: 1)
    with dask.config.set({MPS: by_mps}), started("cuda", 2) as client:
        seen = list(client.run(lambda: os.environ.get("CUDA_MPS_PIPE_DIRECTORY")).values())
        assert len(seen) == 2 and len(set(seen)) == 1 and bool(seen[0]) == by_mps
    assert said.read_text() == (f"started {seen[0]}\nquit {seen[0]}\n" if by_mps else "")


def test_processes_for_cpus_do_not(said: Path) -> None:
    with dask.config.set({MPS: True}), starting("processes", 1):
        assert not said.read_text()


def test_the_service_numbers_the_gpus_that_it_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"gpus": 2, "available_threads": 64}.items():
        monkeypatch.setattr(processes, name, lambda value=value: value)
    monkeypatch.setattr(processes, "memory_of", lambda number: 140 * 10**9)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,3")

    def names(by_mps: bool) -> list[str]:
        return [each["env"]["CUDA_VISIBLE_DEVICES"] for each in processes._for_gpus(None, None, by_mps)]

    assert names(False) == ["GPU-a", "3"] * 8
    assert names(True) == ["0", "1"] * 16
