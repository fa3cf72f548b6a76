"""``graphprover cluster``: workers of this host in the background, warm for the next proofs."""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from graphprover.cli import text_output
from graphprover.cli.args import Command, add_json, add_machine
from graphprover.cli.executor import configured
from graphprover.cli.json_output import Facts
from graphprover.cluster import ClusterError
from graphprover.graphs.executor_names import CLUSTERS, CUDA, PROCESSES
from graphprover.jobs.machine_options import START
from graphprover.runtime import background
from graphprover.runtime.background import Background, BackgroundState
from graphprover.runtime.display.section import Block, Section
from graphprover.runtime.errors import FAILED, OK

SERVER = "graphprover.cluster.background"
PATIENCE_SECONDS = 5.0  # after which `start` prints that it waits
END_SECONDS = 20.0  # in which the cluster's process ends by itself
SHOWN_LINES = 5  # of the log of a cluster that did not start


def add(command: Command) -> None:
    """Add the command to the command line."""
    parser = command(
        lambda options: OK,
        "The first proof of a process loads its kernels, and on a GPU creates a context; workers in the background "
        "have done so. `graphprover prove`, `batch` and `compress` find the cluster by themselves (--executor auto, "
        'the default), and so does Prover(executor="auto") in Python. Only you can connect to it.',
        ["start", "start processes --workers 4", "start cuda --dashboard", "status", "stop"],
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)

    def action(name: str, run: Callable[[argparse.Namespace], int], help: str, more: str) -> argparse.ArgumentParser:
        own = actions.add_parser(
            name,
            help=help,
            description=textwrap.fill(f"{help} {more}", 79),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        own.set_defaults(command=run)
        return own

    start = action(
        "start",
        _start,
        "Start the workers, and return once they are warm.",
        "They run until `graphprover cluster stop` or a restart of the host, and hold memory meanwhile. If this "
        "command is interrupted, they end.",
    )
    start.add_argument(
        "kind",
        nargs="?",
        choices=CLUSTERS,
        metavar="KIND",
        help=f"Workers for the GPUs ({CUDA}) or the cores ({PROCESSES}) of this host. Default: {CUDA} if it has a GPU.",
    )
    workers = (
        "of processes 1, with all cores; of cuda one for each core, at most 8 for each GPU (16 with --mps), and only "
        "as many as memory allows"
    )
    add_machine(start, START, {"workers": workers})
    add_json(start)
    add_json(action("status", _status, "Show the workers, their jobs and the versions.", "Fails if no cluster runs."))
    add_json(action("stop", _stop, "End the workers and the scheduler.", "Proofs in progress are lost."))


def _start(options: argparse.Namespace) -> int:
    from graphprover.device.choose import gpus

    options.executor, options.device = options.kind or (CUDA if gpus() else PROCESSES), "auto"
    with configured(options) as settings:
        began = time.monotonic()
        cluster = _started(settings.executor, settings.for_dask)
    facts = _facts(cluster) | {"seconds": time.monotonic() - began}

    def describe() -> list[Block]:
        number, seconds = len(cluster.worker_pids), facts["seconds"]
        shown = cluster.dashboard or "none (--dashboard serves one)"
        warm = f"{number} warm for {cluster.kind}, after {seconds:.1f} s"
        return [{"cluster": cluster.address, "workers": warm, "dashboard": shown, "file": str(background.file())}]

    text_output.say(facts, describe, options)
    return OK


def _started(kind: str, settings: dict[str, object]) -> Background:
    """Start the process of the cluster, and wait until it is ready; its end of the connection ends with this process.

    Raises:
        ClusterError: If a cluster runs already, or this one does not start.
    """
    state, there = background.found()
    if state in (BackgroundState.RUNNING, BackgroundState.STARTING):
        where = f" ({there.address})" if there else ""
        raise ClusterError(f"{state.value} already{where}: graphprover cluster stop ends it")
    background.remove()
    ours, theirs = socket.socketpair()
    path = os.pathsep.join(os.path.abspath(folder) for folder in sys.path)
    descriptor = os.open(background.log_file(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with ours, theirs, open(descriptor, "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", SERVER, kind, json.dumps(settings, allow_nan=False), str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | {"PYTHONPATH": path},
            cwd="/",
            pass_fds=(theirs.fileno(),),
            start_new_session=True,  # so that Ctrl-C reaches it through its connection only
        )
        theirs.close()
        ours.settimeout(PATIENCE_SECONDS)
        try:
            ready = ours.recv(1)
        except TimeoutError:
            print("graphprover: the workers load or compile kernels; waiting for them", file=sys.stderr)
            ours.settimeout(None)
            ready = ours.recv(1)
        if ready:
            ours.send(background.CONFIRMED)
    _, cluster = background.found()
    if not ready or not cluster:
        code = process.wait()
        lines = background.log_file().read_text(errors="replace").strip().splitlines()[-SHOWN_LINES:]
        background.remove()
        raise ClusterError("\n".join([f"the cluster did not start (exit code {code})", *lines]))
    return cluster


def _status(options: argparse.Namespace) -> int:
    state, cluster = background.found()
    if state is not BackgroundState.RUNNING or not cluster:
        return _none(state, options)
    from graphprover.cluster.client import background_client

    with background_client(cluster) as client:
        scheduler: Any = client.scheduler
        workers = client.sync(scheduler.identity, n_workers=-1)["workers"]
        jobs = {address: [_name(key) for key in keys] for address, keys in client.processing().items()}
        pids = client.run(os.getpid)
    facts = _facts(cluster) | {"up_seconds": time.time() - cluster.started}
    facts["workers"] = [
        {
            "address": address,
            "pid": pids.get(address),
            "memory_bytes": worker["metrics"]["memory"],
            "proofs": worker["metrics"].get("proofs", 0),
            "jobs": jobs.get(address, []),
        }
        for address, worker in workers.items()
    ]

    def describe() -> list[Block]:
        versions = ", ".join(f"{name} {version}" for name, version in cluster.versions.items())
        rows = [("worker", "process", "MiB", "proofs", "jobs")]
        for each in facts["workers"]:
            figures = each["pid"], f"{each['memory_bytes'] / 2**20:,.0f}", each["proofs"]
            rows.append((each["address"], *figures, ", ".join(each["jobs"]) or "none"))
        up = f"{cluster.kind}, for {facts['up_seconds'] / 60:,.0f} minutes, process {cluster.pid}"
        shown = cluster.dashboard or "none"
        lines = {"cluster": cluster.address, "runs": up, "dashboard": shown, "versions": versions}
        return [lines, Section(rows, "workers")]

    text_output.say(facts, describe, options)
    return OK


def _stop(options: argparse.Namespace) -> int:
    state, _ = background.found()
    if state is BackgroundState.ABSENT:
        _none(state, options)
        return OK
    if state is not BackgroundState.STALE:
        _end(background.locker())
    background.remove()
    ended = "stopped" if state is not BackgroundState.STALE else "removed the file of a cluster that had ended"
    text_output.say({"state": "stopped"}, lambda: [ended], options)
    return OK


def _end(pid: int) -> None:
    """End the process of the cluster, and with it its workers.

    Raises:
        ClusterError: If it does not end.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        end = time.monotonic() + END_SECONDS
        while background.is_locked() and time.monotonic() < end:
            time.sleep(0.05)
        if not background.is_locked():
            return
    raise ClusterError(f"process {pid} of the cluster does not end")


def _none(state: BackgroundState, options: argparse.Namespace) -> int:
    """Print that no cluster can be used, and why; return the exit code."""
    remedies = {
        BackgroundState.ABSENT: "graphprover cluster start starts one",
        BackgroundState.STARTING: "graphprover cluster status shows it once it is ready",
        BackgroundState.STALE: f"graphprover cluster stop removes {background.file()}",
    }
    text_output.say({"state": state.name.lower()}, lambda: [f"{state.value}; {remedies[state]}"], options)
    return FAILED


def _facts(cluster: Background) -> Facts:
    return {
        "state": BackgroundState.RUNNING.name.lower(),
        "address": cluster.address,
        "kind": cluster.kind,
        "pid": cluster.pid,
        "workers": len(cluster.worker_pids),
        "dashboard": cluster.dashboard,
        "versions": dict(cluster.versions),
        "file": str(background.file()),
    }


def _name(key: Any) -> str:
    """Return the name of a proof from its key (`graphprover.cluster.dispatcher`)."""
    first, *more = key if isinstance(key, tuple) else (key,)
    return str(more[0]) if more else str(first).split("-", 2)[-1]
