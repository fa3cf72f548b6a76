"""Clusters on the GPUs of this host: the same bytes, what a fault costs, and what a cluster costs and gains.

    python scripts/check_cluster_cuda.py [--only bytes,faults,latency,throughput,sharing,overhead,flat]
    python scripts/check_cluster_cuda.py --devices cpu cpu   # on CPUs, a core each, with small sizes

bytes        tables and guests by the CPU, each GPU, all GPUs at once in one process, and clusters
faults       batches in which a worker is killed, every worker's GPU fails once, a worker is stopped
latency      one proof after another, here and by a cluster in turns: running the guest, proving, verifying
throughput   batches on one GPU and on all
sharing      the same batches by several processes of one GPU, and by plain processes without a cluster
overhead     a batch here and by a cluster of one worker, in turns
flat         many proofs on one worker, and what its memory grows by

Every measurement (cluster_figures.py) is a process of its own that sees its devices only, and is ended when the time of
its part is over. The table at the end has a line for each bar; the exit status is 1 if one is not met.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import dask
import numpy as np

import checkout  # noqa: F401 (finds the package)
import cluster_figures as measure
from cluster_figures import Figures, Here, Sizes, say, seconds_of, told
from graphprover import __version__
from graphprover.device.choose import gpus

ON_CPUS = Sizes(20_000, 60_000, 6, 4, statements=4, turns=3, in_a_row=40)
COMPILING = 240  # seconds at most


@dataclass(frozen=True)
class Bar:
    """What was measured, and its limit."""

    name: str
    measured: float
    least: float | None = None  # one of these two
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
    """The devices to check, and what is known of them."""

    devices: list[str]
    sizes: Sizes
    processes: list[int]  # of one GPU, that sharing tries
    deadline: float = 0.0  # of the part that runs
    known: dict[str, Figures] = field(default_factory=dict)

    def figures(self, step: Callable[..., Figures], devices: int | None = None, **arguments: Any) -> Figures:
        """What a function gives in a process that sees the first devices alone; raises RuntimeError where it fails."""
        mine = self.devices[:devices]
        here = {"kind": mine[0].partition(":")[0], "devices": len(mine), "sizes": asdict(self.sizes)}
        asked = json.dumps({"step": step.__name__, "here": here, "arguments": arguments})
        if asked in self.known:
            return self.known[asked]
        environment = dict(os.environ)
        if here["kind"] == "cuda":
            seen = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(gpus())))).split(",")
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(seen[int(name.partition(":")[2] or 0)] for name in mine)
        with tempfile.TemporaryDirectory() as folder:
            result = Path(folder, "figures.json")
            command = [sys.executable, __file__, "--step", asked, str(result)]
            process = subprocess.Popen(command, env=environment, start_new_session=True)
            try:
                process.wait(max(1.0, self.deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise RuntimeError(f"{step.__name__}: the part's time is over") from None
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # with all that it has started
                process.wait()
            if process.returncode:
                raise RuntimeError(f"{step.__name__} ended with exit status {process.returncode}")
            self.known[asked] = json.loads(result.read_text())
        return self.known[asked]


def run_step(asked: str, result: str) -> None:
    """The process of `Host.figures`; a device that is a CPU is a core."""
    step = json.loads(asked)
    here = Here(step["here"]["kind"], step["here"]["devices"], Sizes(**step["here"]["sizes"]))
    if here.kind == "cpu":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: here.devices])
    Path(result).write_text(json.dumps(getattr(measure, step["step"])(here, **step["arguments"])))


def check_bytes(host: Host) -> Iterator[Bar]:
    for who, differ in host.figures(measure.other_bytes).items():
        yield Bar(f"bytes that differ from the CPU's: {who}", differ, most=0)


def check_faults(host: Host) -> Iterator[Bar]:
    for what, number in host.figures(measure.faulty).items():
        yield Bar(f"faults, {what}", number, most=0)


def check_latency(host: Host) -> Iterator[Bar]:
    first = {way: host.figures(measure.first, by_cluster=way)["seconds"] for way in (False, True)}
    say(f"first: here {first[False]:.3f} s, by a cluster {first[True]:.3f} s")
    yield Bar("latency, first proofs: cluster / here", first[True] / first[False], most=1.15)
    later = host.figures(measure.latency)
    yield Bar("latency, later proofs: cluster / here", later["cluster"] / later["here"], most=1.15)


def check_throughput(host: Host) -> Iterator[Bar]:
    # On CPUs with one process a core: two must reach 1.7.
    on_cpus = host.devices[0] == "cpu"
    shares = (0.85, 0.85) if on_cpus else (0.965, 0.975)
    all_ = host.figures(measure.by_cluster, per_device=1 if on_cpus else None)
    one = host.figures(measure.by_cluster, 1, per_device=all_["processes"])
    number = len(host.devices)
    for (name, count, cycles), share in zip(host.sizes.batches(), shares, strict=True):
        what = f"throughput, {count} x {cycles:,}: {number} devices / one"
        yield Bar(what, one[name] / all_[name], least=share * number)


def check_sharing(host: Host) -> Iterator[Bar]:
    default = int(host.figures(measure.by_cluster, per_device=None)["processes"])
    say(f"the default is {default}")
    tried = {n: host.figures(measure.by_cluster, 1, per_device=n) for n in sorted({default, *host.processes})}
    chosen = tried[default]
    plain = host.figures(measure.by_processes, 1, processes=default)
    for name, count, cycles in host.sizes.batches():
        for number, found in tried.items():
            ratio = f", {tried[1][name] / found[name]:.2f} x one" if 1 in tried else ""
            say(told(f"{number} processes", found[name], count, cycles) + ratio)
        yield Bar(f"sharing, {name}: cluster / plain, {default} processes", plain[name] / chosen[name], least=0.95)
        best = min(tried, key=lambda number: tried[number][name])
        what = f"sharing, {name}: the default, {default} / the best, {best}"
        yield Bar(what, tried[best][name] / chosen[name], least=0.95)


def check_overhead(host: Host) -> Iterator[Bar]:
    ratio = host.figures(measure.overhead, 1)["ratio"]
    yield Bar("overhead of a cluster of one worker", 100 * (ratio - 1), most=3, unit="%")


def check_flat(host: Host) -> Iterator[Bar]:
    for of, slope in host.figures(measure.growth, 1).items():
        # On a GPU none, within what the fit of a line leaves of nothing.
        yield Bar(f"growth of memory: {of}", slope, most=64 if of == "host" else 0.5, unit="KiB/proof")


PARTS: dict[str, tuple[Callable[[Host], Iterator[Bar]], int]] = {  # and the seconds that each has
    "bytes": (check_bytes, 100),
    "faults": (check_faults, 120),
    "latency": (check_latency, 90),
    "throughput": (check_throughput, 150),
    "sharing": (check_sharing, 300),
    "overhead": (check_overhead, 100),
    "flat": (check_flat, 150),
}


def describe(devices: list[str]) -> None:
    """Print what a reader needs to compare figures: the host's speed, versions, GPUs."""
    squares = seconds_of(lambda: sum(i * i for i in range(5_000_000)))
    print(f"{os.cpu_count()} cores; 5 M squares in Python: {squares:.3f} s")
    versions = {"graphprover": __version__, "Python": platform.python_version(), "dask": dask.__version__}
    print(", ".join(f"{name} {version}" for name, version in versions.items()), flush=True)
    for name in devices:
        if name != "cpu":
            import cupy

            properties = cupy.cuda.runtime.getDeviceProperties(int(name.partition(":")[2] or 0))
            print(f"{name}: {properties['name'].decode()}, {properties['totalGlobalMem'] / 2**30:.0f} GiB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between them")
    parser.add_argument("--devices", nargs="+", help="cuda:NUMBER, or cpu for a core; all GPUs by default")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4], help="of one GPU, that sharing tries")
    parser.add_argument("--patience", type=float, default=1, help="times the seconds that each part has")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    for size in fields(Sizes):
        parser.add_argument(f"--{size.name.replace('_', '-')}", type=int, help=f"{size.default:,} on GPUs")
    options = parser.parse_args()
    if options.step:
        return run_step(*options.step)
    devices = options.devices or [f"cuda:{number}" for number in range(gpus())]
    if not devices:
        parser.error("no GPU here; --devices cpu cpu tries the script itself")
    parts = options.only.split(",")
    if unknown := set(parts) - PARTS.keys():
        parser.error(f"no such part: {', '.join(unknown)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs is ended, too
    describe(devices)
    given = {size.name: value for size in fields(Sizes) if (value := getattr(options, size.name)) is not None}
    host = Host(devices, replace(ON_CPUS if devices[0] == "cpu" else Sizes(), **given), options.processes)

    begun = time.monotonic()
    compiled = replace(host, deadline=begun + COMPILING * options.patience).figures(measure.compile_all, 1)
    print(f"first proofs, which compile: {compiled['seconds']:.1f} s", flush=True)
    bars: list[Bar] = []
    for name in parts:
        check, seconds = PARTS[name]
        since, limit = time.monotonic(), seconds * options.patience
        print(f"{name}, {limit:g} s at most", flush=True)
        try:
            bars += check(replace(host, deadline=since + limit))
        except RuntimeError as error:
            say(str(error))
            bars.append(Bar(f"{name}: no result", np.nan, most=0))
        print(f"{name}: {time.monotonic() - since:.0f} s", flush=True)
    print(f"\nin all {time.monotonic() - begun:.0f} s\n" + "\n".join(map(str, bars)), flush=True)
    sys.exit(not all(bar.met for bar in bars))


if __name__ == "__main__":
    main()
