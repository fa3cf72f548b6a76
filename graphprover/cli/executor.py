"""Options for executor, device, memory and workers, and their translation to Dask's configuration."""

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import TypeVar

from graphprover.cli.args import DEVICE_HELP, MACHINE, add_device, count, group_of
from graphprover.graphs.executor_names import AUTO, CLUSTERS, LOCAL, THREADS
from graphprover.graphs.scheduler_address import address_error, address_in
from graphprover.proving.settings import ProvingSettings, applied
from graphprover.runtime import background

T = TypeVar("T")

DASHBOARD_ADDRESS = "127.0.0.1:8787"  # of the clusters that the command starts: reachable from this host only


def add_executor(parser: argparse.ArgumentParser) -> None:
    """Add the options for executor, device, memory, workers and dashboard."""
    group_of(parser, MACHINE).add_argument(
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
    group = group_of(parser, MACHINE)
    group.add_argument(
        "--pool",
        type=amount,
        metavar="BYTES",
        help="Most GPU memory that all proofs on a GPU may hold: bytes such as 40GiB, or a fraction such as 0.8. "
        "Default: 0.9.",
    )
    group.add_argument(
        "--memory-limit",
        type=amount,
        metavar="BYTES",
        help="Most memory of this host that all CPU proofs may hold: bytes such as 40GiB, or a fraction such as 0.8. "
        "Default: 0.8.",
    )
    group.add_argument(
        "--workers",
        type=count,
        metavar="N",
        help=f"Number of worker processes that are started: of processes in all, of cuda for each GPU. Default: "
        f"{number}.",
    )
    group.add_argument(
        "--mps",
        action="store_true",
        default=None,
        help="Only for cuda: start NVIDIA's Multi-Process Service, so that kernels of several processes run on "
        "a GPU at the same time. Up to 3 times as many small proofs per second, but a GPU fault ends all its "
        "processes.",
    )
    group.add_argument(
        "--dashboard",
        nargs="?",
        const=DASHBOARD_ADDRESS,
        type=address,
        metavar="ADDRESS",
        help="Only for processes and cuda: serve Dask's dashboard at ADDRESS, and print its URL. Default "
        f"ADDRESS: {DASHBOARD_ADDRESS}. :8787 listens on all network interfaces; anyone who can reach this host can "
        "see it.",
    )


def picked(kind: type[T], options: argparse.Namespace) -> T:
    """Return a dataclass whose fields are options of the same names."""
    return kind(**{field.name: getattr(options, field.name) for field in fields(kind)})  # type: ignore[arg-type]


@contextmanager
def configured(options: argparse.Namespace, alone: str = THREADS) -> Iterator[ProvingSettings]:
    """Apply the options of `add_executor`, and yield them with the executor that auto has chosen; print the choice.

    Args:
        options: The command's parsed arguments.
        alone: The executor of auto without a background cluster.

    Raises:
        UsageError: An option does not fit the executor, or its value is invalid.
    """
    settings, choice = picked(ProvingSettings, options).chosen(alone)
    if choice:
        print(f"graphprover: {choice}", file=sys.stderr)
    with applied(settings):
        yield settings


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
