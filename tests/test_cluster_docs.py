"""The commands of docs/cluster.md and docs/cluster_setup.md.

Those for one host run unchanged, with and without TLS; the others name existing options and settings.
"""

import ast
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import dask
import psutil
import pytest
import yaml
from distributed import Client, Security
from distributed.cli import dask_scheduler, dask_worker

from graphprover import Proof, prove
from graphprover.device.choose import gpus
from graphprover.examples import memory
from graphprover.runtime import settings
from tests.graphs.test_proof_graph import FEW, example

ROOT = Path(__file__).parents[1]
LONG_WAIT = "DASK_GRAPHPROVER__WAIT"  # kernels may have to be compiled first
PAGE = "\n".join((ROOT / f"docs/{name}.md").read_text() for name in ("cluster", "cluster_setup"))
SCHEDULER_PORT = 8786
PORTS_BY_HAND = 5  # the second table's commands for a scheduler and one worker


def section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def shell(text: str) -> list[str]:
    """Return the first block of commands."""
    found = re.search(r"(?:^    .+\n)+", text, re.MULTILINE)
    assert found
    return [line.strip() for line in found[0].splitlines()]


def fenced(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def replaced(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


@contextmanager
def pasted(folder: Path, block: str, **environment: str) -> Iterator[int]:
    """Run a block of commands as in a shell of its own, and yield the session of its processes, which all end."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    own = {"PATH": path, "PYTHONPATH": str(ROOT), "DASK_TEMPORARY_DIRECTORY": str(folder), LONG_WAIT: "240"}
    with (folder / "log").open("w") as log:
        running = subprocess.Popen(
            ["bash", "-e", "-c", block],
            cwd=folder,
            env=os.environ | own | environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            assert running.wait(600) == 0, (folder / "log").read_text()
            yield running.pid
        finally:
            with suppress(ProcessLookupError):  # all have ended
                os.killpg(running.pid, signal.SIGKILL)


def listening(session: int) -> list[str]:
    """Return the addresses of the ports on which processes of a session listen."""
    found: list[str] = []
    for process in psutil.process_iter():
        with suppress(ProcessLookupError, psutil.NoSuchProcess):  # a process has ended in the meantime
            if os.getsid(process.pid) == session:
                ports = process.net_connections("inet")
                found += [port.laddr.ip for port in ports if port.status == psutil.CONN_LISTEN]
    return found


WITHOUT_FENCES = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
BLOCKS = re.findall(r"(?:^    .+\n)+", WITHOUT_FENCES, re.MULTILINE)
ELSEWHERE = ("HOST", "dask cuda worker")  # blocks for other hosts, or for packages that few have


@contextmanager
def stopped(environment: dict[str, str]) -> Iterator[None]:
    """Fail if a background cluster is left at the end, and stop it."""
    try:
        yield
    finally:
        ended = [sys.executable, "-m", "graphprover", "cluster", "stop"]
        done = subprocess.run(
            ended, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=True, timeout=600
        )
    assert done.stdout.startswith("no cluster runs")


def is_free(port: int) -> bool:
    with socket.socket() as server:
        return server.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize(
    "block",
    # Those by hand also run with TLS, in another test.
    [pytest.param(block, marks=pytest.mark.slow if "dask scheduler" in block else ()) for block in BLOCKS],
    ids=lambda block: " ".join(block.split()[:3]),
)
def test_each_block_of_commands_runs_as_it_is_pasted(block: str, tmp_path: Path) -> None:
    if any(name in block for name in ELSEWHERE):
        pytest.skip("needs other hosts or packages")
    if "cuda" in block and not gpus():
        pytest.skip("no GPU")
    if "openssl" in block and shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    if "dask scheduler" in block and not is_free(SCHEDULER_PORT):
        pytest.skip(f"port {SCHEDULER_PORT} is in use")
    shutil.copy(ROOT / "examples/guests/fib_iterative.elf", tmp_path / "guest.elf")
    (tmp_path / "data").write_bytes(struct.pack("<Q", 300))
    (tmp_path / "jobs.toml").write_text('[[job]]\nprogram = "guest.elf"\ninput = "data"\noutput = "proof.bin"\n')
    (tmp_path / "runtime").mkdir(mode=0o700)
    runtime = {"XDG_RUNTIME_DIR": str(tmp_path / "runtime")}
    with stopped(runtime), pasted(tmp_path, block, **runtime) as session:
        if "dask scheduler" in block:
            assert set(listening(session)) == {"127.0.0.1"} and len(listening(session)) == PORTS_BY_HAND + 3
        else:
            assert not listening(session)
    if "guest.elf" in block or "jobs.toml" in block:
        assert Proof.load(tmp_path / "proof.bin").label.startswith("guest.elf ")
    if "verify" in block:
        assert (tmp_path / "log").read_text().rstrip().endswith("valid")


def test_blocks_are_found_and_most_run_somewhere() -> None:
    assert len(BLOCKS) == 8 and sum(any(name in block for name in ELSEWHERE) for block in BLOCKS) == 2


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_by_tls_and_strangers_are_refused(tmp_path: Path) -> None:
    (command,), (configuration,) = shell(section("TLS")), fenced("yaml", section("TLS"))
    ours, strangers, config = (tmp_path / name for name in ("ours", "strangers", "dask"))
    for folder in (ours, strangers, config):
        folder.mkdir()
    for folder in (ours, strangers):
        subprocess.run(shlex.split(command), cwd=folder, check=True, capture_output=True)
    settled = replaced(configuration, "/etc/graphprover", str(ours))
    (config / "tls.yaml").write_text(settled)
    _, scheduler, until, here, workers, *_ = shell(section("By hand"))
    scheduler = replaced(replaced(scheduler, "dask scheduler", "dask scheduler --port 0"), ":8787", ":0")
    cold = replaced(replaced(workers, " --preload graphprover.worker", ""), "--nworkers 2", "--nworkers 1")
    with pasted(tmp_path, "\n".join([scheduler, until, here, cold]), DASK_CONFIG=str(config)) as session:
        address = json.loads((tmp_path / "sched.json").read_text())["address"]
        assert address.startswith("tls://")
        statement = example(memory)
        settings_of_tls = dask.config.merge(dask.config.config, yaml.safe_load(settled), {"graphprover": {"wait": 240}})
        with dask.config.set(settings_of_tls):
            proof = prove(statement, address, parameters=FEW, device="cpu")
        assert proof == prove(statement, "sync", parameters=FEW, device="cpu")
        assert listening(session) == ["127.0.0.1"] * PORTS_BY_HAND
        certificate, key = str(strangers / "cert.pem"), str(strangers / "key.pem")
        stranger = Security(tls_ca_file=str(ours / "cert.pem"), tls_client_cert=certificate, tls_client_key=key)
        for target, security in ((address, stranger), (address.replace("tls", "tcp"), None)):
            with pytest.raises(OSError):
                Client(target, security=security, timeout="1s")
        with pytest.raises(ValueError, match="TLS needs Dask's settings"):  # without a certificate
            prove(statement, address, parameters=FEW, device="cpu")


def options_of(command: Any) -> set[str]:
    return {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}


def dask_commands() -> Iterator[list[str]]:
    """Return every command of Dask on the page, as words."""
    for line in re.findall(r"^    .*?\b(dask .*)$", PAGE, re.MULTILINE):
        yield shlex.split(line.rstrip(' &"'))
    for manifest in fenced("yaml", section("Kubernetes")):
        for part in yaml.safe_load(manifest)["spec"].values():
            yield from (one["command"] + one.get("args", []) for one in part["spec"]["containers"])
    for code in fenced("python", section("SLURM")):
        calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.keyword)]
        yield from (["dask", "worker", *ast.literal_eval(k.value)] for k in calls if k.arg == "worker_extra_args")


def test_commands_of_dask_have_options_that_exist() -> None:
    known = {"scheduler": options_of(dask_scheduler.main), "worker": options_of(dask_worker.main)}
    if importlib.util.find_spec("dask_cuda"):
        known["cuda"] = options_of(importlib.import_module("dask_cuda.cli").worker)
    commands = [words[1:] for words in dask_commands()]
    assert {command for command, *_ in commands} == {"scheduler", "worker", "cuda"}
    for command, *words in commands:
        options = {word for word in words if word.startswith("--")}
        assert options <= known.get(command, options), command


def test_the_manifest_is_one_cluster() -> None:
    (text,) = fenced("yaml", section("Kubernetes"))
    manifest = yaml.safe_load(text)
    name, spec = manifest["metadata"]["name"], manifest["spec"]
    assert f"tcp://{name}-scheduler:8786" in PAGE
    assert spec["scheduler"]["service"]["selector"]["dask.org/cluster-name"] == name
    images = {container["image"] for part in spec.values() for container in part["spec"]["containers"]}
    assert len(images) == 1  # equal versions on both


def test_the_settings_are_those_that_there_are() -> None:
    rows = dict(re.findall(r"^\| `([\w.-]+)` \| \w+ \| ([^|]+) \|", section("Settings"), re.MULTILINE))
    ours = {name: default for name, default in rows.items() if name.startswith("graphprover.")}
    expected = {name: "none" if value is None else f"{value:g}" for name, value in settings.DEFAULTS.items()}
    assert ours == expected | {settings.WORKERS: "chosen"}
    for name in rows.keys() - ours.keys():
        assert rows[name] == str(dask.config.get(name))


def test_a_batch_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = fenced("python", section("In one line"))
    for folder in ("inputs", "proofs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "inputs/abc").write_bytes(b"abc")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(replaced(code, '"cuda"', '"threads"'), {"__name__": "__main__"})
    assert Proof.load(tmp_path / "proofs/abc.bin").label.startswith("sha256.elf ")
