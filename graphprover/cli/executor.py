"""Who makes proofs, and by what: the options that say so, which are Dask's configuration while they do."""

import argparse
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphprover.cli.args import DEBUG, UsageError, count
from graphprover.graphs.executor_names import CLUSTERS, CUDA, LOCAL, THREADS

DASHBOARD_ADDRESS = "127.0.0.1:8787"  # of a cluster that we start: where users of this host find it, and no others


def add_executor(parser: argparse.ArgumentParser) -> None:
    """Who makes proofs, and what of this machine they may take."""
    parser.add_argument(
        "--executor",
        type=executor,
        default=THREADS,
        help="who makes proofs: threads of this process (default); sync, one thread; processes, as many as there are "
        "cores for; cuda, processes for all GPUs of this host; or a Dask cluster by the address of its scheduler or "
        "its scheduler file FILE.json, which is trusted to run code here (outside of your own network use "
        "tls://ADDRESS and Dask's settings for TLS); proofs have the same bytes",
    )
    parser.add_argument(
        "--device",
        default="auto",
        metavar="NAME",
        help="auto (default: the first GPU, else the CPU), cpu, cuda or cuda:NUMBER; proofs have the same bytes",
    )
    parser.add_argument(
        "--pool",
        type=amount,
        metavar="BYTES",
        help="of a GPU: what proofs take of its memory at most, as 40GiB, or 0.8 of all",
    )
    parser.add_argument(
        "--memory-limit", type=amount, metavar="BYTES", help="the same of this host's memory, for proofs by CPUs"
    )
    parser.add_argument(
        "--workers", type=count, metavar="N", help="of processes: how many; of cuda: how many for each GPU"
    )
    parser.add_argument(
        "--mps",
        action="store_true",
        default=None,
        help="of cuda: kernels of several processes run at the same time on a GPU, by NVIDIA's Multi-Process Service, "
        "which is started for them; makes up to three times as many small proofs, but a GPU that fails is lost to all",
    )
    parser.add_argument(
        "--dashboard",
        nargs="?",
        const=DASHBOARD_ADDRESS,
        type=address,
        metavar="ADDRESS",
        help=f"of processes and cuda: show Dask's dashboard there (default {DASHBOARD_ADDRESS}; :8787 is all networks "
        "of this host, where whoever comes sees it), and say where it is",
    )


@contextmanager
def configured(options: argparse.Namespace) -> Iterator[None]:
    """What `add_executor` was told of memory and workers, as Dask's configuration; raises UsageError for nonsense."""
    import dask

    from graphprover.runtime.settings import DASHBOARD, MEMORY_LIMIT, MPS, POOL, WORKERS, bytes_of

    given = {POOL: options.pool, MEMORY_LIMIT: options.memory_limit, WORKERS: options.workers}
    given |= {MPS: options.mps, DASHBOARD: options.dashboard}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        option = name.partition(".")[2]
        if name == DASHBOARD and options.executor not in CLUSTERS:
            whose = "shows none" if options.executor in LOCAL else "has its own, at its scheduler's"
            raise UsageError(f"--{option}: {options.executor} {whose}; {' and '.join(CLUSTERS)} get one")
        if options.executor not in (*LOCAL, *CLUSTERS):
            variable = f"DASK_GRAPHPROVER__{option.replace('-', '_').upper()}"
            remedies = {WORKERS: "start more of them", MPS: "start NVIDIA's service before them, see docs/cluster.md"}
            remedy = remedies.get(name, f"set {variable} for them")
            raise UsageError(f"--{option}: the workers of {options.executor} run already: {remedy}")
        if name == WORKERS and options.executor not in CLUSTERS:
            raise UsageError(f"--{option}: {options.executor} starts none; {' and '.join(CLUSTERS)} do")
        if name == MPS and options.executor != CUDA:
            raise UsageError(f"--{option}: {options.executor} starts no processes for GPUs; {CUDA} does")
    with dask.config.set(given), _quiet(options.executor):
        for name in given.keys() & {POOL, MEMORY_LIMIT}:
            try:
                bytes_of(name, 1 << 62)
            except ValueError as error:
                option = name.partition(".")[2]
                raise UsageError(f"--{option}: {str(error).removeprefix(f'{name}: ')}") from error
        yield


@contextmanager
def _quiet(executor: str) -> Iterator[None]:
    """Without the tracebacks that Dask's client logs where its scheduler is gone, which an error of ours tells."""
    if executor in LOCAL or DEBUG in os.environ:
        yield
        return

    def nothing(record: logging.LogRecord) -> bool:
        return False

    log = logging.getLogger("distributed.client")
    log.addFilter(nothing)  # a level would be replaced as Dask's client is imported
    try:
        yield
    finally:
        log.removeFilter(nothing)


def check_device(options: argparse.Namespace) -> None:
    """Raises UsageError for a device that there is not; workers of a cluster have devices of their own."""
    from graphprover.device.choose import device_for, profile_of

    try:
        if options.executor in LOCAL:
            device_for(options.device)
        else:
            profile_of(options.device)
    except ValueError as error:
        raise UsageError(f"--device: {error}") from error


def executor(text: str) -> str:
    """Who runs a graph; see ``graphs.executors.executor_for``."""
    if text in (*LOCAL, *CLUSTERS) or "://" in text:
        return text
    if text.endswith(".json"):
        if Path(text).is_file():
            return text
        raise argparse.ArgumentTypeError(f"{text}: no such file; `dask scheduler --scheduler-file {text}` writes it")
    raise argparse.ArgumentTypeError(
        f"{text!r} is neither {', '.join((*LOCAL, *CLUSTERS))}, tcp://ADDRESS nor a scheduler's FILE.json"
    )


def address(text: str) -> str:
    """Where to serve; argparse tells the name in its message."""
    if not re.fullmatch(r"\S*:\d+", text):
        raise ValueError
    return text


address.__name__ = "HOST:PORT or :PORT"


def amount(text: str) -> str | float:
    """So many bytes, or a share of all, as ``graphprover.runtime.settings`` has them."""
    with suppress(ValueError):
        if 0 < (share := float(text)) <= 1 or not share.is_integer():
            return share
    return text
