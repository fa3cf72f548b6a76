"""The options of the process that proves, in one table: commands and the documents take them from it.

They change no proof. So they are no keys of a job in a batch file, nor fields of a request to the service.
"""

import re
from contextlib import suppress
from pathlib import Path

from graphprover.graphs.executor_names import AUTO, CLUSTERS, LOCAL
from graphprover.graphs.scheduler_address import address_error, address_in
from graphprover.jobs.option import YES, Option, UnreadableText, Values, is_a, text, whole
from graphprover.jobs.options import PLAN, PROVE, PROVER
from graphprover.runtime import background

MACHINE = "machine"  # the group of these options
BATCH_COMMAND, COMPRESS, AGGREGATE, SERVE, START, WARM = (
    "batch",
    "compress",
    "aggregate",
    "serve",
    "cluster start",
    "warm",
)

DEVICES = "auto (the first GPU, or the CPU if there is none), cpu, cuda or cuda:NUMBER"
DASHBOARD_ADDRESS = "127.0.0.1:8787"  # of the clusters that a command starts: reachable from this host only

_PROVING = (PROVE, BATCH_COMMAND, COMPRESS, AGGREGATE, SERVE)  # commands that prove
_STARTING = (*_PROVING, START)  # commands that start workers


def _read_executor(text: str) -> str:
    """Return the name of an executor, as `graphprover.proving.executor.executor_of` accepts it."""
    if text in (AUTO, *LOCAL, *CLUSTERS):
        return text
    if "://" in text:
        if reason := address_error(text):
            raise UnreadableText(f"{text}: {reason}")
        return text
    if not text.endswith(".json"):
        raise UnreadableText(
            f"{text!r} is neither {', '.join((AUTO, *LOCAL, *CLUSTERS))}, tcp://ADDRESS nor a scheduler's FILE.json"
        )
    file = Path(text)
    if not file.is_file():
        raise UnreadableText(f"{text}: no such file; `dask scheduler --scheduler-file {text}` writes it")
    if not background.read(file):
        try:
            address_in(file)
        except ValueError as error:
            raise UnreadableText(f"{text}: {error}") from error
    return text


def _read_amount(text: str) -> str | float:
    """Return an amount of memory, as `graphprover.runtime.settings.bytes_of` accepts it: bytes or a fraction."""
    with suppress(ValueError):
        if 0 < (share := float(text)) <= 1 or not share.is_integer():
            return share
    return text


_EXECUTOR = Values(
    str,
    f"{', '.join((AUTO, *LOCAL, *CLUSTERS))}, a scheduler's address or its FILE.json",
    lambda value: isinstance(value, str) and bool(value),
    _read_executor,
    "EXECUTOR",
)
_AMOUNT = Values(
    str | float,
    "bytes such as 40GiB, or a fraction such as 0.8",
    lambda value: is_a(str | int | float, value) and bool(value),
    _read_amount,
    "BYTES",
)
_ADDRESS = Values(
    str,
    "HOST:PORT or :PORT",
    lambda value: isinstance(value, str) and bool(re.fullmatch(r"\S*:\d+", value)),
    str,
    "ADDRESS",
)

MACHINE_OPTIONS = (
    Option(
        "executor",
        _EXECUTOR,
        MACHINE,
        (*_PROVING, PROVER),
        "What makes proofs. auto: the cluster of `graphprover cluster start` if it runs, else threads; a batch also "
        "starts processes, on a GPU cuda, once they pay. threads: all threads of this process. sync: one thread. "
        "processes: worker processes on the cores of this host. cuda: worker processes on all GPUs of this host. "
        "tcp://ADDRESS, tls://ADDRESS or FILE.json (a scheduler file): the Dask cluster of that scheduler, which can "
        "run code on this host; outside your own network use tls:// and Dask's TLS settings. The proof has the same "
        "bytes with every executor.",
        AUTO,
    ),
    Option(
        "device",
        text("the name of a device", "NAME"),
        MACHINE,
        (*_PROVING, PLAN, WARM, PROVER),
        f"Device that proves: {DEVICES}. The proof has the same bytes on every device.",
        "auto",
    ),
    Option(
        "pool",
        _AMOUNT,
        MACHINE,
        _STARTING,
        "Most GPU memory that all proofs on a GPU may hold: bytes such as 40GiB, or a fraction such as 0.8.",
        without="0.9",
    ),
    Option(
        "memory_limit",
        _AMOUNT,
        MACHINE,
        _STARTING,
        "Most memory of this host that all CPU proofs may hold: bytes such as 40GiB, or a fraction such as 0.8.",
        without="0.8",
    ),
    Option(
        "workers",
        whole("a positive integer"),
        MACHINE,
        _STARTING,
        "Number of worker processes that are started: of processes in all, of cuda for each GPU.",
        without="one for each core, at most 8 (for each GPU, 16 with --mps), and only as many as memory and the number "
        "of proofs allow",
    ),
    Option(
        "mps",
        YES,
        MACHINE,
        _STARTING,
        "Only for cuda: start NVIDIA's Multi-Process Service, so that kernels of several processes run on a GPU at the "
        "same time. Up to 3 times as many small proofs per second, but a GPU fault ends all its processes.",
        False,
    ),
    Option(
        "dashboard",
        _ADDRESS,
        MACHINE,
        _STARTING,
        "Only for processes and cuda: serve Dask's dashboard at ADDRESS, and print its URL. :8787 listens on all "
        "network interfaces; anyone who can reach this host can see it.",
        bare=DASHBOARD_ADDRESS,
    ),
)
