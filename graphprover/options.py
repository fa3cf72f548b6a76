"""Arguments of the command line: what is refused, and the types that several commands share."""

import argparse
import logging
import math
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from graphprover.files import STREAM
from graphprover.graphs.executor_names import CLUSTERS, CUDA, LOCAL, THREADS

OK, FAILED, USAGE = 0, 1, 2  # exit codes; `__main__` has those of signals

PAGE, FACTS = ".html", ".json"  # how the name of a report's file ends

DEBUG = "GRAPHPROVER_DEBUG"  # set, errors come with their traceback, and the log says what runs

DASHBOARD_ADDRESS = "127.0.0.1:8787"  # of a cluster that we start: where users of this host find it, and no others

READ = ("proof", "subject", "guest", "jobs", "input", "expect_output")  # options that name a file to read
WRITTEN = ("output", "svg", "html", "summary", "profile", "trace")  # a file to write


class UsageError(Exception):
    """Arguments, or files in their place, that make no sense; each argument of the exception is a line."""


def outputs(options: argparse.Namespace) -> list[Path]:
    """The files that a command writes."""
    return _paths(options, WRITTEN)


def check_files(options: argparse.Namespace) -> None:
    """Raises UsageError where standard input, standard output or a file that is written would serve two purposes."""
    if _paths(options, READ).count(STREAM) > 1:
        raise UsageError("standard input (-) can be read once")
    written = outputs(options).count(STREAM)
    if written > 1 or (written and getattr(options, "json", False)):
        raise UsageError("standard output (-) takes one thing: a file, or what --json prints")
    reports = getattr(options, "report", None) or ()
    files = [path for path in [*outputs(options), *reports] if path not in (None, STREAM)]
    for path, times in Counter(map(Path.resolve, files)).items():
        if times > 1:
            raise UsageError(f"{path}: two files of this command would be written there")


def _paths(options: argparse.Namespace, names: Sequence[str]) -> list[Path]:
    given = (getattr(options, name, None) for name in names)
    return [Path(value) for value in given if value is not None]


def add_json(parser: argparse.ArgumentParser) -> None:
    """``--json``, of the commands that report something."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text (see docs/cli.md)")


def bits(text: str) -> float:
    """A level of security; argparse tells the name in its message."""
    level = float(text)
    if not 0 < level < math.inf:
        raise ValueError
    return level


bits.__name__ = "number of bits"


def count(text: str) -> int:
    """How many; argparse tells the name in its message."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


count.__name__ = "number from 1 on"


def address(text: str) -> str:
    """Where to serve; argparse tells the name in its message."""
    if not re.fullmatch(r"\S*:\d+", text):
        raise ValueError
    return text


address.__name__ = "HOST:PORT or :PORT"


def amount(text: str) -> str | float:
    """So many bytes, or a share of all, as ``graphprover.settings`` has them."""
    with suppress(ValueError):
        if 0 < (share := float(text)) <= 1 or not share.is_integer():
            return share
    return text


def report(text: str) -> Path:
    """The file of a report, whose ending says what it holds."""
    path = Path(text)
    if path.suffix not in (PAGE, FACTS):
        raise argparse.ArgumentTypeError(
            f"{text} is neither FILE.html nor FILE.json; the report as text needs no FILE: write --report last"
        )
    return path


def add_report(parser: argparse.ArgumentParser, text: str) -> None:
    """``--report`` and ``--trace``; ``text`` says what the former prints."""
    parser.add_argument(
        "--report",
        type=report,
        nargs="?",
        action="append",
        metavar="FILE",
        help=f"print {text}; with FILE.html or FILE.json, write what was seen there instead (both may be given)",
    )
    parser.add_argument(
        "--trace", type=Path, metavar="FILE", help="write a time line as a Chrome trace, which Perfetto opens"
    )


def asks(options: argparse.Namespace) -> bool:
    """Whether `add_report` was told of anything, so that proofs are to be observed."""
    return bool(options.report or options.trace)


def report_files(options: argparse.Namespace) -> list[Path]:
    """The files that `add_report` was told of."""
    return [path for path in [*(options.report or ()), options.trace] if path is not None]


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

    from graphprover.settings import DASHBOARD, MEMORY_LIMIT, MPS, POOL, WORKERS, bytes_of

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
