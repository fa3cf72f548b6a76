"""Clusters for tests, and what happens to their workers."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import dask
from distributed import Client, LocalCluster

from graphprover import Proof

ROOT = Path(__file__).parents[2]


@contextmanager
def workers(number: int) -> Iterator[Client]:
    """Start processes, each with a nanny, which restarts it when it dies.

    A LocalCluster checks once, some time after a loss, and gives up a worker that is absent then, even if it was lost
    again meanwhile; so the time is long. Its logs are not silenced, because that would silence pytest's caplog, too.
    """
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"}),
        LocalCluster(
            n_workers=number, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=False
        ) as made,
        Client(made) as client,
    ):
        yield client


@contextmanager
def by_hand(
    tmp_path: Path, preloads: list[str], *more: str, present: int | None = None
) -> Iterator[tuple[Client, subprocess.Popen[bytes]]]:
    """Start a scheduler, and a worker without a nanny for each preload: Python code that the worker runs first.

    ``present``: how many workers to wait for, all by default.
    """
    file, environment = tmp_path / "scheduler.json", os.environ | {"PYTHONPATH": str(ROOT)}
    options = ["--scheduler-file", str(file)]
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    scheduler = subprocess.Popen(
        [*program, *options, "--port", "0", "--no-dashboard"], env=environment, stderr=subprocess.DEVNULL
    )
    started = [scheduler]
    try:
        for number, preload in enumerate(preloads):
            path = tmp_path / f"preload{number}.py"
            path.write_text(textwrap.dedent(preload))
            command = [sys.executable, "-m", "distributed.cli.dask_worker", *options, "--no-nanny", "--nthreads", "1"]
            command += ["--no-dashboard", "--preload", str(path), "--local-directory", str(tmp_path), *more]
            started.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))
        until(file.is_file)
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(len(preloads) if present is None else present, timeout=300)
            yield client, scheduler
    finally:
        for process in started:
            process.kill()
            process.wait()


def until(
    true: Callable[[], bool], seconds: float = 300, reason: Callable[[], object] = lambda: "nothing happened"
) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, reason()
        time.sleep(0.02)


def present(client: Client) -> dict[str, dict[str, Any]]:
    """Return the scheduler's information on each worker; `Client.scheduler_info` is empty now and then."""
    scheduler: Any = client.scheduler
    return dict(client.sync(scheduler.identity, n_workers=-1)["workers"])


def pids(client: Client) -> dict[str, int]:
    return client.run(os.getpid)


def proving(client: Client) -> list[str]:
    """Return the addresses of the workers that have a proof."""
    return [address for address, keys in client.processing().items() if keys]


def in_background(function: Callable[[], Proof]) -> "Future[Proof]":
    pool = ThreadPoolExecutor(1)
    future = pool.submit(function)
    pool.shutdown(wait=False)
    return future


def soon(client: Client, function: Callable[[], Any], seconds: float = 600) -> Any:
    """Return the function's value; after a timeout, fail with the scheduler's tasks and the workers' stacks."""
    done = in_background(function)
    with suppress(TimeoutError):
        return done.result(seconds)

    def tasks(dask_scheduler: Any) -> list[str]:
        return [f"{task}: {task.state} by {task.processing_on}" for task in dask_scheduler.tasks.values()]

    lines, scheduler = client.run_on_scheduler(tasks), cast(Any, client.scheduler)
    for address, keys in client.processing().items():
        if keys:
            with suppress(TimeoutError):  # a stopped worker does not answer
                stacks: Any = client.sync(scheduler.call_stack, keys=list(keys), callback_timeout=5)
                lines += [line for stack in stacks.get(address, {}).values() for line in stack]
    raise AssertionError("\n".join(lines))
