"""Common parts of check_cluster_cuda.py and check_shards_cuda.py: targets, a process for each measurement, options.

A measurement is a function of a module beside this one, from `cluster_figures.Here` and other arguments to `Figures`.
The module's `Sizes` are options of the script.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import dask
import numpy as np

import checkout  # noqa: F401 (finds the package)
from cluster_figures import Figures, Here, say, seconds_of
from graphprover import __version__
from graphprover.device.choose import gpus

COMPILING = 240  # seconds at most
RUN_STEP = "--step"  # the option for one measurement


@dataclass(frozen=True)
class Target:
    """A measured value and its limit."""

    name: str
    measured: float
    least: float | None = None  # exactly one of these two
    most: float | None = None
    unit: str = ""

    @property
    def met(self) -> bool:
        return self.measured >= self.least if self.least is not None else self.measured <= (self.most or 0)

    def __str__(self) -> str:
        limit = f">= {self.least:g}" if self.least is not None else f"<= {self.most:g}"
        return f"{self.name:56} {self.measured:10.3f} {self.unit:10} {limit:>9}  {'pass' if self.met else 'FAIL'}"


@dataclass(frozen=True)
class Host:
    """The devices to check."""

    devices: list[str]
    sizes: Any  # the `Sizes` of its measurements
    options: argparse.Namespace
    deadline: float = 0.0  # of the running part
    known: dict[str, Figures] = field(default_factory=dict)

    @property
    def on_cpus(self) -> bool:
        return self.devices[0] == "cpu"

    def figures(self, step: Callable[..., Figures], devices: int | None = None, **arguments: Any) -> Figures:
        """Return the result of a function in a process that sees the first devices only; raises RuntimeError if it
        fails.
        """
        mine = self.devices[:devices]
        here = {"kind": mine[0].partition(":")[0], "devices": len(mine), "sizes": asdict(self.sizes)}
        asked = json.dumps(
            {"step": [step.__module__, step.__name__], "here": here, "arguments": arguments}, allow_nan=False
        )
        if asked in self.known:
            return self.known[asked]
        environment = dict(os.environ)
        if here["kind"] == "cuda":
            seen = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(gpus())))).split(",")
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(seen[int(name.partition(":")[2] or 0)] for name in mine)
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder, "figures.json")
            command = [sys.executable, sys.argv[0], RUN_STEP, asked, str(result)]
            process = subprocess.Popen(command, env=environment, start_new_session=True)
            try:
                process.wait(max(1.0, self.deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise RuntimeError(f"{step.__name__}: the part's time is over") from None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # with all of its children
                process.wait()
            if process.returncode:
                raise RuntimeError(f"{step.__name__} ended with exit status {process.returncode}")
            self.known[asked] = json.loads(result.read_text())
        return self.known[asked]


def run_step(asked: str, result: str) -> None:
    """Return the process of `Host.figures`; a device that is a CPU is a core."""
    given = json.loads(asked)
    module, name = given["step"]
    measure, seen = import_module(module), given["here"]
    here = Here(seen["kind"], seen["devices"], measure.Sizes(**seen["sizes"]))
    if here.kind == "cpu":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: here.devices])
    Path(result).write_text(json.dumps(getattr(measure, name)(here, **given["arguments"]), allow_nan=False))


Part = tuple[Callable[[Host], Iterator[Target]], int]  # the checks of a part, and its time limit in seconds


def parser_of(doc: str | None, parts: Mapping[str, Part], sizes: Any) -> argparse.ArgumentParser:
    """Return the options that every check has; ``sizes`` are those on GPUs."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(parts), help="parts, with commas between them")
    parser.add_argument("--devices", nargs="+", help="cuda:NUMBER, or cpu for a core; all GPUs by default")
    parser.add_argument("--patience", type=float, default=1, help="times the seconds that each part has")
    parser.add_argument(RUN_STEP, nargs=2, help=argparse.SUPPRESS)
    for size in fields(sizes):
        number = getattr(sizes, size.name)
        parser.add_argument(f"--{size.name.replace('_', '-')}", type=int, help=f"{number:,} on GPUs")
    return parser


def describe(devices: list[str]) -> None:
    """Print the context of figures: the host's speed, versions, GPUs."""
    squares = seconds_of(lambda: sum(i * i for i in range(5_000_000)))
    print(f"{os.cpu_count()} cores; 5 M squares in Python: {squares:.3f} s")
    versions = {"graphprover": __version__, "Python": platform.python_version(), "dask": dask.__version__}
    print(", ".join(f"{name} {version}" for name, version in versions.items()), flush=True)
    if devices[0] != "cpu" and len(devices) > 1 and (tool := shutil.which("nvidia-smi")):
        print(subprocess.run([tool, "topo", "-m"], capture_output=True, text=True).stdout, flush=True)
    for name in devices:
        if name != "cpu":
            import cupy

            properties = cupy.cuda.runtime.getDeviceProperties(int(name.partition(":")[2] or 0))
            print(f"{name}: {properties['name'].decode()}, {properties['totalGlobalMem'] / 2**30:.0f} GiB", flush=True)


def check(
    parser: argparse.ArgumentParser,
    parts: Mapping[str, Part],
    on_gpus: Any,
    on_cpus: Any,
    compile_all: Callable[..., Figures],
) -> None:
    """Run the selected parts, print a line for each target, and exit; or run one measurement, in its process.

    ``on_gpus`` and ``on_cpus`` are the default sizes. ``compile_all`` is the first measurement, which returns its
    seconds.
    """
    options = parser.parse_args()
    if options.step:
        return run_step(*options.step)
    devices = options.devices or [f"cuda:{number}" for number in range(gpus())]
    if not devices:
        parser.error("no GPU here; --devices cpu cpu tries the script itself")
    wanted = options.only.split(",")
    if unknown := set(wanted) - parts.keys():
        parser.error(f"no such part: {', '.join(unknown)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that children are ended, too
    describe(devices)
    sizes = on_cpus if devices[0] == "cpu" else on_gpus
    given = {size.name: value for size in fields(sizes) if (value := getattr(options, size.name)) is not None}
    host = Host(devices, replace(sizes, **given), options)

    begun = time.monotonic()
    compiled = replace(host, deadline=begun + COMPILING * options.patience).figures(compile_all, 1)
    print(f"first proofs, which compile: {compiled['seconds']:.1f} s", flush=True)
    targets: list[Target] = []
    for name in wanted:
        part, seconds = parts[name]
        since, limit = time.monotonic(), seconds * options.patience
        print(f"{name}, {limit:g} s at most", flush=True)
        try:
            targets += part(replace(host, deadline=since + limit))
        except RuntimeError as error:
            say(str(error))
            targets.append(Target(f"{name}: no result", np.nan, most=0))
        print(f"{name}: {time.monotonic() - since:.0f} s", flush=True)
    print(f"\nin all {time.monotonic() - begun:.0f} s\n" + "\n".join(map(str, targets)), flush=True)
    sys.exit(not all(target.met for target in targets))
