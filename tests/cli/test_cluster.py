"""``graphprover cluster``: workers in the background, how commands find them, and their end."""

import json
import os
import re
import signal
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from graphprover import Prover, prove_many
from graphprover.cli import cluster as command
from graphprover.cli.main import main
from graphprover.proving.executor import Local, OnCluster, executor_of
from graphprover.runtime import background, forked
from graphprover.runtime.background import Background, BackgroundState
from graphprover.runtime.errors import FAILED, OK, USAGE
from tests.cluster.processes import ROOT, until
from tests.slow import slow_after

GUEST = ROOT / "examples/guests/fib_iterative.elf"
TURNS = struct.pack("<Q", 300)
LIMIT = 120  # seconds


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the background cluster a folder of its own."""
    folder = tmp_path_factory.mktemp("runtime")
    folder.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        yield folder


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give the test a folder, and end its cluster."""
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder
    assert main(["cluster", "stop"]) == OK
    assert not left(folder)


@pytest.fixture(scope="module")
def cluster(runtime: Path) -> Iterator[Background]:
    """Start a cluster."""
    assert main(["cluster", "start", "processes"]) == OK
    _, found = background.found()
    assert found
    yield found
    assert main(["cluster", "stop"]) == OK
    until(lambda: not alive([found.pid, *found.worker_pids]))
    assert not left(runtime)


def left(folder: Path) -> list[str]:
    """Return the names of the cluster's files but for its lock."""
    return [path.name for path in folder.glob("graphprover-*/cluster*") if path.suffix != ".lock"]


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]


def servers() -> list[psutil.Process]:
    """Return the processes of background clusters with the folder of this test."""
    found = []
    for process in psutil.process_iter():
        try:
            if command.SERVER in process.cmdline() and process.environ().get("XDG_RUNTIME_DIR") == os.environ.get(
                "XDG_RUNTIME_DIR"
            ):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_its_file_is_private_and_names_its_processes(cluster: Background) -> None:
    path = background.file()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_text())["address"] == cluster.address and cluster.address.startswith("tls://127.0.0.1:")
    assert alive([cluster.pid, *cluster.worker_pids]) == [cluster.pid, *cluster.worker_pids]
    assert len(cluster.worker_pids) == 1 and cluster.dashboard is None
    assert "PRIVATE KEY" not in repr(cluster)


def test_commands_find_it(
    cluster: Background, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").write_bytes(TURNS)
    Path("jobs.toml").write_text(f'[[job]]\nprogram = "{GUEST}"\ninput = "data"\noutput = "batch.bin"\n')
    line = f"graphprover: the running cluster proves ({background.file()})"
    arguments = ["prove", str(GUEST), "--input", "data", "-o"]
    assert main([*arguments, "by_cluster"]) == OK and line in capsys.readouterr().err.splitlines()
    assert main(["batch", "jobs.toml", "--json"]) == OK
    found = capsys.readouterr()
    assert line in found.err.splitlines() and json.loads(found.out)["results"][0]["worker"].startswith("tls://")
    assert main([*arguments, "here", "--executor", "threads"]) == OK
    assert main([*arguments, "limited", "--memory-limit", "0.5"]) == OK  # a setting of this process
    assert line not in capsys.readouterr().err
    assert len({Path(name).read_bytes() for name in ("by_cluster", "batch.bin", "here", "limited")}) == 1
    assert main([*arguments, "no", "--workers", "2"]) == USAGE
    assert "--workers: threads starts no workers" in capsys.readouterr().err


def test_python_finds_it(cluster: Background) -> None:
    guest = Prover(GUEST, executor="auto")
    (result,) = prove_many([guest.job(TURNS)], "auto")
    assert result.worker.startswith("tls://") and result.proof == guest.prove(TURNS)
    assert isinstance(executor_of("auto", "cpu"), OnCluster) and isinstance(executor_of("threads", "cpu"), Local)


def test_status(cluster: Background, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "status", "--json"]) == OK
    found = json.loads(capsys.readouterr().out)
    assert (found["state"], found["address"], found["pid"]) == ("running", cluster.address, cluster.pid)
    (worker,) = found["workers"]
    assert [worker["pid"]] == cluster.worker_pids and worker["jobs"] == [] and worker["memory_bytes"] > 1 << 20
    assert found["versions"]["graphprover"] == cluster.versions["graphprover"]
    assert main(["cluster", "status"]) == OK
    out = capsys.readouterr().out
    assert (
        cluster.address in out and worker["address"] in out and f"graphprover {found['versions']['graphprover']}" in out
    )


def test_status_shows_running_jobs(cluster: Background, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from graphprover.cluster.client import background_client

    with background_client(cluster) as client:
        running = client.submit(time.sleep, 20, key=("prove-01234567-a-b",))
        until(lambda: any(client.processing().values()))
        assert main(["cluster", "status", "--json"]) == OK
        running.cancel()
    assert [worker["jobs"] for worker in json.loads(capsys.readouterr().out)["workers"]] == [["a-b"]]


def test_there_is_one(cluster: Background, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "start"]) == FAILED
    line = f"graphprover: a cluster runs already ({cluster.address}): graphprover cluster stop ends it"
    assert capsys.readouterr().err.splitlines() == [line]


def test_one_that_was_killed_is_named_and_replaced(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cluster", "start", "processes", "--workers", "1"]) == OK
    state, first = background.found()
    assert state is BackgroundState.RUNNING and first and len(first.worker_pids) == 1
    os.kill(first.pid, signal.SIGKILL)
    until(lambda: not alive([first.pid, *first.worker_pids]))
    capsys.readouterr()
    assert main(["cluster", "status"]) == FAILED
    assert capsys.readouterr().out.startswith(
        "the cluster has ended without removing its file; graphprover cluster stop"
    )
    assert main(["prove", str(GUEST), "-o", str(tmp_path / "proof"), "--exit-code", "any"]) == OK
    assert "this process proves: the cluster has ended without removing its file" in capsys.readouterr().err
    assert main(["cluster", "start", "processes", "--workers", "1"]) == OK
    _, second = background.found()
    assert second and second.pid != first.pid


def test_none_runs(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "status", "--json"]) == FAILED and main(["cluster", "stop"]) == OK
    out = capsys.readouterr().out.splitlines()
    assert out == ['{"state": "absent"}', "no cluster runs; graphprover cluster start starts one"]
    assert isinstance(executor_of("auto", "cpu"), Local)


@pytest.mark.parametrize("sent", slow_after(1, [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]))
def test_an_interrupted_start_leaves_nothing(sent: signal.Signals, own: Path) -> None:
    starting = subprocess.Popen(
        [sys.executable, "-m", "graphprover", "cluster", "start", "processes", "--workers", "2"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until(lambda: any(server.children() for server in servers()), LIMIT)
    pids = [process.pid for server in servers() for process in [server, *server.children(recursive=True)]]
    os.killpg(starting.pid, sent)
    out, _ = starting.communicate(timeout=LIMIT)
    assert out == b""
    until(lambda: not alive(pids) and not servers())
    assert not left(own) and background.found()[0] is BackgroundState.ABSENT


def test_one_that_does_not_start_is_explained(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "start", "cuda"]) == FAILED
    said = capsys.readouterr().err
    # On a slow host the progress comes first.
    assert "graphprover: the cluster did not start (exit code 1)" in said and "executor cuda" in said
    assert main(["cluster", "start", "processes", "--pool", "much"]) == USAGE
    assert not servers()


def described(**changes: object) -> Background:
    own = Background(
        "tls://127.0.0.1:1", "processes", 1, [2], None, 0.0, {"graphprover": background.__version__}, "", ""
    )
    return replace(own, **changes)


@pytest.mark.parametrize(
    ("changes", "device", "reason"),
    [
        ({}, "auto", ""),
        ({}, "cpu", ""),
        ({"kind": "cuda"}, "cuda", ""),
        ({"kind": "cuda"}, "cuda:1", "one of cuda, and its workers have no device cuda:1"),
        ({"kind": "cuda"}, "cpu", "one of cuda, and its workers have no device cpu"),
        ({"versions": {"graphprover": "0.0"}}, "auto", r"has graphprover 0\.0, and this is .*: restart it"),
    ],
)
def test_a_cluster_that_does_not_fit_is_not_used(
    changes: dict[str, object], device: str, reason: str, own: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lock = background.acquire()
    assert lock and background.acquire() is None
    with closing(lock):
        assert background.found() == (BackgroundState.STARTING, None)
        background.write(described(**changes))
        assert background.found()[0] is BackgroundState.RUNNING
        assert isinstance(executor_of("auto", device), Local if reason else OnCluster)
        found, why = background.usable(device)
        assert (found is None) == bool(reason)
        assert not reason or (re.search(reason, why) and why in caplog.text)
    assert background.found()[0] is BackgroundState.STALE


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, text in ((["--help"], "graphprover cluster start cuda"), (["start", "--help"], "with all cores")):
        with pytest.raises(SystemExit):
            main(["cluster", *arguments])
        assert text in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit):
        main(["cluster"])
    assert "ACTION" in capsys.readouterr().err


SLOW = """
import time
import numpy as np
from graphprover import Air

class Zero(Air):
    columns = ("value",)

    def define(self, t):
        t.every_row(t.value)

def tables():
    return [Zero()]

def prove_inputs(data):
    time.sleep(60)
    return [(np.zeros((1, 8), dtype=np.uint64), [])]

def describe(public_values):
    return {}
"""


def prove(*arguments: str, folder: Path, options: list[str] | None = None, **how: Any) -> "subprocess.Popen[bytes]":
    """Start ``graphprover prove`` as a shell does."""
    return subprocess.Popen(
        [sys.executable, *(options or []), "-m", "graphprover", "prove", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **how,
    )


def command_server(cluster: Background) -> psutil.Process:
    (found,) = (
        child for child in psutil.Process(cluster.pid).children() if "graphprover.cli.command_server" in child.cmdline()
    )
    return found


def test_a_first_command_imports_nothing(cluster: Background, tmp_path: Path) -> None:
    """The process of the command server has its streams, its folder and its exit code."""
    proving = prove(
        str(GUEST), "--input", "-", "-o", "-", folder=tmp_path, options=["-X", "importtime"], stdin=subprocess.PIPE
    )
    out, err = proving.communicate(TURNS, timeout=LIMIT)
    assert proving.returncode == OK and out == Prover(GUEST).prove(TURNS).to_bytes()
    assert b"cycles" in err and b"the running cluster proves" in err  # the report, since the proof goes to stdout
    assert b"import time" in err and b"numpy" not in err and b"dask" not in err
    missing = prove(str(GUEST), "--input", "none", "-o", "proof.bin", folder=tmp_path)
    assert b"none: No such file" in missing.communicate(timeout=LIMIT)[1] and missing.returncode == USAGE
    relative = prove(str(GUEST), "--exit-code", "any", "-o", "proof.bin", folder=tmp_path)
    assert b"proof.bin" in relative.communicate(timeout=LIMIT)[0] and (tmp_path / "proof.bin").is_file()
    until(lambda: not command_server(cluster).children())


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_a_command_of_the_command_server(
    sent: signal.Signals, cluster: Background, tmp_path: Path
) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    proving, server = prove("slow.py", "-o", "proof.bin", folder=tmp_path), command_server(cluster)
    until(lambda: len(server.children(recursive=True)) == 2)  # one of them attends to the other
    time.sleep(0.5)
    assert len(server.children(recursive=True)) == 2
    proving.send_signal(sent)
    _, err = proving.communicate(timeout=LIMIT)
    until(lambda: not server.children())
    if sent is not signal.SIGKILL:
        ending = {signal.SIGINT: b"interrupted", signal.SIGTERM: b"terminated"}[sent]
        assert proving.returncode == 128 + sent and err.splitlines()[-1] == b"graphprover: " + ending
    assert not (tmp_path / "proof.bin").exists()


def test_the_command_server_has_the_environment_of_the_command(
    cluster: Background, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASK_GRAPHPROVER__WAIT", "0.5")
    proving = prove(str(GUEST), "--device", "cuda", "-o", "proof.bin", folder=tmp_path)
    assert b"this process proves: the running cluster is one of processes" in proving.communicate(timeout=LIMIT)[1]
    assert proving.returncode == USAGE  # this host has no GPU


def test_which_commands_the_command_server_runs(cluster: Background, monkeypatch: pytest.MonkeyPatch) -> None:
    assert forked.has_server(["prove", "guest.elf"])
    for other in (["verify", "a"], ["prove", "a", "--executor=threads"], ["prove", "a", "--pool", "1"], []):
        assert not forked.has_server(other)
    assert forked.run(["prove"], "0.0") is None  # of another version
    monkeypatch.setenv("GRAPHPROVER_DEBUG", "1")
    assert not forked.has_server(["prove", "guest.elf"])
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nowhere")
    monkeypatch.setenv("TMPDIR", "/nowhere")
    assert forked.run(["prove"], "0.0") is None
