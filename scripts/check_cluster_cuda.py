"""Clusters on the GPUs of this host: equal bytes, the cost of faults, and the overhead and speed-up.

    python scripts/check_cluster_cuda.py [--only bytes,faults,latency,throughput,sharing,mps,overhead,flat]
    python scripts/check_cluster_cuda.py --devices cpu cpu   # on CPUs, a core each, with small sizes
    DASK_GRAPHPROVER__MPS=1 python scripts/check_cluster_cuda.py …  # all by NVIDIA's Multi-Process Service

bytes        tables and guests by the CPU, each GPU, all GPUs at once in one process, and clusters
faults       batches in which a worker is killed, every worker's GPU fails once, a worker is stopped
latency      one proof after another, here and by a cluster in turns: running the guest, proving, verifying
throughput   batches on one GPU and on all, and batches four times as large
sharing      the same batches by several processes of one GPU, and by plain processes without a cluster
mps          the same batches with and without NVIDIA's Multi-Process Service, and faults with it; for GPUs only
overhead     a batch by a cluster of one worker and by that worker's process alone, in turns
flat         many proofs on one worker, and the growth of its memory

Every measurement (cluster_figures.py) runs in a process of its own that sees its devices only, and ends after the time
limit of its part. The table at the end has a line for each target; the exit status is 1 if one is not met.
"""

from collections.abc import Iterator

import checkout  # noqa: F401 (finds the package)
import cluster_figures as measure
from checks import Host, Part, Target, check, parser_of
from cluster_figures import Sizes, say, told

ON_CPUS = Sizes(20_000, 60_000, 6, 4, statements=4, turns=3, in_a_row=40)


def check_bytes(host: Host) -> Iterator[Target]:
    for who, differ in host.figures(measure.other_bytes).items():
        yield Target(f"bytes that differ from the CPU's: {who}", differ, most=0)


def check_faults(host: Host) -> Iterator[Target]:
    for what, number in host.figures(measure.faulty).items():
        yield Target(f"faults, {what}", number, most=0)


def check_latency(host: Host) -> Iterator[Target]:
    first = {way: host.figures(measure.first, by_cluster=way)["seconds"] for way in (False, True)}
    say(f"first: here {first[False]:.3f} s, by a cluster {first[True]:.3f} s")
    yield Target("latency, first proofs: cluster / here", first[True] / first[False], most=1.15)
    later = host.figures(measure.latency)
    yield Target("latency, later proofs: cluster / here", later["cluster"] / later["here"], most=1.15)


def check_throughput(host: Host) -> Iterator[Target]:
    # On CPUs with one process a core: two must reach 1.7.
    shares = (0.85, 0.85) if host.on_cpus else (0.965, 0.975)
    number = len(host.devices)
    for times in (1, 4):  # fixed costs of a batch count a quarter then
        all_ = host.figures(measure.by_cluster, per_device=1 if host.on_cpus else None, times=times)
        one = host.figures(measure.by_cluster, 1, per_device=all_["processes"], times=times)
        for (name, count, cycles), share in zip(host.sizes.batches(times), shares, strict=True):
            what = f"throughput, {count} x {cycles:,}: {number} devices / one"
            yield Target(what, one[name] / all_[name], least=share * number)


def check_sharing(host: Host) -> Iterator[Target]:
    default = int(host.figures(measure.by_cluster, per_device=None)["processes"])
    say(f"the default is {default}")
    tried = {n: host.figures(measure.by_cluster, 1, per_device=n) for n in sorted({default, *host.options.processes})}
    chosen = tried[default]
    plain = host.figures(measure.by_processes, 1, processes=default)
    for name, count, cycles in host.sizes.batches():
        for number, found in tried.items():
            ratio = f", {tried[1][name] / found[name]:.2f} x one" if 1 in tried else ""
            say(told(f"{number} processes", found[name], count, cycles) + ratio)
        yield Target(f"sharing, {name}: cluster / plain, {default} processes", plain[name] / chosen[name], least=0.95)
        best = min(tried, key=lambda number: tried[number][name])
        what = f"sharing, {name}: the default, {default} / the best, {best}"
        yield Target(what, tried[best][name] / chosen[name], least=0.95)


def check_mps(host: Host) -> Iterator[Target]:
    if host.on_cpus:
        return say("CPUs have no such service")
    without = host.figures(measure.by_cluster, 1, per_device=None, mps=False)
    by_it = host.figures(measure.by_cluster, 1, per_device=None, mps=True)
    for name, _, _ in host.sizes.batches():
        yield Target(f"mps, {name}: without / with", without[name] / by_it[name], least=1.2)
    for what, number in host.figures(measure.faulty, 1, mps=True).items():
        yield Target(f"mps, faults, {what}", number, most=0)


def check_overhead(host: Host) -> Iterator[Target]:
    ratio = host.figures(measure.overhead, 1)["ratio"]
    yield Target("overhead of a cluster of one worker", 100 * (ratio - 1), most=3, unit="%")


def check_flat(host: Host) -> Iterator[Target]:
    for of, slope in host.figures(measure.growth, 1).items():
        # On a GPU none, within what the fit of a line leaves of nothing.
        yield Target(f"growth of memory: {of}", slope, most=64 if of == "host" else 0.5, unit="KiB/proof")


PARTS: dict[str, Part] = {
    "bytes": (check_bytes, 100),
    "faults": (check_faults, 120),
    "latency": (check_latency, 90),
    "throughput": (check_throughput, 200),
    "sharing": (check_sharing, 300),
    "mps": (check_mps, 200),
    "overhead": (check_overhead, 150),
    "flat": (check_flat, 150),
}


def main() -> None:
    parser = parser_of(__doc__, PARTS, Sizes())
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4, 8], help="of one GPU, that sharing tries")
    check(parser, PARTS, Sizes(), ON_CPUS, measure.compile_all)


if __name__ == "__main__":
    main()
