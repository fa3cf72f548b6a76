"""Options for executor, device, memory and workers, and their translation to Dask's configuration."""

import argparse
import logging
import os
import re
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphprover.cli.args import DEVICE_HELP, add_device, count
from graphprover.graphs.executor_names import AUTO, CLUSTERS, CUDA, HERE, LOCAL, THREADS
from graphprover.graphs.scheduler_address import address_error, address_in
from graphprover.runtime import background
from graphprover.runtime.errors import DEBUG, UsageError

DASHBOARD_ADDRESS = "127.0.0.1:8787"  # of the clusters that the command starts: reachable from this host only


def add_executor(parser: argparse.ArgumentParser) -> None:
    """Add the options for executor, device, memory, workers and dashboard."""
    parser.add_argument(
        "--executor",
        type=executor,
        default=AUTO,
        help="What makes proofs. auto (default): the cluster of `graphprover cluster start` if it runs, else "
        "threads; a batch also starts processes, on a GPU cuda, once they pay. "
        "threads: all threads of this process. sync: one thread. processes: worker processes on the cores of this "
        "host. cuda: worker processes on all GPUs of this host. tcp://ADDRESS, tls://ADDRESS or FILE.json (a scheduler "
        "file): the Dask cluster of that scheduler, which can run code on this host; outside your own network use "
        "tls:// and Dask's TLS settings. The proof has the same bytes with every executor.",
    )
    add_device(parser, f"Device that proves: {DEVICE_HELP}. The proof has the same bytes on every device.")
    add_workers(
        parser,
        "one for each core, at most 8 (for each GPU, 16 with --mps), and only as many as memory and the "
        "number of proofs allow",
    )


def add_workers(parser: argparse.ArgumentParser, number: str) -> None:
    """Add the options for memory, and for workers that are started and their dashboard.

    Args:
        parser: The parser.
        number: The default number of workers, as text.
    """
    parser.add_argument(
        "--pool",
        type=amount,
        metavar="BYTES",
        help="Most GPU memory that all proofs on a GPU may hold: bytes such as 40GiB, or a fraction such as 0.8. "
        "Default: 0.9.",
    )
    parser.add_argument(
        "--memory-limit",
        type=amount,
        metavar="BYTES",
        help="Most memory of this host that all CPU proofs may hold: bytes such as 40GiB, or a fraction such as 0.8. "
        "Default: 0.8.",
    )
    parser.add_argument(
        "--workers",
        type=count,
        metavar="N",
        help=f"Number of worker processes that are started: of processes in all, of cuda for each GPU. Default: "
        f"{number}.",
    )
    parser.add_argument(
        "--mps",
        action="store_true",
        default=None,
        help="Only for cuda: start NVIDIA's Multi-Process Service, so that kernels of several processes run on "
        "a GPU at the same time. Up to 3 times as many small proofs per second, but a GPU fault ends all its "
        "processes.",
    )
    parser.add_argument(
        "--dashboard",
        nargs="?",
        const=DASHBOARD_ADDRESS,
        type=address,
        metavar="ADDRESS",
        help="Only for processes and cuda: serve Dask's dashboard at ADDRESS, and print its URL. Default "
        f"ADDRESS: {DASHBOARD_ADDRESS}. :8787 listens on all network interfaces; anyone who can reach this host can "
        "see it.",
    )


@contextmanager
def configured(options: argparse.Namespace, alone: str = THREADS) -> Iterator[dict[str, object]]:
    """Apply the options of `add_executor` as Dask's configuration, and yield the settings; choose the executor of auto.

    Args:
        options: The command's parsed arguments.
        alone: The executor of auto without a background cluster.

    Raises:
        UsageError: An option does not fit the executor, or its value is invalid.
    """
    import dask

    from graphprover.runtime.settings import DASHBOARD, MEMORY_LIMIT, MPS, POOL, WORKERS, bytes_of

    given = {POOL: options.pool, MEMORY_LIMIT: options.memory_limit, WORKERS: options.workers}
    given |= {MPS: options.mps, DASHBOARD: options.dashboard}
    given = {name: value for name, value in given.items() if value is not None}
    if options.executor == AUTO:
        options.executor = _chosen(options.device, given, alone)
    for name in given:
        option = name.partition(".")[2]
        if name == DASHBOARD and options.executor not in CLUSTERS:
            state = "has no dashboard" if options.executor in HERE else "has its own dashboard, at its scheduler"
            raise UsageError(f"--{option}: {options.executor} {state}; the option is for {' and '.join(CLUSTERS)}")
        if options.executor not in (*HERE, *CLUSTERS):
            variable = f"DASK_GRAPHPROVER__{option.replace('-', '_').upper()}"
            remedies = {WORKERS: "start more workers", MPS: "start NVIDIA's service before them, see docs/cluster.md"}
            remedy = remedies.get(name, f"set {variable} in their environment")
            raise UsageError(f"--{option}: the workers of {options.executor} are already running: {remedy}")
        if name == WORKERS and options.executor not in CLUSTERS:
            raise UsageError(f"--{option}: {options.executor} starts no workers; {' and '.join(CLUSTERS)} do")
        if name == MPS and options.executor != CUDA:
            raise UsageError(f"--{option}: {options.executor} starts no GPU processes; {CUDA} does")
    with dask.config.set(given), _quiet(options.executor):
        for name in given.keys() & {POOL, MEMORY_LIMIT}:
            try:
                bytes_of(name, 1 << 62)
            except ValueError as error:
                option = name.partition(".")[2]
                raise UsageError(f"--{option}: {str(error).removeprefix(f'{name}: ')}") from error
        yield given


def _chosen(device: str, given: Collection[str], alone: str) -> str:
    """Return the executor for ``auto``, and print a line if it is the background cluster, or why it is not."""
    from graphprover.runtime.settings import MEMORY_LIMIT, POOL

    if given:  # settings of this process, and of processes that it starts
        return alone if {POOL, MEMORY_LIMIT}.issuperset(given) else THREADS

    found, reason = background.usable(device)
    if found:
        print(f"graphprover: the running cluster proves ({found})", file=sys.stderr)
    elif reason:
        print(f"graphprover: this process proves: {reason}", file=sys.stderr)
    return found or alone


@contextmanager
def _quiet(executor: str) -> Iterator[None]:
    """Suppress the tracebacks that Dask's client logs if its scheduler is lost; the command reports this error."""
    if executor in LOCAL or DEBUG in os.environ:
        yield
        return

    def nothing(record: logging.LogRecord) -> bool:
        return False

    log = logging.getLogger("distributed.client")
    log.addFilter(nothing)  # a log level would be overwritten by the import of Dask's client
    try:
        yield
    finally:
        log.removeFilter(nothing)


def check_device(options: argparse.Namespace) -> None:
    """Raise UsageError for an unknown device, or one that this host lacks if this process is to prove."""
    from graphprover.device.choose import device_for, profile_of

    try:
        if options.executor in HERE:
            device_for(options.device)
        else:
            profile_of(options.device)
    except ValueError as error:
        raise UsageError(f"--device: {error}") from error


def executor(text: str) -> str:
    """Return the name of an executor, as `graphprover.proving.executor.executor_of` accepts it."""
    if text in (AUTO, *LOCAL, *CLUSTERS):
        return text
    if "://" in text:
        if reason := address_error(text):
            raise argparse.ArgumentTypeError(f"{text}: {reason}")
        return text
    if not text.endswith(".json"):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither {', '.join((AUTO, *LOCAL, *CLUSTERS))}, tcp://ADDRESS nor a scheduler's FILE.json"
        )
    file = Path(text)
    if not file.is_file():
        raise argparse.ArgumentTypeError(f"{text}: no such file; `dask scheduler --scheduler-file {text}` writes it")
    if not background.read(file):
        try:
            address_in(file)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text}: {error}") from error
    return text


def address(text: str) -> str:
    """Return the address of a server."""
    if not re.fullmatch(r"\S*:\d+", text):
        raise ValueError
    return text


address.__name__ = "HOST:PORT or :PORT"  # argparse prints the name in its error


def amount(text: str) -> str | float:
    """Return an amount of memory, as `graphprover.runtime.settings.bytes_of` accepts it: bytes or a fraction."""
    with suppress(ValueError):
        if 0 < (share := float(text)) <= 1 or not share.is_integer():
            return share
    return text
